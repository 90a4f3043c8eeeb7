//! Owns which files `tepa validate` looks at: what is named, what lies in a folder, what a glob matches.
//!
//! It follows no link into a folder and looks into no folder that belongs to other programs: those hold copies, and other people's files.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use indexmap::IndexMap;

use crate::config::Environment;
use crate::error::Error;

/// Folders that are not looked into, beside hidden ones.
const SKIPPED: [&str; 2] = ["target", "node_modules"];

/// The endings of files that are looked at where nobody named them.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// A file to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Where it is.
    pub(super) path: PathBuf,
    /// What it is called in messages: as a person would write it.
    pub(super) name: String,
    /// Whether a person named this very file.
    pub(super) named: bool,
}

/// Returns the files that `paths` stand for, each once, in the order of `paths` and then of their names.
///
/// # Errors
/// A glob that is none or matches nothing, or a folder that cannot be read.
pub(super) fn find(paths: &[PathBuf], environment: &Environment) -> Result<Vec<Found>, Error> {
    let mut all = Vec::new();
    for written in paths {
        let place = environment.resolve(written);
        if place.is_dir() {
            walk(&place, written, &mut all, &|_| true)?;
        } else if let Some(glob) = Glob::of(written).filter(|_| place.symlink_metadata().is_err()) {
            glob.expand(environment, &mut all)?;
        } else {
            all.push(Found { name: written.display().to_string(), path: place, named: true });
        }
    }
    let mut once: IndexMap<PathBuf, Found> = IndexMap::new();
    for found in all {
        let place = found.path.canonicalize().unwrap_or_else(|_| found.path.clone());
        let named = found.named;
        once.entry(place).or_insert(found).named |= named;
    }
    Ok(once.into_values().collect())
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
            walk(&folder, &self.base, all, &|path| matcher.is_match(path))?;
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

/// Adds the files below `folder`, which messages call `name`, that are `wanted` by their name.
fn walk(
    folder: &Path,
    name: &Path,
    all: &mut Vec<Found>,
    wanted: &dyn Fn(&Path) -> bool,
) -> Result<(), Error> {
    let unreadable =
        |e: io::Error| Error::usage(format!("cannot read the folder `{}`", name.display())).because(&e);
    let mut entries =
        fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>).map_err(unreadable)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let file_name = entry.file_name();
        let text = file_name.to_string_lossy();
        let (path, name) = (entry.path(), joined(name, &file_name));
        let kind = entry.file_type().map_err(unreadable)?;
        if kind.is_dir() {
            if !text.starts_with('.') && !SKIPPED.contains(&text.as_ref()) {
                walk(&path, &name, all, wanted)?;
            }
            continue;
        }
        let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
        let known = ENDINGS.iter().any(|known| ending == *known);
        if known && !text.starts_with('.') && path.is_file() && wanted(&name) {
            all.push(Found { path, name: name.display().to_string(), named: false });
        }
    }
    Ok(())
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

    fn names(folder: &Path, paths: &[&str]) -> Result<Vec<String>, String> {
        let environment = Environment::of(folder.to_owned(), []);
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        let found = find(&paths, &environment).map_err(|e| e.to_string())?;
        Ok(found.into_iter().map(|found| found.name).collect())
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
