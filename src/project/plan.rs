//! Which goals would run now for one caller, best first.

use crate::decide::{Caller, Context, Decision, Refusal, Verdict, should_run};
use crate::event::Priority;
use crate::id::{GoalId, Seq, TurnId};
use crate::state::{Goal, Quota, State};
use crate::time::Timestamp;

/// A goal with what would happen in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned<'a> {
    /// Its name.
    pub id: &'a GoalId,
    /// The goal.
    pub goal: &'a Goal,
    /// What the caller would be told; or its open turn, which is in another goal and comes first.
    pub decision: Result<Decision, TurnId>,
    /// Limit and spend.
    pub quota: Option<&'a Quota>,
    /// Open turns that a slot is kept for, the record that opened each, and until when.
    pub kept: Vec<(TurnId, Seq, Timestamp)>,
}

/// Every goal that is not finished: those that would run first, by priority and planner order, then those that want a
/// plan, a human, or time.
///
/// # Errors
/// [`Refusal`] if the caller is not one that can be decided for.
pub fn plan<'a>(context: &Context<'a>) -> Result<Vec<Planned<'a>>, Refusal> {
    let mut planned = Vec::new();
    for (id, goal) in context.state.goals.iter().filter(|(_, goal)| !goal.status.is_final()) {
        let caller = Caller { goal: Some(id.clone()), ..context.caller.clone() };
        let decision = match should_run(&Context { caller: &caller, ..*context }) {
            Ok(decision) => Ok(decision),
            Err(Refusal::TurnOpen { turn, .. }) => Err(turn),
            Err(other) => return Err(other),
        };
        planned.push(Planned {
            id,
            goal,
            decision,
            quota: context.state.quotas.get(id),
            kept: kept(context.state, id, context.now),
        });
    }
    planned.sort_by_key(|planned| (rank(context.state, planned), planned.goal.instance));
    Ok(planned)
}

/// Turns of a goal that a slot is kept for at `now`.
fn kept(state: &State, goal: &GoalId, now: Timestamp) -> Vec<(TurnId, Seq, Timestamp)> {
    let mine = state.turns.iter().filter(|(_, turn)| turn.goal == *goal && !turn.paid);
    mine.filter_map(|(id, turn)| {
        let until = state.reserved_until(turn).filter(|until| *until > now)?;
        Some((*id, turn.opened, until))
    })
    .collect()
}

/// Lower is sooner.
fn rank(state: &State, planned: &Planned<'_>) -> (u8, Option<Priority>, Timestamp, Seq) {
    let last = Timestamp::MAX;
    let Ok(decision) = &planned.decision else { return (6, None, last, Seq::ZERO) };
    let wake = decision.wake.at.unwrap_or(last);
    match &decision.verdict {
        Verdict::Run { turn: Some(_), .. } => (0, None, Timestamp::MIN, Seq::ZERO),
        Verdict::Run { todo, .. } | Verdict::Poll { todo } => {
            let todo = state.todos.get(todo);
            let added = todo.map_or(Seq::ZERO, |todo| todo.added);
            (1, todo.map(|todo| todo.spec.priority), Timestamp::MIN, added)
        }
        Verdict::Plan { .. } => (2, None, wake, Seq::ZERO),
        Verdict::Ask { .. } => (3, None, wake, Seq::ZERO),
        Verdict::Wait => (4, None, wake, Seq::ZERO),
        Verdict::Done => (5, None, wake, Seq::ZERO),
    }
}
