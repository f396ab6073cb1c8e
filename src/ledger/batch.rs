//! Many requests in one transaction: each is decided and recorded by itself, all under one lock.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::names::{Past, request_key};
use super::submit::{Landed, Receipt, Submission, SubmitError};
use super::tip::{Held, Tip};
use super::{Entry, Env, Ledger, LedgerError};
use crate::decide::{Decided, Decision, History, PastLease, PastSpend, SpendName};
use crate::event::Event;
use crate::hash::Hash;
use crate::id::{LeaseKey, RequestId, Seq, TodoId, TurnId};
use crate::log::Wait;
use crate::state::{At, State};

/// Most requests in one transaction. So many share a sync of some milliseconds that it costs each of them a few
/// microseconds; their answers are held in memory until then.
pub const BATCH_REQUESTS: usize = 4096;

/// A transaction takes no further request after so long. Other writers wait for the lock for 10 s unless told otherwise,
/// look for it at least every 4 ms, and between two transactions of a batch's owner there is a sync, the printing of its
/// receipts and the search for its next request ids: so they come in between, and wait a hundredth of what they would.
pub const BATCH_MS: u64 = 100;

/// What a request of a batch came to.
#[derive(Debug, Clone)]
pub enum Reply {
    /// It landed, now or before.
    Landed(Box<Landed>),
    /// Nothing was appended; this is the decision.
    Quiet(Box<Decision>),
}

/// What a batch came to.
#[derive(Debug, Default)]
pub struct Batch {
    /// The replies to the first requests, in order. What landed may not be durable yet.
    pub replies: Vec<Reply>,
    /// What became of the request after them, if it failed; those behind it were not looked at.
    pub failure: Option<SubmitError>,
}

impl Ledger {
    /// Decides and appends requests in order under one lock, until one fails, [`BATCH_REQUESTS`] are done, [`BATCH_MS`]
    /// have passed or `waits` says of a state that a request, not the first, has to wait: the caller comes again with the
    /// rest. Each request lands as a whole or not at all. [`Ledger::make_durable`] has to follow before anyone is told.
    ///
    /// # Errors
    /// In the batch; what was replied before it stands.
    pub fn append_many(
        &mut self,
        env: &Env<'_>,
        wait: &Wait<'_>,
        submissions: &[Submission],
        waits: &dyn Fn(&State, &Submission) -> bool,
    ) -> Batch {
        let submissions = submissions.get(..BATCH_REQUESTS).unwrap_or(submissions);
        let mut steps = Vec::with_capacity(submissions.len());
        let outcome = self.prepare(submissions).and_then(|plan| {
            let mut run = Run { env, submissions, waits, plan, steps: &mut steps, own: HashMap::new() };
            self.run(wait, &mut run)
        });
        match &outcome {
            // A rule said no: nothing was touched, and the next batch need not fold from genesis.
            Ok(true) | Err(SubmitError::Refused(_) | SubmitError::RequestReused { .. }) => {}
            Ok(false) | Err(_) => self.mistrust(),
        }
        let mut batch = Batch { replies: Vec::with_capacity(steps.len()), failure: outcome.err() };
        for step in steps {
            match self.reply(step, &batch.replies) {
                Ok(reply) => batch.replies.push(reply),
                Err(error) => {
                    batch.failure = Some(error.into());
                    break;
                }
            }
        }
        batch
    }

    /// Looks up what the requests name, before the lock is taken and as far as the fold goes.
    fn prepare(&mut self, submissions: &[Submission]) -> Result<Plan, SubmitError> {
        self.refresh()?;
        let digests = submissions.iter().map(Submission::digest).collect::<Result<_, _>>()?;
        let wanted: BTreeSet<String> = submissions
            .iter()
            .filter_map(|submission| submission.request.as_ref())
            .map(request_key)
            .collect();
        let mut found = BTreeMap::new();
        if !wanted.is_empty() {
            self.names.gather(&*self.log, &self.cursor, &wanted, &mut found)?;
        }
        let mut known = HashMap::new();
        for past in found.into_values() {
            known.entry(past.request.clone()).or_insert(past);
        }
        let named: BTreeSet<TodoId> =
            submissions.iter().flat_map(|submission| submission.command.todos()).collect();
        let history = self.history_of(&named.iter().copied().collect::<Vec<_>>())?;
        let asked = submissions.iter().filter_map(|submission| submission.request.clone()).collect();
        let mut spends = Spends::default();
        for meant in submissions.iter().filter_map(|submission| submission.command.spend()) {
            self.spend_of(meant)?.into_iter().for_each(|past| spends.add(past));
        }
        let mut leases = HashMap::new();
        for (todo, key) in submissions.iter().filter_map(|submission| submission.command.opens()) {
            let mut opened = History::default();
            self.note_lease_of((todo, key), &mut opened)?;
            leases.extend(opened.lease.map(|past| ((todo, key.clone()), past)));
        }
        Ok(Plan { digests, asked, known, named, history, spends, leases })
    }

    /// Whether state and cursor are where the log is afterwards.
    fn run(&mut self, wait: &Wait<'_>, run: &mut Run<'_>) -> Result<bool, SubmitError> {
        let mut transaction = self.log.transaction(wait)?;
        let held = Held {
            state: &mut self.state,
            cursor: &mut self.cursor,
            names: &mut self.names,
            pace: &self.pace,
            told: &mut self.told,
            env: run.env,
        };
        let plan = &mut run.plan;
        let mut note = |before: &State, entry: &Entry<'_>| plan.note(before, entry);
        let mut tip = Tip::reach(&mut *transaction, held, &mut note)?;
        let since = (run.env.now)();
        for (at, submission) in run.submissions.iter().enumerate() {
            tip.tick();
            let late = (run.env.now)().ms_since(since) >= BATCH_MS;
            if at > 0 && (late || !tip.settled || run.must_wait(&tip, submission)) {
                break;
            }
            let step = run.one(&mut tip, at, submission)?;
            run.steps.push(step);
        }
        Ok(tip.settled)
    }

    /// A request that had landed before is answered from its record.
    fn reply(&self, step: Step, replies: &[Reply]) -> Result<Reply, LedgerError> {
        let landed = match step {
            Step::Landed(landed) => return Ok(Reply::Landed(landed)),
            Step::Quiet(decision) => return Ok(Reply::Quiet(decision)),
            Step::Known(past) => duplicate(*past),
            Step::Already(seq) => duplicate(self.record(seq)?.ok_or(LedgerError::Internal)?),
            Step::Again(at) => match replies.get(at) {
                Some(Reply::Landed(first)) => {
                    let receipt = Receipt { duplicate: true, ..first.receipt.clone() };
                    Landed { receipt, ..(**first).clone() }
                }
                _ => return Err(LedgerError::Internal),
            },
        };
        Ok(Reply::Landed(Box::new(landed)))
    }
}

fn duplicate(past: Past) -> Landed {
    let Past { at, hash, request, events, .. } = past;
    Landed { receipt: Receipt { seq: at.seq, hash, request, duplicate: true }, at, events }
}

/// What is known of a batch's requests before any of them is decided.
struct Plan {
    digests: Vec<Hash>,
    /// The request ids of the batch.
    asked: BTreeSet<RequestId>,
    /// The records of those that had landed before.
    known: HashMap<RequestId, Past>,
    /// The todos that the requests name.
    named: BTreeSet<TodoId>,
    history: History,
    spends: Spends,
    /// Leases that the requests' keys opened before: those that were looked up, and all that were recorded since.
    leases: HashMap<(TodoId, LeaseKey), PastLease>,
}

/// Spends that the requests may name: those that were looked up, and all that were recorded since.
#[derive(Default)]
struct Spends {
    by_record: HashMap<Seq, PastSpend>,
    /// The last one of each turn.
    by_turn: HashMap<TurnId, Seq>,
}

impl Spends {
    fn add(&mut self, past: PastSpend) {
        let last = self.by_turn.entry(past.spent.turn).or_insert(past.seq);
        *last = past.seq.max(*last);
        self.by_record.insert(past.seq, past);
    }

    fn note(&mut self, seq: Seq, events: &[Event]) {
        for event in events {
            if let Event::QuotaSpent(spent) = event {
                self.add(PastSpend { seq, spent: spent.clone(), voided: false });
            } else if let Event::QuotaVoided(void) = event
                && let Some(past) = self.by_record.get_mut(&void.spend)
            {
                past.voided = true;
            }
        }
    }

    fn get(&self, meant: SpendName) -> Option<PastSpend> {
        let seq = match meant {
            SpendName::Turn(turn) => *self.by_turn.get(&turn)?,
            SpendName::Record(seq) => seq,
        };
        self.by_record.get(&seq).cloned()
    }
}

impl Plan {
    /// What a request is decided by: the todos, the spend and the key that it names itself.
    fn history_for(&self, submission: &Submission) -> History {
        let named = submission.command.todos().into_iter();
        let closed = named.filter_map(|id| Some((id, self.history.todos.get(&id)?.clone())));
        let todos = closed.collect();
        let spend = submission.command.spend().and_then(|meant| self.spends.get(meant));
        let opens = submission.command.opens().map(|(todo, key)| (todo, key.clone()));
        History { todos, spend, lease: opens.and_then(|opens| self.leases.get(&opens).cloned()) }
    }

    /// Looks at a record that somebody else appended meanwhile.
    fn note(&mut self, before: &State, entry: &Entry<'_>) {
        if self.asked.contains(&entry.request) {
            let (request, events) = (entry.request.clone(), entry.events.clone());
            let digest = entry.record.digest();
            let past = Past { at: entry.at.clone(), hash: entry.hash, request, digest, events };
            self.known.entry(entry.request.clone()).or_insert(past);
        }
        self.note_events(before, &entry.at, &entry.events);
    }

    /// What these events close and spend is history for the requests after them.
    fn note_events(&mut self, before: &State, at: &At, events: &[Event]) {
        self.history.note(before, at, events, |id| self.named.contains(&id));
        self.spends.note(at.seq, events);
        for (todo, key) in events.iter().filter_map(Event::opened_lease) {
            let mut opened = History::default();
            opened.note_lease(at, events, (todo, key));
            if let Some(past) = opened.lease {
                self.leases.entry((todo, key.clone())).or_insert(past);
            }
        }
    }
}

enum Step {
    Landed(Box<Landed>),
    Quiet(Box<Decision>),
    /// The request was recorded before this batch.
    Known(Box<Past>),
    /// What is asked for had come about at this record.
    Already(Seq),
    /// The same request stands at this place of the batch.
    Again(usize),
}

/// A batch on its way.
struct Run<'a> {
    env: &'a Env<'a>,
    submissions: &'a [Submission],
    waits: &'a dyn Fn(&State, &Submission) -> bool,
    plan: Plan,
    steps: &'a mut Vec<Step>,
    /// Where in the batch a request id was used first, by records of this batch.
    own: HashMap<RequestId, (usize, Seq)>,
}

impl Run<'_> {
    fn is_known(&self, submission: &Submission) -> bool {
        submission
            .request
            .as_ref()
            .is_some_and(|request| self.own.contains_key(request) || self.plan.known.contains_key(request))
    }

    fn must_wait(&self, tip: &Tip<'_, '_>, submission: &Submission) -> bool {
        !self.is_known(submission) && (self.waits)(tip.state, submission)
    }

    fn one(
        &mut self,
        tip: &mut Tip<'_, '_>,
        at: usize,
        submission: &Submission,
    ) -> Result<Step, SubmitError> {
        let digest_of = |at: usize| self.plan.digests.get(at).copied().ok_or(LedgerError::Internal);
        let digest = digest_of(at)?;
        if let Some(request) = &submission.request {
            let reused = |seq| SubmitError::RequestReused { request: request.clone(), seq };
            if let Some(past) = self.plan.known.get(request) {
                let same = past.digest == digest;
                return if same { Ok(Step::Known(Box::new(past.clone()))) } else { Err(reused(past.at.seq)) };
            }
            if let Some((first, seq)) = self.own.get(request).copied() {
                return if digest_of(first)? == digest { Ok(Step::Again(first)) } else { Err(reused(seq)) };
            }
        }
        let (actor, events) = match tip.decide(submission, &self.plan.history_for(submission))? {
            Decided::Append { actor, events } => (actor, events),
            Decided::Already(seq) => return Ok(Step::Already(seq)),
            Decided::Quiet(decision) => return Ok(Step::Quiet(decision)),
        };
        tip.record_jump()?;
        let place = At { seq: tip.cursor.seq.next(), ts: tip.now, actor: actor.clone() };
        self.plan.note_events(tip.state, &place, &events);
        let (landed, _) = tip.land(submission, digest, actor, events)?;
        if let Some(request) = &submission.request {
            self.own.insert(request.clone(), (at, landed.receipt.seq));
        }
        Ok(Step::Landed(Box::new(landed)))
    }
}
