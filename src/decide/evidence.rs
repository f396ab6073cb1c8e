//! Evidence.

use super::command::{EvidenceAdd, EvidenceInvalidate, EvidenceSupersede, NewEvidence, NewMetricRow};
use super::{Context, Decided, Draft, Refusal, goal, todo};
use crate::event::{
    AcceptanceReopened, EvidenceInvalidated, EvidenceKind, EvidenceRecorded, EvidenceSuperseded, MetricRow,
    Subject,
};
use crate::id::{CriterionId, EvidenceId, GoalId, TodoId};
use crate::limits::{INTEGER_MAX, VALID_FOR_MAX_MS};
use crate::state::{Ended, Standing};
use crate::text::Text;

pub(super) fn add(context: &Context<'_>, command: &EvidenceAdd) -> Result<Decided, Refusal> {
    let actor = context.anyone()?.actor;
    let goal = subject_goal(context, &command.about)?;
    stated(&command.evidence, command.metric.is_some())?;
    let metric = command.metric.as_ref().map(|row| metric_row(context, row)).transpose()?;
    let mut draft = context.draft();
    record(&mut draft, context, goal, &command.about, &command.evidence, metric);
    draft.by(actor)
}

/// What a caller may state: a measured value has a row, and the result of a check is not for anyone to state.
pub(super) fn stated(new: &NewEvidence, has_row: bool) -> Result<(), Refusal> {
    super::in_range("bytes", new.bytes.unwrap_or(0), 0, INTEGER_MAX)?;
    super::in_range("valid_for_ms", new.valid_for_ms.unwrap_or(1), 1, VALID_FOR_MAX_MS)?;
    match (new.kind, has_row) {
        (EvidenceKind::Check, _) => Err(Refusal::EvidenceKindReserved {
            kind: "check",
            how: "by this program, when it runs a todo's check",
        }),
        (EvidenceKind::Metric, false) => Err(Refusal::EvidenceKindReserved {
            kind: "metric",
            how: "with its measured value, by evidence.add",
        }),
        (EvidenceKind::Metric, true) => Ok(()),
        (_, true) => Err(Refusal::EvidenceKindReserved { kind: "metric", how: "for a measured value" }),
        (_, false) => Ok(()),
    }
}

/// The goal that evidence about this belongs to.
fn subject_goal(context: &Context<'_>, about: &Subject) -> Result<GoalId, Refusal> {
    match about {
        Subject::Todo(id) => match context.state.todos.get(id) {
            Some(found) => Ok(found.goal.clone()),
            None => match context.history.todos.get(id) {
                Some(closed) => Ok(closed.goal.clone()),
                None => todo::open_todo(context, *id).map(|found| found.goal.clone()),
            },
        },
        Subject::Gate(id) => {
            let gate = context.state.gates.get(id).ok_or(Refusal::GateNotOpen { gate: *id })?;
            Ok(gate.goal.clone())
        }
        Subject::Goal(name) => context.named_goal(name).map(|(id, _)| id.clone()),
        Subject::Trial(id) => {
            Context::exists("trial", id, id.0 >= 1 && id.0 <= context.state.minted.trials)?;
            context.open_goal().map(|(id, _)| id.clone())
        }
    }
}

fn metric_row(context: &Context<'_>, row: &NewMetricRow) -> Result<MetricRow, Refusal> {
    let lineage = &context.state.lineage;
    Context::exists("running trial", &row.trial, lineage.running.contains(&row.trial))?;
    Context::exists("metric", &row.metric, lineage.metrics.contains_key(&row.metric))?;
    Context::exists("data set", &row.dataset, lineage.datasets.contains(&row.dataset))?;
    super::in_range("n", row.n.unwrap_or(1), 1, INTEGER_MAX)?;
    if row.spread.as_ref().is_some_and(|spread| spread.scaled() < 0) {
        return Err(Refusal::OutOfRange { field: "spread", value: 0, limit: "not negative".to_owned() });
    }
    Ok(MetricRow {
        dataset: row.dataset.clone(),
        metric: row.metric.clone(),
        n: row.n,
        spread: row.spread.clone(),
        trial: row.trial,
        value: row.value.clone(),
    })
}

/// Adds the event and returns the id minted for it.
pub(super) fn record(
    draft: &mut Draft<'_>,
    context: &Context<'_>,
    goal: GoalId,
    about: &Subject,
    new: &NewEvidence,
    metric: Option<MetricRow>,
) -> EvidenceId {
    let id = draft.mint_evidence();
    let revision = context.state.goals.get(&goal).map_or(0, |goal| goal.revision);
    draft.push(EvidenceRecorded {
        about: about.clone(),
        bytes: new.bytes,
        digest: new.digest,
        exit: new.exit,
        goal,
        id,
        kind: new.kind,
        metric,
        revision,
        source: new.source.clone(),
        summary: new.summary.clone(),
        valid_until: new.valid_for_ms.map(|ms| context.now.plus_ms(ms)),
    });
    id
}

/// Evidence of finished work may have left the state; it can still be found wrong, and so can what is stale.
fn still_counts(context: &Context<'_>, id: EvidenceId) -> Result<(), Refusal> {
    Context::exists("evidence", &id, id.0 >= 1 && id.0 <= context.state.minted.evidence)?;
    match context.state.evidence.get(&id).and_then(|evidence| evidence.ended(context.now)) {
        None | Some(Ended::Expired(_) | Ended::Outdated(_)) => Ok(()),
        Some(ended) => Err(Refusal::EvidenceNotCurrent { evidence: id, ended }),
    }
}

pub(super) fn invalidate(context: &Context<'_>, command: &EvidenceInvalidate) -> Result<Decided, Refusal> {
    let actor = context.anyone()?.actor;
    still_counts(context, command.evidence)?;
    let mut draft = context.draft();
    draft.push(EvidenceInvalidated { cause: command.cause, id: command.evidence, why: command.why.clone() });
    reopen(&mut draft, context, &command.why, |_, _, by| by == command.evidence);
    draft.by(actor)
}

pub(super) fn supersede(context: &Context<'_>, command: &EvidenceSupersede) -> Result<Decided, Refusal> {
    let actor = context.anyone()?.actor;
    still_counts(context, command.evidence)?;
    goal::current(context, command.by)?;
    Context::exists("other evidence", &command.by, command.by != command.evidence)?;
    let mut draft = context.draft();
    draft.push(EvidenceSuperseded { by: command.by, id: command.evidence, why: command.why.clone() });
    reopen(&mut draft, context, &command.why, |_, _, by| by == command.evidence);
    draft.by(actor)
}

/// What shows a todo done has changed: criteria that rest on what was taken for it are open again.
pub(super) fn outdated(draft: &mut Draft<'_>, context: &Context<'_>, todo: TodoId, why: &Text) {
    let stale = |id: EvidenceId| {
        context.state.evidence.get(&id).is_some_and(|evidence| {
            evidence.about == Subject::Todo(todo)
                && evidence.standing == Standing::Current
                && !evidence.is_row
        })
    };
    reopen(draft, context, why, |_, _, by| stale(by));
}

/// Opens every criterion again that `lost` says has lost what it rests on, in a finished goal too.
pub(super) fn reopen(
    draft: &mut Draft<'_>,
    context: &Context<'_>,
    why: &Text,
    lost: impl Fn(&GoalId, &CriterionId, EvidenceId) -> bool,
) {
    for (goal, found) in &context.state.goals {
        for (id, criterion) in &found.criteria {
            if criterion.met_by.is_some_and(|by| lost(goal, id, by)) {
                draft.push(AcceptanceReopened { criterion: *id, goal: goal.clone(), why: why.clone() });
            }
        }
    }
}
