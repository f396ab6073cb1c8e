//! Gates: questions to a human.

use super::command::{GateDecide, GateOpen, GateWithdraw};
use super::{Context, Decided, Refusal, bounded, todo};
use crate::event::{
    Blocks, ClaimReleased, Event, GateDecided, GateOpened, GateOutcome, GateWithdrawn, TurnEnd,
};
use crate::id::{Actor, GateId, Label};

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
    let names_nothing = command.blocks.is_empty() && command.blocks_agents.is_empty() && !command.blocks_all;
    let several = context.state.agents.values().filter(|agent| !agent.retired).count() > 1;
    if names_nothing && several {
        return Err(Refusal::BlocksRequired);
    }
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

fn open_gate<'a>(context: &Context<'a>, id: GateId) -> Result<&'a crate::state::Gate, Refusal> {
    Context::exists("gate", &id, id.0 >= 1 && id.0 <= context.state.minted.gates)?;
    context.state.gates.get(&id).ok_or(Refusal::GateNotOpen { gate: id })
}

/// Only an owner decides, and only one of the options that were offered.
pub(super) fn decide(context: &Context<'_>, command: &GateDecide) -> Result<Decided, Refusal> {
    let actor = Actor::Owner(context.owner("decide a gate")?);
    let gate = open_gate(context, command.gate)?;
    if let GateOutcome::Choice { option } = &command.outcome
        && !gate.options.contains(option)
    {
        let options = if gate.options.is_empty() { answers() } else { gate.options.clone() };
        return Err(Refusal::OptionUnknown { gate: command.gate, given: option.clone(), options });
    }
    let mut draft = context.draft();
    let decided =
        GateDecided { id: command.gate, outcome: command.outcome.clone(), why: command.why.clone() };
    if command.outcome == GateOutcome::Reject {
        let waiting = context.state.todos.iter().filter(|(id, todo)| gate.holds_up(**id, todo));
        draft.events.extend(
            waiting
                .filter_map(|(id, _)| todo::turn_ended(context.state, *id, TurnEnd::Blocked, &command.why)),
        );
    }
    draft.push(decided);
    draft.by(actor)
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
