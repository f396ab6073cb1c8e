//! Logs: where records are kept. A log knows records, not events.
//!
//! A [`Log`] verifies what it reads, so a backend is trusted for durability and atomicity only.

mod disk;
mod durable;
mod error;
mod file;
mod hands;
mod head;
mod layout;
mod memory;
mod pick;
mod place;
mod roll;
mod scan;
mod transaction;
mod verify;

#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::hash::Hash;
use crate::id::Seq;
use crate::record::{Link, Record};
use crate::time::Timestamp;

pub use error::{AppendError, Damage, LogError, Place, Refused};
pub use file::FileLog;
pub use memory::MemoryLog;
pub use place::{FileSystems, refused_file_system};
pub use verify::{Anchor, SegmentInfo, VerifyOptions, VerifyReport, inspect, verify};

/// A place in a log, just after a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cursor {
    /// The record's sequence number; zero at the start.
    pub seq: Seq,
    /// Its hash.
    pub hash: Hash,
    /// Its ledger time.
    pub ts: Timestamp,
    /// The first sequence number of the segment that holds it.
    pub segment: Seq,
    /// Offset in that segment of the byte after it.
    pub end: u64,
}

impl Cursor {
    /// Before the first record.
    pub const START: Self =
        Self { seq: Seq::ZERO, hash: Hash::ZERO, ts: Timestamp::MIN, segment: Seq(1), end: 0 };

    /// What the next record must fit.
    #[must_use]
    pub const fn link(&self) -> Link {
        Link { seq: self.seq, hash: self.hash, ts: self.ts }
    }

    const fn at(link: &Link, segment: Seq, end: u64) -> Self {
        Self { seq: link.seq, hash: link.hash, ts: link.ts, segment, end }
    }
}

/// What a reader calls with each record and the cursor just after it.
pub type Visit<'v> = dyn FnMut(&Record<'_>, &Cursor) -> ControlFlow<()> + 'v;

/// Where reading came to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail {
    /// Just after the last record that was visited.
    pub head: Cursor,
    /// The highest sequence number known to be durable.
    pub durable: Seq,
    /// Bytes after the last sound record: a record in progress, or one that was cut short.
    pub pending: Option<Pending>,
}

/// Bytes after the last sound record that are not a record yet, or never became one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pending {
    /// Where they start in their segment.
    pub offset: u64,
    /// How many there are.
    pub bytes: u64,
}

/// What a recovery moved aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The sequence number that the cut record would have had.
    pub seq: Seq,
    /// The segment that held its bytes.
    pub segment: Seq,
    /// Where they started in it.
    pub offset: u64,
    /// How many there were.
    pub bytes: u64,
    /// Their BLAKE3 digest.
    pub digest: Hash,
    /// The name of the file in `quarantine/` that holds them now.
    pub name: String,
}

/// A single record: its number, and where in its segment it starts, if that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pick {
    /// Its sequence number.
    pub seq: Seq,
    /// Offset of its first byte.
    pub offset: Option<u64>,
}

/// Who waits for a lock, and how long.
#[derive(Debug, Clone, Copy)]
pub struct Wait<'a> {
    /// What others are told while the lock is held: process, command, since when. One line.
    pub holder: &'a str,
    /// Longest wait in milliseconds; zero tries once.
    pub wait_ms: u64,
}

/// A durable, atomic, ordered store of records.
///
/// Contract, checked by one conformance suite on every backend:
/// - a record that was stored is read back byte for byte, after every record before it;
/// - a record is read entirely or not at all;
/// - at most one transaction is open at a time, readers need none and never wait;
/// - once [`Log::make_durable`] has returned for a cursor, its record survives a loss of power.
pub trait Log: Send + Sync {
    /// Visits every record after `from`, each verified and chained, up to the head or until the visitor breaks.
    ///
    /// # Errors
    /// [`LogError::CursorUnknown`] if the record just before `from` is not the one that `from` names: start again from
    /// [`Cursor::START`]. Any other error is final; records visited before it were sound.
    fn read(&self, from: &Cursor, visit: &mut Visit<'_>) -> Result<Tail, LogError>;

    /// Visits these records and no others, in the order given. Of each, its own hash and its number are checked, not its
    /// place in the chain. False if one of them could not be had this way: [`Log::read`] tells why, and has the rest.
    ///
    /// # Errors
    /// Whatever keeps a segment from being read.
    fn pick(&self, records: &[Pick], visit: &mut dyn FnMut(&Record<'_>)) -> Result<bool, LogError> {
        let _ = visit;
        Ok(records.is_empty())
    }

    /// Takes the lock and puts the tail right, so that the next record may be appended. Constant work if the tail is
    /// where the last writer left it: what lies before the tail is checked by reading it.
    ///
    /// # Errors
    /// [`LogError::Busy`] if another transaction outlasts the wait; nothing was changed. Damage, rollback, fork, a
    /// newer version or a failed sync: the log stays readable, and no transaction begins.
    fn transaction(&self, wait: &Wait<'_>) -> Result<Box<dyn Transaction + '_>, LogError>;

    /// Returns once the record at `up_to`, and so every record before it, survives a loss of power. Returns the
    /// highest sequence number known to do so. No transaction may be open in the calling thread.
    ///
    /// # Errors
    /// [`LogError::DurabilityUnknown`] if a sync failed, [`LogError::Busy`] if another process's sync outlasts the
    /// wait. In either case the record is stored, and whether it is durable is not known.
    fn make_durable(&self, up_to: &Cursor, wait: &Wait<'_>) -> Result<Seq, LogError>;
}

/// The right to append, held until dropped.
pub trait Transaction {
    /// What was moved aside, by this transaction or by one that was killed, and is not on record yet: the caller records
    /// all of it in the next record. Until there is one, every transaction says the same.
    fn recovered(&self) -> &[Recovered];

    /// Just after the last record.
    fn head(&self) -> Cursor;

    /// The highest sequence number known to be durable: the `dur` of the next record.
    fn durable(&self) -> Seq;

    /// Like [`Log::read`], under the lock.
    ///
    /// # Errors
    /// As [`Log::read`].
    fn read(&self, from: &Cursor, visit: &mut Visit<'_>) -> Result<Tail, LogError>;

    /// Whether the active segment has grown past its target: append a seal, then [`Transaction::rotate`].
    fn wants_seal(&self) -> bool;

    /// Appends one record, given as its whole line with its line feed. Stored, not yet durable.
    ///
    /// # Errors
    /// See [`AppendError`]: only [`AppendError::Unknown`] may have stored it.
    fn append(&mut self, expected: &Cursor, line: &[u8]) -> Result<Cursor, AppendError>;

    /// After a seal: makes the sealed segment durable and opens its successor.
    ///
    /// # Errors
    /// [`LogError`]; the next transaction finishes what this one began.
    fn rotate(&mut self) -> Result<(), LogError>;
}
