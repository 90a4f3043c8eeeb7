//! `tepa doctor`: what it finds where something is wrong, and that it shows no secret.

#![cfg(test)]
#![cfg(unix)]

#[path = "support/terminal.rs"]
mod screen;
mod support;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use console::measure_text_width;
use serde_json::Value;

use screen::Terminal;
use support::{finish, tepa, text};

const KEY: (&str, &str) = ("ANTHROPIC_API_KEY", "sk-ant-hunter2-hunter2");

fn doctor(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    finish(tepa(folder).arg("doctor").args(arguments).envs(variables.iter().copied()))
}

/// Returns the details with their status of a check, by `--output json`, and the exit code.
fn found(folder: &Path, check: &str, arguments: &[&str], variables: &[(&str, &str)]) -> (Vec<String>, i32) {
    let arguments = [&["--output", "json"], arguments].concat();
    let output = doctor(folder, &arguments, variables);
    let json: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output.stderr)));
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    let of = json["checks"].as_array().unwrap().iter().filter(|finding| finding["check"] == check);
    let shown = of.map(|finding| {
        let hint =
            finding.get("hint").map(|hint| format!(" | {}", hint.as_str().unwrap())).unwrap_or_default();
        format!("{} {}{hint}", finding["status"].as_str().unwrap(), finding["detail"].as_str().unwrap())
    });
    (shown.collect(), output.status.code().unwrap())
}

/// Answers every request on a loopback port with a status; returns the address and what was asked.
fn server(status: &'static str) -> (String, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (sender, asked) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
                request.push(byte[0]);
            }
            let _ = sender.send(text(&request));
            let _ = write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}");
        }
    });
    (address, asked)
}

#[test]
fn all_is_well_where_nothing_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let output = doctor(folder.path(), &[], &[KEY]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("anthropic: set (`ANTHROPIC_API_KEY`)"), "{said}");
    assert!(!said.contains("hunter2") && !said.contains("***"), "{said}");
    for word in [
        "tepa",
        "system",
        "configuration",
        "provider",
        "models",
        "sandbox",
        "git",
        "record",
        "store",
        "shell",
        "terminal",
    ] {
        assert!(said.lines().any(|line| line[6..].starts_with(word)), "{word}: {said}");
    }
    assert!(text(&output.stderr).is_empty());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "it leaves nothing behind");
}

#[test]
fn a_missing_key_is_what_a_run_needs() {
    let folder = tempfile::tempdir().unwrap();
    let (keys, code) = found(folder.path(), "key", &[], &[]);
    assert_eq!(code, 1);
    assert!(keys[0].starts_with("fail anthropic: missing (`ANTHROPIC_API_KEY`) | export "), "{keys:?}");
    assert!(keys[1..].iter().all(|key| key.starts_with("ok ")), "{keys:?}");
    assert_eq!(found(folder.path(), "key", &["--provider", "replay"], &[]).1, 0);
    let (provider, code) = found(folder.path(), "provider", &["--provider", "openai-compatible"], &[]);
    assert_eq!((provider[0].starts_with("fail openai-compatible needs the address"), code), (true, 1));
    let secret = "https://me:secret-word@proxy.example";
    let (provider, code) = found(folder.path(), "provider", &["--base-url", secret], &[KEY]);
    assert!(provider[0].starts_with("fail the base URL holds a name or a password"), "{provider:?}");
    assert_eq!((code, provider[0].contains("secret-word")), (1, false));
    for proxy in [secret, "me:secret-word@proxy.example"] {
        let (proxies, _) = found(folder.path(), "proxy", &[], &[KEY, ("HTTPS_PROXY", proxy)]);
        assert!(proxies[0].ends_with("proxy.example") && !proxies[0].contains("secret-word"), "{proxies:?}");
    }
    let (models, _) = found(folder.path(), "models", &["--provider", "openai-compatible"], &[]);
    assert!(models[0].starts_with("fail "), "{models:?}");
    let (models, _) = found(folder.path(), "models", &["--model", "claude-sonet-4-6"], &[]);
    assert_eq!(models[1].split(" | ").last(), Some("did you mean `claude-sonnet-4-6`?"), "{models:?}");
}

#[test]
fn a_broken_configuration_keeps_it_from_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tepa.yaml"), "limts: {maxCycles: 1}\nprovider: gemni\n").unwrap();
    let (files, code) = found(folder.path(), "configuration", &[], &[KEY]);
    assert_eq!(code, 1);
    assert!(files[0].starts_with("ok ") && files[0].contains("config.yaml` is not there"), "{files:?}");
    assert!(
        files[1].starts_with("fail `tepa.yaml` has faults: ") && files[1].contains("and 1 more"),
        "{files:?}"
    );
    assert!(files[1].contains(" | `tepa validate tepa.yaml` shows where"), "{files:?}");
    assert!(found(folder.path(), "sandbox", &[], &[KEY]).0.len() == 1);
    fs::write(folder.path().join("tepa.yaml"), "baseUrl: https://x\n").unwrap();
    let (files, _) = found(folder.path(), "configuration", &[], &[KEY]);
    assert!(files[1].contains("`baseUrl` cannot be set in the project's `tepa.yaml`"), "{files:?}");
    fs::remove_file(folder.path().join("tepa.yaml")).unwrap();
    let (files, code) = found(folder.path(), "configuration", &["--config", "ci.yaml"], &[KEY]);
    assert_eq!((files[2].contains("ci.yaml"), code), (true, 1), "{files:?}");
}

#[test]
fn what_is_declared_secret_is_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let config = "secrets: {env: [TEAM_PASS], files: [gone.txt, word.txt]}\n\
        events: {preStep: [{command: [no-hunter22, team-hunter3]}]}\n\
        mcpServers: {away: {url: 'https://x.example/team-hunter3/no-hunter22'}}\n";
    fs::write(folder.path().join("ci.yaml"), config).unwrap();
    fs::write(folder.path().join("word.txt"), "no-hunter22\n").unwrap();
    for output in ["text", "json"] {
        let arguments = ["--config", "ci.yaml", "--output", output];
        let output = doctor(folder.path(), &arguments, &[KEY, ("TEAM_PASS", "team-hunter3")]);
        let said = text(&output.stdout);
        assert!(said.contains("***") && said.contains("the secrets in `gone.txt` cannot be read"), "{said}");
        assert!(!said.contains("hunter"), "{said}");
        assert_eq!(output.status.code(), Some(1));
    }
}

#[test]
fn it_works_without_a_home_and_where_nothing_can_be_recorded() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(".tepa"), "a file in the way").unwrap();
    let mut command = tepa(folder.path());
    command.args(["doctor", "--output", "json"]).env_remove("HOME").env(KEY.0, KEY.1);
    let output = finish(&mut command);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let (record, _) = found(folder.path(), "record", &[], &[KEY]);
    assert!(record[0].starts_with("fail `") && record[0].contains("--no-journal"), "{record:?}");
    assert_eq!(fs::read_to_string(folder.path().join(".tepa")).unwrap(), "a file in the way");
}

#[test]
fn programs_that_the_configuration_names_are_looked_for_and_not_started() {
    let folder = tempfile::tempdir().unwrap();
    let config = "\
events:
  postPlanner: [{command: [sh, hooks/filter.sh]}, {command: [no-such-program]}]
  preStep: [{command: no-such-word --fast | wc}, {command: 'cd x && nope'}, {command: python3 $X}, {command: ./deploy.sh now}, {command: sh gone.sh}]
customTools: [{name: deploy, description: d, command: [./deploy.sh]}]
mcpServers:
  there: {command: sh, args: [-c, 'touch started']}
  away: {url: 'https://u:secret-word@mcp.example/x?token=abc'}
";
    fs::write(folder.path().join("ci.yaml"), config).unwrap();
    fs::write(folder.path().join("deploy.sh"), "#!/bin/sh\n").unwrap();
    let of = |check| found(folder.path(), check, &["--config", "ci.yaml"], &[KEY]);
    let (hooks, code) = of("hook");
    assert_eq!(code, 1);
    assert!(hooks[0].starts_with("ok `sh` is /"), "{hooks:?}");
    assert!(hooks[1].starts_with("fail `hooks/filter.sh` is not found"), "{hooks:?}");
    assert!(hooks[2].starts_with("fail `no-such-program` is not found"), "{hooks:?}");
    let starts = |word: &str| hooks.iter().filter(|hook| hook.starts_with(word)).count();
    assert_eq!(starts("warn `no-such-word` is not found"), 1, "{hooks:?}");
    assert_eq!(starts("ok `./deploy.sh` is "), 1, "{hooks:?}");
    assert_eq!(starts("fail `gone.sh` is not found"), 1, "{hooks:?}");
    assert!(!hooks.iter().any(|hook| hook.contains("nope") || hook.contains("$X")), "{hooks:?}");
    assert!(of("tool").0[0].starts_with("ok deploy: `./deploy.sh` is "), "{:?}", of("tool"));
    let (servers, _) = of("server");
    assert_eq!(servers[1], "ok away: https://mcp.example/x, not asked");
    assert!(!folder.path().join("started").exists());
}

/// Does something with git in a folder; returns whether git is there.
fn git(folder: &Path, arguments: &[&str]) -> bool {
    let done = Command::new("git").args(arguments).current_dir(folder).output();
    done.is_ok_and(|output| output.status.success())
}

fn git_is_here(folder: &Path) -> bool {
    let is_here = git(folder, &["--version"]);
    assert!(is_here || std::env::var_os("TEPA_TEST_EVERYTHING").is_none(), "git is needed");
    if !is_here {
        eprintln!("`git` is not here: what needs it is not tested");
    }
    is_here
}

#[test]
fn git_is_asked_whether_the_folder_is_in_a_repository() {
    let folder = tempfile::tempdir().unwrap();
    if !git_is_here(folder.path()) {
        return;
    }
    assert!(found(folder.path(), "git", &[], &[KEY]).0[0].contains("in no repository"));
    assert!(git(folder.path(), &["init", "-q"]));
    assert!(found(folder.path(), "git", &[], &[KEY]).0[0].contains("in a repository"));
}

#[test]
fn no_program_that_a_repository_names_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    if !git_is_here(here) {
        return;
    }
    fs::write(here.join("a.txt"), "one\n").unwrap();
    let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "a"];
    assert!(git(here, &["init", "-q"]) && git(here, &["add", "."]) && git(here, &identity));
    let left = here.join("started");
    let evil = format!("touch {}; cat", left.display());
    fs::write(here.join(".gitattributes"), "* filter=evil\n").unwrap();
    for key in ["filter.evil.clean", "filter.evil.smudge", "core.fsmonitor", "core.pager", "diff.external"] {
        assert!(git(here, &["config", key, &evil]));
    }
    // Of the same size, so that git would have to look into it.
    fs::write(here.join("a.txt"), "two\n").unwrap();
    fs::create_dir(here.join("bin")).unwrap();
    for name in ["git", "bin/git"] {
        let script = format!("#!/bin/sh\ntouch {}\n", left.display());
        fs::write(here.join(name), script).unwrap();
        fs::set_permissions(here.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let outside = tempfile::tempdir().unwrap();
    symlink(here.join("bin/git"), outside.path().join("git")).unwrap();
    let path = std::env::var("PATH").unwrap();
    let path = format!(".:bin:{}:{}:{path}", here.join("bin").display(), outside.path().display());
    let (said, _) = found(here, "git", &[], &[KEY, ("PATH", &path)]);
    assert!(said[0].contains("in a repository"), "{said:?}");
    assert!(!left.exists());
}

/// Returns every file below a folder with its content.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let read = |path: PathBuf| (path.clone(), fs::read(folder.join(path)).unwrap());
    support::files_below(folder).into_iter().map(read).collect()
}

#[test]
fn looking_at_a_store_changes_no_byte() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let named = tempfile::tempdir().unwrap();
    let config = named.path().join("ci.yaml");
    let store = |path: &str| {
        fs::write(&config, format!("turn: {{store: {{kind: sqlite, path: '{path}'}}}}\n")).unwrap();
        found(here, "store", &["--config", config.to_str().unwrap()], &[KEY]).0
    };
    fs::write(here.join("empty.db"), "").unwrap();
    fs::write(here.join("text.db"), "no database, and long enough to have a header ".repeat(40)).unwrap();
    let session = ["memory", "list", "--store", "own % ü?.db"];
    fs::write(here.join("own % ü?.db"), "").unwrap();
    assert_eq!(finish(tepa(here).args(session)).status.code(), Some(0));
    fs::create_dir(here.join("folder.db")).unwrap();
    symlink("empty.db", here.join("link.db")).unwrap();
    let before = contents(here);
    for (path, says) in [
        ("empty.db", "ok `empty.db` can be used"),
        ("own % ü?.db", "ok `own % ü?.db` can be used"),
        ("text.db", "nor a database at all"),
        ("folder.db", "has to be a regular file"),
        ("link.db", "has to be a regular file"),
        ("none/at/all.db", "is not there yet"),
    ] {
        let said = store(path);
        assert!(said[0].contains(says), "{path}: {said:?}");
        assert_eq!(contents(here), before, "{path}");
    }
    assert!(!here.join("none").exists());
}

#[test]
fn a_provider_is_asked_only_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let (address, asked) = server("200 OK");
    let own = ("TEPA_BASE_URL", address.as_str());
    let (endpoint, code) = found(folder.path(), "endpoint", &[], &[KEY, own]);
    assert_eq!((endpoint[0].starts_with("ok not asked"), code), (true, 0));
    assert!(asked.try_recv().is_err());
    let (endpoint, code) = found(folder.path(), "endpoint", &["--online"], &[KEY, own]);
    assert_eq!(code, 0, "{endpoint:?}");
    assert!(endpoint[0].starts_with("ok anthropic: answers (200) in "), "{endpoint:?}");
    let request = asked.recv().unwrap();
    assert!(request.starts_with("GET /v1/models HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("\r\nx-api-key: sk-ant-hunter2-hunter2\r\n"), "{request}");
    for (name, key, variable, line) in [
        ("gemini", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GET /v1beta/models "),
        ("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", "GET /v1/models "),
    ] {
        let variables = [(key, "sk-12345678"), (variable, address.as_str())];
        let (endpoint, code) =
            found(folder.path(), "endpoint", &["--online", "--provider", name], &variables);
        assert_eq!((endpoint.len(), code), (1, 0), "{endpoint:?}");
        assert!(asked.recv().unwrap().starts_with(line));
    }
}

#[test]
fn what_a_provider_answers_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    for (status, starts, says, expected) in [
        ("401 Unauthorized", "fail anthropic: ", "refuses the key (401) | the key is wrong", 1),
        ("429 Too Many Requests", "warn anthropic: ", "asked too often (429)", 0),
        ("404 Not Found", "warn anthropic: ", "(404)", 0),
        ("503 Service Unavailable", "fail anthropic: ", "answers with 503", 1),
    ] {
        let (address, _asked) = server(status);
        let (endpoint, code) =
            found(folder.path(), "endpoint", &["--online"], &[KEY, ("TEPA_BASE_URL", address.as_str())]);
        assert!(endpoint[0].starts_with(starts) && endpoint[0].contains(says), "{status}: {endpoint:?}");
        assert_eq!(code, expected, "{status}");
    }
    // A port that nobody listens on.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let address = format!("http://{closed}");
    let (endpoint, code) =
        found(folder.path(), "endpoint", &["--online"], &[KEY, ("TEPA_BASE_URL", address.as_str())]);
    assert!(endpoint[0].starts_with("fail cannot reach `http://127.0.0.1:"), "{endpoint:?}");
    assert_eq!(code, 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_sandbox_that_cannot_be_had_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_owned();
    let (sandbox, code) = support::without_landlock(move || found(&place, "sandbox", &[], &[KEY]));
    assert!(sandbox[0].starts_with("warn workspace-write: no Landlock"), "{sandbox:?}");
    assert_eq!(code, 0);
    fs::write(folder.path().join("tepa.yaml"), "sandbox: {required: true}\n").unwrap();
    let place = folder.path().to_owned();
    let (sandbox, code) = support::without_landlock(move || found(&place, "sandbox", &[], &[KEY]));
    assert!(sandbox[0].starts_with("fail this system cannot confine commands"), "{sandbox:?}");
    assert_eq!(code, 1);
}

#[test]
fn it_fits_every_terminal() {
    let folder = tempfile::tempdir().unwrap();
    for columns in [60, 80, 200] {
        let (code, written) = Terminal::run(folder.path(), columns, "LANG=C.UTF-8 exec $TEPA doctor").end();
        assert_eq!(code, 1, "{written}");
        for line in written.lines() {
            let line = console::strip_ansi_codes(line.trim_end());
            assert!(measure_text_width(&line) <= usize::from(columns), "{columns}: {line}");
        }
        assert!(written.contains(&format!("{columns} columns, colour, UTF-8, live")), "{written}");
    }
}

#[test]
fn a_flag_that_makes_no_sense_is_usage() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(doctor(folder.path(), &["--offline"], &[]).status.code(), Some(2));
}
