//! Owns the form of a placeholder: `{{name}}` in a text, `\{{name}}` for the characters themselves, and what a name is.
//!
//! What is not of the form is text: other programs have braces of their own, and a task may be about them.

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Characters that stand for themselves.
    Text(&'a str),
    /// A placeholder.
    Placeholder {
        /// What is named.
        name: &'a str,
        /// How it is written, braces included.
        written: &'a str,
    },
}

/// Returns the parts of a text, in order.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    // Where the characters begin that are in no piece yet, and where the next braces are looked for.
    let (mut kept, mut from) = (0, 0);
    while let Some(at) = text[from..].find("{{").map(|at| from + at) {
        let Some((name, written)) = placeholder(&text[at..]) else {
            // `{{{x}}`: the form may begin one brace later.
            from = at + 1;
            continue;
        };
        let escaped = text[kept..at].ends_with('\\');
        let end = at - usize::from(escaped);
        if end > kept {
            pieces.push(Piece::Text(&text[kept..end]));
        }
        from = at + written.len();
        pieces.push(if escaped { Piece::Text(written) } else { Piece::Placeholder { name, written } });
        kept = from;
    }
    if kept < text.len() {
        pieces.push(Piece::Text(&text[kept..]));
    }
    pieces
}

/// Returns how a text is written in which nothing is a placeholder.
pub fn literal(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("{{") {
        let (before, from) = rest.split_at(at);
        written.push_str(before);
        // `{{{x}}`: the form may begin one brace later.
        let length = placeholder(from).map_or(1, |(_, placeholder)| {
            written.push('\\');
            placeholder.len()
        });
        written.push_str(&from[..length]);
        rest = &from[length..];
    }
    written + rest
}

/// Returns the name in the placeholder that a text begins with, and the placeholder.
fn placeholder(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix("{{")?;
    let end = inside.find('}')?;
    let name = inside[..end].trim_matches([' ', '\t']);
    (inside[end..].starts_with("}}") && is_name(name)).then(|| (name, &text[..end + 4]))
}

/// Returns whether a variable may have this name.
pub(super) fn is_name(name: &str) -> bool {
    let first = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    first && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the pieces as text, placeholders as their name in `<>`.
    fn shown(text: &str) -> String {
        let shown = |piece: &Piece<'_>| match piece {
            Piece::Text(text) => (*text).to_owned(),
            Piece::Placeholder { name, .. } => format!("<{name}>"),
        };
        pieces(text).iter().map(shown).collect()
    }

    #[test]
    fn a_placeholder_is_two_braces_around_a_name() {
        for (text, expected) in [
            ("a {{b}} c {{ d-1 }}{{\te_ }}", "a <b> c <d-1><e_>"),
            ("{{{x}}}", "{<x>}"),
            ("cost: ${{price}}", "cost: $<price>"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn any_text_can_be_written_such_that_nothing_in_it_is_a_placeholder() {
        for text in ["{{x}}", "{{{x}}}", "\\{{x}}", "a {{ b }}{{c}} {{", "{{{{y}}}}", "no braces", "{{1}}"] {
            assert_eq!(shown(&literal(text)), text);
        }
    }

    #[test]
    fn what_is_not_of_the_form_is_text() {
        for text in [
            "${{ github.ref }}",
            "{{#if x}}",
            "{{ a b }}",
            "{{1a}}",
            "{{}}",
            "{{a}",
            "{{a\n}}",
            "{a}",
            "}}{{",
            "{{ü}}",
            "{{",
        ] {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn a_backslash_makes_it_text() {
        assert_eq!(shown(r"\{{a}} and {{a}}"), "{{a}} and <a>");
        assert_eq!(shown(r"\\{{a}}"), r"\{{a}}");
        assert_eq!(shown(r"\{{ a.b }}"), r"\{{ a.b }}");
        assert_eq!(shown(r"\{{a}}\{{b}}"), "{{a}}{{b}}");
    }
}
