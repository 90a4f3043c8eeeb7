//! Owns the arguments of `tepa runs replay`: how fast, and for whom.

use clap::Args;

use super::values::OutputArgument;

#[derive(Debug, Args)]
pub(in crate::cli) struct ReplayArguments {
    /// A run: its id, the beginning of its id, or `latest`
    pub(in crate::cli) run: String,
    /// Keep the pauses of the run, divided by this [default: no pauses]
    #[arg(long, value_name = "N", value_parser = speed)]
    pub(in crate::cli) speed: Option<f64>,
    /// What standard output carries: the feedback, one result object, or one event a line
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    pub(in crate::cli) output: OutputArgument,
}

fn speed(text: &str) -> Result<f64, String> {
    let speed: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    if speed.is_finite() && speed > 0.0 { Ok(speed) } else { Err(format!("`{text}` is not above zero")) }
}
