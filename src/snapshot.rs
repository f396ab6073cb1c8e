//! Snapshots: a folded state, kept so that a command need not start at genesis. A hint: deleting or garbling one costs
//! time and changes no answer.
//!
//! A snapshot is used only if its own digest holds, the reducer that made it is this one, and the log still has the
//! record that it stands on. It needs no sync: after a loss of power its digest tells.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::hash::Hash;
use crate::log::Cursor;
use crate::state::{REDUCER, State};

/// Records after which a new snapshot is worth writing: folding as many costs a command well under a millisecond.
pub const SNAPSHOT_EVERY: u64 = 64;

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

/// The last snapshot of the ledger at `root`, if there is one that holds. The caller still has to find its cursor in
/// the log.
#[must_use]
pub fn load(root: &Path) -> Option<(Cursor, State)> {
    let bytes = fs::read(path(root)).ok()?;
    let split = bytes.iter().position(|&byte| byte == b'\n')?;
    let (header, body) = bytes.split_at_checked(split)?;
    let body = body.get(1..)?;
    let header: Header = serde_json::from_slice(header).ok()?;
    if header.format != 1 || header.reducer != REDUCER || Hash::state(body) != header.digest {
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
    let temporary = target.with_extension(format!("{}.tmp", std::process::id()));
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
    }
    let written = fs::File::create(&temporary).and_then(|mut file| file.write_all(&bytes));
    if let Err(error) = written.and_then(|()| fs::rename(&temporary, &target)) {
        let _ = fs::remove_file(&temporary);
        return Err(error);
    }
    Ok(digest)
}
