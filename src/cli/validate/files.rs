//! Owns which files `tepa validate` looks at: what is named, what lies in a folder, what a glob matches.
//!
//! What cannot be looked into keeps nothing else from being looked at. It follows no link into a folder and looks into no folder that belongs to other programs: those hold copies, and other people's files.

use std::ffi::OsString;
use std::fs::{self, FileType};
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use indexmap::IndexMap;

use crate::config::Environment;
use crate::error::{Error, Message};
use crate::workspace::PROJECT_FILE;

/// Folders that are not looked into, beside hidden ones.
const SKIPPED: [&str; 2] = ["target", "node_modules"];

/// The endings of files that are looked at where nobody named them.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// The endings of files that a glob stands for.
const OF_GLOBS: [&str; 4] = ["yaml", "yml", "json", "jsonl"];

/// A file to look at.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// Where it is.
    pub(super) path: PathBuf,
    /// What it is called in messages: as a person would write it.
    pub(super) name: String,
    /// Whether a person named this very file, or wrote a glob that a shell would have made its name of.
    pub(super) named: bool,
    /// Why there is nothing to look at.
    pub(super) refused: Option<Message>,
}

impl Found {
    fn new(path: PathBuf, name: &Path, named: bool) -> Self {
        Self { path, name: name.display().to_string(), named, refused: None }
    }

    /// Returns what stands for a folder or a glob that no files come of.
    fn refused(path: PathBuf, name: &Path, error: Error) -> Self {
        let refused = match error {
            Error::Usage(message) | Error::Broken(message) | Error::Late(message) => message,
            Error::Invalid(_) => Message { text: error.to_string(), ..Message::default() },
        };
        Self { refused: Some(refused), ..Self::new(path, name, true) }
    }

    /// Returns whether it is the configuration of the project in its folder, however that folder is written.
    pub(super) fn is_project_file(&self) -> bool {
        let called = |path: &Path| path.file_name().is_some_and(|name| name == PROJECT_FILE);
        called(&self.path) || self.path.canonicalize().is_ok_and(|path| called(&path))
    }

    /// Returns whether its name alone says that it is for tepa: a project's configuration, or replies beside their prompt.
    pub(super) fn is_called_for_tepa(&self) -> bool {
        let prompt =
            self.path.file_stem().and_then(|stem| Path::new(stem).extension().map(|kind| (stem, kind)));
        let is_replay = prompt.is_some_and(|(stem, kind)| {
            let beside = |ending: &str| self.path.with_file_name(stem).with_extension(ending).is_file();
            kind == "replay" && ENDINGS.into_iter().any(beside)
        });
        is_replay || self.is_project_file()
    }
}

/// Returns the files that `paths` stand for, each once, in the order of `paths` and then of their names.
pub(super) fn find(paths: &[PathBuf], environment: &Environment) -> Vec<Found> {
    let mut all = Vec::new();
    for written in paths {
        let place = environment.resolve(written);
        if place.is_dir() {
            Walk { named: false, endings: &ENDINGS, wanted: &|_| true }.below(&place, written, &mut all);
        } else if let Some(glob) = Glob::of(written).filter(|_| place.symlink_metadata().is_err()) {
            if let Err(error) = glob.expand(environment, &mut all) {
                all.push(Found::refused(place, written, error));
            }
        } else {
            all.push(Found::new(place, written, true));
        }
    }
    let mut once: IndexMap<PathBuf, Found> = IndexMap::new();
    for found in all {
        let place = found.path.canonicalize().unwrap_or_else(|_| found.path.clone());
        let named = found.named;
        once.entry(place).or_insert(found).named |= named;
    }
    once.into_values().collect()
}

/// A path with stars in it.
struct Glob<'a> {
    written: &'a str,
    /// The folder below which everything lies that can match.
    base: PathBuf,
}

impl<'a> Glob<'a> {
    fn of(path: &'a Path) -> Option<Self> {
        let written = path.to_str()?;
        let plain = |part: &Component<'_>| !part.as_os_str().to_string_lossy().contains(['*', '?', '[', '{']);
        let base: PathBuf = path.components().take_while(plain).collect();
        (base != path).then_some(Self { written, base })
    }

    fn expand(&self, environment: &Environment, all: &mut Vec<Found>) -> Result<(), Error> {
        let matcher = self.matcher()?;
        let before = all.len();
        let folder = environment.resolve(&self.base);
        if folder.is_dir() {
            let wanted = |path: &Path| matcher.is_match(path);
            Walk { named: true, endings: &OF_GLOBS, wanted: &wanted }.below(&folder, &self.base, all);
        }
        if all.len() > before {
            return Ok(());
        }
        Err(Error::usage(format!("`{}` matches no file", self.written))
            .hint("`*` stays in one folder, `**` crosses folders; files end in `.yaml`, `.yml` or `.json`"))
    }

    fn matcher(&self) -> Result<GlobMatcher, Error> {
        // A walk knows no `.` parts.
        let pattern = self.written.trim_start_matches("./");
        let glob = GlobBuilder::new(pattern).literal_separator(true).build();
        glob.map(|glob| glob.compile_matcher())
            .map_err(|e| Error::usage(format!("`{}` is not a glob: {}", self.written, e.kind())))
    }
}

/// A look through folders.
struct Walk<'a> {
    /// Whether what is found counts as named by a person.
    named: bool,
    endings: &'a [&'a str],
    /// Whether a file is meant, by its name.
    wanted: &'a dyn Fn(&Path) -> bool,
}

impl Walk<'_> {
    /// Adds the files below `folder`, which messages call `name`, and every folder that cannot be read.
    fn below(&self, folder: &Path, name: &Path, all: &mut Vec<Found>) {
        let entries = fs::read_dir(folder).and_then(|entries| {
            entries.map(|entry| entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?)))).collect()
        });
        let mut entries: Vec<(OsString, FileType)> = match entries {
            Ok(entries) => entries,
            Err(e) => {
                let error = Error::usage(format!("cannot read the folder `{}`", name.display())).because(&e);
                return all.push(Found::refused(folder.to_owned(), name, error));
            }
        };
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        for (file_name, kind) in entries {
            let text = file_name.to_string_lossy();
            let (path, name) = (folder.join(&file_name), joined(name, &file_name));
            if kind.is_dir() {
                if !text.starts_with('.') && !SKIPPED.contains(&text.as_ref()) {
                    self.below(&path, &name, all);
                }
                continue;
            }
            let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
            let known = self.endings.iter().any(|known| ending == *known);
            if known && !text.starts_with('.') && path.is_file() && (self.wanted)(&name) {
                all.push(Found::new(path, &name, self.named));
            }
        }
    }
}

/// Returns the name of something in a folder, without a leading `./`.
fn joined(folder: &Path, name: &std::ffi::OsStr) -> PathBuf {
    folder.components().filter(|part| *part != Component::CurDir).collect::<PathBuf>().join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in [
            "b/z.yaml",
            "b/a.yml",
            "a.json",
            "b/note.txt",
            ".hidden/x.yaml",
            ".dot.yaml",
            "target/x.yaml",
            "node_modules/p/x.json",
            ".tepa/runs/1/prompt.json",
            "b/deep/er/x.YAML",
        ] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "goal: x").unwrap();
        }
        folder
    }

    /// Returns the names of what is found, or why nothing is.
    fn names(folder: &Path, paths: &[&str]) -> Result<Vec<String>, String> {
        let environment = Environment::of(folder.to_owned(), []);
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        let found = find(&paths, &environment).into_iter();
        found.map(|found| found.refused.map_or(Ok(found.name), |refused| Err(refused.text))).collect()
    }

    #[test]
    fn a_folder_stands_for_what_is_below_it_and_belongs_to_nobody_else() {
        let folder = folder();
        assert_eq!(
            names(folder.path(), &["."]).unwrap(),
            ["a.json", "b/a.yml", "b/deep/er/x.YAML", "b/z.yaml"]
        );
        assert_eq!(
            names(folder.path(), &["b/z.yaml", "./b", "b/../b/a.yml"]).unwrap(),
            ["b/z.yaml", "b/a.yml", "b/deep/er/x.YAML"]
        );
        assert_eq!(names(folder.path(), &["no.yaml"]).unwrap(), ["no.yaml"]);
    }

    #[test]
    fn a_glob_is_expanded_where_the_shell_did_not() {
        let folder = folder();
        assert_eq!(names(folder.path(), &["**/*.{yml,json}"]).unwrap(), ["a.json", "b/a.yml"]);
        assert_eq!(names(folder.path(), &["./b/*.y?ml"]).unwrap(), ["b/z.yaml"]);
        assert_eq!(names(folder.path(), &["c/*.yaml"]).unwrap_err(), "`c/*.yaml` matches no file");
        assert!(names(folder.path(), &["b/[.yaml"]).unwrap_err().contains("is not a glob"));
        fs::write(folder.path().join("[x].yaml"), "goal: x").unwrap();
        assert_eq!(names(folder.path(), &["[x].yaml"]).unwrap(), ["[x].yaml"]);
    }

    #[cfg(unix)]
    #[test]
    fn no_link_leads_into_a_folder() {
        let folder = folder();
        std::os::unix::fs::symlink(folder.path().join("b"), folder.path().join("c")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("b/note.txt"), folder.path().join("d.yaml")).unwrap();
        assert_eq!(names(folder.path(), &["."]).unwrap().len(), 5);
    }
}
