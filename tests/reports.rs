//! Holds the reports of a run to what CI systems accept, whatever the run did and whatever stands in it.

#![cfg(test)]
#![cfg(unix)]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use regex::Regex;
use serde_json::{Value, json};
use sha2::Digest as _;
use tempfile::TempDir;
use tepa::report::{Format, Report};

use support::{eventually, finish, tepa, text};

const PROMPT: &str = "\
goal: Write <two> files & say \"so\".
context: {}
expectedOutput:
  - path: a.txt
    description: the first
    criteria: [it says hello, it is short]
  - path: b.txt
    description: the second
";

/// Returns a folder with a prompt and replies: a plan with one step that writes a.txt, then `rest`.
fn folder(rest: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("prompt.yaml"), PROMPT).unwrap();
    let replies = format!(
        "format: tepa.replay/1
replies:
  - stage: planner
    json: {{reasoning: r, estimatedTokens: 10, steps: [{{id: one, description: write it, tools: [file_write], expectedOutcome: written, dependencies: []}}]}}
    usage: {{input: 10, output: 5}}
{rest}"
    );
    fs::write(folder.path().join("prompt.replay.yaml"), replies).unwrap();
    folder
}

const WRITES_ONE: &str =
    "  - {stage: step, step: one, tool: file_write, toolUse: {path: a.txt, content: hello}}\n";
const PASS: &str = "  - {stage: evaluator, json: {verdict: pass, confidence: 0.9, summary: done, criteria: [\
    {id: C1, verdict: pass, reason: it does, evidence: E1, quote: hello}, {id: C2, verdict: pass, reason: one word, evidence: E1, quote: hello}]}}\n";

fn run(folder: &Path) -> Command {
    let mut command = tepa(folder);
    command.args(["run", "prompt.yaml", "--provider", "replay", "--max-cycles", "1"]);
    command
}

/// Runs, and returns the exit code and the JUnit report.
fn junit(folder: &TempDir) -> (Option<i32>, String) {
    let output = finish(run(folder.path()).args(["--report", "junit=report.xml"]));
    let xml = fs::read_to_string(folder.path().join("report.xml"));
    (output.status.code(), xml.unwrap_or_else(|e| panic!("{e}: {}", text(&output.stderr))))
}

/// One element of a document, in the order of its start.
struct Element {
    parent: Option<usize>,
    name: String,
    attributes: Vec<(String, String)>,
}

impl Element {
    fn get(&self, name: &str) -> &str {
        self.attributes.iter().find(|(own, _)| own == name).map_or("", |(_, value)| value)
    }
}

/// Reads a document strictly: what is not well-formed panics.
fn elements(xml: &str) -> Vec<Element> {
    let tag = Regex::new(r#"(?s)<(/?)([a-z-]+)((?: [a-z]+="[^"<]*")*)(/?)>|<"#).unwrap();
    let attribute = Regex::new(r#"(?s) ([a-z]+)="([^"]*)""#).unwrap();
    let reference = Regex::new(r"&(amp|lt|gt|quot|#10|#9);|&").unwrap();
    let body = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").unwrap();
    assert!(body.chars().all(|c| c >= ' ' || c == '\n' || c == '\t'), "a character that XML cannot hold");
    for found in reference.captures_iter(body) {
        assert!(found.get(1).is_some(), "a bare ampersand");
    }
    let mut elements: Vec<Element> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for found in tag.captures_iter(body) {
        let name = found.get(2).unwrap_or_else(|| panic!("a bare `<` in {body}")).as_str().to_owned();
        if &found[1] == "/" {
            assert_eq!(elements[open.pop().unwrap()].name, name);
            continue;
        }
        let attributes = attribute.captures_iter(&found[3]);
        let attributes = attributes.map(|pair| (pair[1].to_owned(), pair[2].to_owned())).collect();
        elements.push(Element { parent: open.last().copied(), name, attributes });
        if &found[4] != "/" {
            open.push(elements.len() - 1);
        }
    }
    assert!(open.is_empty());
    elements
}

/// Compares with the rules of surefire-test-report.xsd as far as they concern what tepa writes; all of it is valid in junit-10.xsd as well.
fn assert_surefire(xml: &str) -> Vec<Element> {
    let elements = elements(xml);
    let time = Regex::new(r"^\d+\.\d{3}$").unwrap();
    let rules: [(&str, &str, &[&str]); 8] = [
        ("testsuite", "", &["name", "time", "tests", "errors", "skipped", "failures"]),
        ("properties", "testsuite", &[]),
        ("property", "properties", &["name", "value"]),
        ("testcase", "testsuite", &["name", "classname", "time"]),
        ("failure", "testcase", &["message", "type"]),
        ("error", "testcase", &["message", "type"]),
        ("skipped", "testcase", &["message"]),
        ("system-out", "testcase", &[]),
    ];
    for element in &elements {
        let parent = element.parent.map_or("", |at| elements[at].name.as_str());
        let (_, _, attributes) =
            rules.iter().find(|(name, of, _)| *name == element.name && *of == parent).unwrap();
        assert_eq!(
            element.attributes.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            **attributes
        );
        assert!(attributes.iter().all(|name| *name != "time" || time.is_match(element.get(name))));
    }
    let count = |name: &str| elements.iter().filter(|element| element.name == name).count().to_string();
    let suite = &elements[0];
    assert_eq!(elements.iter().filter(|element| element.parent.is_none()).count(), 1);
    for (attribute, of) in
        [("tests", "testcase"), ("errors", "error"), ("failures", "failure"), ("skipped", "skipped")]
    {
        assert_eq!(suite.get(attribute), count(of), "{attribute}");
    }
    elements
}

/// Returns each case with how it came out.
fn outcomes(elements: &[Element]) -> Vec<(String, &str)> {
    let cases = elements.iter().enumerate().filter(|(_, element)| element.name == "testcase");
    cases
        .map(|(at, case)| {
            // What was said comes after how it came out.
            let inner = elements.iter().find(|inner| inner.parent == Some(at));
            let inner = inner.filter(|inner| inner.name != "system-out");
            (case.get("name").to_owned(), inner.map_or("passed", |inner| inner.name.as_str()))
        })
        .collect()
}

fn shown(xml: &str) -> String {
    let elements = assert_surefire(xml);
    let lines = outcomes(&elements).into_iter().map(|(name, outcome)| format!("{outcome} {name}\n"));
    lines.collect::<Vec<_>>().concat()
}

#[test]
fn a_pass_is_a_suite_without_failures_that_says_what_it_cost() {
    let folder = folder(&format!(
        "  - {{stage: step, step: one, tool: file_write, toolUse: {{path: a.txt, content: hello}}}}\n{PASS}"
    ));
    fs::write(folder.path().join("b.txt"), "there").unwrap();
    let (code, xml) = junit(&folder);
    assert_eq!(code, Some(0));
    assert_eq!(
        shown(&xml),
        "passed verdict\npassed a.txt\npassed a.txt: it says hello\npassed a.txt: it is short\npassed exists a.txt\npassed b.txt\npassed exists b.txt\n"
    );
    let elements = elements(&xml);
    assert_eq!(elements[0].get("name"), "Write &lt;two&gt; files &amp; say &quot;so&quot;.");
    let property = |name: &str| {
        let found = elements.iter().find(|e| e.name == "property" && e.get("name") == name).unwrap();
        found.get("value").to_owned()
    };
    assert_eq!(property("exit-code"), "0");
    assert_eq!(property("tokens.planner"), "15");
    assert_eq!(property("cost.qualifier"), "priced");
}

#[test]
fn what_was_found_wanting_fails_and_the_rest_stands_with_the_verdict() {
    let (code, xml) = junit(&folder(&format!("{WRITES_ONE}{PASS}")));
    assert_eq!(code, Some(1));
    assert_eq!(
        shown(&xml),
        "failure verdict\npassed a.txt\npassed a.txt: it says hello\npassed a.txt: it is short\npassed exists a.txt\nfailure b.txt\nfailure exists b.txt\n"
    );
    assert!(xml.contains("actual   does not exist"), "{xml}");
}

#[test]
fn a_run_without_a_verdict_is_an_error_and_what_it_did_not_reach_is_skipped() {
    // The evaluator has no reply: exit 4.
    let (code, xml) = junit(&folder(WRITES_ONE));
    assert_eq!(code, Some(4));
    let cases = shown(&xml);
    assert!(cases.starts_with("error verdict\nskipped a.txt\n"), "{cases}");
    assert!(xml.contains("type=\"provider_error\""), "{xml}");
    let unreached = folder("");
    fs::write(unreached.path().join("prompt.replay.yaml"), "format: tepa.replay/1\nreplies: []\n").unwrap();
    let (code, xml) = junit(&unreached);
    assert_eq!(code, Some(4));
    let cases = shown(&xml);
    let (first, rest) = cases.split_once('\n').unwrap();
    assert_eq!(first, "error verdict");
    assert!(rest.lines().all(|line| line.starts_with("skipped ")), "{cases}");
}

#[test]
fn a_signal_leaves_reports_behind() {
    let folder = folder("");
    let replies = fs::read_to_string(folder.path().join("prompt.replay.yaml")).unwrap();
    let replies = replies.replace("file_write", "shell_execute")
        + "  - {stage: step, step: one, tool: shell_execute, toolUse: {command: 'touch begun; sleep 60'}}\n";
    fs::write(folder.path().join("prompt.replay.yaml"), replies).unwrap();
    let mut command = run(folder.path());
    command.args(["--report", "junit=report.xml"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    eventually(|| folder.path().join("begun").exists().then_some(()));
    finish(Command::new("kill").args(["-INT", &child.id().to_string()]));
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let xml = fs::read_to_string(folder.path().join("report.xml")).unwrap();
    assert!(shown(&xml).starts_with("error verdict\n"), "{xml}");
    assert!(xml.contains("type=\"interrupted\""), "{xml}");
}

#[test]
fn a_report_that_cannot_be_written_is_found_before_the_run() {
    let folder = folder(&format!("{WRITES_ONE}{PASS}"));
    for (report, says) in [
        ("junit=no/such/folder.xml", "cannot write the junit report"),
        ("junit=.", "cannot write the junit report"),
        ("xml=a", "`xml` is no format of a report"),
        ("junit", "FORMAT=FILE"),
        ("junit=", "it names no file"),
    ] {
        let output = finish(run(folder.path()).args(["--report", report]));
        assert_eq!(output.status.code(), Some(2), "{report}");
        assert!(text(&output.stderr).contains(says), "{}", text(&output.stderr));
        assert!(!folder.path().join("a.txt").exists());
    }
}

#[test]
fn a_report_that_is_lost_on_the_way_is_no_pass() {
    // The run itself takes the folder away that the report is to lie in.
    let folder = folder("");
    fs::create_dir(folder.path().join("reports")).unwrap();
    fs::write(folder.path().join("b.txt"), "there").unwrap();
    let replies = fs::read_to_string(folder.path().join("prompt.replay.yaml")).unwrap();
    let replies = replies.replace("file_write", "shell_execute")
        + "  - {stage: step, step: one, tool: shell_execute, toolUse: {command: 'rmdir reports; echo hello > a.txt'}}\n"
        + PASS;
    fs::write(folder.path().join("prompt.replay.yaml"), replies).unwrap();
    let reports =
        ["--report", "junit=first.xml", "--report", "junit=reports/lost.xml", "--result", "result.json"];
    let output = finish(run(folder.path()).args(reports));
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    // Whoever could be written says so too.
    let xml = fs::read_to_string(folder.path().join("first.xml")).unwrap();
    assert!(shown(&xml).starts_with("error verdict\n"), "{xml}");
    let result = fs::read_to_string(folder.path().join("result.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&result).unwrap()["exitCode"], 4);
}

#[test]
fn the_variable_names_reports_as_well() {
    let folder = folder(&format!("{WRITES_ONE}{PASS}"));
    let output = finish(run(folder.path()).env("TEPA_REPORT", "junit=a.xml,junit=b.xml"));
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    for file in ["a.xml", "b.xml"] {
        assert_surefire(&fs::read_to_string(folder.path().join(file)).unwrap());
    }
}

#[test]
fn github_gets_a_summary_outputs_and_annotations_and_obeys_nothing_else() {
    let folder = folder("");
    let evil = "no\n::set-output name=status::pass\n<img src=x> | `` ``` %0A";
    let replies = fs::read_to_string(folder.path().join("prompt.replay.yaml")).unwrap()
        + WRITES_ONE
        + &format!(
            "  - {{stage: evaluator, json: {}}}\n",
            json!({"verdict": "fail", "confidence": 0.9, "feedback": evil, "criteria": [
                {"id": "C1", "verdict": "fail", "reason": evil, "evidence": "E1", "quote": ""},
                {"id": "C2", "verdict": "pass", "reason": evil, "evidence": "E1", "quote": "hello"}]})
        );
    fs::write(folder.path().join("prompt.replay.yaml"), replies).unwrap();
    fs::write(folder.path().join("summary"), "before\n").unwrap();
    let mut command = run(folder.path());
    command
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_OUTPUT", "outputs")
        .env("GITHUB_STEP_SUMMARY", "summary");
    let output = finish(&mut command);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let stderr = text(&output.stderr);
    let (token, rest) = stderr.strip_prefix("::stop-commands::").unwrap().split_once('\n').unwrap();
    let (said, annotations) = rest.split_once(&format!("::{token}::\n")).unwrap();
    assert!(said.contains("set-output"), "{said}");
    let lines: Vec<_> = annotations.lines().collect();
    assert!(lines.iter().all(|line| line.starts_with("::error title=tepa%3A ")), "{annotations}");
    assert!(lines[0].contains("%0A::set-output name=status::pass%0A"), "{annotations}");
    assert!(lines[0].contains("%250A"), "{annotations}");

    let outputs = fs::read_to_string(folder.path().join("outputs")).unwrap();
    let form = Regex::new(r"^(?:[a-z-]+<<(tepa-[0-9a-f]{32})\n[^\n]*\ntepa-[0-9a-f]{32}\n){4}$").unwrap();
    assert!(form.is_match(&outputs), "{outputs}");
    assert!(outputs.contains("\nfail\n") && outputs.contains("\n1\n"), "{outputs}");
    let result = outputs.lines().find(|line| line.ends_with("result.json")).unwrap();
    assert!(Path::new(result).exists(), "{result}");

    let summary = fs::read_to_string(folder.path().join("summary")).unwrap();
    assert!(summary.starts_with("before\n# ✗ fail: Write &lt;two&gt; files &amp; say"), "{summary}");
    assert!(!summary.replace(evil, "").contains("<img"), "{summary}");
    assert!(summary.contains(&format!("````text\n{evil}")), "{summary}");
}

#[test]
fn github_is_told_of_a_run_that_never_began() {
    let folder = folder(PASS);
    for (arguments, code) in [(["--replay", "absent.yaml"], "2"), (["--config", "late.yaml"], "4")] {
        let server = json!({"mcpServers": {"own": {"command": "no-such-program"}}});
        fs::write(folder.path().join("late.yaml"), server.to_string()).unwrap();
        let output = finish(run(folder.path()).args(arguments).env("GITHUB_OUTPUT", "outputs"));
        assert_eq!(output.status.code(), code.parse().ok(), "{}", text(&output.stderr));
        let outputs = fs::read_to_string(folder.path().join("outputs")).unwrap();
        let lines: Vec<&str> = outputs.lines().collect();
        assert!(lines[0].starts_with("status<<") && lines[3].starts_with("exit-code<<"), "{outputs}");
        assert_eq!((lines[1], lines[4], lines.len()), ("none", code, 6), "{outputs}");
        fs::remove_file(folder.path().join("outputs")).unwrap();
    }
}

#[test]
fn a_file_that_github_promised_has_to_be_there() {
    let folder = folder(&format!("{WRITES_ONE}{PASS}"));
    let output = finish(run(folder.path()).env("GITHUB_OUTPUT", "no/such/file"));
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("which `GITHUB_OUTPUT` names"), "{}", text(&output.stderr));
}

#[test]
fn markdown_shows_the_cycles_and_what_was_found_wanting() {
    let markdown = Format::Markdown.render(&recorded(&fixture("run.jsonl"))).unwrap();
    for holds in [
        "# ✓ pass",
        "## What was judged",
        "## Cycle 2: ✓ pass",
        "## Cycle 1: ✗ fail",
        "Feedback:",
        "## Tokens and cost",
    ] {
        assert!(markdown.contains(holds), "{holds} in {markdown}");
    }
}

#[test]
fn the_journal_gives_the_reports_that_the_run_wrote() {
    let folder = folder(&format!("{WRITES_ONE}{PASS}"));
    let reports = ["junit=a.xml", "markdown=a.md", "html=a.html"].map(|report| ["--report", report]);
    finish(run(folder.path()).args(reports.concat()));
    for (format, file) in [("junit", "a.xml"), ("markdown", "a.md"), ("html", "a.html")] {
        let written = fs::read_to_string(folder.path().join(file)).unwrap();
        let output = finish(tepa(folder.path()).args(["runs", "report", "latest", "--format", format]));
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout), written);
        let to_file = ["runs", "report", "0", "--format", format, "-o", "again"];
        assert_eq!(finish(tepa(folder.path()).args(to_file)).status.code(), Some(0));
        assert_eq!(fs::read_to_string(folder.path().join("again")).unwrap(), written);
    }
    for (format, holds) in [
        ("mermaid", "s0[\"one (file_write)\"]"),
        ("dot", "digraph plan {"),
        ("svg", "<title>one: write it</title>"),
    ] {
        let output = finish(tepa(folder.path()).args(["runs", "plan", "latest", "--format", format]));
        assert!(text(&output.stdout).contains(holds), "{}", text(&output.stdout));
    }
}

#[test]
fn a_run_that_is_not_there_or_not_whole_is_exit_2() {
    let folder = folder(&format!("{WRITES_ONE}{PASS}"));
    let code = |arguments: &[&str]| finish(tepa(folder.path()).arg("runs").args(arguments)).status.code();
    assert_eq!(code(&["report", "latest"]), Some(2));
    finish(&mut run(folder.path()));
    assert_eq!(code(&["report", "no-such-run"]), Some(2));
    assert_eq!(code(&["report", "latest", "-o", "no/such/folder"]), Some(4));
    let journal = fs::read_dir(folder.path().join(".tepa/runs")).unwrap().next().unwrap().unwrap().path();
    let events = journal.join("events.jsonl");
    let whole = fs::read_to_string(&events).unwrap();
    // tepa was killed in the middle of a line: the report says that there is no end.
    fs::write(&events, &whole[..whole.len() / 2]).unwrap();
    let output = finish(tepa(folder.path()).args(["runs", "report", "latest"]));
    assert!(text(&output.stdout).starts_with("# – no end"), "{}", text(&output.stdout));
    fs::write(&events, "{}\n{}\n").unwrap();
    assert_eq!(code(&["plan", "latest"]), Some(2));
}

/// Returns recorded events as a report.
fn recorded(events: &[Value]) -> Report {
    let line = |(event, seq): (&Value, u64)| {
        let mut event = event.clone();
        let ts = format!("2026-01-01T00:00:{:02}Z", seq.min(59));
        for (key, value) in [
            ("schema", json!("tepa.events/1")),
            ("seq", json!(seq)),
            ("ts", json!(ts)),
            ("runId", json!("r")),
        ] {
            event[key] = value;
        }
        format!("{event}\n")
    };
    let lines = events.iter().zip(1..).map(line).collect::<Vec<_>>().concat();
    Report::read(|take| tepa::event::read(lines.as_bytes(), take)).unwrap()
}

fn fixture(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/render/fixtures").join(name);
    let lines = fs::read_to_string(path).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn last<'e>(events: &'e mut [Value], kind: &str) -> &'e mut Value {
    events.iter_mut().rev().find(|event| event["type"] == kind).unwrap()
}

#[test]
fn hostile_text_stays_text() {
    for events in ["hostile.jsonl", "run.jsonl", "stopped.jsonl"] {
        let report = recorded(&fixture(events));
        assert_surefire(&Format::Junit.render(&report).unwrap());
        let markdown = Format::Markdown.render(&report).unwrap();
        let outside: String =
            markdown.split("```text\n").map(|part| part.rsplit("\n```").next().unwrap()).collect();
        assert!(!outside.contains("\n::") && !outside.contains('<'), "{outside}");
        assert!(markdown.chars().all(|character| character == '\n' || !character.is_control()));
    }
}

/// Returns the page's tags, each with its name and its attributes; a `<` that opens none panics.
fn tags(html: &str) -> Vec<(String, Vec<String>)> {
    let tag =
        Regex::new(r#"(?s)<(!DOCTYPE html|/?[a-z][a-z0-9]*)((?:\s+[a-zA-Z-]+(?:="[^"<]*")?)*)\s*/?>|<"#)
            .unwrap();
    let name = Regex::new(r#"\s([a-zA-Z-]+)(?:="[^"]*")?"#).unwrap();
    tag.captures_iter(html)
        .map(|found| {
            let tag = found.get(1).unwrap_or_else(|| panic!("a bare `<`")).as_str().to_owned();
            (tag, name.captures_iter(&found[2]).map(|found| found[1].to_owned()).collect())
        })
        .collect()
}

#[test]
fn a_page_holds_nothing_that_runs_and_nothing_from_elsewhere() {
    let reference = Regex::new("href=\"([^\"]*)\"").unwrap();
    for events in ["hostile.jsonl", "run.jsonl", "stopped.jsonl"] {
        let mut events = fixture(events);
        // Markup wherever text is.
        let mut text = serde_json::to_string(&events).unwrap();
        for word in ["Count the open issues by label", "Fetch the open issues", "The report"] {
            text = text.replace(word, "</pre></title><script src=//e.org>x</script><img src=x onerror='y'>");
        }
        events = serde_json::from_str(&text).unwrap();
        let html = Format::Html.render(&recorded(&events)).unwrap();
        for (tag, attributes) in tags(&html) {
            let tag = tag.trim_start_matches('/');
            let foreign =
                ["script", "img", "iframe", "object", "embed", "link", "form", "base", "foreignObject"];
            assert!(!foreign.contains(&tag), "{tag}");
            for attribute in &attributes {
                assert!(
                    !attribute.starts_with("on") && attribute != "src" && attribute != "style",
                    "{attribute}"
                );
            }
        }
        for link in reference.captures_iter(&html) {
            assert!(link[1].starts_with("#cycle-"), "{}", &link[1]);
        }
        let style = html.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
        assert!(!style.contains("url(") && !style.contains("@import"));
        let hash =
            base64::Engine::encode(&base64::engine::general_purpose::STANDARD, sha2::Sha256::digest(style));
        assert!(
            html.contains(&format!("style-src '{}'", format!("sha256-{hash}").replace('/', "&#x2f;"))),
            "the style is not the page's own"
        );
    }
}

#[test]
fn a_page_shows_every_cycle_with_its_plan_and_says_everything_in_words() {
    let html = Format::Html.render(&recorded(&fixture("run.jsonl"))).unwrap();
    assert_eq!(html.matches("<title id=\"plan-").count(), 2);
    assert_eq!(html.matches("<h2 id=\"h-cycle-").count(), 2);
    assert!(html.contains("count after fetch"), "{html}");
    assert_eq!(html.matches("<h1>").count(), 1);
    assert!(html.contains("lang=\"en\"") && html.contains("name=\"viewport\""));
}

#[test]
fn a_criterion_that_is_not_proven_fails_with_its_reason() {
    let mut events = fixture("run.jsonl");
    let started = events.iter_mut().find(|event| event["type"] == "run.started").unwrap();
    started["prompt"]["expectedOutput"] =
        json!([{"path": "a.md", "description": "d", "criteria": ["names all", "is short"]}]);
    let of = |id: &str, criterion: &str, verdict: &str| {
        json!({"id": id, "path": "a.md", "criterion": criterion, "verdict": verdict, "reason": "so",
               "evidence": "E1", "quote": "not there"})
    };
    let criteria = json!([of("C1", "names all", "pass"), of("C2", "is short", "unproven")]);
    last(&mut events, "evaluation.completed")["evaluation"]["criteria"] = criteria;
    last(&mut events, "run.completed")["result"]["status"] = json!("fail");
    let xml = Format::Junit.render(&recorded(&events)).unwrap();
    let shown = shown(&xml);
    assert!(shown.contains("passed a.md: names all\nfailure a.md: is short\n"), "{shown}");
    assert!(xml.contains("unproven\nso\nquoted from E1: not there"), "{xml}");
}

const HOSTILE: &str =
    "</mark></pre></details></li><script>x</script><img src=x onerror='y'>\u{1b}[2J\u{202e}&amp; 90% of all";

/// Returns a run of two cycles in which everything that a judge sees and says is hostile.
fn judged() -> Vec<Value> {
    let mut events = fixture("run.jsonl");
    let expected =
        json!([{"path": HOSTILE, "description": "d", "criteria": ["names all"]}, {"description": "e"}]);
    events[0]["prompt"]["expectedOutput"] = expected;
    for cycle in [2, 1] {
        let at = events
            .iter()
            .position(|event| event["type"] == "evaluation.completed" && event["cycle"] == cycle)
            .unwrap();
        let evaluation = &mut events[at]["evaluation"];
        evaluation["criteria"] = json!([{"id": "C1", "path": HOSTILE, "criterion": "names all", "verdict": "pass",
            "reason": HOSTILE, "evidence": "E1", "quote": "90% of all"}]);
        evaluation["votes"] = json!([{"verdict": "fail", "confidence": 0.5, "reason": HOSTILE},
            {"verdict": "pass", "confidence": 0.95}]);
        let long = "one line\n".repeat(40);
        let evidence = json!([
            {"id": "E1", "path": HOSTILE, "summary": HOSTILE, "shape": HOSTILE,
             "parts": [{"material": HOSTILE}, {"note": "(2 kB left out)"}, {"material": long}]},
            {"id": "E2", "summary": "names no file", "parts": [{"material": "short"}]}]);
        events.insert(at, json!({"type": "evidence.gathered", "cycle": cycle, "evidence": evidence}));
    }
    events
}

/// Panics when a link leads nowhere or to two places.
fn assert_links(html: &str) {
    let ids = Regex::new(" id=\"([^\"]*)\"").unwrap();
    let mut ids: Vec<_> = ids.captures_iter(html).map(|found| found[1].to_owned()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "an id is there twice");
    let references = Regex::new("(?:href=\"#|labelledby=\")([^\"]*)\"").unwrap();
    for reference in references.captures_iter(html) {
        for id in reference[1].split(' ') {
            assert!(ids.contains(&id.to_owned()), "{id} leads nowhere");
        }
    }
}

#[test]
fn evidence_is_on_the_page_with_what_was_quoted_and_stays_text() {
    let html = Format::Html.render(&recorded(&judged())).unwrap();
    let mut open = Vec::new();
    for (tag, attributes) in tags(&html) {
        assert!(!["script", "img"].contains(&tag.as_str()), "{tag}");
        assert!(attributes.iter().all(|attribute| !attribute.starts_with("on")));
        // What a file says closes nothing.
        match tag.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop().as_deref(), Some(closed)),
            None if ["!DOCTYPE html", "meta", "rect", "path"].contains(&tag.as_str()) => {}
            None => open.push(tag),
        }
    }
    assert_eq!(open, [""; 0]);
    assert!(html.chars().all(|c| c == '\n' || !(c.is_control() || c == '\u{202e}')));
    assert_links(&html);
    for cycle in ["cycle-1", "cycle-2"] {
        let (_, own) = html.split_once(&format!("<li id=\"{cycle}-E1\"")).unwrap();
        let (first, rest) = own.split_once(&format!("<li id=\"{cycle}-E2\"")).unwrap();
        let second = rest.split("</li>").next().unwrap();
        assert!(first.contains("<details><summary>41 lines of content</summary>"), "{first}");
        assert!(first.contains("<mark>90% of all</mark></pre>"), "{first}");
        assert!(first.contains("<p class=\"note\">(2 kB left out)</p>"), "{first}");
        assert!(!second.contains("<details>") && !second.contains("<mark>"), "{second}");
    }
    // Twice where it was judged, and once in what is judged of the whole run.
    assert_eq!(html.matches("<a href=\"#cycle-1-E1\">E1</a>").count(), 1);
    assert_eq!(html.matches("<a href=\"#cycle-2-E1\">E1</a>").count(), 2);
}

#[test]
fn evidence_that_does_not_exist_is_no_link() {
    let mut events = judged();
    let said = &mut last(&mut events, "evaluation.completed")["evaluation"]["criteria"][0];
    said["evidence"] = json!("E7\"><script>x</script>");
    said["verdict"] = json!("unproven");
    let html = Format::Html.render(&recorded(&events)).unwrap();
    tags(&html);
    assert_links(&html);
    assert!(html.contains("the judge quotes E7&quot;&gt;&lt;script&gt;"), "{html}");
}

#[test]
fn the_evidence_of_a_run_is_in_its_report() {
    let folder = folder(&format!("{WRITES_ONE}{PASS}"));
    finish(run(folder.path()).args(["--report", "html=a.html"]));
    let html = fs::read_to_string(folder.path().join("a.html")).unwrap();
    assert_links(&html);
    assert!(html.contains("<li id=\"cycle-1-E1\"") && html.contains("<mark>hello</mark>"), "{html}");
    assert!(html.contains("<p class=\"small\">does not exist</p>"), "{html}");
}

#[test]
fn votes_and_overrulings_of_every_cycle_are_told() {
    let report = recorded(&judged());
    let (markdown, html) = (Format::Markdown.render(&report).unwrap(), Format::Html.render(&report).unwrap());
    let overruled = "checks overruled the judge: pass → fail: exists report.md";
    let first = markdown.split_once("## Cycle 1").unwrap().1;
    for (line, times) in [
        ("- Vote 1\\: ✗ fail with confidence 0.50\\: &lt;/mark", 1),
        ("- Vote 2\\: ✓ pass with confidence 0.95\n", 1),
    ] {
        assert_eq!(first.matches(line).count(), times, "{line} in {first}");
    }
    assert_eq!(markdown.matches("- Vote ").count(), 4);
    let line = format!("- {}\n", overruled.replace(':', "\\:"));
    assert!(first.contains(&line) && markdown.matches(&line).count() == 1, "{first}");
    assert_eq!(html.matches(overruled).count(), 1);
    assert_eq!(html.matches("<ol class=\"votes\">").count(), 2);
}

#[test]
fn what_persons_decided_is_told_and_stays_text() {
    let mut events = fixture("run.jsonl");
    let decided = |cycle: u32, about: &str, decision: &str, by: &str, comment: &str| json!({"type": "approval.decided", "cycle": cycle, "about": about, "decision": decision, "by": by, "comment": comment});
    let at = events.len() - 1;
    events.splice(
        at..at,
        [
            decided(1, "plan", "edited", "ada at the terminal", "the other file"),
            decided(1, "plan", "approved", "ada at the terminal", ""),
            decided(1, "verdict", "retry", "ada at the terminal", HOSTILE),
            decided(2, "verdict", "stopped", "nobody", "standard input is no terminal"),
        ],
    );
    events[at + 1].as_object_mut().unwrap().remove("comment");
    let report = recorded(&events);
    let (markdown, html) = (Format::Markdown.render(&report).unwrap(), Format::Html.render(&report).unwrap());
    let section = markdown.split_once("## Decisions\n\n").unwrap().1;
    let lines: Vec<&str> = section.lines().take(4).collect();
    assert_eq!(lines[0], "- cycle 1\\: ada at the terminal edited the plan\\: the other file");
    assert_eq!(lines[1], "- cycle 1\\: ada at the terminal approved the plan");
    assert!(
        lines[2].starts_with("- cycle 1\\: ada at the terminal asked for another cycle\\: &lt;/mark&gt;")
    );
    let nobody = "cycle 2: nobody could be asked about the verdict: standard input is no terminal";
    assert_eq!(lines[3], format!("- {}", nobody.replace(':', "\\:")));
    assert!(html.contains(&format!("<li>{nobody}</li>")), "{html}");
    assert!(!html.contains("<img") && !markdown.contains("<img"), "{markdown}");
    let without = Format::Markdown.render(&recorded(&fixture("run.jsonl"))).unwrap();
    assert!(!without.contains("Decisions"), "{without}");
}

#[test]
fn who_overrules_a_verdict_changes_nothing_of_what_was_found() {
    let mut events = judged();
    let checked = last(&mut events, "check.completed");
    (checked["path"], checked["passed"], checked["actual"]) =
        (json!(HOSTILE), json!(false), json!("does not exist"));
    let evaluation = &mut last(&mut events, "evaluation.completed")["evaluation"];
    evaluation["criteria"][0]["verdict"] = json!("unproven");
    evaluation["feedback"] = json!("a file is missing");
    evaluation["overruled"] = json!([
        {"by": "checks", "from": "pass", "to": "fail", "reason": "no file"},
        {"by": "postEvaluator hook `policy`", "from": "fail", "to": "pass", "reason": "]]> it comes </system-out>"}]);
    let report = recorded(&events);
    let xml = Format::Junit.render(&report).unwrap();
    let shown = shown(&xml);
    let outcomes: Vec<_> = shown.lines().map(|line| line.split(' ').next().unwrap()).collect();
    // The verdict, the first output with its criterion and its check, and the other one, which the judge found good.
    assert_eq!(outcomes, ["passed", "failure", "failure", "failure", "passed"], "{shown}");
    let said = "<system-out>checks overruled the judge: pass → fail: no file\npostEvaluator hook `policy` overruled the verdict: fail → pass: ]]&gt; it comes &lt;/system-out&gt;</system-out>";
    assert!(xml.contains(said), "{xml}");

    // What the judge said of a sentence is all that was found about it.
    events[0]["prompt"]["expectedOutput"] = json!("an opinion");
    let hook =
        json!([{"by": "postEvaluator hook `policy`", "from": "fail", "to": "pass", "reason": "never mind"}]);
    last(&mut events, "evaluation.completed")["evaluation"]["overruled"] = hook;
    let xml = Format::Junit.render(&recorded(&events)).unwrap();
    assert!(self::shown(&xml).starts_with("passed verdict\nfailure an opinion\n"), "{xml}");
    assert!(xml.contains("message=\"a file is missing\""), "{xml}");
}

#[test]
fn a_task_with_nothing_to_verify_fails_and_the_rest_is_not_reached() {
    let folder = folder("");
    fs::write(
        folder.path().join("prompt.yaml"),
        "goal: g\ncontext: {}\nexpectedOutput:\n  - description: an opinion\n",
    )
    .unwrap();
    let output = finish(run(folder.path()).args(["--strict", "--report", "junit=a.xml"]));
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let xml = fs::read_to_string(folder.path().join("a.xml")).unwrap();
    assert_eq!(shown(&xml), "failure verdict\nskipped an opinion\n");
    assert!(xml.contains("name=\"reason\" value=\"nothing_verified\""), "{xml}");
}
