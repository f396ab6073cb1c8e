//! The chain: each record names its predecessor's hash, counts on by one, and never goes back in time.

use super::frame::Record;
use crate::hash::Hash;
use crate::id::Seq;
use crate::time::Timestamp;

/// The last accepted record, as much of it as the next one must fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Its sequence number; zero before the first record.
    pub seq: Seq,
    /// Its hash; [`Hash::ZERO`] before the first record.
    pub hash: Hash,
    /// Its ledger time.
    pub ts: Timestamp,
}

impl Link {
    /// Before the first record.
    pub const GENESIS: Self = Self { seq: Seq::ZERO, hash: Hash::ZERO, ts: Timestamp::MIN };

    /// The link that a record becomes once it is accepted.
    #[must_use]
    pub fn of(record: &Record<'_>) -> Self {
        Self { seq: record.seq(), hash: record.hash(), ts: record.ts() }
    }

    /// Accepts `record` as the next one; on an error nothing changes.
    ///
    /// # Errors
    /// [`ChainError`] says in which respect the record is not the successor; [`super::recover`] says what that means.
    ///
    /// # Source
    /// ledger-format.md, "Chain".
    pub fn accept(&mut self, record: &Record<'_>) -> Result<(), ChainError> {
        let expected = self.seq.next();
        if record.seq() != expected {
            return Err(ChainError::Seq { expected, found: record.seq() });
        }
        if record.prev() != self.hash {
            return Err(ChainError::Prev { seq: expected, expected: self.hash, found: record.prev() });
        }
        if record.ts() < self.ts {
            return Err(ChainError::Time { seq: expected, previous: self.ts, found: record.ts() });
        }
        *self = Self::of(record);
        Ok(())
    }
}

/// A record that is sound in itself, but not the successor of the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// It does not count on by one.
    #[error("sequence number {found} where {expected} is due")]
    Seq {
        /// The number that is due.
        expected: Seq,
        /// The number that it carries.
        found: Seq,
    },
    /// It names another predecessor.
    #[error("record {seq} names the predecessor {}, but it is {}", found.short(), expected.short())]
    Prev {
        /// Its sequence number.
        seq: Seq,
        /// The hash of the record before it.
        expected: Hash,
        /// The hash that it names.
        found: Hash,
    },
    /// It lies before its predecessor in time.
    #[error("record {seq} is of {found}, before its predecessor's {previous}")]
    Time {
        /// Its sequence number.
        seq: Seq,
        /// The time of the record before it.
        previous: Timestamp,
        /// The time that it carries.
        found: Timestamp,
    },
}
