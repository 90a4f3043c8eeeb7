//! Owns the one reading of the process environment: variables, working directory, terminals.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use percent_encoding::percent_decode_str;
use secrecy::SecretString;

use crate::error::Error;
use crate::expansion::{self, ExpansionError};
use crate::process::Leaving;
use crate::secret::{Secrets, is_secret_name};

/// Variables that hold a provider's key: children of a run do not inherit them.
pub const KEY_VARIABLES: [&str; 4] =
    ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"];

/// Variables that hold the headers for a collector of traces, the one that wins first; every value in them counts as a secret.
pub const HEADER_VARIABLES: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];

/// The variable that says which span a process belongs to, in the form of the W3C.
pub const TRACE_PARENT: &str = "TRACEPARENT";

/// The variable beside it that vendors of traces keep notes in.
pub const TRACE_STATE: &str = "TRACESTATE";

/// What the process was started with.
#[derive(Debug, Clone)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
    /// The folder to work in; absolute.
    pub directory: PathBuf,
    /// Whether standard input is a terminal.
    pub stdin_is_terminal: bool,
    /// Whether standard output is a terminal.
    pub stdout_is_terminal: bool,
    /// Whether standard error is a terminal.
    pub stderr_is_terminal: bool,
    /// The user's own folder, as the system knows it.
    home: Option<PathBuf>,
    secrets: Secrets,
    leaving: Leaving,
    /// tepa's own binary, as which it confines commands; absent where it cannot.
    pub launcher: Option<PathBuf>,
}

impl Environment {
    /// Reads the environment of this process.
    pub fn capture() -> io::Result<Self> {
        let variables = std::env::vars_os().collect();
        Ok(Self {
            home: directories::BaseDirs::new().map(|folders| folders.home_dir().to_owned()),
            secrets: keys(&variables),
            leaving: Leaving::default(),
            variables,
            directory: std::env::current_dir()?,
            stdin_is_terminal: io::stdin().is_terminal(),
            stdout_is_terminal: io::stdout().is_terminal(),
            stderr_is_terminal: io::stderr().is_terminal(),
            launcher: None,
        })
    }

    /// Returns an environment without terminals, for tests and embedding.
    pub fn of(directory: PathBuf, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let variables = variables.into_iter().collect();
        Self {
            home: None,
            secrets: keys(&variables),
            leaving: Leaving::default(),
            variables,
            directory,
            stdin_is_terminal: false,
            stdout_is_terminal: false,
            stderr_is_terminal: false,
            launcher: None,
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

    /// Returns whether texts are shown as UTF-8: the locale says so, or there is none, as in many containers.
    pub fn speaks_utf8(&self) -> bool {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| self.variable(name));
        locale.is_none_or(|locale| {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        })
    }

    /// Returns a variable that holds a secret.
    pub fn secret(&self, name: &str) -> Option<SecretString> {
        self.variable(name).map(|value| SecretString::from(value.trim().to_owned()))
    }

    /// Returns what must not leave: every provider key that is set, and what is learnt later.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Returns who knows of commands that are not gone yet.
    pub fn leaving(&self) -> &Leaving {
        &self.leaving
    }

    /// Returns the variables whose names one of `patterns` names.
    pub fn matching(&self, patterns: &[String]) -> Vec<SecretString> {
        let named = |name: &&OsString| {
            let name = name.to_str().unwrap_or_default();
            patterns.iter().any(|pattern| named_by(pattern, name))
        };
        let values =
            self.variables.iter().filter(|(name, _)| named(name)).map(|(_, value)| value.to_string_lossy());
        values.map(|value| SecretString::from(value.trim().to_owned())).collect()
    }

    /// Returns the variables whose names begin with `prefix` and that hold text.
    pub fn beginning_with(&self, prefix: &str) -> BTreeMap<String, String> {
        let held = |(name, value): (&OsString, &OsString)| {
            let (name, value) = (name.to_str()?, value.to_str()?);
            (name.starts_with(prefix) && !value.is_empty()).then(|| (name.to_owned(), value.to_owned()))
        };
        self.variables.iter().filter_map(held).collect()
    }

    /// Returns the names of the variables that begin with `prefix` and hold what is no text.
    pub fn unreadable(&self, prefix: &str) -> BTreeSet<String> {
        let broken = self.variables.iter().filter(|(_, value)| value.to_str().is_none());
        let names = broken.filter_map(|(name, _)| name.to_str());
        names.filter(|name| name.starts_with(prefix)).map(str::to_owned).collect()
    }

    /// Returns `text` with the value of each variable that it names as `${NAME}`; what is called like a secret becomes one.
    pub fn expand(&self, text: &str) -> Result<String, ExpansionError> {
        let refers = |name: &&str| ["}", ":-"].iter().any(|end| text.contains(&format!("${{{name}{end}")));
        if let Some(name) = KEY_VARIABLES.into_iter().find(refers) {
            return Err(ExpansionError::Kept(name.to_owned()));
        }
        expansion::expand(text, |name| {
            if is_secret_name(name) {
                self.secrets.learn(self.secret(name));
            }
            self.variable(name)
        })
    }

    /// Returns this environment with another span to which what is started belongs.
    #[must_use]
    pub fn in_trace(&self, parent: &str, state: &str) -> Self {
        let mut inside = self.clone();
        inside.variables.insert(TRACE_PARENT.into(), parent.into());
        inside.variables.remove(OsStr::new(TRACE_STATE));
        if !state.is_empty() {
            inside.variables.insert(TRACE_STATE.into(), state.into());
        }
        inside
    }

    /// Fills in the values of `variables`, which are handed to `receiver`.
    ///
    /// # Errors
    /// A variable that a value names is not set, or may not be handed on.
    pub fn fill(&self, variables: &mut IndexMap<String, String>, receiver: &str) -> Result<(), Error> {
        for (name, value) in variables {
            *value = self
                .expand(value)
                .map_err(|e| Error::usage(format!("cannot fill in `{name}` of {receiver}: {e}")))?;
        }
        Ok(())
    }

    /// Returns `path` as seen from the folder to work in.
    pub fn resolve(&self, path: &Path) -> PathBuf {
        self.directory.join(path)
    }

    /// Returns where temporary files belong.
    pub fn temporary(&self) -> PathBuf {
        let named = ["TMPDIR", "TEMP", "TMP"].iter().find_map(|name| self.variable(name));
        named.map_or_else(
            || PathBuf::from(if cfg!(windows) { r"C:\Windows\Temp" } else { "/tmp" }),
            PathBuf::from,
        )
    }

    /// Returns `path` with the user's own folder for a leading `~`, as seen from the folder to work in.
    pub fn locate(&self, path: &str) -> PathBuf {
        let named = self.variable("HOME").or_else(|| self.variable("USERPROFILE")).map(Path::new);
        match (named.or(self.home.as_deref()), path.strip_prefix("~/")) {
            (Some(home), Some(below)) => home.join(below),
            (Some(home), None) if path == "~" => home.to_owned(),
            _ => self.resolve(Path::new(path)),
        }
    }

    /// Returns the variables that a command inherits: the usual ones and those that `further` patterns name. Provider keys are never among them.
    pub fn for_children(&self, further: &[String]) -> BTreeMap<OsString, OsString> {
        let mut variables = self.variables.clone();
        variables.retain(|name, _| {
            let Some(name) = name.to_str() else { return false };
            let mut wanted = USUAL.iter().copied().chain(further.iter().map(String::as_str));
            !KEY_VARIABLES.contains(&name) && wanted.any(|pattern| named_by(pattern, name))
        });
        variables
    }
}

/// Returns the provider keys among `variables`, and what the headers for a collector hold.
fn keys(variables: &BTreeMap<OsString, OsString>) -> Secrets {
    let value = |name: &&str| variables.get(OsStr::new(name))?.to_str();
    let keys = KEY_VARIABLES.iter().filter_map(value).map(|value| value.trim().to_owned());
    let headers = HEADER_VARIABLES.iter().filter_map(value).flat_map(pairs);
    // Of `Bearer abc` the second word alone is as secret as the whole.
    let parts = headers.flat_map(|(_, value)| {
        let last = value.rsplit(' ').next().unwrap_or_default().to_owned();
        [value, last]
    });
    Secrets::new(keys.chain(parts).map(SecretString::from))
}

/// Returns what a variable such as `OTEL_RESOURCE_ATTRIBUTES` lists as `name=value,name=value`, with values decoded; other parts are passed over.
pub fn pairs(text: &str) -> Vec<(String, String)> {
    let pair = |part: &str| {
        let (name, value) = part.split_once('=')?;
        let value = percent_decode_str(value.trim()).decode_utf8().ok()?.into_owned();
        Some((name.trim().to_owned(), value)).filter(|(name, _)| !name.is_empty())
    };
    text.split(',').filter_map(pair).collect()
}

/// Variables that say who and where somebody is and how to talk to them, where toolchains are, and which trace all this belongs to.
const USUAL: [&str; 38] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PWD",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "CI",
    "TMPDIR",
    "TEMP",
    "TMP",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    TRACE_PARENT,
    TRACE_STATE,
    // Windows does not start programs without these.
    "SystemRoot",
    "SYSTEMROOT",
    "ComSpec",
    "PATHEXT",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "ProgramFiles*",
];

/// Returns whether `pattern`, in which `*` stands for anything, names `name`.
fn named_by(pattern: &str, name: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(rest) = name.strip_prefix(head) else { return false };
    let ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    ends.into_iter().any(|at| named_by(tail, &rest[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_do_not_inherit_provider_keys() {
        let names = [
            "PATH",
            "LC_TIME",
            "ANTHROPIC_API_KEY",
            "GEMINI_API_KEY",
            "DEPLOY_TOKEN",
            "DEPLOY_URL",
            "TEPA_X",
        ];
        let environment = Environment::of("/".into(), names.map(|name| (name.into(), "k".into())));
        let inherited = |further: &[&str]| {
            let further: Vec<String> = further.iter().map(|&name| name.to_owned()).collect();
            environment.for_children(&further).into_keys().collect::<Vec<_>>()
        };
        assert_eq!(inherited(&[]), ["LC_TIME", "PATH"]);
        assert_eq!(inherited(&["DEPLOY_*"]), ["DEPLOY_TOKEN", "DEPLOY_URL", "LC_TIME", "PATH"]);
        assert_eq!(inherited(&["*"]), ["DEPLOY_TOKEN", "DEPLOY_URL", "LC_TIME", "PATH", "TEPA_X"]);
        assert_eq!(environment.matching(&["DEPLOY_*".to_owned()]).len(), 2);
    }

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, name, named) in [
            ("A", "A", true),
            ("A", "AB", false),
            ("A*", "A", true),
            ("*_TOKEN", "GH_TOKEN", true),
            ("*_TOKEN", "GH_TOKENS", false),
            ("A*B*C", "AxBByC", true),
            ("A*B*C", "AxC", false),
        ] {
            assert_eq!(named_by(pattern, name), named, "{pattern} {name}");
        }
    }

    #[test]
    fn what_the_headers_for_a_collector_hold_is_secret() {
        let headers = "authorization=Basic%20dG9wOnNlY3JldA==, x-team = team-key-1 ,nothing";
        assert_eq!(
            pairs(headers),
            [("authorization", "Basic dG9wOnNlY3JldA=="), ("x-team", "team-key-1")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
        let environment = Environment::of("/".into(), [(HEADER_VARIABLES[1].into(), headers.into())]);
        let redacted = environment.secrets().redact("dG9wOnNlY3JldA== and team-key-1").into_owned();
        assert_eq!(redacted, "*** and ***");
    }

    #[test]
    fn children_belong_to_the_span_that_they_are_told() {
        let outside = [("TRACEPARENT", "00-a-b-01"), ("TRACESTATE", "v=1")];
        let environment =
            Environment::of("/".into(), outside.map(|(name, value)| (name.into(), value.into())));
        let trace = |environment: &Environment| {
            let variables = environment.for_children(&[]);
            [TRACE_PARENT, TRACE_STATE].map(|name| variables.get(OsStr::new(name)).cloned())
        };
        assert_eq!(trace(&environment), [Some("00-a-b-01".into()), Some("v=1".into())]);
        assert_eq!(trace(&environment.in_trace("00-a-c-01", "")), [Some("00-a-c-01".into()), None]);
    }

    #[test]
    fn a_tilde_is_the_users_own_folder() {
        let environment = Environment::of("/project".into(), [("HOME".into(), "/home/ada".into())]);
        assert_eq!(environment.locate("~/.ssh"), Path::new("/home/ada/.ssh"));
        assert_eq!(environment.locate("~"), Path::new("/home/ada"));
        assert_eq!(environment.locate("a/~"), Path::new("/project/a/~"));
        assert_eq!(environment.locate("~x"), Path::new("/project/~x"));
        assert_eq!(Environment::of("/project".into(), []).locate("~/x"), Path::new("/project/~/x"));
    }
}
