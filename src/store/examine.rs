//! Owns the question whether a store could be used, asked without changing a byte: neither tables nor files beside it are made.

use std::fs;
use std::path::Path;

use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use rusqlite::{Connection, OpenFlags};

use super::fault::Fault;
use super::{SqliteStore, beside, is_there, schema};
use crate::persist::Place;
use crate::stage::StoreError;

impl SqliteStore {
    /// Looks whether the file at `path`, which is there, could be a store.
    ///
    /// # Errors
    /// It or its folder cannot be written, or it is something else.
    pub fn examine(path: &Path) -> Result<(), StoreError> {
        let place = path.display().to_string();
        look(path, &place).map_err(|fault| fault.explain(&place))
    }
}

fn look(path: &Path, place: &str) -> Result<(), Fault> {
    for ending in ["", "-wal", "-shm", "-journal"] {
        is_there(&beside(path, ending))?;
    }
    fs::OpenOptions::new().append(true).open(path)?;
    Place::at(path)?;
    // As a file that nobody changes, so that SQLite makes none beside it to learn who does.
    let name = percent_encode(path.as_os_str().as_encoded_bytes(), NON_ALPHANUMERIC);
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(format!("file:{name}?immutable=1"), flags)?;
    schema::recognise(&connection, place).map(|_| ())
}
