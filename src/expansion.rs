//! Owns `${NAME}` in text: variables that a person refers to by name, filled in where the text is used.
//!
//! It refuses a variable that is not set and has no default: an empty key or path would go wrong much later, and elsewhere.

/// Why a text could not be filled in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpansionError {
    /// Nothing is known under the name.
    #[error("the variable `{0}` is not set")]
    Unset(String),
    /// It may not be handed on.
    #[error(
        "the variable `{0}` holds a provider's key, which is for no tool: give it to this one under another name"
    )]
    Kept(String),
    /// What opens like a variable is none.
    #[error(
        "`{0}` is not a variable: write `${{NAME}}` or `${{NAME:-default}}`, or `$${{` for the characters themselves"
    )]
    Malformed(String),
}

/// Returns `text` with the value of each `${NAME}`, the default of each `${NAME:-default}` that has none, and `${` for each `$${`.
pub fn expand<'v>(text: &str, value: impl Fn(&str) -> Option<&'v str>) -> Result<String, ExpansionError> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, reference) = rest.split_at(at);
        if let Some(before) = before.strip_suffix('$') {
            expanded.push_str(before);
            expanded.push_str("${");
            rest = &reference[2..];
            continue;
        }
        expanded.push_str(before);
        let malformed = || ExpansionError::Malformed(reference.chars().take(40).collect());
        let (inside, after) = reference[2..].split_once('}').ok_or_else(malformed)?;
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        if !is_name(name) {
            return Err(malformed());
        }
        let found = value(name).or(default).ok_or_else(|| ExpansionError::Unset(name.to_owned()))?;
        expanded.push_str(found);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn is_name(name: &str) -> bool {
    let first = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    first && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> Result<String, ExpansionError> {
        expand(text, |name| match name {
            "TOKEN" => Some("t-1"),
            "ODD" => Some("${TOKEN} }"),
            _ => None,
        })
    }

    #[test]
    fn variables_are_filled_in_once() {
        assert_eq!(expanded("Bearer ${TOKEN}/${TOKEN}").unwrap(), "Bearer t-1/t-1");
        assert_eq!(expanded("${ODD}${TOKEN}").unwrap(), "${TOKEN} }t-1");
        assert_eq!(expanded("größe $5 $TOKEN $").unwrap(), "größe $5 $TOKEN $");
        assert_eq!(expanded("$${TOKEN}").unwrap(), "${TOKEN}");
    }

    #[test]
    fn a_default_stands_for_what_is_not_set() {
        assert_eq!(expanded("${TOKEN:-x}").unwrap(), "t-1");
        assert_eq!(expanded("a${PORT:-80:-1}b${NONE:-}").unwrap(), "a80:-1b");
    }

    #[test]
    fn what_is_not_set_or_no_name_is_refused() {
        assert_eq!(expanded("${NONE}").unwrap_err(), ExpansionError::Unset("NONE".to_owned()));
        for text in ["${", "${}", "${TOKEN", "${1A}", "${A B}", "${:-x}"] {
            assert!(matches!(expanded(text), Err(ExpansionError::Malformed(_))), "{text}");
        }
        assert_eq!(
            expanded("${a-b}").unwrap_err().to_string(),
            "`${a-b}` is not a variable: write `${NAME}` or `${NAME:-default}`, or `$${` for the characters themselves"
        );
    }
}
