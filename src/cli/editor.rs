//! Owns the editor of the person at the terminal: their own program, with the terminal and their whole environment, for as long as it runs.
//!
//! It may not outlive the run nor leave the terminal other than it was.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::process::{Child, Command};

use super::signals::Lent;

/// How long an editor whose run has ended may take to put the terminal in order.
const GRACE: Duration = Duration::from_millis(500);

/// Lets the person change `text` with `editor`, in a file called `name` in a folder of its own under `temporary`.
///
/// # Errors
/// The editor did not start, failed, or left something else than text: in words.
pub(super) async fn edit(editor: &str, name: &str, text: &str, temporary: &Path) -> Result<String, String> {
    let failed = |what: &'static str| move |e: io::Error| format!("{what}: {e}");
    let folder = tempfile::Builder::new()
        .prefix("tepa-")
        .tempdir_in(temporary)
        .map_err(failed("there is no place for the file to edit"))?;
    let path = folder.path().join(name);
    fs::write(&path, text).map_err(failed("cannot write the file to edit"))?;
    let status = Editing::start(editor, &path)
        .map_err(failed("cannot start the editor"))?
        .wait()
        .await
        .map_err(failed("cannot wait for the editor"))?;
    if !status.success() {
        return Err(format!("the editor `{editor}` failed ({status})"));
    }
    fs::read_to_string(&path).map_err(failed("cannot read the file that was edited"))
}

/// An editor that runs.
struct Editing {
    child: Child,
    _keyboard: Lent,
    #[cfg(unix)]
    before: Option<rustix::termios::Termios>,
}

impl Editing {
    fn start(editor: &str, path: &Path) -> io::Result<Self> {
        // What people put into the variable is a line for the shell, such as `code --wait`.
        let mut command = if cfg!(windows) {
            let mut command = Command::new("cmd");
            command.args(["/C", editor]);
            command
        } else {
            let mut command = Command::new("sh");
            // The shell gives way to the editor where it can, so that ending one ends the other; `env` lets variables stand before it.
            let compound = editor.contains([';', '&', '|', '<', '>', '(', ')', '{', '}', '\n']);
            let way = if compound { "" } else { "exec env " };
            command.args(["-c", &format!("{way}{editor} \"$@\""), editor]);
            command
        };
        // Standard output may be a file that waits for the result.
        command.arg(path).stdout(io::stderr()).kill_on_drop(true);
        #[cfg(unix)]
        let before = rustix::termios::tcgetattr(io::stdin()).ok();
        let keyboard = Lent::keyboard();
        Ok(Self {
            child: command.spawn()?,
            _keyboard: keyboard,
            #[cfg(unix)]
            before,
        })
    }

    async fn wait(&mut self) -> io::Result<std::process::ExitStatus> {
        self.child.wait().await
    }
}

impl Drop for Editing {
    fn drop(&mut self) {
        #[cfg(unix)]
        {
            // Asked first: an editor knows best how to leave the screen that it drew.
            if let Some(id) = self.child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()))
            {
                let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
                let pause = Duration::from_millis(10);
                let mut waited = Duration::ZERO;
                while waited < GRACE && matches!(self.child.try_wait(), Ok(None)) {
                    std::thread::sleep(pause);
                    waited += pause;
                }
            }
            let _ = self.child.start_kill();
            if let Some(before) = &self.before {
                let _ =
                    rustix::termios::tcsetattr(io::stdin(), rustix::termios::OptionalActions::Now, before);
            }
        }
    }
}
