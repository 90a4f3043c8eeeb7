//! Owns a program run to its end, and what the kernel says that it took, with all that it started and waited for.
//!
//! Between this program and the measured one stands this program again, small: a child begins with the peak of the process that it is
//! forked from.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The first argument of this program when it stands in between; the second is where to leave what was measured.
pub(crate) const MEASURE: &str = "--measure";

/// What a program took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Took {
    pub(crate) began: SystemTime,
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    /// The largest that it, or one of its children, was in memory, in bytes.
    pub(crate) peak: u64,
}

impl Took {
    /// Returns the least of every number; it began when the faster one did.
    pub(crate) fn or(self, other: Self) -> Self {
        let faster = if other.wall < self.wall { other } else { self };
        Self { cpu: self.cpu.min(other.cpu), peak: self.peak.min(other.peak), ..faster }
    }
}

/// Runs a program in `folder`, with nothing of this machine in its environment; the reason why it did not end well, if it did not.
pub(crate) fn run(program: &Path, arguments: &[&str], folder: &Path) -> Result<Took, String> {
    let (measured, said) = (folder.join("measured"), folder.join("said"));
    let errors = fs::File::create(&said).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(MEASURE).arg(&measured).arg(program).args(arguments).current_dir(folder);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", folder);
    command.env("TMPDIR", std::env::temp_dir()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
    let status = command.status().unwrap();
    if !status.success() {
        let said = fs::read_to_string(said).unwrap();
        return Err(format!("tepa {}: {status}\n{said}", arguments.join(" ")));
    }
    let numbers = fs::read_to_string(measured).unwrap();
    let numbers: Vec<u64> = numbers.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let [began, wall, cpu, peak] = numbers[..].try_into().unwrap();
    let micros = Duration::from_micros;
    Ok(Took { began: UNIX_EPOCH + micros(began), wall: micros(wall), cpu: micros(cpu), peak })
}

/// Stands in between: runs the program that `arguments` name, and leaves the numbers in the file that they name first.
pub(crate) fn stand_between(mut arguments: impl Iterator<Item = OsString>) -> u8 {
    let measured = arguments.next().unwrap();
    let mut command = Command::new(arguments.next().unwrap());
    let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let clock = Instant::now();
    let status = command.args(arguments).status().unwrap();
    let wall = clock.elapsed();
    let (cpu, peak) = used();
    let numbers = format!("{} {} {cpu} {peak}", began.as_micros(), wall.as_micros());
    fs::write(measured, numbers).unwrap();
    status.code().and_then(|code| code.try_into().ok()).unwrap_or(u8::MAX)
}

/// Returns the microseconds and the bytes of all children that have ended.
#[cfg(unix)]
fn used() -> (i64, i64) {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike as _;
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let unit = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
    ((usage.user_time() + usage.system_time()).num_microseconds(), usage.max_rss() * unit)
}

/// Elsewhere only the clock is read.
#[cfg(not(unix))]
fn used() -> (i64, i64) {
    (0, 0)
}
