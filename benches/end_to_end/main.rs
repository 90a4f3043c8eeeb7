//! Prints what the program costs as people run it, each number beside its limit: start-up, whole runs against a server on the loopback,
//! files to validate, the size of the binary.
//!
//! `bash benches/end_to_end.sh`; it fails if a run in it does, and never for a number. What it prints as CPU time and as wall clock is the
//! least of several tries, since other programs can only add to it.

#![expect(clippy::unwrap_used, reason = "what goes wrong ends the measurement")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the numbers are what it is for")]

mod child;
mod mock;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use child::Took;
use mock::{Mock, Seen, Shape};
use tempfile::TempDir;

const TASK: &str = "\
goal: Write every part.
context: {}
expectedOutput:
  - path: out/step1.txt
    description: The first part
";

/// How many steps go at once where a run is measured against its critical path.
const PARALLEL: usize = 8;

/// A number of the program, or why a run of it did not end as it should.
type Measured<T> = Result<T, String>;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let tepa = match arguments.next() {
        Some(first) if first == child::MEASURE => return ExitCode::from(child::stand_between(arguments)),
        Some(tepa) if Path::new(&tepa).is_file() => Subject::new(tepa.into()),
        _ => return failure("the first argument is the program to measure"),
    };
    println!("{:<48}{:>10}{:>10}{:>7}", "", "measured", "limit", "ratio");
    let rows = [Subject::commands, Subject::calls, Subject::growth, Subject::path];
    match rows.iter().try_for_each(|rows| rows(&tepa)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => failure(&why),
    }
}

fn failure(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::FAILURE
}

/// What is measured, and whom it talks to.
struct Subject {
    tepa: PathBuf,
    mock: Mock,
    /// Everything that is written stays to the end: some file systems are slow to make files where others have just been removed.
    work: TempDir,
}

impl Subject {
    fn new(tepa: PathBuf) -> Self {
        Self { tepa, mock: Mock::start(), work: tempfile::tempdir().unwrap() }
    }

    fn folder(&self) -> PathBuf {
        tempfile::tempdir_in(&self.work).unwrap().keep()
    }

    fn commands(&self) -> Measured<()> {
        row("the binary", megabytes(fs::metadata(&self.tepa).unwrap().len()), 25.0, "MB, goal");
        let version = self.version()?;
        row("tepa --version, wall", millis(version.wall), 10.0, "ms, goal");
        let one = least(10, || self.command(&["validate", "tasks"], 1))?;
        row("tepa validate, one file, wall", millis(one.wall), 20.0, "ms, goal");
        let many = least(3, || self.command(&["validate", "tasks"], 1_000))?;
        row("tepa validate, 1,000 files, wall", millis(many.wall), 1_000.0, "ms, a millisecond for each");
        Ok(())
    }

    /// Without any delay, what is left is the program's own work.
    fn calls(&self) -> Measured<()> {
        for (shape, steps, cpu, peak) in [(Shape::Join, 9, 60.0, 24.0), (Shape::Apart, 198, 250.0, 40.0)] {
            let ran = self.run(10, shape, steps, Duration::ZERO, &[])?;
            let calls = ran.seen.calls;
            if calls == 11 {
                let first = ran.seen.first.and_then(|first| first.duration_since(ran.took.began).ok());
                let limit = millis(self.version()?.wall);
                row("start-up to the first request", millis(first.unwrap()), limit, "ms, tepa --version");
            }
            row(&format!("{calls} calls at 0 ms, CPU"), millis(ran.took.cpu), cpu, "ms, goal");
            row(&format!("{calls} calls at 0 ms, peak memory"), mebibytes(ran.took.peak), peak, "MiB, goal");
        }
        Ok(())
    }

    /// With one, what counts is how many calls follow on each other.
    fn path(&self) -> Measured<()> {
        let settings = ["--set", &format!("limits.maxParallelSteps={PARALLEL}")];
        let alone = self.run(5, Shape::Join, 9, Duration::ZERO, &["--set", "limits.maxParallelSteps=1"])?;
        let ran = self.run(5, Shape::Join, 9, Duration::ZERO, &settings)?;
        let what = "8 steps and one that joins them, at 0 ms, wall";
        row(what, millis(ran.took.wall), millis(alone.took.wall), "ms, one at a time");
        for (what, shape, steps, rounds) in [
            ("8 steps and one that joins them, at 200 ms, wall", Shape::Join, 9, 2),
            ("200 steps, at 200 ms, wall", Shape::Apart, 200, 200_u32.div_ceil(8)),
        ] {
            let delay = Duration::from_millis(200);
            let ran = self.run(1, shape, steps, delay, &settings)?;
            // The plan comes before all steps, the verdict after them.
            row(what, millis(ran.took.wall), millis(delay * (1 + rounds + 1)), "ms, critical path");
        }
        Ok(())
    }

    /// Ten times the steps must not be much more than ten times the work.
    fn growth(&self) -> Measured<()> {
        for (shape, name) in [(Shape::Apart, "apart"), (Shape::Chain, "in a chain")] {
            let few = self.run(5, shape, 100, Duration::ZERO, &[])?;
            let many = self.run(3, shape, 1_000, Duration::ZERO, &[])?;
            let row = |of: &str, unit: &str, of_run: fn(&Ran) -> f64| {
                let what = format!("1,000 steps {name}, {of}");
                row(&what, of_run(&many), 11.0 * of_run(&few), &format!("{unit}, 11 times 100 steps"));
            };
            row("CPU", "ms", |ran| millis(ran.took.cpu));
            row("bytes sent", "MB", |ran| megabytes(ran.seen.bytes));
            row("peak memory", "MiB", |ran| mebibytes(ran.took.peak));
        }
        Ok(())
    }

    fn version(&self) -> Measured<Took> {
        least(20, || self.command(&["--version"], 0))
    }

    /// Runs tepa in a folder of its own with some tasks in it.
    fn command(&self, arguments: &[&str], tasks: usize) -> Measured<Took> {
        let folder = self.folder();
        fs::create_dir(folder.join("tasks")).unwrap();
        for task in 0..tasks {
            fs::write(folder.join(format!("tasks/{task}.yaml")), TASK).unwrap();
        }
        child::run(&self.tepa, arguments, &folder)
    }

    /// Runs a task some times, each in a folder of its own; returns the least of every number.
    fn run(
        &self,
        times: usize,
        shape: Shape,
        steps: usize,
        delay: Duration,
        settings: &[&str],
    ) -> Measured<Ran> {
        let url = self.mock.url(shape, steps, delay);
        let fixed = ["run", "task.yaml", "--hermetic", "--model", "mock", "--provider", "openai-compatible"];
        let fixed = [&fixed[..], &["--max-tokens", "1000000000", "--base-url", &url], settings].concat();
        let once = || -> Measured<Ran> {
            let folder = self.folder();
            fs::write(folder.join("task.yaml"), TASK).unwrap();
            self.mock.take();
            let took = child::run(&self.tepa, &fixed, &folder)?;
            Ok(Ran { took, seen: self.mock.take() })
        };
        (1..times).try_fold(once()?, |least, _| Ok(least.or(once()?)))
    }
}

/// A run that passed.
#[derive(Clone, Copy)]
struct Ran {
    took: Took,
    seen: Seen,
}

impl Ran {
    /// Returns the least of both; what came to the server is that of the faster one.
    fn or(self, other: Self) -> Self {
        let took = self.took.or(other.took);
        let seen = if took.began == self.took.began { self.seen } else { other.seen };
        Self { took, seen }
    }
}

fn least(times: usize, run: impl Fn() -> Measured<Took>) -> Measured<Took> {
    (1..times).try_fold(run()?, |least, _| Ok(least.or(run()?)))
}

fn row(what: &str, measured: f64, limit: f64, unit: &str) {
    let ratio = measured / limit;
    println!("{what:<48}{measured:>10.2}{limit:>10.2}{ratio:>7.2}  {unit}");
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

#[expect(clippy::cast_precision_loss, reason = "nobody looks at the last digits")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn mebibytes(bytes: u64) -> f64 {
    megabytes(bytes) * 1e6 / f64::from(1 << 20)
}
