//! Owns the texts that several messages of a run have in common: each is made when it is first shown, and then once.
//!
//! They belong to the run and not to its state, which is what events make of it. What a text was made of is known by where it lies: values that
//! are shared do not change.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::Value;

use super::shown;
use crate::event::Form;
use crate::outcome::Entries;
use crate::prompt::Prompt;
use crate::tool::{EXECUTION_SUMMARY, Scratchpad};
use crate::turn::Assembled;

/// The texts of a run.
#[derive(Debug, Default)]
pub(super) struct Texts {
    /// What all steps are told of the task.
    pub(super) task: Last<Prompt, Arc<str>>,
    /// The rules of those who run tepa.
    pub(super) rules: Last<Assembled, Arc<str>>,
    /// What is known before a run.
    pub(super) knowledge: Last<Assembled, Arc<str>>,
    summary: Last<Value, Arc<Value>>,
    scratchpad: Last<Entries, Arc<Text>>,
    /// By step: what it returned, and that as a text.
    outputs: Mutex<HashMap<String, Returned>>,
}

type Returned = (Arc<Value>, Arc<Text>);

/// What was last made of a shared value.
#[derive(Debug)]
pub(super) struct Last<S, T>(Mutex<Option<(Arc<S>, T)>>);

impl<S, T> Default for Last<S, T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<S, T: Clone> Last<S, T> {
    /// Returns what is made of `source`, which is made now if it was not made before.
    ///
    /// # Errors
    /// Those of `make`.
    pub(super) fn try_of<E>(&self, source: &Arc<S>, make: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        // Whole values are written in one statement each: a panic elsewhere cannot leave half of one.
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, before)) = last.as_ref().filter(|(of, _)| Arc::ptr_eq(of, source)) {
            return Ok(before.clone());
        }
        let result = make()?;
        *last = Some((Arc::clone(source), result.clone()));
        Ok(result)
    }
}

/// The text of a value.
#[derive(Debug)]
pub(super) struct Text {
    written: Written,
    /// Where it lies, once somebody wanted to know.
    place: OnceLock<Option<String>>,
}

#[derive(Debug)]
enum Written {
    /// The value is one.
    Itself(Arc<Value>),
    Json(String),
}

impl Text {
    /// Returns the text of `value`: a text as it is, anything else as indented JSON.
    pub(super) fn of(value: &Arc<Value>) -> Self {
        if value.is_string() {
            return Self { written: Written::Itself(Arc::clone(value)), place: OnceLock::new() };
        }
        Self::json(shown::value(value).into_owned())
    }

    fn json(text: String) -> Self {
        Self { written: Written::Json(text), place: OnceLock::new() }
    }

    /// Returns what it is.
    fn form(&self) -> Form {
        match self.written {
            Written::Itself(_) => Form::Text,
            Written::Json(_) => Form::Json,
        }
    }

    /// Returns where it can be read, where it is put now with `keep` if nobody has asked before.
    ///
    /// # Errors
    /// It cannot be put there.
    pub(super) fn place<E>(
        &self,
        keep: impl FnOnce(&str, Form) -> Result<Option<String>, E>,
    ) -> Result<Option<&str>, E> {
        if self.place.get().is_none() {
            // Whoever was faster put it in the same place.
            let _ = self.place.set(keep(self, self.form())?);
        }
        Ok(self.place.get().and_then(Option::as_deref))
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.written {
            Written::Itself(value) => value.as_str().unwrap_or_default(),
            Written::Json(text) => text,
        }
    }
}

impl Texts {
    /// Returns the text of what a step returned.
    pub(super) fn output(&self, step: &str, output: &Arc<Value>) -> Arc<Text> {
        let mut outputs = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, text)) = outputs.get(step).filter(|(of, _)| Arc::ptr_eq(of, output)) {
            return Arc::clone(text);
        }
        let text = Arc::new(Text::of(output));
        outputs.insert(step.to_owned(), (Arc::clone(output), Arc::clone(&text)));
        text
    }

    /// Lets go of what steps returned.
    pub(super) fn forget_outputs(&self) {
        self.outputs.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Returns the scratchpad as a planner or a step sees it: long outputs of the last cycle's steps are cut and put where `place` says.
    ///
    /// # Errors
    /// Those of `place`.
    pub(super) fn scratchpad<E>(
        &self,
        scratchpad: &Scratchpad,
        place: impl Fn(&str, Form) -> Result<Option<String>, E>,
    ) -> Result<Arc<Text>, E> {
        let entries = scratchpad.entries();
        self.scratchpad.try_of(entries, || {
            let whole = entries.get(EXECUTION_SUMMARY);
            let cut = |whole| self.summary.try_of(whole, || shown::summary(whole, &place).map(Arc::new));
            let summary = whole.map(cut).transpose()?;
            Ok(Arc::new(Text::json(shown::entries(entries, summary.as_deref()))))
        })
    }
}
