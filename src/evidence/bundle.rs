//! Owns the evidence for one expected output: what a judge is shown of it, and whether a quote is really in it.
//!
//! The words of a step are no evidence for a file. Only an output without a path has nothing else.

use std::time::Duration;

use similar::TextDiff;

use super::{Baseline, file, kind};
use crate::outcome::{CheckResult, Evidence, Part};
use crate::prompt::{Expected, Prompt};
use crate::text;
use crate::workspace::{EntryKind, LARGEST_HASHED, Workspace, WorkspaceError};

/// The largest file that is shown whole, in bytes.
const WHOLE: u64 = 8 * 1024;
/// How much of the beginning of a larger one is shown.
const HEAD: u64 = 6 * 1024;
/// How much of its end.
const TAIL: u64 = 2 * 1024;
/// How much of its difference to the start of the run.
const DIFFERENCE: usize = 8 * 1024;
/// The largest file that is compared with the start of the run, or searched whole for a quote.
pub(super) const COMPARED: u64 = 1 << 20;
/// How long a difference may be worked on before a coarser one has to do.
const COMPARING: Duration = Duration::from_secs(2);
/// How many names of a folder are shown.
const MOST_NAMES: usize = 200;
/// The shortest quote that says anything, in characters.
const SHORTEST_QUOTE: usize = 3;

/// The evidence for one expected output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// What is shown.
    pub shown: Evidence,
    /// Where a quote may be from, of the file.
    quotable: Vec<String>,
    /// Where else: what commands printed; without a file, what steps returned. A judge is shown it in other places.
    said: Vec<String>,
}

/// What became of the search for a quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quote {
    /// It is there.
    Found,
    /// It is not there.
    Missing,
    /// It is so short that it would be found anywhere.
    TooShort,
}

impl Bundle {
    /// Returns the evidence for every expected output, in the order of the prompt.
    pub fn gather(
        prompt: &Prompt,
        workspace: &Workspace,
        baseline: &Baseline,
        checks: &[CheckResult],
        words_of_steps: &[String],
    ) -> Vec<Self> {
        let expected = prompt.expected().iter().enumerate();
        expected
            .map(|(at, expected)| {
                let mut bundle = Self::of(expected, workspace, baseline, words_of_steps);
                bundle.shown.id = Self::id(at);
                let own = checks.iter().filter(|check| check.check == CheckResult::COMMAND);
                let own = own.filter(|check| check.evidence.as_ref() == Some(&bundle.shown.id));
                // What tepa says itself, the exit code here, can be said of files that are anything but good.
                let printed = own.filter_map(|check| check.actual.split_once(": "));
                bundle.said.extend(printed.map(|(_, printed)| printed.to_owned()));
                bundle
            })
            .collect()
    }

    /// Returns the name of the evidence for the expected output at a position.
    pub(super) fn id(at: usize) -> String {
        format!("E{}", at + 1)
    }

    fn of(
        expected: &Expected,
        workspace: &Workspace,
        baseline: &Baseline,
        words_of_steps: &[String],
    ) -> Self {
        let Some(path) = &expected.path else {
            let summary = "names no file: what the steps returned is all that there is".to_owned();
            return Self { said: words_of_steps.to_vec(), ..Self::saying(None, summary) };
        };
        look(path, workspace, baseline).unwrap_or_else(|error| {
            let summary = match error {
                WorkspaceError::Missing(_) => "does not exist".to_owned(),
                error => format!("cannot be used: {error}"),
            };
            Self::saying(Some(path), summary)
        })
    }

    fn saying(path: Option<&String>, summary: String) -> Self {
        let shown =
            Evidence { id: String::new(), path: path.cloned(), summary, shape: None, parts: Vec::new() };
        Self { shown, quotable: Vec::new(), said: Vec::new() }
    }

    /// Looks for `quote` in the evidence, however blanks and lines are set. What tepa says of it proves nothing.
    pub fn find(&self, quote: &str) -> Quote {
        let wanted = normal(quote);
        let is_long = wanted.chars().count() >= SHORTEST_QUOTE;
        let mut texts = self.quotable.iter().chain(&self.said).map(|text| normal(text));
        // An answer may be a word of one letter, quoted whole.
        let found = texts
            .any(|text| text == wanted && !wanted.is_empty() || is_long && text.contains(wanted.as_str()));
        match (found, is_long) {
            (true, _) => Quote::Found,
            (false, true) => Quote::Missing,
            (false, false) => Quote::TooShort,
        }
    }

    /// Returns the evidence as it is recorded: with all that may be quoted from it.
    pub fn recorded(&self) -> Evidence {
        let mut evidence = self.shown.clone();
        if !self.said.is_empty() {
            evidence.parts.push(Part::Note("What commands printed and steps returned:".to_owned()));
            evidence.parts.extend(self.said.iter().cloned().map(Part::Material));
        }
        evidence
    }
}

/// Returns text with one blank wherever there is white space.
fn normal(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Says what changed on disk since `before`, as failed checks: what was judged must be what is there.
pub fn changes(before: &[Bundle], now: Vec<Bundle>) -> Vec<CheckResult> {
    let pairs = before.iter().zip(now).map(|(before, now)| (&before.shown, now.shown));
    let changed = pairs.filter(|(before, now)| before.summary != now.summary || before.parts != now.parts);
    changed
        .map(|(before, now)| CheckResult {
            check: "unchanged".to_owned(),
            path: now.path,
            evidence: Some(now.id),
            passed: false,
            expected: format!("to stay as it was judged ({})", before.summary),
            actual: now.summary,
        })
        .collect()
}

fn look(path: &String, workspace: &Workspace, baseline: &Baseline) -> Result<Bundle, WorkspaceError> {
    if workspace.facts(path)?.is_folder {
        return list(path, workspace);
    }
    let digest = workspace.digest(path)?;
    let (head, tail) = workspace.ends(path, HEAD, TAIL)?;
    let hash = digest.sha256.map_or("too large to hash".to_owned(), |hash| format!("sha256 {hash}"));
    let mime = kind::mime(path, &head);
    let by = if file::is_link(path, workspace) { ", by a link" } else { "" };
    let summary = format!("exists{by}: {} bytes, {mime}, {hash}", digest.bytes);
    let mut bundle = Bundle::saying(Some(path), summary);
    if digest.bytes <= LARGEST_HASHED && kind::has_shape(path) {
        bundle.shown.shape = kind::shape(path, &workspace.read(path, LARGEST_HASHED)?);
    }
    if digest.bytes == 0 {
        bundle.shown.parts.push(Part::Note("(the file is empty)".to_owned()));
        return Ok(bundle);
    }
    if head.contains(&0) {
        bundle.shown.parts.push(Part::Note("(binary content)".to_owned()));
        // There is nothing else to go by.
        bundle.quotable.extend([mime.to_string(), hash]);
        return Ok(bundle);
    }
    let whole = (digest.bytes <= COMPARED).then(|| workspace.read(path, COMPARED)).transpose()?;
    match whole {
        Some(whole) => bundle.quotable.push(String::from_utf8_lossy(&whole).into_owned()),
        None => bundle.quotable.extend([&head, &tail].map(|end| String::from_utf8_lossy(end).into_owned())),
    }
    if digest.bytes <= WHOLE {
        let text = bundle.quotable[0].trim_end_matches('\n').to_owned();
        bundle.shown.parts.push(Part::Material(text));
        return Ok(bundle);
    }
    let left_out = digest.bytes.saturating_sub((head.len() + tail.len()) as u64);
    bundle.shown.parts = vec![
        Part::Material(String::from_utf8_lossy(&head).into_owned()),
        Part::Note(format!("({} left out)", text::bytes(left_out))),
        Part::Material(String::from_utf8_lossy(&tail).trim_end_matches('\n').to_owned()),
    ];
    if let (Some(before), true) = (baseline.before.get(path), digest.bytes <= COMPARED) {
        bundle.shown.parts.extend(difference(before, &bundle.quotable[0]));
    }
    Ok(bundle)
}

/// Returns what is in a folder.
fn list(path: &String, workspace: &Workspace) -> Result<Bundle, WorkspaceError> {
    let unreadable = |e| WorkspaceError::of("list", path, e);
    let folder = workspace.open_folder(path)?;
    let mut names = Vec::new();
    for entry in folder.entries().map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.name.to_string_lossy();
        names.push(if entry.kind == EntryKind::Folder { format!("{name}/") } else { name.into_owned() });
    }
    names.sort_unstable();
    let count = names.len();
    let summary = format!("exists: a folder with {}", text::plural("item", count));
    let mut bundle = Bundle::saying(Some(path), summary);
    names.truncate(MOST_NAMES);
    if !names.is_empty() {
        bundle.shown.parts.push(Part::Material(names.join("\n")));
        bundle.quotable.extend(names);
    }
    if count > MOST_NAMES {
        bundle.shown.parts.push(Part::Note(format!("({} left out)", count - MOST_NAMES)));
    }
    Ok(bundle)
}

/// Returns what is different from the start of the run.
fn difference(before: &[u8], now: &str) -> Vec<Part> {
    let before = String::from_utf8_lossy(before);
    if before == now {
        return vec![Part::Note("It is what it was when the run began.".to_owned())];
    }
    let diff = TextDiff::configure().timeout(COMPARING).diff_lines(before.as_ref(), now);
    let lines = diff.unified_diff().context_radius(3).to_string();
    let shown = text::head_tail(&lines, DIFFERENCE, 0).trim_end_matches('\n').to_owned();
    vec![Part::Note("Changes since the run began:".to_owned()), Part::Material(shown)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn prompt(paths: &[&str]) -> Prompt {
        let list: Vec<_> = paths.iter().map(|path| json!({"path": path, "description": "d"})).collect();
        serde_json::from_value(json!({"goal": "g", "expectedOutput": list})).unwrap()
    }

    fn bundles(write: &[(&str, &[u8])], paths: &[&str]) -> Vec<Bundle> {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        for (path, content) in write {
            workspace.write(path, content).unwrap();
        }
        Bundle::gather(&prompt(paths), &workspace, &Baseline::default(), &[], &[])
    }

    #[test]
    fn a_small_file_is_shown_whole() {
        let bundle = bundles(&[("a.md", b"one\ntwo\n")], &["a.md"]).remove(0).shown;
        assert_eq!(bundle.parts, [Part::Material("one\ntwo".into())]);
        assert!(bundle.summary.starts_with("exists: 8 bytes, text/markdown, sha256 "), "{}", bundle.summary);
    }

    #[test]
    fn a_large_file_is_shown_as_its_ends_and_what_changed() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        let lines = |middle: &str| format!("{}{middle}\n{}", "a\n".repeat(4000), "b\n".repeat(4000));
        workspace.write("big", lines("old").as_bytes()).unwrap();
        let baseline = Baseline::take(&prompt(&["big"]), &workspace).unwrap();
        let gather = || Bundle::gather(&prompt(&["big"]), &workspace, &baseline, &[], &[]).remove(0);
        assert_eq!(gather().shown.parts[3], Part::Note("It is what it was when the run began.".into()));
        workspace.write("big", lines("new").as_bytes()).unwrap();
        let bundle = gather();
        let Part::Material(changed) = &bundle.shown.parts[4] else { panic!("{:?}", bundle.shown) };
        assert!(changed.contains("\n-old\n+new\n"), "{changed}");
        assert!(bundle.find("a new b") == Quote::Found && bundle.find("old") == Quote::Missing);
    }

    #[test]
    fn what_is_missing_outside_binary_or_empty_is_said() {
        let found = bundles(&[("bin", b"\0\x01"), ("empty", b"")], &["no", "../out", "bin", "empty", "."]);
        let notes = |at: usize| found[at].shown.parts.clone();
        assert_eq!(found[0].shown.summary, "does not exist");
        assert_eq!(found[1].shown.summary, "cannot be used: `../out` is outside the workspace");
        assert_eq!(notes(2), [Part::Note("(binary content)".into())]);
        assert_eq!(notes(3), [Part::Note("(the file is empty)".into())]);
        assert_eq!(found[4].shown.summary, "exists: a folder with 2 items");
        assert_eq!(notes(4), [Part::Material("bin\nempty".into())]);
        assert_eq!(found[4].shown.id, "E5");
        // Of what is not there or empty nothing can be quoted; of what cannot be read, what it is.
        assert_eq!(found[0].find("does not exist"), Quote::Missing);
        assert_eq!(found[3].find("0 bytes"), Quote::Missing);
        assert_eq!(found[2].find("exists"), Quote::Missing);
        assert_eq!(found[2].find("application/octet-stream"), Quote::Found);
        assert_eq!(found[4].find("empty"), Quote::Found);
    }

    #[test]
    fn a_quote_is_found_however_it_is_set_and_only_where_it_is() {
        let bundle = bundles(&[("a.csv", b"a,b\n| x |  y |,1\nlast line,2\n")], &["a.csv"]).remove(0);
        for quote in ["| x | y |", "| x | y |,1\nlast   line", "a,b"] {
            assert_eq!(bundle.find(quote), Quote::Found, "{quote}");
        }
        for quote in ["a,c", "LAST line", "text/csv", "CSV with", "| |"] {
            assert_eq!(bundle.find(quote), Quote::Missing, "{quote}");
        }
        for quote in ["", "a,"] {
            assert_eq!(bundle.find(quote), Quote::TooShort, "{quote}");
        }
        let whole = bundles(&[("a.txt", b"42\n")], &["a.txt"]).remove(0);
        assert_eq!((whole.find("42"), whole.find("4")), (Quote::Found, Quote::TooShort));
    }
}
