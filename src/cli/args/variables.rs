//! Owns the flag that gives a task its values.

use std::path::PathBuf;

use clap::Args;

/// What is filled into the placeholders of a task.
#[derive(Debug, Args)]
pub(in crate::cli) struct VariableArguments {
    /// A value for `{{NAME}}` in the task, or @FILE for what is in a file, or @@VALUE for one that begins with @ (again for more)
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = Assignment::parse, help_heading = "Task")]
    pub(in crate::cli) variables: Vec<Assignment>,
}

/// A variable and what it is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct Assignment {
    pub(in crate::cli) name: String,
    pub(in crate::cli) source: Source,
}

/// Where a value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) enum Source {
    /// On the command line.
    Here(String),
    /// In a file.
    File(PathBuf),
}

impl Assignment {
    fn parse(text: &str) -> Result<Self, String> {
        let form =
            "it needs a name and a value: NAME=VALUE, NAME=@FILE, or NAME=@@VALUE for one that begins with @";
        let (name, value) = text.split_once('=').ok_or(form)?;
        if name.is_empty() {
            return Err(form.to_owned());
        }
        let source = match value.strip_prefix('@') {
            Some("") => return Err("it names no file behind the @".to_owned()),
            Some(rest) if rest.starts_with('@') => Source::Here(rest.to_owned()),
            Some(path) => Source::File(path.into()),
            None => Source::Here(value.to_owned()),
        };
        Ok(Self { name: name.to_owned(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_text_or_what_is_in_a_file() {
        let read =
            |text: &str| Assignment::parse(text).map(|assignment| (assignment.name, assignment.source));
        let here = |text: &str| Source::Here(text.to_owned());
        assert_eq!(read("a=b=c"), Ok(("a".to_owned(), here("b=c"))));
        assert_eq!(read("a="), Ok(("a".to_owned(), here(""))));
        assert_eq!(read("a=@b.txt"), Ok(("a".to_owned(), Source::File("b.txt".into()))));
        assert_eq!(read("a=@@b"), Ok(("a".to_owned(), here("@b"))));
        for wrong in ["a", "=b", "a=@"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
