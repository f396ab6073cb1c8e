//! The program that is measured, as one of its builds.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A build of the program.
pub struct Program {
    /// Its name in the table.
    pub name: String,
    /// The file.
    pub path: PathBuf,
}

impl Program {
    /// A command of its in a directory, with nothing of the environment.
    pub fn command(&self, directory: &Path) -> Command {
        let mut command = Command::new(&self.path);
        // As people run it: an append looks whether this ledger is in the list of theirs.
        command.env_clear().env("LOOPX_STATE_HOME", directory.join("state")).current_dir(directory);
        command
    }

    /// Asks what to do now, as an agent that the ledger knows.
    pub fn should_run(&self, directory: &Path) -> Command {
        self.words(directory, &["quota", "should-run", "--agent", "w1"])
    }

    /// Adds a todo, durably.
    pub fn add(&self, directory: &Path) -> Command {
        self.words(directory, &["add", "Compare the last two candidates", "--agent", "w1"])
    }

    /// A command with these words.
    pub fn words(&self, directory: &Path, words: &[&str]) -> Command {
        let mut command = self.command(directory);
        command.args(words);
        command
    }
}

/// Runs to the end, which must be a success, and says how long it took.
pub fn success(mut command: Command) -> Duration {
    command.stdout(Stdio::null());
    let start = Instant::now();
    let status = command.status().expect("it starts");
    let time = start.elapsed();
    assert!(status.success(), "{command:?}: {status}");
    time
}
