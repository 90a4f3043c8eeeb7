//! Owns the estimate of tokens where an API does not count them; it refuses to be exact.

use crate::outcome::Usage;
use crate::provider::Request;
use crate::text;

/// Returns the tokens of a call that was answered with so many characters.
pub(super) fn usage(request: &Request, answered: usize) -> Usage {
    let said = request.messages.iter().map(|message| message.content.chars().count());
    let input = text::tokens_in(said.sum::<usize>() + request.system.chars().count());
    Usage { input, output: text::tokens_in(answered), ..Usage::default() }
}
