//! Owns `tepa memory`: what runs left for later ones, for people to look at and to remove.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};

use super::answer::{json_text, print};
use super::args::{LayerArguments, MemoryArguments, MemoryCommand, ToolOutputArgument};
use super::load;
use super::status::ExitStatus;
use super::table::{Column, table};
use super::ui::Ui;
use crate::config::{Environment, Store};
use crate::error::Error;
use crate::render::{cell, prose};
use crate::stage::StoreError;
use crate::store::{Kept, SqliteStore};
use crate::text;

/// Most characters of a memory in a list.
const FIRST_WORDS: usize = 60;

pub(super) fn run(
    arguments: &MemoryArguments,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<ExitStatus> {
    let store = open(arguments, environment, ui)?;
    match &arguments.command {
        MemoryCommand::List { session, output } => {
            let kept = store.memories(session.as_deref()).map_err(broken)?;
            if let Some(session) = session.as_deref().filter(|_| kept.is_empty() && !ui.quiet) {
                ui.say(&format!("no memory of a session `{}` is in the store\n", prose(session)));
            }
            print(ui, &listed(&kept, *output, ui))
        }
        MemoryCommand::Show { id } => print(ui, &shown(&find(&store, id)?)),
        MemoryCommand::Forget { ids, session } => forget(&store, ids, session.as_deref(), ui),
    }
}

fn open(arguments: &MemoryArguments, environment: &Environment, ui: &Ui) -> anyhow::Result<Arc<SqliteStore>> {
    let named = match &arguments.store {
        Some(file) => file.clone(),
        None => configured(environment, ui)?,
    };
    let path = environment.resolve(&named);
    if !path.is_file() {
        return Err(Error::usage(format!("there is no store `{}`", named.display()))
            .hint("run a task with a session here, or say where: `--store FILE`, `-C DIR`")
            .into());
    }
    Ok(SqliteStore::open(&path, environment.secrets().clone()).map_err(broken)?)
}

/// Returns where the runs of this folder keep what outlives them.
fn configured(environment: &Environment, ui: &Ui) -> anyhow::Result<PathBuf> {
    match load::standing_config(&LayerArguments::default(), environment, ui)?.turn.store {
        Store::Sqlite { path } => Ok(path.into()),
        Store::None => Err(Error::usage("nothing is kept here: `turn.store` is none")
            .hint("name a store: `--store FILE`")
            .into()),
    }
}

fn broken(error: StoreError) -> Error {
    Error::broken(error.0)
}

fn find(store: &SqliteStore, id: &str) -> Result<Kept, Error> {
    store.memory(id).map_err(broken)?.ok_or_else(|| {
        Error::usage(format!("there is no memory `{id}`")).hint("`tepa memory list` shows all of them")
    })
}

fn forget(store: &SqliteStore, ids: &[String], session: Option<&str>, ui: &Ui) -> anyhow::Result<ExitStatus> {
    let forgotten = if let Some(session) = session {
        let forgotten = store.forget_session(session).map_err(broken)?;
        if forgotten.turns == 0 {
            return Err(Error::usage(format!("no run of a session `{session}` is in the store")).into());
        }
        forgotten
    } else {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        ids.dedup();
        for id in &ids {
            find(store, id)?;
        }
        store.forget(&ids).map_err(broken)?
    };
    if !ui.quiet {
        let memories = text::plural("memory", forgotten.memories);
        let turns = match forgotten.turns {
            0 => String::new(),
            count => format!(" and all else that {} left", text::plural("run", count)),
        };
        let endings = match forgotten.endings {
            0 => String::new(),
            count => format!(", and what {} said at the end", text::plural("run", count)),
        };
        ui.say(&format!("forgot {memories}{turns}{endings}\n"));
    }
    if forgotten.lingers {
        ui.warn(["a run is at work: the text leaves the disk when it has ended"]);
    }
    Ok(ExitStatus::answered())
}

fn listed(kept: &[Kept], output: ToolOutputArgument, ui: &Ui) -> String {
    if output == ToolOutputArgument::Json {
        return json_text(&kept.iter().map(described).collect::<Value>());
    }
    let columns = [
        Column::of("MEMORY"),
        Column::of("SESSION").goes(2),
        Column::of("WEIGHT").right().goes(3),
        Column::of("WRITTEN").goes(1),
        Column::of("WORDS"),
    ];
    table(columns, kept.iter().map(row), ui)
}

fn row(Kept { memory, session, acknowledged, .. }: &Kept) -> [String; 5] {
    let weight = memory.importance * memory.confidence;
    let date = memory.created_at.strftime("%Y-%m-%d");
    let words: Vec<&str> = memory.content.split_whitespace().collect();
    let words = words.join(" ");
    // What a run that did not pass left is given to nobody.
    let unused = if *acknowledged { "" } else { "(unused) " };
    [
        memory.id.clone(),
        session.clone().unwrap_or_else(|| "-".to_owned()),
        format!("{weight:.2}"),
        date.to_string(),
        format!("{unused}{}", text::truncate(&words, FIRST_WORDS)),
    ]
}

fn described(kept: &Kept) -> Value {
    let Kept { memory, session, turn, acknowledged } = kept;
    json!({ "session": session, "turn": turn, "acknowledged": acknowledged, "memory": memory })
}

fn shown(kept: &Kept) -> String {
    let Kept { memory, session, turn, acknowledged } = kept;
    let passed = if *acknowledged { "passed" } else { "did not pass, so that no run is given this" };
    let mut out = format!("{}\n", cell(&memory.id));
    for (name, value) in [
        ("session", session.as_deref().unwrap_or("-").to_owned()),
        ("run", format!("{turn} ({passed})")),
        ("trust", memory.trust_tier.name().to_owned()),
        ("importance", memory.importance.to_string()),
        ("confidence", memory.confidence.to_string()),
        ("written", memory.created_at.to_string()),
        ("changed", memory.updated_at.to_string()),
    ] {
        out += &format!("  {name}: {}\n", cell(&value));
    }
    format!("{out}\n{}\n", prose(&memory.content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::ColorArgument;
    use crate::turn::{Memory, TrustTier};

    fn kept(id: &str, session: Option<&str>, content: &str) -> Kept {
        let at = "2026-03-01T08:00:00Z".parse().unwrap();
        let memory = Memory {
            id: id.to_owned(),
            content: content.to_owned(),
            confidence: 0.5,
            importance: 0.7,
            source: Some("run:r1".to_owned()),
            trust_tier: TrustTier::FirstParty,
            created_at: at,
            updated_at: at,
        };
        let session = session.map(str::to_owned);
        Kept { memory, session, turn: "r1".to_owned(), acknowledged: id != "lost" }
    }

    #[test]
    fn a_list_has_one_line_a_memory_whatever_is_in_it() {
        let rows = [kept("a", Some("class-5b"), "One\n\u{1b}[2Jtwo."), kept("lost", None, &"x ".repeat(99))];
        let ui = Ui::new(&Environment::of("/".into(), []), ColorArgument::Never, true);
        let text = listed(&rows, ToolOutputArgument::Text, &ui);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "MEMORY  SESSION   WEIGHT  WRITTEN     WORDS");
        assert_eq!(lines[1], "a       class-5b    0.35  2026-03-01  One ␛[2Jtwo.");
        assert!(lines[2].starts_with("lost    -           0.35  2026-03-01  (unused) x x x"), "{text}");
        assert!(lines[2].ends_with('…'), "{text}");
        let json: Value = serde_json::from_str(&listed(&rows, ToolOutputArgument::Json, &ui)).unwrap();
        assert_eq!(json[0]["memory"]["trustTier"], "first-party");
        assert_eq!(json[1]["acknowledged"], false);
    }

    #[test]
    fn a_memory_is_shown_whole() {
        let text = shown(&kept("a", Some("class-5b"), "One\ntwo."));
        assert!(
            text.starts_with("a\n  session: class-5b\n  run: r1 (passed)\n  trust: first-party\n"),
            "{text}"
        );
        assert!(text.ends_with("\n\nOne\ntwo.\n"), "{text}");
    }
}
