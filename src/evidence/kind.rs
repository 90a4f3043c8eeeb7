//! Owns what kind of content a file has, by its first bytes and its name, and what shape that content is in.

use super::content::{MOST_NODES, counted_rows, table};
use crate::source::parse_yaml_value;
use crate::text;

/// Characters that are shown of a header or of what is wrong.
const QUOTED: usize = 300;

/// First bytes that leave no doubt.
const MARKS: [(&[u8], &str); 7] = [
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"\x7fELF", "application/x-executable"),
];

/// Returns the MIME type of a file called `path` that begins with `head`.
pub(super) fn mime(path: &str, head: &[u8]) -> &'static str {
    if let Some((_, kind)) = MARKS.iter().find(|(mark, _)| head.starts_with(mark)) {
        return kind;
    }
    if head.contains(&0) {
        return "application/octet-stream";
    }
    match ending(path).as_str() {
        "md" | "markdown" => "text/markdown",
        "html" | "htm" => "text/html",
        "csv" => "text/csv",
        "json" => "application/json",
        "yaml" | "yml" => "application/yaml",
        "xml" => "application/xml",
        "svg" => "image/svg+xml",
        _ => "text/plain",
    }
}

/// Returns whether the name of a file says that its content has a shape.
pub(super) fn has_shape(path: &str) -> bool {
    ["csv", "json", "yaml", "yml"].contains(&ending(path).as_str())
}

/// Returns the shape of content whose name says that it has one: columns and rows of CSV, whether JSON or YAML can be parsed.
pub(super) fn shape(path: &str, content: &[u8]) -> Option<String> {
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let said = match ending(path).as_str() {
        "csv" => match table(content) {
            Ok((header, rows)) => format!("CSV with {}: {}", counted_rows(rows), text::ticked(&header)),
            Err(e) => format!("not CSV: {e}"),
        },
        "json" => match serde_json::from_slice::<serde::de::IgnoredAny>(content) {
            Ok(_) => "JSON that can be parsed".to_owned(),
            Err(e) => format!("not JSON: {e}"),
        },
        "yaml" | "yml" => match std::str::from_utf8(content) {
            Ok(text) => match parse_yaml_value(text, MOST_NODES) {
                Ok(_) => "YAML that can be parsed".to_owned(),
                Err(e) => format!("not YAML: {e}"),
            },
            Err(_) => "not YAML: it is not UTF-8".to_owned(),
        },
        _ => return None,
    };
    Some(text::truncate(&said.replace(['\n', '\r'], " "), QUOTED).into_owned())
}

fn ending(path: &str) -> String {
    path.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_bytes_say_outranks_the_name() {
        assert_eq!(mime("a.md", b"# A"), "text/markdown");
        assert_eq!(mime("a.md", b"%PDF-1.7"), "application/pdf");
        assert_eq!(mime("a.csv", b"a\0"), "application/octet-stream");
        assert_eq!(mime("Makefile", b"all:"), "text/plain");
    }

    #[test]
    fn the_shape_is_told_where_the_name_promises_one() {
        assert_eq!(shape("a.CSV", b"a,b\n1,2\n").as_deref(), Some("CSV with 1 row: `a` and `b`"));
        assert!(shape("a.csv", b"a,b\n1\n").unwrap().starts_with("not CSV: "));
        assert_eq!(shape("a.json", b"[1]").as_deref(), Some("JSON that can be parsed"));
        assert!(shape("a.json", b"[1").unwrap().starts_with("not JSON: "));
        assert!(shape("a.yml", b"a: [").unwrap().starts_with("not YAML: "));
        assert_eq!(shape("a.txt", b"x"), None);
    }
}
