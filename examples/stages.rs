//! A program that embeds tepa and adds stages of its own around a run: rules and documents before it, a receipt after it.
//!
//! `cargo run --example stages` runs offline, on scripted replies.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::json;
use tepa::config::{Environment, Layers, Origin};
use tepa::pipeline::Cancel;
use tepa::prompt::Values;
use tepa::session::{Options, Session, Task};
use tepa::source::{Document, Format, SourceFile, UnknownKeys};
use tepa::stage::{Next, Query, Retriever, StageError, StoreError, TurnContext, TurnStage};
use tepa::turn::{Retrievable, Standing, TrustTier};

const PROMPT: &str = "
goal: Write the colour of the school into colour.txt.
context: {}
expectedOutput:
  - {path: colour.txt, description: The colour, checks: [{contains: blue}]}
";

/// The planner's reply expects what the stages below assemble.
const REPLIES: &str = r#"
format: tepa.replay/1
replies:
  - stage: planner
    expect: {contains: [British spelling, "The colour of the school is blue."]}
    json:
      reasoning: The handbook says it.
      estimatedTokens: 100
      steps: [{id: write, description: Write it, tools: [file_write], expectedOutcome: written, dependencies: []}]
  - {stage: step, step: write, tool: file_write, toolUse: {path: colour.txt, content: "blue\n"}}
  - {stage: evaluator, json: {verdict: pass, confidence: 0.9, summary: The colour is written down.}}
"#;

/// Finds passages in a book of one page.
struct Handbook;

impl Retriever for Handbook {
    fn retrieve<'a>(&'a self, query: Query<'a>) -> BoxFuture<'a, Result<Vec<Retrievable>, StoreError>> {
        let knows = query.text.contains("colour");
        Box::pin(async move {
            let page = || Retrievable {
                id: "page-1".into(),
                content: "The colour of the school is blue.".into(),
                // There is no default: whoever brings a text in says how far it is trusted.
                trust_tier: TrustTier::FirstParty,
                source: Some("handbook.md".into()),
                kind: Some("reference".into()),
                score: Some(1.0),
                created_at: jiff::Timestamp::UNIX_EPOCH,
                updated_at: jiff::Timestamp::UNIX_EPOCH,
            };
            Ok(knows.then(page).into_iter().collect())
        })
    }
}

/// Before the run: what every model is to know.
struct Assemble(Handbook);

impl TurnStage for Assemble {
    fn name(&self) -> &'static str {
        "assemble"
    }

    fn handle<'a>(
        &'a self,
        context: &'a mut TurnContext,
        next: Next<'a>,
    ) -> BoxFuture<'a, Result<(), StageError>> {
        Box::pin(async move {
            let goal = context.prompt().goal.clone();
            let found = self.0.retrieve(Query { text: &goal, top_k: 3, min_score: 0.0 }).await?;
            context.stash.set("found", found.len());
            context.turn.retrievables.extend(found);
            let rule = Standing { source: "house rules".into(), content: "Use British spelling.".into() };
            context.turn.standing_instructions.push(rule);
            next.run(context).await;
            // Here the stages after this one are done, whatever became of them.
            Ok(())
        })
    }
}

/// After a pass: what it took.
struct Receipt;

impl TurnStage for Receipt {
    fn name(&self) -> &'static str {
        "receipt"
    }

    fn handle<'a>(
        &'a self,
        context: &'a mut TurnContext,
        next: Next<'a>,
    ) -> BoxFuture<'a, Result<(), StageError>> {
        Box::pin(async move {
            let tokens = context.ended().map_or(0, |ended| ended.tokens_used);
            let found = context.stash.get("found").cloned().unwrap_or_default();
            context.stash.set("receipt", json!({"tokens": tokens, "passages": found}));
            next.run(context).await;
            Ok(())
        })
    }
}

async fn run(folder: &Path) -> Result<u8, Box<dyn Error>> {
    fs::write(folder.join("replies.yaml"), REPLIES)?;
    let file = SourceFile::from_text("prompt.yaml", PROMPT, Format::Yaml);
    let faults = |faults: tepa::source::Diagnostics| faults.render(false, 100);
    let mut document = Document::parse(file).map_err(faults)?;
    let (prompt, _) =
        tepa::prompt::load(&mut document, &Values::default(), UnknownKeys::Refuse).map_err(faults)?;
    let mut layers = Layers::defaults()?;
    layers.push(Origin::CommandLine, json!({"provider": "replay"}));
    let environment = Environment::of(folder.to_owned(), std::iter::empty());
    let options = Options { replay: Some(folder.join("replies.yaml")), ..Options::default() };
    let mut session = Session::connect(layers.resolve()?, Task::Run(prompt), &environment, options).await?;
    session.stages().turn_input.push(Arc::new(Assemble(Handbook)));
    session.stages().turn_output.push(Arc::new(Receipt));
    let finished = session.run(Vec::new(), &Cancel::default()).await;
    Ok(finished.settlement.exit_code())
}

fn main() -> Result<std::process::ExitCode, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    Ok(runtime.block_on(run(folder.path()))?.into())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_example_passes() {
        assert_eq!(super::main().unwrap(), std::process::ExitCode::SUCCESS);
    }
}
