//! Owns `tepa init`: a first task, a configuration and a workflow that validate as they are.
//!
//! What is there stays as it is. Everything is asked, made and validated before the first file is written, so that whoever leaves at a
//! question leaves nothing behind.

mod answers;
mod files;
mod ignored;
mod texts;

use std::path::{Path, PathBuf};

use self::answers::Answers;
use self::files::{Files, Ignoring, Wanted};
use super::args::InitArguments;
use super::inspect::secrets;
use super::status::{ExitStatus, Stopped};
use super::ui::Ui;
use super::{runtime, trust};
use crate::config::{self, Environment, Layers};
use crate::error::Error;
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
    let mut files = Files::at(&environment.resolve(&arguments.folder), &arguments.folder)?;
    // Who would be asked about files that are there already would be asked for nothing.
    let mut there = Vec::new();
    for name in [TASK, PROJECT_FILE, WORKFLOW] {
        if matches!(files.look(name)?, Wanted::Kept) {
            there.push(name);
        }
    }
    let ignoring = files.look_at_ignored(IGNORED)?;
    let answers = if there.contains(&TASK) && there.contains(&PROJECT_FILE) {
        Answers::given(arguments, environment)?
    } else {
        answers(arguments, environment, ui)?
    };
    let task = texts::task(&answers)?;
    let project = texts::project(&answers)?;
    check(&answers, &task, &project, environment)?;
    let mut written = vec![(TASK, task), (PROJECT_FILE, project)];
    if answers.workflow {
        written.push((WORKFLOW, texts::workflow(&answers)?));
    }
    files.make()?;
    for (name, text) in &written {
        let is_new = !there.contains(name) && files.write(name, text.as_bytes())?;
        say(name, if is_new { "written" } else { "kept (is there)" }, arguments, ui);
    }
    let word = match ignoring {
        Ignoring::Kept => "kept (has `.tepa/`)",
        Ignoring::Odd => "left alone (is no file of usual size): put `.tepa/` into it yourself",
        Ignoring::Added(line) => {
            files.append(IGNORED, &line)?;
            "written (`.tepa/` is in it now)"
        }
    };
    say(IGNORED, word, arguments, ui);
    let unused = there.contains(&TASK) && (arguments.goal.is_some() || arguments.output_path.is_some());
    ui.warn(unused.then(|| format!("`--goal` and `--output-path` were not used: `{TASK}` is there")));
    let is_below = |folder: &Path| folder.ancestors().skip(1).any(|above| above.join(".git").exists());
    let folder = environment.resolve(&arguments.folder);
    let unseen = answers.workflow && !folder.join(".git").exists() && is_below(&folder);
    ui.warn(unseen.then(|| format!("GitHub reads `{WORKFLOW}` at the top of a repository only: move it there, with `-C` and this folder in its lines")));
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

/// Refuses what is about to be written where a run would, and where it would be no good.
fn check(answers: &Answers, task: &str, project: &str, environment: &Environment) -> Result<(), Error> {
    let file = |name: &str, text: &str| SourceFile::from_text(name, text.to_owned(), Format::Yaml);
    for (name, text) in [(TASK, task), (PROJECT_FILE, project)] {
        if !secrets::seek(&file(name, text), environment).is_empty() {
            return Err(Error::usage(format!("a key would be written into `{name}`"))
                .hint("keep keys in variables of the environment; models are sent the task"));
        }
    }
    answers.check_address()?;
    let faults = (|| {
        prompt::load(&mut Document::parse(file(TASK, task))?, &Values::default(), UnknownKeys::Refuse)?;
        let document = Document::parse(file(PROJECT_FILE, project))?;
        let layer = config::load(&document, &crate::tools::NAMES, UnknownKeys::Refuse);
        match Layers::defaults() {
            Ok(below) => trust::narrowed(&document, layer, &below, &[]).map(|_| ()),
            Err(_) => layer.map(|_| ()),
        }
    })();
    faults.map_err(|faults: Diagnostics| Error::Invalid(vec![faults]))
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
    needed.extend(answers.base_url.as_ref().map(|url| match answers.open_address() {
        Some(_) => format!("TEPA_BASE_URL={url}"),
        None => "TEPA_BASE_URL=…".to_owned(),
    }));
    let there = match arguments.folder.display().to_string() {
        _ if is_here(arguments) => String::new(),
        folder if folder.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c)) => {
            format!(" -C {folder}")
        }
        folder => format!(" -C '{}'", folder.replace('\'', r"'\''")),
    };
    prose(&format!(
        "next:\n  1. say in {TASK} what you want, then: tepa{there} validate {TASK}\n  2. export {}, then: tepa{there} doctor\n  3. tepa{there} run {TASK}",
        needed.join(" ")
    )) + "\n"
}
