//! Owns the globs that say which files are protected.

use std::path::{Component, Path, PathBuf};

use globset::{Glob, GlobBuilder, GlobMatcher};

/// A glob that cannot say which files are protected.
#[derive(Debug, thiserror::Error)]
pub enum PatternError {
    /// It is not a glob.
    #[error("`{pattern}` is not a glob: {reason}")]
    Malformed {
        /// As it was written.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// It leads out of the folder that the run works in.
    #[error("`{0}` has to be relative to the folder that the run works in, without `..`")]
    Outside(String),
}

/// Which files are protected, by their path from the root.
#[derive(Debug, Clone)]
pub struct Pattern {
    /// The folder or file below which everything lies that can match.
    pub(super) base: PathBuf,
    /// Whether the pattern names everything below the base: then what stands in its place is meant as well, such as the file `.git` of a worktree.
    pub(super) whole: bool,
    pub(super) matcher: GlobMatcher,
}

impl Pattern {
    /// Reads a glob: `*` stays in one folder, `**` crosses folders.
    pub fn parse(pattern: &str) -> Result<Self, PatternError> {
        let path = Path::new(pattern);
        if path.is_absolute() || path.components().any(|part| part == Component::ParentDir) {
            return Err(PatternError::Outside(pattern.to_owned()));
        }
        let relative = pattern.trim_start_matches("./");
        let glob: Glob = GlobBuilder::new(relative).literal_separator(true).build().map_err(|e| {
            PatternError::Malformed { pattern: pattern.to_owned(), reason: e.kind().to_string() }
        })?;
        let plain = |part: &&str| !part.contains(['*', '?', '[', '{', '\\']);
        let base: PathBuf = relative.split('/').take_while(plain).collect();
        let whole = relative.strip_suffix("/**").is_some_and(|start| Path::new(start) == base);
        Ok(Self { base, whole, matcher: glob.compile_matcher() })
    }

    /// Returns whether it names the file with this path from the root.
    pub fn covers(&self, relative: &Path) -> bool {
        self.matcher.is_match(relative) || self.whole && relative == self.base
    }
}
