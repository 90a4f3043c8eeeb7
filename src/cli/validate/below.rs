//! Owns the configuration below that of the project: what is built in, and what the user's own file says.
//!
//! A user's file with faults counts for nothing here, and that is said: a run would refuse it.

use crate::cli::args::LayerArguments;
use crate::cli::layers::config_files;
use crate::cli::load;
use crate::cli::ui::Ui;
use crate::config::{self, Environment, Layers, Origin};
use crate::error::Error;
use crate::session::shown;
use crate::source::{Diagnostics, Document, UnknownKeys};
use crate::tools;
use crate::workspace::PROJECT_FILE;

/// Returns the layers below the project's file.
///
/// # Errors
/// What is built in is broken.
pub(super) fn layers(hermetic: bool, environment: &Environment, ui: &Ui) -> Result<Layers, Error> {
    let mut layers = Layers::defaults()?;
    let arguments = LayerArguments { hermetic, ..LayerArguments::default() };
    let project = environment.resolve(PROJECT_FILE.as_ref());
    let own = config_files(&arguments, environment).into_iter().find(|source| source.path != project);
    let Some(path) = own.filter(|source| !source.passed_over).map(|source| source.path) else {
        return Ok(layers);
    };
    if path.symlink_metadata().is_err() {
        return Ok(layers);
    }
    let name = shown(&path, environment);
    let left_out = |why: String| {
        ui.warn([format!("your own configuration is left out, and a run would refuse it: {why}")]);
    };
    let file = match load::read(&path, &name) {
        Ok(file) => file,
        Err(error) => {
            left_out(error.to_string());
            return Ok(layers);
        }
    };
    let loaded = load::without_showing_keys(file, environment, ui, |file| {
        config::load(&Document::parse(file)?, &tools::NAMES, UnknownKeys::Refuse)
    });
    match loaded {
        Ok((layer, _)) => layers.push(Origin::File(name), layer),
        Err(faults) => left_out(Diagnostics::summary(&faults)),
    }
    Ok(layers)
}
