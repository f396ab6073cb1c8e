//! Appending: one request is decided under the lock and lands as one record, or not at all.

use std::sync::Arc;

use serde::Serialize;

use super::names::Names;
use super::{Entry, Env, Ledger, LedgerError, fold};
use crate::decide::{self, Caller, Command, Context, Decided, Decision, History, Refusal};
use crate::event::{ClockJumped, Event, LedgerRecovered, LedgerSealed, codec};
use crate::hash::Hash;
use crate::id::{Actor, RequestId, Seq};
use crate::log::{AppendError, Cursor, LogError, Recovered, Transaction, Visit, Wait};
use crate::record::{Draft, frame::seal_request};
use crate::state::{At, State};
use crate::text::Text;
use crate::time::Timestamp;

/// A request to change something.
#[derive(Debug, Clone)]
pub struct Submission {
    /// Who asks.
    pub caller: Caller,
    /// What.
    pub command: Command,
    /// The idempotency key, if the caller has one; otherwise a fresh one is minted.
    pub request: Option<RequestId>,
}

impl Submission {
    /// The digest that tells whether two requests are the same: who asks what, and nothing about when or where.
    ///
    /// # Errors
    /// Only if a command cannot be written as JSON, which its types rule out.
    pub fn digest(&self) -> Result<Hash, LedgerError> {
        let Caller { agent, owner, goal, .. } = &self.caller;
        let same =
            serde_json::to_value((agent, owner, goal, &self.command)).map_err(|_| LedgerError::Internal)?;
        Ok(Hash::request(same.to_string().as_bytes()))
    }
}

/// What a writer gets back: where its record is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Receipt {
    /// The record.
    pub seq: Seq,
    /// Its hash.
    pub hash: Hash,
    /// The request that caused it.
    pub request: RequestId,
    /// Whether it had been there before this call.
    pub duplicate: bool,
}

/// A request that landed, now or before.
#[derive(Debug, Clone)]
pub struct Committed {
    /// Where.
    pub receipt: Receipt,
    /// Its envelope.
    pub at: At,
    /// What happened.
    pub events: Vec<Event>,
    /// The state just after it.
    pub state: Arc<State>,
}

/// What a request came to.
#[derive(Debug, Clone)]
pub enum Answer {
    /// It landed.
    Committed(Box<Committed>),
    /// Nothing was appended; this is the decision.
    Quiet(Box<Decision>),
}

/// A request that did not land.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// A rule said no. Nothing was changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The request id was used for another request. Nothing was changed.
    #[error("request id {request} was used for another request, at #{seq}")]
    RequestReused {
        /// The id.
        request: RequestId,
        /// The record of the other request.
        seq: Seq,
    },
    /// The ledger could not be read or written. Nothing was changed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The record may have been stored, or is stored and may not be durable. Asking again with the same request id
    /// tells.
    #[error("request {request} may or may not be recorded: {error}")]
    Unknown {
        /// The id to ask again with.
        request: RequestId,
        /// What happened.
        error: LogError,
    },
}

impl From<LogError> for SubmitError {
    fn from(error: LogError) -> Self {
        Self::Ledger(error.into())
    }
}

impl Ledger {
    /// Decides and appends a request, and returns once it is durable. A request id that is known answers the original
    /// receipt, whatever has happened since.
    ///
    /// # Errors
    /// [`SubmitError`]; only [`SubmitError::Unknown`] leaves it open whether the record is there.
    pub fn submit(
        &mut self,
        env: &Env<'_>,
        wait: &Wait<'_>,
        submission: &Submission,
    ) -> Result<Answer, SubmitError> {
        let answer = self.append(env, wait, submission)?;
        if let Answer::Committed(committed) = &answer {
            let request = committed.receipt.request.clone();
            self.make_durable(wait).map_err(|error| SubmitError::Unknown { request, error })?;
            self.save_snapshot_if_due();
        }
        Ok(answer)
    }

    /// As [`Ledger::submit`], but the record may not be durable yet: call [`Ledger::make_durable`] before anyone is
    /// told. One sync then serves many requests.
    ///
    /// # Errors
    /// As [`Ledger::submit`].
    pub fn append(
        &mut self,
        env: &Env<'_>,
        wait: &Wait<'_>,
        submission: &Submission,
    ) -> Result<Answer, SubmitError> {
        let digest = submission.digest()?;
        // First the fold, then a search as far as it goes: a record that lands later is seen under the lock, and whatever
        // is found is among what is made durable before it is acknowledged.
        self.refresh()?;
        if let Some(request) = &submission.request
            && let Some(known) = self.requested(request)?
        {
            return self.known(request, known, digest);
        }
        let mut history = self.history_of(&submission.command.todos())?;
        if let Some(spend) = submission.command.spend() {
            history.spend = self.spend_of(spend)?;
        }
        let mut work = Work { env, submission, digest, history, known: None };
        let outcome = self.under_lock(wait, &mut work);
        match outcome {
            Ok(Outcome::Stored { committed, settled }) => {
                if !settled {
                    self.forgotten = self.tip();
                    self.forget();
                    // What cannot be folded now is said to whoever asks next.
                    drop(self.refresh());
                }
                Ok(Answer::Committed(committed))
            }
            Ok(Outcome::Quiet(decision)) => Ok(Answer::Quiet(decision)),
            Ok(Outcome::Known(request, known)) => self.known(&request, known, digest),
            Ok(Outcome::Already(seq)) => Ok(Answer::Committed(Box::new(self.committed_at(seq)?))),
            // A rule said no: nothing was touched, and the next request need not fold from genesis.
            Err(refused @ SubmitError::Refused(_)) => Err(refused),
            Err(error) => {
                // The state may be ahead of the log, or partly changed: it is folded anew when it is needed. What earlier
                // requests appended still waits to be made durable.
                self.forgotten = self.tip();
                self.forget();
                Err(error)
            }
        }
    }

    /// Waits until everything this ledger has folded or appended survives a loss of power.
    ///
    /// # Errors
    /// As [`crate::log::Log::make_durable`].
    pub fn make_durable(&self, wait: &Wait<'_>) -> Result<Seq, LogError> {
        self.log.make_durable(&self.tip(), wait)
    }

    /// Just after the last record that is folded, or was before the state was forgotten.
    const fn tip(&self) -> Cursor {
        if self.cursor.seq.0 < self.forgotten.seq.0 { self.forgotten } else { self.cursor }
    }

    fn known(&self, request: &RequestId, known: (Seq, Hash), digest: Hash) -> Result<Answer, SubmitError> {
        let (seq, before) = known;
        if before != digest {
            return Err(SubmitError::RequestReused { request: request.clone(), seq });
        }
        Ok(Answer::Committed(Box::new(self.committed_at(seq)?)))
    }

    /// What a request came to when it landed: recomputed from the log, so it is the same for ever.
    fn committed_at(&self, seq: Seq) -> Result<Committed, LedgerError> {
        let mut found = None;
        let state = self.state_at(seq, &mut |entry| {
            found = Some((entry.at.clone(), entry.hash, entry.request.clone(), entry.events.clone()));
        })?;
        let (at, hash, request, events) = found.ok_or(LedgerError::Internal)?;
        let receipt = Receipt { seq, hash, request, duplicate: true };
        Ok(Committed { receipt, at, events, state: Arc::new(state) })
    }

    fn under_lock(&mut self, wait: &Wait<'_>, work: &mut Work<'_>) -> Result<Outcome, SubmitError> {
        let mut transaction = self.log.transaction(wait)?;
        let (state, cursor, names) = (&mut self.state, &mut self.cursor, &mut self.names);
        // A transaction begins by looking at the last record: if that is the one folded last, nothing is to be read.
        if *cursor != transaction.head() {
            let read = |from: &Cursor, visit: &mut Visit<'_>| transaction.read(from, visit);
            let folded = Arc::make_mut(state);
            let mut note = |before: &State, entry: &Entry<'_>, end: &Cursor| {
                work.note(before, entry);
                names.see(entry, end);
            };
            let (_, reached) = fold::catch_up(read, folded, *cursor, &mut note)?;
            *cursor = reached;
        }
        // Ledger time is read once: what is decided and what is recorded stand at the same instant.
        let clock = (work.env.now)();
        let now = clock.max(state.now);
        let mut tip = Tip { transaction: &mut *transaction, state, cursor, names, env: work.env, now };
        tip.record_recovery()?;
        if let Some((request, known)) = work.known.take() {
            return Ok(Outcome::Known(request, known));
        }
        let (jump, last) = (self.pace.jump(tip.state, clock), tip.state.now);
        let after_jump = jump.as_ref().map(|jump| tip.after_jump(jump)).transpose()?;
        let submission = work.submission;
        let state = after_jump.as_ref().unwrap_or(tip.state);
        let context = Context { state, history: &work.history, caller: &submission.caller, now };
        let (actor, events) = match decide::decide(&context, &submission.command)? {
            Decided::Append { actor, events } => (actor, events),
            Decided::Already(seq) => return Ok(Outcome::Already(seq)),
            Decided::Quiet(decision) => return Ok(Outcome::Quiet(decision)),
        };
        if let Some(jump) = &jump {
            tip.append_system(RequestId::from_ulid((tip.env.ulid)()), vec![jump.clone().into()])?;
        }
        let request = submission.request.clone().unwrap_or_else(|| RequestId::from_ulid((work.env.ulid)()));
        let committed = tip.append(actor, request, work.digest, events)?;
        self.pace.settle(last, clock, jump.as_ref());
        self.told = jump;
        // The record is there, whatever comes of the seal: whoever comes next seals, or goes on with what was begun.
        let settled = !tip.transaction.wants_seal() || tip.seal().is_ok();
        Ok(Outcome::Stored { committed: Box::new(committed), settled })
    }
}

enum Outcome {
    Stored {
        committed: Box<Committed>,
        /// Whether state and cursor are where the log is. If not, part of a seal may be there.
        settled: bool,
    },
    Known(RequestId, (Seq, Hash)),
    Already(Seq),
    Quiet(Box<Decision>),
}

/// A request on its way, and what was learned about it while catching up.
struct Work<'a> {
    env: &'a Env<'a>,
    submission: &'a Submission,
    digest: Hash,
    history: History,
    known: Option<(RequestId, (Seq, Hash))>,
}

impl Work<'_> {
    fn note(&mut self, before: &State, entry: &Entry<'_>) {
        if self.submission.request.as_ref() == Some(&entry.request) {
            self.known = Some((entry.request.clone(), (entry.at.seq, entry.record.digest())));
        }
        let named = self.submission.command.todos();
        self.history.note(before, &entry.at, &entry.events, |id| named.contains(&id));
        if let Some(spend) = self.submission.command.spend() {
            self.history.note_spend(entry.at.seq, &entry.events, spend);
        }
    }
}

/// The end of the log, under the lock, with the state just there.
struct Tip<'a, 'log> {
    transaction: &'a mut (dyn Transaction + 'log),
    state: &'a mut Arc<State>,
    cursor: &'a mut Cursor,
    names: &'a mut Names,
    env: &'a Env<'a>,
    /// Ledger time: never before the last record.
    now: Timestamp,
}

impl Tip<'_, '_> {
    /// Appends one record. The state takes it first: what it cannot take is never written.
    fn append(
        &mut self,
        actor: Actor,
        request: RequestId,
        digest: Hash,
        events: Vec<Event>,
    ) -> Result<Committed, SubmitError> {
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
        Ok(Committed { receipt, at, events, state: Arc::clone(self.state) })
    }

    fn append_system(&mut self, request: RequestId, events: Vec<Event>) -> Result<(), SubmitError> {
        let digest = Hash::request(request.as_str().as_bytes());
        self.append(Actor::System, request, digest, events).map(|_| ())
    }

    /// The state with a jump of the clock on record: what a request is decided on, and nothing is written if it is refused.
    fn after_jump(&self, jump: &ClockJumped) -> Result<State, SubmitError> {
        let mut state = State::clone(self.state);
        let at = At { seq: state.seq.next(), ts: self.now, actor: Actor::System };
        state.apply(&at, &[jump.clone().into()]).map_err(LedgerError::from)?;
        Ok(state)
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
