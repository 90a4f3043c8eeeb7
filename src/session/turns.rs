//! Owns what a run has around its cycles: the store that outlives it, and the stages that the configuration names.
//!
//! A store that cannot be written is found here, before a token is spent. A run without a session and without stages has none of this.

use std::path::PathBuf;
use std::sync::Arc;

use crate::config::{self, Config, Environment, Store};
use crate::error::Error;
use crate::program::Site;
use crate::prompt::Prompt;
use crate::stage::{Retriever, Stages, StoreError, TurnStore};
use crate::stages;
use crate::store::{Index, IndexSettings, SqliteStore};
use crate::workspace::Workspace;

/// What a run has around its cycles.
#[derive(Default)]
pub(super) struct Turns {
    pub(super) stages: Stages,
    pub(super) store: Option<Arc<dyn TurnStore>>,
    /// Files that stages consist of.
    pub(super) protected: Vec<PathBuf>,
}

/// Opens the store and builds the stages of a run.
pub(super) fn connect(
    config: &Config,
    prompt: &Prompt,
    environment: &Environment,
    workspace: &Arc<Workspace>,
    site: Site,
) -> Result<Turns, Error> {
    if config.turn.is_empty() && config.cycle.is_empty() {
        return Ok(Turns::default());
    }
    let store = match &config.turn.store {
        Store::Sqlite { path } => {
            let path = workspace.root().join(path);
            let opened = SqliteStore::open(&path, environment.secrets().clone());
            // Its words say which file, why, and what to do.
            Some(opened.map_err(|error| Error::broken(error.0))?)
        }
        Store::None => None,
    };
    let retriever = |settings: &config::Retrieve| -> Result<Arc<dyn Retriever>, Error> {
        let make = || -> Result<Index, StoreError> {
            let store = match &store {
                Some(store) => Arc::clone(store),
                // What is found is forgotten with the run.
                None => SqliteStore::in_memory(environment.secrets().clone())?,
            };
            let config::Retrieve { files, trust, kind, .. } = settings.clone();
            Index::new(store, Arc::clone(workspace), IndexSettings { files, trust, kind })
        };
        let index = make().map_err(|e| Error::broken("files cannot be indexed").because(&e))?;
        Ok(Arc::new(index))
    };
    let built = stages::build(config, prompt, environment, site, &retriever)?;
    let store = store.map(|store| store as Arc<dyn TurnStore>);
    Ok(Turns { stages: built.stages, store, protected: built.protected })
}
