//! Owns the tools of the cases. Each takes its time, and shows or leaves behind whatever came in between.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tepa::outcome::{Effect, LogLevel};
use tepa::tool::{AnyTool, ParameterType, Registry, ToolContext, ToolError, ToolSchema};

use crate::model::{Busy, digest, lag};

/// The files and notes that there are.
pub(crate) const NAMES: [&str; 3] = ["a", "b", "c"];

/// What a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Reads a file.
    Peek,
    /// Reads all files.
    Survey,
    /// Reads all notes.
    Recall,
    /// Logs.
    Say,
    /// Reads and panics.
    Crash,
    /// Reads and does not end in time.
    Dawdle,
    /// Logs and fails.
    Deny,
    /// Adds to a file.
    Put,
    /// Adds to a file and panics.
    Burst,
    /// Adds to a file and does not end in time.
    Linger,
    /// Writes a note.
    Note,
    /// Adds to files, writes notes, logs.
    Several,
    /// Adds to a file, writes a note, logs and fails.
    Refuse,
}

impl Deed {
    const ALL: [Self; 13] = [
        Self::Peek,
        Self::Survey,
        Self::Recall,
        Self::Say,
        Self::Crash,
        Self::Dawdle,
        Self::Deny,
        Self::Put,
        Self::Burst,
        Self::Linger,
        Self::Note,
        Self::Several,
        Self::Refuse,
    ];

    /// The longest that a call may take.
    pub(crate) const LIMIT: Duration = Duration::from_millis(400);

    /// Returns the name of its tool.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Peek => "peek",
            Self::Survey => "survey",
            Self::Recall => "recall",
            Self::Say => "say",
            Self::Crash => "crash",
            Self::Dawdle => "dawdle",
            Self::Deny => "deny",
            Self::Put => "put",
            Self::Burst => "burst",
            Self::Linger => "linger",
            Self::Note => "note",
            Self::Several => "several",
            Self::Refuse => "refuse",
        }
    }

    /// Returns the deed of a tool.
    pub(crate) fn named(name: &str) -> Self {
        Self::ALL.into_iter().find(|deed| deed.name() == name).unwrap()
    }

    fn effect(self) -> Effect {
        match self {
            Self::Put | Self::Burst | Self::Linger | Self::Several | Self::Refuse => Effect::Writes,
            _ => Effect::Reads,
        }
    }

    fn notes(self) -> bool {
        matches!(self, Self::Note | Self::Several | Self::Refuse)
    }

    async fn perform(self, call: Call<'_>) -> Result<Value, ToolError> {
        match self {
            Self::Peek => call.twice(|| read(call.root(), call.name)).await,
            Self::Survey => call.twice(|| NAMES.map(|name| read(call.root(), name)).concat()).await,
            Self::Recall => {
                let keys = NAMES.into_iter().chain(["_execution_summary"]);
                call.twice(|| {
                    keys.clone().map(|key| json!(call.context.read_scratchpad(key)).to_string()).collect()
                })
                .await
            }
            Self::Say => {
                call.say("before");
                call.rest().await;
                call.say("after");
                Ok(json!("said"))
            }
            Self::Crash => {
                call.rest().await;
                crash()
            }
            Self::Dawdle => {
                call.say("before");
                tokio::time::sleep(10 * Self::LIMIT).await;
                Ok(json!("too late"))
            }
            Self::Deny => {
                call.rest().await;
                call.say("denied");
                Err(ToolError::new(format!("denied: {}", read(call.root(), call.name))))
            }
            Self::Put => {
                call.put().await;
                Ok(json!(read(call.root(), call.name)))
            }
            Self::Burst => {
                call.put().await;
                crash()
            }
            Self::Linger => {
                call.put().await;
                tokio::time::sleep(10 * Self::LIMIT).await;
                call.put().await;
                Ok(json!("too late"))
            }
            Self::Note => {
                call.rest().await;
                call.note(call.name)
            }
            Self::Several => {
                call.note(call.name)?;
                call.put().await;
                call.say("in the middle");
                call.note("d")?;
                call.put().await;
                Ok(json!(NAMES.map(|name| read(call.root(), name))))
            }
            Self::Refuse => {
                call.put().await;
                call.note(call.name)?;
                call.say("refused");
                Err(ToolError::new("refused"))
            }
        }
    }
}

/// One call under way.
struct Call<'c> {
    /// Of a file, and of a note.
    name: &'c str,
    text: &'c str,
    lag: Duration,
    context: &'c ToolContext,
}

impl Call<'_> {
    fn root(&self) -> &Path {
        self.context.workspace().root()
    }

    async fn rest(&self) {
        tokio::time::sleep(self.lag).await;
    }

    /// Looks now and later.
    async fn twice(&self, look: impl Fn() -> String) -> Result<Value, ToolError> {
        let before = look();
        self.rest().await;
        Ok(json!([before, look()]))
    }

    fn say(&self, when: &str) {
        self.context.log(LogLevel::Info, &format!("{when}: {}", self.text));
    }

    fn note(&self, key: &str) -> Result<Value, ToolError> {
        let before = self.context.read_scratchpad(key);
        let value = digest(&(json!(before).to_string(), self.text));
        self.context
            .write_scratchpad(key, json!(format!("{value:x}")))
            .map_err(|e| ToolError::new(e.to_string()))?;
        Ok(json!(before))
    }

    /// Adds to the file in two halves.
    async fn put(&self) {
        let add = |text: &str| {
            let file = OpenOptions::new().create(true).append(true).open(self.root().join(self.name));
            file.unwrap().write_all(text.as_bytes()).unwrap();
        };
        add(&format!("<{}", self.text));
        self.rest().await;
        add(">\n");
        self.context.wrote(self.name);
    }
}

fn read(root: &Path, name: &str) -> String {
    fs::read_to_string(root.join(name)).unwrap_or_else(|_| "nothing".to_owned())
}

/// Panics, and spares whoever reads the test's output the words of it.
fn crash() -> ! {
    std::panic::resume_unwind(Box::new("as it should"))
}

/// A deed as a tool.
struct Doer {
    deed: Deed,
    schema: ToolSchema,
    salt: u64,
    busy: Arc<Busy>,
}

/// Returns the tools of all deeds.
pub(crate) fn tools(salt: u64, busy: &Arc<Busy>) -> Registry {
    let mut registry = Registry::default();
    for deed in Deed::ALL {
        let schema = ToolSchema::new(deed.name(), "Does something.")
            .required("name", ParameterType::String, "Of a file or a note.")
            .required("text", ParameterType::String, "What to put there.");
        registry.register(Box::new(Doer { deed, schema, salt, busy: Arc::clone(busy) })).unwrap();
    }
    registry
}

impl AnyTool for Doer {
    fn name(&self) -> &str {
        self.deed.name()
    }

    fn schema(&self) -> &ToolSchema {
        &self.schema
    }

    fn effect(&self) -> Effect {
        self.deed.effect()
    }

    fn notes(&self) -> bool {
        self.deed.notes()
    }

    fn invoke<'a>(
        &'a self,
        params: Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            let _busy = self.busy.enter();
            let [name, text] = ["name", "text"].map(|key| params[key].as_str().unwrap());
            let lag = lag(&(self.salt, self.deed.name(), text));
            self.deed.perform(Call { name, text, lag, context }).await
        })
    }
}
