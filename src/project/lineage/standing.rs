//! Standing: what of the graph still holds, as of the end of the prefix. One scan in the order of the log.

use serde::Serialize;

use super::edge::{Class, EdgeKind};
use super::graph::Graph;
use super::node::{Facts, Kind, Node};
use crate::id::Seq;

/// Whether a node still holds, from best to worst.
///
/// Between reduced and tainted there is room for *suspect*, which no event produces yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It holds.
    Valid,
    /// It holds on less than it was given.
    Reduced,
    /// Something that it is made from does not hold.
    Tainted,
    /// A claim whose support is gone.
    Unsupported,
    /// It was found wrong.
    Invalid,
}

impl Standing {
    /// Every standing, from best to worst.
    pub const ALL: [Self; 5] = [Self::Valid, Self::Reduced, Self::Tainted, Self::Unsupported, Self::Invalid];

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Reduced => "reduced",
            Self::Tainted => "tainted",
            Self::Unsupported => "unsupported",
            Self::Invalid => "invalid",
        }
    }

    /// Whether a claim may still rest on it.
    #[must_use]
    pub const fn survives(self) -> bool {
        match self {
            Self::Valid | Self::Reduced => true,
            Self::Tainted | Self::Unsupported | Self::Invalid => false,
        }
    }
}

/// A standing, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Assessed {
    /// The standing.
    pub standing: Standing,
    /// The record since which it is so.
    pub since: Seq,
    /// The record since which nothing may rest on it.
    #[serde(skip)]
    pub(super) lost: Option<Seq>,
    /// The parent that taints it.
    #[serde(skip)]
    pub(super) through: Option<usize>,
}

/// The standing of every node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standings {
    assessed: Vec<Assessed>,
}

impl Standings {
    /// The standing of a node of the same graph.
    #[must_use]
    pub fn of(&self, node: &Node) -> Assessed {
        let none = Assessed { standing: Standing::Valid, since: node.seq, lost: None, through: None };
        self.assessed.get(node.index).copied().unwrap_or(none)
    }
}

impl Graph {
    /// The standing of every node as of the end of the prefix.
    ///
    /// Invalid: found wrong itself. Tainted: a hard parent is invalid or tainted, or is a promotion without support.
    /// A promotion or gate whose evidence is partly lost is reduced; it is unsupported once no cited evidence is left,
    /// or once it was compared with rows of which none is left. Lost evidence is invalid or tainted evidence.
    #[must_use]
    pub fn standings(&self) -> Standings {
        let mut assessed: Vec<Assessed> = Vec::with_capacity(self.all().len());
        for node in self.all() {
            let next = assess(self, node, &assessed);
            assessed.push(next);
        }
        Standings { assessed }
    }
}

/// Judges a node whose parents are judged. Nothing becomes better again as long as no event reinstates anything, so
/// each verdict has one record since which it holds.
fn assess(graph: &Graph, node: &Node, before: &[Assessed]) -> Assessed {
    let mut found = Assessed { standing: Standing::Valid, since: node.seq, lost: None, through: None };
    let mut meet = |standing: Standing, since: Option<Seq>| {
        let Some(since) = since.map(|seq| seq.max(node.seq)) else { return };
        if standing > found.standing || (standing == found.standing && since < found.since) {
            (found.standing, found.since) = (standing, since);
        }
        if !standing.survives() {
            found.lost = Some(found.lost.map_or(since, |lost| lost.min(since)));
        }
    };
    let support = Losses::of(node, EdgeKind::Cites, before).and(node, EdgeKind::LooksAt, before);
    let contrast = Losses::of(node, EdgeKind::Contrast, before);
    meet(Standing::Reduced, support.first.into_iter().chain(contrast.first).min());
    let tainted = taint(graph, node, before);
    meet(Standing::Tainted, tainted.map(|(since, _)| since));
    meet(Standing::Unsupported, support.all().into_iter().chain(contrast.all()).min());
    if let Facts::Evidence(evidence) = &node.facts {
        meet(Standing::Invalid, evidence.invalidated.as_ref().map(|later| later.seq));
    }
    found.through = tainted.map(|(_, parent)| parent);
    found
}

/// The earliest record by which a hard parent taints the node, and the parent.
fn taint(graph: &Graph, node: &Node, before: &[Assessed]) -> Option<(Seq, usize)> {
    let hard = node.links.iter().filter(|link| link.kind.class() == Class::Hard);
    hard.filter_map(|link| {
        let parent = graph.all().get(link.to)?;
        // A gate is judged by a human and conducts nothing: a promotion answers for its own citations.
        let lost = before.get(link.to)?.lost.filter(|_| parent.kind() != Kind::Gate)?;
        Some((lost, link.to))
    })
    .min()
}

/// What happened to the evidence that a node refers to in one way.
#[derive(Default)]
struct Losses {
    cited: usize,
    lost: usize,
    first: Option<Seq>,
    last: Option<Seq>,
}

impl Losses {
    fn of(node: &Node, kind: EdgeKind, before: &[Assessed]) -> Self {
        Self::default().and(node, kind, before)
    }

    fn and(mut self, node: &Node, kind: EdgeKind, before: &[Assessed]) -> Self {
        for link in node.links.iter().filter(|link| link.kind == kind) {
            self.cited += 1;
            if let Some(lost) = before.get(link.to).and_then(|parent| parent.lost) {
                self.lost += 1;
                self.first = Some(self.first.map_or(lost, |first| first.min(lost)));
                self.last = self.last.max(Some(lost));
            }
        }
        self
    }

    /// The record by which everything was lost, if something was cited.
    fn all(&self) -> Option<Seq> {
        self.last.filter(|_| self.lost == self.cited)
    }
}

#[cfg(test)]
#[path = "standing_tests.rs"]
mod tests;
