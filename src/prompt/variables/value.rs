//! Owns the values of variables: what was given for each and where, read by its type.
//!
//! It refuses a value that is not of the type instead of bending it, and lists all that are missing at once.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use serde_json::{Number, Value};

use super::{Kind, Variables};
use crate::text;

/// How variables of the environment that give values begin.
pub const ENVIRONMENT_PREFIX: &str = "TEPA_VAR_";

/// How much of a value is shown in a sentence, in characters.
const SHOWN: usize = 40;

/// A value as it was given: text, and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenText {
    /// The value.
    pub text: String,
    /// Where it came from, as a person would look for it, such as `` `--var rows` ``.
    pub origin: String,
}

/// What was given for variables, whoever declares them.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// By name, from the command line.
    pub flags: IndexMap<String, GivenText>,
    /// By the name of the variable of the environment, [`ENVIRONMENT_PREFIX`] included.
    pub environment: BTreeMap<String, String>,
    /// The names of variables of the environment whose values are no text.
    pub unreadable: BTreeSet<String>,
}

impl Given {
    fn find(&self, name: &str) -> Option<GivenText> {
        let found = || {
            let names = environment_names(name);
            let (variable, text) = names.iter().find_map(|name| self.environment.get_key_value(name))?;
            Some(GivenText { text: text.clone(), origin: format!("`{variable}`") })
        };
        self.flags.get(name).cloned().or_else(found)
    }

    /// Returns the variable of the environment that was to give a value and holds no text.
    fn unreadable(&self, name: &str) -> Option<String> {
        let given = environment_names(name)
            .into_iter()
            .find(|variable| self.unreadable.contains(variable) || self.environment.contains_key(variable));
        given.filter(|variable| self.unreadable.contains(variable) && !self.flags.contains_key(name))
    }

    /// Returns the names on the command line that nobody declares, each with the one that was probably meant.
    pub fn unknown_flags<'d>(&self, declared: &[&'d str]) -> Vec<(String, Option<&'d str>)> {
        let unknown = self.flags.keys().filter(|name| !declared.contains(&name.as_str()));
        unknown.map(|name| (name.clone(), text::did_you_mean(name, declared.iter().copied()))).collect()
    }

    /// Returns the variables of the environment that nobody declares, each with the one that was probably meant.
    pub fn unknown_in_environment(&self, declared: &[&str]) -> Vec<(String, Option<String>)> {
        let known: Vec<String> = declared.iter().flat_map(|name| environment_names(name)).collect();
        let unknown = self.environment.keys().filter(|variable| !known.contains(variable));
        let meant = |variable: &String| {
            // The form that every shell can set.
            let candidates = known.iter().skip(1).step_by(2);
            text::did_you_mean(variable, candidates.map(String::as_str)).map(str::to_owned)
        };
        unknown.map(|variable| (variable.clone(), meant(variable))).collect()
    }
}

/// Returns under which names the environment may hold a variable, the one that wins first.
fn environment_names(name: &str) -> [String; 2] {
    let upper = name.to_ascii_uppercase().replace('-', "_");
    [format!("{ENVIRONMENT_PREFIX}{name}"), format!("{ENVIRONMENT_PREFIX}{upper}")]
}

/// Why a task has no values to be filled with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// The value is of another type.
    #[error(
        "`{}` from {origin} is no value for the variable `{name}`: expected {expected}",
        text::truncate(found, SHOWN)
    )]
    NotOfType {
        /// The variable.
        name: String,
        /// What it takes.
        expected: &'static str,
        /// What was given.
        found: String,
        /// Where.
        origin: String,
    },
    /// The value is no text at all.
    #[error("`{origin}` is not UTF-8 text, and the variable `{name}` takes its value from there")]
    NotText {
        /// The variable.
        name: String,
        /// The variable of the environment.
        origin: String,
    },
    /// Nothing was given for a variable that has to have a value.
    #[error("the variable `{name}` has no value{}", described(description.as_deref()))]
    Missing {
        /// The variable.
        name: String,
        /// What it is for.
        description: Option<String>,
    },
}

fn described(description: Option<&str>) -> String {
    description.map_or_else(String::new, |words| format!(": {words}"))
}

/// What placeholders are filled with.
#[derive(Debug, Clone, Default)]
pub struct Values(IndexMap<String, Filling>);

/// What one placeholder is filled with.
#[derive(Debug, Clone)]
pub(super) struct Filling {
    pub(super) value: Value,
    /// Whether nobody gave the value: it stands in for one, so that the rest of the file can be looked at.
    pub(super) stands_in: bool,
}

impl Values {
    pub(super) fn get(&self, name: &str) -> Option<&Filling> {
        self.0.get(name)
    }
}

impl Variables {
    /// Returns a value for each variable, and why the ones that stand in for another are needed.
    pub fn resolve(&self, given: &Given) -> (Values, Vec<ValueError>) {
        let mut errors = Vec::new();
        let mut values = IndexMap::new();
        for variable in self.iter() {
            let name = variable.name.clone();
            let (value, error) = match (given.find(&name), &variable.default) {
                _ if let Some(origin) = given.unreadable(&name) => {
                    (None, Some(ValueError::NotText { name: name.clone(), origin }))
                }
                (Some(given), _) => {
                    let value = variable.kind.read(&given.text);
                    let expected = variable.kind.expected();
                    let (name, found, origin) = (name.clone(), given.text, given.origin);
                    let error =
                        value.is_none().then_some(ValueError::NotOfType { name, expected, found, origin });
                    (value, error)
                }
                (None, Some(default)) => (Some(default.clone()), None),
                (None, None) if !variable.required => (Some(variable.kind.nothing(&name)), None),
                (None, None) => {
                    let description = variable.description.clone();
                    (None, Some(ValueError::Missing { name: name.clone(), description }))
                }
            };
            let stands_in = value.is_none();
            let value = value.unwrap_or_else(|| variable.kind.stand_in(&name));
            values.insert(name, Filling { value, stands_in });
            errors.extend(error);
        }
        (Values(values), errors)
    }
}

impl Kind {
    pub(super) fn read(self, text: &str) -> Option<Value> {
        let whole =
            || text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from));
        match self {
            Self::String => Some(Value::from(text)),
            Self::Integer => whole().ok().map(Value::Number),
            Self::Number => {
                let number = || Number::from_f64(text.parse().ok()?);
                whole().ok().or_else(number).map(Value::Number)
            }
            Self::Boolean => text.parse::<bool>().ok().map(Value::Bool),
        }
    }

    /// Returns what is filled in where nothing was given and nothing has to be.
    fn nothing(self, name: &str) -> Value {
        if self == Self::String { Value::from("") } else { self.stand_in(name) }
    }

    /// Returns a value that stands in for one that is not known. Text that nobody knows yet reads best as its own placeholder.
    fn stand_in(self, name: &str) -> Value {
        match self {
            Self::String => Value::from(format!("{{{{{name}}}}}")),
            Self::Integer | Self::Number => Value::from(0),
            Self::Boolean => Value::from(true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Document, Format, SourceFile};

    fn variables(text: &str) -> Variables {
        let file = SourceFile::from_text("a.yaml", format!("variables:\n{text}"), Format::Yaml);
        Variables::of(&Document::parse(file).unwrap())
    }

    fn given(flags: &[(&str, &str)], environment: &[(&str, &str)]) -> Given {
        let flag = |(name, text): &(&str, &str)| {
            ((*name).to_owned(), GivenText { text: (*text).to_owned(), origin: format!("`--var {name}`") })
        };
        let variable = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        Given {
            flags: flags.iter().map(flag).collect(),
            environment: environment.iter().map(variable).collect(),
            ..Given::default()
        }
    }

    #[test]
    fn the_command_line_wins_over_the_environment_and_that_over_the_default() {
        let variables = variables("  my-var: {default: d}\n  other: {default: d}\n  third: {default: d}\n");
        let environment =
            [("TEPA_VAR_MY_VAR", "e"), ("TEPA_VAR_OTHER", "upper"), ("TEPA_VAR_other", "exact")];
        let (values, errors) = variables.resolve(&given(&[("my-var", "f")], &environment));
        let value = |name: &str| values.get(name).unwrap().value.clone();
        assert_eq!(
            (value("my-var"), value("other"), value("third")),
            ("f".into(), "exact".into(), "d".into())
        );
        assert_eq!(errors, []);
    }

    #[test]
    fn a_value_is_read_by_its_type_or_refused_with_where_it_came_from() {
        let variables =
            variables("  i: {type: integer}\n  n: {type: number}\n  b: {type: boolean}\n  s: {}\n");
        let all = given(&[("i", "-5"), ("n", "0.5"), ("b", "true"), ("s", "5")], &[]);
        let (values, errors) = variables.resolve(&all);
        let shown: Vec<String> =
            ["i", "n", "b", "s"].map(|name| values.get(name).unwrap().value.to_string()).into();
        assert_eq!((shown, errors), (["-5", "0.5", "true", "\"5\""].map(str::to_owned).to_vec(), vec![]));

        let wrong = given(&[("i", "5.5"), ("n", "NaN"), ("b", "yes")], &[("TEPA_VAR_S", "")]);
        let (values, errors) = variables.resolve(&wrong);
        let said: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "`5.5` from `--var i` is no value for the variable `i`: expected a whole number",
                "`NaN` from `--var n` is no value for the variable `n`: expected a number",
                "`yes` from `--var b` is no value for the variable `b`: expected `true` or `false`",
            ]
        );
        assert!(values.get("i").unwrap().stands_in);
        assert!(!values.get("s").unwrap().stands_in);
    }

    #[test]
    fn what_is_missing_is_listed_whole_and_what_is_optional_is_the_empty_text() {
        let variables = variables("  a: {description: who it is for}\n  b:\n  c: {required: false}\n");
        let (values, errors) = variables.resolve(&Given::default());
        let said: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(said, ["the variable `a` has no value: who it is for", "the variable `b` has no value"]);
        assert_eq!(values.get("c").unwrap().value, "");
    }

    #[test]
    fn what_nobody_declares_is_told_with_what_was_meant() {
        let given = given(&[("topik", "x")], &[("TEPA_VAR_TOPIC", "x"), ("TEPA_VAR_TOPICS", "x")]);
        assert_eq!(given.unknown_flags(&["topic"]), [("topik".to_owned(), Some("topic"))]);
        assert_eq!(
            given.unknown_in_environment(&["topic"]),
            [("TEPA_VAR_TOPICS".to_owned(), Some("TEPA_VAR_TOPIC".to_owned()))]
        );
    }
}
