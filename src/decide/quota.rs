//! Quota: set, spend once per turn, take back once.

use super::command::{QuotaBudgetRequest, QuotaSetRequest, QuotaSpendSlot, QuotaVoidSlot, Spending};
use super::{Context, Decided, PastSpend, Refusal, in_range, next, one};
use crate::event::{
    Allowance, Budget, DeliveryOutcome, Holder, QuotaBudgeted, QuotaSet, QuotaSpent, QuotaVoided, TurnClosed,
    TurnEnd,
};
use crate::id::{Actor, AgentId, GoalId, TodoId, TurnId};
use crate::limits::SPEND_MAX;
use crate::state::{DEFAULT_SLOT_MS, DEFAULT_WINDOW_MS};
use crate::text::Text;

const WINDOW_MAX_MS: u64 = 366 * 86_400_000;

pub(super) fn set(context: &Context<'_>, command: &QuotaSetRequest) -> Result<Decided, Refusal> {
    let actor = Actor::Owner(context.owner("set a quota")?);
    let (goal, _) = context.open_goal()?;
    match command.allowance {
        Allowance::Unlimited => {}
        Allowance::Share { milli } => {
            in_range("share in thousandths", u64::from(milli), 0, 1_000)?;
        }
        Allowance::Slots { slots } => {
            in_range("slots", slots, 0, SPEND_MAX)?;
        }
    }
    let window_ms =
        in_range("window_ms", command.window_ms.unwrap_or(DEFAULT_WINDOW_MS), 1_000, WINDOW_MAX_MS)?;
    let slot_ms = in_range("slot_ms", command.slot_ms.unwrap_or(DEFAULT_SLOT_MS), 1, window_ms)?;
    let (allowance, why) = (command.allowance.clone(), command.why.clone());
    one(actor, QuotaSet { allowance, goal: goal.clone(), slot_ms, why, window_ms })
}

/// Sets what the goal, or the agent named, may use in all.
pub(super) fn budget(context: &Context<'_>, command: &QuotaBudgetRequest) -> Result<Decided, Refusal> {
    let actor = Actor::Owner(context.owner("set a budget")?);
    let budget = Budget { cost_micro: command.cost_micro, tokens: command.tokens, wall_ms: command.wall_ms };
    for (field, value) in
        [("cost_micro", budget.cost_micro), ("tokens", budget.tokens), ("wall_ms", budget.wall_ms)]
    {
        in_range(field, value.unwrap_or(0), 0, SPEND_MAX)?;
    }
    let goal = match &command.on_agent {
        Some(agent) => {
            super::people::known(context, agent)?;
            None
        }
        None => Some(context.open_goal()?.0.clone()),
    };
    one(actor, QuotaBudgeted { agent: command.on_agent.clone(), budget, goal, why: command.why.clone() })
}

/// Refuses if a budget of the goal or of the agent is used up. What the last turn uses may go beyond: it is known only then.
pub(super) fn within_budget(context: &Context<'_>, goal: &GoalId, holder: &Holder) -> Result<(), Refusal> {
    match next::used_up(context.state, goal, holder) {
        Some((whose, (what, used, limit))) => Err(Refusal::BudgetUsedUp { whose, what, used, limit }),
        None => Ok(()),
    }
}

/// Refuses if `slots` do not fit now beside those spent and those that the open turns of others may still spend.
pub(super) fn fits(context: &Context<'_>, goal: &GoalId, holder: &Holder, slots: u64) -> Result<(), Refusal> {
    let Some(quota) = context.state.quotas.get(goal) else { return Ok(()) };
    let reserved = next::reservations(context.state, goal, holder);
    match quota.free_at(slots, context.now, &reserved) {
        Some(at) if at <= context.now => Ok(()),
        free_at => Err(Refusal::QuotaExceeded {
            slots,
            allowed: quota.allowed_slots().unwrap_or(0),
            spent: quota.spent_slots(context.now),
            reserved: u64::try_from(reserved.len()).unwrap_or(u64::MAX),
            free_at,
        }),
    }
}

/// The spend of a turn. Its first slot was reserved when it was opened, so that one always fits while its lease lasts.
pub(super) fn spending(
    context: &Context<'_>,
    goal: &GoalId,
    holder: &Holder,
    (turn, todo): (TurnId, TodoId),
    spend: &Spending,
    slots: u64,
) -> Result<QuotaSpent, Refusal> {
    in_range("slots", slots, 1, SPEND_MAX)?;
    in_range("tokens", spend.tokens.unwrap_or(0), 0, SPEND_MAX)?;
    in_range("cost_micro", spend.cost_micro.unwrap_or(0), 0, SPEND_MAX)?;
    let open = context.state.turns.get(&turn);
    let kept =
        open.and_then(|turn| context.state.reserved_until(turn)).is_some_and(|until| until > context.now);
    if slots > u64::from(kept) {
        fits(context, goal, holder, slots)?;
    }
    let agent = holder.actor.agent().cloned().unwrap_or_else(AgentId::local);
    Ok(QuotaSpent {
        agent,
        wall_ms: open.map_or(0, |turn| context.now.ms_since(turn.since)),
        cost_micro: spend.cost_micro,
        goal: goal.clone(),
        slots,
        todo,
        tokens: spend.tokens,
        turn,
    })
}

/// Pays for the caller's open turn and closes it. A turn that was paid for answers its receipt again.
pub(super) fn spend(context: &Context<'_>, command: &QuotaSpendSlot) -> Result<Decided, Refusal> {
    let holder = context.agent()?;
    let own = context.state.turn_of(&holder).filter(|(id, _)| command.turn.is_none_or(|turn| turn == *id));
    let Some((id, turn)) = own else { return paid_before(context, command) };
    if let Some(todo) = command.todo.filter(|todo| *todo != turn.todo) {
        return Err(Refusal::NoTurn { todo });
    }
    let progress = turn.completed.then_some(DeliveryOutcome::OutcomeProgress);
    let outcome = turn.outcome.or(progress).filter(|outcome| outcome.is_accountable());
    let outcome = outcome.ok_or(Refusal::NotAccountable { turn: id })?;
    let slots = command.spend.slots.unwrap_or(1);
    let mut draft = context.draft();
    draft.push(spending(context, &turn.goal, &holder, (id, turn.todo), &command.spend, slots)?);
    if turn.completed {
        draft.push(TurnClosed { end: TurnEnd::Done, id, outcome: Some(outcome), why: None });
    } else {
        let why = Text::own("paid for; the todo goes on");
        draft.push(TurnClosed { end: TurnEnd::Yielded, id, outcome: Some(outcome), why: Some(why.clone()) });
        draft.push(crate::event::ClaimReleased { epoch: turn.epoch, todo: turn.todo, why });
    }
    draft.by(holder.actor)
}

fn paid_before(context: &Context<'_>, command: &QuotaSpendSlot) -> Result<Decided, Refusal> {
    let Some(turn) = command.turn else {
        return Err(command.todo.map_or(Refusal::NoOpenTurn, |todo| Refusal::NoTurn { todo }));
    };
    let before = context.history.spend.as_ref().filter(|past| past.spent.turn == turn);
    before.map(|past| Decided::Already(past.seq)).ok_or(Refusal::TurnNotOpen { turn })
}

pub(super) fn void(context: &Context<'_>, command: &QuotaVoidSlot) -> Result<Decided, Refusal> {
    let actor = Actor::Owner(context.owner("take a spend back")?);
    let (goal, _) = context.open_goal()?;
    let past = context.history.spend.as_ref().filter(|past| past.seq == command.spend && !past.voided);
    let Some(PastSpend { spent, seq, .. }) = past.filter(|past| past.spent.goal == *goal) else {
        return Err(Refusal::SpendNotFound { spend: command.spend });
    };
    let QuotaSpent { agent, cost_micro, goal, slots, todo: _, tokens, turn, wall_ms } = spent.clone();
    let why = command.why.clone();
    one(actor, QuotaVoided { agent, cost_micro, goal, slots, spend: *seq, tokens, turn, wall_ms, why })
}
