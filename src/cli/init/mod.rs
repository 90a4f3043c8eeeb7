//! Owns `tepa init`: a first task, a configuration and a workflow that validate as they are.
//!
//! What is there stays as it is. Everything is asked, made and validated before the first file is written, so that whoever leaves at a
//! question leaves nothing behind.

mod answers;
mod ignored;
mod texts;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use self::answers::Answers;
use super::args::InitArguments;
use super::status::{ExitStatus, Stopped};
use super::ui::Ui;
use super::{runtime, trust};
use crate::config::{self, Environment, Layers};
use crate::error::Error;
use crate::persist::Place;
use crate::prompt::{self, Values};
use crate::render::prose;
use crate::session::access;
use crate::source::{Diagnostics, Document, Format, SourceFile, UnknownKeys};
use crate::workspace::PROJECT_FILE;

/// Where the task is written.
const TASK: &str = "prompts/task.yaml";

/// Where the workflow is written.
const WORKFLOW: &str = ".github/workflows/tepa.yml";

/// Where git is told what it should not keep.
const IGNORED: &str = ".gitignore";

pub(super) fn run(
    arguments: &InitArguments,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<ExitStatus> {
    let folder = environment.resolve(&arguments.folder);
    if folder.exists() && !folder.is_dir() {
        return Err(Error::usage(format!("`{}` is no folder", arguments.folder.display())).into());
    }
    let answers = answers(arguments, environment, ui)?;
    let task = texts::task(&answers)?;
    let project = texts::project(&answers)?;
    check(&task, &project).map_err(|faults| Error::Invalid(vec![faults]))?;
    let mut files = vec![(TASK, task), (PROJECT_FILE, project)];
    if answers.workflow {
        files.push((WORKFLOW, texts::workflow(&answers)?));
    }
    for (name, text) in &files {
        let word = if write_new(&folder, name, text.as_bytes())? { "written" } else { "kept (is there)" };
        say(name, word, arguments, ui);
    }
    let word = match ignored::with_tepa(&read(&folder.join(IGNORED))?) {
        None => "kept (has `.tepa/`)",
        Some(text) => {
            let path = folder.join(IGNORED);
            Place::at(&path).and_then(|place| place.write(&text)).map_err(|e| unwritten(&path, &e))?;
            "written (`.tepa/` is in it now)"
        }
    };
    say(IGNORED, word, arguments, ui);
    if !ui.quiet {
        ui.say(&next(&answers, arguments));
    }
    Ok(ExitStatus::answered())
}

fn answers(arguments: &InitArguments, environment: &Environment, ui: &Ui) -> anyhow::Result<Answers> {
    let terminal = environment.stdin_is_terminal && environment.stderr_is_terminal;
    // Some CI systems have a terminal and nobody at it.
    if arguments.yes || !terminal || environment.variable("CI").is_some() {
        return Ok(Answers::given(arguments, environment)?);
    }
    let answered = runtime::block_on(environment, async |cancel| {
        runtime::unless_stopped(&cancel, answers::asked(arguments, environment, ui)).await?
    })?;
    answered.inspect_err(|error| {
        if error.downcast_ref::<Stopped>().is_some() && !ui.quiet {
            ui.say("nothing was written\n");
        }
    })
}

/// Returns the faults of what is about to be written, as a run would find them.
fn check(task: &str, project: &str) -> Result<(), Diagnostics> {
    let document =
        |name: &str, text: &str| Document::parse(SourceFile::from_text(name, text.to_owned(), Format::Yaml));
    prompt::load(&mut document(TASK, task)?, &Values::default(), UnknownKeys::Refuse)?;
    let document = document(PROJECT_FILE, project)?;
    let layer = config::load(&document, &crate::tools::NAMES, UnknownKeys::Refuse);
    match Layers::defaults() {
        Ok(below) => trust::narrowed(&document, layer, &below, &[]).map(|_| ()),
        Err(_) => layer.map(|_| ()),
    }
}

/// Writes a file unless something of its name is there; returns whether it did.
fn write_new(folder: &Path, name: &str, text: &[u8]) -> Result<bool, Error> {
    let path = folder.join(name);
    // A link that leads nowhere is there.
    if path.symlink_metadata().is_ok() {
        return Ok(false);
    }
    let parent = path.parent().unwrap_or(folder);
    let made = fs::create_dir_all(parent).and_then(|()| Place::at(&path)?.write_new(text));
    made.map_err(|e| unwritten(&path, &e))
}

fn unwritten(path: &Path, error: &io::Error) -> Error {
    Error::broken(format!("cannot write `{}`", path.display())).because(error)
}

fn read(path: &PathBuf) -> Result<Vec<u8>, Error> {
    match fs::read(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read.map_err(|e| Error::broken(format!("cannot read `{}`", path.display())).because(&e)),
    }
}

fn say(name: &str, word: &str, arguments: &InitArguments, ui: &Ui) {
    if !ui.quiet {
        let path = if is_here(arguments) { PathBuf::from(name) } else { arguments.folder.join(name) };
        ui.say(&format!("{}: {word}\n", prose(&path.display().to_string())));
    }
}

fn is_here(arguments: &InitArguments) -> bool {
    arguments.folder == Path::new(".")
}

/// Returns what to do next.
fn next(answers: &Answers, arguments: &InitArguments) -> String {
    let mut needed = Vec::new();
    if let Some(access) = access(answers.provider).filter(|access| access.key_needed) {
        needed.push(format!("{}=…", access.keys[0]));
    }
    needed.extend(answers.base_url.as_ref().map(|url| format!("TEPA_BASE_URL={url}")));
    let there = match arguments.folder.display() {
        _ if is_here(arguments) => String::new(),
        folder => format!(" -C {folder}"),
    };
    prose(&format!(
        "next:\n  1. say in {TASK} what you want, then: tepa{there} validate {TASK}\n  2. export {}, then: tepa{there} doctor\n  3. tepa{there} run {TASK}",
        needed.join(" ")
    )) + "\n"
}
