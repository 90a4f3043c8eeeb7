//! Owns what is known of models by name: who serves them, what they cost, which one a provider uses unless told otherwise.
//!
//! It refuses to guess a price: a model without one makes a run `unpriced` or `partial`, never cheap.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Models, ProviderKind};
use crate::error::Error;
use crate::outcome::{Cost, CostQualifier, Usage};
use crate::text;

const CATALOG: &str = include_str!("../../config/models.yaml");

/// The price of a model, in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
pub struct Price {
    /// Of what the model reads.
    #[schemars(range(min = 0))]
    pub input: f64,
    /// Of what the model writes.
    #[schemars(range(min = 0))]
    pub output: f64,
    /// Of input that comes from a cache; as `input` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub cached: Option<f64>,
    /// Of input that is written to a cache; as `input` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub cache_write: Option<f64>,
}

impl Price {
    #[expect(clippy::cast_precision_loss, reason = "token counts stay far below 2^52")]
    fn of(&self, usage: Usage) -> f64 {
        let plain = usage.input.saturating_sub(usage.cached).saturating_sub(usage.cache_write);
        let dollars = plain as f64 * self.input
            + usage.output as f64 * self.output
            + usage.cached as f64 * self.cached.unwrap_or(self.input)
            + usage.cache_write as f64 * self.cache_write.unwrap_or(self.input);
        dollars / 1_000_000.0
    }
}

/// The prices of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prices(BTreeMap<String, Price>);

impl Prices {
    /// Returns whether a model has a price.
    pub fn knows(&self, model: &str) -> bool {
        self.0.contains_key(model)
    }

    /// Returns what usage by model costs.
    pub fn cost(&self, by_model: &BTreeMap<String, Usage>) -> Cost {
        let mut usd = 0.0;
        let (mut priced, mut unpriced) = (0, 0);
        for (model, usage) in by_model.iter().filter(|(_, usage)| usage.total() > 0) {
            match self.0.get(model) {
                Some(price) => {
                    usd += price.of(*usage);
                    priced += 1;
                }
                None => unpriced += 1,
            }
        }
        match (priced, unpriced) {
            (0, 0) => Cost { usd: Some(0.0), qualifier: CostQualifier::Priced },
            (0, _) => Cost { usd: None, qualifier: CostQualifier::Unpriced },
            (_, 0) => Cost { usd: Some(usd), qualifier: CostQualifier::Priced },
            _ => Cost { usd: Some(usd), qualifier: CostQualifier::Partial },
        }
    }
}

/// The models that tepa knows.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalog {
    defaults: BTreeMap<String, Models>,
    models: IndexMap<String, Known>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    provider: ProviderKind,
    price: Option<Price>,
}

impl Catalog {
    /// Returns the catalog that is compiled in.
    pub fn load() -> Result<Self, Error> {
        let broken = |why: String| Error::broken(format!("the built-in model catalog is broken: {why}"));
        let value = crate::source::parse_yaml_value(CATALOG, 10_000).map_err(broken)?;
        serde_json::from_value(value).map_err(|e| broken(e.to_string()))
    }

    /// Returns the models that a provider uses unless told otherwise; one that serves anything has none.
    pub fn defaults(&self, provider: ProviderKind) -> Option<&Models> {
        self.defaults.get(provider.name())
    }

    /// Returns whether `name` is known as a model of `provider`.
    pub fn serves(&self, provider: ProviderKind, name: &str) -> bool {
        self.models.get(name).is_some_and(|known| known.provider == provider)
    }

    /// Returns every model with who serves it.
    pub fn models(&self) -> impl Iterator<Item = (&str, ProviderKind)> {
        self.models.iter().map(|(name, known)| (name.as_str(), known.provider))
    }

    /// Returns the name of a model of `provider` that `name` may have been meant for.
    pub fn suggest(&self, provider: ProviderKind, name: &str) -> Option<&str> {
        let served = self.models.iter().filter(|(_, known)| known.provider == provider);
        text::did_you_mean(name, served.map(|(name, _)| name.as_str())).filter(|near| *near != name)
    }

    /// Returns all prices, those of `overrides` first.
    pub fn prices(&self, overrides: &IndexMap<String, Price>) -> Prices {
        let mut prices: BTreeMap<String, Price> =
            self.models.iter().filter_map(|(name, known)| Some((name.clone(), known.price?))).collect();
        prices.extend(overrides.iter().map(|(name, price)| (name.clone(), *price)));
        Prices(prices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, output: u64, cached: u64, cache_write: u64) -> Usage {
        Usage { input, output, cached, cache_write }
    }

    fn cost(usages: &[(&str, Usage)]) -> Cost {
        let by_model = usages.iter().map(|(model, usage)| ((*model).to_owned(), *usage)).collect();
        Catalog::load().unwrap().prices(&IndexMap::new()).cost(&by_model)
    }

    #[test]
    fn cached_input_and_cache_writes_have_prices_of_their_own() {
        let cost = cost(&[("claude-sonnet-4-6", usage(1_000_000, 100_000, 400_000, 200_000))]);
        let expected = 0.4 * 3.0 + 0.1 * 15.0 + 0.4 * 0.3 + 0.2 * 3.75;
        assert!((cost.usd.unwrap() - expected).abs() < 1e-9, "{cost:?}");
        assert_eq!(cost.qualifier, CostQualifier::Priced);
    }

    #[test]
    fn an_unpriced_model_is_said_and_never_counted_as_free() {
        let some = usage(1000, 1000, 0, 0);
        assert_eq!(cost(&[("my-model", some)]), Cost { usd: None, qualifier: CostQualifier::Unpriced });
        let both = cost(&[("my-model", some), ("claude-haiku-4-5", some)]);
        assert_eq!(both.qualifier, CostQualifier::Partial);
        assert!((both.usd.unwrap() - 0.006).abs() < 1e-9);
    }

    #[test]
    fn a_price_can_be_overridden() {
        let overrides = IndexMap::from([(
            "claude-haiku-4-5".to_owned(),
            Price { input: 100.0, output: 0.0, cached: None, cache_write: None },
        )]);
        let prices = Catalog::load().unwrap().prices(&overrides);
        let by_model = BTreeMap::from([("claude-haiku-4-5".to_owned(), usage(10_000, 5, 10_000, 0))]);
        assert!((prices.cost(&by_model).usd.unwrap() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn every_default_model_is_known_and_a_typo_finds_its_model() {
        let catalog = Catalog::load().unwrap();
        for models in catalog.defaults.values() {
            assert!(models.distinct().iter().all(|model| catalog.models.contains_key(*model)), "{models:?}");
        }
        assert_eq!(catalog.suggest(ProviderKind::Anthropic, "claude-sonet-4-6"), Some("claude-sonnet-4-6"));
        assert_eq!(catalog.suggest(ProviderKind::OpenAi, "gpt5-mini"), Some("gpt-5-mini"));
    }
}
