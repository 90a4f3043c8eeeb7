//! Owns the reading of recorded events, one JSON object a line.
//!
//! A form that is newer than this program is refused. Facts that it does not know yet are counted and passed over, and so is a last line
//! that was cut: tepa may have been killed while it wrote it.

use std::borrow::Cow;
use std::io::{self, BufRead};
use std::sync::Arc;

use serde_json::Value;

use super::{Envelope, Kept, RunEvent, SCHEMA, Wire};

/// Why a record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The operating system says no.
    #[error("the record cannot be read")]
    Unreadable(#[from] io::Error),
    /// It is of another version.
    #[error("the record has the form `{0}`, and this tepa reads `{SCHEMA}`")]
    Schema(String),
    /// It is no record.
    #[error("line {0} of the record is no event")]
    NoEvent(usize),
    /// An output that it names.
    #[error("line {line} of the record names the output `{file}`, and that cannot be used")]
    Output {
        /// Where.
        line: usize,
        /// The name of its file.
        file: String,
        /// Why not.
        source: io::Error,
    },
    /// There is nothing in it.
    #[error("the record is empty")]
    Empty,
}

/// Hands every recorded event to `take`; returns how many facts there are that this program does not know.
///
/// # Errors
/// The record cannot be read, is of another version, or is none.
pub fn read(lines: impl BufRead, take: impl FnMut(Envelope<'static>)) -> Result<usize, RecordError> {
    read_whole(lines, |_| Err(io::Error::other("nothing is kept here beside the record")), take)
}

/// As [`read`], with the outputs that are kept beside the record, as `fetch` returns them.
///
/// # Errors
/// As [`read`], or there is an output that cannot be fetched.
pub fn read_whole(
    lines: impl BufRead,
    mut fetch: impl FnMut(&Kept) -> io::Result<Value>,
    mut take: impl FnMut(Envelope<'static>),
) -> Result<usize, RecordError> {
    let mut unknown = 0;
    let mut events = 0;
    let mut lines = lines.lines().enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        let line = line?;
        let Ok(value) = serde_json::from_str::<Value>(&line) else {
            if lines.peek().is_none() && events > 0 {
                break;
            }
            return Err(RecordError::NoEvent(at + 1));
        };
        let schema = value.get("schema").and_then(Value::as_str).ok_or(RecordError::NoEvent(at + 1))?;
        if schema != SCHEMA {
            return Err(RecordError::Schema(schema.to_owned()));
        }
        events += 1;
        match serde_json::from_value::<Wire<RunEvent>>(value) {
            Ok(Wire { seq, ts, run_id, redacted, mut event, .. }) => {
                for output in event.outputs_mut() {
                    let Some(kept) = Kept::named_by(output) else { continue };
                    let kept = kept.map_err(|_| RecordError::NoEvent(at + 1))?;
                    *output = Arc::new(fetch(&kept).map_err(|source| RecordError::Output {
                        line: at + 1,
                        file: kept.file(),
                        source,
                    })?);
                }
                take(Envelope { seq, ts, run_id, event: Cow::Owned(event), redacted, line });
            }
            Err(_) => unknown += 1,
        }
    }
    if events == 0 {
        return Err(RecordError::Empty);
    }
    Ok(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(event: &str) -> String {
        format!(r#"{{"schema":"{SCHEMA}","seq":1,"ts":"2026-01-01T00:00:00Z","runId":"r",{event}}}"#)
    }

    #[test]
    fn a_cut_last_line_and_unknown_facts_are_passed_over() {
        let known = line(r#""type":"cycle.started","cycle":1"#);
        let newer = line(r#""type":"moon.rose""#);
        let mut events = Vec::new();
        let record = format!("{known}\n{newer}\n{}", &known[..40]);
        let unknown = read(record.as_bytes(), |envelope| events.push(envelope.event.into_owned())).unwrap();
        assert_eq!((events, unknown), (vec![RunEvent::CycleStarted { cycle: 1 }], 1));
    }

    #[test]
    fn what_is_no_record_is_refused() {
        let refused = |text: &str| read(text.as_bytes(), |_| {}).unwrap_err().to_string();
        assert_eq!(refused(""), "the record is empty");
        assert_eq!(refused("hello\n"), "line 1 of the record is no event");
        assert_eq!(refused("{}\n{}\n"), "line 1 of the record is no event");
        let newer = line(r#""type":"cycle.started","cycle":1"#).replace("events/1", "events/2");
        assert_eq!(
            refused(&newer),
            "the record has the form `tepa.events/2`, and this tepa reads `tepa.events/1`"
        );
    }
}
