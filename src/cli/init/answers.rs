//! Owns what `tepa init` has to know: from flags, from questions with a default each, or from the defaults alone.

use std::path::{Component, Path, PathBuf};

use serde_json::json;

use crate::cli::args::InitArguments;
use crate::cli::init::{TASK, texts};
use crate::cli::keyboard;
use crate::cli::status::Stopped;
use crate::cli::ui::Ui;
use crate::config::{Catalog, Environment, Layers, Models, Origin, ProviderKind, without_secrets};
use crate::error::Error;
use crate::prompt::{self, Values};
use crate::render::prose;
use crate::session::{access, check_base_url};
use crate::source::{Document, Format, SourceFile, UnknownKeys};
use crate::workspace::PROJECT_FILE;

/// The task of whoever names none.
pub(super) const GOAL: &str = "Write an overview of this folder for somebody who sees it for the first time: what it is for, and what its most important files are.";

/// What that task is expected to write.
const OVERVIEW: &str = "out/overview.md";

/// What any other task is expected to write.
const RESULT: &str = "out/result.md";

/// Where a server on one's own machine often is.
const SERVER: &str = "http://localhost:11434";

/// What the files are made of.
pub(super) struct Answers {
    pub(super) goal: String,
    pub(super) path: String,
    pub(super) provider: ProviderKind,
    pub(super) models: Models,
    /// Where the server is, for a provider that has no address of its own.
    pub(super) base_url: Option<String>,
    pub(super) workflow: bool,
}

impl Answers {
    /// Returns what flags say, and defaults for the rest.
    pub(super) fn given(arguments: &InitArguments, environment: &Environment) -> Result<Self, Error> {
        check(arguments)?;
        let provider = arguments.provider.unwrap_or_else(|| likely(environment));
        let models = match &arguments.model {
            Some(model) => every(model),
            None => usual(provider)?.ok_or_else(|| {
                Error::usage(format!("the provider `{}` has no model unless one is named", provider.name()))
                    .hint("name one with `--model`")
            })?,
        };
        let goal = arguments.goal.clone().unwrap_or_else(|| GOAL.to_owned());
        let path = arguments.output_path.clone().unwrap_or_else(|| expected(&goal).to_owned());
        if let Some(why) = hopeless(&path) {
            return Err(Error::usage(why).hint("name another one with `--output-path`"));
        }
        Ok(Self {
            path,
            goal,
            provider,
            models,
            base_url: has_server(provider).then(|| server(arguments, environment)),
            workflow: !arguments.no_workflow,
        })
    }
}

impl Answers {
    /// Returns the address, unless it holds what may be a password.
    pub(super) fn open_address(&self) -> Option<&str> {
        self.base_url.as_deref().filter(|url| without_secrets(url) == *url)
    }

    /// Refuses an address that no run could use.
    pub(super) fn check_address(&self) -> Result<(), Error> {
        let Some(url) = &self.base_url else { return Ok(()) };
        let is_web = ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme));
        if !is_web || url.contains(char::is_whitespace) {
            return Err(Error::usage(format!("`{}` is no address of a server", without_secrets(url)))
                .hint("it begins with `http://` or `https://` and has no blanks"));
        }
        let mut layers = Layers::defaults()?;
        layers.push(Origin::CommandLine, json!({"provider": self.provider, "baseUrl": url}));
        check_base_url(&layers.resolve()?)
    }
}

/// Asks for what no flag says.
///
/// # Errors
/// The input ended, which is no answer, or flags contradict each other.
pub(super) async fn asked(
    arguments: &InitArguments,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<Answers> {
    check(arguments)?;
    keyboard::forget();
    let goal = match &arguments.goal {
        Some(goal) => goal.clone(),
        None => ask("What is the goal of the task?", Some(GOAL), ui).await?,
    };
    let path = match &arguments.output_path {
        Some(path) => path.clone(),
        None => loop {
            let path = ask("Which file is expected?", Some(expected(&goal)), ui).await?;
            match fault(&path) {
                None => break path,
                Some(fault) => ui.say(&format!("{}\n", prose(&fault))),
            }
        },
    };
    let provider = match arguments.provider {
        Some(provider) => provider,
        None => ask_provider(environment, ui).await?,
    };
    let base_url = match &arguments.base_url {
        None if has_server(provider) => {
            Some(ask("Where is its server?", Some(&server(arguments, environment)), ui).await?)
        }
        named => named.clone(),
    };
    let models = match &arguments.model {
        Some(model) => every(model),
        None => ask_models(provider, ui).await?,
    };
    let workflow = !arguments.no_workflow && ask_workflow(ui).await?;
    Ok(Answers { goal, path, provider, models, base_url, workflow })
}

async fn ask_provider(environment: &Environment, ui: &Ui) -> anyhow::Result<ProviderKind> {
    let names = choices().map(ProviderKind::name).collect::<Vec<_>>().join(", ");
    let question = format!("Who answers model calls ({names})?");
    loop {
        let name = ask(&question, Some(likely(environment).name()), ui).await?;
        if let Some(provider) = choices().find(|provider| provider.name() == name) {
            return Ok(provider);
        }
        ui.say(&format!("there is no provider `{}`\n", prose(&name)));
    }
}

async fn ask_models(provider: ProviderKind, ui: &Ui) -> anyhow::Result<Models> {
    let Some(usual) = usual(provider)? else { return Ok(every(&ask("Which model?", None, ui).await?)) };
    let named = usual.distinct().join(" and ");
    let model = ask("Which model?", Some(&named), ui).await?;
    Ok(if model == named { usual } else { every(&model) })
}

async fn ask_workflow(ui: &Ui) -> anyhow::Result<bool> {
    loop {
        match ask("Write a workflow for GitHub Actions?", Some("yes"), ui).await?.to_lowercase().as_str() {
            "yes" | "y" => return Ok(true),
            "no" | "n" => return Ok(false),
            other => ui.say(&format!("not understood: `{}`; it is yes or no\n", prose(other))),
        }
    }
}

/// Returns what was typed, or the default for nothing; without a default it is asked again.
async fn ask(question: &str, default: Option<&str>, ui: &Ui) -> anyhow::Result<String> {
    let question = ui.styled(question, console::Style::new().bold());
    let shown = default.map(|default| format!(" [{default}]")).unwrap_or_default();
    loop {
        let line = keyboard::line(&format!("{question}{shown}: "), ui).await;
        match line.ok_or(Stopped::Unanswered)? {
            line if !line.is_empty() => return Ok(line),
            _ => {
                if let Some(default) = default {
                    return Ok(default.to_owned());
                }
            }
        }
    }
}

/// Refuses what contradicts itself.
fn check(arguments: &InitArguments) -> Result<(), Error> {
    if arguments.provider == Some(ProviderKind::Replay) {
        return Err(Error::usage("replies from a file are for one run and not for a project")
            .hint("name who answers later, and say `--provider replay` when you run the task"));
    }
    if arguments.base_url.is_some() && !arguments.provider.is_some_and(has_server) {
        return Err(Error::usage("`--base-url` is for the provider `openai-compatible`")
            .hint("say `--provider openai-compatible` as well, or leave it out"));
    }
    Ok(())
}

/// Returns what is wrong with a path as an expected output.
fn fault(path: &str) -> Option<String> {
    if let Some(fault) = hopeless(path) {
        return Some(fault);
    }
    let text = texts::outline(path).ok()?;
    let mut document = Document::parse(SourceFile::from_text("the task", text, Format::Yaml)).ok()?;
    let faults = prompt::load(&mut document, &Values::default(), UnknownKeys::Refuse).err()?;
    faults.iter().next().map(|fault| fault.message.clone())
}

/// Returns why no run could pass that is expected to write a path.
fn hopeless(path: &str) -> Option<String> {
    if path.ends_with('/') {
        return Some(format!("`{path}` is a folder: name a file in it"));
    }
    if path.starts_with("~/") {
        return Some(format!("`{path}` is outside the workspace: name a file in this folder"));
    }
    let normal: PathBuf = Path::new(path).components().filter(|part| *part != Component::CurDir).collect();
    let kept = [".git", ".github", ".tepa", PROJECT_FILE, TASK];
    let kept = kept.iter().find(|kept| normal.starts_with(kept))?;
    Some(format!("`{path}` cannot be expected: no run may write `{kept}`"))
}

fn choices() -> impl Iterator<Item = ProviderKind> {
    ProviderKind::ALL.into_iter().filter(|kind| *kind != ProviderKind::Replay)
}

/// Returns the first provider whose key is set.
fn likely(environment: &Environment) -> ProviderKind {
    let has_key = |kind: &ProviderKind| {
        access(*kind).is_some_and(|access| access.keys.iter().any(|key| environment.variable(key).is_some()))
    };
    choices().find(has_key).unwrap_or(ProviderKind::Anthropic)
}

fn has_server(provider: ProviderKind) -> bool {
    access(provider).is_some_and(|access| access.base_url.is_none())
}

fn server(arguments: &InitArguments, environment: &Environment) -> String {
    let named = arguments.base_url.as_deref().or_else(|| environment.variable("OPENAI_BASE_URL"));
    named.unwrap_or(SERVER).to_owned()
}

fn every(model: &str) -> Models {
    Models { planner: model.to_owned(), executor: model.to_owned(), evaluator: model.to_owned() }
}

fn usual(provider: ProviderKind) -> Result<Option<Models>, Error> {
    Ok(Catalog::load()?.defaults(provider).cloned())
}

fn expected(goal: &str) -> &'static str {
    if goal == GOAL { OVERVIEW } else { RESULT }
}
