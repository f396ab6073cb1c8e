//! A small ledger to try things on.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use loopx::hash::Hash;
use loopx::id::{Actor, LedgerId, Seq};
use loopx::log::{Cursor, FileLog, Log, Wait};
use loopx::record::Draft;
use loopx::time::Timestamp;

pub const WAIT: Wait<'_> = Wait { holder: "test", wait_ms: 5_000 };
pub const LEDGER: &str = "01J5ZK0000000000000000000A";

pub fn note(text: &str) -> String {
    format!("{{\"k\":\"note\",\"kv\":1,\"b\":{{\"text\":\"{text}\"}}}}")
}

/// The line of the record after `head`, with its line feed.
pub fn line(head: &Cursor, dur: Seq, actor: &str, request: &str, events: &str) -> Vec<u8> {
    let actor: Actor = actor.parse().unwrap();
    let request = request.parse().unwrap();
    let draft = Draft {
        seq: head.seq.next(),
        prev: head.hash,
        dur,
        ts: Timestamp::from_micros(1_796_128_496_000_000 + i64::try_from(head.seq.0).unwrap()),
        actor: &actor,
        request: &request,
        digest: Hash::request(events.as_bytes()),
        events: events.as_bytes(),
    };
    let mut out = Vec::new();
    draft.write(&mut out).unwrap();
    out
}

pub fn genesis() -> Vec<u8> {
    line(&Cursor::START, Seq::ZERO, "system", "init", &note("genesis"))
}

pub fn create(root: &Path) -> FileLog {
    FileLog::create(root, LEDGER.parse::<LedgerId>().unwrap(), &genesis(), false).unwrap()
}

/// Appends one record, not yet durable.
pub fn append(log: &dyn Log, text: &str) -> Cursor {
    let mut transaction = log.transaction(&WAIT).unwrap();
    let head = transaction.head();
    let request = format!("r{}", head.seq.next());
    let line = line(&head, transaction.durable(), "agent/w7", &request, &note(text));
    transaction.append(&head, &line).unwrap()
}

/// Appends one record and makes it durable.
pub fn append_durably(log: &dyn Log, text: &str) -> Cursor {
    let cursor = append(log, text);
    assert!(log.make_durable(&cursor, &WAIT).unwrap() >= cursor.seq);
    cursor
}

/// Seals the active segment and opens the next.
pub fn rotate(log: &dyn Log) -> Cursor {
    let mut transaction = log.transaction(&WAIT).unwrap();
    let head = transaction.head();
    let request = loopx::record::frame::seal_request(head.segment).unwrap();
    let line = line(&head, transaction.durable(), "system", request.as_str(), &note("seal"));
    let sealed = transaction.append(&head, &line).unwrap();
    transaction.rotate().unwrap();
    sealed
}

/// Everything that a log holds: the cursor after each record, and its line.
pub fn read_all(log: &dyn Log) -> Vec<(Cursor, Vec<u8>)> {
    let mut records = Vec::new();
    log.read(&Cursor::START, &mut |record, cursor| {
        records.push((*cursor, record.line().to_vec()));
        ControlFlow::Continue(())
    })
    .unwrap();
    records
}

pub fn segment(root: &Path, first: u64) -> PathBuf {
    root.join(format!("log/{first:020}.jsonl"))
}

pub fn head_path(root: &Path) -> PathBuf {
    root.join("log/HEAD")
}

pub fn copy_dir(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_dir(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// All bytes in the quarantine, file by file.
pub fn quarantined(root: &Path) -> Vec<Vec<u8>> {
    let Ok(entries) = fs::read_dir(root.join("quarantine")) else { return Vec::new() };
    entries.map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect()
}

/// Rewrites the fields of HEAD's marks, and makes their check values hold again.
fn edit_head(root: &Path, edit: fn(&mut Vec<&str>)) {
    let path = head_path(root);
    let text = fs::read_to_string(&path).unwrap();
    let edited = text.lines().map(|mark| {
        let mut fields: Vec<&str> = mark.split(' ').collect();
        fields.pop();
        edit(&mut fields);
        let body = fields.join(" ") + " ";
        let check = Hash::blob(body.as_bytes()).to_hex();
        format!("{body}{}\n", &check[..16])
    });
    fs::write(&path, edited.collect::<String>()).unwrap();
}

/// As if the machine had been started since HEAD was written.
pub fn age_head(root: &Path) {
    edit_head(root, |fields| *fields.last_mut().unwrap() = "00000000-0000-0000-0000-000000000000");
}

/// As if a sync had failed.
pub fn poison_head(root: &Path) {
    edit_head(root, |fields| {
        if fields[0] == "synced" {
            fields[6] = "1";
        }
    });
}

/// Replaces a file's content in place. `fs::write` would empty it first, and ext4 then waits for the disk each time.
pub fn overwrite(path: &Path, bytes: &[u8]) {
    let file = fs::OpenOptions::new().write(true).create(true).truncate(false).open(path).unwrap();
    std::io::Write::write_all(&mut &file, bytes).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
}
