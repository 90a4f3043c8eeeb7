//! Owns `data_parse`: JSON, CSV and YAML as JSON values.
//!
//! Nothing is repaired: a row of the wrong length, a doubled column or a name of a file where its content was meant is an error with its
//! place, for a value that is silently wrong costs more than a further step.

use serde::Deserialize;
use serde_json::{Map, Number, Value, json};

use super::blocking::aside;
use super::file::{ReadError, read_text};
use super::parameter::{one_of, whole};
use crate::source::parse_yaml_value;
use crate::text;
use crate::tool::ParameterType::{Boolean, Number as Numeric, String as Text};
use crate::tool::{Effect, Tool, ToolContext, ToolError, ToolSchema};
use crate::workspace::{Workspace, WorkspaceError};

/// Largest file that is parsed.
const LARGEST: u64 = 32 << 20;

/// Most values in a YAML document, aliases written out.
const MOST_NODES: usize = 1_000_000;

const FORMATS: [(&str, Format); 3] = [("json", Format::Json), ("csv", Format::Csv), ("yaml", Format::Yaml)];

#[derive(Clone, Copy)]
enum Format {
    Json,
    Csv,
    Yaml,
}

/// The tool `data_parse`.
pub(super) struct DataParse;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Args {
    input: String,
    format: String,
    from_file: bool,
    preview: Option<Number>,
}

impl Tool for DataParse {
    const NAME: &'static str = "data_parse";
    type Args = Args;
    type Output = Value;

    fn schema(&self) -> ToolSchema {
        ToolSchema::new(
            Self::NAME,
            "Parses JSON, CSV or YAML, from a string or (with `fromFile`) from a file, and returns the data. \
             CSV has to have a header and becomes a list of objects whose values are strings.",
        )
        .required("input", Text, "The data itself, or with `fromFile` the path of a file in the workspace.")
        .required("format", Text, "`json`, `csv` (separated by commas) or `yaml`.")
        .defaulted("fromFile", Boolean, "Whether `input` is the path of a file.", json!(false))
        .optional(
            "preview",
            Numeric,
            "How many rows of a table, items of a list or keys of an object to return; all if left out.",
        )
    }

    fn effect(&self) -> Effect {
        Effect::Reads
    }

    async fn call(&self, args: Args, context: &ToolContext) -> Result<Value, ToolError> {
        let format = one_of("format", &args.format, &FORMATS)?;
        let preview = match &args.preview {
            Some(number) => usize::try_from(whole("preview", number, 0)?).unwrap_or(usize::MAX),
            None => usize::MAX,
        };
        aside(context, move |workspace, _| parse(workspace, args.input, args.from_file, format, preview))
            .await
    }
}

/// Returns what `input` holds, or with `from_file` the file of that name.
fn parse(
    workspace: &Workspace,
    input: String,
    from_file: bool,
    format: Format,
    preview: usize,
) -> Result<Value, ToolError> {
    let (name, data) = if from_file {
        let data = read_text(workspace, &input, "utf-8", LARGEST).map_err(|error| match error {
            ReadError::Workspace(error @ WorkspaceError::TooLarge { .. }) => {
                ToolError::new(format!("{error}: put the part that matters into a file of its own with `shell_execute`"))
            }
            ReadError::Malformed { path, .. } => ToolError::new(format!(
                "`{path}` is not valid UTF-8: convert it with `shell_execute`, or read it with `file_read` and its `encoding`"
            )),
            other => ToolError::new(other.to_string()),
        })?;
        (format!("`{input}`"), data)
    } else if workspace.facts(&input).is_ok_and(|facts| facts.is_file) {
        // As CSV or YAML the name alone would be valid data.
        return Err(ToolError::new(format!(
            "`{input}` is the name of a file: set `fromFile` to parse what is in it"
        )));
    } else {
        ("the input".to_owned(), input)
    };
    let data = data.strip_prefix('\u{feff}').unwrap_or(&data);
    let parsed = match format {
        Format::Json => serde_json::from_str(data).map_err(|e| format!("{name} is not valid JSON: {e}")),
        Format::Csv => parse_csv(data, preview).map_err(|e| format!("{name} is not valid CSV: {e}")),
        Format::Yaml => {
            parse_yaml_value(data, MOST_NODES).map_err(|e| format!("{name} is not valid YAML: {e}"))
        }
    };
    Ok(first(parsed.map_err(ToolError::new)?, preview))
}

/// Returns at most `most` rows, each an object keyed by the header.
fn parse_csv(content: &str, most: usize) -> Result<Value, String> {
    let mut reader = csv::Reader::from_reader(content.as_bytes());
    let header = reader.headers().map_err(|e| e.to_string())?.clone();
    for (index, column) in header.iter().enumerate() {
        if header.iter().take(index).any(|earlier| earlier == column) {
            return Err(format!("line 1 names the column `{column}` twice"));
        }
    }
    let mut rows = Vec::new();
    for row in reader.records().take(most) {
        let row = row.map_err(|error| csv_fault(content, &error))?;
        let cells = header.iter().zip(&row).map(|(column, cell)| (column.to_owned(), cell.into()));
        rows.push(Value::Object(cells.collect::<Map<_, _>>()));
    }
    Ok(Value::Array(rows))
}

fn csv_fault(content: &str, error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { pos: Some(position), expected_len, len } => {
            let fields = text::plural("field", usize::try_from(*len).unwrap_or(usize::MAX));
            // The position is where the row before ended; blank lines, or half a CRLF, may still come.
            let start = usize::try_from(position.byte()).unwrap_or(usize::MAX);
            let ahead = content.bytes().skip(start).take_while(|byte| matches!(byte, b'\r' | b'\n'));
            let line = position.line() + ahead.filter(|byte| *byte == b'\n').map(|_| 1).sum::<u64>();
            format!("line {line} has {fields} where the header has {expected_len}")
        }
        _ => error.to_string(),
    }
}

/// Returns the first `most` items of a list or keys of an object; any other value is whole.
fn first(value: Value, most: usize) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.into_iter().take(most).collect()),
        Value::Object(entries) => Value::Object(entries.into_iter().take(most).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::trial::Trial;

    async fn parse(trial: &Trial, params: Value) -> Result<Value, String> {
        trial.call("data_parse", params).await
    }

    #[tokio::test]
    async fn each_format_becomes_json() {
        let trial = Trial::new();
        let parsed = [
            (
                json!({"input": "{\"b\": [1, 2.5, null], \"a\": 0}", "format": "json"}),
                json!({"b": [1, 2.5, null], "a": 0}),
            ),
            (
                json!({"input": "b:\n  - yes please\n  - 2\n", "format": "yaml"}),
                json!({"b": ["yes please", 2]}),
            ),
            (
                json!({"input": "name,note\nAda,\"x, \"\"y\"\"\nz\"\nBob,\n", "format": "csv"}),
                json!([{"name": "Ada", "note": "x, \"y\"\nz"}, {"name": "Bob", "note": ""}]),
            ),
            (json!({"input": "\u{feff}a,b\r\n1,2\r\n", "format": "csv"}), json!([{"a": "1", "b": "2"}])),
            (json!({"input": "\u{feff}[1]", "format": "json"}), json!([1])),
            (json!({"input": "", "format": "csv"}), json!([])),
        ];
        for (params, value) in parsed {
            assert_eq!(parse(&trial, params).await, Ok(value));
        }
    }

    #[tokio::test]
    async fn a_file_is_read_from_the_workspace() {
        let trial = Trial::new();
        trial.file("d/a.csv", b"\xef\xbb\xbfa\r\n1\r\n");
        trial.file("latin.csv", b"a\n\xf6\n");
        let params =
            |input: &str, from_file: bool| json!({"input": input, "format": "csv", "fromFile": from_file});
        assert_eq!(parse(&trial, params("d/a.csv", true)).await, Ok(json!([{"a": "1"}])));
        let errors = [
            ("absent.csv", true, "`absent.csv` does not exist"),
            ("../a.csv", true, "`../a.csv` is outside the workspace"),
            ("d/a.csv", false, "`d/a.csv` is the name of a file: set `fromFile` to parse what is in it"),
        ];
        for (input, from_file, error) in errors {
            assert_eq!(parse(&trial, params(input, from_file)).await, Err(error.to_owned()));
        }
        let error = parse(&trial, params("latin.csv", true)).await.unwrap_err();
        assert!(error.starts_with("`latin.csv` is not valid UTF-8"), "{error}");
    }

    #[tokio::test]
    async fn a_preview_is_the_beginning() {
        let trial = Trial::new();
        let previews = [
            (
                json!({"input": "a\n1\n2\n3\n", "format": "csv", "preview": 2}),
                json!([{"a": "1"}, {"a": "2"}]),
            ),
            (json!({"input": "[1, 2, 3]", "format": "json", "preview": 1.0}), json!([1])),
            (json!({"input": "{\"b\": 1, \"a\": 2}", "format": "json", "preview": 1}), json!({"b": 1})),
            (json!({"input": "- 1\n- 2\n", "format": "yaml", "preview": 0}), json!([])),
            (json!({"input": "\"text\"", "format": "json", "preview": 1}), json!("text")),
        ];
        for (params, value) in previews {
            assert_eq!(parse(&trial, params).await, Ok(value));
        }
        for preview in [json!(-1), json!(0.5)] {
            let params = json!({"input": "1", "format": "json", "preview": preview});
            let error = format!("`preview` must be a whole number of at least 0, not `{preview}`");
            assert_eq!(parse(&trial, params).await, Err(error));
        }
    }

    #[tokio::test]
    async fn faults_have_their_place() {
        let trial = Trial::new();
        let errors = [
            ("csv", "a,b\n1,2\n3\n", "the input is not valid CSV: line 3 has 1 field where the header has 2"),
            (
                "csv",
                "a,b\n\"x\ny\",2\n\n1,2,3\n",
                "the input is not valid CSV: line 5 has 3 fields where the header has 2",
            ),
            (
                "csv",
                "a,b\r\n1,2\r\n3\r\n",
                "the input is not valid CSV: line 3 has 1 field where the header has 2",
            ),
            ("csv", "a,b,a\n", "the input is not valid CSV: line 1 names the column `a` twice"),
            ("json", "{\"a\":\n 1,}", "the input is not valid JSON: trailing comma at line 2 column 4"),
            ("jsn", "1", "`format` must be `json`, `csv` or `yaml`, not `jsn`: did you mean `json`?"),
        ];
        for (format, input, error) in errors {
            let returned = parse(&trial, json!({"input": input, "format": format})).await;
            assert_eq!(returned, Err(error.to_owned()));
        }
        let error = parse(&trial, json!({"input": "a: 1\nb: [1,\n", "format": "yaml"})).await.unwrap_err();
        assert!(error.starts_with("the input is not valid YAML: ") && error.contains("line 2"), "{error}");
    }
}
