//! Owns the least that one cycle reads, and the budgets that do not even allow that.

use serde_json::Value;

use crate::source::{Diagnostic, Diagnostics, Document};
use crate::template;
use crate::text;

/// Refuses a budget of tokens below what models are told in one cycle whatever the task is.
pub(in crate::cli) fn check(document: &Document, faults: &mut Diagnostics) {
    const KEY: &str = "/limits/maxTokens";
    let floor = text::tokens_in(template::fixed_characters());
    let Some(limit) = document.value().pointer(KEY).and_then(Value::as_u64).filter(|limit| *limit < floor)
    else {
        return;
    };
    let message = format!(
        "{} tokens are not enough for one cycle: its fixed texts alone take about {}",
        text::grouped(limit),
        text::grouped(floor)
    );
    let fault = Diagnostic::error("budget", message).at(document.span_of_value(KEY));
    faults.push(fault.hint("a small task takes some ten thousand; `tepa plan` says what a plan will take"));
}
