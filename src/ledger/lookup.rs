//! Finding finished things in the log: the request that caused a record, the way a todo was closed, the state at a record.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::names::{Past, request_key};
use super::{Entry, Ledger, LedgerError, fold};
use crate::decide::history::Course;
use crate::decide::{ClosedTodo, History, PastSpend, SpendName};
use crate::event::{Event, lease_key};
use crate::hash::Hash;
use crate::id::{LeaseKey, RequestId, Seq, TodoId, TurnId};
use crate::log::{Cursor, LogError, Pick, Visit};
use crate::snapshot;
use crate::state::State;

impl Ledger {
    /// The record that a request caused, and the digest of that request. What was appended since is folded first.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub fn find_request(&mut self, request: &RequestId) -> Result<Option<(Seq, Hash)>, LedgerError> {
        self.refresh()?;
        self.requested(request)
    }

    /// As [`Ledger::find_request`], as far as the fold goes.
    pub(super) fn requested(&mut self, request: &RequestId) -> Result<Option<(Seq, Hash)>, LedgerError> {
        let mut found = BTreeMap::new();
        let wanted = BTreeSet::from([request_key(request)]);
        self.names.gather(&*self.log, &self.cursor, &wanted, &mut found)?;
        let first = found.into_values().find(|past| past.request == *request);
        Ok(first.map(|past| (past.at.seq, past.digest)))
    }

    /// Every record up to [`Ledger::head`] in which one of the keys occurs, oldest first. `more` names all keys that are
    /// wanted, given what was found so far, and is asked again until it names no new one.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub fn gather(
        &mut self,
        mut keys: BTreeSet<String>,
        more: &mut dyn FnMut(&BTreeMap<Seq, Past>) -> BTreeSet<String>,
    ) -> Result<BTreeMap<Seq, Past>, LedgerError> {
        let mut found = BTreeMap::new();
        let mut seen = BTreeSet::new();
        while !keys.is_empty() {
            self.names.gather(&*self.log, &self.cursor, &keys, &mut found)?;
            seen.append(&mut keys);
            keys = more(&found).difference(&seen).cloned().collect();
        }
        Ok(found)
    }

    /// How these todos were closed; open and unknown ones are left out.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub fn history_of(&mut self, todos: &[TodoId]) -> Result<History, LedgerError> {
        let mut history = History::default();
        for id in todos.iter().copied().collect::<BTreeSet<_>>() {
            if !self.state.todos.contains_key(&id)
                && (1..=self.state.minted.todos).contains(&id.0)
                && let Some(closed) = self.closed(id)?
            {
                history.todos.insert(id, closed);
            }
        }
        Ok(history)
    }

    /// The spend that is meant, if there is one, as far as the fold goes.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub fn spend_of(&mut self, meant: SpendName) -> Result<Option<PastSpend>, LedgerError> {
        let turn = match meant {
            SpendName::Turn(turn) if self.state.turns.contains_key(&turn) => None,
            SpendName::Turn(turn) => Some(turn),
            SpendName::Record(seq) if seq == Seq::ZERO || seq > self.cursor.seq => None,
            SpendName::Record(seq) => {
                self.record(seq)?.and_then(|past| past.events.iter().find_map(paid_for))
            }
        };
        let Some(turn) = turn else { return Ok(None) };
        let mut history = History::default();
        for past in self.gather(BTreeSet::from([turn.to_string()]), &mut |_| BTreeSet::new())?.into_values() {
            history.note_spend(past.at.seq, &past.events, meant);
        }
        Ok(history.spend)
    }

    /// Notes the lease that this key opened on this todo, as far as the fold goes.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub fn note_lease_of(
        &mut self,
        opens: (TodoId, &LeaseKey),
        history: &mut History,
    ) -> Result<(), LedgerError> {
        let key = lease_key(opens.0, opens.1);
        for past in self.gather(BTreeSet::from([key]), &mut |_| BTreeSet::new())?.into_values() {
            history.note_lease(&past.at, &past.events, opens);
        }
        Ok(())
    }

    fn closed(&mut self, id: TodoId) -> Result<Option<ClosedTodo>, LedgerError> {
        let events =
            |found: &BTreeMap<Seq, Past>| Course::keys(id, found.values().flat_map(|past| &past.events));
        let found = self.gather(BTreeSet::from([id.to_string()]), &mut |found| events(found))?;
        let mut course = Course::new(id);
        for past in found.values() {
            course.record(&past.at, &past.events);
        }
        let Some((mut closed, rewritten)) = course.end() else { return Ok(None) };
        if rewritten {
            // Its needs were rewritten while it was open, which depends on more than its own course.
            let before = self.state_at(Seq(closed.seq.0.saturating_sub(1)), &mut |_| {})?;
            let todo = before.todos.get(&id).ok_or(LedgerError::Internal)?;
            closed.spec.clone_from(&todo.spec);
        }
        Ok(Some(closed))
    }

    /// The state just after the record `to`: folded from the last snapshot before it, else from genesis. `visit` sees the
    /// record itself.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub fn state_at(&self, to: Seq, visit: &mut dyn FnMut(&Entry<'_>)) -> Result<State, LedgerError> {
        let before = Seq(to.0.saturating_sub(1));
        let near = self.root.as_deref().and_then(|root| snapshot::load_before(root, before));
        let (cursor, mut state) = near.unwrap_or((Cursor::START, State::default()));
        match self.fold_to(&mut state, cursor, to, visit) {
            Err(LedgerError::Log(LogError::CursorUnknown { .. })) if cursor.seq > Seq::ZERO => {
                state = State::default();
                self.fold_to(&mut state, Cursor::START, to, visit)?;
            }
            other => other?,
        }
        Ok(state)
    }

    fn fold_to(
        &self,
        state: &mut State,
        from: Cursor,
        to: Seq,
        visit: &mut dyn FnMut(&Entry<'_>),
    ) -> Result<(), LedgerError> {
        if to == Seq::ZERO {
            return Ok(());
        }
        let read = |from: &Cursor, visitor: &mut Visit<'_>| {
            self.log.read(from, &mut |record, cursor| match visitor(record, cursor) {
                ControlFlow::Continue(()) if record.seq() < to => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            })
        };
        let mut last = |_: &State, entry: &Entry<'_>, _: &Cursor| {
            if entry.at.seq == to {
                visit(entry);
            }
        };
        fold::catch_up(read, state, from, &mut last).map(|_| ())
    }

    /// One record by its number; `None` if the log does not hold it.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub fn record(&self, seq: Seq) -> Result<Option<Past>, LedgerError> {
        let mut found = None;
        let one = [Pick { seq, offset: None }];
        if !self.log.pick(&one, &mut |record| found = Some(Entry::of(record).map(Past::from)))? {
            self.log.read(&Cursor::START, &mut |record, _| {
                if record.seq() < seq {
                    return ControlFlow::Continue(());
                }
                found = (record.seq() == seq).then(|| Entry::of(record).map(Past::from));
                ControlFlow::Break(())
            })?;
        }
        found.transpose()
    }

    /// Brings the index up to the head if enough was appended since. A failure is of no consequence.
    pub(super) fn build_index_if_due(&mut self) {
        self.names.build(&*self.log, self.cursor.seq, crate::index::RUN_RECORDS);
    }

    /// Brings the index up to the head. A failure is of no consequence: what it does not cover is read from the log.
    pub fn build_index(&mut self) {
        self.names.build(&*self.log, self.cursor.seq, 1);
    }
}

fn paid_for(event: &Event) -> Option<TurnId> {
    if let Event::QuotaSpent(spent) = event { Some(spent.turn) } else { None }
}
