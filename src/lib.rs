//! `tepa` runs a task written down in a file through Plan → Execute → Evaluate and settles on a verdict.
//!
//! What a person writes becomes a value that cannot be invalid, or a list of faults with their places:
//!
//! ```
//! use tepa::prompt::{self, Values};
//! use tepa::source::{Document, Format, SourceFile, UnknownKeys};
//!
//! let file = SourceFile::from_text("task.yaml", "gaol: Say hello.\ncontext: {}\n", Format::Yaml);
//! let mut document = Document::parse(file).expect("the syntax is right");
//! let faults = prompt::load(&mut document, &Values::default(), UnknownKeys::Refuse).unwrap_err();
//! let said: Vec<&str> = faults.iter().map(|fault| fault.code).collect();
//! assert_eq!(said, ["missing-key", "missing-key", "unknown-key"]);
//! ```
//!
//! [`session::Session`] runs it; `docs/library.md` has a whole program. The crate is a house of floors; a module names only modules below its own floor (`ARCHITECTURE.md`).

pub mod digest;
pub mod duration;
pub mod expansion;
pub mod secret;
pub mod text;

pub mod check;
pub mod nonce;
pub mod sandbox;
pub mod source;

pub mod error;
pub mod outcome;
pub mod persist;
pub mod plan;
pub mod process;
pub mod prompt;
pub mod seal;
pub mod turn;
pub mod workspace;

pub mod event;
pub mod script;
pub mod tool;

pub mod approval;
pub mod config;
pub mod evidence;
pub mod hook;
pub mod program;
pub mod provider;
pub mod stage;
pub mod template;

pub mod hooks;
pub mod journal;
pub mod pipeline;
pub mod providers;
pub mod render;
pub mod report;
pub mod stages;
pub mod store;
pub mod telemetry;
pub mod tools;

pub mod session;

pub mod cli;

/// The page about embedding, whose program is a test.
#[cfg(doctest)]
#[doc = include_str!("../docs/library.md")]
pub struct LibraryPage;
