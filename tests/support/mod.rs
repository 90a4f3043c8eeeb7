//! What the integration tests share: a folder to work in, the binary, and a pipeline in process whose clock stands still.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test binary uses its own part of this, and a test fails by panicking"
)]

pub mod published;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;
use tempfile::TempDir;
use tepa::approval::Approval;
use tepa::config::{Catalog, Config, Layers, Origin};
use tepa::event::{Clock, Envelope, EventSink, Fanout, Purpose, RunEvent};
use tepa::hook::HookBus;
use tepa::nonce::Nonces;
use tepa::pipeline::{Cancel, Finished, Pipeline};
use tepa::process::Setting;
use tepa::prompt::{Prompt, Values};
use tepa::provider::{Provider, ProviderError, Request, Response, Watch};
use tepa::providers::replay::Replay;
use tepa::sandbox::Confinement;
use tepa::secret::Secrets;
use tepa::source::{Document, SourceFile, UnknownKeys};
use tepa::stage::{RuleOfThumb, Stages};
use tepa::template::Templates;
use tepa::tool::Registry;
use tepa::workspace::Workspace;

/// The binary under test.
pub const TEPA: &str = env!("CARGO_BIN_EXE_tepa");

/// Returns the binary with nothing of this machine in its environment, at work in `folder`.
pub fn tepa(folder: &Path) -> Command {
    program(TEPA, folder)
}

/// Returns any program in the same way.
pub fn program(name: &str, folder: &Path) -> Command {
    let mut command = Command::new(name);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", folder.join("no-home")).current_dir(folder).stdin(Stdio::null());
    command
}

/// Runs a command to its end; a test that hangs is killed by the runner's own limit, a child that hangs by this one.
pub fn finish(command: &mut Command) -> Output {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.wait_with_output().unwrap()
}

/// Does `work` in a thread to which, with all that it starts, the kernel answers every question about Landlock as one without it does.
#[cfg(target_os = "linux")]
pub fn without_landlock<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
    std::thread::spawn(move || {
        // The numbers are those of every architecture.
        let calls = [444, 445, 446].map(|call| (call, Vec::new()));
        let errno = SeccompAction::Errno(38);
        let filter = SeccompFilter::new(
            BTreeMap::from(calls),
            SeccompAction::Allow,
            errno,
            std::env::consts::ARCH.try_into().unwrap(),
        );
        let program: BpfProgram = filter.unwrap().try_into().unwrap();
        seccompiler::apply_filter(&program).unwrap();
        work()
    })
    .join()
    .unwrap()
}

/// Copies a folder with everything in it; links stay links.
pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            copy_folder(&entry.path(), &target);
        } else if kind.is_symlink() {
            #[cfg(unix)]
            std::os::unix::fs::symlink(fs::read_link(entry.path()).unwrap(), target).unwrap();
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Returns the files below a folder, relative to it, sorted.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    fn walk(folder: &Path, root: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, root, files);
            } else {
                files.push(path.strip_prefix(root).unwrap().to_path_buf());
            }
        }
    }
    let mut files = Vec::new();
    walk(folder, folder, &mut files);
    files.sort();
    files
}

/// Returns what a stream carried.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the result of the first run recorded in a folder.
pub fn result_of(folder: &Path) -> Value {
    let run = fs::read_dir(folder.join(".tepa/runs")).unwrap().next().unwrap().unwrap().path();
    serde_json::from_slice(&fs::read(run.join("result.json")).unwrap()).unwrap()
}

/// Returns path and hash of every file that a result names.
pub fn hashes(result: &Value) -> Vec<(&str, &str)> {
    let outputs = result["outputs"].as_array().unwrap();
    outputs.iter().map(|file| (file["path"].as_str().unwrap(), file["sha256"].as_str().unwrap())).collect()
}

/// Returns a folder with the example, whose scripted models answer at once.
pub fn example() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let prompts = folder.path().join("prompts");
    copy_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("prompts"), &prompts);
    let script = prompts.join("task.replay.yaml");
    let text = fs::read_to_string(&script).unwrap();
    let hurried = text.split_inclusive('\n').filter(|line| !line.trim_start().starts_with("delayMs: "));
    fs::write(script, hurried.collect::<String>()).unwrap();
    folder
}

/// Returns `Some` when the process does not run; one that was killed and not yet reaped does not run.
pub fn gone(pid: &str) -> Option<()> {
    let test = "kill -0 $0 2>/dev/null && ! grep -q '^State:.Z' /proc/$0/status 2>/dev/null";
    let alive = Command::new("sh").args(["-c", test, pid]).status().unwrap().success();
    (!alive).then_some(())
}

/// Looks until there is something to see.
pub fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..2000 {
        if let Some(seen) = look() {
            return seen;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it did not happen");
}

/// A clock that stands still.
#[derive(Debug, Default)]
pub struct StoppedClock;

impl Clock for StoppedClock {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::UNIX_EPOCH
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

/// Keeps every request that passes through.
pub struct Capture<P> {
    inner: P,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl<P: Provider> Provider for Capture<P> {
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
        self.requests.lock().unwrap().push(request.clone());
        self.inner.complete(request, watch)
    }

    fn recall(&self, purpose: &Purpose) {
        self.inner.recall(purpose);
    }

    fn finish(&self) -> Result<(), ProviderError> {
        self.inner.finish()
    }
}

/// Keeps every event.
#[derive(Clone, Default)]
pub struct Events(Arc<Mutex<Vec<RunEvent>>>);

impl Events {
    pub fn all(&self) -> Vec<RunEvent> {
        self.0.lock().unwrap().clone()
    }
}

impl EventSink for Events {
    fn name(&self) -> &'static str {
        "the test"
    }

    fn emit(&mut self, envelope: &Envelope) -> io::Result<()> {
        self.0.lock().unwrap().push(RunEvent::clone(&envelope.event));
        Ok(())
    }
}

/// A pipeline in process, on scripted replies.
pub struct Bench {
    pub folder: TempDir,
    pub pipeline: Pipeline,
    pub prompt: Prompt,
    pub requests: Arc<Mutex<Vec<Request>>>,
    pub events: Events,
}

impl Bench {
    /// Returns a pipeline for a prompt, a replay file and a configuration layer, all as YAML.
    pub fn new(prompt: &str, replies: &str, config: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let replay = folder.path().join("bench.replay.yaml");
        fs::write(&replay, replies).unwrap();
        let provider = Replay::load(&replay, "bench.replay.yaml").unwrap_or_else(|e| panic!("{e:?}"));
        fs::remove_file(&replay).unwrap();
        Self::with_provider(folder, prompt, provider, config)
    }

    pub fn with_provider(
        folder: TempDir,
        prompt: &str,
        provider: impl Provider + 'static,
        config: &Value,
    ) -> Self {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let capture = Capture { inner: provider, requests: Arc::clone(&requests) };
        let resolved = resolve(config);
        let mut tools = Registry::default();
        for tool in tepa::tools::built_in(&resolved.network) {
            tools.register(tool).unwrap();
        }
        let tools = tepa::tool::permission::apply(tools, &resolved.tools, &resolved.deny_tools).unwrap();
        let pipeline = Pipeline {
            provider: Arc::new(capture),
            tools,
            hooks: HookBus::default(),
            approval: Approval::default(),
            workspace: Arc::new(Workspace::open(folder.path()).unwrap()),
            prices: Catalog::load().unwrap().prices(&resolved.pricing),
            config: resolved,
            protected: Vec::new(),
            replies: None,
            setting: Arc::new(Setting { environment: children(), supervisor: None }),
            temporary: std::env::temp_dir(),
            confinement: Confinement::off(),
            templates: Templates::load().unwrap(),
            nonces: Nonces::seeded("test"),
            stages: Stages::default(),
            store: None,
            session: None,
            counter: Arc::new(RuleOfThumb),
            spent: Duration::ZERO,
            clock: Arc::new(StoppedClock),
        };
        let prompt = parse_prompt(prompt);
        Self { folder, pipeline, prompt, requests, events: Events::default() }
    }

    /// Runs to the settlement.
    pub async fn run(&self) -> Finished {
        self.run_until(&Cancel::default()).await
    }

    /// Runs to the settlement or until it is told to stop.
    pub async fn run_until(&self, cancel: &Cancel) -> Finished {
        let sinks: Vec<Box<dyn EventSink>> = vec![Box::new(self.events.clone())];
        let fanout = Fanout::new("bench".into(), Arc::new(StoppedClock), Secrets::default(), sinks);
        self.pipeline.run("bench", self.prompt.clone(), fanout, cancel).await
    }

    /// Returns everything that was sent, as one document.
    pub fn conversation(&self) -> String {
        conversation(&self.requests.lock().unwrap())
    }
}

/// Returns a configuration: the defaults and one layer.
pub fn resolve(layer: &Value) -> Config {
    let mut layers = Layers::defaults().unwrap();
    layers.push(Origin::CommandLine, layer.clone());
    layers.resolve().unwrap()
}

/// Returns the prompt that a YAML text holds.
pub fn parse_prompt(text: &str) -> Prompt {
    let file = SourceFile::from_text("prompt.yaml", text, tepa::source::Format::Yaml);
    let mut document = Document::parse(file).unwrap_or_else(|faults| panic!("{}", faults.render(false, 100)));
    let loaded = tepa::prompt::load(&mut document, &Values::default(), UnknownKeys::Refuse);
    loaded.unwrap_or_else(|faults| panic!("{}", faults.render(false, 100))).0
}

/// Returns every request in full: what a changed template changes shows as a difference of this text.
pub fn conversation(requests: &[Request]) -> String {
    let mut text = String::new();
    for (at, request) in requests.iter().enumerate() {
        let tool = request.tool.as_ref().map_or("none".to_owned(), |tool| format!("{} (forced)", tool.name));
        let purpose = &request.purpose;
        text.push_str(&format!(
            "<!-- call {}: {purpose}, attempt {}, model {}, tool {tool}, at most {} tokens -->\n",
            at + 1,
            purpose.attempt,
            request.model,
            request.max_tokens
        ));
        text.push_str(&format!("\n## system\n\n{}\n", request.system));
        for message in &request.messages {
            text.push_str(
                &format!("\n## {:?}\n\n{}\n", message.role, message.content).to_lowercase_heading(),
            );
        }
        text.push('\n');
    }
    text
}

trait LowercaseHeading {
    fn to_lowercase_heading(self) -> String;
}

impl LowercaseHeading for String {
    fn to_lowercase_heading(self) -> String {
        self.replacen("## User", "## user", 1).replacen("## Assistant", "## assistant", 1)
    }
}

fn children() -> BTreeMap<OsString, OsString> {
    std::env::vars_os().filter(|(name, _)| name == "PATH").collect()
}
