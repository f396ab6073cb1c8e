//! Ledgers to measure on, made once and kept under `target/bench-ledgers`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use loopx::hash::Hash;
use loopx::state::REDUCER;
use loopx::time::Timestamp;

use crate::author::{self, Plan};
use crate::host;

/// How long a kept ledger is used. Its end was the time it was made, and a quota's window moves on.
const KEPT: Duration = Duration::from_secs(5 * 86_400);

/// The `.loopx` directory of a ledger as planned: a kept one if there is one, else a new one.
pub fn kept(below: &Path, plan: Plan) -> PathBuf {
    let pace = if plan.busy_day { "day" } else { "months" };
    let home = below.join(format!("{}-{}-open-{pace}-{}", plan.records, plan.open, edition()));
    let (root, made) = (home.join(".loopx"), home.join("made"));
    let age = fs::metadata(&made).and_then(|made| made.modified()).ok().and_then(|made| made.elapsed().ok());
    if age.is_none_or(|age| age > KEPT) {
        let _ = fs::remove_dir_all(&home);
        fs::create_dir_all(&home).expect("the target directory can be written");
        eprintln!("making a ledger of {} records in {}", plan.records, home.display());
        author::write(&root, plan, host::now());
        fs::write(&made, "").expect("a file");
    }
    root
}

/// What kept ledgers are told by: the reducer, and the bytes that this program writes for a short history at a fixed
/// time. Another format, another event or another author is another edition.
fn edition() -> String {
    let place = tempfile::tempdir().expect("a directory");
    let root = place.path().join(".loopx");
    let short = Plan { records: 200, open: 30, busy_day: false };
    author::write(&root, short, Timestamp::from_micros(1_800_000_000_000_000));
    let mut bytes = REDUCER.as_bytes().to_vec();
    bytes.extend(segments(&root).iter().flat_map(|segment| fs::read(segment).expect("a segment")));
    Hash::blob(&bytes).short()
}

/// A ledger of its own for writers: sealed segments never change, so they are linked; the rest is copied.
pub fn copy(root: &Path, to: &Path) -> PathBuf {
    let sealed: Vec<PathBuf> = segments(root);
    let target = to.join(".loopx");
    copy_below(root, &target, &sealed[..sealed.len() - 1]);
    target
}

/// The segments of a ledger, oldest first.
pub fn segments(root: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(root.join("log"))
        .expect("a log")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .collect();
    found.sort();
    found
}

fn copy_below(from: &Path, to: &Path, linked: &[PathBuf]) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory").map(|entry| entry.expect("an entry")) {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().expect("a type").is_dir() {
            copy_below(&path, &target, linked);
        } else if linked.contains(&path) && fs::hard_link(&path, &target).is_ok() {
        } else {
            fs::copy(&path, &target).expect("a copy");
        }
    }
}

/// Bytes of all files below a directory.
pub fn bytes_below(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry"));
    entries
        .map(|entry| match entry.file_type().expect("a type").is_dir() {
            true => bytes_below(&entry.path()),
            false => entry.metadata().expect("a file").len(),
        })
        .sum()
}
