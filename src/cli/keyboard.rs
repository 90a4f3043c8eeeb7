//! Owns lines that a person types at the terminal, as answers to prompts on standard error.

use std::io;

use super::ui::Ui;

/// Returns a line that was typed in full, without blanks around it; nothing at the end of the input.
pub(super) async fn line(prompt: &str, ui: &Ui) -> Option<String> {
    ui.say(prompt);
    let mut open = Open { ui, answered: false };
    let (sender, typed) = tokio::sync::oneshot::channel();
    // Off the runtime, which would wait for it: when the command ends first, nobody types that line any more.
    let reading = std::thread::Builder::new().spawn(move || {
        let mut line = Vec::new();
        let read = io::BufRead::read_until(&mut io::stdin().lock(), b'\n', &mut line);
        let _ = sender.send(read.map(|_| line));
    });
    reading.ok()?;
    let line = typed.await.ok()?.ok()?;
    let line = line.strip_suffix(b"\n")?;
    open.answered = true;
    Some(String::from_utf8_lossy(line).trim().to_owned())
}

/// Throws away what was typed before the question could be read.
pub(super) fn forget() {
    #[cfg(unix)]
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
}

/// A prompt that waits for its line; without one, what is shown next begins a line of its own.
struct Open<'u> {
    ui: &'u Ui,
    answered: bool,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if !self.answered {
            self.ui.say("\n");
        }
    }
}
