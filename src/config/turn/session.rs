//! Owns what the key of a session may be: it is shown in lists, and typed again.

/// How many characters a key may have.
const LONGEST: usize = 200;

/// Why a text is no key of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SessionKeyError {
    /// There is nothing in it.
    #[error("the key of a session must not be blank")]
    Blank,
    /// It holds what no one can see or type.
    #[error("the key of a session must not hold control characters, such as the end of a line")]
    Control,
    /// Nobody would type it again.
    #[error("the key of a session has {0} characters, and at most {LONGEST} are allowed")]
    Long(usize),
}

/// Returns the text as the key of a session.
///
/// # Errors
/// It is blank, too long, or holds control characters.
pub fn session_key(text: &str) -> Result<String, SessionKeyError> {
    match text.chars().count() {
        _ if text.trim().is_empty() => Err(SessionKeyError::Blank),
        _ if text.chars().any(char::is_control) => Err(SessionKeyError::Control),
        long if long > LONGEST => Err(SessionKeyError::Long(long)),
        _ => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_can_be_seen_and_typed() {
        for key in ["class-5b", "Klasse 5b / ü", &"ü".repeat(LONGEST)] {
            assert_eq!(session_key(key).as_deref(), Ok(key));
        }
        for (key, error) in [
            ("", SessionKeyError::Blank),
            (" \t\n", SessionKeyError::Blank),
            ("a\nb", SessionKeyError::Control),
            ("a\u{1b}[2J", SessionKeyError::Control),
            (&"ü".repeat(LONGEST + 1), SessionKeyError::Long(LONGEST + 1)),
        ] {
            assert_eq!(session_key(key), Err(error));
        }
    }
}
