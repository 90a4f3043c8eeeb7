//! Owns what the doctor finds, and how a person reads it.

use console::Style;
use serde::Serialize;

use crate::cli::ui::Ui;
use crate::error::Error;
use crate::render::{cell, wrap};

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    /// As it should be.
    Ok,
    /// Worth knowing, and no run fails for it.
    Warn,
    /// A run needs it.
    Fail,
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }

    fn style(self) -> Style {
        match self {
            Self::Ok => Style::new().green(),
            Self::Warn => Style::new().yellow(),
            Self::Fail => Style::new().red().bold(),
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    check: &'static str,
    pub(super) status: Status,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Finding {
    /// Returns that something is as it should be.
    pub(super) fn ok(check: &'static str, detail: impl Into<String>) -> Self {
        Self { check, status: Status::Ok, detail: detail.into(), hint: None }
    }

    /// Returns what a person should know.
    pub(super) fn warn(check: &'static str, detail: impl Into<String>) -> Self {
        Self { status: Status::Warn, ..Self::ok(check, detail) }
    }

    /// Returns what keeps a run from its work.
    pub(super) fn fail(check: &'static str, detail: impl Into<String>) -> Self {
        Self { status: Status::Fail, ..Self::ok(check, detail) }
    }

    /// Returns that a run would end with an error.
    pub(super) fn broken(check: &'static str, error: &Error) -> Self {
        let (detail, hint) = match error {
            Error::Usage(message) | Error::Broken(message) | Error::Late(message) => {
                let parts = std::iter::once(&message.text).chain(&message.causes);
                (parts.map(String::as_str).collect::<Vec<_>>().join(": "), message.hint.clone())
            }
            Error::Invalid(_) => (error.to_string(), None),
        };
        Self { hint, ..Self::fail(check, detail) }
    }

    /// Returns the finding as one that no run fails for.
    pub(super) fn only_a_warning(self) -> Self {
        Self { status: self.status.min(Status::Warn), ..self }
    }

    /// Returns the finding with what to do about it.
    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// Columns before a detail.
const INDENT: usize = 21;

/// Returns the findings one below the other, each with what to do.
pub(super) fn page(findings: &[Finding], ui: &Ui) -> String {
    let room = ui.data_width.map(|width| width.saturating_sub(INDENT).clamp(20, 100));
    let mut page = String::new();
    for Finding { check, status, detail, hint } in findings {
        let sign = status.style().force_styling(ui.data_color).apply_to(format!("{:4}", status.name()));
        let hint = hint.as_ref().map(|hint| format!("hint: {hint}"));
        let lines = std::iter::once(detail).chain(&hint).flat_map(|words| match room {
            Some(room) => wrap(&cell(words), room),
            None => vec![cell(words)],
        });
        for (at, line) in lines.enumerate() {
            if at == 0 {
                page += &format!("{sign}  {check:13}  {line}\n");
            } else {
                page += &format!("{:INDENT$}{line}\n", "");
            }
        }
    }
    let count = |status| findings.iter().filter(|finding| finding.status == status).count();
    let (warned, failed) = (count(Status::Warn), count(Status::Fail));
    let end = match (failed, warned) {
        (0, 0) => "all is well".to_owned(),
        (0, warned) => format!("nothing that a run needs is missing; worth a look: {warned}"),
        (failed, _) => format!("what a run needs and does not find: {failed}"),
    };
    page + "\n" + &end + "\n"
}
