//! Goals and their criteria.

use std::collections::BTreeSet;

use super::command::{GoalAccept, GoalChangeRequest, GoalReject, GoalStart};
use super::{Context, Decided, Refusal, bounded, evidence, one};
use crate::event::{
    AcceptanceMet, AcceptanceReopened, Event, GoalAbandoned, GoalChange, GoalChanged, GoalCompleted,
    GoalPaused, GoalResumed, GoalStarted, TurnClosed, TurnEnd,
};
use crate::id::{Actor, BadId, CriterionId, EvidenceId, GoalId, TodoId};
use crate::limits::RECORD_EVENTS_MAX;
use crate::state::{Evidence, Goal, GoalStatus, State};
use crate::text::Text;

pub(super) fn start(context: &Context<'_>, command: &GoalStart) -> Result<Decided, Refusal> {
    bounded("criteria", &command.criteria)?;
    bounded("write", &command.write)?;
    bounded("read", &command.read)?;
    let actor = context.founder()?;
    let goal = match command.name.clone().or_else(|| context.caller.goal.clone()) {
        Some(name) => name,
        None => {
            unused_name(context.state).map_err(|bad| Refusal::Unknown { what: "goal", name: bad.head })?
        }
    };
    if context.state.goals.get(&goal).is_some_and(|goal| !goal.status.is_final()) {
        return Err(Refusal::Exists { what: "goal", name: goal.to_string() });
    }
    one(
        actor,
        GoalStarted {
            criteria: command.criteria.clone(),
            goal,
            objective: command.objective.clone(),
            read: command.read.clone(),
            write: command.write.clone(),
        },
    )
}

fn unused_name(state: &State) -> Result<GoalId, BadId> {
    let mut name: GoalId = "goal".parse()?;
    let mut number = 1_u32;
    while state.goals.contains_key(&name) {
        number += 1;
        name = format!("goal-{number}").parse()?;
    }
    Ok(name)
}

pub(super) fn change(context: &Context<'_>, command: &GoalChangeRequest) -> Result<Decided, Refusal> {
    bounded("add_criteria", &command.add_criteria)?;
    bounded("drop_criteria", &command.drop_criteria)?;
    let actor = Actor::Owner(context.owner("change a goal")?);
    let (id, goal) = context.open_goal()?;
    let mut changes = Vec::new();
    if let Some(new) = command.objective.as_ref().filter(|new| **new != goal.objective) {
        changes.push(GoalChange::Objective { old: goal.objective.clone(), new: new.clone() });
    }
    if let Some(new) = command.write.as_ref().filter(|new| **new != goal.write) {
        bounded("write", new)?;
        changes.push(GoalChange::Write { old: goal.write.clone(), new: new.clone() });
    }
    for dropped in &command.drop_criteria.iter().collect::<BTreeSet<_>>() {
        let criterion = criterion(goal, **dropped)?;
        changes.push(GoalChange::Criterion { id: **dropped, old: Some(criterion.clone()), new: None });
    }
    for (number, text) in (goal.criteria_minted + 1..).zip(&command.add_criteria) {
        changes.push(GoalChange::Criterion { id: CriterionId(number), old: None, new: Some(text.clone()) });
    }
    if changes.is_empty() {
        return Err(Refusal::NothingToChange);
    }
    let changed = GoalChanged { changes, goal: id.clone(), reason: command.reason.clone() };
    let moved = changed.moves();
    let mut draft = context.draft();
    draft.push(changed);
    if moved {
        // What was shown was shown of another objective.
        let kept = |criterion: &CriterionId| !command.drop_criteria.contains(criterion);
        evidence::reopen(&mut draft, context, &command.reason, |goal, criterion, _| {
            goal == id && kept(criterion)
        });
    }
    draft.by(actor)
}

fn criterion(goal: &Goal, id: CriterionId) -> Result<&Text, Refusal> {
    let found = goal.criteria.get(&id).map(|criterion| &criterion.text);
    found.ok_or_else(|| Refusal::Unknown { what: "criterion", name: id.to_string() })
}

/// Anyone may stop the work; only an owner starts it again.
pub(super) fn pause(context: &Context<'_>, why: &Text) -> Result<Decided, Refusal> {
    let actor = match &context.caller.agent {
        Some(_) => context.anyone()?.actor,
        None => Actor::Owner(context.owner("pause a goal")?),
    };
    let (id, goal) = context.open_goal()?;
    if goal.status != GoalStatus::Active {
        return Err(Refusal::GoalNotActive { goal: id.clone(), status: goal.status });
    }
    one(actor, GoalPaused { goal: id.clone(), why: why.clone() })
}

pub(super) fn resume(context: &Context<'_>, why: &Text) -> Result<Decided, Refusal> {
    let actor = Actor::Owner(context.owner("resume a goal")?);
    let (id, goal) = context.open_goal()?;
    if goal.status != GoalStatus::Paused {
        return Err(Refusal::GoalNotActive { goal: id.clone(), status: goal.status });
    }
    one(actor, GoalResumed { goal: id.clone(), why: why.clone() })
}

/// An agent may complete a goal whose criteria are all met; a goal without criteria needs an owner's judgment.
pub(super) fn complete(context: &Context<'_>, why: &Text) -> Result<Decided, Refusal> {
    let (id, goal) = context.open_goal()?;
    let actor = if goal.criteria.is_empty() {
        match context.owner("complete a goal without criteria") {
            Ok(owner) => Actor::Owner(owner),
            Err(Refusal::OwnerOnly { .. }) => return Err(Refusal::GoalWithoutCriteria { goal: id.clone() }),
            Err(other) => return Err(other),
        }
    } else {
        context.founder()?
    };
    let unmet: Vec<CriterionId> =
        context.state.open_criteria(goal, context.now).iter().map(|open| open.id).collect();
    if !unmet.is_empty() {
        return Err(Refusal::GoalNotAccepted { goal: id.clone(), open: unmet });
    }
    let open: Vec<TodoId> =
        context.state.todos.iter().filter(|(_, todo)| todo.goal == *id).map(|(id, _)| *id).take(5).collect();
    if !open.is_empty() {
        return Err(Refusal::GoalHasOpenWork { goal: id.clone(), open });
    }
    ended(context, actor, id, GoalCompleted { goal: id.clone(), why: why.clone() }.into())
}

pub(super) fn abandon(context: &Context<'_>, why: &Text) -> Result<Decided, Refusal> {
    let actor = Actor::Owner(context.owner("abandon a goal")?);
    let (id, _) = context.open_goal()?;
    ended(context, actor, id, GoalAbandoned { goal: id.clone(), why: why.clone() }.into())
}

/// The end of a goal ends its turns.
fn ended(context: &Context<'_>, actor: Actor, goal: &GoalId, end: Event) -> Result<Decided, Refusal> {
    let mut draft = context.draft();
    // A record takes only so many; the end of the goal takes the rest with it.
    let turns = context.state.turns.iter().filter(|(_, turn)| turn.goal == *goal);
    for (id, turn) in turns.take(RECORD_EVENTS_MAX - 1) {
        let end = if turn.completed { TurnEnd::Done } else { TurnEnd::Abandoned };
        draft.push(TurnClosed { end, id: *id, outcome: turn.outcome, why: None });
    }
    draft.push(end);
    draft.by(actor)
}

pub(super) fn accept(context: &Context<'_>, command: &GoalAccept) -> Result<Decided, Refusal> {
    let actor = context.anyone()?.actor;
    let (id, goal) = context.open_goal()?;
    criterion(goal, command.criterion)?;
    let evidence = supporting(context, command.evidence)?;
    // Evidence of an earlier goal of this name is not evidence of this one.
    if evidence.goal != *id || evidence.seq < goal.instance {
        let about = format!("goal {id}");
        return Err(Refusal::EvidenceElsewhere { evidence: command.evidence, about });
    }
    one(actor, AcceptanceMet { criterion: command.criterion, evidence: command.evidence, goal: id.clone() })
}

pub(super) fn reject(context: &Context<'_>, command: &GoalReject) -> Result<Decided, Refusal> {
    let actor = context.anyone()?.actor;
    let (id, goal) = context.open_goal()?;
    criterion(goal, command.criterion)?;
    if goal.criteria.get(&command.criterion).is_none_or(|criterion| criterion.met_by.is_none()) {
        return Err(Refusal::NothingToChange);
    }
    one(
        actor,
        AcceptanceReopened { criterion: command.criterion, goal: id.clone(), why: command.why.clone() },
    )
}

/// Evidence that exists and counts.
pub(super) fn current<'a>(context: &Context<'a>, id: EvidenceId) -> Result<&'a Evidence, Refusal> {
    match context.state.evidence.get(&id) {
        Some(evidence) => match evidence.ended(context.now) {
            None => Ok(evidence),
            Some(ended) => Err(Refusal::EvidenceNotCurrent { evidence: id, ended }),
        },
        None => Err(Refusal::Unknown { what: "current evidence", name: id.to_string() }),
    }
}

/// Evidence that counts and speaks for something: a command that failed shows nothing done.
pub(super) fn supporting<'a>(context: &Context<'a>, id: EvidenceId) -> Result<&'a Evidence, Refusal> {
    let evidence = current(context, id)?;
    match evidence.exit {
        None | Some(0) => Ok(evidence),
        Some(exit) => Err(Refusal::EvidenceFailed { evidence: id, exit }),
    }
}
