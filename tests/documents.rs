//! Holds what is written about `tepa` to what `tepa` does: README, exit table, examples, completions, defaults.

#![cfg(test)]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Output;

use regex::Regex;

use support::{copy_folder, files_below, finish, tepa};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// Returns the blocks of a page that are fenced as `language`.
fn blocks(page: &str, language: &str) -> Vec<String> {
    page.split(&format!("```{language}\n"))
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap().to_owned())
        .collect()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Returns the exit codes that start a line of `lines`, in order.
fn codes(lines: &str) -> Vec<u8> {
    lines
        .lines()
        .filter_map(|line| line.trim_start_matches(['|', ' ']).split([' ', ',']).next()?.parse().ok())
        .collect()
}

#[test]
fn the_exit_table_of_the_readme_is_that_of_the_help() {
    let readme = page("README.md");
    let table = readme.split("## Exit codes").nth(1).unwrap().split("\n## ").next().unwrap();
    assert_eq!(codes(table), codes(tepa::cli::EXIT_CODES));
    let help = finish(tepa(&root()).args(["run", "--help"]));
    assert!(text(&help).contains(tepa::cli::EXIT_CODES), "{}", text(&help));
}

#[test]
fn the_first_command_of_the_readme_does_what_the_readme_shows() {
    let readme = page("README.md");
    let commands = blocks(&readme, "console");
    let command = commands[0].trim();
    let arguments = command.strip_prefix("$ cargo run --release -- ").unwrap();
    let work = tempfile::tempdir().unwrap();
    copy_folder(&root().join("prompts"), &work.path().join("prompts"));
    let output = finish(tepa(work.path()).args(arguments.split(' ')));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    // The picture that the README shows is that of this run.
    assert!(readme.contains("(docs/pictures/run.svg)"));
    let picture = page("docs/pictures/run.svg");
    let tokens = Regex::new(r"2 cycles, ([0-9,]+ tokens)").unwrap().captures(&picture).unwrap()[1].to_owned();
    assert!(text(&output).contains(&tokens), "the README shows {tokens}: {}", text(&output));
    let csv = fs::read_to_string(work.path().join("out/class-5b/flagged-students.csv")).unwrap();
    assert!(csv.starts_with("student,overall_percentage,urgency,weakest_subject,attendance_rate\n"), "{csv}");
    assert!(work.path().join("out/class-5b/progress-report.md").exists());
    assert_eq!(commands[1].trim(), "$ cargo test", "the second command is the one that CI runs");
    assert!(page(".ci/run").contains("\ncargo test"), "CI runs the README's test command");
}

#[test]
fn the_task_can_be_run_again_over_the_output_of_an_earlier_run() {
    let work = tempfile::tempdir().unwrap();
    copy_folder(&root().join("prompts"), &work.path().join("prompts"));
    let out = work.path().join("out/class-5b");
    fs::create_dir_all(&out).unwrap();
    for file in ["progress-report.md", "flagged-students.csv", "student-figures.csv"] {
        fs::write(out.join(file), "of an earlier run\n").unwrap();
    }
    let output = finish(tepa(work.path()).args(["run", "prompts/task.yaml", "--provider", "replay"]));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).contains("flagged-students.csv\" does not exist"), "{}", text(&output));
    assert!(!fs::read_to_string(out.join("flagged-students.csv")).unwrap().contains("earlier"));
}

#[test]
fn the_task_of_the_readme_is_valid() {
    let work = tempfile::tempdir().unwrap();
    let [task] = blocks(&page("README.md"), "yaml").try_into().unwrap();
    fs::write(work.path().join("task.yaml"), task).unwrap();
    let output = finish(tepa(work.path()).args(["validate", "task.yaml", "--strict"]));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
}

#[test]
fn the_prompts_and_the_defaults_are_valid() {
    let prompts = fs::read_dir(root().join("prompts")).unwrap().map(|entry| entry.unwrap().path());
    let prompts = prompts.filter(|path| path.extension().is_some_and(|ending| ending == "yaml"));
    let mut files: Vec<_> =
        prompts.filter(|path| !path.to_string_lossy().ends_with(".replay.yaml")).collect();
    files.push(root().join("config/default.yaml"));
    let output = finish(tepa(&root()).arg("validate").args(files));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
}

#[cfg(unix)]
#[test]
fn the_data_of_the_example_is_what_its_generator_writes() {
    let work = tempfile::tempdir().unwrap();
    let data = root().join("prompts/class-5b");
    fs::copy(data.join("generate.sh"), work.path().join("generate.sh")).unwrap();
    let output = finish(std::process::Command::new("sh").arg("generate.sh").current_dir(work.path()));
    assert!(output.status.success(), "{}", text(&output));
    for file in ["students.csv", "grades.csv", "attendance.csv"] {
        assert_eq!(fs::read(work.path().join(file)).unwrap(), fs::read(data.join(file)).unwrap(), "{file}");
    }
    let rows = |file: &str| fs::read_to_string(data.join(file)).unwrap().lines().count() - 1;
    assert_eq!(rows("students.csv"), 28);
    assert!(rows("grades.csv") >= 1300 && rows("attendance.csv") >= 1700);
}

#[test]
fn the_completion_scripts_are_those_of_the_command_line() {
    let bless = std::env::var_os("TEPA_BLESS").is_some();
    for (shell, file) in [
        ("bash", "tepa.bash"),
        ("zsh", "_tepa"),
        ("fish", "tepa.fish"),
        ("powershell", "_tepa.ps1"),
        ("elvish", "tepa.elv"),
    ] {
        let script = finish(tepa(&root()).args(["completions", shell])).stdout;
        let path = root().join("completions").join(file);
        if bless {
            fs::write(&path, &script).unwrap();
        }
        assert!(
            fs::read(&path).unwrap() == script,
            "completions/{file} is out of date: see completions/README.md"
        );
    }
}

#[test]
fn every_flag_that_the_pages_name_exists() {
    let command = tepa::cli::command();
    let flags: Vec<String> = command
        .get_subcommands()
        .flat_map(clap::Command::get_subcommands)
        .chain(command.get_subcommands())
        .chain([&command])
        .flat_map(clap::Command::get_arguments)
        .filter_map(|argument| argument.get_long().map(|long| format!("--{long}")))
        .collect();
    let flag = regex::Regex::new(r"`[^`\n]*?(--[a-z][a-z-]+)").unwrap();
    let mut pages = page("README.md");
    for file in files_below(&root().join("docs")) {
        if file.extension().is_some_and(|ending| ending == "md") {
            pages += &fs::read_to_string(root().join("docs").join(file)).unwrap();
        }
    }
    let named: Vec<&str> = flag.captures_iter(&pages).map(|found| found.get(1).unwrap().as_str()).collect();
    assert!(named.len() > 40, "{named:?}");
    for name in named {
        let known = flags.iter().any(|flag| flag == name)
            || ["--release", "--path", "--help", "--example", "--open"].contains(&name);
        assert!(known, "a page names `{name}`");
    }
}

/// Returns every flag that has a variable, in the order of the commands.
fn flags_with_variables() -> Vec<(String, String)> {
    fn walk(command: &clap::Command, found: &mut Vec<(String, String)>) {
        for argument in command.get_arguments() {
            let (Some(long), Some(variable)) = (argument.get_long(), argument.get_env()) else { continue };
            let flag = (variable.to_str().unwrap().to_owned(), format!("`--{long}`"));
            if !found.contains(&flag) {
                found.push(flag);
            }
        }
        for below in command.get_subcommands() {
            walk(below, found);
        }
    }
    let mut found = Vec::new();
    walk(&tepa::cli::command(), &mut found);
    found
}

/// Returns the rows of the table of variables: each name in the first cell, with the second cell.
fn rows_of_variables() -> Vec<(String, String)> {
    let page = page("docs/config.md");
    let section = page.split("\n## Environment\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut rows = Vec::new();
    for row in section.lines().filter(|line| line.starts_with("| `")) {
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        let (names, flag) = (cells.next().unwrap(), cells.next().unwrap());
        assert!(cells.next().is_some_and(|meaning| !meaning.is_empty()), "{row}");
        rows.extend(names.split(", ").map(|name| (name.trim_matches('`').to_owned(), flag.to_owned())));
    }
    rows
}

#[test]
fn the_table_of_variables_has_each_of_them_once_with_its_flag() {
    let mut expected = flags_with_variables();
    expected.extend(tepa::config::VARIABLES.map(|name| (name.to_owned(), String::new())));
    let mut rows = rows_of_variables();
    let missing: Vec<_> = expected.iter().filter(|one| !rows.contains(one)).collect();
    assert!(missing.is_empty(), "{missing:?} are not in the table of docs/config.md");
    rows.sort();
    expected.sort();
    assert_eq!(rows, expected);
}

#[test]
fn no_variable_is_read_that_is_not_in_the_list() {
    // Names with a prefix wherever they stand, what is asked for by name, and lists of which the first that is set counts.
    let name = "\"([A-Z_]+)\"";
    let prefixed = r#""((?:TEPA|OTEL|GITHUB|ANTHROPIC|OPENAI|GEMINI|GOOGLE|XDG)_[A-Z0-9_]+|TRACE[A-Z]+)""#;
    let prefixed = Regex::new(prefixed).unwrap();
    let asked = Regex::new(&format!(r"\.(?:variable|secret)\({name}\)")).unwrap();
    let listed = r"\[([^\[\]]*)\]\s*\.iter\(\)\s*\.find_map\(\|name\| \w+\.variable";
    let (listed, name) = (Regex::new(listed).unwrap(), Regex::new(name).unwrap());
    let flags = flags_with_variables();
    let mut seen = BTreeSet::new();
    for file in files_below(&root().join("src")) {
        let text = fs::read_to_string(root().join("src").join(&file)).unwrap();
        let code = text.split("\n#[cfg(test)]\nmod tests").next().unwrap();
        if file.ends_with("config/variables.rs") {
            continue;
        }
        let lists: String = listed.captures_iter(code).map(|list| list[1].to_owned()).collect();
        let found = [(&prefixed, code), (&asked, code), (&name, &lists)];
        let names = found.iter().flat_map(|(form, text)| form.captures_iter(text));
        for name in names.map(|found| found[1].to_owned()).filter(|name| {
            !name.starts_with("TEPA_TEST_")
                && name != "TEPA_BLESS"
                && name != tepa::prompt::ENVIRONMENT_PREFIX
        }) {
            let known = tepa::config::VARIABLES.contains(&name.as_str());
            let flag = flags.iter().any(|(variable, _)| *variable == name);
            assert!(known || flag, "`{name}` of {} is not in the list of variables", file.display());
            seen.insert(name);
        }
    }
    let unseen: Vec<_> = tepa::config::VARIABLES.iter().filter(|name| !seen.contains(**name)).collect();
    // What libraries read by themselves, and what stands beside its list.
    assert_eq!(
        unseen,
        [
            &"TEPA_LOG",
            &"TEPA_VAR_*",
            &"COMPLETE",
            &"XDG_CONFIG_HOME",
            &"HTTP_PROXY",
            &"HTTPS_PROXY",
            &"ALL_PROXY",
            &"NO_PROXY"
        ]
    );
}

#[test]
fn every_variable_is_named_after_its_flag() {
    for (variable, flag) in flags_with_variables() {
        let flag = flag.trim_matches(['`', '-']).to_uppercase().replace('-', "_");
        assert_eq!(variable, format!("TEPA_{flag}"));
    }
}
