//! Todos, apart from taking and completing them.

use super::command::{TodoAdd, TodoCancel, TodoDefer, TodoReopen, TodoSupersede, TodoUpdate};
use super::lease::{Shown, rescoped};
use super::{ClosedTodo, Closing, Context, Decided, Refusal, bounded, evidence, one};
use crate::event::{
    Delegable, Event, Holder, LeaseTarget, Monitoring, ReopenedTodo, ResumeWhen, TodoAdded, TodoBlocked,
    TodoCancelled, TodoChange, TodoChanged, TodoClass, TodoDeferred, TodoReopened, TodoSpec, TodoSuperseded,
    TurnClosed, TurnEnd,
};
use crate::id::{Actor, GoalId, TodoId};
use crate::limits::{MONITOR_MAX_MS, MONITOR_MIN_MS};
use crate::state::{Goal, State, Todo, TodoStatus};
use crate::text::Text;

pub(super) fn add(context: &Context<'_>, command: &TodoAdd) -> Result<Decided, Refusal> {
    let actor = context.anyone()?.actor;
    let (goal_id, goal) = context.open_goal()?;
    let spec = TodoSpec {
        action: command.action.clone(),
        bound: command.bound.clone(),
        buildable: command.buildable.clone(),
        check: command.check.clone(),
        class: command.class,
        done_when: command.done_when.clone(),
        excluded: command.excluded.clone(),
        granted: command.granted.clone(),
        monitor: monitoring(context, command)?,
        needs: command.needs.clone(),
        priority: command.priority,
        requires: command.requires.clone(),
        requires_decision: command.requires_decision.clone(),
        resources: command.resources.clone(),
        serves: command.serves.clone(),
        title: command.title.clone(),
        write: command.write.clone(),
    };
    let mut draft = context.draft();
    check_spec(context, goal_id, goal, &spec)?;
    let id = draft.mint_todo();
    draft.push(TodoAdded { goal: goal_id.clone(), id, spec });
    draft.by(actor)
}

/// What a monitor watches. It takes nothing up, so that it has no use for what bounds work.
fn monitoring(context: &Context<'_>, command: &TodoAdd) -> Result<Option<Monitoring>, Refusal> {
    let TodoAdd { class, watch, every_ms, until, check, write, resources, .. } = command;
    match (*class == TodoClass::Monitor, watch, every_ms) {
        (false, None, None) if until.is_none() => Ok(None),
        (true, Some(target), Some(every_ms))
            if check.is_empty() && write.is_empty() && resources.is_empty() =>
        {
            let every_ms = super::in_range("every_ms", *every_ms, MONITOR_MIN_MS, MONITOR_MAX_MS)?;
            until.map_or(Ok(()), |until| super::ahead(context, "until", until))?;
            Ok(Some(Monitoring { every_ms, target: target.clone(), until: *until }))
        }
        _ => Err(Refusal::MonitorSpec),
    }
}

fn check_spec(context: &Context<'_>, goal_id: &GoalId, goal: &Goal, spec: &TodoSpec) -> Result<(), Refusal> {
    bounded("needs", &spec.needs)?;
    bounded("write", &spec.write)?;
    bounded("resources", &spec.resources)?;
    bounded("requires", &spec.requires)?;
    bounded("buildable", &spec.buildable)?;
    bounded("granted", &spec.granted)?;
    bounded("requires_decision", &spec.requires_decision)?;
    bounded("excluded", &spec.excluded)?;
    bounded("serves", &spec.serves)?;
    bounded("check", &spec.check)?;
    if let Some(program) = spec.check.first() {
        // It is recorded as one text when it has passed.
        let line = spec.check.join(" ").len();
        super::in_range("check bytes", u64::try_from(line).unwrap_or(u64::MAX), 0, 8_192)?;
        super::in_range("bytes of the check's program", program.trim().len() as u64, 1, 8_192)?;
    }
    for need in &spec.needs {
        check_need(context, goal_id, *need)?;
    }
    for agent in spec.bound.iter().chain(&spec.excluded) {
        if !context.state.agents.contains_key(agent) {
            return Err(Refusal::AgentUnknown { agent: agent.clone() });
        }
    }
    for criterion in &spec.serves {
        Context::exists("criterion", criterion, goal.criteria.contains_key(criterion))?;
    }
    if let Some(scope) = spec.write.iter().find(|scope| !goal.may_write(scope)) {
        let (scope, allowed) = (scope.clone(), goal.write.clone());
        return Err(Refusal::OutsideScope { scope, goal: goal_id.clone(), allowed });
    }
    Ok(())
}

/// A need is open in the same goal, or was completed.
fn check_need(context: &Context<'_>, goal: &GoalId, need: TodoId) -> Result<(), Refusal> {
    if let Some(todo) = context.state.todos.get(&need) {
        if todo.watch.is_some() {
            return Err(Refusal::NeedIsMonitor { todo: need });
        }
        return Context::exists("todo of this goal", &need, todo.goal == *goal);
    }
    match context.history.todos.get(&need) {
        None => Err(Refusal::Unknown { what: "todo", name: need.to_string() }),
        Some(closed) if closed.how == Closing::Completed => Ok(()),
        Some(closed) => Err(Refusal::NeedNotMet { need, closed: Box::new(closed.clone()) }),
    }
}

/// The todo if it is open; else how it was closed.
pub(super) fn open_todo<'a>(context: &Context<'a>, id: TodoId) -> Result<&'a Todo, Refusal> {
    if let Some(todo) = context.state.todos.get(&id) {
        return Ok(todo);
    }
    Context::exists("todo", &id, id.0 >= 1 && id.0 <= context.state.minted.todos)?;
    Err(Refusal::TodoNotOpen { todo: id, closed: context.history.todos.get(&id).cloned().map(Box::new) })
}

/// A todo that the caller may change: open, and free or its own; an owner may change what others hold.
pub(super) fn changeable<'a>(
    context: &Context<'a>,
    id: TodoId,
    shown: Shown<'_>,
) -> Result<(Holder, &'a Todo), Refusal> {
    touchable(context, id, shown, None)
}

/// As [`changeable`], or held by one who lets the caller do this.
pub(super) fn touchable<'a>(
    context: &Context<'a>,
    id: TodoId,
    shown: Shown<'_>,
    action: Option<Delegable>,
) -> Result<(Holder, &'a Todo), Refusal> {
    let caller = context.anyone()?;
    let todo = open_todo(context, id)?;
    check_epoch(LeaseTarget::Todo(id), shown.epoch, todo.epoch)?;
    match &todo.claim {
        Some(claim) if claim.holder != caller && action.is_some_and(|action| claim.lets(&caller, action)) => {
            Ok((caller, todo))
        }
        Some(claim) if claim.holder != caller && !matches!(caller.actor, Actor::Owner(_)) => {
            Err(Refusal::HeldBy {
                on: LeaseTarget::Todo(id),
                holder: claim.holder.clone(),
                since: claim.since,
                epoch: todo.epoch,
                until: claim.lease.as_ref().map(|lease| lease.until),
            })
        }
        _ => {
            shown.matches(context, id, todo)?;
            Ok((caller, todo))
        }
    }
}

pub(super) fn check_epoch(on: LeaseTarget, given: Option<u64>, current: u64) -> Result<(), Refusal> {
    match given {
        Some(given) if given != current => Err(Refusal::StaleEpoch { on, given, current }),
        _ => Ok(()),
    }
}

/// The end of the turn on a todo that leaves its holder; the one event every way out has in common.
pub(super) fn turn_ended(state: &State, todo: TodoId, end: TurnEnd, why: &Text) -> Option<Event> {
    let (id, turn) = state.turn_on(todo)?;
    Some(TurnClosed { end, id, outcome: turn.outcome, why: Some(why.clone()) }.into())
}

pub(super) fn update(context: &Context<'_>, command: &TodoUpdate) -> Result<Decided, Refusal> {
    let shown = Shown::from(command);
    let (caller, todo) = touchable(context, command.todo, shown, Some(Delegable::Update))?;
    shown.is_enough(context, &caller, command.todo, todo)?;
    let spec = &todo.spec;
    let mut changes = Vec::new();
    if let Some(new) = command.title.as_ref().filter(|new| **new != spec.title) {
        changes.push(TodoChange::Title { old: spec.title.clone(), new: new.clone() });
    }
    if let Some(new) = command.priority.filter(|new| *new != spec.priority) {
        changes.push(TodoChange::Priority { old: spec.priority, new });
    }
    if let Some(new) = command.done_when.as_ref().filter(|new| Some(*new) != spec.done_when.as_ref()) {
        changes.push(TodoChange::DoneWhen { old: spec.done_when.clone(), new: new.clone() });
    }
    if command.drop_needs.iter().any(|need| spec.needs.contains(need)) {
        let new = spec.needs.iter().copied().filter(|need| !command.drop_needs.contains(need)).collect();
        changes.push(TodoChange::Needs { old: spec.needs.clone(), new });
    }
    changes.extend(rescoped(context, todo, command.write.as_ref())?);
    if changes.is_empty() {
        return Err(Refusal::NothingToChange);
    }
    let mut draft = context.draft();
    draft.push(TodoChanged { changes, id: command.todo });
    if let Some(done_when) = &command.done_when {
        evidence::outdated(&mut draft, context, command.todo, done_when);
    }
    draft.by(caller.actor)
}

/// Events that take a todo out of its holder's hands, then `event`.
fn out_of_hand(
    context: &Context<'_>,
    todo: TodoId,
    end: TurnEnd,
    why: &Text,
    event: impl Into<Event>,
) -> Result<Decided, Refusal> {
    let (caller, _) = changeable(context, todo, Shown::default())?;
    let mut draft = context.draft();
    draft.events.extend(turn_ended(context.state, todo, end, why));
    draft.push(event);
    draft.by(caller.actor)
}

pub(super) fn block(context: &Context<'_>, todo: TodoId, why: &Text) -> Result<Decided, Refusal> {
    out_of_hand(context, todo, TurnEnd::Blocked, why, TodoBlocked { id: todo, why: why.clone() })
}

pub(super) fn defer(context: &Context<'_>, command: &TodoDefer) -> Result<Decided, Refusal> {
    let TodoDefer { todo, until, when, why } = command;
    if let Some(at) = until {
        super::ahead(context, "until", *at)?;
    }
    match when {
        Some(_) if until.is_some() => return Err(Refusal::ResumeAmbiguous { todo: *todo }),
        Some(ResumeWhen::Todo(other)) => {
            open_todo(context, *other)?;
            Context::exists("other todo", other, other != todo)?;
        }
        Some(ResumeWhen::Gate(gate)) if !context.state.gates.contains_key(gate) => {
            return Err(Refusal::GateNotOpen { gate: *gate });
        }
        Some(ResumeWhen::Gate(_)) | None => {}
    }
    out_of_hand(
        context,
        *todo,
        TurnEnd::Yielded,
        why,
        TodoDeferred { id: *todo, until: *until, when: *when, why: why.clone() },
    )
}

pub(super) fn supersede(context: &Context<'_>, command: &TodoSupersede) -> Result<Decided, Refusal> {
    let TodoSupersede { todo, by, why } = command;
    let replacement = open_todo(context, *by)?;
    let goal = context.state.todos.get(todo).map(|todo| &todo.goal);
    Context::exists(
        "other todo of this goal",
        by,
        by != todo && goal.is_none_or(|goal| *goal == replacement.goal),
    )?;
    out_of_hand(
        context,
        *todo,
        TurnEnd::Abandoned,
        why,
        TodoSuperseded { by: *by, id: *todo, why: why.clone() },
    )
}

pub(super) fn cancel(context: &Context<'_>, command: &TodoCancel) -> Result<Decided, Refusal> {
    let TodoCancel { todo, why } = command;
    out_of_hand(context, *todo, TurnEnd::Abandoned, why, TodoCancelled { id: *todo, why: why.clone() })
}

pub(super) fn reopen(context: &Context<'_>, command: &TodoReopen) -> Result<Decided, Refusal> {
    let actor = context.anyone()?.actor;
    let (id, why) = (command.todo, command.why.clone());
    if let Some(todo) = context.state.todos.get(&id) {
        return match todo.status {
            TodoStatus::Open => Err(Refusal::NothingToChange),
            TodoStatus::Blocked { .. } | TodoStatus::Deferred { .. } => {
                one(actor, TodoReopened { closed: None, id, why })
            }
        };
    }
    let Err(Refusal::TodoNotOpen { closed: Some(closed), .. }) = open_todo(context, id) else {
        return Err(Refusal::Unknown { what: "todo", name: id.to_string() });
    };
    // A goal started later under the same name is another one.
    let goal = context.state.goals.get(&closed.goal).filter(|goal| !goal.status.is_final());
    if goal.is_none_or(|goal| goal.instance > closed.seq) {
        return Err(Refusal::TodoNotOpen { todo: id, closed: Some(closed) });
    }
    let ClosedTodo { how, epoch, version, goal, spec, .. } = *closed;
    let closed = ReopenedTodo { completed: how == Closing::Completed, epoch, goal, spec, version };
    one(actor, TodoReopened { closed: Some(closed), id, why })
}
