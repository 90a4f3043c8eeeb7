//! Owns `tepa runs gc`: records of runs that nobody needs any more.
//!
//! Nothing goes unless somebody says how much stays; a run that cannot be removed keeps no other from going.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::answer::{json_text, print};
use super::args::{GcArguments, ToolOutputArgument};
use super::status::ExitStatus;
use super::ui::Ui;
use super::when;
use crate::config::{DurationText, Environment};
use crate::error::Error;
use crate::journal::{Going, Rule, Shelf};
use crate::render::cell;
use crate::text;

pub(super) fn gc(arguments: &GcArguments, environment: &Environment, ui: &Ui) -> anyhow::Result<ExitStatus> {
    let GcArguments { keep, older_than, resumable, dry_run, output } = *arguments;
    if keep.is_none() && older_than.is_none() {
        return Err(Error::usage("nothing says which runs go")
            .hint("say how many stay, such as `--keep 20`, or how old the others are, such as `--older-than 30d`")
            .into());
    }
    let rule = Rule { keep: keep.unwrap_or(0), before: older_than.map(ago), resumable };
    let (mut gone, mut stays, mut bytes) = (Vec::new(), Vec::new(), 0);
    if let Some(shelf) = Shelf::open(&environment.directory)? {
        for going in shelf.going(&rule)? {
            if !dry_run && let Err(e) = shelf.remove(&going) {
                let run = &going.run.run_id;
                ui.error(&Error::broken(format!("cannot remove the run `{run}`")).because(&e).into());
                stays.push(going.run.run_id);
                continue;
            }
            if !ui.quiet {
                ui.say(&line(&going, dry_run));
            }
            bytes += going.bytes;
            gone.push(going.run.run_id);
        }
    }
    let summary = match output {
        ToolOutputArgument::Json => {
            json_text(&json!({ "dryRun": dry_run, "runs": gone, "bytes": bytes, "failed": stays }))
        }
        ToolOutputArgument::Text => {
            let (runs, space) = (text::plural("run", gone.len()), text::bytes(bytes));
            if dry_run {
                format!("would remove {runs}: {space}\n")
            } else {
                format!("removed {runs}: {space} are free again\n")
            }
        }
    };
    let printed = print(ui, &summary)?;
    Ok(if stays.is_empty() { printed } else { ExitStatus::something_stays() })
}

fn ago(DurationText(millis): DurationText) -> Timestamp {
    let age = SignedDuration::from_millis(i64::try_from(millis).unwrap_or(i64::MAX));
    Timestamp::now().checked_sub(age).unwrap_or(Timestamp::MIN)
}

fn line(Going { run, bytes }: &Going, dry_run: bool) -> String {
    let what = if dry_run { "would remove" } else { "removed" };
    let (id, began, state) = (cell(&run.run_id), when::short(run.started_at), run.state.name());
    format!("{what} {id} ({began}, {state}, {})\n", text::bytes(*bytes))
}
