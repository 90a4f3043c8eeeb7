//! Owns the flags for the layers of a configuration, and where each flag was said.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args};

use super::boolean;
use crate::config::Origin;

/// Which files count, and what is set beside them.
#[derive(Debug, Clone, Default, Args)]
pub(in crate::cli) struct LayerArguments {
    /// A configuration file, on top of the user's and the project's
    #[arg(long, value_name = "FILE", env = "TEPA_CONFIG", global = true, help_heading = "Configuration")]
    pub(in crate::cli) config: Option<PathBuf>,
    /// Set a value of the configuration, such as `limits.maxCycles=3` or `tools=[file_read]` (again for more)
    #[arg(long, value_name = "KEY=VALUE", global = true, help_heading = "Configuration")]
    pub(in crate::cli) set: Vec<String>,
    /// Read neither the user's configuration nor the project's
    #[arg(long, env = "TEPA_HERMETIC", value_parser = boolean(), global = true, help_heading = "Configuration")]
    pub(in crate::cli) hermetic: bool,
}

/// Which arguments were said by a variable of the environment.
#[derive(Debug, Clone, Default)]
pub(in crate::cli) struct Voices(BTreeSet<String>);

impl Voices {
    /// Returns those of the command that was called.
    pub(in crate::cli) fn of(matches: &ArgMatches) -> Self {
        let mut said = BTreeSet::new();
        let mut command = Some(matches);
        while let Some(matches) = command {
            let ids = matches.ids().map(clap::Id::as_str);
            let by_variable = |id: &&str| {
                // Groups of arguments have an id and no source.
                matches.try_contains_id(id).is_ok()
                    && matches.value_source(id) == Some(ValueSource::EnvVariable)
            };
            said.extend(ids.filter(by_variable).map(str::to_owned));
            command = matches.subcommand().map(|(_, below)| below);
        }
        Self(said)
    }

    /// Returns who said an argument.
    pub(in crate::cli) fn origin(&self, id: &str) -> Origin {
        if self.0.contains(id) {
            Origin::Variable(format!("TEPA_{}", id.to_uppercase()))
        } else {
            Origin::Flag(format!("--{}", id.replace('_', "-")))
        }
    }
}
