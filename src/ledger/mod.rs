//! The ledger: a log of records, read as events and folded into a state. The only module that sees both sides.
//!
//! Live and replay are one path: [`Ledger::refresh`] folds whatever the log holds after the cursor.

mod batch;
mod clock;
mod fold;
mod lookup;
mod names;
mod submit;
mod tip;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ulid::Ulid;

pub use batch::{BATCH_MS, BATCH_REQUESTS, Batch, Reply};
use clock::Pace;
pub use clock::{ClockNotice, Uptime, UptimeSource};
pub use fold::{Entry, LedgerError};
use names::Names;
pub use names::Past;
pub use submit::{Answer, Committed, Landed, Receipt, Submission, SubmitError};

use crate::event::{ClockJumped, Event, LedgerCreated, codec};
use crate::hash::Hash;
use crate::id::{Actor, LedgerId, RequestId, Seq};
use crate::log::{Cursor, FileLog, FileSystems, Log, LogError, Tail};
use crate::record::Draft;
use crate::snapshot;
use crate::state::State;
use crate::text::Text;
use crate::time::Timestamp;

/// Where time and fresh ids come from. Nothing below the binary reads a clock or a random source.
#[derive(Clone, Copy)]
pub struct Env<'a> {
    /// The time now.
    pub now: &'a dyn Fn() -> Timestamp,
    /// A fresh ULID.
    pub ulid: &'a dyn Fn() -> Ulid,
}

/// An open ledger and its state up to some record.
pub struct Ledger {
    log: Box<dyn Log>,
    root: Option<PathBuf>,
    /// Shared with what was [`Committed`] last; copied only if that is still held when the next record is folded.
    state: Arc<State>,
    cursor: Cursor,
    /// Just after the last record that was folded when a request failed and the state was forgotten.
    forgotten: Cursor,
    /// The record that the last snapshot stands on.
    snapshot: Seq,
    tail: Option<Tail>,
    /// Where names occur.
    names: Names,
    /// How fast the clock ought to go.
    pace: Pace,
    /// The jump of the clock that was recorded just before the last record here.
    told: Option<ClockJumped>,
}

impl Ledger {
    /// Creates a ledger at `root`, a `.loopx` directory that does not exist, and its first record. It is durable.
    ///
    /// # Errors
    /// [`LogError::AlreadyExists`] and other reasons of the log.
    pub fn create(root: &Path, env: &Env<'_>, track: bool) -> Result<Self, LedgerError> {
        Self::create_in(FileSystems::Local, root, env, track)
    }

    /// As [`Ledger::create`], on file systems that the caller names.
    ///
    /// # Errors
    /// As [`Ledger::create`]; [`LogError::RefusedFileSystem`] unless any will do.
    pub fn create_in(
        file_systems: FileSystems,
        root: &Path,
        env: &Env<'_>,
        track: bool,
    ) -> Result<Self, LedgerError> {
        let id = LedgerId((env.ulid)());
        let log = FileLog::create_in(file_systems, root, id, &genesis(id, env)?, track)?;
        Self::start(Box::new(log), Some(root.to_owned()))
    }

    /// Opens the ledger at `root` and folds it: from a snapshot if one holds, else from genesis.
    ///
    /// # Errors
    /// [`LedgerError`]: the log cannot be read, or is not what it was.
    pub fn open(root: &Path) -> Result<Self, LedgerError> {
        Self::open_in(FileSystems::Local, root)
    }

    /// As [`Ledger::open`], to be written on file systems that the caller names.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub fn open_in(file_systems: FileSystems, root: &Path) -> Result<Self, LedgerError> {
        let log = FileLog::open_in(file_systems, root)?;
        let named = log.id();
        let ledger = Self::start(Box::new(log), Some(root.to_owned()))?;
        match ledger.state.ledger {
            Some(created) if created != named => Err(LedgerError::Identity { named, created }),
            _ => Ok(ledger),
        }
    }

    /// Opens a ledger on any log. Without a directory it keeps no snapshots.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub fn start(log: Box<dyn Log>, root: Option<PathBuf>) -> Result<Self, LedgerError> {
        let mut ledger = Self {
            names: Names::new(root.as_deref()),
            pace: Pace::new(root.as_deref()),
            log,
            root,
            state: Arc::default(),
            cursor: Cursor::START,
            forgotten: Cursor::START,
            snapshot: Seq::ZERO,
            tail: None,
            told: None,
        };
        if let Some((cursor, state)) = ledger.root.as_deref().and_then(snapshot::load) {
            (ledger.cursor, ledger.state, ledger.snapshot) = (cursor, Arc::new(state), cursor.seq);
        }
        match ledger.refresh() {
            Err(LedgerError::Log(LogError::CursorUnknown { .. })) if ledger.snapshot > Seq::ZERO => {
                ledger.forget();
                ledger.snapshot = Seq::ZERO;
                ledger.refresh()?;
            }
            other => other?,
        }
        Ok(ledger)
    }

    /// Folds what was appended since.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub fn refresh(&mut self) -> Result<(), LedgerError> {
        let (log, state, names) = (&*self.log, &mut self.state, &mut self.names);
        let read = |from: &Cursor, visit: &mut crate::log::Visit<'_>| log.read(from, visit);
        let mut note = |_: &State, entry: &Entry<'_>, end: &Cursor| names.see(entry, end);
        let (tail, cursor) = fold::catch_up(read, Arc::make_mut(state), self.cursor, &mut note)?;
        self.cursor = cursor;
        self.tail = Some(tail);
        Ok(())
    }

    /// What is so, up to [`Ledger::head`].
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Just after the last record folded.
    #[must_use]
    pub const fn head(&self) -> &Cursor {
        &self.cursor
    }

    /// How the log ended when it was last read.
    #[must_use]
    pub const fn tail(&self) -> Option<&Tail> {
        self.tail.as_ref()
    }

    /// The `.loopx` directory.
    #[must_use]
    pub fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// Visits every record from genesis, with the state before it, up to and including `to`.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub fn replay(&self, to: Seq, visit: &mut dyn FnMut(&State, &Entry<'_>)) -> Result<State, LedgerError> {
        let mut state = State::default();
        if to > Seq::ZERO {
            let read = |from: &Cursor, visitor: &mut crate::log::Visit<'_>| {
                self.log.read(from, &mut |record, cursor| match visitor(record, cursor) {
                    ControlFlow::Continue(()) if record.seq() < to => ControlFlow::Continue(()),
                    _ => ControlFlow::Break(()),
                })
            };
            fold::catch_up(read, &mut state, Cursor::START, &mut |before, entry, _| visit(before, entry))?;
        }
        Ok(state)
    }

    /// Visits every record after `from`, without folding, until the visitor breaks. Returns the place reached.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub fn records(&self, from: &Cursor, visit: &mut crate::log::Visit<'_>) -> Result<Cursor, LedgerError> {
        Ok(self.log.read(from, visit)?.head)
    }

    /// Writes a snapshot, and what the index lacks, if enough has happened since the last one. A failure is of no
    /// consequence.
    pub fn save_snapshot_if_due(&mut self) {
        let Some(root) = &self.root else { return };
        let due = |last: Seq| self.cursor.seq.0 >= last.0 + snapshot::SNAPSHOT_EVERY;
        if !due(self.snapshot) {
            return;
        }
        // Of many that have come so far, one writes it. What claims to be ahead of the log is of no history of ours.
        if let Some(last) = snapshot::newest(root).filter(|last| *last <= self.cursor.seq && !due(*last)) {
            self.snapshot = last;
        } else if snapshot::save(root, &self.cursor, &self.state).is_ok() {
            self.snapshot = self.cursor.seq;
            self.build_index_if_due();
        }
    }

    /// Forgets the folded state, so that the next refresh starts at genesis.
    fn forget(&mut self) {
        self.state = Arc::default();
        self.cursor = Cursor::START;
    }
}

/// The first line of a ledger.
///
/// # Errors
/// Only if its own constants broke the format.
pub fn genesis(id: LedgerId, env: &Env<'_>) -> Result<Vec<u8>, LedgerError> {
    let program: Text =
        concat!("loopx ", env!("CARGO_PKG_VERSION")).parse().map_err(|_| LedgerError::Internal)?;
    let created: Event = LedgerCreated { ledger: id, nonce: LedgerId((env.ulid)()), program }.into();
    let events = codec::encode(&[created]).map_err(|error| LedgerError::Event { seq: Seq(1), error })?;
    let request = RequestId::from_ulid((env.ulid)());
    let draft = Draft {
        seq: Seq(1),
        prev: Hash::ZERO,
        dur: Seq::ZERO,
        ts: (env.now)(),
        actor: &Actor::System,
        request: &request,
        digest: Hash::request(&events),
        events: &events,
    };
    let mut line = Vec::new();
    draft.write(&mut line).map_err(LedgerError::Frame)?;
    Ok(line)
}
