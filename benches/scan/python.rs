//! The same bytes in Python: `json` and `blake3`, each line by itself and its place in the chain.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use loopx::hash::RECORD_CONTEXT;

use crate::Log;

/// An interpreter that has the package.
pub struct Python {
    interpreter: String,
    log: PathBuf,
    records: usize,
}

impl Python {
    /// The one that `LOOPX_PYTHON` names, else `python3`.
    pub fn find(log: &Log) -> Option<Self> {
        let interpreter = std::env::var("LOOPX_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let mut has = Command::new(&interpreter);
        let has = has.args(["-c", "import blake3"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        has.ok()?.success().then(|| Self { interpreter, log: log.root.join("log"), records: log.records })
    }

    /// How long it took, by its own clock: without its start.
    pub fn run(&self) -> Duration {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/scan/replay.py");
        let mut command = Command::new(&self.interpreter);
        let output = command.arg(script).arg(&self.log).arg(RECORD_CONTEXT).output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8(output.stdout).expect("text");
        let (seconds, records) = said.trim().split_once(' ').expect("two numbers");
        assert_eq!(records.parse(), Ok(self.records));
        Duration::from_secs_f64(seconds.parse().expect("seconds"))
    }
}
