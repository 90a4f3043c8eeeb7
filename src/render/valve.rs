//! Owns what happens when the place that is written to breaks: the fault is told once, then nothing is written.
//!
//! A reader who went away (a broken pipe) is no fault: whoever closed the pipe has read enough.

use std::io;

/// Lets writes through until one of them fails.
#[derive(Debug, Default)]
pub(super) struct Valve {
    shut: bool,
}

impl Valve {
    /// Performs `write` unless an earlier one failed.
    pub(super) fn pass(&mut self, write: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        if self.shut {
            return Ok(());
        }
        match write() {
            Ok(()) => Ok(()),
            Err(error) => {
                self.shut = true;
                if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_told_once() {
        let mut valve = Valve::default();
        assert!(valve.pass(|| Err(io::ErrorKind::StorageFull.into())).is_err());
        assert!(valve.pass(|| panic!("nothing is written after a fault")).is_ok());
    }

    #[test]
    fn a_broken_pipe_is_not_told() {
        let mut valve = Valve::default();
        assert!(valve.pass(|| Err(io::ErrorKind::BrokenPipe.into())).is_ok());
        assert!(valve.pass(|| panic!("nothing is written after a fault")).is_ok());
    }
}
