//! Owns the place of a run among spans: the trace that it belongs to, the span above it, and its own.
//!
//! What the environment says of it in a form that the W3C does not know is passed over, and a trace of its own begins.

use std::fmt::Write as _;

use uuid::Uuid;

use crate::config::{Environment, TRACE_PARENT, TRACE_STATE};

/// Whether the context of a span is known to have come from elsewhere, and that it has.
const REMOTE: u32 = 0x300;

/// That it is known to be of this process.
const LOCAL: u32 = 0x100;

/// What a span is called.
pub(super) type Id = [u8; 8];

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Context {
    /// The trace.
    pub(super) trace: [u8; 16],
    /// The span above the run.
    pub(super) parent: Option<Id>,
    /// The span of the run.
    pub(super) run: Id,
    /// Notes of vendors, handed on as they are.
    pub(super) state: String,
    /// What the trace says of itself: `01` where it is recorded.
    flags: u8,
}

impl Context {
    /// Returns the context that the environment gives, or a new one.
    pub(super) fn of(environment: &Environment) -> Self {
        let run = new_id();
        let Some((trace, parent, flags)) = environment.variable(TRACE_PARENT).and_then(parse) else {
            let trace = Uuid::new_v4().into_bytes();
            return Self { trace, parent: None, run, state: String::new(), flags: 1 };
        };
        let state = environment.variable(TRACE_STATE).unwrap_or_default().to_owned();
        Self { trace, parent: Some(parent), run, state, flags }
    }

    /// Returns whether who began the trace wants it recorded.
    pub(super) fn is_sampled(&self) -> bool {
        self.flags & 1 == 1
    }

    /// Returns what a child of the run finds in its environment.
    pub(super) fn for_children(&self) -> String {
        format!("00-{}-{}-{:02x}", hex(&self.trace), hex(&self.run), self.flags)
    }

    /// Returns the flags of a span, as OTLP writes them.
    pub(super) fn flags_below(&self, remote: bool) -> u32 {
        u32::from(self.flags) | if remote { REMOTE } else { LOCAL }
    }
}

/// Returns an id that no other span has.
pub(super) fn new_id() -> Id {
    // The second half of a random UUID begins with two fixed bits, so it is never zero, which would be no id.
    Uuid::new_v4().as_u64_pair().1.to_be_bytes()
}

fn parse(text: &str) -> Option<([u8; 16], Id, u8)> {
    let mut parts = text.trim().split('-');
    let [version] = bytes(parts.next()?)?;
    let (trace, parent, [flags]) = (bytes(parts.next()?)?, bytes(parts.next()?)?, bytes(parts.next()?)?);
    // Later versions may say more; this one does not.
    let whole = version != 0 || parts.next().is_none();
    (version != 0xff && whole && trace != [0; 16] && parent != [0; 8]).then_some((trace, parent, flags & 1))
}

fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    let hexadecimal = digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    if digits.len() != 2 * N || !hexadecimal {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn context(parent: &str) -> Context {
        let variables = [(TRACE_PARENT, parent), (TRACE_STATE, "vendor=1")];
        Context::of(&Environment::of("/".into(), variables.map(|(name, value)| (name.into(), value.into()))))
    }

    #[test]
    fn a_run_is_a_child_of_the_span_in_its_environment() {
        let context = context(PARENT);
        assert_eq!(hex(&context.trace), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(context.parent.map(|parent| hex(&parent)).as_deref(), Some("00f067aa0ba902b7"));
        assert!(context.is_sampled());
        assert_eq!(context.state, "vendor=1");
        let own = hex(&context.run);
        assert_eq!(context.for_children(), format!("00-4bf92f3577b34da6a3ce929d0e0e4736-{own}-01"));
    }

    #[test]
    fn a_later_version_counts_and_what_is_malformed_does_not() {
        let trace = |parent: &str| context(parent).parent.is_some();
        assert!(trace(&PARENT.replace("00-4", "01-4")));
        assert!(trace(&(PARENT.replace("00-4", "cc-4") + "-more")));
        for malformed in [
            "",
            "00",
            "x",
            &PARENT.to_uppercase(),
            &PARENT[..54],
            &(PARENT.to_owned() + "-more"),
            &PARENT.replace("00-4", "ff-4"),
            &PARENT.replace("00f067aa0ba902b7", "0000000000000000"),
            &PARENT.replace("4bf92f3577b34da6a3ce929d0e0e4736", "00000000000000000000000000000000"),
            &PARENT.replace("4b", "ä"),
        ] {
            let context = context(malformed);
            assert_eq!((context.parent, context.state.as_str()), (None, ""), "{malformed}");
            assert!(context.is_sampled());
        }
    }

    #[test]
    fn what_nobody_records_stays_unrecorded() {
        assert!(!context(&PARENT.replace("-01", "-00")).is_sampled());
    }
}
