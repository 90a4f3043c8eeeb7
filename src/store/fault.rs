//! Owns what goes wrong with a store, in one sentence that names the file and says what to do.

use std::fmt::Display;
use std::io;

use rusqlite::ErrorCode;

use crate::stage::StoreError;

/// What went wrong, before it is told to anybody.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// A sentence of its own.
    #[error("{0}")]
    Said(String),
}

impl Fault {
    /// Returns a sentence as a fault.
    pub(super) fn said(sentence: impl Into<String>) -> Self {
        Self::Said(sentence.into())
    }

    /// Returns what SQLite calls it, or would.
    pub(super) fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Sqlite(error) => error.sqlite_error_code(),
            Self::Io(error) => match error.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    Some(ErrorCode::ReadOnly)
                }
                io::ErrorKind::StorageFull => Some(ErrorCode::DiskFull),
                _ => None,
            },
            Self::Json(_) | Self::Said(_) => None,
        }
    }

    /// Returns whether somebody else was in the way, for now.
    pub(super) fn passes(&self) -> bool {
        use ErrorCode::{DatabaseBusy, DatabaseLocked, FileLockingProtocolFailed};
        matches!(self.code(), Some(DatabaseBusy | DatabaseLocked | FileLockingProtocolFailed))
    }

    /// Returns the sentence for the store at `place`.
    pub(super) fn explain(&self, place: impl Display) -> StoreError {
        if let Self::Said(sentence) = self {
            return StoreError(sentence.clone());
        }
        let elsewhere = "or name another file in `turn.store.path`";
        StoreError(match self.code() {
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                format!("the store `{place}` is read-only: make it and its folder writable, {elsewhere}")
            }
            Some(ErrorCode::DiskFull) => {
                format!("the store `{place}` cannot grow, the disk is full: make room, {elsewhere}")
            }
            Some(ErrorCode::CannotOpen) => {
                format!(
                    "the store `{place}` cannot be opened ({self}): make it and its folder writable, {elsewhere}"
                )
            }
            Some(ErrorCode::SystemIoFailure) => {
                format!(
                    "the store `{place}` cannot be read or written ({self}): see to its disk, {elsewhere}"
                )
            }
            Some(ErrorCode::DatabaseCorrupt) => {
                format!("the store `{place}` is damaged ({self}): move it away, {elsewhere}")
            }
            Some(ErrorCode::NotADatabase) => {
                format!("`{place}` is no store, nor a database at all: move it away, {elsewhere}")
            }
            _ if self.passes() => {
                format!(
                    "the store `{place}` is held by somebody else for too long: try again when they are done"
                )
            }
            _ => format!("the store `{place}` cannot be used: {self}"),
        })
    }
}
