//! Completing a todo. Every way to complete one passes through [`completion`]; there is no other.

use super::command::{CheckResult, Close, Done, NewEvidence, Spending, TodoComplete, WaitFor};
use super::evidence::{record, stated};
use super::frontier::{Hindrance, hindrances};
use super::lease::Shown;
use super::todo::{check_epoch, open_todo};
use super::turn::own_turn;
use super::{Context, Decided, Draft, Refusal, bounded, gate, goal, quota};
use crate::event::{
    AcceptanceMet, Continuation, Delegable, DeliveryOutcome, EvidenceKind, Holder, LeaseTarget, Subject,
    TodoAdded, TodoCompleted, TodoSpec, TurnClosed, TurnEnd,
};
use crate::id::{Actor, EvidenceId, TodoId};
use crate::state::Todo;
use crate::text::Text;

/// Completes the todo of the open turn, closes the turn and pays, in one record.
pub(super) fn done(context: &Context<'_>, command: &Done) -> Result<Decided, Refusal> {
    let (holder, turn_id) = own_turn(context, command.todo)?;
    let mut draft = context.draft();
    let goal = completion(&mut draft, context, &holder, command.todo, &command.close)?.goal.clone();
    let outcome = command.outcome.unwrap_or(DeliveryOutcome::OutcomeProgress);
    if outcome.is_accountable() {
        let slots = command.spend.slots.unwrap_or(1);
        draft.push(quota::spending(context, &goal, &holder, (turn_id, command.todo), &command.spend, slots)?);
    } else if command.spend != Spending::default() {
        return Err(Refusal::NotAccountable { turn: turn_id });
    }
    draft.push(TurnClosed { end: TurnEnd::Done, id: turn_id, outcome: Some(outcome), why: None });
    draft.by(holder.actor)
}

/// Completes a held todo, an agent only in its turn, or for a peer that lets it; the turn stays open until it is paid
/// for by whoever opened it.
pub(super) fn complete(context: &Context<'_>, command: &TodoComplete) -> Result<Decided, Refusal> {
    let caller = context.anyone()?;
    let claim = context.state.todos.get(&command.todo).and_then(|todo| todo.claim.as_ref());
    let delegated = claim.is_some_and(|claim| claim.lets(&caller, Delegable::Complete));
    if caller.actor.agent().is_some() && !delegated {
        own_turn(context, command.todo)?;
    }
    let mut draft = context.draft();
    completion(&mut draft, context, &caller, command.todo, &command.close)?;
    draft.by(caller.actor)
}

/// The one way to a `todo.completed`: open, held by the caller under this epoch, shown by current evidence, its check
/// passed, and saying what follows.
fn completion<'a>(
    draft: &mut Draft<'_>,
    context: &Context<'a>,
    caller: &Holder,
    id: TodoId,
    close: &Close,
) -> Result<&'a Todo, Refusal> {
    let todo = open_todo(context, id)?;
    let on = LeaseTarget::Todo(id);
    let shown = Shown::from(close);
    check_epoch(on.clone(), close.epoch, todo.epoch)?;
    match &todo.claim {
        Some(claim) if claim.holder == *caller => {
            shown.matches(context, id, todo)?;
            shown.is_enough(context, caller, id, todo)?;
        }
        Some(claim) if claim.lets(caller, Delegable::Complete) => {}
        Some(claim) => {
            let until = claim.lease.as_ref().map(|lease| lease.until);
            let (holder, since) = (claim.holder.clone(), claim.since);
            return Err(Refusal::HeldBy { on, holder, since, epoch: todo.epoch, until });
        }
        None if matches!(caller.actor, Actor::Owner(_)) => {}
        None => return Err(Refusal::NotHeld { on }),
    }
    if let Some(gate) = todo.gates.first() {
        return Err(Refusal::GateNotAnswered { gate: *gate });
    }
    if todo.watch.is_some() {
        return Err(Refusal::NotRunnable { todo: id, hindrance: Hindrance::Monitor });
    }
    let capabilities = context.capabilities(caller);
    let lane = context.lane(&todo.goal, caller, &capabilities);
    let found = hindrances(context.state, &lane, id, todo).into_iter().find(Hindrance::is_repairable);
    if let Some(hindrance) = found.filter(|_| caller.actor.agent().is_some()) {
        return Err(Refusal::NotRunnable { todo: id, hindrance });
    }
    let approvals = gate::covered(context, id, todo)?;
    let evidence = shown_by(draft, context, id, todo, close)?;
    met(draft, context, todo, close, &evidence)?;
    let continuation = what_follows(draft, context, id, todo, close)?;
    draft.push(TodoCompleted { approvals, continuation, epoch: todo.epoch, evidence, id });
    Ok(todo)
}

/// The evidence that the close rests on, recorded now or before; at least one, each current and about this todo.
fn shown_by(
    draft: &mut Draft<'_>,
    context: &Context<'_>,
    id: TodoId,
    todo: &Todo,
    close: &Close,
) -> Result<Vec<EvidenceId>, Refusal> {
    bounded("evidence", &close.evidence)?;
    bounded("proof", &close.proof)?;
    let about = Subject::Todo(id);
    let mut evidence = Vec::new();
    for named in &close.evidence {
        let found = goal::supporting(context, *named)?;
        let of_a_trial = matches!(found.about, Subject::Trial(_)) && found.goal == todo.goal;
        if found.about != about && !of_a_trial {
            return Err(Refusal::EvidenceElsewhere { evidence: *named, about: id.to_string() });
        }
        evidence.push(*named);
    }
    for proof in &close.proof {
        stated(proof, false)?;
        if proof.exit.is_some_and(|exit| exit != 0) {
            let (exit, tail) = (proof.exit, proof.summary.to_string());
            return Err(Refusal::CheckFailed { todo: id, exit, tail });
        }
        evidence.push(record(draft, context, todo.goal.clone(), &about, proof, None));
    }
    if let Some(check) = passed_check(id, todo, close)? {
        evidence.push(record(draft, context, todo.goal.clone(), &about, &check, None));
    }
    if evidence.is_empty() {
        return Err(Refusal::EvidenceRequired { todo: id });
    }
    Ok(evidence)
}

/// The evidence of the todo's own check, if it has one. It must be this check, run by this program, and have passed.
fn passed_check(id: TodoId, todo: &Todo, close: &Close) -> Result<Option<NewEvidence>, Refusal> {
    if todo.spec.check.is_empty() {
        return Ok(None);
    }
    let result = close.check.as_ref().filter(|result| result.argv == todo.spec.check);
    let CheckResult { argv, exit, digest, bytes, tail } =
        result.ok_or(Refusal::CheckRequired { todo: id })?;
    if *exit != Some(0) {
        return Err(Refusal::CheckFailed { todo: id, exit: *exit, tail: tail.clone() });
    }
    // A command line within its limit is a text: `todo.add` saw to that.
    let text = |text: &str| text.parse::<Text>().map_err(|_| Refusal::CheckRequired { todo: id });
    Ok(Some(NewEvidence {
        kind: EvidenceKind::Check,
        summary: text("check passed")?,
        source: Some(text(&argv.join(" "))?),
        exit: *exit,
        digest: Some(*digest),
        bytes: Some(*bytes),
        valid_for_ms: None,
    }))
}

/// Criteria that the close says are met, on its last piece of evidence.
fn met(
    draft: &mut Draft<'_>,
    context: &Context<'_>,
    todo: &Todo,
    close: &Close,
    evidence: &[EvidenceId],
) -> Result<(), Refusal> {
    bounded("meets", &close.meets)?;
    let Some(last) = evidence.last() else { return Ok(()) };
    for criterion in &close.meets {
        let known =
            context.state.goals.get(&todo.goal).is_some_and(|goal| goal.criteria.contains_key(criterion));
        Context::exists("criterion", criterion, known)?;
        draft.push(AcceptanceMet { criterion: *criterion, evidence: *last, goal: todo.goal.clone() });
    }
    Ok(())
}

/// Exactly one answer to "what now?". Successors are added in the same record.
fn what_follows(
    draft: &mut Draft<'_>,
    context: &Context<'_>,
    id: TodoId,
    todo: &Todo,
    close: &Close,
) -> Result<Continuation, Refusal> {
    bounded("next", &close.next)?;
    bounded("successors", &close.successors)?;
    let follows = !close.next.is_empty() && close.hand_over.is_none() || !close.successors.is_empty();
    let said = [follows, close.hand_over.is_some(), close.wait_for.is_some(), close.no_follow_up.is_some()];
    match said.iter().filter(|said| **said).count() {
        0 => return Err(Refusal::ContinuationRequired { todo: id }),
        1 => {}
        _ => return Err(Refusal::ContinuationAmbiguous { todo: id }),
    }
    if let Some(why) = &close.no_follow_up {
        return Ok(Continuation::NoFollowUp { why: why.clone() });
    }
    if let Some(wait) = &close.wait_for {
        return waiting(context, id, wait);
    }
    if let Some(agent) = &close.hand_over {
        if context.state.agents.get(agent).is_none_or(|agent| agent.retired) {
            return Err(Refusal::AgentUnknown { agent: agent.clone() });
        }
        let [title] = close.next.as_slice() else { return Err(Refusal::HandOverNeedsNext { todo: id }) };
        let mut spec = successor(todo, title);
        spec.bound = Some(agent.clone());
        let next = draft.mint_todo();
        draft.push(TodoAdded { goal: todo.goal.clone(), id: next, spec });
        return Ok(Continuation::HandOver { agent: agent.clone(), todo: next });
    }
    let mut todos = Vec::new();
    for successor in &close.successors {
        let found = open_todo(context, *successor)?;
        Context::exists("other todo of this goal", successor, *successor != id && found.goal == todo.goal)?;
        todos.push(*successor);
    }
    for title in &close.next {
        let next = draft.mint_todo();
        draft.push(TodoAdded { goal: todo.goal.clone(), id: next, spec: successor(todo, title) });
        todos.push(next);
    }
    Ok(Continuation::Successors { todos })
}

/// A follow-up inherits what bounds the work: priority, write scope and the criteria it serves.
fn successor(todo: &Todo, title: &Text) -> TodoSpec {
    TodoSpec {
        priority: todo.spec.priority,
        serves: todo.spec.serves.clone(),
        write: todo.spec.write.clone(),
        ..TodoSpec::titled(title.clone())
    }
}

fn waiting(context: &Context<'_>, id: TodoId, wait: &WaitFor) -> Result<Continuation, Refusal> {
    match wait {
        WaitFor::Todo(todo) => {
            open_todo(context, *todo)?;
            Context::exists("other todo", todo, *todo != id)?;
            Ok(Continuation::WaitForTodo { todo: *todo })
        }
        WaitFor::Gate(gate) => {
            let open = context.state.gates.contains_key(gate);
            if open {
                Ok(Continuation::WaitForGate { gate: *gate })
            } else {
                Err(Refusal::GateNotOpen { gate: *gate })
            }
        }
        WaitFor::Until(at) => {
            super::ahead(context, "wait-for", *at).and(Ok(Continuation::WaitUntil { at: *at }))
        }
    }
}
