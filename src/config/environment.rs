//! Owns the one reading of the process environment: variables, working directory, terminals.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use crate::expansion::{self, ExpansionError};

/// Variables that hold a provider's key: children of a run do not inherit them.
pub const KEY_VARIABLES: [&str; 4] =
    ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"];

/// What the process was started with.
#[derive(Debug, Clone)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
    /// The folder to work in; absolute.
    pub directory: PathBuf,
    /// Whether standard output is a terminal.
    pub stdout_is_terminal: bool,
    /// Whether standard error is a terminal.
    pub stderr_is_terminal: bool,
}

impl Environment {
    /// Reads the environment of this process.
    pub fn capture() -> io::Result<Self> {
        Ok(Self {
            variables: std::env::vars_os().collect(),
            directory: std::env::current_dir()?,
            stdout_is_terminal: io::stdout().is_terminal(),
            stderr_is_terminal: io::stderr().is_terminal(),
        })
    }

    /// Returns an environment without terminals, for tests and embedding.
    pub fn of(directory: PathBuf, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self {
            variables: variables.into_iter().collect(),
            directory,
            stdout_is_terminal: false,
            stderr_is_terminal: false,
        }
    }

    /// Returns whether a variable is set to nothing, as CI systems do with variables that they do not know.
    pub fn is_blank(&self, name: &OsStr) -> bool {
        self.variables.get(name).is_some_and(|value| value.is_empty())
    }

    /// Returns a variable that is set, not empty and readable as text.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables
            .get(OsStr::new(name))
            .and_then(|value| value.to_str())
            .filter(|value| !value.is_empty())
    }

    /// Returns a variable that holds a secret.
    pub fn secret(&self, name: &str) -> Option<SecretString> {
        self.variable(name).map(|value| SecretString::from(value.trim().to_owned()))
    }

    /// Returns every provider key that is set, to be kept out of everything that leaves.
    pub fn secrets(&self) -> Vec<SecretString> {
        KEY_VARIABLES.iter().filter_map(|name| self.secret(name)).collect()
    }

    /// Returns `text` with the value of each variable that it names as `${NAME}`.
    pub fn expand(&self, text: &str) -> Result<String, ExpansionError> {
        expansion::expand(text, |name| self.variable(name))
    }

    /// Returns `path` as seen from the folder to work in.
    pub fn resolve(&self, path: &Path) -> PathBuf {
        self.directory.join(path)
    }

    /// Returns the whole environment of a child of the run.
    pub fn for_children(&self) -> BTreeMap<OsString, OsString> {
        let mut variables = self.variables.clone();
        variables.retain(|name, _| !KEY_VARIABLES.iter().any(|key| name == OsStr::new(key)));
        variables
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_do_not_inherit_provider_keys() {
        let variables = [("PATH", "/bin"), ("ANTHROPIC_API_KEY", "k"), ("GEMINI_API_KEY", "k")];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        let environment = Environment::of("/".into(), variables);
        assert_eq!(environment.for_children().keys().collect::<Vec<_>>(), ["PATH"]);
        assert_eq!(environment.secrets().len(), 2);
    }
}
