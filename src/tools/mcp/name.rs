//! Owns the names of servers' tools: `server__tool`, in characters that every provider takes.
//!
//! It refuses names that come out equal or too long: a model could not call the one that it means.

/// The longest name that every provider takes.
const LONGEST: usize = 64;

/// Returns the names of a server's `tools`, in their order, or what is wrong with one.
pub(super) fn of_tools<'a>(
    server: &str,
    tools: impl Iterator<Item = &'a str>,
) -> Result<Vec<String>, String> {
    let mut named: Vec<(String, &str)> = Vec::new();
    for tool in tools {
        let name = format!("{server}__{}", tool.replace(|c: char| !taken(c), "_"));
        if name.len() > LONGEST {
            return Err(format!(
                "its tool `{tool}` would be called `{name}`, which is longer than the {LONGEST} characters that models can call"
            ));
        }
        if let Some((_, other)) = named.iter().find(|(known, _)| *known == name) {
            return Err(format!("its tools `{other}` and `{tool}` would both be called `{name}`"));
        }
        named.push((name, tool));
    }
    Ok(named.into_iter().map(|(name, _)| name).collect())
}

fn taken(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_called_after_its_server() {
        let names = of_tools("files", ["read", "a.b/c", "größe"].into_iter()).unwrap();
        assert_eq!(names, ["files__read", "files__a_b_c", "files__gr__e"]);
    }

    #[test]
    fn names_that_clash_or_are_too_long_are_refused() {
        assert_eq!(
            of_tools("s", ["a.b", "x", "a/b"].into_iter()).unwrap_err(),
            "its tools `a.b` and `a/b` would both be called `s__a_b`"
        );
        assert!(
            of_tools("s", ["x".repeat(62).as_str()].into_iter()).unwrap_err().contains("longer than the 64")
        );
        assert!(of_tools("s", ["x".repeat(61).as_str()].into_iter()).is_ok());
    }
}
