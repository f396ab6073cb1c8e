//! Open turns.

use serde::{Deserialize, Serialize};

use super::{At, Fold, Fruitless, State, entry, mint};
use crate::event::{DeliveryOutcome, Holder, TurnClosed, TurnEnd, TurnOpened};
use crate::id::{GoalId, Seq, TodoId, TurnId};
use crate::time::Timestamp;

/// One bounded turn that has not ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// The goal.
    pub goal: GoalId,
    /// The todo that it was opened on, which is the one that is closed and charged.
    pub todo: TodoId,
    /// Who.
    pub holder: Holder,
    /// The epoch of the todo.
    pub epoch: u64,
    /// The record that opened it.
    pub opened: Seq,
    /// When.
    pub since: Timestamp,
    /// Whether its todo was completed; it then only waits to be paid for.
    pub completed: bool,
    /// When its lease would have expired, once its todo was completed: a slot is kept for it until then.
    pub pay_by: Option<Timestamp>,
    /// Whether it first has to repair what is in the way of its todo.
    pub repairs: bool,
    /// Whether it was paid for, which is the last that happens to it.
    pub paid: bool,
    /// What it brought, once it says.
    pub outcome: Option<DeliveryOutcome>,
}

impl State {
    /// The open turn of this holder, with its id. There is at most one.
    #[must_use]
    pub fn turn_of(&self, holder: &Holder) -> Option<(TurnId, &Turn)> {
        self.turns.iter().find(|(_, turn)| turn.holder == *holder).map(|(id, turn)| (*id, turn))
    }

    /// The open turn on this todo, with its id. There is at most one; a turn that has completed its todo is no longer on
    /// it, even if the todo was reopened.
    #[must_use]
    pub fn turn_on(&self, todo: TodoId) -> Option<(TurnId, &Turn)> {
        self.turns.iter().find(|(_, turn)| turn.todo == todo && !turn.completed).map(|(id, turn)| (*id, turn))
    }

    /// Until when a slot of its quota is kept for this turn.
    #[must_use]
    pub fn reserved_until(&self, turn: &Turn) -> Option<Timestamp> {
        turn.pay_by.or_else(|| {
            let claim = self.todos.get(&turn.todo)?.claim.as_ref()?;
            claim.lease.as_ref().map(|lease| lease.until)
        })
    }

    pub(super) fn turn_opened(&mut self, at: &At, event: &TurnOpened) -> Fold {
        mint(&mut self.minted.turns, event.id.0, TurnId::LETTER)?;
        if let Some((open, _)) = self.turn_of(&event.holder).or_else(|| self.turn_on(event.todo)) {
            return Err(format!("{open} is open"));
        }
        let turn = Turn {
            goal: event.goal.clone(),
            todo: event.todo,
            holder: event.holder.clone(),
            epoch: event.epoch,
            opened: at.seq,
            since: at.ts,
            completed: false,
            pay_by: None,
            repairs: event.repairs,
            paid: false,
            outcome: None,
        };
        self.turns.insert(event.id, turn);
        Ok(())
    }

    /// A turn that was given up, by a takeover say, tells nothing about the work: it counts neither way.
    pub(super) fn turn_closed(&mut self, at: &At, event: &TurnClosed) -> Fold {
        let turn = self.turns.remove(&event.id).ok_or_else(|| format!("{} is not open", event.id))?;
        let goal = entry(&mut self.goals, &turn.goal, "a goal")?;
        let brought = turn.paid || event.outcome.map_or(turn.completed, DeliveryOutcome::is_accountable);
        // A turn that ends in a question to a human has brought that.
        let nothing = event.end != TurnEnd::Abandoned && goal.delta < at.seq;
        if brought {
            goal.fruitless = 0;
        } else if nothing {
            goal.fruitless += 1;
        }
        if let Some(todo) = self.todos.get_mut(&turn.todo) {
            if brought {
                todo.fruitless = Fruitless::default();
            } else if nothing {
                todo.fruitless.add(at.seq, goal.delta);
            }
        }
        Ok(())
    }
}
