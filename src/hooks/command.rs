//! Owns one command as a hook: what it is told, and what its answer means at a point.

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::condition;
use crate::config::When;
use crate::hook::{CycleMeta, Hook, HookError, Reply};
use crate::program::{Answer, Program};

/// A command as a hook.
pub(super) struct CommandHook {
    program: Program,
    when: Option<When>,
}

impl CommandHook {
    pub(super) fn new(program: Program, when: Option<When>) -> Self {
        Self { program, when }
    }

    async fn run(&self, document: Value) -> Result<Reply, HookError> {
        match self.program.ask(&document).await {
            Ok(Answer::Keep) => Ok(Reply::Keep),
            Ok(Answer::Replace(data)) => Ok(Reply::Replace(data)),
            Ok(Answer::Stop(reason)) => Ok(Reply::Abort(reason)),
            Err(reason) => Err(HookError(reason)),
        }
    }
}

impl Hook for CommandHook {
    fn name(&self) -> &str {
        self.program.name()
    }

    fn applies(&self, payload: &Value, meta: &CycleMeta) -> bool {
        self.when.as_ref().is_none_or(|when| condition::holds(when, payload, meta))
    }

    fn ask<'a>(
        &'a self,
        point: &'static str,
        payload: &'a Value,
        meta: &'a CycleMeta,
    ) -> BoxFuture<'a, Result<Reply, HookError>> {
        Box::pin(self.run(json!({"event": point, "data": payload, "cycle": meta})))
    }
}
