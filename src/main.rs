//! argv in, exit code out.

use std::process::ExitCode;

fn main() -> ExitCode {
    // A bug outside of a run must not look like a verdict: the code of a panic would be 101.
    std::panic::catch_unwind(|| tepa::cli::main(std::env::args_os())).unwrap_or(ExitCode::from(4))
}
