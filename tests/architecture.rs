//! Holds the house to its own plan: floors, file openings, names, and the one door for each thing.

#![cfg(test)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

static ROOT: LazyLock<PathBuf> = LazyLock::new(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));

fn sources() -> Vec<(String, String)> {
    fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, files);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                files.push(path);
            }
        }
    }
    let mut files = Vec::new();
    walk(&ROOT.join("src"), &mut files);
    files.sort();
    files
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(ROOT.join("src")).unwrap().display().to_string();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect()
}

/// Returns the code of a file: neither its tests nor its comments.
fn code(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Returns the files without those that are compiled for tests only.
fn shipped() -> Vec<(String, String)> {
    let sources = sources();
    let test_only = Regex::new(r"#\[cfg\(test\)\]\nmod (\w+);").unwrap();
    let mut left_out = Vec::new();
    for (file, text) in &sources {
        let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
        left_out.extend(test_only.captures_iter(text).map(|found| format!("{folder}/{}.rs", &found[1])));
    }
    sources.into_iter().filter(|(file, _)| !left_out.contains(file)).collect()
}

fn floors() -> BTreeMap<String, u32> {
    let page = fs::read_to_string(ROOT.join("ARCHITECTURE.md")).unwrap();
    let table = page.split("```floors\n").nth(1).unwrap().split("```").next().unwrap();
    let mut floors = BTreeMap::new();
    for line in table.lines() {
        let mut words = line.split_whitespace();
        let floor: u32 = words.next().unwrap().parse().unwrap();
        floors.extend(words.map(|module| (module.to_owned(), floor)));
    }
    floors
}

fn module_of(file: &str) -> &str {
    file.split('/').next().unwrap().trim_end_matches(".rs")
}

#[test]
fn a_module_names_only_modules_below_its_floor() {
    let floors = floors();
    let path = Regex::new(r"crate::(?:\{([^}]*)\}|([a-z_]+))").unwrap();
    let mut faults = Vec::new();
    for (file, text) in sources() {
        let text = code(&text);
        let module = module_of(&file);
        if ["lib", "main"].contains(&module) {
            continue;
        }
        let own = floors.get(module).unwrap_or_else(|| panic!("`{module}` has no floor in ARCHITECTURE.md"));
        for found in path.captures_iter(&text) {
            let names = found.get(1).or(found.get(2)).unwrap().as_str();
            for name in names.split(',').map(|name| name.trim().split("::").next().unwrap()) {
                let Some(floor) = floors.get(name) else { continue };
                if name != module && floor >= own {
                    faults.push(format!("{file}: `{module}` may not name `{name}`"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_module_of_the_crate_has_a_floor_and_every_floor_a_module() {
    let library = fs::read_to_string(ROOT.join("src/lib.rs")).unwrap();
    let mut modules: Vec<&str> =
        library.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    modules.sort_unstable();
    assert_eq!(modules, floors().keys().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn every_file_says_what_it_owns_and_keeps_the_rules_of_the_house() {
    let forbidden = ["utils", "helpers", "common", "misc", "manager", "core", "imp", "types"];
    let mut faults = Vec::new();
    for (file, text) in sources() {
        let mut fault = |what: &str| faults.push(format!("{file}: {what}"));
        if !text.starts_with("//! ") {
            fault("does not open with `//! `");
        }
        if forbidden.contains(&file.rsplit('/').next().unwrap().trim_end_matches(".rs")) {
            fault("has a name that says nothing");
        }
        if text.contains("super::super") {
            fault("names `super::super`");
        }
        if code(&text).contains("use super::*") {
            fault("imports everything of its parent");
        }
        if ["todo!", concat!("FIX", "ME"), concat!("TO", "DO")].iter().any(|mark| text.contains(mark)) {
            fault("is unfinished");
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn there_is_one_door_for_each_thing() {
    let doors: [(&str, &[&str]); 5] = [
        ("serde_yaml::", &["source/"]),
        ("std::env::", &["config/environment.rs", "main.rs"]),
        ("io::stdout()", &["cli/", "config/environment.rs"]),
        ("io::stderr()", &["cli/", "config/environment.rs"]),
        ("provider.complete(", &["pipeline/llm.rs"]),
    ];
    let mut faults = Vec::new();
    for (file, text) in shipped() {
        // What the program was built for and how paths are written are no part of its environment.
        let code = code(&text).replace("std::env::consts", "").replace("std::env::split_paths", "");
        for (word, allowed) in doors {
            let inside = allowed.iter().any(|place| file.starts_with(place));
            if code.contains(word) && !inside {
                faults.push(format!("{file}: names `{word}`, which belongs into {allowed:?}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_pipeline_has_no_clock_no_environment_no_files_and_no_words_for_models() {
    for (file, text) in sources().into_iter().filter(|(file, _)| file.starts_with("pipeline/")) {
        let code = code(&text);
        for word in
            ["Instant::now", "SystemTime", "Timestamp::now", "std::fs", "std::env", "print!", "tokio::fs"]
        {
            assert!(!code.contains(word), "{file} names `{word}`");
        }
    }
}
