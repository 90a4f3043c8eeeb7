//! Owns the line of a `.gitignore` by which git passes over what runs leave.

/// The line.
const LINE: &str = ".tepa/";

/// Returns the file with the line at its end, or nothing when it has it; what is there stays, byte for byte.
pub(super) fn with_tepa(file: &[u8]) -> Option<Vec<u8>> {
    let known = [".tepa", ".tepa/", "/.tepa", "/.tepa/", ".tepa/**", "/.tepa/**"];
    let mut lines = file.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    if lines.any(|line| known.iter().any(|known| line == known.as_bytes())) {
        return None;
    }
    let end: &[u8] = if file.windows(2).any(|pair| pair == b"\r\n") { b"\r\n" } else { b"\n" };
    let mut text = file.to_vec();
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.extend(end);
    }
    text.extend(LINE.as_bytes());
    text.extend(end);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_added_once_in_the_manner_of_the_file() {
        for (before, after) in [
            ("", Some(".tepa/\n")),
            ("target\n", Some("target\n.tepa/\n")),
            ("target", Some("target\n.tepa/\n")),
            ("a\r\nb\r\n", Some("a\r\nb\r\n.tepa/\r\n")),
            ("a\r\nb", Some("a\r\nb\r\n.tepa/\r\n")),
            ("# .tepa/\n!.tepa/x\n", Some("# .tepa/\n!.tepa/x\n.tepa/\n")),
            ("x\n/.tepa/\r\ny", None),
            (".tepa", None),
        ] {
            let with = with_tepa(before.as_bytes()).map(|text| String::from_utf8(text).unwrap());
            assert_eq!(with.as_deref(), after, "{before:?}");
        }
    }
}
