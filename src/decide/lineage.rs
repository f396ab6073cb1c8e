//! Lineage: every reference names something that is in the log already.

use super::command::{
    LineageDataset, LineageExperiment, LineageHypothesis, LineageMetric, LineagePromote, LineageTrialEnd,
    LineageTrialStart,
};
use super::{Context, Decided, Refusal, bounded, goal, in_range, one};
use crate::event::{
    DatasetRegistered, ExperimentRegistered, HypothesisProposed, MetricDefined, PromotionRecorded,
    TrialEnded, TrialStarted,
};
use crate::id::{EvidenceId, ExperimentId, HypothesisId, PromotionId, TrialId};
use crate::limits::INTEGER_MAX;

pub(super) fn metric(context: &Context<'_>, command: &LineageMetric) -> Result<Decided, Refusal> {
    let actor = context.anyone()?.actor;
    if context.state.lineage.metrics.contains_key(&command.metric) {
        return Err(Refusal::Exists { what: "metric", name: command.metric.to_string() });
    }
    let (metric, unit, title) = (command.metric.clone(), command.unit.clone(), command.title.clone());
    one(actor, MetricDefined { direction: command.direction, metric, title, unit })
}

pub(super) fn dataset(context: &Context<'_>, command: &LineageDataset) -> Result<Decided, Refusal> {
    let actor = context.anyone()?.actor;
    in_range("rows", command.rows, 1, INTEGER_MAX)?;
    in_range("bytes", command.bytes.unwrap_or(0), 0, INTEGER_MAX)?;
    if context.state.lineage.datasets.contains(&command.dataset) {
        return Err(Refusal::Exists { what: "data set", name: command.dataset.to_string() });
    }
    one(
        actor,
        DatasetRegistered {
            bytes: command.bytes,
            dataset: command.dataset.clone(),
            digest: command.digest,
            rows: command.rows,
            split: command.split,
            title: command.title.clone(),
        },
    )
}

pub(super) fn hypothesis(context: &Context<'_>, command: &LineageHypothesis) -> Result<Decided, Refusal> {
    let actor = context.anyone()?.actor;
    bounded("refines", &command.refines)?;
    let (goal, _) = context.open_goal()?;
    let minted = &context.state.minted;
    for parent in &command.refines {
        Context::exists("hypothesis", parent, parent.0 >= 1 && parent.0 <= minted.hypotheses)?;
    }
    if let Some(todo) = &command.todo {
        Context::exists("todo", todo, todo.0 >= 1 && todo.0 <= minted.todos)?;
    }
    one(
        actor,
        HypothesisProposed {
            goal: goal.clone(),
            id: HypothesisId(minted.hypotheses + 1),
            refines: command.refines.clone(),
            text: command.text.clone(),
            todo: command.todo,
        },
    )
}

pub(super) fn experiment(context: &Context<'_>, command: &LineageExperiment) -> Result<Decided, Refusal> {
    let actor = context.anyone()?.actor;
    bounded("datasets", &command.datasets)?;
    let (goal, _) = context.open_goal()?;
    let minted = &context.state.minted;
    let tests = command.tests;
    Context::exists("hypothesis", &tests, tests.0 >= 1 && tests.0 <= minted.hypotheses)?;
    for name in &command.datasets {
        Context::exists("data set", name, context.state.lineage.datasets.contains(name))?;
    }
    if let Some(from) = &command.starts_from {
        Context::exists("promotion", from, from.0 >= 1 && from.0 <= minted.promotions)?;
    }
    one(
        actor,
        ExperimentRegistered {
            config: command.config.clone(),
            datasets: command.datasets.clone(),
            goal: goal.clone(),
            id: ExperimentId(minted.experiments + 1),
            starts_from: command.starts_from,
            tests,
        },
    )
}

pub(super) fn trial_start(context: &Context<'_>, command: &LineageTrialStart) -> Result<Decided, Refusal> {
    let actor = context.anyone()?.actor;
    let (experiment, minted) = (command.experiment, &context.state.minted);
    Context::exists("experiment", &experiment, experiment.0 >= 1 && experiment.0 <= minted.experiments)?;
    in_range("seed", command.seed, 0, INTEGER_MAX)?;
    one(actor, TrialStarted { experiment, id: TrialId(minted.trials + 1), seed: command.seed })
}

pub(super) fn trial_end(context: &Context<'_>, command: &LineageTrialEnd) -> Result<Decided, Refusal> {
    let actor = context.anyone()?.actor;
    let running = context.state.lineage.running.contains(&command.trial);
    Context::exists("running trial", &command.trial, running)?;
    one(actor, TrialEnded { end: command.end, id: command.trial, why: command.why.clone() })
}

/// Who holds a slot changes by compare and set, on an owner's approval that is used up by it.
pub(super) fn promote(context: &Context<'_>, command: &LineagePromote) -> Result<Decided, Refusal> {
    let actor = context.anyone()?.actor;
    bounded("cites", &command.cites)?;
    bounded("contrast", &command.contrast)?;
    in_range("bytes", command.bytes.unwrap_or(0), 0, INTEGER_MAX)?;
    let (goal, _) = context.open_goal()?;
    let approval = context.state.approvals.get(&command.gate);
    let approval = approval.filter(|approval| approval.promotes && approval.goal == *goal);
    let Some(approval) = approval else { return Err(Refusal::NotApproved { gate: command.gate }) };
    if let Some(lapse) = context.state.lapse(approval, context.now) {
        return Err(Refusal::ApprovalLapsed { gate: command.gate, lapse });
    }
    for row in command.cites.iter().chain(&command.contrast) {
        current_row(context, *row)?;
    }
    if command.cites.is_empty() {
        return Err(Refusal::OutOfRange { field: "cites", value: 0, limit: "at least 1".to_owned() });
    }
    if let Some(evidence) = command.cites.iter().find(|row| command.contrast.contains(row)) {
        return Err(Refusal::OwnBaseline { evidence: *evidence });
    }
    if !command.cites.iter().any(|row| approval.evidence.contains(row)) {
        return Err(Refusal::RowsNotShown { gate: command.gate });
    }
    let held = context.state.lineage.slots.get(&command.slot);
    if held != command.replaces.as_ref() {
        return Err(Refusal::SlotMoved { slot: command.slot.clone(), held: held.map(ToString::to_string) });
    }
    one(
        actor,
        PromotionRecorded {
            artifact: command.artifact,
            bytes: command.bytes,
            cites: command.cites.clone(),
            contrast: command.contrast.clone(),
            gate: command.gate,
            goal: goal.clone(),
            id: PromotionId(context.state.minted.promotions + 1),
            replaces: command.replaces,
            slot: command.slot.clone(),
            title: command.title.clone(),
        },
    )
}

fn current_row(context: &Context<'_>, id: EvidenceId) -> Result<(), Refusal> {
    goal::current(context, id)?;
    let row = context.state.evidence.get(&id).is_some_and(|evidence| evidence.is_row);
    if row {
        Ok(())
    } else {
        Err(Refusal::EvidenceElsewhere { evidence: id, about: "a measured value".to_owned() })
    }
}
