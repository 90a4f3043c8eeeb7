//! Owns the checks of parameters that a schema's five types cannot say: whole numbers and fixed choices.

use serde_json::Number;

use crate::text;
use crate::tool::ToolError;

/// Returns `number` when it is whole and at least `least`; `2.0` is whole.
pub(super) fn whole(parameter: &str, number: &Number, least: u64) -> Result<u64, ToolError> {
    // A float that is whole prints without a fraction, so its text parses where a cast would round in silence.
    let parsed = number.as_u64().or_else(|| number.as_f64()?.to_string().parse().ok());
    parsed.filter(|n| *n >= least).ok_or_else(|| {
        ToolError::new(format!("`{parameter}` must be a whole number of at least {least}, not `{number}`"))
    })
}

/// Returns the choice called `given`.
pub(super) fn one_of<T: Copy>(
    parameter: &str,
    given: &str,
    choices: &[(&'static str, T)],
) -> Result<T, ToolError> {
    if let Some((_, choice)) = choices.iter().find(|(name, _)| *name == given) {
        return Ok(*choice);
    }
    let names = choices.iter().map(|(name, _)| *name);
    let meant = text::did_you_mean(given, names.clone());
    Err(ToolError::new(format!(
        "`{parameter}` must be {}, not `{given}`{}",
        text::ticked_or(names),
        meant.map(|name| format!(": did you mean `{name}`?")).unwrap_or_default()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn whole_numbers_are_taken_however_they_are_written() {
        assert_eq!(whole("n", &number("3"), 1), Ok(3));
        assert_eq!(whole("n", &number("3.0"), 1), Ok(3));
        assert_eq!(whole("n", &number("1e3"), 1), Ok(1000));
    }

    #[test]
    fn fractions_negatives_and_giants_are_refused() {
        for text in ["2.5", "-1", "-0.5", "1e300", "0"] {
            let error = whole("n", &number(text), 1).unwrap_err().to_string();
            assert!(error.starts_with("`n` must be a whole number of at least 1, not `"), "{error}");
        }
    }

    #[test]
    fn a_choice_that_does_not_exist_lists_those_that_do() {
        let choices = [("red", 1), ("green", 2)];
        assert_eq!(one_of("colour", "green", &choices), Ok(2));
        assert_eq!(
            one_of("colour", "Gren", &choices).unwrap_err().to_string(),
            "`colour` must be `red` or `green`, not `Gren`: did you mean `green`?"
        );
        assert_eq!(
            one_of("colour", "", &choices).unwrap_err().to_string(),
            "`colour` must be `red` or `green`, not ``"
        );
    }
}
