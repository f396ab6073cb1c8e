//! Finding finished things in the log: the request that caused a record, the way a todo was closed.

use std::ops::ControlFlow;

use super::{Entry, Ledger, LedgerError};
use crate::decide::History;
use crate::hash::Hash;
use crate::id::{RequestId, Seq, TodoId};
use crate::log::Cursor;

impl Ledger {
    /// The record that a request caused, and the digest of that request.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub fn find_request(&self, request: &RequestId) -> Result<Option<(Seq, Hash)>, LedgerError> {
        let mut found = None;
        self.log.read(&Cursor::START, &mut |record, _| {
            if record.request() == request.as_str() {
                found = Some((record.seq(), record.digest()));
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    /// How these todos were closed; open and unknown ones are left out.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub fn history_of(&self, todos: &[TodoId]) -> Result<History, LedgerError> {
        let mut history = History::default();
        let missing: Vec<TodoId> =
            todos.iter().copied().filter(|id| !self.state.todos.contains_key(id)).collect();
        if missing.iter().any(|id| id.0 <= self.state.minted.todos) {
            self.replay(self.cursor.seq, &mut |before, entry: &Entry<'_>| {
                history.note(before, &entry.at, &entry.events, |id| missing.contains(&id));
            })?;
        }
        Ok(history)
    }
}
