//! Snapshots: a folded state, kept so that a command need not start at genesis. A hint: deleting or garbling one costs
//! time and changes no answer.
//!
//! The newest one is what commands start from. Older ones are kept sparsely, so that the state at a past record can be had
//! without folding everything before it.
//!
//! A snapshot is used only if its own digest holds, the reducer that made it is this one, and the log still has the
//! record that it stands on. It needs no sync: after a loss of power its digest tells.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::hash::Hash;
use crate::id::Seq;
use crate::log::Cursor;
use crate::scratch;
use crate::state::{REDUCER, State};

/// Records after which a new snapshot is worth writing: folding as many costs a command well under a millisecond.
pub const SNAPSHOT_EVERY: u64 = 64;

/// Fewest records between two that are kept: folding as many takes a few milliseconds.
const KEEP_EVERY: u64 = 4096;

/// Bytes of a snapshot that one record in between makes up for, so that those kept take a small part of what the log takes.
const BYTES_A_RECORD: u64 = 64;

/// Most that are kept. Beyond that every second one is dropped.
const KEEP_MAX: usize = 256;

const NAME: &str = "state.json";

/// The first line of a snapshot; the state follows on the second.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: u32,
    reducer: String,
    cursor: Cursor,
    digest: Hash,
}

fn path(root: &Path) -> PathBuf {
    root.join("snap").join(NAME)
}

/// The snapshots that are kept besides the newest, by the record that each claims to stand on, oldest first.
#[must_use]
pub fn kept(root: &Path) -> Vec<(Seq, PathBuf)> {
    let files = fs::read_dir(root.join("snap")).into_iter().flatten().flatten();
    let mut kept: Vec<(Seq, PathBuf)> = files
        .filter_map(|entry| {
            let name = entry.file_name();
            let digits = name.to_str()?.strip_suffix(".json").filter(|digits| digits.len() == 20)?;
            Some((Seq(digits.parse().ok()?), entry.path()))
        })
        .collect();
    kept.sort_unstable();
    kept
}

/// The last snapshot that stands on `seq` or before it and holds. The caller still has to find its cursor in the log.
#[must_use]
pub fn load_before(root: &Path, seq: Seq) -> Option<(Cursor, State)> {
    let earlier = || kept(root).into_iter().rev().filter(|(at, _)| *at <= seq);
    read(&path(root), seq).or_else(|| earlier().find_map(|(_, path)| read(&path, seq)))
}

/// Keeps the newest snapshot, which was just written, if it is far enough from the last one kept.
fn keep(root: &Path, cursor: &Cursor, bytes: usize) -> std::io::Result<()> {
    let kept = kept(root);
    let last = kept.last().map_or(Seq::ZERO, |(seq, _)| *seq);
    let apart = KEEP_EVERY.max(bytes as u64 / BYTES_A_RECORD);
    // One that claims to be of the future is of another history, or of none.
    if last <= cursor.seq && cursor.seq.0 - last.0 < apart {
        return Ok(());
    }
    let target = root.join("snap").join(format!("{:020}.json", cursor.seq.0));
    let temporary = scratch::beside(&target);
    fs::copy(path(root), &temporary)?;
    fs::rename(&temporary, &target)?;
    let future = kept.iter().filter(|(seq, _)| *seq > cursor.seq);
    let thinned = kept.iter().step_by(2).filter(|_| kept.len() >= KEEP_MAX);
    for (_, path) in future.chain(thinned) {
        fs::remove_file(path)?;
    }
    Ok(())
}

/// The last snapshot of the ledger at `root`, if there is one that holds. The caller still has to find its cursor in
/// the log.
#[must_use]
pub fn load(root: &Path) -> Option<(Cursor, State)> {
    read(&path(root), Seq(u64::MAX))
}

/// The record that the newest snapshot claims to stand on: told by its first line alone, without reading the state.
#[must_use]
pub fn newest(root: &Path) -> Option<Seq> {
    let mut line = String::new();
    BufReader::with_capacity(512, fs::File::open(path(root)).ok()?).read_line(&mut line).ok()?;
    let header: Header = serde_json::from_str(&line).ok()?;
    (header.format == 1 && header.reducer == REDUCER).then_some(header.cursor.seq)
}

/// The snapshot in a file, if it holds and stands on `most` or before it.
fn read(path: &Path, most: Seq) -> Option<(Cursor, State)> {
    let bytes = fs::read(path).ok()?;
    let split = bytes.iter().position(|&byte| byte == b'\n')?;
    let (header, body) = bytes.split_at_checked(split)?;
    let body = body.get(1..)?;
    let header: Header = serde_json::from_slice(header).ok()?;
    if header.format != 1 || header.reducer != REDUCER || header.cursor.seq > most {
        return None;
    }
    if Hash::state(body) != header.digest {
        return None;
    }
    // As text: checked once to be UTF-8, not string by string.
    let state: State = serde_json::from_str(std::str::from_utf8(body).ok()?).ok()?;
    (state.seq == header.cursor.seq).then_some((header.cursor, state))
}

/// Replaces the snapshot. Its digest is returned.
///
/// # Errors
/// What the system says. Nobody depends on it: the caller may ignore it.
pub fn save(root: &Path, cursor: &Cursor, state: &State) -> std::io::Result<Hash> {
    let body = serde_json::to_vec(state)?;
    let digest = Hash::state(&body);
    let header = Header { format: 1, reducer: REDUCER.to_owned(), cursor: *cursor, digest };
    let mut bytes = serde_json::to_vec(&header)?;
    bytes.push(b'\n');
    bytes.extend_from_slice(&body);
    let target = path(root);
    let temporary = scratch::beside(&target);
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
        scratch::clear(parent);
    }
    let written = fs::File::create(&temporary).and_then(|mut file| file.write_all(&bytes));
    if let Err(error) = written.and_then(|()| fs::rename(&temporary, &target)) {
        let _ = fs::remove_file(&temporary);
        return Err(error);
    }
    keep(root, cursor, bytes.len())?;
    Ok(digest)
}
