//! Owns the scripts that the commands of checks and hooks name: taken when the run begins, so that the run cannot rewrite those who watch it.
//!
//! They are kept in memory and put on disk only to be run. A file that is an expected output is what a command judges, not what it judges
//! by, and stays where it is.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use tempfile::TempDir;

use crate::check::CommandLine;
use crate::prompt::Prompt;
use crate::workspace::{LARGEST_HASHED, Workspace, WorkspaceError};

/// What cannot be part of a word in a line for the shell, as far as names of files are concerned.
const BETWEEN_WORDS: &[char] =
    &[' ', '\t', '\n', '\r', ';', '|', '&', '<', '>', '(', ')', '=', '`', '$', '"', '\'', '{', '}'];

/// Words after which a command comes.
const BEFORE_COMMANDS: [&str; 11] =
    ["if", "then", "elif", "else", "while", "until", "do", "!", "exec", "time", "env"];

/// Programs whose first argument is a file that they run.
const INTERPRETERS: [&str; 15] = [
    "sh", "bash", "dash", "zsh", "ksh", "fish", "python", "python3", "perl", "ruby", "node", "deno", "php",
    "source", ".",
];

/// The files that commands name, as they were.
#[derive(Debug, Default)]
pub struct Scripts {
    /// The content, by the word that a command uses.
    files: BTreeMap<String, Script>,
    /// What leads out of the workspace, such as an interpreter of a virtual environment: not copied, but the run must not lead it elsewhere.
    ways_out: Vec<PathBuf>,
}

#[derive(Debug)]
struct Script {
    content: Vec<u8>,
    /// Where it is, and where links lead from there; absolute.
    places: Vec<PathBuf>,
    /// Where its copy goes, relative: what lies beside the workspace has a folder of its own.
    copy: PathBuf,
}

impl Scripts {
    /// Takes every file of the workspace that `line` names and that is none of `outputs`; one that is there already stays what it was.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn take(
        &mut self,
        line: &CommandLine,
        outputs: &Outputs,
        workspace: &Workspace,
    ) -> Result<(), WorkspaceError> {
        for word in words(line) {
            let Some(relative) = outputs.leave(word, workspace) else { continue };
            match workspace.facts(word) {
                Ok(facts) if facts.is_file && !self.files.contains_key(word) => {
                    self.files.insert(word.to_owned(), Script::take(word, workspace)?);
                }
                Err(WorkspaceError::Outside(_) | WorkspaceError::Hidden(_) | WorkspaceError::Kept(_)) => {
                    self.ways_out.push(workspace.root().join(relative));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns where the files are.
    pub fn places(&self) -> impl Iterator<Item = &Path> {
        let files = self.files.values().flat_map(|script| &script.places);
        files.chain(&self.ways_out).map(PathBuf::as_path)
    }

    /// Leaves out what is in none of these places: it was not there when the run began.
    pub fn retain(&mut self, is_known: impl Fn(&Path) -> bool) {
        self.files.retain(|_, script| script.places.iter().all(|place| is_known(place)));
        self.ways_out.retain(|place| is_known(place));
    }

    /// Puts the files into a folder of their own in `parent`, or says why that cannot be done.
    pub fn unpack(&self, parent: &Path) -> Result<Copies, String> {
        if self.files.is_empty() {
            return Ok(Copies::default());
        }
        let fail = |e: std::io::Error| format!("its scripts cannot be copied to `{}`: {e}", parent.display());
        let folder = tempfile::Builder::new().prefix("tepa-scripts-").tempdir_in(parent).map_err(fail)?;
        let root = folder.path().canonicalize().map_err(fail)?;
        // The names of the copies become part of lines for a shell.
        if root.to_str().is_none_or(|path| path.contains(BETWEEN_WORDS)) {
            return Err(format!(
                "its scripts cannot be copied to `{}`: the name has blanks or quotes",
                root.display()
            ));
        }
        let mut paths = BTreeMap::new();
        for (word, script) in &self.files {
            let copy = root.join(&script.copy);
            // `./x` and `x` are one file, which nobody may write a second time.
            if !copy.exists() {
                fs::create_dir_all(copy.parent().unwrap_or(&root)).map_err(fail)?;
                fs::write(&copy, &script.content).map_err(fail)?;
                read_only(&copy).map_err(fail)?;
            }
            paths.insert(word.clone(), copy.to_string_lossy().into_owned());
        }
        Ok(Copies { paths, root: Some(format!("{}/", root.display())), _folder: Some(folder) })
    }
}

impl Script {
    fn take(word: &str, workspace: &Workspace) -> Result<Self, WorkspaceError> {
        let root = workspace.root();
        let relative = workspace.relative(word)?;
        let names = relative.components().filter(|part| matches!(part, Component::Normal(_)));
        let copy =
            Path::new(if relative.is_absolute() { "beside" } else { "" }).join(names.collect::<PathBuf>());
        let mut places = vec![root.join(&relative), root.join(workspace.resolved(word)?)];
        places.dedup();
        Ok(Self { content: workspace.read(word, LARGEST_HASHED)?, places, copy })
    }
}

/// The files that a run is to make: commands look at them, and do not consist of them.
#[derive(Debug)]
pub struct Outputs {
    paths: Vec<PathBuf>,
    /// A word that is none, whatever a prompt says.
    except: Option<String>,
}

impl Outputs {
    /// Returns the expected outputs of `prompt`.
    pub fn of(prompt: &Prompt, workspace: &Workspace) -> Self {
        let paths = prompt.expected_paths().filter_map(|(path, _)| workspace.relative(path).ok()).collect();
        Self { paths, except: None }
    }

    /// Returns the outputs without `word`: what somebody else than the author of the prompt runs is no output.
    #[must_use]
    pub fn except(&self, word: Option<&str>) -> Self {
        Self { paths: self.paths.clone(), except: word.map(str::to_owned) }
    }

    /// Returns whether a path is one of the outputs.
    pub fn hold(&self, path: &str, workspace: &Workspace) -> bool {
        workspace
            .relative(path)
            .is_ok_and(|relative| self.paths.iter().any(|path| relative.starts_with(path)))
    }

    /// Returns where in the workspace `word` is, unless it is in none or an output.
    fn leave(&self, word: &str, workspace: &Workspace) -> Option<PathBuf> {
        let relative = workspace.relative(word).ok()?;
        let is_output = self.paths.iter().any(|path| relative.starts_with(path));
        (!is_output || self.except.as_deref() == Some(word)).then_some(relative)
    }
}

/// Scripts on disk, for as long as this lives.
#[derive(Debug, Default)]
pub struct Copies {
    /// The copy, by the word that a command uses.
    paths: BTreeMap<String, String>,
    /// The folder that they are in, with a slash behind it.
    root: Option<String>,
    _folder: Option<TempDir>,
}

impl Copies {
    /// Returns whether there is a copy of what a command calls `word`.
    pub fn stand_in_for(&self, word: &str) -> bool {
        self.paths.contains_key(word)
    }

    /// Returns what a command said with its scripts called as they are in the workspace: nobody knows the folder of the copies.
    pub fn named_in(&self, text: &str) -> String {
        match &self.root {
            Some(root) => text.replace(root, ""),
            None => text.to_owned(),
        }
    }

    /// Returns the line with the copies in the place of the files that it names.
    pub fn instead_in(&self, line: &CommandLine) -> CommandLine {
        match line {
            CommandLine::Shell(text) => CommandLine::Shell(self.instead(text)),
            CommandLine::Words(words) => CommandLine::Words(
                words
                    .iter()
                    .map(|word| self.paths.get(word).cloned().unwrap_or_else(|| self.instead(word)))
                    .collect(),
            ),
        }
    }

    fn instead(&self, text: &str) -> String {
        let mut replaced = String::with_capacity(text.len());
        let mut rest = 0;
        for (start, word) in words_of(text) {
            if let Some(copy) = self.paths.get(word) {
                replaced.push_str(&text[rest..start]);
                replaced.push_str(copy);
                rest = start + word.len();
            }
        }
        replaced.push_str(&text[rest..]);
        replaced
    }
}

/// Returns the words of a line that may name a script: what is run, and what looks like the name of a file. A word such as `DRAFT` or
/// `strict` is what a person means by it, whatever lies in the folder.
pub fn words(line: &CommandLine) -> Vec<&str> {
    let inner = |text| words_of(text).into_iter().map(|(_, word)| word);
    match line {
        CommandLine::Shell(text) => inner(text).collect(),
        CommandLine::Words(words) => {
            let run = executed(line);
            // An argument may be a line for a shell in turn.
            let arguments = words.iter().skip(1);
            let named = arguments.clone().map(String::as_str).filter(|word| looks_like_a_file(word));
            run.into_iter().chain(named).chain(arguments.flat_map(|argument| inner(argument))).collect()
        }
    }
}

/// Returns the file that a line runs first, as the line names it: a program with a slash, or the script of an interpreter.
pub fn executed(line: &CommandLine) -> Option<&str> {
    let words: Vec<&str> = match line {
        CommandLine::Words(words) => words.iter().map(String::as_str).collect(),
        CommandLine::Shell(text) => text.split(BETWEEN_WORDS).filter(|word| !word.is_empty()).collect(),
    };
    let program = words.first()?;
    if program.contains('/') && !program.starts_with('/') {
        return Some(program);
    }
    let name = program.rsplit('/').next().unwrap_or(program);
    if !INTERPRETERS.contains(&name) {
        return None;
    }
    // After an option such as `-c` or `-m` comes something else.
    words.get(1).copied().filter(|word| !word.starts_with('-'))
}

/// Returns whether a word has the form of a path or of a name with an ending.
fn looks_like_a_file(word: &str) -> bool {
    word.contains('/') || word.trim_start_matches('.').contains('.')
}

/// Returns the words of a text for the shell that may name a script, with their places: not what is written to, and no program that is
/// looked up elsewhere.
fn words_of(text: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let (mut at, mut command_follows, mut script_follows) = (0, true, false);
    for word in text.split(BETWEEN_WORDS) {
        let start = at;
        at += word.len() + 1;
        let before = text[..start].trim_end_matches([' ', '\t']);
        let between = text[..start].chars().next_back();
        if start > 0 && matches!(between, Some(';' | '|' | '&' | '(' | '\n' | '`' | '{')) {
            command_follows = true;
        }
        if word.is_empty() {
            continue;
        }
        // `NAME=value` stands before a command and is none.
        let is_value = command_follows && between == Some('=');
        let is_name = command_follows && text[at - 1..].starts_with('=');
        let is_program = command_follows && !is_value && !word.contains('/');
        let is_script = script_follows && !word.starts_with('-') || command_follows && word.contains('/');
        script_follows = command_follows && INTERPRETERS.contains(&word);
        command_follows = is_value || is_name || BEFORE_COMMANDS.contains(&word);
        if (is_script || !is_program && looks_like_a_file(word)) && !before.ends_with('>') {
            words.push((start, word));
        }
    }
    words
}

#[cfg(unix)]
fn read_only(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o555))
}

#[cfg(not(unix))]
fn read_only(_: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn named(line: &str) -> Vec<&str> {
        words_of(line).into_iter().map(|(_, word)| word).collect()
    }

    #[test]
    fn what_is_looked_up_elsewhere_or_written_to_names_no_script() {
        assert_eq!(named("python3 check.py --strict"), ["check.py"]);
        assert_eq!(named("./check.sh && test -f 'a b.c' | wc >out.txt"), ["./check.sh", "b.c"]);
        assert_eq!(named("MODE=fast sh \"x.sh\" > log < in.txt"), ["x.sh", "in.txt"]);
        assert_eq!(named("if sh check; then\n  grep -q DRAFT out/a strict; fi"), ["check", "out/a"]);
        assert_eq!(named("! grep -q DRAFT .hidden hello.txt"), ["hello.txt"]);
    }

    #[test]
    fn what_a_line_runs_first_is_told_from_its_arguments() {
        let shell = |text: &str| executed(&CommandLine::Shell(text.to_owned())).map(str::to_owned);
        let words = |words: &[&str]| {
            executed(&CommandLine::Words(words.iter().map(|word| (*word).to_owned()).collect()))
                .map(str::to_owned)
        };
        assert_eq!(shell("sh hooks/guard.sh strict").as_deref(), Some("hooks/guard.sh"));
        assert_eq!(shell("./guard.sh").as_deref(), Some("./guard.sh"));
        assert_eq!(words(&["/usr/bin/python3", "guard.py"]).as_deref(), Some("guard.py"));
        for none in
            [shell("echo guard.sh"), words(&["python3", "-c", "x"]), words(&["/bin/true", "x"]), words(&[])]
        {
            assert_eq!(none, None);
        }
    }

    #[test]
    fn copies_stand_in_for_what_was_there_when_the_run_began() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        for file in ["check.sh", "lib/more.sh", "out/report.md", "test"] {
            workspace.write(file, b"then").unwrap();
        }
        let run = "./check.sh lib/more.sh out/report.md; test -f check.sh";
        let prompt: Prompt = serde_json::from_value(json!({"goal": "g", "expectedOutput": [
            {"path": "out", "description": "d"}]}))
        .unwrap();
        let mut scripts = Scripts::default();
        let outputs = Outputs::of(&prompt, &workspace);
        for line in [CommandLine::Shell(run.to_owned()), CommandLine::Shell("cat check.sh".to_owned())] {
            scripts.take(&line, &outputs, &workspace).unwrap();
        }
        workspace.write("check.sh", b"now").unwrap();
        let root = workspace.root();
        let places: Vec<_> = scripts.places().collect();
        assert_eq!(places, [root.join("check.sh"), root.join("check.sh"), root.join("lib/more.sh")]);
        let parent = tempfile::tempdir().unwrap();
        let copies = scripts.unpack(parent.path()).unwrap();
        let line = copies.instead_in(&CommandLine::Shell(run.to_owned())).to_string();
        let folder = copies.paths["check.sh"].strip_suffix("/check.sh").unwrap();
        assert_eq!(
            line,
            format!("{folder}/check.sh {folder}/lib/more.sh out/report.md; test -f {folder}/check.sh")
        );
        let words = ["sh", "-c", "cat check.sh"].map(str::to_owned).to_vec();
        let line = copies.instead_in(&CommandLine::Words(words)).to_string();
        assert_eq!(line, format!("sh -c cat {folder}/check.sh"));
        assert_eq!(fs::read(format!("{folder}/check.sh")).unwrap(), b"then");
    }

    #[cfg(unix)]
    #[test]
    fn what_leads_out_of_the_workspace_is_not_copied_but_must_not_lead_elsewhere() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("guard.sh"), "exit 0").unwrap();
        std::os::unix::fs::symlink(outside.path(), dir.path().join("shared")).unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        let prompt = serde_json::from_value(json!({"goal": "g", "expectedOutput": "e"})).unwrap();
        let mut scripts = Scripts::default();
        let line = CommandLine::Shell("sh shared/guard.sh shared/absent /dev/null absent".to_owned());
        scripts.take(&line, &Outputs::of(&prompt, &workspace), &workspace).unwrap();
        let root = workspace.root();
        assert_eq!(
            scripts.places().collect::<Vec<_>>(),
            [root.join("shared/guard.sh"), root.join("shared/absent")]
        );
        let copies = scripts.unpack(Path::new("/no/such/folder")).unwrap();
        assert_eq!(copies.instead_in(&line), line);
    }
}
