//! Owns `tepa man`: a page for each command, made of its help.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::status::ExitStatus;
use super::ui::Ui;
use crate::config::{Environment, KEY_VARIABLES, ProviderKind, VARIABLES};
use crate::error::Error;
use crate::persist::Place;
use crate::session::access;
use crate::text;

/// Writes the page of every command into a folder.
pub(super) fn write(folder: &Path, environment: &Environment, ui: &Ui) -> anyhow::Result<ExitStatus> {
    let root = environment.resolve(folder);
    let mut command = super::command().disable_help_subcommand(true);
    command.build();
    let whole = variables_below(&command);
    let mut pages = 0;
    let mut write = |command: &clap::Command| {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name());
        let page = page(command, &whole)?;
        Place::at(&root.join(format!("{name}.1")))?.write(&page)?;
        pages += 1;
        Ok(())
    };
    fs::create_dir_all(&root).and_then(|()| each(&command, &mut write)).map_err(|e: io::Error| {
        Error::broken(format!("cannot write man pages to `{}`", folder.display())).because(&e)
    })?;
    if !ui.quiet {
        ui.say(&format!("wrote {} to `{}`\n", text::plural("page", pages), folder.display()));
    }
    Ok(ExitStatus::answered())
}

fn each(command: &clap::Command, work: &mut impl FnMut(&clap::Command) -> io::Result<()>) -> io::Result<()> {
    work(command)?;
    command.get_subcommands().try_for_each(|command| each(command, work))
}

fn page(command: &clap::Command, whole: &Variables) -> io::Result<Vec<u8>> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let man = Man::new(command.clone())
        .title(name.to_uppercase())
        .source(format!("tepa {}", env!("CARGO_PKG_VERSION")))
        .manual("tepa");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let mut roff = Roff::new();
    sections(command, &mut roff);
    let own = variables(command);
    environment(if name == "tepa" { whole } else { &own }, name == "tepa", &mut roff);
    see_also(command, &name, &mut roff);
    roff.to_writer(&mut page)?;
    Ok(page)
}

/// Makes a section of each block below the help.
fn sections(command: &clap::Command, roff: &mut Roff) {
    let below = command.get_after_long_help().or_else(|| command.get_after_help());
    let below = below.map(ToString::to_string).unwrap_or_default();
    for block in below.split("\n\n").filter(|block| !block.is_empty()) {
        let (title, body) = block.split_once(':').unwrap_or(("Notes", block));
        roff.control(
            "SH",
            [if title == "Exit codes" { "EXIT STATUS".to_owned() } else { title.to_uppercase() }.as_str()],
        );
        let lines: Vec<&str> = body.trim_matches('\n').lines().collect();
        if let [sentence] = lines.as_slice() {
            roff.text([roman(sentence.trim())]);
            continue;
        }
        // As it stands, because examples and codes are in columns.
        roff.control("nf", []);
        for line in lines {
            roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
        }
        roff.control("fi", []);
    }
}

/// Variables with what they stand for.
type Variables = BTreeMap<String, String>;

fn variables(command: &clap::Command) -> Variables {
    let named = command.get_arguments().filter(|argument| !argument.is_hide_set());
    named
        .filter_map(|argument| {
            let variable = argument.get_env()?.to_str()?.to_owned();
            let flag = format!("as --{}", argument.get_long()?);
            Some((variable, flag))
        })
        .collect()
}

fn variables_below(command: &clap::Command) -> Variables {
    let mut all = variables(command);
    command.get_subcommands().for_each(|command| all.extend(variables_below(command)));
    all
}

fn environment(variables: &Variables, with_others: bool, roff: &mut Roff) {
    let mut rows: Vec<(String, String)> =
        variables.iter().map(|(name, words)| (name.clone(), words.clone())).collect();
    if with_others {
        rows.extend(KEY_VARIABLES.map(|name| (name.to_owned(), "the key of a provider".to_owned())));
        let addresses = ProviderKind::ALL.into_iter().filter_map(access);
        for name in addresses.map(|access| access.base_url_variable) {
            let row = (name.to_owned(), "where a provider is reached".to_owned());
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
    }
    if rows.is_empty() {
        return;
    }
    roff.control("SH", ["ENVIRONMENT"]);
    for (name, words) in &rows {
        roff.control("TP", []);
        roff.text([bold(name)]);
        roff.text([roman(words)]);
    }
    if with_others {
        let others = VARIABLES.into_iter().filter(|name| !rows.iter().any(|(told, _)| told == name));
        let others: Vec<&str> = others.collect();
        roff.control("PP", []);
        roff.text([roman(format!("Also read: {}.", text::joined(&others, "and")))]);
    }
}

fn see_also(command: &clap::Command, name: &str, roff: &mut Roff) {
    let parent = name.rsplit_once('-').map(|(parent, _)| parent.to_owned());
    let below = command.get_subcommands().filter_map(|command| command.get_display_name().map(str::to_owned));
    let pages: Vec<String> = parent.into_iter().chain(below).map(|name| format!("{name}(1)")).collect();
    if !pages.is_empty() {
        roff.control("SH", ["SEE ALSO"]);
        roff.text([roman(pages.join(", "))]);
    }
}
