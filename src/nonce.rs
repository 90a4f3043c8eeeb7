//! Owns the marks by which a model tells where material begins and ends: random for a run, different for each piece.
//!
//! A mark derives from a secret of the run and from where the piece stands, never from what it says, so that no text can hold the mark
//! that would close its own envelope.

use std::fmt;

use crate::digest;

/// The length of a mark, in hexadecimal digits.
const LENGTH: usize = 16;

/// Makes marks.
#[derive(Clone)]
pub struct Nonces {
    seed: String,
}

impl Nonces {
    /// Returns marks that nobody can guess.
    pub fn random() -> Self {
        Self { seed: format!("{}{}", uuid::Uuid::new_v4(), uuid::Uuid::new_v4()) }
    }

    /// Returns the same marks for the same seed: for tests.
    pub fn seeded(seed: &str) -> Self {
        Self { seed: seed.to_owned() }
    }

    /// Returns the mark of the piece at a place, such as `["step", "1", "s1"]`.
    pub fn of(&self, place: &[&str]) -> String {
        // Lengths keep places apart whose words would run together.
        let place: Vec<String> = place.iter().map(|word| format!("{}:{word}", word.len())).collect();
        let place = place.concat();
        let mut mark = digest::sha256_of(&format!("{}{place}", self.seed));
        mark.truncate(LENGTH);
        mark
    }
}

impl fmt::Debug for Nonces {
    /// Whoever knows the seed can close envelopes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Nonces")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_marks_of_their_own_and_runs_have_others() {
        let nonces = Nonces::seeded("1");
        assert_eq!(nonces.of(&["step", "1"]), nonces.of(&["step", "1"]));
        assert_ne!(nonces.of(&["step", "1"]), nonces.of(&["step1"]));
        assert_ne!(nonces.of(&["ab", "c"]), nonces.of(&["a", "bc"]));
        assert_ne!(nonces.of(&["step"]), Nonces::seeded("2").of(&["step"]));
        assert_ne!(Nonces::random().of(&["step"]), Nonces::random().of(&["step"]));
        assert_eq!(nonces.of(&[]).len(), LENGTH);
        assert_eq!(format!("{nonces:?}"), "Nonces");
    }
}
