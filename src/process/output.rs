//! Owns the kept part of what a command says.

use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::OUTPUT_LIMIT;

/// What stands at the end of output that is not whole.
pub(super) const CUT: &str = "[output truncated at 1 MB]";

/// The kept part of one output stream.
#[derive(Default)]
pub(super) struct Captured {
    bytes: Vec<u8>,
    cut: bool,
}

impl Captured {
    /// Reads to the end, beyond the limit as well: a command must not hang because nobody reads.
    pub(super) async fn fill(&mut self, pipe: Option<impl AsyncRead + Unpin>) {
        let Some(mut pipe) = pipe else { return };
        let mut chunk = vec![0; 16 << 10];
        // A pipe that breaks has ended.
        while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
            let kept = count.min(OUTPUT_LIMIT - self.bytes.len());
            self.bytes.extend_from_slice(&chunk[..kept]);
            self.cut |= kept < count;
        }
    }

    pub(super) fn into_text(mut self) -> String {
        if !self.cut {
            return String::from_utf8_lossy(&self.bytes).into_owned();
        }
        // The cut may have torn a character apart.
        let torn = self.bytes.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len());
        self.bytes.truncate(self.bytes.len() - torn);
        let mut text = String::from_utf8_lossy(&self.bytes).into_owned();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(CUT);
        text
    }
}
