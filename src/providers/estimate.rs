//! Owns the estimate of tokens where an API does not count them; it refuses to be exact.

use crate::outcome::Usage;
use crate::provider::Request;

/// Returns the tokens of a text of so many characters.
pub(super) fn tokens(characters: usize) -> u64 {
    characters.div_ceil(4) as u64
}

/// Returns the tokens of a call that was answered with so many characters.
pub(super) fn usage(request: &Request, answered: usize) -> Usage {
    let said = request.messages.iter().map(|message| message.content.chars().count());
    let input = tokens(said.sum::<usize>() + request.system.chars().count());
    Usage { input, output: tokens(answered), ..Usage::default() }
}
