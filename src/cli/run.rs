//! Owns `tepa run`: load, wire, show, settle; `tepa runs evaluate` takes the same way from there.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::args::{EndingArguments, GlobalArguments, OutputArgument, RunArguments, SettingArguments};
use super::status::ExitStatus;
use super::ui::Ui;
use super::{approval, load, runtime};
use crate::config::{Config, Environment, LoggingLevel, ProviderKind};
use crate::error::Error;
use crate::event::EventSink;
use crate::journal;
use crate::outcome::{Reason, RunResult};
use crate::pipeline::{Cancel, Finished};
use crate::render::{Jsonl, Live, Patient, Plain, Style, prose};
use crate::report::github::{self, Job};
use crate::session::{Options, PlanFile, Session, Task};
use crate::telemetry::Telemetry;
use crate::workspace::PROJECT_FILE;

pub(super) fn run(
    arguments: &RunArguments,
    global: &GlobalArguments,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<ExitStatus> {
    let RunArguments { prompt: path, settings, work, plan, replan, ending, .. } = arguments;
    check_replies(path, settings)?;
    let (config, prompt) = load::everything(path, settings, work, global, environment, ui)?;
    let mut options = options_for(path, &config, settings, Some(ending), environment);
    let asked = (arguments.approve, arguments.ask_on_fail);
    options.approval = approval::of(asked, path, &config, environment, ui);
    if let Some(file) = plan {
        let place = environment.resolve(file);
        options.plan = Some(PlanFile::read(&place, &file.display().to_string())?);
        options.replan = *replan;
        options.protected.extend(whole_way(&place));
    }
    perform(Task::Run(prompt), config, options, ending, environment, ui)
}

/// Wires and performs a task, and turns its end into the status of the process.
pub(super) fn perform(
    task: Task,
    config: Config,
    options: Options,
    ending: &EndingArguments,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<ExitStatus> {
    let mut job = Job::detect(environment)?;
    let telemetry = Telemetry::of(environment);
    let environment = &telemetry.environment(environment);
    let mut sinks = sinks(ending.told.output, config.logging.level, ui);
    sinks.extend(job.sink());
    sinks.extend(telemetry.sink());
    ui.say(&job.silence());
    ui.warn(telemetry.warnings());
    let finished = runtime::block_on(environment, async |cancel| {
        let connecting = Session::connect(config, task, environment, options);
        let session = runtime::unless_stopped(&cancel, connecting).await??;
        let finished = session.run(sinks, &cancel).await;
        ui.warn(send(&telemetry, &finished, &cancel).await);
        anyhow::Ok(finished)
    });
    let status = match &finished {
        Ok(Ok(finished)) => report(ending.told.output, finished, ui),
        _ => Ok(ExitStatus::unreported()),
    };
    ui.say(&job.listen());
    let (finished, status) = match finished.map_err(anyhow::Error::from).flatten() {
        Ok(finished) => (finished, status?),
        Err(error) => {
            // Nothing began; a later step wants to know that as well. What went wrong first is what is told.
            let status = ExitStatus::of_error(&error);
            let outputs = [("status", github::status(None)), ("exit-code", status.code().to_string())];
            let _ = job.write(&outputs);
            return Err(error);
        }
    };
    if told_to_stop(&finished) && !ending.no_journal && !ui.quiet {
        let run = &finished.result.run_id;
        ui.say(&format!("the run is recorded as {run}: `tepa runs resume {run}` goes on with it\n"));
    }
    ui.say(&job.annotations());
    if let Err(e) = job.write(&outputs(ending, &finished, status, environment)) {
        ui.error(&Error::broken("cannot tell GitHub Actions how the run ended").because(&e).into());
        return Ok(ExitStatus::unreported());
    }
    Ok(status)
}

/// Sends the trace of a run; returns why it did not arrive. A signal that ended the run was meant for the run, one that comes now for this.
async fn send(telemetry: &Telemetry, finished: &Finished, cancel: &Cancel) -> Option<String> {
    if told_to_stop(finished) {
        return telemetry.send().await;
    }
    tokio::select! {
        biased;
        lost = telemetry.send() => lost,
        cause = cancel.stopped() => Some(format!("the trace of the run is lost: {}", cause.message())),
    }
}

fn told_to_stop(finished: &Finished) -> bool {
    matches!(finished.settlement.reason(), Reason::Interrupted | Reason::Terminated)
}

/// Returns what later steps of a job may want to know.
fn outputs(
    ending: &EndingArguments,
    finished: &Finished,
    status: ExitStatus,
    environment: &Environment,
) -> Vec<(&'static str, String)> {
    let run_id = &finished.result.run_id;
    let recorded = || environment.directory.join(journal::FOLDER).join(run_id).join(journal::RESULT);
    let result = ending.told.result.as_ref().map(|path| environment.resolve(path));
    let result = result.or_else(|| (!ending.no_journal).then(recorded));
    vec![
        ("status", github::status(finished.settlement.status())),
        ("exit-code", status.code().to_string()),
        ("run-id", run_id.clone()),
        ("result", result.map(|path| path.display().to_string()).unwrap_or_default()),
    ]
}

/// Prints the data of the run; a result that did not reach its reader is not a pass.
fn report(output: OutputArgument, finished: &Finished, ui: &Ui) -> anyhow::Result<ExitStatus> {
    if let Err(e) = ui.data(&data(output, &finished.result)?) {
        ui.error(&Error::broken("cannot write to standard output").because(&e).into());
        return Ok(ExitStatus::unreported());
    }
    if ui.quiet && finished.settlement.status().is_none() {
        ui.error(&Error::broken(prose(finished.settlement.feedback())).into());
    }
    Ok(ExitStatus::of_run(&finished.settlement))
}

/// Returns what standard output carries of a run that has ended, beside its events.
pub(super) fn data(output: OutputArgument, result: &RunResult) -> serde_json::Result<String> {
    Ok(match output {
        OutputArgument::Text => format!("{}\n", prose(&result.feedback)),
        OutputArgument::Json => format!("{}\n", serde_json::to_string_pretty(result)?),
        OutputArgument::Jsonl => String::new(),
    })
}

/// Refuses what contradicts itself about replies.
pub(super) fn check_replies(prompt: &Path, settings: &SettingArguments) -> Result<(), Error> {
    if let (Some(kind), Some(file)) = (settings.provider, &settings.replay)
        && kind != ProviderKind::Replay
    {
        let message =
            format!("`--replay {}` says replay, and `--provider {}` does not", file.display(), kind.name());
        return Err(Error::usage(message).hint("leave one of them out"));
    }
    let from_stdin = prompt == Path::new("-");
    if settings.provider == Some(ProviderKind::Replay) && settings.replay.is_none() && from_stdin {
        return Err(Error::usage("a task from standard input has no replies beside it")
            .hint("name the file with the replies: `--replay FILE`"));
    }
    Ok(())
}

/// Returns the options for a task from a file: its replies lie beside it, and no run may change it.
pub(super) fn options_for(
    prompt: &Path,
    config: &Config,
    settings: &SettingArguments,
    ending: Option<&EndingArguments>,
    environment: &Environment,
) -> Options {
    let mut options = options(settings, ending, environment);
    if config.provider == Some(ProviderKind::Replay) && options.replay.is_none() {
        options.replay = Some(environment.resolve(&replay_beside(prompt)));
    }
    options.protected.extend(whole_way(&environment.resolve(prompt)));
    options
}

pub(super) fn options(
    settings: &SettingArguments,
    ending: Option<&EndingArguments>,
    environment: &Environment,
) -> Options {
    let ends = ending.map(|ending| ends(ending, environment)).unwrap_or_default();
    let configuration = [settings.layers.config.as_deref(), Some(Path::new(PROJECT_FILE))];
    let configuration = configuration.into_iter().flatten();
    Options {
        replay: settings.replay.as_ref().map(|path| environment.resolve(path)),
        protected: configuration.flat_map(|path| whole_way(&environment.resolve(path))).collect(),
        log: ending.is_none_or(|ending| !ending.no_journal),
        ..ends
    }
}

/// Returns the options for what is left when a verdict is there.
pub(super) fn ends(ending: &EndingArguments, environment: &Environment) -> Options {
    let resolve = |path: &PathBuf| environment.resolve(path);
    Options {
        record: ending.record.as_ref().map(resolve),
        result: ending.told.result.as_ref().map(resolve),
        reports: ending.told.report.iter().map(|report| (report.format, resolve(&report.path))).collect(),
        journal: !ending.no_journal,
        ..Options::default()
    }
}

/// Returns the file and, where it is a link, what it leads to: either could be changed. Standard input is neither.
fn whole_way(path: &Path) -> Vec<PathBuf> {
    let Ok(target) = path.canonicalize() else { return Vec::new() };
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    let itself = folder.and_then(|folder| Some(folder.join(path.file_name()?)));
    let mut files: Vec<PathBuf> = itself.into_iter().chain([target]).collect();
    files.dedup();
    files
}

/// Returns the replay file that belongs to a prompt: `task.yaml` has `task.replay.yaml`.
fn replay_beside(prompt: &Path) -> PathBuf {
    let mut name = prompt.file_stem().map(OsString::from).unwrap_or_default();
    name.push(".replay.yaml");
    prompt.with_file_name(name)
}

pub(super) fn sinks(output: OutputArgument, level: LoggingLevel, ui: &Ui) -> Vec<Box<dyn EventSink>> {
    let mut sinks: Vec<Box<dyn EventSink>> = Vec::new();
    if output == OutputArgument::Jsonl {
        sinks.push(Box::new(Jsonl::new(std::io::stdout())));
    }
    if !ui.quiet {
        let style = Style { color: ui.color, width: Ui::width(), ascii: ui.ascii, level };
        if ui.live && level > LoggingLevel::Minimal {
            sinks.push(Box::new(Patient::new(Live::new(console::Term::buffered_stderr(), style))));
        } else {
            sinks.push(Box::new(Patient::new(Plain::new(std::io::stderr(), style))));
        }
    }
    sinks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_replay_file_lies_beside_its_prompt() {
        assert_eq!(replay_beside(Path::new("prompts/task.yaml")), Path::new("prompts/task.replay.yaml"));
        assert_eq!(replay_beside(Path::new("a.b.json")), Path::new("a.b.replay.yaml"));
    }
}
