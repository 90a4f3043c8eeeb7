//! Owns what files are called in outputs for machines that know nothing of `--directory`: as seen from where tepa was called.

use std::path::{Component, Path, PathBuf};

/// From where the names of files are seen.
pub(super) struct Places<'a> {
    /// The folder to work in, if it is another.
    pub(super) folder: Option<&'a Path>,
    /// The folder in which tepa was called.
    pub(super) called_in: &'a Path,
}

impl Places<'_> {
    /// Returns the name of a file as seen from where tepa was called.
    pub(super) fn of(&self, name: &str) -> String {
        let Some(folder) = self.folder.filter(|_| Path::new(name).is_relative()) else {
            return name.to_owned();
        };
        let place = normal(&folder.join(name));
        place.strip_prefix(self.called_in).unwrap_or(&place).display().to_string()
    }
}

/// Returns a path without `.`, and without `..` where a name stands before it.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match (part, normal.components().next_back()) {
            (Component::CurDir, _) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => {
                normal.pop();
            }
            _ => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_there_from_where_tepa_was_called() {
        let place = |folder: &str, name: &str| {
            Places { folder: Some(Path::new(folder)), called_in: Path::new("/repo") }.of(name)
        };
        assert_eq!(place("sub", "a.yaml"), "sub/a.yaml");
        assert_eq!(place("./sub/", "../b/./a.yaml"), "b/a.yaml");
        assert_eq!(place("../other", "a.yaml"), "../other/a.yaml");
        assert_eq!(place("..", "../a.yaml"), "../../a.yaml");
        assert_eq!(place("/repo/sub", "a.yaml"), "sub/a.yaml");
        assert_eq!(place("/other", "a.yaml"), "/other/a.yaml");
        assert_eq!(place("sub", "/x/a.yaml"), "/x/a.yaml");
        assert_eq!(Places { folder: None, called_in: Path::new("/repo") }.of("./a.yaml"), "./a.yaml");
    }
}
