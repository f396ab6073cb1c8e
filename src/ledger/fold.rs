//! Records to state: the one path for live and replay.

use std::ops::ControlFlow;

use crate::event::Event;
use crate::event::codec::{self, CodecError};
use crate::hash::Hash;
use crate::id::{BadId, LedgerId, RequestId, Seq};
use crate::log::{Cursor, LogError, Tail, Visit};
use crate::record::{FrameError, Record};
use crate::state::{At, Inconsistent, State};

/// A ledger could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The log says why.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A sound record whose events this program cannot read.
    #[error("record #{seq}: {error}")]
    Event {
        /// The record.
        seq: Seq,
        /// What is wrong with them, or that they are newer.
        error: CodecError,
    },
    /// A sound record whose events cannot follow what came before.
    #[error(transparent)]
    Inconsistent(#[from] Inconsistent),
    /// The directory names another ledger than its first record does.
    #[error("FORMAT names ledger {named}, but record #1 created {created}")]
    Identity {
        /// The one in FORMAT.
        named: LedgerId,
        /// The one in the first record.
        created: LedgerId,
    },
    /// A record that does not fit the format.
    #[error("{0}")]
    Frame(FrameError),
    /// An identifier in the envelope that is not one.
    #[error("record #{seq}: {error}")]
    Envelope {
        /// The record.
        seq: Seq,
        /// Which.
        error: BadId,
    },
    /// Something that this program's own types rule out.
    #[error("internal error")]
    Internal,
}

/// A record, read as events.
#[derive(Debug)]
pub struct Entry<'a> {
    /// Its envelope.
    pub at: At,
    /// Its hash.
    pub hash: Hash,
    /// The request that caused it.
    pub request: RequestId,
    /// What happened.
    pub events: Vec<Event>,
    /// The record itself.
    pub record: &'a Record<'a>,
}

impl<'a> Entry<'a> {
    /// Reads a record's envelope and events.
    ///
    /// # Errors
    /// [`LedgerError::Event`] or [`LedgerError::Envelope`].
    pub fn of(record: &'a Record<'a>) -> Result<Self, LedgerError> {
        let seq = record.seq();
        let envelope = |error| LedgerError::Envelope { seq, error };
        Ok(Self {
            at: At { seq, ts: record.ts(), actor: record.actor().parse().map_err(envelope)? },
            hash: record.hash(),
            request: record.request().parse().map_err(envelope)?,
            events: codec::decode(record.events()).map_err(|error| LedgerError::Event { seq, error })?,
            record,
        })
    }
}

/// What sees each record that is folded, with the state before it and the place just after it.
pub(super) type Fold<'f> = dyn FnMut(&State, &Entry<'_>, &Cursor) + 'f;

/// Folds every record that `read` yields after `from`.
pub(super) fn catch_up(
    read: impl Fn(&Cursor, &mut Visit<'_>) -> Result<Tail, LogError>,
    state: &mut State,
    from: Cursor,
    visit: &mut Fold<'_>,
) -> Result<(Tail, Cursor), LedgerError> {
    let mut cursor = from;
    let mut failure = None;
    let tail = read(&from, &mut |record, after| {
        let folded = Entry::of(record).and_then(|entry| {
            visit(state, &entry, after);
            state.apply(&entry.at, &entry.events).map_err(LedgerError::from)
        });
        match folded {
            Ok(()) => {
                cursor = *after;
                ControlFlow::Continue(())
            }
            Err(error) => {
                failure = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    match failure {
        Some(error) => Err(error),
        None => Ok((tail, cursor)),
    }
}
