//! HEAD: two fixed-length lines of text that say how far the log was appended and synced. A hint: it may be deleted
//! at any time, and a garbled line counts as absent.
//!
//! The append mark is written under `lock`, the sync mark under `sync.lock`, each by one write in its place.

use std::io;

use super::Cursor;
use super::disk::{DiskFile, read_full, write_full};
use crate::hash::Hash;
use crate::id::Seq;

/// Hex digits of the check value at the end of a mark.
const CHECK_DIGITS: usize = 16;

/// Length of a boot id; an unknown one is written as hyphens.
const BOOT_BYTES: usize = 36;

/// Length of an append mark, line feed included.
pub(super) const APPEND_BYTES: usize = 7 + 3 * 21 + 65 + BOOT_BYTES + 1 + CHECK_DIGITS + 1;

/// Length of a sync mark, line feed included.
pub(super) const SYNC_BYTES: usize = 7 + 4 * 21 + 65 + 2 + BOOT_BYTES + 1 + CHECK_DIGITS + 1;

/// A record and where it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spot {
    /// The first sequence number of its segment.
    pub segment: Seq,
    /// The offset in that segment of the byte after it.
    pub end: u64,
    /// Its sequence number.
    pub seq: Seq,
    /// Its hash.
    pub hash: Hash,
}

impl Spot {
    pub(super) const fn of(cursor: &Cursor) -> Self {
        Self { segment: cursor.segment, end: cursor.end, seq: cursor.seq, hash: cursor.hash }
    }
}

/// The append mark: the last record appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AppendMark {
    pub spot: Spot,
    pub boot: String,
}

/// The sync mark: the last record known to be durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SyncMark {
    pub spot: Spot,
    /// The record up to which a sync was begun; higher than `spot.seq` while it runs, or if it was never finished.
    pub intent: Seq,
    /// Whether that sync failed.
    pub poisoned: bool,
    pub boot: String,
}

impl SyncMark {
    /// Before anything is durable.
    pub(super) fn nothing(boot: &str) -> Self {
        let spot = Spot { segment: Seq(1), end: 0, seq: Seq::ZERO, hash: Hash::ZERO };
        Self { spot, intent: Seq::ZERO, poisoned: false, boot: boot.to_owned() }
    }
}

/// Both marks, each if it is there and whole.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Head {
    pub append: Option<AppendMark>,
    pub sync: Option<SyncMark>,
}

impl Head {
    /// Reads both marks. A reader takes no lock and may meet a write half way, so a garbled mark is read again.
    pub(super) fn read(file: &dyn DiskFile) -> io::Result<Self> {
        let mut head = Self::default();
        for _ in 0..3 {
            let mut bytes = [0; APPEND_BYTES + SYNC_BYTES];
            let length = read_full(file, &mut bytes, 0)?;
            head = Self::parse(bytes.get(..length).unwrap_or_default());
            if head.append.is_some() && head.sync.is_some() {
                break;
            }
        }
        Ok(head)
    }

    /// The marks in the content of HEAD.
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let (append, sync) = bytes.split_at_checked(APPEND_BYTES).unwrap_or_default();
        Self { append: parse_append(append), sync: parse_sync(sync) }
    }

    /// Writes the append mark.
    pub(super) fn write_append(file: &dyn DiskFile, mark: &AppendMark) -> io::Result<()> {
        let Spot { segment, end, seq, hash } = mark.spot;
        let text = format!("append {:020} {end:020} {:020} {hash} {:->36} ", segment.0, seq.0, mark.boot);
        write_full(file, &checked(text), 0)
    }

    /// Writes the sync mark.
    pub(super) fn write_sync(file: &dyn DiskFile, mark: &SyncMark) -> io::Result<()> {
        let Spot { segment, end, seq, hash } = mark.spot;
        let text = format!(
            "synced {:020} {end:020} {:020} {hash} {:020} {} {:->36} ",
            segment.0,
            seq.0,
            mark.intent.0,
            u8::from(mark.poisoned),
            mark.boot
        );
        write_full(file, &checked(text), APPEND_BYTES as u64)
    }
}

/// Ends a mark with its check value: the first digits of the BLAKE3 of what comes before.
fn checked(mut text: String) -> Vec<u8> {
    let check = Hash::blob(text.as_bytes()).to_hex();
    text.extend(check.chars().take(CHECK_DIGITS));
    text.push('\n');
    text.into_bytes()
}

/// The fields of a mark whose check value holds and whose name is `name`.
fn fields<'a>(bytes: &'a [u8], name: &str) -> Option<Vec<&'a str>> {
    let text = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
    let (body, check) = text.split_at_checked(text.len().checked_sub(CHECK_DIGITS)?)?;
    if !Hash::blob(body.as_bytes()).to_hex().starts_with(check) {
        return None;
    }
    body.strip_prefix(name).map(|rest| rest.split_ascii_whitespace().collect())
}

fn parse_append(bytes: &[u8]) -> Option<AppendMark> {
    let fields = fields(bytes, "append ")?;
    let [segment, end, seq, hash, boot] = fields.as_slice() else { return None };
    Some(AppendMark { spot: spot(segment, end, seq, hash)?, boot: (*boot).to_owned() })
}

fn parse_sync(bytes: &[u8]) -> Option<SyncMark> {
    let fields = fields(bytes, "synced ")?;
    let [segment, end, seq, hash, intent, poisoned, boot] = fields.as_slice() else { return None };
    Some(SyncMark {
        spot: spot(segment, end, seq, hash)?,
        intent: Seq(intent.parse().ok()?),
        poisoned: *poisoned == "1",
        boot: (*boot).to_owned(),
    })
}

fn spot(segment: &str, end: &str, seq: &str, hash: &str) -> Option<Spot> {
    Some(Spot {
        segment: Seq(segment.parse().ok()?),
        end: end.parse().ok()?,
        seq: Seq(seq.parse().ok()?),
        hash: hash.parse().ok()?,
    })
}
