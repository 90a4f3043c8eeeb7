//! A scenario in process, with everything that is needed to begin it again in the middle: its events, and its folder after each of them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tempfile::TempDir;
use tepa::event::{Envelope, EventSink, Fanout, RunEvent};
use tepa::journal::{self, Journal};
use tepa::outcome::{Effect, RunResult};
use tepa::pipeline::{Cancel, Interrupted};
use tepa::provider::Request;
use tepa::secret::Secrets;
use tepa::tool::{AnyTool, ParamsError, ToolContext, ToolError, ToolSchema};

use crate::support::{Bench, StoppedClock, copy_folder};

/// What is in a folder.
type Files = BTreeMap<PathBuf, Entry>;

#[derive(Debug, Clone, PartialEq)]
enum Entry {
    Folder,
    Link(PathBuf),
    File {
        mode: u32,
        content: Vec<u8>,
    },
    /// A pipe, or what is too large to be kept.
    Other,
}

/// The largest file that is kept, in bytes.
const LARGEST: u64 = 64 << 20;

/// Calls of tools that change something, in the order in which they were made.
type Calls = Arc<Mutex<Vec<(String, String)>>>;

pub(crate) struct Scenario {
    name: String,
    prompt: String,
    replies: String,
    config: Value,
    folder: Option<PathBuf>,
}

/// What a run was after one of its events.
struct Moment {
    line: String,
    files: Files,
    calls: usize,
}

/// What a run came to.
struct Ended {
    result: Value,
    files: Files,
    requests: Vec<Request>,
    calls: Vec<(String, String)>,
    events: Vec<RunEvent>,
}

impl Scenario {
    /// Returns the scenario in a folder, unless nothing runs in it.
    pub(crate) fn load(folder: &Path) -> Option<Self> {
        let read = |file: &str| fs::read_to_string(folder.join(file)).ok();
        let prompt = read("prompt.yaml")?;
        let mut config = json!({});
        let mut take = |text: &str| {
            let layer: Value = tepa::source::parse_yaml_value(text, 1000).ok()?;
            merge(&mut config, &layer);
            Some(())
        };
        if let Some(text) = read("in/tepa.yaml") {
            take(&text)?;
        }
        let arguments = read("args").unwrap_or_default();
        let words: Vec<&str> = arguments.lines().collect();
        for pair in words.windows(2) {
            let limit = |key: &str| format!("limits: {{{key}: {}}}", pair[1]);
            match pair[0] {
                "--config" => take(&read(&format!("in/{}", pair[1]))?)?,
                "--max-cycles" => take(&limit("maxCycles"))?,
                "--max-tokens" => take(&limit("maxTokens"))?,
                "--max-cost" => take(&limit("maxCostUsd"))?,
                "--max-tool-calls" => take(&limit("maxToolCalls"))?,
                "--tool-timeout" => take(&limit("toolTimeout"))?,
                "--tools" => take(&format!("tools: [\"{}\"]", pair[1].replace(',', "\",\"")))?,
                "--deny-tool" => take(&format!("denyTools: [\"{}\"]", pair[1].replace(',', "\",\"")))?,
                _ => {}
            }
        }
        if words.first() == Some(&"--strict") {
            take("evaluator: {strict: true}")?;
        }
        config["limits"]["maxParallelSteps"] = json!(1);
        let name =
            folder.components().rev().take(2).map(|part| part.as_os_str().to_string_lossy().into_owned());
        let name = name.collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("/");
        let inputs = folder.join("in");
        let scenario = Self {
            name,
            prompt,
            replies: read("replay.yaml")?,
            config,
            folder: inputs.is_dir().then_some(inputs),
        };
        // What is refused before a run begins has no record.
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| scenario.bench(&scenario.inputs())))
            .is_ok()
            .then_some(scenario)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Cuts the record at every event; returns how many cuts that were, and how many of them in a call that may have changed something.
    pub(crate) fn cut_everywhere(&self) -> (usize, usize) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (moments, whole) = runtime.block_on(self.run());
        let mut cut_off = 0;
        let mut made = 0;
        for cut in 1..=moments.len() {
            if moments[cut - 1].files.values().any(|entry| *entry == Entry::Other) {
                continue;
            }
            made += 1;
            let open = open_call(&moments[..cut]);
            match runtime.block_on(self.resume(&moments, cut)) {
                None => {
                    let stopped = moments[..cut].iter().any(|moment| kind(&moment.line) == "run.stopped");
                    assert!(stopped || cut == moments.len(), "{}: cut at {cut}", self.name);
                }
                Some(resumed) if open => {
                    cut_off += 1;
                    self.check_cut_off(&whole, &moments[cut - 1], &resumed, cut);
                }
                Some(resumed) => self.check_same(&whole, &moments[..cut], &resumed),
            }
        }
        (made, cut_off)
    }

    fn inputs(&self) -> Files {
        let Some(folder) = &self.folder else { return Files::new() };
        let copy = tempfile::tempdir().unwrap();
        copy_folder(folder, copy.path());
        files(copy.path())
    }

    fn bench(&self, files: &Files) -> (Bench, Calls) {
        let mut bench = Bench::new(&self.prompt, &self.replies, &self.config);
        if let Some(folder) = &self.folder {
            copy_folder(folder, bench.folder.path());
        }
        restore(bench.folder.path(), files);
        let calls = Calls::default();
        bench.pipeline.tools.replace_each(|tool| Arc::new(Counting { tool, calls: Arc::clone(&calls) }));
        (bench, calls)
    }

    async fn run(&self) -> (Vec<Moment>, Ended) {
        let (bench, calls) = self.bench(&self.inputs());
        let moments = Arc::new(Mutex::new(Vec::new()));
        let sink = Snapshots {
            folder: bench.folder.path().to_owned(),
            calls: Arc::clone(&calls),
            moments: Arc::clone(&moments),
        };
        let fanout = fanout(vec![Box::new(sink), Box::new(bench.events.clone())]);
        let finished = bench.pipeline.run("bench", bench.prompt.clone(), fanout, &Cancel::default()).await;
        let ended = ended(&bench, &calls, &finished.result);
        let moments = std::mem::take(&mut *moments.lock().unwrap());
        (moments, ended)
    }

    /// Goes on after the first `cut` events, with a part of the next one behind them; nothing where the run has ended for good.
    async fn resume(&self, moments: &[Moment], cut: usize) -> Option<Ended> {
        let (bench, calls) = self.bench(&moments[cut - 1].files);
        let records = TempDir::new().unwrap();
        let folder = records.path().join(journal::FOLDER).join("bench");
        fs::create_dir_all(&folder).unwrap();
        let mut record: String = moments[..cut].iter().map(|moment| moment.line.clone() + "\n").collect();
        if let Some(next) = moments.get(cut) {
            let mut torn = (cut * 7919 + self.name.len() * 104_729) % next.line.len();
            while !next.line.is_char_boundary(torn) {
                torn -= 1;
            }
            record.push_str(&next.line[..torn]);
        }
        fs::write(folder.join(journal::EVENTS), &record).unwrap();
        let whole = journal::read_whole(&folder).unwrap();
        assert_eq!((whole.events.len(), whole.unknown), (cut, 0), "{}: cut at {cut}", self.name);
        let journal = Journal::resume(records.path(), "bench", whole.bytes).unwrap();
        let interrupted = Interrupted::of("bench", whole.bytes, whole.events).ok()?;
        let events = interrupted.events.clone();
        let fanout = fanout(vec![Box::new(journal), Box::new(bench.events.clone())]).resumed(&events);
        let finished = bench.pipeline.resume("bench", interrupted, fanout, &Cancel::default()).await;
        let again = journal::read_whole(&folder).unwrap();
        assert!(
            again.events.iter().zip(1..).all(|(envelope, seq)| envelope.seq == seq),
            "{}: {cut}",
            self.name
        );
        assert_eq!(again.bytes, fs::metadata(folder.join(journal::EVENTS)).unwrap().len());
        assert!(matches!(*again.events.last()?.event, RunEvent::RunCompleted { .. }), "{}: {cut}", self.name);
        Some(ended(&bench, &calls, &finished.result))
    }

    fn check_same(&self, whole: &Ended, before: &[Moment], resumed: &Ended) {
        let place =
            format!("{}: cut at {}, after {}", self.name, before.len(), kind(&before[before.len() - 1].line));
        let spoilt = "protected files are not what they were when the run began";
        if whole.result["reason"] == "protected_path_modified"
            && resumed.result["feedback"].to_string().contains(spoilt)
        {
            assert_eq!(resumed.result["exitCode"], 4, "{place}");
            return;
        }
        assert_eq!(resumed.result, whole.result, "{place}");
        assert_eq!(resumed.files, whole.files, "{place}");
        let made = before[before.len() - 1].calls;
        assert_eq!(resumed.calls, whole.calls[made..], "{place}: calls");
        // Every call was answered before or is made now; one that failed or was cut may be made again.
        let answers = before.iter().filter(|moment| kind(&moment.line) == "llm.completed");
        let answered = answers.clone().count();
        let failed = answers.filter(|moment| {
            let event: Value = serde_json::from_str(&moment.line).unwrap();
            event["finishReason"].is_null() || event["finishReason"] == "max_tokens"
        });
        let (left, asked) = (whole.requests.len() - answered, resumed.requests.len());
        assert!(left <= asked && asked <= left + failed.count(), "{place}: {asked} requests for {left}");
        assert_eq!(resumed.requests[..], whole.requests[whole.requests.len() - asked..], "{place}");
    }

    /// Nobody knows whether the call has run: it is not made again, the step fails, and nothing passes that would not have passed.
    fn check_cut_off(&self, whole: &Ended, moment: &Moment, resumed: &Ended, cut: usize) {
        let place = format!("{}: cut at {cut}, in a call", self.name);
        let told = resumed.events.iter().any(|event| {
            matches!(event, RunEvent::ToolCompleted { error: Some(error), .. } if error.ends_with("was interrupted, and may have run"))
        });
        assert!(told, "{place}");
        let begun: Value = serde_json::from_str(&moment.line).unwrap();
        if begun["type"] == "tool.started" {
            let call = (begun["tool"].as_str().unwrap().to_owned(), begun["params"].to_string());
            let planned = whole.calls[moment.calls..].iter().filter(|made| **made == call).count();
            let made = resumed.calls.iter().filter(|made| **made == call).count();
            assert!(made < planned, "{place}: {call:?} is made again");
        }
        let checks = resumed.result["checks"].as_array().unwrap();
        let passed = resumed.result["exitCode"] == 0;
        assert!(!passed || checks.iter().all(|check| check["passed"] == true), "{place}: {}", resumed.result);
    }
}

/// Returns whether the events end in a call that may have changed something.
fn open_call(moments: &[Moment]) -> bool {
    let mut open = false;
    for moment in moments {
        match kind(&moment.line).as_str() {
            "tool.started" => open = moment.line.contains("\"effect\":\"writes\""),
            "tool.completed" => open = false,
            _ => {}
        }
    }
    open
}

fn kind(line: &str) -> String {
    let event: Value = serde_json::from_str(line).unwrap();
    event["type"].as_str().unwrap().to_owned()
}

fn ended(bench: &Bench, calls: &Calls, result: &RunResult) -> Ended {
    Ended {
        result: serde_json::to_value(result).unwrap(),
        files: files(bench.folder.path()),
        requests: bench.requests.lock().unwrap().clone(),
        calls: calls.lock().unwrap().clone(),
        events: bench.events.all(),
    }
}

fn fanout(sinks: Vec<Box<dyn EventSink>>) -> Fanout {
    Fanout::new("bench".into(), Arc::new(StoppedClock), Secrets::default(), sinks)
}

/// Returns what is below a folder; links are not followed.
fn files(folder: &Path) -> Files {
    fn walk(folder: &Path, root: &Path, files: &mut Files) {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let entry = entry.unwrap();
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let found = if kind.is_dir() {
                walk(&path, root, files);
                Entry::Folder
            } else if kind.is_symlink() {
                Entry::Link(fs::read_link(&path).unwrap())
            } else if kind.is_file() && entry.metadata().unwrap().len() <= LARGEST {
                let mode = entry.metadata().unwrap().permissions().mode();
                Entry::File { mode, content: fs::read(&path).unwrap_or_default() }
            } else {
                Entry::Other
            };
            files.insert(path.strip_prefix(root).unwrap().to_owned(), found);
        }
    }
    let mut found = Files::new();
    walk(folder, folder, &mut found);
    found
}

/// Makes a folder what it was.
fn restore(folder: &Path, files: &Files) {
    let now = self::files(folder);
    for (file, entry) in now.iter().rev() {
        let path = folder.join(file);
        match (entry, files.get(file)) {
            (entry, Some(wanted)) if entry == wanted => {}
            (Entry::Folder, _) => fs::remove_dir_all(&path).unwrap(),
            _ => fs::remove_file(&path).unwrap(),
        }
    }
    for (file, entry) in files.iter().filter(|(file, entry)| now.get(*file) != Some(entry)) {
        let path = folder.join(file);
        match entry {
            Entry::Other => unreachable!("such a moment is left out"),
            Entry::Folder => fs::create_dir_all(&path).unwrap(),
            Entry::Link(target) => std::os::unix::fs::symlink(target, &path).unwrap(),
            Entry::File { mode, content } => {
                fs::write(&path, content).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
            }
        }
    }
}

fn merge(into: &mut Value, layer: &Value) {
    match (into, layer) {
        (Value::Object(into), Value::Object(layer)) => {
            for (key, value) in layer {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, layer) => *into = layer.clone(),
    }
}

/// Keeps what a run is after each event.
struct Snapshots {
    folder: PathBuf,
    calls: Calls,
    moments: Arc<Mutex<Vec<Moment>>>,
}

impl EventSink for Snapshots {
    fn name(&self) -> &'static str {
        "the snapshots"
    }

    fn emit(&mut self, envelope: &Envelope<'_>) -> io::Result<()> {
        let (files, calls) = (files(&self.folder), self.calls.lock().unwrap().len());
        self.moments.lock().unwrap().push(Moment { line: envelope.line.clone(), files, calls });
        Ok(())
    }
}

/// Counts the calls of a tool that changes something.
struct Counting {
    tool: Arc<dyn AnyTool>,
    calls: Calls,
}

impl AnyTool for Counting {
    fn name(&self) -> &str {
        self.tool.name()
    }

    fn schema(&self) -> &ToolSchema {
        self.tool.schema()
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
        if self.tool.effect() == Effect::Writes {
            self.calls.lock().unwrap().push((self.tool.name().to_owned(), params.to_string()));
        }
        self.tool.invoke(params, context)
    }
}
