//! Owns the files that `tepa init` writes, with comments that say what to do with them.
//!
//! What a person typed goes through the YAML writer and never into a text as it is.

use std::path::Path;

use serde_json::{Value, json};

use super::answers::{Answers, GOAL};
use crate::error::Error;
use crate::prompt::literal;
use crate::session::access;
use crate::source::to_yaml;

/// Returns the task.
pub(super) fn task(answers: &Answers) -> Result<String, Error> {
    let Answers { goal, path, .. } = answers;
    let criteria = if goal == GOAL {
        ["It says what the folder is for", "It names the most important files and what each is for"]
    } else {
        ["It does what the goal asks for, all of it", "It says nothing that the material does not support"]
    };
    let expected = json!({
        "expectedOutput": [{
            "path": literal(path),
            "description": "What the goal asks for",
            "criteria": criteria,
            "checks": [check(path)],
        }],
    });
    Ok(format!(
        "\
# A task for `tepa run`: what is wanted, what there is to know about it, and how it will be judged.
#
#   tepa validate prompts/task.yaml    every fault of this file, without a model
#   tepa run prompts/task.yaml         do it: exit code 0 is a pass, everything else is none
#
# Paths count from the folder that tepa runs in.

# What to accomplish, as you would tell a colleague who has not seen this folder before.
{}
# What the models should know: any keys you like.
context:
  audience: Somebody with ten minutes and no knowledge of this folder.

# What has to be there in the end. tepa looks at every path itself and runs the checks, and a judge has to prove each criterion with a
# quote. Write criteria that a reader could answer with yes or no. There are checks for size, text, CSV, JSON, YAML, hashes and commands.
{}",
        yaml(&json!({ "goal": literal(goal) }))?,
        yaml(&expected)?,
    ))
}

/// Returns the least task that expects a path.
pub(super) fn outline(path: &str) -> Result<String, Error> {
    yaml(
        &json!({"goal": "g", "context": {}, "expectedOutput": [{"path": literal(path), "description": "d"}]}),
    )
}

/// Returns a check that suits the ending of a path.
fn check(path: &str) -> Value {
    let ending = Path::new(path).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending {
        "csv" => json!({"csv": {"minRows": 1}}),
        "yaml" | "yml" => json!({"yaml": true}),
        _ => json!({"minBytes": 20}),
    }
}

/// Returns the configuration of the project.
pub(super) fn project(answers: &Answers) -> Result<String, Error> {
    let Answers { provider, models, .. } = answers;
    Ok(format!(
        "\
# How tasks run in this folder. Every key is optional; flags and TEPA_* variables win over it.
# This file lies where tasks write, so it may narrow what a run may do and not widen it: addresses, hooks, servers and a wider sandbox
# belong into your own configuration or into a file that you name with `--config`.
{}
evaluator:
  strict: true # a task with nothing to verify fails

# limits:
#   maxCycles: 3 # then the run fails
#   maxTokens: 100000 # over all model calls
#   maxDuration: 20m

# denyTools: [http_request, web_search, shell_execute] # or rules, such as shell_execute(git push *)
# protect: [data/**] # a run that changes one of these fails
",
        yaml(&json!({"provider": provider, "model": models}))?
    ))
}

/// Returns the workflow.
pub(super) fn workflow(answers: &Answers) -> Result<String, Error> {
    let mut variables = serde_json::Map::new();
    if let Some(access) = access(answers.provider) {
        let key = access.keys[0];
        variables.insert(key.to_owned(), json!(format!("${{{{ secrets.{key} }}}}")));
    }
    if answers.base_url.is_some() {
        // What may hold a password is no text for a file that everybody reads.
        let hidden = "${{ secrets.TEPA_BASE_URL }}";
        variables.insert("TEPA_BASE_URL".to_owned(), json!(answers.open_address().unwrap_or(hidden)));
    }
    // What the uploader or GitHub would take for a pattern or an expression is left to a person.
    let strange = |c: char| "*?[]!#~${}\\".contains(c) || c.is_control();
    let path = if answers.path.contains(strange) { String::new() } else { format!("{}\n", answers.path) };
    let upload = json!({
        "name": "tepa",
        "if-no-files-found": "warn",
        "path": format!("tepa-result.json\ntepa-report.xml\ntepa-report.md\n{path}"),
    });
    Ok(format!(
        "\
# Runs the task by hand, from the page of the workflow. Its exit code decides whether the job passes.
name: tepa

on:
  workflow_dispatch:
  # pull_request: # runs of forks have no secrets, and end with exit code 2

permissions:
  contents: read

jobs:
  task:
    runs-on: ubuntu-latest
    timeout-minutes: 40
    steps:
      - uses: actions/checkout@v4
        with:
          persist-credentials: false
      # Where tepa comes from: the address of its repository, as a variable of yours (Settings, Actions, Variables). It is handed your key, so
      # it is not taken from wherever something of this name may be.
      - run: cargo install --locked --git \"${{TEPA_SOURCE:?is not set in the variables of this repository}}\" tepa
        env:
          TEPA_SOURCE: ${{{{ vars.TEPA_SOURCE }}}}
      - run: tepa validate prompts/task.yaml tepa.yaml
      - run: tepa run prompts/task.yaml --timeout 20m --max-tokens 200000 --result tepa-result.json --report junit=tepa-report.xml,markdown=tepa-report.md
        env:
{env}      - uses: actions/upload-artifact@v4
        if: ${{{{ !cancelled() }}}}
        with:
{upload}",
        env = indented(&yaml(&Value::Object(variables))?),
        upload = indented(&yaml(&upload)?),
    ))
}

fn yaml(value: &Value) -> Result<String, Error> {
    to_yaml(value).map_err(|why| Error::broken(format!("what was typed cannot be written as YAML: {why}")))
}

fn indented(yaml: &str) -> String {
    yaml.lines().fold(String::new(), |text, line| text + "          " + line + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Models, ProviderKind};
    use crate::source::parse_yaml_value;

    fn answers(goal: &str, path: &str) -> Answers {
        let model = || "a: b".to_owned();
        Answers {
            goal: goal.to_owned(),
            path: path.to_owned(),
            provider: ProviderKind::OpenAiCompatible,
            models: Models { planner: model(), executor: model(), evaluator: model() },
            base_url: Some("http://localhost:1/x: y".to_owned()),
            workflow: true,
        }
    }

    #[test]
    fn whatever_is_typed_stands_in_the_files_as_it_is() {
        let value = |text: &str| parse_yaml_value(text, 1000).unwrap_or_else(|e| panic!("{e}: {text}"));
        for odd in ["say \"hi\": 'now'", "- a", "# no", "*x", "a\nb\n\n  c", "true", "{a: [b", "%x", "é\u{7}"]
        {
            let answers = answers(odd, "out/a: b 1.md");
            let task = value(&task(&answers).unwrap());
            assert_eq!(task["goal"], odd);
            assert_eq!(task["expectedOutput"][0]["path"], "out/a: b 1.md");
            assert_eq!(value(&project(&answers).unwrap())["model"]["planner"], "a: b");
            let workflow = value(&workflow(&answers).unwrap());
            let steps = &workflow["jobs"]["task"]["steps"];
            assert_eq!(steps[3]["env"]["TEPA_BASE_URL"], "http://localhost:1/x: y");
            assert_eq!(steps[3]["env"]["OPENAI_API_KEY"], "${{ secrets.OPENAI_API_KEY }}");
            assert!(steps[4]["with"]["path"].as_str().unwrap().ends_with("\nout/a: b 1.md\n"));
            assert_eq!(workflow["permissions"], json!({"contents": "read"}));
        }
        assert_eq!(value(&task(&answers("fill {{ x }}", "a")).unwrap())["goal"], "fill \\{{ x }}");
    }

    #[test]
    fn a_check_suits_its_file() {
        assert_eq!(check("a.csv"), json!({"csv": {"minRows": 1}}));
        assert_eq!(check("a/b.md"), json!({"minBytes": 20}));
    }
}
