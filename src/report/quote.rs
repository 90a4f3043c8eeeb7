//! Owns the finding of quotes in material, for those who show both.
//!
//! Only a quote that stands there as it is given is found: what a judge set otherwise is proven all the same, and is not pointed at.

/// A piece of material, and whether it is quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece<'t> {
    pub(super) text: &'t str,
    pub(super) quoted: bool,
}

/// Returns the material in pieces, of which those are quoted where a quote is found first.
pub(super) fn pieces<'t>(material: &'t str, quotes: &[String]) -> Vec<Piece<'t>> {
    let quotes = quotes.iter().map(|quote| quote.trim()).filter(|quote| !quote.is_empty());
    let mut found: Vec<_> =
        quotes.filter_map(|quote| material.find(quote).map(|at| (at, at + quote.len()))).collect();
    found.sort_unstable();
    let mut pieces = Vec::new();
    let mut add = |text: &'t str, quoted| pieces.push(Piece { text, quoted });
    let mut done = 0;
    for (start, end) in found {
        let start = start.max(done);
        if start < end {
            add(&material[done..start], false);
            add(&material[start..end], true);
            done = end;
        }
    }
    add(&material[done..], false);
    pieces.retain(|piece| !piece.text.is_empty());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the material with brackets around what is quoted.
    fn marked(material: &str, quotes: &[&str]) -> String {
        let quotes: Vec<String> = quotes.iter().map(|&quote| quote.to_owned()).collect();
        let shown = |piece: Piece| {
            if piece.quoted { format!("[{}]", piece.text) } else { piece.text.to_owned() }
        };
        pieces(material, &quotes).into_iter().map(shown).collect()
    }

    #[test]
    fn a_quote_is_found_where_it_stands_as_it_is_given() {
        assert_eq!(marked("Ende gut, alles gut", &[" gut\n", "Ende"]), "[Ende] [gut], alles gut");
        assert_eq!(marked("one\ntwo", &["one two", "", "  ", "three"]), "one\ntwo");
        assert_eq!(marked("", &["a"]), "");
    }

    #[test]
    fn quotes_that_overlap_are_marked_once() {
        assert_eq!(marked("abcdef", &["bcd", "cde", "c", "abcdef"]), "[abcdef]");
        assert_eq!(marked("äöüß", &["öü", "üß"]), "ä[öü][ß]");
    }
}
