//! Gates: questions to a human, and the approvals that the answers leave behind.

use std::collections::{BTreeMap, BTreeSet};

use super::command::{GateDecide, GateOpen, GateRevoke, GateWithdraw};
use super::frontier::undecided;
use super::{Context, Decided, Refusal, bounded, goal, todo};
use crate::decision_scope::{DecisionScope, Granularity};
use crate::event::{
    Blocks, ClaimReleased, Event, GateDecided, GateOpened, GateOutcome, GateRevoked, GateWithdrawn, TurnEnd,
};
use crate::id::{Actor, GateId, GoalId, Label, TodoId};
use crate::state::{Gate, State, Todo, TodoStatus};
use crate::time::Timestamp;

/// Opens a gate. If it blocks the todo of the caller's own turn, the turn ends and the todo is given back: nobody
/// holds what waits for a human.
pub(super) fn open(context: &Context<'_>, command: &GateOpen) -> Result<Decided, Refusal> {
    bounded("options", &command.options)?;
    bounded("blocks", &command.blocks)?;
    bounded("blocks_agents", &command.blocks_agents)?;
    bounded("evidence", &command.evidence)?;
    let caller = context.anyone()?;
    let (goal, _) = context.open_goal()?;
    for id in &command.blocks {
        let held = todo::open_todo(context, *id)?;
        Context::exists("todo of this goal", id, held.goal == *goal)?;
    }
    for agent in &command.blocks_agents {
        if !context.state.agents.contains_key(agent) {
            return Err(Refusal::AgentUnknown { agent: agent.clone() });
        }
    }
    for id in &command.evidence {
        Context::exists("evidence", id, id.0 <= context.state.minted.evidence)?;
    }
    says_what_waits(context, command)?;
    let id = GateId(context.state.minted.gates + 1);
    let mut draft = context.draft();
    draft.push(GateOpened {
        blocks: Blocks {
            agents: command.blocks_agents.clone(),
            all: command.blocks_all,
            todos: command.blocks.clone(),
        },
        evidence: command.evidence.clone(),
        goal: goal.clone(),
        id,
        options: command.options.clone(),
        question: command.question.clone(),
        scope: command.scope.clone(),
    });
    if let Some((_, turn)) = context
        .state
        .turn_of(&caller)
        .filter(|(_, turn)| !turn.completed && command.blocks.contains(&turn.todo))
    {
        draft.events.extend(todo::turn_ended(context.state, turn.todo, TurnEnd::Yielded, &command.question));
        draft.push(ClaimReleased { epoch: turn.epoch, todo: turn.todo, why: command.question.clone() });
    }
    draft.by(caller.actor)
}

/// A gate names what waits where several agents are registered. With a scope that is what requires a decision in it; but
/// an approval that is not for the whole goal is for the todos that its gate names, so it has to name some.
fn says_what_waits(context: &Context<'_>, command: &GateOpen) -> Result<(), Refusal> {
    let (todos, agents) = (!command.blocks.is_empty(), !command.blocks_agents.is_empty());
    match &command.scope {
        Some(scope) if !todos && (agents || scope.granularity < Granularity::Goal) => {
            Err(Refusal::ScopeNeedsTodos { scope: scope.clone() })
        }
        Some(_) => Ok(()),
        None => {
            let several = context.state.agents.values().filter(|agent| !agent.retired).count() > 1;
            let named = todos || agents || command.blocks_all;
            if named || !several { Ok(()) } else { Err(Refusal::BlocksRequired) }
        }
    }
}

fn open_gate<'a>(context: &Context<'a>, id: GateId) -> Result<&'a Gate, Refusal> {
    Context::exists("gate", &id, id.0 >= 1 && id.0 <= context.state.minted.gates)?;
    context.state.gates.get(&id).ok_or(Refusal::GateNotOpen { gate: id })
}

/// Only an owner decides, and only one of the options that were offered. An approval may be given for a time, or for as
/// long as evidence is current.
pub(super) fn decide(context: &Context<'_>, command: &GateDecide) -> Result<Decided, Refusal> {
    let actor = Actor::Owner(context.owner("decide a gate")?);
    let gate = open_gate(context, command.gate)?;
    let outcome = answer(gate, command)?;
    bounded("rests_on", &command.rests_on)?;
    if let Some(at) = command.valid_until {
        super::ahead(context, "valid_until", at)?;
    }
    for evidence in &command.rests_on {
        goal::supporting(context, *evidence)?;
    }
    let covers = gate.scope.is_some() && matches!(outcome, GateOutcome::Approve | GateOutcome::Choice { .. });
    if !covers && (command.valid_until.is_some() || !command.rests_on.is_empty()) {
        return Err(Refusal::NothingToEnd { gate: command.gate });
    }
    let mut draft = context.draft();
    if outcome == GateOutcome::Reject {
        let waiting = context.state.waiting(gate, context.now).into_iter();
        draft.events.extend(
            waiting.filter_map(|id| todo::turn_ended(context.state, id, TurnEnd::Blocked, &command.why)),
        );
    }
    draft.push(GateDecided {
        id: command.gate,
        outcome,
        rests_on: command.rests_on.clone(),
        valid_until: command.valid_until,
        why: command.why.clone(),
    });
    draft.by(actor)
}

/// The words that every gate takes mean the same whatever its options are: nobody who answers `no` means that the work may
/// go on.
fn answer(gate: &Gate, command: &GateDecide) -> Result<GateOutcome, Refusal> {
    let GateOutcome::Choice { option } = &command.outcome else { return Ok(command.outcome.clone()) };
    match option.as_str() {
        "approve" => Ok(GateOutcome::Approve),
        "reject" | "no" => Ok(GateOutcome::Reject),
        "defer" => Ok(GateOutcome::Defer),
        _ if gate.options.contains(option) => Ok(command.outcome.clone()),
        _ => {
            let options = if gate.options.is_empty() { answers() } else { gate.options.clone() };
            Err(Refusal::OptionUnknown { gate: command.gate, given: option.clone(), options })
        }
    }
}

/// The answers that every gate takes.
fn answers() -> Vec<Label> {
    ["approve", "reject", "defer"].iter().filter_map(|word| word.parse().ok()).collect()
}

/// Whoever asked may stop asking; so may an owner.
pub(super) fn withdraw(context: &Context<'_>, command: &GateWithdraw) -> Result<Decided, Refusal> {
    let caller = context.anyone()?;
    let gate = open_gate(context, command.gate)?;
    if gate.by != caller.actor && !matches!(caller.actor, Actor::Owner(_)) {
        return Err(Refusal::OwnerOnly { what: "withdraw a gate that someone else opened" });
    }
    let event: Event = GateWithdrawn { id: command.gate, why: command.why.clone() }.into();
    super::one(caller.actor, event)
}

/// Only an owner takes an approval back, one that still covers something or that a promotion may use.
pub(super) fn revoke(context: &Context<'_>, command: &GateRevoke) -> Result<Decided, Refusal> {
    let actor = Actor::Owner(context.owner("revoke an approval")?);
    let id = command.gate;
    Context::exists("gate", &id, id.0 >= 1 && id.0 <= context.state.minted.gates)?;
    if !context.state.approvals.contains_key(&id) {
        return Err(Refusal::NotApproved { gate: id });
    }
    super::one(actor, GateRevoked { id, why: command.why.clone() })
}

/// The approvals that cover every decision that a todo requires.
pub(super) fn covered(context: &Context<'_>, id: TodoId, todo: &Todo) -> Result<Vec<GateId>, Refusal> {
    let mut gates = BTreeSet::new();
    for need in &todo.spec.requires_decision {
        let covering = context.state.covering(id, todo, need, context.now);
        gates.insert(
            covering.map_err(|missing| Refusal::DecisionRequired { todo: id, missing: Box::new(missing) })?,
        );
    }
    Ok(gates.into_iter().collect())
}

/// Decisions that open work of a goal requires and that no open gate asks for, each with the work.
pub(super) fn unasked(state: &State, goal: &GoalId, now: Timestamp) -> Vec<(DecisionScope, Vec<TodoId>)> {
    let mut found: BTreeMap<DecisionScope, Vec<TodoId>> = BTreeMap::new();
    for (id, todo) in state.todos.iter().filter(|(_, todo)| todo.goal == *goal) {
        let goes_on = match &todo.status {
            TodoStatus::Blocked { .. } | TodoStatus::Deferred { until: None, when: None } => false,
            TodoStatus::Open | TodoStatus::Deferred { .. } => true,
        };
        for missing in undecided(state, *id, todo, now).filter(|missing| goes_on && missing.asked.is_none()) {
            let todos = found.entry(missing.scope).or_default();
            if todos.last() != Some(id) {
                todos.push(*id);
            }
        }
    }
    found.into_iter().collect()
}
