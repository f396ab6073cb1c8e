//! Appending: one request is decided under the lock and lands as one record, or not at all.

use std::sync::Arc;

use serde::Serialize;

use super::tip::{Held, Tip};
use super::{Entry, Env, Ledger, LedgerError};
use crate::decide::{Caller, Command, Decided, Decision, History, Refusal};
use crate::event::Event;
use crate::hash::Hash;
use crate::id::{RequestId, Seq};
use crate::log::{Cursor, LogError, Wait};
use crate::state::{At, State};

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

impl Committed {
    fn of(landed: Landed, state: Arc<State>) -> Self {
        let Landed { receipt, at, events } = landed;
        Self { receipt, at, events, state }
    }
}

/// A request that landed, without the state after it: of these one may hold many.
#[derive(Debug, Clone)]
pub struct Landed {
    /// Where.
    pub receipt: Receipt,
    /// Its envelope.
    pub at: At,
    /// What happened.
    pub events: Vec<Event>,
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
        if let Some(opens) = submission.command.opens() {
            self.note_lease_of(opens, &mut history)?;
        }
        let mut work = Work { env, submission, digest, history, known: None };
        let outcome = self.under_lock(wait, &mut work);
        match outcome {
            Ok(Outcome::Stored { committed, settled }) => {
                if !settled {
                    self.mistrust();
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
                self.mistrust();
                Err(error)
            }
        }
    }

    /// The state may be ahead of the log, or partly changed: it is folded anew when it is needed. What earlier requests
    /// appended still waits to be made durable.
    pub(super) fn mistrust(&mut self) {
        self.forgotten = self.tip();
        self.forget();
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
        let held = Held {
            state: &mut self.state,
            cursor: &mut self.cursor,
            names: &mut self.names,
            pace: &self.pace,
            told: &mut self.told,
            env: work.env,
        };
        let mut note = |before: &State, entry: &Entry<'_>| work.note(before, entry);
        let mut tip = Tip::reach(&mut *transaction, held, &mut note)?;
        if let Some((request, known)) = work.known.take() {
            return Ok(Outcome::Known(request, known));
        }
        Ok(match tip.decide(work.submission, &work.history)? {
            Decided::Append { actor, events } => {
                tip.record_jump()?;
                let (landed, state) = tip.land(work.submission, work.digest, actor, events)?;
                Outcome::Stored { committed: Box::new(Committed::of(landed, state)), settled: tip.settled }
            }
            Decided::Already(seq) => Outcome::Already(seq),
            Decided::Quiet(decision) => Outcome::Quiet(decision),
        })
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
        if let Some(opens) = self.submission.command.opens() {
            self.history.note_lease(&entry.at, &entry.events, opens);
        }
    }
}
