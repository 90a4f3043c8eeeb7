//! Owns the stage `telemetry`: one line about a run, or about a cycle, at the end of a file.
//!
//! The file stays in the folder that the run works in, whatever the run made of the path to it: what leads out is not followed, and neither
//! is a link in the place of the file. Secrets do not get into it.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use serde_json::{Map, Value, json};

use super::Work;
use crate::secret::Secrets;
use crate::stage::{StageError, TurnContext};

/// Appends a line.
pub(super) struct Telemetry {
    pub(super) root: PathBuf,
    pub(super) file: PathBuf,
    pub(super) secrets: Secrets,
}

impl Work for Telemetry {
    fn name(&self) -> &'static str {
        "telemetry"
    }

    async fn work(&self, context: &mut TurnContext) -> Result<(), StageError> {
        let line = format!("{}\n", self.secrets.redact_value(facts(context)));
        let (root, file) = (self.root.clone(), self.file.clone());
        let fail = || StageError::new(format!("cannot write to `{}`", self.file.display()));
        let written = tokio::task::spawn_blocking(move || append(&root, &file, line.as_bytes())).await;
        written.map_err(|e| fail().because(e))?.map_err(|e| fail().because(e))
    }
}

fn facts(context: &TurnContext) -> Value {
    let ended = context.ended();
    let mut facts = Map::new();
    let mut say = |key: &str, value: Value| facts.insert(key.to_owned(), value);
    say("ts", json!(context.now()));
    say("turn", json!(context.id()));
    say("session", json!(context.session()));
    if context.cycle() > 0 {
        say("cycle", json!(context.cycle()));
    }
    say("verdict", json!(context.evaluation().map(|evaluation| evaluation.verdict)));
    say("cycles", json!(ended.map(|ended| ended.cycles)));
    say("tokensUsed", json!(ended.map(|ended| ended.tokens_used)));
    say("costUsd", json!(ended.and_then(|ended| ended.cost.usd)));
    say("durationMs", json!(ended.map(|ended| ended.duration_ms)));
    say("trace", json!(context.turn.trace));
    say("stash", json!(context.stash));
    facts.into()
}

fn append(root: &Path, file: &Path, line: &[u8]) -> io::Result<()> {
    let root = Dir::open_ambient_dir(root, ambient_authority())?;
    let folder = match file.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => {
            root.create_dir_all(parent)?;
            root.open_dir(parent)?
        }
        None => root,
    };
    let name = file.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let mut options = OpenOptions::new();
    // A pipe that nobody reads would wait for ever.
    options.append(true).create(true).follow(FollowSymlinks::No).nonblock(true);
    let mut file = folder.open_with(name, &options)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    file.write_all(line)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use secrecy::SecretString;

    use super::*;
    use crate::outcome::{Cost, CostQualifier, Evaluation, Verdict};
    use crate::stage::Ended;
    use crate::stages::fake::Trial;
    use crate::turn::Scope;

    fn telemetry(root: &Path, file: &str) -> Telemetry {
        let secrets = Secrets::new([SecretString::from("sk-0123456789")]);
        Telemetry { root: root.to_owned(), file: file.into(), secrets }
    }

    fn passed() -> Trial {
        let mut trial = Trial::at(Scope::TurnOutput);
        trial.context.stash.set("retrieval.query", "with sk-0123456789");
        let cost = Cost { usd: Some(0.5), qualifier: CostQualifier::Priced };
        let ended = Ended { cycles: 2, tokens_used: 90, cost, duration_ms: 1_500 };
        trial.context.end(Evaluation::new(Verdict::Pass, 1.0), ended);
        trial
    }

    fn lines(path: &Path) -> Vec<Value> {
        let text = fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[tokio::test]
    async fn each_run_and_each_cycle_is_a_line() {
        let folder = tempfile::tempdir().unwrap();
        passed().run(telemetry(folder.path(), ".tepa/lines/t.jsonl")).await.unwrap();
        let mut cycle = Trial::at(Scope::DispatchOutput);
        cycle.context.begin_cycle(3);
        cycle.context.judge(Evaluation::new(Verdict::Fail, 1.0));
        cycle.run(telemetry(folder.path(), ".tepa/lines/t.jsonl")).await.unwrap();
        let lines = lines(&folder.path().join(".tepa/lines/t.jsonl"));
        assert_eq!(
            lines[0],
            json!({"ts": "1970-01-01T00:16:40Z", "turn": "now", "session": "s", "verdict": "pass", "cycles": 2,
                "tokensUsed": 90, "costUsd": 0.5, "durationMs": 1500, "trace": null,
                "stash": {"retrieval": {"query": "with ***"}}})
        );
        assert_eq!((&lines[1]["cycle"], &lines[1]["verdict"]), (&json!(3), &json!("fail")));
        assert_eq!((&lines[1]["cycles"], lines.len()), (&Value::Null, 2));
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn nothing_leads_out_of_the_folder_of_the_run() {
        use std::os::unix::fs::symlink;
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |name: &str| folder.path().join(name);
        symlink(outside.path(), at("away")).unwrap();
        fs::write(at("tepa.yaml"), "limits: {}\n").unwrap();
        symlink("tepa.yaml", at("link")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        for file in ["away/t", "../t", "/t", "link", "folder", "pipe", "tepa.yaml/t"] {
            let fault = passed().run(telemetry(folder.path(), file)).await.unwrap_err();
            assert!(fault.contains(&format!("cannot write to `{file}`: ")), "{fault}");
        }
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
        assert_eq!(fs::read_to_string(at("tepa.yaml")).unwrap(), "limits: {}\n");
    }
}
