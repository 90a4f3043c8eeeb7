//! Owns the line of a `.gitignore` by which git passes over what runs leave.

/// The line.
const LINE: &str = ".tepa/";

/// Returns what has to follow at the end of the file for it to have the line, or nothing when it has it.
pub(super) fn lacks(file: &[u8]) -> Option<Vec<u8>> {
    let known = [".tepa", ".tepa/", "/.tepa", "/.tepa/", ".tepa/**", "/.tepa/**"];
    let mut lines = file.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    if lines.any(|line| known.iter().any(|known| line == known.as_bytes())) {
        return None;
    }
    let end: &[u8] = if file.windows(2).any(|pair| pair == b"\r\n") { b"\r\n" } else { b"\n" };
    let open = !file.is_empty() && !file.ends_with(b"\n");
    Some([if open { end } else { b"" }, LINE.as_bytes(), end].concat())
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
            let with =
                lacks(before.as_bytes()).map(|line| before.to_owned() + &String::from_utf8(line).unwrap());
            assert_eq!(with.as_deref(), after, "{before:?}");
        }
    }
}
