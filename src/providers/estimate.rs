//! Owns the estimate of tokens where an API does not count them; it refuses to be exact.

use crate::outcome::Usage;
use crate::provider::Request;
use crate::text;

/// Returns the tokens of a call that was answered with so many characters.
pub(super) fn usage(request: &Request, answered: usize) -> Usage {
    let input = request.estimated_tokens();
    Usage { input, output: text::tokens_in(answered), ..Usage::default() }
}
