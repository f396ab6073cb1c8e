//! Measured values, gathered by experiment, and what they are compared with.

use std::collections::BTreeMap;

use crate::decimal::Decimal;
use crate::event::{Direction, TrialEnd};
use crate::id::Label;
use crate::project::lineage::compare::Mean;
use crate::project::lineage::edge::EdgeKind;
use crate::project::lineage::graph::Graph;
use crate::project::lineage::node::{Facts, Node};
use crate::project::lineage::standing::{Standing, Standings};

/// A metric on a data set.
pub(super) type Group<'a> = (&'a Label, &'a Label);

/// How a row is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// It counts.
    Counts,
    /// Newer evidence stands in its place.
    Superseded,
    /// It is tainted.
    Tainted,
    /// It was found wrong.
    Invalid,
}

/// One value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Value<'a> {
    pub(super) value: &'a Decimal,
    pub(super) spread: Option<&'a Decimal>,
    pub(super) n: Option<u64>,
    pub(super) mark: Mark,
}

/// The values of an experiment, by metric and data set, in the order in which they appeared.
#[derive(Debug, Default)]
pub(super) struct Measured<'a> {
    pub(super) groups: Vec<(Group<'a>, Vec<Value<'a>>)>,
}

impl<'a> Measured<'a> {
    fn push(&mut self, group: Group<'a>, value: Value<'a>) {
        match self.groups.iter_mut().find(|(found, _)| *found == group) {
            Some((_, values)) => values.push(value),
            None => self.groups.push((group, vec![value])),
        }
    }

    /// The mean of what counts in a group.
    pub(super) fn mean(&self, group: Group<'_>) -> Option<Mean> {
        let (_, values) = self.groups.iter().find(|(found, _)| *found == group)?;
        Mean::of(values.iter().filter(|value| value.mark == Mark::Counts).map(|value| value.value))
    }
}

/// What a metric on a data set looks like over the whole graph.
#[derive(Debug, Clone)]
pub(super) struct Scope<'a> {
    pub(super) direction: Direction,
    pub(super) low: &'a Decimal,
    pub(super) high: &'a Decimal,
    pub(super) rows: usize,
    /// The experiment that others are compared with, by index.
    pub(super) baseline: Option<usize>,
}

/// How many trials of an experiment have no result.
#[derive(Debug, Default)]
pub(super) struct Runs {
    pub(super) running: usize,
    pub(super) failed: usize,
    pub(super) stopped: usize,
    pub(super) lost: usize,
}

/// Everything measured.
#[derive(Debug, Default)]
pub(super) struct Measures<'a> {
    pub(super) by_experiment: BTreeMap<usize, Measured<'a>>,
    pub(super) runs: BTreeMap<usize, Runs>,
    pub(super) scopes: BTreeMap<Group<'a>, Scope<'a>>,
}

/// Gathers every row in one pass. The baseline is what the last promotion was compared with, else the experiment with
/// the first row that counts.
pub(super) fn measures<'a>(graph: &'a Graph, standings: &Standings) -> Measures<'a> {
    let mut found = Measures::default();
    for node in graph.nodes() {
        match &node.facts {
            Facts::Trial(trial) => {
                let Some(experiment) = graph.experiment_of(node) else { continue };
                let runs = found.runs.entry(experiment.index).or_default();
                match trial.ended.as_ref().map(|later| later.event.end) {
                    None => runs.running += 1,
                    Some(TrialEnd::Ok) => {}
                    Some(TrialEnd::Failed) => runs.failed += 1,
                    Some(TrialEnd::Stopped) => runs.stopped += 1,
                    Some(TrialEnd::Lost) => runs.lost += 1,
                }
            }
            Facts::Evidence(_) => row(&mut found, graph, standings, node),
            Facts::Promotion(_) => {
                for edge in graph.edges_of(node).filter(|edge| edge.kind == EdgeKind::Contrast) {
                    let experiment = graph.experiment_of(edge.to).map(|experiment| experiment.index);
                    let scope = group(edge.to).and_then(|group| found.scopes.get_mut(&group));
                    if let Some(scope) = scope.filter(|_| experiment.is_some()) {
                        scope.baseline = experiment;
                    }
                }
            }
            Facts::Metric(_)
            | Facts::Dataset(_)
            | Facts::Hypothesis(_)
            | Facts::Experiment(_)
            | Facts::Gate(_) => {}
        }
    }
    found
}

fn group(node: &Node) -> Option<Group<'_>> {
    let Facts::Evidence(evidence) = &node.facts else { return None };
    evidence.recorded.metric.as_ref().map(|row| (&row.metric, &row.dataset))
}

fn row<'a>(found: &mut Measures<'a>, graph: &'a Graph, standings: &Standings, node: &'a Node) {
    let Facts::Evidence(evidence) = &node.facts else { return };
    let (Some(row), Some(experiment)) = (&evidence.recorded.metric, graph.experiment_of(node)) else {
        return;
    };
    let Some(Facts::Metric(metric)) = graph.target(node, EdgeKind::Measures).map(|metric| &metric.facts)
    else {
        return;
    };
    let mark = match (standings.of(node).standing, &evidence.superseded) {
        (Standing::Invalid, _) => Mark::Invalid,
        (Standing::Tainted | Standing::Unsupported, _) => Mark::Tainted,
        (Standing::Valid | Standing::Reduced, Some(_)) => Mark::Superseded,
        (Standing::Valid | Standing::Reduced, None) => Mark::Counts,
    };
    let group = (&row.metric, &row.dataset);
    let value = Value { value: &row.value, spread: row.spread.as_ref(), n: row.n, mark };
    let scope = found.scopes.entry(group).or_insert(Scope {
        direction: metric.direction,
        low: &row.value,
        high: &row.value,
        rows: 0,
        baseline: None,
    });
    scope.low = scope.low.min(&row.value);
    scope.high = scope.high.max(&row.value);
    scope.rows += 1;
    if mark == Mark::Counts {
        scope.baseline.get_or_insert(experiment.index);
    }
    found.by_experiment.entry(experiment.index).or_default().push(group, value);
}
