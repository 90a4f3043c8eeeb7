//! Owns the reasons why a path cannot be used, and what the operating system's own words mean for it.

use std::io;

/// Why a path could not be used; the path is named as it was given.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The path is outside everything that may be read.
    #[error("`{0}` is outside the workspace")]
    Outside(String),
    /// The path is one of those that nobody may see.
    #[error("`{0}` is hidden from runs (`sandbox.hidden`)")]
    Hidden(String),
    /// It is one of the files in which tepa keeps what outlives runs.
    #[error("`{0}` is part of what tepa keeps between runs, which no tool reads or writes")]
    Kept(String),
    /// The path may be read only.
    #[error(
        "`{0}` may be read, not written: only the workspace and what `sandbox.writable` lists is written"
    )]
    NotWritable(String),
    /// Nothing may be written at all.
    #[error(
        "`{0}` was not written: the sandbox is read-only, set `sandbox.mode` to `workspace-write` to change that"
    )]
    ReadOnly(String),
    /// Its owner took the permission to write it away.
    #[error("`{0}` is a read-only file: make it writable with `shell_execute` first")]
    ReadOnlyFile(String),
    /// Nothing is there.
    #[error("`{0}` does not exist")]
    Missing(String),
    /// It is a folder where a file is needed.
    #[error("`{0}` is a folder, not a file")]
    Folder(String),
    /// It is neither file nor folder, or a file that the kernel makes up.
    #[error("`{0}` is not a regular file")]
    Special(String),
    /// It belongs to the records of runs.
    #[error("`{0}` is part of tepa's own records, which only tepa writes")]
    Records(String),
    /// It is the project's own configuration.
    #[error("`{0}` decides what the next run may do, so no run writes it")]
    Project(String),
    /// It is larger than the caller takes.
    #[error("`{path}` is larger than {}", crate::text::bytes(*.limit))]
    TooLarge {
        /// The path.
        path: String,
        /// In bytes.
        limit: u64,
    },
    /// Anything else that the operating system says.
    #[error("cannot {verb} `{path}`: {source}")]
    Io {
        /// What was tried.
        verb: &'static str,
        /// The path.
        path: String,
        /// What the operating system said.
        source: io::Error,
    },
}

impl WorkspaceError {
    /// Returns what a failed operation on `path` means.
    pub(crate) fn of(verb: &'static str, path: &str, source: io::Error) -> Self {
        let path = path.to_owned();
        let kind = source.kind();
        match kind {
            io::ErrorKind::NotFound => Self::Missing(path),
            // cap-std's own refusal carries no errno; the system's permission errors do.
            io::ErrorKind::PermissionDenied if source.raw_os_error().is_none() => Self::Outside(path),
            // In words that are the same everywhere.
            io::ErrorKind::NotADirectory => Self::Io { verb, path, source: kind.into() },
            _ => Self::Io { verb, path, source },
        }
    }
}
