//! Running the check of a todo: a command without a shell, in a fixed directory, with a bounded time and output.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Output beyond this is cut.
const OUTPUT_MAX_BYTES: u64 = 256 << 10;

/// How checks are run.
#[derive(Debug, Clone)]
pub struct CheckRunner {
    /// The search path for programs, the only part of the caller's environment that a check sees, with HOME.
    pub path: Option<OsString>,
    /// HOME, which build tools need.
    pub home: Option<OsString>,
    /// A check that takes longer is killed and has failed.
    pub timeout_ms: u64,
}

/// What a check did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckOutcome {
    /// Its exit code; none if it was killed or could not start.
    pub exit: Option<i32>,
    /// The beginning of what it printed.
    pub output: Vec<u8>,
}

impl CheckOutcome {
    /// The last lines, for a person.
    #[must_use]
    pub fn tail(&self) -> String {
        let text = String::from_utf8_lossy(&self.output);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let from = lines.len().saturating_sub(3);
        let tail = lines.get(from..).unwrap_or_default().join(" | ");
        let skip = tail.chars().count().saturating_sub(400);
        tail.chars().skip(skip).collect()
    }
}

impl CheckRunner {
    /// Runs `argv` in `directory`. Whatever goes wrong is an outcome that has not passed.
    #[must_use]
    pub fn run(&self, argv: &[String], directory: &Path) -> CheckOutcome {
        self.try_run(argv, directory).unwrap_or_else(|error| CheckOutcome {
            exit: None,
            output: format!("could not be run: {error}").into_bytes(),
        })
    }

    fn try_run(&self, argv: &[String], directory: &Path) -> std::io::Result<CheckOutcome> {
        let Some((program, arguments)) = argv.split_first() else {
            return Ok(CheckOutcome { exit: None, output: b"an empty command".to_vec() });
        };
        // A file rather than a pipe: a check that prints much never waits for a reader.
        let mut sink = unnamed_file()?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(directory).env_clear();
        command.envs(self.path.iter().map(|path| ("PATH", path)));
        command.envs(self.home.iter().map(|home| ("HOME", home)));
        command.stdin(Stdio::null()).stdout(sink.try_clone()?).stderr(sink.try_clone()?);
        let mut child = command.spawn()?;
        let started = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if started.elapsed() >= Duration::from_millis(self.timeout_ms) {
                child.kill()?;
                child.wait()?;
                break None;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        sink.rewind()?;
        let mut output = Vec::new();
        sink.take(OUTPUT_MAX_BYTES).read_to_end(&mut output)?;
        if status.is_none() {
            output.extend_from_slice(format!("\nkilled after {} ms", self.timeout_ms).as_bytes());
        }
        Ok(CheckOutcome { exit: status.and_then(|status| status.code()), output })
    }
}

/// A file without a name, gone when it is closed.
fn unnamed_file() -> std::io::Result<File> {
    let name = format!("loopx-check-{}-{:?}", std::process::id(), std::thread::current().id());
    let path = std::env::temp_dir().join(name);
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runner(timeout_ms: u64) -> CheckRunner {
        CheckRunner { path: Some("/usr/bin:/bin".into()), home: None, timeout_ms }
    }

    fn run(timeout_ms: u64, argv: &[&str]) -> CheckOutcome {
        let argv: Vec<String> = argv.iter().map(|part| (*part).to_owned()).collect();
        runner(timeout_ms).run(&argv, Path::new("/"))
    }

    #[test]
    fn exit_code_and_output_are_kept() {
        let outcome = run(5_000, &["sh", "-c", "echo out; echo err >&2; exit 3"]);
        assert_eq!(outcome.exit, Some(3));
        assert_eq!(outcome.tail(), "out | err");
    }

    #[test]
    fn a_check_that_hangs_is_killed_and_has_no_exit_code() {
        let outcome = run(50, &["sleep", "30"]);
        assert_eq!(outcome.exit, None);
        assert!(outcome.tail().contains("killed after 50 ms"));
    }

    #[test]
    fn a_missing_program_and_a_signal_have_no_exit_code() {
        assert_eq!(run(5_000, &["/no/such/program"]).exit, None);
        assert_eq!(run(5_000, &["sh", "-c", "kill -9 $$"]).exit, None);
    }

    #[test]
    fn nothing_goes_through_a_shell_and_the_environment_is_minimal() {
        assert_eq!(run(5_000, &["echo", "$HOME; exit 1"]).tail(), "$HOME; exit 1");
        let names = String::from_utf8(run(5_000, &["env"]).output).unwrap();
        assert_eq!(names.lines().collect::<Vec<_>>(), ["PATH=/usr/bin:/bin"]);
    }

    #[test]
    fn output_is_bounded() {
        let outcome = run(20_000, &["sh", "-c", "yes | head -c 1000000"]);
        assert_eq!(outcome.exit, Some(0));
        assert_eq!(outcome.output.len() as u64, OUTPUT_MAX_BYTES);
    }
}
