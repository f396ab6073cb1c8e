//! The graph, built by one forward pass over the log.

use std::collections::BTreeMap;

use serde::Serialize;

use super::edge::{Edge, EdgeKind, Link};
use super::node::{EvidenceFacts, Facts, GateFacts, Later, Node, NodeId, TrialFacts};
use crate::event::{
    Event, EvidenceRecorded, ExperimentRegistered, GateOpened, GoalChange, HypothesisProposed,
    PromotionRecorded, Subject, TodoChange, TrialStarted,
};
use crate::hash::Hash;
use crate::id::{GoalId, Seq, TodoId};
use crate::state::At;
use crate::text::Text;

/// An event that does not fit the graph. No program of this version writes one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// It refers to something that is not in the log before it.
    #[error("record #{seq}: {event} refers to {target}, which is not in the log before it")]
    Dangling {
        /// The record.
        seq: Seq,
        /// The kind of the event.
        event: &'static str,
        /// What it refers to.
        target: NodeId,
    },
    /// It brings something that is there already.
    #[error("record #{seq}: {event} brings {id}, which is in the log already")]
    Duplicate {
        /// The record.
        seq: Seq,
        /// The kind of the event.
        event: &'static str,
        /// What it brings.
        id: NodeId,
    },
}

/// A goal whose work is in the graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GraphGoal {
    /// Its name.
    pub goal: GoalId,
    /// Its objective, as of the end.
    pub objective: Text,
}

/// What was tried, measured, asked and promoted, up to some record.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    index: BTreeMap<NodeId, usize>,
    todos: BTreeMap<TodoId, Text>,
    objectives: BTreeMap<GoalId, Text>,
    as_of: Seq,
    head: Hash,
}

/// The record that an event stands in, as far as errors and nodes need it.
struct Context<'a> {
    at: &'a At,
    event: &'static str,
}

impl Context<'_> {
    fn later<T>(&self, event: T) -> Later<T> {
        Later { seq: self.at.seq, ts: self.at.ts, actor: self.at.actor.clone(), event }
    }
}

impl Graph {
    /// Takes in the events of one record. Records come in the order of the log, from genesis.
    ///
    /// # Errors
    /// [`GraphError`]: an event does not fit. The events before it are in the graph; the caller should stop.
    pub fn record(&mut self, at: &At, hash: &Hash, events: &[Event]) -> Result<(), GraphError> {
        self.as_of = at.seq;
        self.head = *hash;
        for event in events {
            self.event(&Context { at, event: event.kind() }, event)?;
        }
        Ok(())
    }

    /// The last record taken in.
    #[must_use]
    pub const fn as_of(&self) -> Seq {
        self.as_of
    }

    /// Its hash.
    #[must_use]
    pub const fn head(&self) -> Hash {
        self.head
    }

    /// Goals that some node belongs to, by name.
    #[must_use]
    pub fn goals(&self) -> Vec<GraphGoal> {
        let used: std::collections::BTreeSet<&GoalId> = self.nodes().filter_map(Node::goal).collect();
        self.objectives
            .iter()
            .filter(|(goal, _)| used.contains(goal))
            .map(|(goal, objective)| GraphGoal { goal: goal.clone(), objective: objective.clone() })
            .collect()
    }

    /// Every node, in the order of the log.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.is_shown())
    }

    /// Every edge, in the order of the nodes that refer.
    pub fn edges(&self) -> impl Iterator<Item = Edge<'_>> {
        self.nodes().flat_map(|node| self.edges_of(node))
    }

    /// What a node refers to.
    pub fn edges_of<'a>(&'a self, from: &'a Node) -> impl Iterator<Item = Edge<'a>> {
        from.links.iter().filter_map(move |link| {
            let to = self.nodes.get(link.to)?;
            Some(Edge { from, to, kind: link.kind })
        })
    }

    /// A node by name.
    #[must_use]
    pub fn node(&self, id: &NodeId) -> Option<&Node> {
        self.index.get(id).and_then(|index| self.nodes.get(*index)).filter(|node| node.is_shown())
    }

    /// The title of a todo.
    #[must_use]
    pub fn todo(&self, id: TodoId) -> Option<&Text> {
        self.todos.get(&id)
    }

    /// The first node that `node` refers to in this way.
    #[must_use]
    pub fn target(&self, node: &Node, kind: EdgeKind) -> Option<&Node> {
        node.links.iter().find(|link| link.kind == kind).and_then(|link| self.nodes.get(link.to))
    }

    /// The experiment that a row or a trial comes from, or the node itself if it is one.
    #[must_use]
    pub fn experiment_of<'a>(&'a self, node: &'a Node) -> Option<&'a Node> {
        match &node.facts {
            Facts::Experiment(_) => Some(node),
            Facts::Trial(_) => self.target(node, EdgeKind::TrialOf),
            Facts::Evidence(_) => {
                self.target(node, EdgeKind::GeneratedBy).and_then(|trial| self.experiment_of(trial))
            }
            Facts::Metric(_)
            | Facts::Dataset(_)
            | Facts::Hypothesis(_)
            | Facts::Gate(_)
            | Facts::Promotion(_) => None,
        }
    }

    /// Every node with those not shown, so that a place in it is an index.
    pub(super) fn all(&self) -> &[Node] {
        &self.nodes
    }

    fn event(&mut self, at: &Context<'_>, event: &Event) -> Result<(), GraphError> {
        match event {
            Event::MetricDefined(e) => {
                self.add(at, NodeId::Metric(e.metric.clone()), Facts::Metric(e.clone()), Vec::new())
            }
            Event::DatasetRegistered(e) => {
                self.add(at, NodeId::Dataset(e.dataset.clone()), Facts::Dataset(e.clone()), Vec::new())
            }
            Event::HypothesisProposed(e) => self.hypothesis(at, e),
            Event::ExperimentRegistered(e) => self.experiment(at, e),
            Event::TrialStarted(e) => self.trial(at, e),
            Event::EvidenceRecorded(e) => self.evidence(at, e),
            Event::GateOpened(e) => self.gate(at, e),
            Event::PromotionRecorded(e) => self.promotion(at, e),
            Event::TrialEnded(_)
            | Event::EvidenceInvalidated(_)
            | Event::EvidenceSuperseded(_)
            | Event::GateDecided(_)
            | Event::GateWithdrawn(_) => self.amend(at, event),
            Event::GoalStarted(_) | Event::GoalChanged(_) | Event::TodoAdded(_) | Event::TodoChanged(_) => {
                self.label(event);
                Ok(())
            }
            Event::LedgerCreated(_)
            | Event::LedgerRecovered(_)
            | Event::ClockJumped(_)
            | Event::LedgerSealed(_)
            | Event::AgentRegistered(_)
            | Event::SecretAllowed(_)
            | Event::AgentChanged(_)
            | Event::AgentRetired(_)
            | Event::OwnerRegistered(_)
            | Event::OwnerRevoked(_)
            | Event::GateRevoked(_)
            | Event::GoalPaused(_)
            | Event::GoalResumed(_)
            | Event::GoalCompleted(_)
            | Event::GoalAbandoned(_)
            | Event::TodoBlocked(_)
            | Event::TodoDeferred(_)
            | Event::TodoReopened(_)
            | Event::TodoCompleted(_)
            | Event::TodoSuperseded(_)
            | Event::TodoCancelled(_)
            | Event::ClaimTaken(_)
            | Event::ClaimReleased(_)
            | Event::ClaimHandedOver(_)
            | Event::ClaimDelegated(_)
            | Event::LeaseGranted(_)
            | Event::LeaseRenewed(_)
            | Event::LeaseReleased(_)
            | Event::LeaseTakenOver(_)
            | Event::AcceptanceMet(_)
            | Event::AcceptanceReopened(_)
            | Event::TurnOpened(_)
            | Event::TurnClosed(_)
            | Event::QuotaSet(_)
            | Event::QuotaSpent(_)
            | Event::QuotaBudgeted(_)
            | Event::QuotaVoided(_)
            | Event::MonitorPolled(_)
            | Event::StateRefreshed(_) => Ok(()),
        }
    }

    fn add(
        &mut self,
        context: &Context<'_>,
        id: NodeId,
        facts: Facts,
        links: Vec<Link>,
    ) -> Result<(), GraphError> {
        let (seq, index) = (context.at.seq, self.nodes.len());
        if self.index.contains_key(&id) {
            return Err(GraphError::Duplicate { seq, event: context.event, id });
        }
        self.index.insert(id.clone(), index);
        let (ts, actor) = (context.at.ts, context.at.actor.clone());
        self.nodes.push(Node { id, seq, ts, actor, facts, index, links });
        Ok(())
    }

    fn link(&self, context: &Context<'_>, kind: EdgeKind, target: NodeId) -> Result<Link, GraphError> {
        match self.index.get(&target) {
            Some(to) => Ok(Link { to: *to, kind }),
            None => Err(GraphError::Dangling { seq: context.at.seq, event: context.event, target }),
        }
    }

    fn links(
        &self,
        context: &Context<'_>,
        kind: EdgeKind,
        targets: impl IntoIterator<Item = NodeId>,
    ) -> Result<Vec<Link>, GraphError> {
        targets.into_iter().map(|target| self.link(context, kind, target)).collect()
    }

    fn hypothesis(&mut self, at: &Context<'_>, e: &HypothesisProposed) -> Result<(), GraphError> {
        let links = self.links(at, EdgeKind::Refines, e.refines.iter().map(|id| NodeId::Hypothesis(*id)))?;
        self.add(at, NodeId::Hypothesis(e.id), Facts::Hypothesis(e.clone()), links)
    }

    fn experiment(&mut self, at: &Context<'_>, e: &ExperimentRegistered) -> Result<(), GraphError> {
        let mut links = vec![self.link(at, EdgeKind::Tests, NodeId::Hypothesis(e.tests))?];
        links.extend(self.links(at, EdgeKind::Uses, e.datasets.iter().cloned().map(NodeId::Dataset))?);
        links.extend(self.links(at, EdgeKind::StartsFrom, e.starts_from.map(NodeId::Promotion))?);
        self.add(at, NodeId::Experiment(e.id), Facts::Experiment(e.clone()), links)
    }

    fn trial(&mut self, at: &Context<'_>, e: &TrialStarted) -> Result<(), GraphError> {
        let links = vec![self.link(at, EdgeKind::TrialOf, NodeId::Experiment(e.experiment))?];
        let facts = TrialFacts { started: e.clone(), ended: None };
        self.add(at, NodeId::Trial(e.id), Facts::Trial(Box::new(facts)), links)
    }

    fn evidence(&mut self, at: &Context<'_>, e: &EvidenceRecorded) -> Result<(), GraphError> {
        let links = match (&e.metric, &e.about) {
            (Some(row), _) => vec![
                self.link(at, EdgeKind::GeneratedBy, NodeId::Trial(row.trial))?,
                self.link(at, EdgeKind::MeasuredOn, NodeId::Dataset(row.dataset.clone()))?,
                self.link(at, EdgeKind::Measures, NodeId::Metric(row.metric.clone()))?,
            ],
            (None, Subject::Trial(trial)) => vec![self.link(at, EdgeKind::About, NodeId::Trial(*trial))?],
            (None, Subject::Gate(gate)) => vec![self.link(at, EdgeKind::About, NodeId::Gate(*gate))?],
            (None, Subject::Todo(_) | Subject::Goal(_)) => Vec::new(),
        };
        let facts = EvidenceFacts { recorded: e.clone(), invalidated: None, superseded: None, cited: false };
        self.add(at, NodeId::Evidence(e.id), Facts::Evidence(Box::new(facts)), links)
    }

    fn gate(&mut self, at: &Context<'_>, e: &GateOpened) -> Result<(), GraphError> {
        let links = self.links(at, EdgeKind::LooksAt, e.evidence.iter().map(|id| NodeId::Evidence(*id)))?;
        self.mark_cited(&links);
        let facts = GateFacts { opened: e.clone(), decided: None, withdrawn: None };
        self.add(at, NodeId::Gate(e.id), Facts::Gate(Box::new(facts)), links)
    }

    fn promotion(&mut self, at: &Context<'_>, e: &PromotionRecorded) -> Result<(), GraphError> {
        let mut links = vec![self.link(at, EdgeKind::DecidedBy, NodeId::Gate(e.gate))?];
        links.extend(self.links(at, EdgeKind::Cites, e.cites.iter().map(|id| NodeId::Evidence(*id)))?);
        links.extend(self.links(
            at,
            EdgeKind::Contrast,
            e.contrast.iter().map(|id| NodeId::Evidence(*id)),
        )?);
        links.extend(self.links(at, EdgeKind::Replaces, e.replaces.map(NodeId::Promotion))?);
        self.mark_cited(&links);
        self.add(at, NodeId::Promotion(e.id), Facts::Promotion(Box::new(e.clone())), links)
    }

    fn mark_cited(&mut self, links: &[Link]) {
        for link in links {
            if let Some(Facts::Evidence(evidence)) = self.nodes.get_mut(link.to).map(|node| &mut node.facts) {
                evidence.cited = true;
            }
        }
    }

    /// What happens to a node later. The first invalidation and the last answer count.
    fn amend(&mut self, at: &Context<'_>, event: &Event) -> Result<(), GraphError> {
        if let Event::EvidenceSuperseded(e) = event {
            self.facts(at, NodeId::Evidence(e.by))?;
        }
        let target = match event {
            Event::TrialEnded(e) => NodeId::Trial(e.id),
            Event::EvidenceInvalidated(e) => NodeId::Evidence(e.id),
            Event::EvidenceSuperseded(e) => NodeId::Evidence(e.id),
            Event::GateDecided(e) => NodeId::Gate(e.id),
            Event::GateWithdrawn(e) => NodeId::Gate(e.id),
            _ => return Ok(()),
        };
        match (self.facts(at, target)?, event) {
            (Facts::Trial(trial), Event::TrialEnded(e)) => trial.ended = Some(at.later(e.clone())),
            (Facts::Evidence(evidence), Event::EvidenceInvalidated(e)) => {
                evidence.invalidated.get_or_insert_with(|| at.later(e.clone()));
            }
            (Facts::Evidence(evidence), Event::EvidenceSuperseded(e)) => {
                evidence.superseded.get_or_insert_with(|| at.later(e.clone()));
            }
            (Facts::Gate(gate), Event::GateDecided(e)) => gate.decided = Some(at.later(e.clone())),
            (Facts::Gate(gate), Event::GateWithdrawn(e)) => gate.withdrawn = Some(at.later(e.clone())),
            _ => {}
        }
        Ok(())
    }

    fn facts(&mut self, context: &Context<'_>, target: NodeId) -> Result<&mut Facts, GraphError> {
        let place = self.index.get(&target).copied();
        match place.and_then(|index| self.nodes.get_mut(index)) {
            Some(node) => Ok(&mut node.facts),
            None => Err(GraphError::Dangling { seq: context.at.seq, event: context.event, target }),
        }
    }

    /// Names that nodes are shown with.
    fn label(&mut self, event: &Event) {
        match event {
            Event::GoalStarted(e) => {
                self.objectives.insert(e.goal.clone(), e.objective.clone());
            }
            Event::GoalChanged(e) => {
                for change in &e.changes {
                    if let GoalChange::Objective { new, .. } = change {
                        self.objectives.insert(e.goal.clone(), new.clone());
                    }
                }
            }
            Event::TodoAdded(e) => {
                self.todos.insert(e.id, e.spec.title.clone());
            }
            Event::TodoChanged(e) => {
                for change in &e.changes {
                    if let TodoChange::Title { new, .. } = change {
                        self.todos.insert(e.id, new.clone());
                    }
                }
            }
            _ => {}
        }
    }
}
