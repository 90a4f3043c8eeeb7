//! Owns the form of what travels through a point, and the comparison of an answer with it.
//!
//! A key that the form does not know is refused: `verdcit: fail` would otherwise be no answer at all. Form and comparison are one schema, which
//! is closed here and not type by type, so that no type can be forgotten.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{ValidationError, Validator};
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::{Value, json};

use super::Point;
use crate::text;

/// How many faults of an answer are told.
const MOST_TOLD: usize = 5;

/// Returns the JSON Schema (draft 2020-12) of what travels through `P`.
pub(super) fn of<P: Point>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_deserialize().with_transform(RecursiveTransform(close));
    let mut schema = settings.into_generator().into_root_schema_for::<P::Payload>();
    schema.insert("title".to_owned(), P::NAME.into());
    schema.into()
}

fn close(schema: &mut Schema) {
    if schema.get("properties").is_some() && schema.get("additionalProperties").is_none() {
        schema.insert("additionalProperties".to_owned(), json!(false));
    }
}

/// The compiled schema of a point.
struct Form {
    schema: Value,
    validator: Result<Validator, String>,
}

/// Compiling takes longer than asking a closure, so it is done once.
static FORMS: LazyLock<Mutex<HashMap<&'static str, Arc<Form>>>> = LazyLock::new(Mutex::default);

/// Returns nothing when `answer` has the form of what travels through `P`, else what is wrong with it.
pub(super) fn check<P: Point>(answer: &Value) -> Result<(), String> {
    let form = {
        let mut forms = FORMS.lock().unwrap_or_else(PoisonError::into_inner);
        let form = forms.entry(P::NAME).or_insert_with(|| {
            let schema = of::<P>();
            let validator = jsonschema::draft202012::new(&schema).map_err(|e| e.to_string());
            Arc::new(Form { schema, validator })
        });
        Arc::clone(form)
    };
    let validator = form.validator.as_ref().map_err(Clone::clone)?;
    let faults: Vec<String> =
        validator.iter_errors(answer).take(MOST_TOLD).map(|error| words(&error, &form.schema)).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
}

fn words(error: &ValidationError<'_>, schema: &Value) -> String {
    let place = match error.instance_path().as_str() {
        "" => String::new(),
        pointer => format!(" at `{pointer}`"),
    };
    let Kind::AdditionalProperties { unexpected } = error.kind() else {
        return format!("{}{place}", error.masked_with("the value"));
    };
    let path = error.schema_path().as_str();
    let known = path.rsplit_once('/').and_then(|(parent, _)| schema.pointer(parent)?.get("properties"));
    let known: Vec<&str> =
        known.and_then(Value::as_object).into_iter().flat_map(|map| map.keys()).map(String::as_str).collect();
    let unknown = unexpected.iter().map(|key| {
        let meant = text::did_you_mean(key, known.iter().copied());
        let meant = meant.map(|meant| format!(" (did you mean `{meant}`?)")).unwrap_or_default();
        format!("unknown key `{}`{place}{meant}", text::truncate(key, 100))
    });
    unknown.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::{PostEvaluator, PostPlanner, PrePlanner};

    #[test]
    fn an_answer_with_the_form_of_the_data_is_taken() {
        check::<PostEvaluator>(&json!({"verdict": "pass", "confidence": 1})).unwrap();
        check::<PrePlanner>(&json!({"prompt": {"goal": "g", "context": {"any": {"thing": 1}}, "expectedOutput": [
            {"path": "a", "description": "d", "checks": [{"minBytes": 1}, {"json": {"schema": {"free": 1}}}]}]}}))
        .unwrap();
    }

    #[test]
    fn unknown_keys_are_refused_however_deep_with_the_nearest() {
        let step =
            json!({"id": "a", "description": "d", "tools": [], "expectedOutcome": "o", "dependencys": []});
        let plan = json!({"reasoning": "r", "estimatedTokens": 1, "steps": [step]});
        let fault = check::<PostPlanner>(&plan).unwrap_err();
        let unknown = "unknown key `dependencys` at `/steps/0` (did you mean `dependencies`?)";
        assert!(fault.contains(unknown) && fault.contains("\"dependencies\" is a required"), "{fault}");
        let typing_error = json!({"verdict": "pass", "verdcit": "fail", "confidence": 1});
        assert_eq!(
            check::<PostEvaluator>(&typing_error).unwrap_err(),
            "unknown key `verdcit` (did you mean `verdict`?)"
        );
    }

    #[test]
    fn values_are_not_repeated() {
        let long = "x".repeat(1000);
        let fault = check::<PostEvaluator>(&json!({"verdict": long, "confidence": 7})).unwrap_err();
        assert!(fault.len() < 300 && !fault.contains("xxx"), "{fault}");
        assert!(fault.contains("`/confidence`"), "{fault}");
        assert!(check::<PostEvaluator>(&Value::Null).unwrap_err().contains("object"));
    }
}
