//! The end of the log, under the lock: where requests are decided and records appended.

use std::sync::Arc;

use super::clock::Pace;
use super::names::Names;
use super::submit::{Landed, Receipt, Submission, SubmitError};
use super::{Entry, Env, LedgerError, fold};
use crate::decide::{self, Context, Decided, History};
use crate::event::{ClockJumped, Event, LedgerRecovered, LedgerSealed, codec};
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
    pace: &'a Pace,
    told: &'a mut Option<ClockJumped>,
    /// What the clock says.
    clock: Timestamp,
    /// Ledger time: never before the last record.
    pub now: Timestamp,
    /// Whether state and cursor are where the log is. If not, part of a seal may be there, and nothing more is to be done.
    pub settled: bool,
}

/// What a ledger holds, for the time of a transaction.
pub(super) struct Held<'a> {
    pub state: &'a mut Arc<State>,
    pub cursor: &'a mut Cursor,
    pub names: &'a mut Names,
    pub pace: &'a Pace,
    pub told: &'a mut Option<ClockJumped>,
    pub env: &'a Env<'a>,
}

impl<'a, 'log> Tip<'a, 'log> {
    /// Folds whatever others appended, `note` looking at each record with the state before it, and records what a
    /// recovery moved aside.
    pub(super) fn reach(
        transaction: &'a mut (dyn Transaction + 'log),
        held: Held<'a>,
        note: &mut dyn FnMut(&State, &Entry<'_>),
    ) -> Result<Self, SubmitError> {
        let Held { state, cursor, names, pace, told, env } = held;
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
        let (clock, now) = (state.now, state.now);
        let mut tip = Self { transaction, state, cursor, names, env, pace, told, clock, now, settled: true };
        tip.tick();
        tip.record_recovery()?;
        Ok(tip)
    }

    /// Reads the time: what is decided and what is recorded then stand at the same instant.
    pub(super) fn tick(&mut self) {
        self.clock = (self.env.now)();
        self.now = self.clock.max(self.state.now);
    }

    /// What the rules say of a request here and now. After a jump of the clock they say it of the state with the jump on
    /// record, and if the request is refused nothing is written.
    pub(super) fn decide(&self, submission: &Submission, history: &History) -> Result<Decided, SubmitError> {
        let after_jump = match self.pace.jump(self.state, self.clock) {
            Some(jump) => {
                let mut state = State::clone(self.state);
                let at = At { seq: state.seq.next(), ts: self.now, actor: Actor::System };
                state.apply(&at, &[jump.into()]).map_err(LedgerError::from)?;
                Some(state)
            }
            None => None,
        };
        let state = after_jump.as_ref().unwrap_or(self.state);
        let context = Context { state, history, caller: &submission.caller, now: self.now };
        Ok(decide::decide(&context, &submission.command)?)
    }

    /// Records a jump of the clock, before what was decided on it.
    pub(super) fn record_jump(&mut self) -> Result<(), SubmitError> {
        let (jump, last) = (self.pace.jump(self.state, self.clock), self.state.now);
        if let Some(jump) = &jump {
            self.append_system(RequestId::from_ulid((self.env.ulid)()), vec![jump.clone().into()])?;
        }
        self.pace.settle(last, self.clock, jump.as_ref());
        *self.told = jump;
        Ok(())
    }

    /// Appends what a request came to, and seals the segment if that filled it. Returns the state just after the request.
    pub(super) fn land(
        &mut self,
        submission: &Submission,
        digest: Hash,
        actor: Actor,
        events: Vec<Event>,
    ) -> Result<(Landed, Arc<State>), SubmitError> {
        let request = submission.request.clone().unwrap_or_else(|| RequestId::from_ulid((self.env.ulid)()));
        let landed = self.append(actor, request, digest, events)?;
        let state = Arc::clone(self.state);
        // The record is there, whatever comes of the seal: whoever comes next seals, or goes on with what was begun.
        if self.transaction.wants_seal() {
            self.settled = self.seal().is_ok();
        }
        Ok((landed, state))
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
