//! Files that people write: text with positions, one tree for YAML and JSON, every fault with its place.
//!
//! The way of a file: [`SourceFile::read`], then [`Document::parse`] (syntax, stops at the first fault), then
//! [`decode`] (shape, collects every fault), then the caller's own rules, which add to the same [`Diagnostics`].
//! It refuses to guess: what a file seems to say and what it means must be the same.

mod advice;
mod diagnostic;
mod document;
mod file;
mod json;
mod node;
mod publish;
mod schema;
mod setting;
mod snippet;
mod span;
mod strict;
mod violation;
mod wording;
mod yaml;

pub use diagnostic::{Diagnostic, Diagnostics, MOST_SHOWN, Row, Severity};
pub use document::Document;
pub use file::{Format, MAX_SOURCE_BYTES, SourceError, SourceFile};
pub use publish::{schema_of_file, schema_of_output, schema_of_strict_file};
pub use schema::{decode, schema_of};
pub use setting::parse_settings;
pub use span::{Position, Span};
pub use strict::parse_strict_json;
pub use violation::UnknownKeys;
pub use yaml::{YamlRefusal, parse_yaml_value, to_yaml, yaml_refusal};
