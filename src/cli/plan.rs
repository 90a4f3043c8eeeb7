//! Owns `tepa plan`: a plan with what it will cost, printed, drawn, or saved for `tepa run --plan`. Nothing is executed.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use super::answer::print;
use super::args::{GlobalArguments, OutputArgument, PlanArguments, PlanFormat};
use super::status::ExitStatus;
use super::ui::Ui;
use super::{load, run, runtime};
use crate::config::Environment;
use crate::error::Error;
use crate::event::{Envelope, EventSink, Purpose, RunEvent};
use crate::outcome::{Estimate, Spending, Usage};
use crate::persist::Place;
use crate::plan::Plan;
use crate::render::prose;
use crate::session::{PlanFile, Session, Task};
use crate::text;

pub(super) fn plan(
    arguments: &PlanArguments,
    global: &GlobalArguments,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<ExitStatus> {
    let PlanArguments { prompt: path, settings, work, output, format } = arguments;
    let forms = PlanFormat::ALL.map(PlanFormat::name);
    // Everywhere else this flag says the form.
    if let Some(form) =
        output.as_ref().and_then(|path| forms.into_iter().find(|form| path == Path::new(form)))
    {
        return Err(Error::usage(format!("`--output {form}` would write a file called `{form}`"))
            .hint(format!("for the form write `--format {form}`, for the file `--output ./{form}`"))
            .into());
    }
    run::check_replies(path, settings)?;
    let (config, prompt) = load::everything(path, settings, work, global, environment, ui)?;
    let name = output.as_deref().unwrap_or(Path::new("-")).display().to_string();
    // Found before anything is paid for.
    let place = output.as_ref().map(|path| Place::at(&environment.resolve(path)));
    let unwritable = |e| Error::usage(format!("cannot write the plan to `{name}`")).because(&e);
    let place = place.transpose().map_err(unwritable)?;
    let sinks = run::sinks(OutputArgument::Text, config.logging.level, ui);
    let sinks = sinks.into_iter().map(|sink| Box::new(Planning(sink)) as Box<dyn EventSink>).collect();
    let mut options = run::options_for(path, &config, settings, None, environment);
    options.plan_output = output.as_ref().map(|path| environment.resolve(path));
    let planned = runtime::block_on(environment, async |cancel| {
        let connecting = Session::connect(config, Task::Run(prompt), environment, options);
        let session = runtime::unless_stopped(&cancel, connecting).await??;
        anyhow::Ok(session.plan(sinks, &cancel).await?)
    })?;
    let file = match planned? {
        Ok(file) => file,
        Err(finished) => {
            if ui.quiet {
                ui.error(&Error::broken(prose(finished.settlement.feedback())).into());
            }
            return Ok(ExitStatus::of_run(&finished.settlement));
        }
    };
    let form = format.map(|format| format.0);
    let form = form.unwrap_or(if output.is_some() { PlanFormat::Json } else { PlanFormat::Text });
    let plan = file.plan()?;
    if form == PlanFormat::Json {
        file.check_writable(environment.secrets())?;
    }
    let words = match form {
        PlanFormat::Text => format!("{}{}\n", listed(&plan), whole_cost(&file)),
        PlanFormat::Json => format!("{}\n", serde_json::to_string_pretty(&file)?),
        PlanFormat::Drawn(drawing) => drawing.render(&plan),
    };
    if form != PlanFormat::Text && !ui.quiet {
        ui.say(&format!("{}\n", whole_cost(&file)));
    }
    let Estimate { at_least, at_most, .. } = file.estimate();
    if at_least.tokens > at_most.tokens && !ui.quiet {
        ui.say("warning: the budget of tokens will not be enough for one cycle\n");
    }
    match place {
        None => print(ui, &words),
        Some(place) => {
            let words = environment.secrets().redact(&words);
            place.write(words.as_bytes()).map_err(|e| {
                Error::broken(format!("the plan could not be written to `{name}`")).because(&e)
            })?;
            Ok(ExitStatus::answered())
        }
    }
}

/// Returns the plan as people read it.
fn listed(plan: &Plan) -> String {
    let line = |words: &str| prose(&words.split_whitespace().collect::<Vec<_>>().join(" "));
    let mut page = String::new();
    for (at, step) in plan.steps.iter().enumerate() {
        let tools = if step.tools.is_empty() { "reasoning".to_owned() } else { step.tools.join(", ") };
        let after = text::joined(&step.dependencies, "and");
        let after = if after.is_empty() { after } else { format!(" after {after}") };
        let model = step.model.as_ref().map(|model| format!(" with {model}")).unwrap_or_default();
        let head = format!("{}. {} ({tools}){after}{model}: {}", at + 1, step.id, step.description);
        // A `String` takes everything.
        let _ =
            writeln!(page, "{}\n   {}", line(&head), line(&format!("so that: {}", step.expected_outcome)));
    }
    let _ = writeln!(page, "\nbecause: {}\n", line(&plan.reasoning));
    page
}

/// Returns what planning took and what the execution will cost, in one line.
fn whole_cost(file: &PlanFile) -> String {
    format!("planning took {}; {}", spent(&file.spent()), cost(file.estimate()))
}

fn spent(spending: &Spending) -> String {
    let usd = spending.usd.map_or("unpriced".to_owned(), text::dollars);
    format!("{} tokens ({usd})", text::grouped(spending.tokens))
}

/// Returns what the execution will cost, in one line.
pub(super) fn cost(estimate: &Estimate) -> String {
    format!(
        "executing it takes about {} at least, and the limits allow {}; the planner expects {:.0} tokens",
        spent(&estimate.at_least),
        spent(&estimate.at_most),
        estimate.planner_expects
    )
}

/// Shows the making of a plan; the plan itself is data and goes elsewhere.
struct Planning(Box<dyn EventSink>);

impl EventSink for Planning {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn required(&self) -> bool {
        self.0.required()
    }

    fn emit(&mut self, envelope: &Envelope) -> io::Result<()> {
        if matches!(*envelope.event, RunEvent::PlanCompleted { .. }) {
            return Ok(());
        }
        self.0.emit(envelope)
    }

    fn progress(&mut self, purpose: &Purpose, so_far: Usage) {
        self.0.progress(purpose, so_far);
    }
}
