//! The real binary, run as a process of its own.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// What a process said, and how it ended.
#[derive(Debug)]
pub struct Said {
    /// The exit code; none if a signal ended it.
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Said {
    /// The one document on standard output.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The same, if the command succeeded.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.json()
    }

    /// The error code that it answered with.
    #[track_caller]
    pub fn error(&self) -> (String, Option<i32>) {
        (self.json()["error_code"].as_str().unwrap_or("none").to_owned(), self.code)
    }
}

/// Where a record is, as a receipt says it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Receipt {
    pub seq: u64,
    pub hash: String,
    pub request: String,
    pub duplicate: bool,
}

/// The receipt in an answer; none if nothing was appended.
pub fn receipt(answer: &Value) -> Option<Receipt> {
    let receipt = answer.get("receipt")?;
    Some(Receipt {
        seq: receipt["seq"].as_u64()?,
        hash: receipt["hash"].as_str()?.to_owned(),
        request: receipt["request"].as_str()?.to_owned(),
        duplicate: receipt["duplicate"].as_bool()?,
    })
}

/// The program with arguments, in `dir`, with nothing in its environment.
pub fn loopx(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loopx"));
    command.args(arguments).current_dir(dir).env_clear().stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs it to its end, answering in JSON.
pub fn run(dir: &Path, arguments: &[&str]) -> Said {
    loopx(dir, arguments).arg("--json").output().unwrap().into()
}

/// Runs it with `input` on its standard input.
pub fn feed(dir: &Path, arguments: &[&str], input: &str) -> Said {
    let mut child = loopx(dir, arguments).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let feeder = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    output.into()
}

/// A ledger with one goal, `g`, in a directory of its own.
pub fn ledger() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    run(dir.path(), &["init"]).ok();
    run(dir.path(), &["start-goal", "--name", "g", "--goal-text", "Ship it"]).ok();
    dir
}

pub fn root(dir: &Path) -> PathBuf {
    dir.join(".loopx")
}

/// One record of the log, as `log --raw` prints it.
#[derive(Debug, Clone)]
pub struct Recorded {
    pub seq: u64,
    pub hash: String,
    pub request: String,
    pub actor: String,
    pub kinds: Vec<String>,
    pub events: Vec<Value>,
}

/// Every record, in order.
pub fn records(dir: &Path) -> Vec<Recorded> {
    let said: Said = loopx(dir, &["log", "--raw"]).output().unwrap().into();
    assert_eq!(said.code, Some(0), "{said:?}");
    said.out.lines().map(recorded).collect()
}

fn recorded(line: &str) -> Recorded {
    let record: Value = serde_json::from_str(line).unwrap();
    let text = |key: &str| record[key].as_str().unwrap().to_owned();
    let events = record["ev"].as_array().unwrap().clone();
    Recorded {
        seq: record["seq"].as_u64().unwrap(),
        hash: text("hash"),
        request: text("req"),
        actor: text("actor"),
        kinds: events.iter().map(|event| event["k"].as_str().unwrap().to_owned()).collect(),
        events,
    }
}

/// Verifies the ledger and folds it again; both must agree with what is there.
#[track_caller]
pub fn assert_sound(dir: &Path) {
    run(dir, &["verify"]).ok();
    assert_eq!(run(dir, &["replay", "--check"]).ok()["check"], true);
}

/// Receipts of different records, each of which is in the log.
#[track_caller]
pub fn assert_recorded(records: &[Recorded], receipts: &[Receipt]) {
    let mut seen = BTreeSet::new();
    for receipt in receipts {
        assert!(receipt.duplicate || seen.insert(receipt.seq), "#{} was given twice", receipt.seq);
        let at = usize::try_from(receipt.seq).unwrap() - 1;
        let found = records.get(at).unwrap_or_else(|| panic!("{receipt:?} is not in the log"));
        assert_eq!((found.seq, &found.hash, &found.request), (receipt.seq, &receipt.hash, &receipt.request));
    }
}

/// Sends a signal to a child of this test.
pub fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status();
    assert!(status.unwrap().success(), "kill -{name}");
}
