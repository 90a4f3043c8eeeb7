//! Owns what is added to the error of a model that nobody knows: the name that may have been meant.
//!
//! It is a provider around a provider. It refuses to ask for another model than the one that was named.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use crate::config::{Catalog, ProviderKind};
use crate::provider::{Provider, ProviderError, Request, Response, Watch};

/// A provider that says what may have been meant.
pub struct Suggesting {
    inner: Arc<dyn Provider>,
    kind: ProviderKind,
    catalog: Catalog,
}

impl Suggesting {
    /// Returns a provider that asks `inner`, whose models are those of `kind` in `catalog`.
    pub fn new(inner: Arc<dyn Provider>, kind: ProviderKind, catalog: Catalog) -> Self {
        Self { inner, kind, catalog }
    }

    fn explain(&self, error: ProviderError, model: &str) -> ProviderError {
        match (error, self.catalog.suggest(self.kind, model)) {
            (ProviderError::UnknownModel(text), Some(near)) => {
                ProviderError::UnknownModel(format!("{text}; did you mean `{near}`?"))
            }
            (error, _) => error,
        }
    }
}

impl Provider for Suggesting {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn reads(&self, request: &Request) -> u64 {
        self.inner.reads(request)
    }

    fn complete<'a>(
        &'a self,
        request: &'a Request,
        watch: &'a dyn Watch,
    ) -> BoxFuture<'a, Result<Response, ProviderError>> {
        let answer = self.inner.complete(request, watch);
        answer.map(|result| result.map_err(|error| self.explain(error, &request.model))).boxed()
    }

    fn finish(&self) -> Result<(), ProviderError> {
        self.inner.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::pairs;

    struct Refusing(ProviderError);

    impl Provider for Refusing {
        fn name(&self) -> &'static str {
            "refusing"
        }

        fn complete<'a>(
            &'a self,
            _: &'a Request,
            _: &'a dyn Watch,
        ) -> BoxFuture<'a, Result<Response, ProviderError>> {
            async { Err(self.0.clone()) }.boxed()
        }
    }

    async fn said(error: ProviderError, model: &str) -> String {
        let catalog = Catalog::load().unwrap();
        let provider = Suggesting::new(Arc::new(Refusing(error)), ProviderKind::OpenAi, catalog);
        provider.complete(&pairs::request(model, false), &()).await.unwrap_err().to_string()
    }

    #[tokio::test]
    async fn only_an_unknown_model_that_is_nearly_a_known_one_has_another_suggested() {
        let unknown = || ProviderError::UnknownModel("no such model".to_owned());
        assert_eq!(said(unknown(), "gpt5-mini").await, "no such model; did you mean `gpt-5-mini`?");
        assert_eq!(said(unknown(), "llama").await, "no such model");
        assert_eq!(said(ProviderError::Invalid("broken".to_owned()), "gpt5-mini").await, "broken");
    }
}
