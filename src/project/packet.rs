//! What a human needs to answer an open question: what changed since it was asked, the evidence and whether it still
//! counts, and what each answer would bring.

use std::collections::{BTreeMap, BTreeSet};

use super::history::{Line, thread};
use super::status::status;
use crate::decide::command::{Caller, GateDecide};
use crate::decide::{Command, Context, Decided, Hindrance, History, decide};
use crate::event::{Event, EvidenceRecorded, GateOutcome, Subject};
use crate::id::{EvidenceId, GateId, Label, Seq, TodoId};
use crate::ledger::{Ledger, LedgerError};
use crate::state::{At, Gate, Goal, Standing, State};
use crate::text::Text;
use crate::time::Timestamp;

/// Evidence that bears on the question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exhibit {
    /// As it was recorded.
    pub recorded: EvidenceRecorded,
    /// The record.
    pub seq: Seq,
    /// Whether the question names it; if not, it is about the gate or a todo that waits.
    pub cited: bool,
    /// Whether it counts now.
    pub standing: Standing,
    /// The record since when it does not, if it does not.
    pub withdrawn: Option<Seq>,
}

/// What follows from an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consequence {
    /// Todos that an agent could then run.
    pub runnable: Vec<TodoId>,
    /// Todos that a person could then do.
    pub for_a_person: Vec<TodoId>,
    /// Todos that would be blocked.
    pub blocked: Vec<TodoId>,
    /// Todos that waited for the answer and would go on waiting for something else.
    pub waiting: Vec<(TodoId, Vec<Hindrance>)>,
    /// Whether the question would be closed.
    pub closes: bool,
}

/// The answers that a gate takes: its options, or else approval; and a refusal, under the name that it has there.
#[must_use]
pub fn answers(gate: &Gate) -> Vec<Label> {
    let own = |word: &str| word.parse::<Label>().ok();
    let mut answers = gate.options.clone();
    if answers.is_empty() {
        answers.extend(own("approve"));
    }
    if !answers.iter().any(|answer| matches!(outcome(answer), GateOutcome::Reject)) {
        answers.extend(own("reject"));
    }
    answers
}

/// What an answer means. `no` is a rejection whatever the options are: nobody who answers it means that the work may
/// go on.
#[must_use]
pub fn outcome(answer: &Label) -> GateOutcome {
    match answer.as_str() {
        "approve" => GateOutcome::Approve,
        "reject" | "no" => GateOutcome::Reject,
        "defer" => GateOutcome::Defer,
        _ => GateOutcome::Choice { option: answer.clone() },
    }
}

/// What would follow if an owner answered now. It is decided and folded as the answer itself would be.
#[must_use]
pub fn consequence(state: &State, id: GateId, outcome: GateOutcome, now: Timestamp) -> Option<Consequence> {
    let gate = state.gates.get(&id)?;
    let owner = state.owners.iter().find(|(_, owner)| !owner.revoked).map(|(name, _)| name.clone());
    let caller = Caller { owner, goal: Some(gate.goal.clone()), ..Caller::default() };
    let command = Command::GateDecide(GateDecide {
        gate: id,
        outcome,
        valid_until: None,
        rests_on: Vec::new(),
        why: Text::own("to see what follows"),
    });
    let context = Context { state, history: &History::default(), caller: &caller, now };
    let Ok(Decided::Append { actor, events }) = decide(&context, &command) else { return None };
    let mut after = state.clone();
    after.apply(&At { seq: state.seq.next(), ts: now, actor }, &events).ok()?;
    let (name, goal) = state.goals.get_key_value(&gate.goal)?;
    let was = status(state, name, goal, now);
    let is = status(&after, name, after.goals.get(name)?, now);
    let waited = |id: &TodoId| state.todos.get(id).is_some_and(|todo| gate.holds_up(*id, todo));
    let blocked = |found: &[Hindrance]| found.iter().any(|one| matches!(one, Hindrance::Blocked { .. }));
    let was_blocked: BTreeSet<TodoId> =
        was.waiting.iter().filter(|(.., found)| blocked(found)).map(|(id, ..)| *id).collect();
    let (stopped, waiting): (Vec<_>, Vec<_>) =
        is.waiting.iter().filter(|(id, ..)| waited(id)).partition(|(.., found)| blocked(found));
    let stopped = stopped.into_iter().map(|(id, ..)| *id).filter(|id| !was_blocked.contains(id));
    Some(Consequence {
        runnable: new(&ids(&was.ready), &ids(&is.ready), gate.blocks.all && is.gates.len() < was.gates.len()),
        for_a_person: new(&ids(&was.user_actions), &ids(&is.user_actions), false),
        blocked: stopped.collect(),
        waiting: waiting.into_iter().map(|(id, _, found)| (*id, found.clone())).collect(),
        closes: !after.gates.contains_key(&id),
    })
}

fn ids<T>(list: &[(TodoId, T)]) -> BTreeSet<TodoId> {
    list.iter().map(|(id, _)| *id).collect()
}

/// What is in the second list and was not in the first, or all of it: a gate on everything hinders no single todo.
fn new(was: &BTreeSet<TodoId>, is: &BTreeSet<TodoId>, all: bool) -> Vec<TodoId> {
    is.iter().filter(|id| all || !was.contains(id)).copied().collect()
}

/// Records after the question that touch it, a todo that waits for it, or evidence that it names, oldest first.
///
/// # Errors
/// As [`Ledger::open`].
pub fn since(ledger: &mut Ledger, id: GateId, gate: &Gate) -> Result<Vec<Line>, LedgerError> {
    let todos = gate.blocks.todos.iter().map(ToString::to_string);
    let evidence = gate.evidence.iter().map(ToString::to_string);
    let mut found: BTreeMap<Seq, Line> = BTreeMap::new();
    for subject in std::iter::once(id.to_string()).chain(todos).chain(evidence) {
        for line in thread(ledger, &subject)?.into_iter().filter(|line| line.seq > gate.seq) {
            match found.get_mut(&line.seq) {
                None => drop(found.insert(line.seq, line)),
                Some(known) => {
                    let more: Vec<Event> =
                        line.events.into_iter().filter(|event| !known.events.contains(event)).collect();
                    known.events.extend(more);
                }
            }
        }
    }
    Ok(found.into_values().collect())
}

/// The goal just after the question was asked in it.
///
/// # Errors
/// As [`Ledger::open`].
pub fn goal_when_asked(ledger: &Ledger, gate: &Gate) -> Result<Option<Goal>, LedgerError> {
    Ok(ledger.state_at(gate.seq, &mut |_| {})?.goals.remove(&gate.goal))
}

/// The evidence that the question names, then other evidence about it or about todos that wait for it.
///
/// # Errors
/// As [`Ledger::open`].
pub fn exhibits(ledger: &mut Ledger, id: GateId, gate: &Gate) -> Result<Vec<Exhibit>, LedgerError> {
    let about = |subject: &Subject| match subject {
        Subject::Gate(about) => *about == id,
        Subject::Todo(todo) => gate.blocks.todos.contains(todo),
        Subject::Goal(_) | Subject::Trial(_) => false,
    };
    let near = ledger.state().evidence.iter().filter(|(_, found)| about(&found.about)).map(|(id, _)| *id);
    let more: Vec<EvidenceId> = near.filter(|id| !gate.evidence.contains(id)).collect();
    let mut exhibits = Vec::new();
    for (id, cited) in
        gate.evidence.iter().map(|id| (*id, true)).chain(more.into_iter().map(|id| (id, false)))
    {
        exhibits.extend(exhibit(&thread(ledger, &id.to_string())?, id, cited));
    }
    Ok(exhibits)
}

fn exhibit(lines: &[Line], id: EvidenceId, cited: bool) -> Option<Exhibit> {
    let mut exhibit: Option<Exhibit> = None;
    for (seq, event) in lines.iter().flat_map(|line| line.events.iter().map(move |event| (line.seq, event))) {
        match (event, &mut exhibit) {
            (Event::EvidenceRecorded(recorded), None) if recorded.id == id => {
                let recorded = recorded.clone();
                exhibit =
                    Some(Exhibit { recorded, seq, cited, standing: Standing::Current, withdrawn: None });
            }
            (Event::EvidenceInvalidated(e), Some(found)) if e.id == id => {
                (found.standing, found.withdrawn) = (Standing::Invalidated, Some(seq));
            }
            (Event::EvidenceSuperseded(e), Some(found)) if e.id == id => {
                (found.standing, found.withdrawn) = (Standing::Superseded, Some(seq));
            }
            _ => {}
        }
    }
    exhibit
}
