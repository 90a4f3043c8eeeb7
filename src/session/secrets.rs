//! Owns the learning of secrets that a configuration declares, before anything that may hold one is shown.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use secrecy::{ExposeSecret as _, SecretString};

use super::shown;
use crate::config::{Config, Environment};
use crate::error::Error;
use crate::secret::{SHORTEST, is_secret_name};
use crate::text;

/// The largest file that is read for secrets, in bytes: each line of it is looked for in everything that is written.
const LARGEST: u64 = 64 << 10;

/// Makes what `config.secrets` names known to everything that writes; returns what a person should know about it.
///
/// # Errors
/// A file that cannot be read: its content could not be kept out of anything.
pub fn learn_secrets(config: &Config, environment: &Environment) -> Result<Vec<String>, Error> {
    let secrets = environment.secrets();
    let declared = environment.matching(&config.secrets.env);
    let short = declared.iter().filter(|value| (1..SHORTEST).contains(&value.expose_secret().len())).count();
    secrets.learn(declared);
    let mut unreadable = None;
    for file in &config.secrets.files {
        let path = environment.locate(file);
        match read(&path) {
            Ok(text) => secrets.learn(in_file(&text)),
            // What can be learnt is, whatever becomes of the command.
            Err(error) => unreadable = unreadable.or(Some((path, error))),
        }
    }
    learn_written(config, environment);
    if let Some((path, error)) = unreadable {
        let name = shown(&path, environment);
        return Err(Error::usage(format!("the secrets in `{name}` cannot be read"))
            .because(&error)
            .hint("`secrets.files` names files that exist; leave out what is not there"));
    }
    let warning = || {
        let values = text::plural("value", short);
        format!(
            "{values} of `secrets.env` shorter than {SHORTEST} characters cannot be told apart from ordinary text and will show"
        )
    };
    Ok((short > 0).then(warning).into_iter().collect())
}

/// Learns what the configuration itself hands to servers, tools and hooks under the name of a secret: it stands in the record of a run.
fn learn_written(config: &Config, environment: &Environment) {
    let servers = config.mcp_servers.values().flat_map(|server| server.env.iter().chain(&server.headers));
    let tools = config.custom_tools.iter().flat_map(|tool| &tool.env);
    let hooks = config.events.all().flat_map(|hook| &hook.env);
    for (_, value) in
        servers.chain(tools).chain(hooks).filter(|(name, value)| is_secret_name(name) || names_secret(value))
    {
        // A variable that is not set is found when the value is used.
        let filled = environment.expand(value).unwrap_or_default();
        let parts = [filled.as_str(), filled.rsplit(' ').next().unwrap_or_default()];
        environment.secrets().learn(parts.map(|part| SecretString::from(part.trim().to_owned())));
    }
}

/// Returns whether a value takes in a variable that is called like a secret.
fn names_secret(value: &str) -> bool {
    let variables = value.split("${").skip(1).filter_map(|rest| rest.split(['}', ':']).next());
    variables.into_iter().any(is_secret_name)
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    // A pipe would keep everybody waiting.
    if !fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    let file = fs::File::open(path)?;
    if file.take(LARGEST + 1).read_to_end(&mut bytes)? as u64 > LARGEST {
        return Err(std::io::Error::other("it is larger than 64 KiB"));
    }
    String::from_utf8(bytes).map_err(|_| std::io::Error::other("it is not text"))
}

/// Returns the whole, each line, and of a line such as `NAME=value` the value.
fn in_file(text: &str) -> Vec<SecretString> {
    let mut values = vec![text.trim()];
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        let line = line.strip_prefix("export ").unwrap_or(line);
        match line.split_once('=').filter(|(name, value)| is_name(name) && !value.is_empty()) {
            Some((_, value)) => values.extend([value.trim(), meant(value.trim())]),
            None => values.push(line),
        }
    }
    values.into_iter().map(|value| SecretString::from(value.to_owned())).collect()
}

/// Returns what a value means to those who read such files: what is in the quotes, or what comes before a comment.
fn meant(value: &str) -> &str {
    let quoted = ['"', '\''].into_iter().find_map(|quote| value.strip_prefix(quote)?.split(quote).next());
    quoted.unwrap_or_else(|| value.split(" #").next().unwrap_or(value).trim_end())
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.trim().chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_secret_whole_and_line_by_line() {
        let text = "# comment\nexport A_KEY=\"value #1\" # why\nB=two== # why\n-----BEGIN KEY-----\nMIIE=\n";
        let values = in_file(text);
        let values: Vec<&str> = values.iter().map(SecretString::expose_secret).collect();
        assert_eq!(
            values[1..],
            ["\"value #1\" # why", "value #1", "two== # why", "two==", "-----BEGIN KEY-----", "MIIE="]
        );
        assert_eq!(values[0], text.trim());
    }
}
