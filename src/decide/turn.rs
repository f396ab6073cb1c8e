//! Turns: what an agent takes on, gives back, and reports.

use super::command::{Next, RefreshState, Spending, TodoClaim};
use super::frontier::{Hindrance, Lane, hindrances};
use super::hold::expiry;
use super::lease::{Shown, opening, rescoped};
use super::todo::{changeable, open_todo, turn_ended};
use super::{Context, Decided, Draft, Refusal, Verdict, one, quota};
use crate::event::{
    ClaimHandedOver, ClaimReleased, ClaimTaken, DeliveryOutcome, Holder, LeaseGranted, LeaseRenewed,
    LeaseTakenOver, LeaseTarget, StateRefreshed, TodoBlocked, TodoChanged, TurnClosed, TurnEnd, TurnOpened,
};
use crate::id::{Actor, LeaseKey, TodoId, TurnId};
use crate::limits::LEASE_DEFAULT_MS;
use crate::state::{Claim, GoalStatus, Todo};
use crate::text::Text;
use crate::time::Timestamp;

/// Decides and, on RUN, takes the todo, its lease and the turn in one record. Anything else appends nothing, unless a
/// turn has to be closed because it lost its todo.
pub(super) fn next(context: &Context<'_>, command: &Next) -> Result<Decided, Refusal> {
    let until = expiry(context, command.ttl_ms)?;
    let decision = super::should_run(context)?;
    let mut draft = context.draft();
    if let Some((turn, why)) = &decision.lost {
        close_lost(&mut draft, context, *turn, why);
    }
    if let Verdict::Run { todo, turn, repair, .. } = &decision.verdict {
        let found = open_todo(context, *todo)?;
        let how = How { by_name: false, repairs: repair.is_some(), key: None };
        match turn {
            Some(_) => renew_if_short(&mut draft, context, command, *todo, found, until),
            None => take(&mut draft, context, &decision.holder, *todo, found, until, how),
        }
    }
    if draft.events.is_empty() {
        return Ok(Decided::Quiet(Box::new(decision)));
    }
    let actor = decision.holder.actor.clone();
    draft.by(actor)
}

/// Ends a turn that cannot go on, and lets go of its todo where it is still held.
fn close_lost(draft: &mut Draft<'_>, context: &Context<'_>, id: TurnId, why: &str) {
    let Some(turn) = context.state.turns.get(&id) else { return };
    let end = if turn.completed { TurnEnd::Done } else { TurnEnd::Abandoned };
    let why: Option<Text> = why.parse().ok();
    // A completed todo is paid for, whether its agent came back to do so or not.
    let owed = turn.completed && turn.outcome.is_none_or(DeliveryOutcome::is_accountable);
    let goal = turn.goal.clone();
    let spend = quota::spending(context, &goal, &turn.holder, (id, turn.todo), &Spending::default(), 1);
    if let Some(spent) = spend.ok().filter(|_| owed) {
        draft.push(spent);
    }
    draft.push(TurnClosed { end, id, outcome: turn.outcome, why: why.clone() });
    let held = context.state.todos.get(&turn.todo).filter(|todo| {
        todo.epoch == turn.epoch && todo.claim.as_ref().is_some_and(|claim| claim.holder == turn.holder)
    });
    if let (Some(todo), Some(why)) = (held, why) {
        draft.push(ClaimReleased { epoch: todo.epoch, todo: turn.todo, why });
    }
}

/// An open turn keeps its lease: it is prolonged once half of it has passed, so that asking again costs nothing.
fn renew_if_short(
    draft: &mut Draft<'_>,
    context: &Context<'_>,
    command: &Next,
    id: TodoId,
    todo: &Todo,
    until: Timestamp,
) {
    let half = context.now.plus_ms(command.ttl_ms.unwrap_or(LEASE_DEFAULT_MS) / 2);
    let lease = todo.claim.as_ref().and_then(|claim| claim.lease.as_ref());
    if lease.is_some_and(|lease| lease.until < half) {
        draft.push(LeaseRenewed { epoch: todo.epoch, key: None, on: LeaseTarget::Todo(id), until });
    }
}

/// How a turn comes about.
#[derive(Debug, Clone, Copy)]
struct How<'a> {
    /// Whether the todo was chosen by name.
    by_name: bool,
    /// Whether something has to be repaired first.
    repairs: bool,
    /// The key of its lease.
    key: Option<&'a LeaseKey>,
}

/// Claim, lease and turn on a todo that nothing is in the way of, apart from what the turn repairs.
fn take(
    draft: &mut Draft<'_>,
    context: &Context<'_>,
    holder: &Holder,
    id: TodoId,
    todo: &Todo,
    until: Timestamp,
    how: How<'_>,
) {
    let on = LeaseTarget::Todo(id);
    let mut epoch = todo.epoch + 1;
    let key = how.key.cloned();
    // What expired goes on under its old epoch, unless a key opens a lease of its own.
    let goes_on = |claim: &Claim| key.is_none() || !claim.is_expired(context.now);
    match &todo.claim {
        None => {
            draft.push(ClaimTaken { epoch, holder: holder.clone(), todo: id });
            draft.push(LeaseGranted { epoch, holder: holder.clone(), key, on, until });
        }
        Some(claim) if claim.holder == *holder && goes_on(claim) => {
            epoch = todo.epoch;
            let key = key.filter(|key| claim.live_key(context.now) != Some(key));
            draft.push(LeaseRenewed { epoch, key, on, until });
        }
        Some(claim) if context.state.is_addressed_to(id, holder) => {
            let (from, to) = (claim.holder.clone(), holder.clone());
            draft.push(ClaimHandedOver {
                epoch,
                from,
                key,
                to,
                todo: id,
                until: Some(until),
                why: Text::own("taken up"),
            });
        }
        Some(claim) => {
            if let Some((old, turn)) = context.state.turn_on(id) {
                draft.push(TurnClosed { end: TurnEnd::Abandoned, id: old, outcome: turn.outcome, why: None });
            }
            let expired = claim.lease.as_ref().map_or(context.now, |lease| lease.until);
            let (from, to) = (claim.holder.clone(), holder.clone());
            draft.push(LeaseTakenOver { epoch, expired, from, key, on, to, until });
        }
    }
    draft.push(TurnOpened {
        by_name: how.by_name,
        capabilities: context.caller.capabilities.clone(),
        decided_at: context.state.seq,
        epoch,
        goal: todo.goal.clone(),
        holder: holder.clone(),
        id: draft.mint_turn(),
        repairs: how.repairs,
        todo: id,
    });
}

/// Claims the todo named. An agent gets a lease and a turn with it; a person's claim has neither and never expires.
pub(super) fn claim(context: &Context<'_>, command: &TodoClaim) -> Result<Decided, Refusal> {
    let holder = context.anyone()?;
    let id = command.todo;
    let todo = open_todo(context, id)?;
    let goal = context.state.goals.get(&todo.goal);
    if let Some(goal) = goal.filter(|goal| goal.status != GoalStatus::Active) {
        return Err(Refusal::GoalNotActive { goal: todo.goal.clone(), status: goal.status });
    }
    if let Some(answer) = opening(context, &holder, command, todo)? {
        return Ok(answer);
    }
    let mut draft = context.draft();
    let mut scoped = todo.clone();
    if let Some(change) = rescoped(context, todo, command.write.as_ref())? {
        scoped.spec.change(&change);
        draft.push(TodoChanged { changes: vec![change], id });
    }
    let todo = &scoped;
    let capabilities = context.capabilities(&holder);
    let lane = context.lane(&todo.goal, &holder, &capabilities);
    if todo.watch.is_some() {
        return Err(Refusal::NotRunnable { todo: id, hindrance: Hindrance::Monitor });
    }
    let found = hindrances(context.state, &lane, id, todo);
    let repairs = !found.is_empty() && holder.actor.agent().is_some();
    if let Some(hindrance) = found.into_iter().find(|one| !(repairs && one.is_repairable())) {
        return Err(Refusal::NotRunnable { todo: id, hindrance });
    }
    if matches!(holder.actor, Actor::Owner(_)) {
        return claim_as_person(context, draft, holder, id, todo);
    }
    let until = expiry(context, command.ttl_ms)?;
    if let Some((turn, open)) = context.state.turn_of(&holder) {
        let own = open.todo == id && !open.completed && open.epoch == todo.epoch;
        let Some(claim) = todo.claim.as_ref().filter(|_| own && command.key.is_some()) else {
            return Err(Refusal::TurnOpen { turn, todo: open.todo });
        };
        if !claim.is_expired(context.now) {
            let (epoch, key) = (todo.epoch, command.key.clone());
            draft.push(LeaseRenewed { epoch, key, on: LeaseTarget::Todo(id), until });
            return draft.by(holder.actor);
        }
    }
    gate_on_agent(context, &lane)?;
    quota::within_budget(context, &todo.goal, &holder)?;
    quota::fits(context, &todo.goal, &holder, 1)?;
    let how = How { by_name: true, repairs, key: command.key.as_ref() };
    take(&mut draft, context, &holder, id, todo, until, how);
    draft.by(holder.actor)
}

fn claim_as_person(
    context: &Context<'_>,
    mut draft: Draft<'_>,
    holder: Holder,
    id: TodoId,
    todo: &Todo,
) -> Result<Decided, Refusal> {
    match &todo.claim {
        Some(claim) if claim.holder == holder => return Err(Refusal::NothingToChange),
        Some(_) => {
            let why = Text::own("taken over by a person");
            draft.events.extend(turn_ended(context.state, id, TurnEnd::Abandoned, &why));
            draft.push(ClaimReleased { epoch: todo.epoch, todo: id, why });
        }
        None => {}
    }
    draft.push(ClaimTaken { epoch: todo.epoch + 1, holder: holder.clone(), todo: id });
    draft.by(holder.actor)
}

fn gate_on_agent(context: &Context<'_>, lane: &Lane<'_>) -> Result<(), Refusal> {
    let agent = lane.holder.actor.agent();
    let stops = context.state.gates.iter().find(|(_, gate)| {
        gate.goal == *lane.goal
            && (gate.blocks.all || gate.blocks.agents.iter().any(|name| Some(name) == agent))
    });
    match stops {
        Some((gate, _)) => Err(Refusal::GateNotAnswered { gate: *gate }),
        None => Ok(()),
    }
}

/// The open turn of the caller on this todo, which it has not completed.
pub(super) fn own_turn(context: &Context<'_>, todo: TodoId) -> Result<(Holder, TurnId), Refusal> {
    let holder = context.agent()?;
    match context.state.turn_of(&holder) {
        Some((id, turn)) if turn.todo == todo && !turn.completed => Ok((holder, id)),
        Some((turn, open)) if open.todo != todo => {
            open_todo(context, todo)?;
            Err(Refusal::TurnOpen { turn, todo: open.todo })
        }
        Some(_) | None => {
            changeable(context, todo, Shown::default())?;
            Err(Refusal::NoTurn { todo })
        }
    }
}

/// Ends the turn and gives its todo back, unless it has completed it: there is always a way out of a turn.
pub(super) fn give_back(context: &Context<'_>, todo: TodoId, why: &Text) -> Result<Decided, Refusal> {
    let holder = context.agent()?;
    if let Some((id, turn)) = context.state.turn_of(&holder).filter(|(_, t)| t.todo == todo && t.completed) {
        let (end, outcome, why) = (TurnEnd::Done, turn.outcome, Some(why.clone()));
        return one(holder.actor, TurnClosed { end, id, outcome, why });
    }
    own_turn(context, todo)?;
    let found = open_todo(context, todo)?;
    let mut draft = context.draft();
    draft.events.extend(turn_ended(context.state, todo, TurnEnd::Yielded, why));
    draft.push(ClaimReleased { epoch: found.epoch, todo, why: why.clone() });
    draft.by(holder.actor)
}

pub(super) fn block(context: &Context<'_>, todo: TodoId, why: &Text) -> Result<Decided, Refusal> {
    let (holder, _) = own_turn(context, todo)?;
    let mut draft = context.draft();
    draft.events.extend(turn_ended(context.state, todo, TurnEnd::Blocked, why));
    draft.push(TodoBlocked { id: todo, why: why.clone() });
    draft.by(holder.actor)
}

/// A note for the next turn; with a turn, it also says what that turn brought.
pub(super) fn refresh(context: &Context<'_>, command: &RefreshState) -> Result<Decided, Refusal> {
    let caller = context.anyone()?;
    let goal = match command.turn {
        None => context.open_goal()?.0,
        Some(id) => {
            let own = context.state.turns.get(&id).filter(|turn| turn.holder == caller);
            let turn = own.ok_or(Refusal::TurnNotOpen { turn: id })?;
            if let Some(todo) = command.todo.filter(|todo| *todo != turn.todo) {
                return Err(Refusal::NoTurn { todo });
            }
            &turn.goal
        }
    };
    if let Some(todo) = command.todo {
        Context::exists("todo", &todo, todo.0 >= 1 && todo.0 <= context.state.minted.todos)?;
    }
    one(
        caller.actor,
        StateRefreshed {
            classification: command.classification.clone(),
            goal: goal.clone(),
            next_action: command.next_action.clone(),
            outcome: command.outcome,
            todo: command.todo,
            turn: command.turn,
        },
    )
}
