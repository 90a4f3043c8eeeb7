//! Owns the report as JUnit XML: one `<testsuite>`, a `<testcase>` for everything that is judged.
//!
//! The form is that of Maven Surefire's `surefire-test-report.xsd`, which Jenkins' `junit-10.xsd` (xUnit plugin) takes as well: the root is the suite
//! itself, every case has a class name and a time, every failure a type. Who overruled the verdict stands in the
//! `<system-out>` of its case, because a case has no properties there. Nothing else is written: the schemas refuse it.

use std::fmt::Write as _;

use super::case::{Case, Kind, Outcome, cases};
use super::clean;
use super::fold::Report;
use super::words;
use crate::outcome::{Reason, RunStatus, Usage};

/// Characters of a suite's name and of a message.
const LONGEST_LINE: usize = 200;

/// Returns the report.
pub(super) fn render(report: &Report) -> String {
    let cases = cases(report);
    let count = |outcome| cases.iter().filter(|case| case.outcome == outcome).count();
    let goal = report.prompt.as_ref().map_or("", |prompt| &prompt.goal);
    let time = seconds(report.result.as_ref().map_or(0, |result| result.duration_ms));
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{}\" time=\"{time}\" tests=\"{}\" errors=\"{}\" skipped=\"{}\" failures=\"{}\">\n",
        attribute(&clean::line(goal, LONGEST_LINE)),
        cases.len(),
        count(Outcome::Broken),
        count(Outcome::Skipped),
        count(Outcome::Failed),
    );
    xml += "  <properties>\n";
    for (name, value) in properties(report) {
        let _ = writeln!(
            xml,
            "    <property name=\"{}\" value=\"{}\"/>",
            attribute(&name),
            attribute(&clean::text(&value))
        );
    }
    xml += "  </properties>\n";
    for (at, case) in cases.iter().enumerate() {
        // The verdict took as long as the run; all times together are its duration.
        let time = if at == 0 { &time } else { "0.000" };
        xml += &element(case, time, report);
    }
    xml += "</testsuite>\n";
    xml
}

fn element(case: &Case, time: &str, report: &Report) -> String {
    let head = format!(
        "  <testcase name=\"{}\" classname=\"tepa.{}\" time=\"{time}\"",
        attribute(&case.name),
        case.kind.name().replace(' ', "-")
    );
    let message = attribute(&clean::line(&case.detail, LONGEST_LINE));
    let body = content(&case.detail);
    let kind = case.kind.name();
    let said = if case.kind == Kind::Verdict { words::overrulings(report.evaluation()) } else { Vec::new() };
    let mut inner = match case.outcome {
        Outcome::Passed => String::new(),
        Outcome::Failed => format!("    <failure message=\"{message}\" type=\"{kind}\">{body}</failure>\n"),
        Outcome::Broken => {
            format!("    <error message=\"{message}\" type=\"{}\">{body}</error>\n", reason(report))
        }
        Outcome::Skipped => format!("    <skipped message=\"{message}\"/>\n"),
    };
    if !said.is_empty() {
        let said = content(&clean::text(&said.join("\n")));
        let _ = writeln!(inner, "    <system-out>{said}</system-out>");
    }
    if inner.is_empty() {
        return format!("{head}/>\n");
    }
    format!("{head}>\n{inner}  </testcase>\n")
}

fn properties(report: &Report) -> Vec<(String, String)> {
    let mut properties = vec![
        ("run-id".to_owned(), report.run_id.clone()),
        ("tepa".to_owned(), report.version.clone()),
        ("provider".to_owned(), report.provider.clone()),
    ];
    properties.extend(report.models.iter().map(|(role, model)| (format!("model.{role}"), model.clone())));
    let Some(result) = &report.result else { return properties };
    let status = match result.status {
        Some(RunStatus::Pass) => "pass",
        Some(RunStatus::Fail) => "fail",
        Some(RunStatus::Terminated) => "terminated",
        None => "none",
    };
    let mut add = |name: &str, value: String| properties.push((name.to_owned(), value));
    add("status", status.to_owned());
    add("reason", wire(result.reason));
    add("exit-code", result.exit_code.to_string());
    add("cycles", result.cycles.to_string());
    let mut spent = |of: &str, usage: Usage| {
        add(&format!("tokens{of}"), usage.total().to_string());
        add(&format!("tokens{of}.input"), usage.input.to_string());
        add(&format!("tokens{of}.output"), usage.output.to_string());
        add(&format!("tokens{of}.cached"), usage.cached.to_string());
    };
    spent("", result.usage.total);
    for (role, usage) in &result.usage.by_role {
        spent(&format!(".{role}"), *usage);
    }
    if let Some(usd) = result.cost.usd {
        add("cost.usd", usd.to_string());
    }
    add("cost.qualifier", wire(result.cost.qualifier));
    properties
}

fn reason(report: &Report) -> String {
    wire(report.result.as_ref().map_or(Reason::InternalError, |result| result.reason))
}

/// Returns a name as it stands in the result.
pub(super) fn wire(name: impl serde::Serialize) -> String {
    let value = serde_json::to_value(name).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

fn seconds(milliseconds: u64) -> String {
    format!("{}.{:03}", milliseconds / 1000, milliseconds % 1000)
}

fn content(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn attribute(text: &str) -> String {
    content(text).replace('"', "&quot;").replace('\n', "&#10;").replace('\t', "&#9;")
}
