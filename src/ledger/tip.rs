//! The end of the log, under the lock: where requests are decided and records appended.

use std::sync::Arc;

use super::names::Names;
use super::submit::{Landed, Receipt, Submission, SubmitError};
use super::{Entry, Env, LedgerError, fold};
use crate::decide::{self, Context, Decided, History};
use crate::event::{Event, LedgerRecovered, LedgerSealed, codec};
use crate::hash::Hash;
use crate::id::{Actor, RequestId};
use crate::log::{AppendError, Cursor, Recovered, Transaction, Visit};
use crate::record::{Draft, frame::seal_request};
use crate::state::{At, State};
use crate::text::Text;
use crate::time::Timestamp;

/// The end of the log, under the lock, with the state just there.
pub(super) struct Tip<'a, 'log> {
    transaction: &'a mut (dyn Transaction + 'log),
    pub state: &'a mut Arc<State>,
    pub cursor: &'a mut Cursor,
    names: &'a mut Names,
    env: &'a Env<'a>,
    /// Ledger time: never before the last record.
    pub now: Timestamp,
}

impl<'a, 'log> Tip<'a, 'log> {
    /// Folds whatever others appended, `note` looking at each record with the state before it, and records what a
    /// recovery moved aside.
    pub(super) fn reach(
        transaction: &'a mut (dyn Transaction + 'log),
        state: &'a mut Arc<State>,
        cursor: &'a mut Cursor,
        names: &'a mut Names,
        env: &'a Env<'a>,
        note: &mut dyn FnMut(&State, &Entry<'_>),
    ) -> Result<Self, SubmitError> {
        // A transaction begins by looking at the last record: if that is the one folded last, nothing is to be read.
        if *cursor != transaction.head() {
            let read = |from: &Cursor, visit: &mut Visit<'_>| transaction.read(from, visit);
            let mut both = |before: &State, entry: &Entry<'_>, end: &Cursor| {
                note(before, entry);
                names.see(entry, end);
            };
            let (_, reached) = fold::catch_up(read, Arc::make_mut(state), *cursor, &mut both)?;
            *cursor = reached;
        }
        let mut tip = Self { transaction, now: state.now, state, cursor, names, env };
        tip.tick();
        tip.record_recovery()?;
        Ok(tip)
    }

    /// Reads the time: what is decided and what is recorded then stand at the same instant.
    pub(super) fn tick(&mut self) {
        self.now = (self.env.now)().max(self.state.now);
    }

    /// What the rules say of a request here and now.
    pub(super) fn decide(&self, submission: &Submission, history: &History) -> Result<Decided, SubmitError> {
        let context = Context { state: self.state, history, caller: &submission.caller, now: self.now };
        Ok(decide::decide(&context, &submission.command)?)
    }

    /// Appends what a request came to, and seals the segment if that filled it.
    pub(super) fn land(
        &mut self,
        submission: &Submission,
        digest: Hash,
        actor: Actor,
        events: Vec<Event>,
    ) -> Result<Landed, SubmitError> {
        let request = submission.request.clone().unwrap_or_else(|| RequestId::from_ulid((self.env.ulid)()));
        let landed = self.append(actor, request, digest, events)?;
        if self.transaction.wants_seal() {
            self.seal()?;
        }
        Ok(landed)
    }

    /// Appends one record. The state takes it first: what it cannot take is never written.
    fn append(
        &mut self,
        actor: Actor,
        request: RequestId,
        digest: Hash,
        events: Vec<Event>,
    ) -> Result<Landed, SubmitError> {
        let at = At { seq: self.cursor.seq.next(), ts: self.now, actor };
        let body = codec::encode(&events).map_err(|error| LedgerError::Event { seq: at.seq, error })?;
        let draft = Draft {
            seq: at.seq,
            prev: self.cursor.hash,
            dur: self.transaction.durable(),
            ts: at.ts,
            actor: &at.actor,
            request: &request,
            digest,
            events: &body,
        };
        let mut line = Vec::with_capacity(body.len() + 512);
        let hash = draft.write(&mut line).map_err(LedgerError::Frame)?;
        Arc::make_mut(self.state).apply(&at, &events).map_err(LedgerError::from)?;
        let prev = self.cursor.hash;
        *self.cursor = self.transaction.append(self.cursor, &line).map_err(|error| match error {
            AppendError::NotStored(error) => SubmitError::from(error),
            AppendError::Unknown(error) => SubmitError::Unknown { request: request.clone(), error },
            // The lock is held and the state was just caught up, so nobody can have come between.
            AppendError::Conflict { .. } => LedgerError::Internal.into(),
        })?;
        self.names.note(prev, &request, &events, line.len(), self.cursor);
        let receipt = Receipt { seq: at.seq, hash, request, duplicate: false };
        Ok(Landed { receipt, at, events })
    }

    fn append_system(&mut self, request: RequestId, events: Vec<Event>) -> Result<(), SubmitError> {
        let digest = Hash::request(request.as_str().as_bytes());
        self.append(Actor::System, request, digest, events).map(|_| ())
    }

    /// What recovery moved aside is part of history: all of it in one record, so that none is forgotten between two.
    fn record_recovery(&mut self) -> Result<(), SubmitError> {
        let event = |recovered: &Recovered| {
            let quarantine: Text = recovered.name.parse().map_err(|_| LedgerError::Internal)?;
            let Recovered { bytes: cut_bytes, offset: offset_bytes, segment, .. } = *recovered;
            Ok(LedgerRecovered { cut_bytes, offset_bytes, quarantine, segment }.into())
        };
        let events: Vec<Event> =
            self.transaction.recovered().iter().map(event).collect::<Result<_, LedgerError>>()?;
        if events.is_empty() {
            return Ok(());
        }
        self.append_system(RequestId::from_ulid((self.env.ulid)()), events)
    }

    fn seal(&mut self) -> Result<(), SubmitError> {
        let segment = self.cursor.segment;
        let request = seal_request(segment).map_err(|_| LedgerError::Internal)?;
        self.append_system(request, vec![LedgerSealed { segment }.into()])?;
        self.transaction.rotate()?;
        Ok(())
    }
}
