//! The public command line, used as any script would: a process a command, one JSON document back.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::failed;
use crate::failure::Failure;

/// What the surroundings may say to a `loopx`; the demo's own processes are told everything by option.
const VARIABLES: [&str; 5] = ["LOOPX_DIR", "LOOPX_GOAL", "LOOPX_AGENT", "LOOPX_SESSION", "LOOPX_TEST_NOW"];

/// A caller of the command line in one ledger.
#[derive(Debug, Clone)]
pub struct Loopx {
    program: PathBuf,
    dir: PathBuf,
    who: Vec<String>,
}

/// What a command answered.
#[derive(Debug, Clone)]
pub struct Reply {
    /// Its exit code; -1 when a signal ended it.
    pub exit: i32,
    /// The one document.
    pub document: Value,
}

impl Loopx {
    /// This very program, on the ledger in `dir`.
    ///
    /// # Errors
    /// A [`Failure`] if the program cannot be found again.
    pub fn new(dir: &Path) -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(|error| failed(format!("this program: {error}")))?;
        Ok(Self { program, dir: dir.to_path_buf(), who: Vec::new() })
    }

    /// The same, with these options on every command: who acts.
    #[must_use]
    pub fn acting(&self, who: &[&str]) -> Self {
        Self { who: who.iter().map(ToString::to_string).collect(), ..self.clone() }
    }

    /// The same, on another ledger.
    #[must_use]
    pub fn in_dir(&self, dir: &Path) -> Self {
        Self { dir: dir.to_path_buf(), ..self.clone() }
    }

    /// A process of this program, on this ledger, with nothing from the surroundings.
    pub fn process(&self) -> Command {
        let mut command = Command::new(&self.program);
        for name in VARIABLES {
            command.env_remove(name);
        }
        // A demo's ledgers are not among those that the user has.
        command.env("LOOPX_STATE_HOME", "nowhere");
        command.current_dir(&self.dir).arg("--dir").arg(&self.dir).stdin(Stdio::null());
        command
    }

    /// Runs a command, whatever it answers.
    ///
    /// # Errors
    /// A [`Failure`] if it cannot be started or answers no document.
    pub fn ask(&self, words: &[&str]) -> Result<Reply, Failure> {
        let output = self.process().args(&self.who).arg("--json").args(words).output();
        let output = output.map_err(|error| failed(format!("`{}`: {error}", words.join(" "))))?;
        let document = serde_json::from_slice(&output.stdout).map_err(|error| {
            let said = String::from_utf8_lossy(&output.stderr);
            failed(format!("`{}` answered no JSON document ({error}): {}", words.join(" "), said.trim()))
        })?;
        Ok(Reply { exit: output.status.code().unwrap_or(-1), document })
    }

    /// Runs a command that has to succeed.
    ///
    /// # Errors
    /// A [`Failure`] with the command and what it answered instead.
    pub fn run(&self, words: &[&str]) -> Result<Value, Failure> {
        let reply = self.ask(words)?;
        if reply.exit == 0 && reply.document.pointer("/ok") == Some(&Value::Bool(true)) {
            return Ok(reply.document);
        }
        let cause = reply.document.pointer("/error/message").and_then(Value::as_str).unwrap_or("no reason");
        Err(failed(format!("`{}` answered exit {}: {cause}", words.join(" "), reply.exit)))
    }

    /// Runs a command that has to succeed and whose answer is no document.
    ///
    /// # Errors
    /// A [`Failure`] with the command and what it said instead.
    pub fn run_plain(&self, words: &[&str]) -> Result<(), Failure> {
        let output = self.process().args(&self.who).args(words).output();
        let output = output.map_err(|error| failed(format!("`{}`: {error}", words.join(" "))))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(failed(format!("`{}` ended with {}: {}", words.join(" "), output.status, said.trim())))
    }
}

/// The text at a JSON pointer.
///
/// # Errors
/// A [`Failure`] if there is none.
pub fn text(document: &Value, pointer: &str) -> Result<String, Failure> {
    let found = document.pointer(pointer).and_then(Value::as_str);
    found.map(str::to_owned).ok_or_else(|| failed(format!("no text at {pointer} in {document}")))
}

/// The record of a receipt; 0 if nothing was appended.
pub fn seq(document: &Value) -> u64 {
    document.pointer("/receipt/seq").and_then(Value::as_u64).unwrap_or(0)
}

/// The texts of a JSON list; none if there is no list.
pub fn texts(document: &Value, pointer: &str) -> Vec<String> {
    let list = document.pointer(pointer).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The bodies of the events of one kind in an answer of `history` or `show`, oldest first.
pub fn bodies<'a>(document: &'a Value, kind: &str) -> Vec<&'a Value> {
    let records = document.pointer("/records").and_then(Value::as_array).into_iter().flatten();
    records
        .filter_map(|record| record.pointer("/events").and_then(Value::as_array))
        .flatten()
        .filter(|event| event.pointer("/kind").and_then(Value::as_str) == Some(kind))
        .filter_map(|event| event.pointer("/body"))
        .collect()
}
