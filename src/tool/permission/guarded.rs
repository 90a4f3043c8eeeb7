//! Owns a tool that is held to rules: it tells models which calls are allowed, and makes no other.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::rules::Rules;
use crate::tool::{AnyTool, Effect, ParamsError, ToolContext, ToolError, ToolSchema};

/// A tool and the rules that are about it.
pub(super) struct Guarded {
    tool: Arc<dyn AnyTool>,
    /// As models are shown it.
    schema: ToolSchema,
    rules: Arc<Rules>,
}

impl Guarded {
    pub(super) fn new(tool: Arc<dyn AnyTool>, rules: Rules) -> Self {
        let mut schema = tool.schema().clone();
        schema.description = rules.told(&schema);
        Self { tool, schema, rules: Arc::new(rules) }
    }

    /// Fails when the call is not to be made; where paths lead is looked at where that may block.
    async fn judge(&self, params: &Value, context: &ToolContext) -> Result<(), ToolError> {
        let (rules, workspace) = (Arc::clone(&self.rules), Arc::clone(context.workspace()));
        let (schema, params) = (self.schema.clone(), params.clone());
        let checked = tokio::task::spawn_blocking(move || rules.check(&schema, &params, &workspace));
        checked
            .await
            .unwrap_or_else(|error| Err(ToolError::new(format!("the rules could not be checked: {error}"))))
    }
}

impl AnyTool for Guarded {
    fn name(&self) -> &str {
        self.tool.name()
    }

    fn schema(&self) -> &ToolSchema {
        &self.schema
    }

    fn effect(&self) -> Effect {
        self.tool.effect()
    }

    fn notes(&self) -> bool {
        self.tool.notes()
    }

    fn timeout(&self) -> Option<Duration> {
        self.tool.timeout()
    }

    fn check(&self, params: Value) -> Result<Value, ParamsError> {
        self.tool.check(params)
    }

    fn invoke<'a>(
        &'a self,
        params: Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            // What was looked at is what the tool is handed.
            let params = self.tool.check(params)?;
            self.judge(&params, context).await?;
            self.tool.invoke(params, context).await
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tempfile::TempDir;
    use tokio::runtime::{Builder, Runtime};

    use super::*;
    use crate::process::Setting;
    use crate::tool::permission::Rule;
    use crate::tool::{ParameterType, Scratchpad};
    use crate::workspace::Workspace;

    /// Returns what it was called with.
    struct Echo(ToolSchema);

    impl AnyTool for Echo {
        fn name(&self) -> &str {
            &self.0.name
        }

        fn schema(&self) -> &ToolSchema {
            &self.0
        }

        fn effect(&self) -> Effect {
            Effect::Reads
        }

        fn invoke<'a>(
            &'a self,
            params: Value,
            _: &'a ToolContext,
        ) -> BoxFuture<'a, Result<Value, ToolError>> {
            Box::pin(async move { Ok(params) })
        }
    }

    fn schema(tool: &str) -> ToolSchema {
        let schema = ToolSchema::new(tool, "Does.");
        let text = ParameterType::String;
        match tool {
            "shell_execute" => schema.required("command", text, "c"),
            "file_search" => schema.required("pattern", text, "p").defaulted("cwd", text, "c", json!(".")),
            "data_parse" => schema.required("input", text, "i").defaulted(
                "fromFile",
                ParameterType::Boolean,
                "f",
                json!(false),
            ),
            "http_request" => schema.required("url", text, "u"),
            "deploy" => schema
                .required("count", ParameterType::Number, "n")
                .optional("note", text, "n")
                .required("target", text, "t"),
            "ping" => schema.defaulted("times", ParameterType::Number, "t", json!(1)),
            _ => schema.required("path", text, "p"),
        }
    }

    fn rules(texts: &[&str]) -> Vec<Rule> {
        texts.iter().map(|text| Rule::parse(text).unwrap()).collect()
    }

    fn guarded(allowed: &[&str], denied: &[&str]) -> Guarded {
        let first = rules(allowed).into_iter().chain(rules(denied)).next().unwrap();
        Guarded::new(
            Arc::new(Echo(schema(first.tool()))),
            Rules { allowed: rules(allowed), denied: rules(denied) },
        )
    }

    struct Ground {
        folder: TempDir,
        context: ToolContext,
        runtime: Runtime,
    }

    impl Ground {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let context = ToolContext::new(
                Arc::new(Workspace::open(folder.path()).unwrap()),
                Scratchpad::default(),
                Arc::new(Setting::default()),
                Duration::from_secs(1),
                jiff::Timestamp::UNIX_EPOCH,
            );
            Self { folder, context, runtime: Builder::new_current_thread().build().unwrap() }
        }

        fn call(&self, tool: &Guarded, params: Value) -> Result<Value, String> {
            let call = tool.invoke(params, &self.context);
            self.runtime.block_on(call).map_err(|error| error.0)
        }

        fn allows(&self, tool: &Guarded, parameter: &str, text: &str) -> bool {
            match self.call(tool, json!({parameter: text})) {
                Ok(_) => true,
                Err(error) => {
                    assert!(error.contains(" was denied"), "{error}");
                    false
                }
            }
        }
    }

    #[test]
    fn every_command_of_a_line_has_to_be_allowed() {
        let ground = Ground::new();
        let tool =
            guarded(&["shell_execute(git *)", "shell_execute(npm test)", "shell_execute(make > log)"], &[]);
        for line in [
            "git status",
            "git",
            " git log; npm test\n",
            "git log | git x && npm test",
            "npm test",
            "make > log",
        ] {
            assert!(ground.allows(&tool, "command", line), "{line}");
        }
        for line in [
            "rm x",
            "gitk",
            "npm test x",
            "git log; rm x",
            "git log && curl x",
            "git log | sh",
            "git log & rm x",
            "git log\nrm x",
            "git log || rm x",
            "git $(rm x)",
            "git `rm x`",
            "git \"$(rm x)\"",
            "git log > x",
            "git x <(rm y)",
            "(git log)",
            "{ git log; }",
            "X=1 git log",
            "git log 'x",
            "git log \\\n; rm x",
            "make > log; rm x",
            "if git log; then git x; fi",
            "git $'\\n' rm",
            "git # '\nrm x # '",
            "",
            "git <<X\nX",
        ] {
            assert!(!ground.allows(&tool, "command", line), "{line}");
        }
    }

    #[test]
    fn a_denied_command_is_found_anywhere_in_a_line_and_denying_wins() {
        let ground = Ground::new();
        let tool = guarded(
            &["shell_execute(git *)", "shell_execute(rm *)"],
            &["shell_execute(rm *)", "shell_execute(git push *)"],
        );
        for line in
            ["rm x", "rm", "git log; rm x", "git $(rm x)", "git push", "git log && git push -f", "A=1 rm x"]
        {
            let error = ground.call(&tool, json!({"command": line})).unwrap_err();
            assert!(
                error.starts_with("Tool \"shell_execute\" was denied by the rule `shell_execute("),
                "{error}"
            );
        }
        assert!(ground.allows(&tool, "command", "git log"));
        let tool = guarded(&[], &["shell_execute(rm *)"]);
        assert!(ground.allows(&tool, "command", "curl $(cat x) > y; git rm x"));
    }

    #[test]
    fn a_denial_says_what_is_not_allowed_and_what_is() {
        let ground = Ground::new();
        let tool = guarded(&["shell_execute(git *)", "shell_execute(npm *)"], &["shell_execute(git push *)"]);
        for (line, message) in [
            (
                "git log; curl x",
                "Tool \"shell_execute\" was denied: no rule allows `curl x` \
                 (allowed: `shell_execute(git *)` and `shell_execute(npm *)`)",
            ),
            (
                "git log > x",
                "Tool \"shell_execute\" was denied: no rule allows `git log > x`, and patterns do not see through a redirection \
                 (allowed: `shell_execute(git *)` and `shell_execute(npm *)`)",
            ),
            ("git push", "Tool \"shell_execute\" was denied by the rule `shell_execute(git push *)`"),
        ] {
            assert_eq!(ground.call(&tool, json!({"command": line})), Err(message.to_owned()));
        }
        let error = ground.call(&tool, json!({"command": "x".repeat(1000)})).unwrap_err();
        assert!(error.len() < 400, "{error}");
        let error = ground.call(&tool, json!({"comand": "git"})).unwrap_err();
        assert!(error.starts_with("Parameter validation failed: command: Required"), "{error}");
    }

    #[test]
    fn models_are_told() {
        let told = |allowed: &[&str], denied: &[&str]| guarded(allowed, denied).schema().description.clone();
        assert_eq!(
            told(&["file_write(out/**)", "file_write(*.md)"], &["file_write(out/x)"]),
            "Does. Here only calls whose `path` matches `out/**` or `*.md` are allowed. \
             Calls whose `path` matches `out/x` are denied."
        );
        assert!(told(&["shell_execute(git *)"], &[]).starts_with(
            "Does. Here only calls whose `command` matches `git *` are allowed. Every command of a line has to match, and "
        ));
        assert_eq!(
            told(&[], &["ping(*9*)"]),
            "Does. Calls whose list of parameters, as JSON, matches `*9*` are denied."
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_path_counts_as_it_is_written_and_as_it_leads() {
        let ground = Ground::new();
        let root = ground.folder.path();
        for folder in ["out", "secret"] {
            std::fs::create_dir(root.join(folder)).unwrap();
        }
        std::os::unix::fs::symlink("../secret", root.join("out/way")).unwrap();
        std::os::unix::fs::symlink("out", root.join("alias")).unwrap();
        let tool = guarded(&["file_write(out/**)"], &[]);
        let absolute = root.join("out/a");
        for path in ["out/a", "./out//b/../a", "x/../out/a", "out/new/deep/a", absolute.to_str().unwrap()] {
            assert!(ground.allows(&tool, "path", path), "{path}");
        }
        for path in ["a", "out/../a", "out/way/a", "alias/a", ".", "output/a"] {
            assert!(!ground.allows(&tool, "path", path), "{path}");
        }
        let error = ground.call(&tool, json!({"path": "out/../../a"})).unwrap_err();
        assert_eq!(error, "`out/../../a` is outside the workspace");
        let tool = guarded(&[], &["file_read(secret/**)"]);
        for path in ["secret/a", "secret", "out/way/a", "alias/way/a", "alias/../secret/a"] {
            assert!(!ground.allows(&tool, "path", path), "{path}");
        }
        assert!(ground.allows(&tool, "path", "alias/a"));
    }

    #[test]
    fn a_search_counts_as_the_folder_that_it_begins_in() {
        let ground = Ground::new();
        let allowing = guarded(&["file_search(src/**)"], &[]);
        let denying = guarded(&[], &["file_search(src/**)"]);
        for (cwd, pattern, inside) in [
            (".", "src/**/*.rs", true),
            (".", "src/main.rs", true),
            ("src", "*.rs", true),
            ("src/deep", "**", true),
            (".", "**", false),
            (".", "s*/x", false),
            (".", "{src,x}/y", false),
        ] {
            let params = json!({"pattern": pattern, "cwd": cwd});
            assert_eq!(ground.call(&allowing, params.clone()).is_ok(), inside, "{cwd} {pattern}");
            assert_eq!(ground.call(&denying, params).is_err(), inside, "{cwd} {pattern}");
        }
    }

    #[test]
    fn data_that_are_given_are_about_no_path() {
        let ground = Ground::new();
        let tool = guarded(&["data_parse(data/**)"], &["data_parse(data/x)"]);
        for (params, allowed) in [
            (json!({"input": "a: 1"}), true),
            (json!({"input": "data/x"}), true),
            (json!({"input": "data/a", "fromFile": true}), true),
            (json!({"input": "data/x", "fromFile": true}), false),
            (json!({"input": "a", "fromFile": true}), false),
        ] {
            assert_eq!(ground.call(&tool, params.clone()).is_ok(), allowed, "{params}");
        }
    }

    #[test]
    fn a_url_counts_as_it_is_asked_for() {
        let ground = Ground::new();
        let tool = guarded(&["http_request(https://api.example.com/v1/*)"], &["http_request(*/admin*)"]);
        for (url, allowed) in [
            ("https://api.example.com/v1/x?y", true),
            ("HTTPS://API.example.com:443/v1/x", true),
            ("https://api.example.com/v1/../v2", false),
            ("https://api.example.com/v1/%2e%2e/v2", false),
            ("https://api.example.com/v1/admin", false),
            ("https://api.example.com/v1/admin/../x", false),
            ("https://api.example.com@evil.com/v1/x", false),
            ("https://user:password@api.example.com/v1/x", true),
            ("https:\\\\evil.com\\v1/", false),
            ("http://api.example.com/v1/x", false),
            ("no url", false),
        ] {
            assert_eq!(ground.allows(&tool, "url", url), allowed, "{url}");
        }
        let error = ground.call(&tool, json!({"url": "https://user:password@evil.com/x"})).unwrap_err();
        assert!(error.contains("no rule allows `https://evil.com/x`"), "{error}");
    }

    #[test]
    fn another_tool_counts_by_its_first_required_text_or_by_all_parameters() {
        let ground = Ground::new();
        let tool = guarded(&["deploy(staging*)"], &[]);
        assert!(ground.call(&tool, json!({"count": 1, "target": "staging-2"})).is_ok());
        assert!(ground.call(&tool, json!({"count": 1, "note": "staging", "target": "live"})).is_err());
        let tool = guarded(&["ping({\"times\":?})"], &[]);
        assert_eq!(ground.call(&tool, json!({})), Ok(json!({"times": 1})));
        assert!(ground.call(&tool, json!({"times": 10})).is_err());
    }
}
