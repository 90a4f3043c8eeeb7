//! Owns the checks that look at a file; what they look for in its content is in [`super::content`].
//!
//! What is known decides: nothing, a folder, a pipe or a loop of links in the place of a file fails its checks. What tepa cannot look into (it
//! leads out of the workspace, it is too large, the system does not allow it) leaves them undecided, whatever they ask.

use std::io;

use super::content::{csv_in_words, json_in_words, literal, read_csv, read_json, read_yaml, search};
use super::{Baseline, Finding};
use crate::check::Check;
use crate::text;
use crate::workspace::{EntryKind, Facts, LARGEST_HASHED, Workspace, WorkspaceError};

/// How many violations of a schema, or files that were changed, are named.
pub(super) const MOST_NAMED: usize = 5;

/// Why a check came to nothing.
pub(super) enum Trouble {
    /// The file is not what could be checked, in these words: the check failed.
    Failed(String),
    /// The file could not be looked at: nothing is known.
    Unable(String),
}

impl From<WorkspaceError> for Trouble {
    fn from(error: WorkspaceError) -> Self {
        match &error {
            WorkspaceError::Missing(_) => Self::Failed("no such file".to_owned()),
            WorkspaceError::Folder(_) => Self::Failed("a folder".to_owned()),
            WorkspaceError::Special(_) => Self::Failed(error.to_string()),
            // The second is a loop of links, which nobody can follow.
            WorkspaceError::Io { source, .. }
                if matches!(source.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::Other) =>
            {
                Self::Failed(error.to_string())
            }
            _ => Self::Unable(error.to_string()),
        }
    }
}

/// Looks whether a check of a file holds, or says why that cannot be found out.
pub(super) fn look(
    check: &Check,
    path: &str,
    workspace: &Workspace,
    baseline: &Baseline,
) -> Result<Finding, String> {
    let content = || workspace.read(path, LARGEST_HASHED).map_err(Trouble::from);
    let (expected, found) = match check {
        Check::Exists(_) => ("exists".to_owned(), exists(path, workspace)),
        Check::Filled => ("exists and is not empty".to_owned(), filled(path, workspace)),
        Check::Absent(_) => ("does not exist".to_owned(), absent(path, workspace)),
        Check::MinBytes(least) => {
            (format!("at least {}", exactly(*least)), size(path, workspace, |bytes| bytes >= *least))
        }
        Check::MaxBytes(most) => {
            (format!("at most {}", exactly(*most)), size(path, workspace, |bytes| bytes <= *most))
        }
        Check::Contains(text) => {
            (format!("`{text}`"), content().and_then(|bytes| Ok(search(&bytes, &literal(text)?, true))))
        }
        Check::NotContains(text) => {
            (format!("no `{text}`"), content().and_then(|bytes| Ok(search(&bytes, &literal(text)?, false))))
        }
        Check::Matches(pattern) => (
            format!("a match of `{}`", pattern.text()),
            content().map(|bytes| search(&bytes, pattern.regex(), true)),
        ),
        Check::NotMatches(pattern) => (
            format!("no match of `{}`", pattern.text()),
            content().map(|bytes| search(&bytes, pattern.regex(), false)),
        ),
        Check::Json(check) => (json_in_words(check), content().and_then(|bytes| read_json(&bytes, check))),
        Check::Csv(check) => (csv_in_words(check), content().map(|bytes| read_csv(&bytes, check))),
        Check::Yaml(_) => ("YAML".to_owned(), content().and_then(|bytes| read_yaml(&bytes))),
        Check::Sha256(hash) => (format!("sha256 {}", hash.text()), digest(path, workspace, hash.text())),
        Check::Unchanged(_) => ("to be what it was when the run began".to_owned(), unchanged(path, baseline)),
        Check::Command(_) => return Err("a command looks at no file".to_owned()),
    };
    match found {
        Ok((passed, actual)) => Ok(Finding::of(passed, expected, actual)),
        Err(Trouble::Failed(actual)) => Ok(Finding::of(false, expected, actual)),
        Err(Trouble::Unable(reason)) => Err(reason),
    }
}

/// Whether a check holds, and what is there.
pub(super) type Found = (bool, String);

fn exists(path: &str, workspace: &Workspace) -> Result<Found, Trouble> {
    match workspace.facts(path) {
        Ok(facts) if facts.is_folder => Ok((true, "exists (a folder)".to_owned())),
        Ok(facts) if !facts.is_file => Ok((true, "exists (neither a file nor a folder)".to_owned())),
        Ok(facts) => Ok((true, format!("exists ({})", exactly(facts.bytes)))),
        Err(WorkspaceError::Missing(_)) => Ok((false, "does not exist".to_owned())),
        Err(WorkspaceError::Io { source, .. }) if source.kind() == io::ErrorKind::NotADirectory => {
            Ok((false, "does not exist".to_owned()))
        }
        Err(error) => Err(error.into()),
    }
}

fn filled(path: &str, workspace: &Workspace) -> Result<Found, Trouble> {
    let (there, actual) = exists(path, workspace)?;
    let is_empty = |facts: Facts| -> Result<bool, Trouble> {
        if !facts.is_folder {
            return Ok(facts.bytes == 0);
        }
        let folder = workspace.open_folder(path)?;
        let mut entries = folder.entries().map_err(|e| WorkspaceError::of("list", path, e))?;
        Ok(entries.next().is_none())
    };
    if there && is_empty(workspace.facts(path)?)? {
        return Ok((false, "is empty".to_owned()));
    }
    Ok((there, actual))
}

/// Whether nothing goes by that name: a link is something, wherever it leads.
fn absent(path: &str, workspace: &Workspace) -> Result<Found, Trouble> {
    match exists(path, workspace) {
        Ok((true, actual)) => Ok((false, actual)),
        _ if is_link(path, workspace) => Ok((false, "exists (a link)".to_owned())),
        found => found.map(|(there, actual)| (!there, actual)),
    }
}

/// Returns whether the last name of a path is a link.
pub(super) fn is_link(path: &str, workspace: &Workspace) -> bool {
    let Ok(relative) = workspace.relative(path) else { return false };
    let (Some(folder), Some(name)) = (relative.parent().and_then(|path| path.to_str()), relative.file_name())
    else {
        return false;
    };
    let folder = workspace.open_folder(folder);
    let entries = folder.as_ref().ok().and_then(|folder| folder.entries().ok());
    let mut entries = entries.into_iter().flatten().flatten();
    entries.any(|entry| entry.name == name && entry.kind == EntryKind::Link)
}

fn size(path: &str, workspace: &Workspace, fits: impl Fn(u64) -> bool) -> Result<Found, Trouble> {
    let facts = workspace.facts(path)?;
    if facts.is_folder {
        return Err(WorkspaceError::Folder(path.to_owned()).into());
    }
    if !facts.is_file {
        return Err(WorkspaceError::Special(path.to_owned()).into());
    }
    Ok((fits(facts.bytes), exactly(facts.bytes)))
}

fn digest(path: &str, workspace: &Workspace, wanted: &str) -> Result<Found, Trouble> {
    let digest = workspace.digest(path)?;
    let Some(hash) = digest.sha256 else {
        return Err(WorkspaceError::TooLarge { path: path.to_owned(), limit: LARGEST_HASHED }.into());
    };
    Ok((hash == wanted, format!("sha256 {hash}")))
}

fn unchanged(path: &str, baseline: &Baseline) -> Result<Found, Trouble> {
    let seals = baseline.sealed.get(path);
    let seals =
        seals.ok_or_else(|| Trouble::Unable("its state when the run began is not known".to_owned()))?;
    let broken = seals.broken();
    let named: Vec<String> = broken
        .iter()
        .take(MOST_NAMED)
        .map(|broken| format!("`{}` was {}", broken.path, broken.what))
        .collect();
    let more = broken.len().saturating_sub(MOST_NAMED);
    // One change decides; that there is none can only be said of what was seen.
    if let (true, Some((path, e))) = (named.is_empty(), seals.unseen()) {
        return Err(Trouble::Unable(format!("cannot look at `{path}`: {e}")));
    }
    Ok(match (named.is_empty(), more) {
        (true, _) => (true, "unchanged".to_owned()),
        (false, 0) => (false, named.join(", ")),
        (false, more) => (false, format!("{}, and {more} more", named.join(", "))),
    })
}

/// Returns a size that can be compared with another.
pub(super) fn exactly(bytes: u64) -> String {
    text::plural("byte", usize::try_from(bytes).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::prompt::{Expected, ExpectedOutput, Prompt};

    fn read(check: &Value) -> Check {
        serde_json::from_value(check.clone()).unwrap()
    }

    fn found(content: &[u8], check: &Value) -> (bool, String, String) {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        workspace.write("f", content).unwrap();
        let Finding { passed, expected, actual } =
            look(&read(check), "f", &workspace, &Baseline::default()).unwrap();
        (passed, expected, actual)
    }

    #[test]
    fn every_check_of_content_passes_and_fails_with_what_is_there() {
        let schema = json!({"json": {"schema": {"type": "object", "required": ["b"]}}});
        let one = json!({"json": {"pointer": "/a", "equals": 1}});
        let csv = json!({"csv": {"columns": ["a", "b"], "minRows": 1, "maxRows": 2}});
        for (check, good, bad, expected, actual) in [
            (json!({"minBytes": 2}), "ab", "a", "at least 2 bytes", "1 byte"),
            (json!({"maxBytes": 1}), "a", "ab", "at most 1 byte", "2 bytes"),
            (json!({"contains": "a.c"}), "\na.c", "abc", "`a.c`", "nothing like it in 3 bytes"),
            (json!({"notContains": "x"}), "y", "y\nx", "no `x`", "`x` in line 2"),
            (
                json!({"matches": "^b+$"}),
                "a\r\nbb\r\n",
                "ab",
                "a match of `^b+$`",
                "nothing like it in 2 bytes",
            ),
            (json!({"notMatches": "b+"}), "a", "abb", "no match of `b+`", "`bb` in line 1"),
            (schema, "{\"b\": 1}", "{}", "JSON that fits the schema", "\"b\" is a required property"),
            (one.clone(), "{\"a\": 1.0}", "{\"a\": \"1\"}", "the JSON value `1` at `/a`", "`\"1\"`"),
            (one, "{\"a\": 1}", "[]", "the JSON value `1` at `/a`", "nothing at `/a`"),
            (
                csv.clone(),
                "\u{feff}a,b\r\n1,2\r\n",
                "a,c\n1,2\n",
                "CSV with the columns `a` and `b` and 1 to 2 rows",
                "CSV with the columns `a` and `c` and 1 row",
            ),
            (
                csv,
                "a,b\n1,2\n3,4\n",
                "a,b\n",
                "CSV with the columns `a` and `b` and 1 to 2 rows",
                "CSV with the columns `a` and `b` and 0 rows",
            ),
        ] {
            assert!(found(good.as_bytes(), &check).0, "{check}");
            assert_eq!(
                found(bad.as_bytes(), &check),
                (false, expected.to_owned(), actual.to_owned()),
                "{check}"
            );
        }
        assert!(found(b"a: [1]", &json!({"yaml": true})).0);
        assert!(found(b"a: [1", &json!({"yaml": true})).2.starts_with("not YAML: "));
        assert!(found(b"a,b\n1\n", &json!({"csv": {}})).2.starts_with("not CSV: "));
        assert!(found(b"{", &json!({"json": {"schema": true}})).2.starts_with("not JSON: "));
        assert_eq!(found(b"\xff", &json!({"yaml": true})).2, "not UTF-8");
        let hash = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb";
        assert!(found(b"a", &json!({"sha256": hash.to_uppercase()})).0);
        assert!(!found(b"b", &json!({"sha256": hash})).0);
    }

    #[test]
    fn binary_content_is_searched_as_it_is() {
        assert!(found(b"\0\xff\0needle\xfe", &json!({"contains": "needle"})).0);
        assert!(found(b"\0\xff", &json!({"notMatches": "needle"})).0);
    }

    #[test]
    fn what_is_known_decides_and_what_cannot_be_looked_into_decides_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        std::fs::create_dir(dir.path().join("folder")).unwrap();
        std::fs::File::create(dir.path().join("sparse")).unwrap().set_len(1 << 40).unwrap();
        let look = |check: Value, path: &str| look(&read(&check), path, &workspace, &Baseline::default());
        let actual = |check: Value, path: &str| look(check, path).unwrap().actual;
        assert_eq!(actual(json!({"contains": "a"}), "none"), "no such file");
        assert_eq!(actual(json!({"contains": "a"}), "folder"), "a folder");
        assert_eq!(actual(json!({"minBytes": 1}), "folder"), "a folder");
        assert_eq!(actual(json!({"minBytes": 1}), "sparse"), "1099511627776 bytes");
        assert_eq!(actual(json!({"exists": true}), "sparse/below"), "does not exist");
        assert_eq!(actual(json!({"exists": true}), "folder"), "exists (a folder)");
        assert!(look(json!({"absent": true}), "none").unwrap().passed);
        assert!(!look(json!({"absent": true}), "sparse").unwrap().passed);
        for check in [
            json!({"contains": "a"}),
            json!({"notContains": "a"}),
            json!({"json": {"schema": true}}),
            json!({"sha256": "a".repeat(64)}),
        ] {
            let error = look(check.clone(), "sparse").unwrap_err();
            assert_eq!(error, "`sparse` is larger than 268.4 MB", "{check}");
        }
        for check in [
            json!({"exists": true}),
            json!({"absent": true}),
            json!({"minBytes": 1}),
            json!({"maxBytes": 1}),
            json!({"contains": "a"}),
            json!({"notContains": "a"}),
            json!({"matches": "a"}),
            json!({"notMatches": "a"}),
            json!({"json": {"schema": true}}),
            json!({"csv": {}}),
            json!({"yaml": true}),
            json!({"sha256": "a".repeat(64)}),
        ] {
            let error = look(check.clone(), &"n".repeat(300)).unwrap_err();
            assert!(error.starts_with("cannot look at `nnn"), "{check}: {error}");
        }
        let error = look(json!({"unchanged": true}), "none").unwrap_err();
        assert_eq!(error, "its state when the run began is not known");
    }

    #[test]
    fn unchanged_means_everything_in_a_folder_and_what_a_link_leads_to() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        workspace.write("data/[a]/x", b"x").unwrap();
        workspace.write("one", b"1").unwrap();
        let expected = |path: &str| Expected {
            path: Some(path.to_owned()),
            checks: vec![read(&json!({"unchanged": true}))],
            ..Expected::default()
        };
        let list = ["data/[a]", "./one", "none"].map(expected).to_vec();
        let prompt = Prompt {
            goal: String::new(),
            context: serde_json::Map::new(),
            expected_output: ExpectedOutput::List(list),
        };
        let baseline = Baseline::take(&prompt, &workspace).unwrap();
        let actual = |path: &str| {
            look(&read(&json!({"unchanged": true})), path, &workspace, &baseline).unwrap().actual
        };
        assert_eq!(["data/[a]", "./one", "none"].map(actual), ["unchanged"; 3]);
        workspace.write("data/[a]/x", b"y").unwrap();
        workspace.write("data/[a]/z", b"z").unwrap();
        workspace.write("one", b"2").unwrap();
        workspace.write("none", b"").unwrap();
        assert_eq!(actual("data/[a]"), "`data/[a]/x` was modified, `data/[a]/z` was created");
        assert_eq!(actual("./one"), "`one` was modified");
        assert_eq!(actual("none"), "`none` was created");
    }
}
