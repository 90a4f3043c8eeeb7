//! Owns one file as it was: its content by a hash, and what says without a look at the content that nothing has happened.

use std::fs::{self, File, Metadata};
use std::path::{Path, PathBuf};

use crate::digest::{self, LARGEST_HASHED};

/// A file as it was.
#[derive(Debug)]
pub(super) struct Sealed {
    pub(super) stamp: Option<Stamp>,
    pub(super) content: Content,
}

/// What says without a look at the content that nothing has happened.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stamp(Vec<i128>);

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A file, with the hash of its content.
    File { mode: u32, sha256: String },
    /// A folder, where folders count.
    Folder { mode: u32 },
    /// A link, with what it names.
    Link(PathBuf),
    /// Something that is not read: its stamp has to do.
    Unread,
}

/// The mark of what was not read.
const UNREAD: &str = "unread";

impl Content {
    pub(super) fn mark(&self) -> String {
        match self {
            Self::File { mode, sha256 } => format!("file {mode:o} {sha256}"),
            Self::Folder { mode } => format!("folder {mode:o}"),
            Self::Link(target) => match target.to_str() {
                Some(target) => format!("link {target}"),
                None => UNREAD.to_owned(),
            },
            Self::Unread => UNREAD.to_owned(),
        }
    }

    pub(super) fn of_mark(mark: &str) -> Option<Self> {
        let (kind, rest) = mark.split_once(' ')?;
        match kind {
            "link" => return Some(Self::Link(rest.into())),
            "folder" => return Some(Self::Folder { mode: u32::from_str_radix(rest, 8).ok()? }),
            _ => {}
        }
        let (mode, hash) = rest.split_once(' ').filter(|_| kind == "file")?;
        Some(Self::File { mode: u32::from_str_radix(mode, 8).ok()?, sha256: hash.to_owned() })
    }
}

pub(super) fn seal(path: &Path, metadata: &Metadata) -> Sealed {
    let content = if metadata.is_dir() {
        Content::Folder { mode: mode(metadata) }
    } else if metadata.is_symlink() {
        fs::read_link(path).map_or(Content::Unread, Content::Link)
    } else if metadata.is_file() && metadata.len() <= LARGEST_HASHED {
        let hash = File::open(path).and_then(digest::sha256);
        hash.map_or(Content::Unread, |(_, sha256)| Content::File { mode: mode(metadata), sha256 })
    } else {
        Content::Unread
    };
    Sealed { stamp: stamp(metadata), content }
}

/// The time of the last change of a file's record (`ctime`) is the kernel's own; nobody can set it back.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems have none")]
pub(super) fn stamp(metadata: &Metadata) -> Option<Stamp> {
    use std::os::unix::fs::MetadataExt as _;
    let (modified, changed) = (metadata.mtime(), metadata.ctime());
    let times = [modified, metadata.mtime_nsec(), changed, metadata.ctime_nsec()].map(i128::from);
    let identity = [metadata.dev(), metadata.ino(), metadata.size(), u64::from(metadata.mode())];
    Some(Stamp(identity.map(i128::from).into_iter().chain(times).collect()))
}

/// Without such a time, nothing says that a file is what it was but its content.
#[cfg(not(unix))]
pub(super) fn stamp(_: &Metadata) -> Option<Stamp> {
    None
}

#[cfg(unix)]
fn mode(metadata: &Metadata) -> u32 {
    use std::os::unix::fs::MetadataExt as _;
    metadata.mode()
}

#[cfg(not(unix))]
fn mode(metadata: &Metadata) -> u32 {
    u32::from(metadata.permissions().readonly())
}
