//! Owns how one server is reached, with every variable of its configuration filled in.
//!
//! It refuses headers and variables that cannot be sent before anything is started.

use std::path::Path;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::config::{Environment, McpServer, without_secrets};
use crate::error::Error;
use crate::process::{Command, Setting};

/// How long a server may take to start, unless its configuration says otherwise.
const START_UP: Duration = Duration::from_secs(30);

/// How one server is reached.
pub(super) struct Settings {
    pub(super) name: String,
    pub(super) required: bool,
    pub(super) start_up: Duration,
    pub(super) way: Way,
}

/// The two ways to a server.
pub(super) enum Way {
    /// A process and its pipes.
    Process(Command),
    /// Streamable HTTP.
    Http {
        url: String,
        /// The address as it was written, for messages: a variable in it may hold a secret.
        shown: String,
        headers: HeaderMap,
    },
}

impl Settings {
    pub(super) fn new(
        name: &str,
        server: &McpServer,
        environment: &Environment,
        setting: &Setting,
        root: &Path,
    ) -> Result<Self, Error> {
        let fill = |key: &str, text: &str| {
            environment
                .expand(text)
                .map_err(|e| Error::usage(format!("cannot fill in `{key}` of the MCP server `{name}`: {e}")))
        };
        let way = match (&server.command, &server.url) {
            (Some(command), _) => {
                let mut variables = setting.environment.clone();
                for (variable, value) in &server.env {
                    variables.insert(variable.into(), fill(variable, value)?.into());
                }
                let arguments = server.args.iter().map(|argument| Ok(fill("args", argument)?.into()));
                Way::Process(Command {
                    program: fill("command", command)?.into(),
                    arguments: arguments.collect::<Result<_, Error>>()?,
                    folder: root.to_owned(),
                    environment: variables,
                    input: None,
                    timeout: Duration::MAX,
                    supervisor: setting.supervisor.clone(),
                })
            }
            (None, Some(url)) => {
                let mut headers = HeaderMap::new();
                for (header, value) in &server.headers {
                    let refused = || {
                        Error::usage(format!(
                            "the header `{header}` of the MCP server `{name}` cannot be sent"
                        ))
                        .hint("a header has a name of letters, digits and `-`, and a value of one line")
                    };
                    let value = fill(header, value)?;
                    let header = HeaderName::try_from(header.as_str()).map_err(|_| refused())?;
                    let mut value = HeaderValue::try_from(value.trim()).map_err(|_| refused())?;
                    value.set_sensitive(true);
                    headers.insert(header, value);
                }
                Way::Http { url: fill("url", url)?, shown: without_secrets(url), headers }
            }
            (None, None) => {
                return Err(Error::usage(format!("the server `{name}` has neither `command` nor `url`")));
            }
        };
        let start_up = server.startup_timeout.map_or(START_UP, |limit| Duration::from_millis(limit.0));
        Ok(Self { name: name.to_owned(), required: server.required, start_up, way })
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use serde_json::{Value, json};

    use super::*;

    fn settings(server: Value) -> Result<Settings, Error> {
        let variables = [("TOKEN", "t-1"), ("OPENAI_API_KEY", "k"), ("PATH", "/bin")];
        let environment =
            Environment::of("/project".into(), variables.map(|(name, value)| (name.into(), value.into())));
        {
            let setting = Setting { environment: environment.for_children(&[]), supervisor: None };
            let server = serde_json::from_value(server).unwrap();
            Settings::new("own", &server, &environment, &setting, Path::new("/project"))
        }
    }

    #[test]
    fn a_process_gets_the_environment_of_children_and_its_own() {
        let server =
            json!({"command": "${SHELL:-sh}", "args": ["-c", "${TOKEN}"], "env": {"A": "x${TOKEN}"}});
        let settings = settings(server).unwrap();
        assert_eq!((settings.required, settings.start_up), (true, Duration::from_secs(30)));
        let Way::Process(command) = settings.way else { panic!() };
        assert_eq!((command.program, command.folder), ("sh".into(), "/project".into()));
        assert_eq!(command.arguments, ["-c", "t-1"]);
        assert_eq!(command.environment[OsStr::new("A")], "xt-1");
        assert!(!command.environment.contains_key(OsStr::new("OPENAI_API_KEY")));
    }

    #[test]
    fn an_address_has_headers() {
        let server = json!({"url": "https://h/${TOKEN}?key=k", "headers": {"Authorization": "Bearer ${TOKEN}"},
            "required": false, "startupTimeout": "2s"});
        let settings = settings(server).unwrap();
        assert_eq!((settings.required, settings.start_up), (false, Duration::from_secs(2)));
        let Way::Http { url, shown, headers } = settings.way else { panic!() };
        assert_eq!((url.as_str(), shown.as_str()), ("https://h/t-1?key=k", "https://h/${TOKEN}"));
        assert_eq!(headers["authorization"], "Bearer t-1");
    }

    #[test]
    fn what_cannot_be_filled_in_or_sent_is_refused() {
        for (server, message) in [
            (
                json!({"command": "${NONE}"}),
                "cannot fill in `command` of the MCP server `own`: the variable `NONE` is not set",
            ),
            (
                json!({"command": "x", "env": {"A": "${NONE}"}}),
                "cannot fill in `A` of the MCP server `own`: the variable `NONE` is not set",
            ),
            (
                json!({"command": "x", "env": {"A": "${OPENAI_API_KEY}"}}),
                "cannot fill in `A` of the MCP server `own`: the variable `OPENAI_API_KEY` holds a provider's key, which is for no tool: \
                 give it to this one under another name",
            ),
            (
                json!({"url": "x", "headers": {"a b": "c"}}),
                "the header `a b` of the MCP server `own` cannot be sent",
            ),
            (
                json!({"url": "x", "headers": {"a": "b\nc"}}),
                "the header `a` of the MCP server `own` cannot be sent",
            ),
        ] {
            assert_eq!(settings(server).map(|_| ()).unwrap_err().to_string(), message);
        }
    }
}
