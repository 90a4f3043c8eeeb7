//! Owns patterns of calls and what they match.
//!
//! In a path, `*` and `?` stay in one folder and `**` crosses folders; a pattern that ends with `/**` means the folder as well. Elsewhere `*`
//! stands for anything and `?` for one character, and nothing else is special. A command pattern that ends with ` *` means the bare
//! command as well. In a URL, the host is matched by itself, so that no `*` reaches from the host into the path.

use std::path::Path;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use super::subject::Kind;

/// Some of the calls of a tool.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    text: String,
    matcher: Matcher,
}

#[derive(Debug, Clone)]
enum Matcher {
    Text,
    Command,
    Address,
    /// With the folder itself, when everything below it is meant.
    Path(GlobSet),
}

impl Pattern {
    /// Returns what `text` means for a subject of this kind, or nothing when everything matches.
    pub(super) fn parse(kind: Kind, text: &str) -> Result<Option<Self>, globset::ErrorKind> {
        let everything = match kind {
            Kind::Path => ["**", "**/*", "**/**"].contains(&text),
            Kind::Text | Kind::Command | Kind::Address => text.chars().all(|c| c == '*'),
        };
        if everything {
            return Ok(None);
        }
        let matcher = match kind {
            Kind::Text => Matcher::Text,
            Kind::Command => Matcher::Command,
            Kind::Address => Matcher::Address,
            Kind::Path => Matcher::Path(globs(text).map_err(|error| error.kind().clone())?),
        };
        Ok(Some(Self { text: text.to_owned(), matcher }))
    }

    /// Returns whether `subject` is meant; a pattern of absolute paths is compared with what lies in `root` as well.
    pub(super) fn matches(&self, subject: &str, root: &Path) -> bool {
        match &self.matcher {
            Matcher::Text => fits(&self.text, subject),
            Matcher::Command => {
                let bare = self.text.strip_suffix(" *");
                fits(&self.text, subject) || bare.is_some_and(|bare| fits(bare, subject))
            }
            Matcher::Address => fits_address(&self.text, subject),
            Matcher::Path(globs) if self.text.starts_with('/') => globs.is_match(root.join(subject)),
            Matcher::Path(globs) => globs.is_match(subject),
        }
    }

    /// Returns whether exactly this text is meant, which leaves nothing open.
    pub(super) fn is_exactly(&self, subject: &str) -> bool {
        self.text == subject && !self.text.contains(['*', '?'])
    }

    /// Returns the pattern as it was typed.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

fn globs(text: &str) -> Result<GlobSet, globset::Error> {
    let text = text.strip_prefix("./").unwrap_or(text);
    let text = text.strip_suffix('/').filter(|rest| !rest.is_empty()).unwrap_or(text);
    let mut globs = GlobSetBuilder::new();
    globs.add(glob(text)?);
    if let Some(folder) = text.strip_suffix("/**") {
        globs.add(glob(folder)?);
    }
    globs.build()
}

fn glob(text: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build()
}

fn fits_address(pattern: &str, address: &str) -> bool {
    let (Some(wanted), Some(found)) = (parts(pattern), parts(address)) else {
        return fits(pattern, address);
    };
    let open = wanted.2.is_empty() && wanted.1.ends_with('*');
    fits(wanted.0, found.0) && fits(wanted.1, found.1) && (open || fits(wanted.2, found.2))
}

/// Returns scheme, host and the rest.
fn parts(address: &str) -> Option<(&str, &str, &str)> {
    let (scheme, rest) = address.split_once("://")?;
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    Some((scheme, host, path))
}

/// Returns whether the whole text is one that the pattern stands for.
fn fits(pattern: &str, text: &str) -> bool {
    let (mut pattern, mut text) = (pattern.chars(), text.chars());
    // Where to go on when the last `*` has to stand for one character more.
    let mut retry = None;
    loop {
        let (before, mut after) = (text.clone(), pattern.clone());
        match (after.next(), text.next()) {
            (Some('*'), _) => {
                (pattern, text) = (after, before);
                retry = Some((pattern.clone(), text.clone()));
            }
            (None, None) => return true,
            (Some(wanted), Some(found)) if wanted == '?' || wanted == found => pattern = after,
            _ => {
                let Some((behind_star, mut from)) = retry.take() else { return false };
                if from.next().is_none() {
                    return false;
                }
                (pattern, text) = (behind_star.clone(), from.clone());
                retry = Some((behind_star, from));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(kind: Kind, pattern: &str, subject: &str) -> bool {
        let pattern = Pattern::parse(kind, pattern).unwrap();
        pattern.is_none_or(|pattern| pattern.matches(subject, Path::new("/project/space")))
    }

    #[test]
    fn a_text_fits_as_a_whole() {
        for (pattern, text, expected) in [
            ("a*c", "abbc", true),
            ("a*c", "ac", true),
            ("a*c", "ac ", false),
            ("a*b*c", "a b\n/ b c", true),
            ("a?c", "a\u{e9}c", true),
            ("a?c", "ac", false),
            ("*.md", "a.md.md", true),
            ("*", "", true),
            ("A", "a", false),
            ("a[b]{c}", "a[b]{c}", true),
            ("a[b]", "ab", false),
        ] {
            assert_eq!(matches(Kind::Text, pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_pattern_with_many_stars_is_no_burden() {
        assert!(!fits(&format!("{}b", "a*".repeat(30)), &"a".repeat(5_000)));
    }

    #[test]
    fn a_command_pattern_means_the_bare_command_as_well() {
        assert!(matches(Kind::Command, "git *", "git"));
        assert!(matches(Kind::Command, "git *", "git status"));
        assert!(!matches(Kind::Command, "git *", "gitk"));
        assert!(!matches(Kind::Command, "git*", "go"));
        assert!(!matches(Kind::Text, "git *", "git"));
    }

    #[test]
    fn a_path_is_matched_folder_by_folder() {
        for (pattern, path, expected) in [
            ("out/*", "out/a", true),
            ("out/*", "out/a/b", false),
            ("out/**", "out/a/b", true),
            ("out/**", "out", true),
            ("out/**", "output", false),
            ("./out/", "out", true),
            ("*.md", "a.md", true),
            ("*.md", "a/b.md", false),
            ("**/*.md", "a/b.md", true),
            ("**/*.md", "b.md", true),
            ("src/{a,b}/[xy]?", "src/b/x1", true),
            ("OUT/*", "out/a", false),
            ("*", ".env", true),
            ("*", "line\nbreak", true),
            ("/project/space/out/**", "out/a", true),
            ("/etc/**", "/etc/passwd", true),
            ("etc/**", "/etc/passwd", false),
            ("**", "/etc/passwd", true),
        ] {
            assert_eq!(matches(Kind::Path, pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn the_star_of_a_host_stays_in_the_host() {
        for (pattern, address, expected) in [
            ("https://api.example.com/*", "https://api.example.com/v1?x=/y", true),
            ("https://api.example.com/*", "https://api.example.com.evil.com/", false),
            ("https://*.example.com/*", "https://a.example.com/x", true),
            ("https://*.example.com/*", "https://evil.com/.example.com/x", false),
            ("https://*.example.com/*", "https://evil.com/?.example.com/x", false),
            ("https://*", "https://a.b/c", true),
            ("https://*", "http://a.b/c", false),
            ("*://localhost:8080/*", "http://localhost:8080/", true),
            ("*evil.com*", "https://evil.com/x", true),
        ] {
            assert_eq!(matches(Kind::Address, pattern, address), expected, "{pattern} {address}");
        }
    }
}
