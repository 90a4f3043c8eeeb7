//! Owns the stage `policy`: it refuses tasks before a model sees them, and does not repeat what it refuses.

use serde_json::Value;

use super::{Work, refuse, task};
use crate::config;
use crate::prompt::Prompt;
use crate::stage::{StageError, TurnContext};
use crate::text;

/// Refuses tasks.
pub(super) struct Policy(pub(super) config::Policy);

impl Work for Policy {
    fn name(&self) -> &'static str {
        "policy"
    }

    async fn work(&self, context: &mut TurnContext) -> Result<(), StageError> {
        match self.objection(context) {
            Some(reason) => refuse(context, self.0.on_match, reason),
            None => Ok(()),
        }
    }
}

impl Policy {
    fn objection(&self, context: &TurnContext) -> Option<String> {
        let config::Policy { deny_patterns, max_prompt_tokens, .. } = &self.0;
        let texts = texts(context.prompt());
        let matches = |text: &String, at: usize| deny_patterns[at].regex().is_match(text.as_bytes());
        let denied = (0..deny_patterns.len()).find(|at| texts.iter().any(|text| matches(text, *at)));
        if let Some(at) = denied {
            return Some(format!("the task matches item {} of `denyPatterns`", at + 1));
        }
        let most = (*max_prompt_tokens)?;
        let tokens = context.tokens(&task(context));
        (tokens > most).then(|| {
            let (tokens, most) = (text::grouped(tokens), text::grouped(most));
            format!("the task has about {tokens} tokens, and `maxPromptTokens` is {most}")
        })
    }
}

/// Returns every text of a task on its own: in JSON, quotes and line breaks would look otherwise than they were written.
fn texts(prompt: &Prompt) -> Vec<String> {
    let mut texts = vec![prompt.goal.clone()];
    for value in prompt.context.values() {
        collect(value, &mut texts);
    }
    collect(&serde_json::to_value(&prompt.expected_output).unwrap_or_default(), &mut texts);
    texts
}

fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Number(number) => texts.push(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(map) => map.values().for_each(|item| collect(item, texts)),
        Value::Null | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::stages::fake::Trial;

    async fn asked(policy: Value, prompt: Value) -> Result<Option<String>, String> {
        let policy = Policy(serde_json::from_value(policy).unwrap());
        let mut trial = Trial::of(prompt);
        trial.run(policy).await.map(|()| trial.context.aborted().map(str::to_owned))
    }

    #[tokio::test]
    async fn a_pattern_is_looked_for_in_every_text_of_the_task_and_named_by_its_place() {
        let policy = json!({"denyPatterns": ["nowhere", "(?i)^prod.*password$"]});
        let reason = "the task matches item 2 of `denyPatterns`";
        for prompt in [
            json!({"goal": "Rotate it.\nProd root password", "expectedOutput": "e"}),
            json!({"goal": "g", "context": {"a": [{"b": "PROD \"password"}]}, "expectedOutput": "e"}),
            json!({"goal": "g", "expectedOutput": "prod password"}),
            json!({"goal": "g", "expectedOutput": [{"description": "d", "criteria": ["prod password"]}]}),
        ] {
            assert_eq!(asked(policy.clone(), prompt).await, Ok(Some(reason.to_owned())));
        }
        let prompt = json!({"goal": "prod", "context": {"prod password": "x"}, "expectedOutput": "password"});
        assert_eq!(asked(policy, prompt).await, Ok(None));
        let number = json!({"goal": "g", "context": {"card": 4_111_111_111_u64}, "expectedOutput": "e"});
        assert!(asked(json!({"denyPatterns": ["4111"]}), number).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn a_task_may_be_too_long_and_a_refusal_may_be_an_error() {
        let prompt = json!({"goal": "g".repeat(4_000), "expectedOutput": "e"});
        let long = "the task has about 1,012 tokens, and `maxPromptTokens` is 1,011";
        let asked_for = |most: u64, how: &str| json!({"maxPromptTokens": most, "onMatch": how});
        assert_eq!(asked(asked_for(1_011, "abort"), prompt.clone()).await, Ok(Some(long.to_owned())));
        assert_eq!(asked(asked_for(1_012, "error"), prompt.clone()).await, Ok(None));
        let fault = asked(asked_for(1_011, "error"), prompt).await.unwrap_err();
        assert_eq!(fault, format!("E_INPUT_PIPELINE_ERROR: turn-input stage `policy` failed: {long}"));
    }
}
