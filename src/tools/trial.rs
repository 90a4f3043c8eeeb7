//! Owns the ground on which the tests of the tools stand: a workspace of their own and one call's context.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::config::Network;
use crate::process::Setting;
use crate::tool::{Scratchpad, ToolContext};
use crate::workspace::Workspace;

/// A folder and the context of a call in it.
pub(super) struct Trial {
    folder: TempDir,
    pub(super) context: ToolContext,
}

impl Trial {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let environment =
            BTreeMap::from([("PATH".into(), path), ("GREETING".into(), OsString::from("hello"))]);
        let context = ToolContext::new(
            Arc::new(workspace),
            Scratchpad::default(),
            Arc::new(Setting { environment, supervisor: None }),
            Duration::from_secs(600),
            jiff::Timestamp::from_second(1_700_000_000).unwrap(),
        )
        .noting(true);
        Self { folder, context }
    }

    /// Returns the path of `relative` in the folder.
    pub(super) fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    /// Writes a file with the folders above it.
    pub(super) fn file(&self, relative: &str, content: impl AsRef<[u8]>) {
        let path = self.path(relative);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Calls a built-in tool as the pipeline does.
    pub(super) async fn call(&self, tool: &str, params: Value) -> Result<Value, String> {
        let tools = super::built_in(&Network { allow_hosts: Vec::new() });
        let tool = tools.iter().find(|candidate| candidate.name() == tool).unwrap();
        tool.invoke(params, &self.context).await.map_err(|error| error.to_string())
    }
}
