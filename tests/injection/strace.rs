//! The real binary under `strace`, which makes one of its calls fail, or kills it there.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::binary::Said;

/// Calls that change something, and those that take a lock. A question mark: not every machine has all of them.
const CALLS: &str = "?write,?writev,?pwrite64,?pwritev,?openat,?open,?creat,?fsync,?fdatasync,?sync_file_range,?ftruncate,\
                     ?rename,?renameat,?renameat2,?link,?linkat,?unlink,?unlinkat,?rmdir,?mkdir,?mkdirat,?flock,?fallocate,\
                     ?copy_file_range,?sendfile";

/// What happens at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The process is gone before the call is done.
    Kill,
    Eio,
    Enospc,
}

impl Fault {
    pub const ALL: [Self; 3] = [Self::Kill, Self::Eio, Self::Enospc];

    const fn words(self) -> &'static str {
        match self {
            Self::Kill => "signal=KILL",
            Self::Eio => "error=EIO",
            Self::Enospc => "error=ENOSPC",
        }
    }
}

/// One call of a run: the `nth` of its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    pub name: String,
    pub nth: usize,
}

/// What is done to a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Injection {
    /// A fault at a call.
    pub at: Option<(Call, Fault)>,
    /// No file grows beyond this many bytes: what is written over it is cut short.
    pub file_bytes: Option<u64>,
}

impl fmt::Display for Injection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(bytes) = self.file_bytes {
            write!(f, "files of {bytes} bytes at most; ")?;
        }
        match &self.at {
            Some((call, fault)) => write!(f, "{fault:?} at {} {}", call.name, call.nth),
            None => write!(f, "no fault"),
        }
    }
}

/// A line that is typed, and what is given to it on its standard input.
#[derive(Debug, Clone, Default)]
pub struct Line {
    pub words: Vec<String>,
    pub input: String,
}

/// Runs a line in `dir` under strace, and returns what it said and its calls that change something.
pub fn run(dir: &Path, line: &Line, injection: &Injection) -> (Said, Vec<Call>) {
    let (trace, input) = (dir.with_extension("trace"), dir.with_extension("input"));
    fs::write(&input, &line.input).unwrap();
    let mut command = Command::new("strace");
    command.arg("-o").arg(&trace).args(["-s", "40", "-e", &format!("trace={CALLS}")]);
    if let Some((call, fault)) = &injection.at {
        command.args(["-e", &format!("inject={}:{}:when={}", call.name, fault.words(), call.nth)]);
    }
    if let Some(bytes) = injection.file_bytes {
        command.args(["prlimit", &format!("--fsize={bytes}")]);
    }
    command.arg(env!("CARGO_BIN_EXE_loopx")).args(&line.words).current_dir(dir);
    command.env_clear().env("PATH", "/usr/bin:/bin").stdin(Stdio::from(File::open(&input).unwrap()));
    let said = command.output().unwrap().into();
    (said, calls(&fs::read_to_string(&trace).unwrap()))
}

/// Whether strace can be used here: a fault that it is asked for happens.
pub fn works() -> bool {
    let asked = ["-o", "/dev/null", "-e", "inject=write:error=EIO", "echo", "x"];
    let failed = Command::new("strace").args(asked).output().is_ok_and(|said| said.status.code() == Some(1));
    failed && Command::new("prlimit").args(["--fsize=1000", "true"]).status().is_ok_and(|said| said.success())
}

/// The calls in a trace that change something: an open counts if it may create or write.
fn calls(trace: &str) -> Vec<Call> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for line in trace.lines().filter(|line| !line.starts_with(['+', '-'])) {
        let Some((name, rest)) = line.split_once('(') else { continue };
        let nth = counts.entry(name).or_default();
        *nth += 1;
        let reads = name.starts_with("open")
            && !["O_CREAT", "O_WRONLY", "O_RDWR"].iter().any(|how| rest.contains(how));
        if !reads {
            found.push(Call { name: name.to_owned(), nth: *nth });
        }
    }
    found
}
