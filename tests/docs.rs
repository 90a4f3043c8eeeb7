//! Does what the pages under `docs/` say, block by block, from top to bottom, in an empty folder.
//!
//! A YAML, Python, shell or Markdown block that begins with a comment of nothing but a file's name is that file. Every YAML block has to be valid. The lines
//! of a `console` block that begin with `$` are run with scripted models; they end with 0 unless they say `# exit N`, and what stands below them is
//! shown, where `…` stands for anything. What a page needs beside itself, such as those scripts, lies in `tests/docs/every/` and `tests/docs/PAGE/`. Rust blocks are tests of rustdoc.
//! Lines of an `sh` block need somebody else's machine: their flags have to exist.

#![cfg(test)]
#![cfg(unix)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use regex::Regex;
use serde_json::Value;

use support::{TEPA, copy_folder, files_below, finish, text};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A fenced block of a page.
struct Block {
    language: String,
    text: String,
    /// Where it begins in the page, from 1.
    line: usize,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut inside = false;
    for (at, line) in page.lines().enumerate() {
        if let Some(fence) = line.trim_start().strip_prefix("```") {
            inside = !inside;
            if inside {
                blocks.push(Block { language: fence.trim().to_owned(), text: String::new(), line: at + 1 });
            }
        } else if inside {
            let block = blocks.last_mut().unwrap();
            block.text += line;
            block.text += "\n";
        }
    }
    assert!(!inside, "a block has no end");
    blocks
}

/// What a page is tried in: a folder, and a shell that finds tepa.
struct Desk {
    page: String,
    folder: tempfile::TempDir,
    programs: tempfile::TempDir,
}

impl Desk {
    fn of(page: &str) -> Self {
        let (folder, programs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(TEPA, programs.path().join("tepa")).unwrap();
        for shared in ["prompts", "config"] {
            copy_folder(&root().join(shared), &folder.path().join(shared));
        }
        for own in ["every", page.trim_end_matches(".md")].map(|name| root().join("tests/docs").join(name)) {
            if own.exists() {
                copy_folder(&own, folder.path());
            }
        }
        Self { page: page.to_owned(), folder, programs }
    }

    fn try_all(&self, blocks: &[Block]) {
        // A page may use a file before it shows it.
        for block in blocks {
            self.keep(block);
        }
        for block in blocks {
            match block.language.as_str() {
                "yaml" => self.validate(block),
                "json" => {
                    let _: Value = serde_json::from_str(&block.text)
                        .unwrap_or_else(|e| self.fail(block, &e.to_string()));
                }
                "console" => self.run(block),
                "sh" => self.parse(block),
                // rustdoc runs these, the others are files that are kept above.
                "rust" | "python" | "markdown" | "text" => {}
                other => self.fail(block, &format!("nobody tries a block of `{other}`")),
            }
        }
    }

    fn fail(&self, block: &Block, why: &str) -> ! {
        panic!("docs/{}:{}: {why}\n{}", self.page, block.line, block.text)
    }

    /// Writes the file that a block says it is.
    fn keep(&self, block: &Block) {
        if let Some(name) = file_name(block) {
            let path = self.folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, &block.text).unwrap();
        }
    }

    fn validate(&self, block: &Block) {
        let path = match file_name(block) {
            Some(name) if name.starts_with(".github/") => return self.workflow(block),
            // The lines below it say what is wrong with it.
            Some(name) if name.starts_with("broken/") => return,
            Some(name) => self.folder.path().join(name),
            None => {
                let path = self.folder.path().join("block.yaml");
                fs::write(&path, &block.text).unwrap();
                path
            }
        };
        let output = finish(self.shell("exec tepa validate \"$1\"").arg(&path));
        if !output.status.success() {
            self.fail(block, &text(&output.stderr));
        }
    }

    /// Tries the flags of every line that a workflow runs.
    fn workflow(&self, block: &Block) {
        let lines: Vec<&str> = block.text.lines().filter_map(|line| line.split("run: ").nth(1)).collect();
        assert!(!lines.is_empty());
        for line in lines {
            self.flags(block, line);
        }
    }

    fn parse(&self, block: &Block) {
        for line in block.text.lines() {
            self.flags(block, line);
        }
    }

    fn flags(&self, block: &Block, line: &str) {
        let said = line.split(" # ").next().unwrap().trim();
        let Some(at) = said.find("tepa ").filter(|_| !said.starts_with("cargo ")) else { return };
        let words = said[at..].split_whitespace().map(|word| word.trim_matches(['"', '\'']));
        if let Err(e) = tepa::cli::command().try_get_matches_from(words) {
            self.fail(block, &e.to_string());
        }
    }

    fn run(&self, block: &Block) {
        let code = Regex::new(r"# exit (\d+)$").unwrap();
        let mut lines = block.text.lines().peekable();
        while let Some(line) = lines.next() {
            let Some(command) = line.strip_prefix("$ ") else {
                self.fail(block, "output before any command")
            };
            let wanted = code.captures(command).map_or(0, |found| found[1].parse().unwrap());
            let mut shown = Vec::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
                shown.push(line.trim());
            }
            let output = finish(&mut self.shell(command));
            let said = text(&output.stdout) + &text(&output.stderr);
            if output.status.code() != Some(wanted) {
                self.fail(block, &format!("`{command}` ended with {:?}:\n{said}", output.status.code()));
            }
            for line in shown.into_iter().filter(|line| !line.is_empty() && *line != "…") {
                let pattern = line.split('…').map(regex::escape).collect::<Vec<_>>().join(".*");
                if !Regex::new(&pattern).unwrap().is_match(&said) {
                    self.fail(block, &format!("`{command}` does not say `{line}`:\n{said}"));
                }
            }
        }
    }

    /// Returns a shell that runs a line, with scripted models and nothing of this machine.
    fn shell(&self, line: &str) -> Command {
        let mut command = Command::new("sh");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut places = vec![self.programs.path().to_owned()];
        places.extend(std::env::split_paths(&path));
        command.args(["-c", line, "sh"]).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env_clear().env("PATH", std::env::join_paths(places).unwrap());
        command.env("HOME", self.folder.path().join("no-home")).env("TEPA_PROVIDER", "replay");
        command
    }
}

/// Returns the name of the file that a block is, if its first line says so.
fn file_name(block: &Block) -> Option<&str> {
    let first = block.text.lines().next()?;
    let name = first.strip_prefix("# ").or_else(|| first.strip_prefix("<!-- ")?.strip_suffix(" -->"))?;
    let named = Regex::new(r"^[\w./-]+\.(ya?ml|json|py|sh|md|csv|txt)$").unwrap();
    named.is_match(name).then_some(name)
}

fn tried(page: &str) {
    let written = fs::read_to_string(root().join("docs").join(page)).unwrap();
    Desk::of(page).try_all(&blocks(&written));
}

macro_rules! pages {
    ($($name:ident),*) => {
        $(#[test] fn $name() { tried(concat!(stringify!($name), ".md")); })*

        #[test]
        fn every_page_is_tried_and_linked() {
            let is_page = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "md") && *file != Path::new("README.md");
            let mut pages: Vec<PathBuf> = files_below(&root().join("docs")).into_iter().filter(is_page).collect();
            let mut tried = vec![$(PathBuf::from(concat!(stringify!($name), ".md"))),*];
            pages.sort();
            tried.sort();
            assert_eq!(pages, tried);
            let index = fs::read_to_string(root().join("docs/README.md")).unwrap();
            for page in tried {
                assert!(index.contains(&format!("({})", page.display())), "docs/README.md does not link to {}", page.display());
            }
        }
    };
}

pages!(checks, ci, config, hooks, library, prompts, providers, reports, safety, tools, turns);

#[test]
fn links_lead_somewhere() {
    let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let heading = |page: &str| -> Vec<String> {
        let words = |title: &str| {
            let kept = title.to_lowercase().replace(' ', "-");
            kept.chars().filter(|c| c.is_alphanumeric() || *c == '-' || *c == '_').collect()
        };
        page.lines()
            .filter_map(|line| {
                line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#'))
            })
            .map(words)
            .collect()
    };
    let mut pages =
        vec![root().join("README.md"), root().join("ARCHITECTURE.md"), root().join("CONTRIBUTING.md")];
    pages.extend(
        files_below(&root().join("docs"))
            .into_iter()
            .filter(|file| file.extension().is_some_and(|ending| ending == "md"))
            .map(|file| root().join("docs").join(file)),
    );
    for page in pages {
        let written = fs::read_to_string(&page).unwrap();
        for target in link.captures_iter(&written).map(|found| found[1].to_owned()) {
            if target.starts_with("http") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let path = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            assert!(path.exists(), "{}: {target}", page.display());
            if !anchor.is_empty() {
                let there = heading(&fs::read_to_string(&path).unwrap());
                assert!(there.iter().any(|name| name == anchor), "{}: {target}: {there:?}", page.display());
            }
        }
    }
}
