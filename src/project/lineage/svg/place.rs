//! Which cards there are, and where: a lane for each lineage, a column further right than everything that led there.

use std::collections::{BTreeMap, BTreeSet};

use crate::project::lineage::edge::EdgeKind;
use crate::project::lineage::graph::Graph;
use crate::project::lineage::node::{Facts, Node};

/// What a wire between two cards means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum WireKind {
    /// Made from, decided by.
    Hard,
    /// Cited, looked at.
    Support,
    /// Compared with.
    Contrast,
    /// Refined.
    Idea,
    /// Replaced.
    Succession,
}

impl WireKind {
    /// Every kind, in the order of the legend.
    pub(super) const ALL: [Self; 5] =
        [Self::Hard, Self::Support, Self::Contrast, Self::Idea, Self::Succession];
}

/// A card and its place in the grid.
#[derive(Debug)]
pub(super) struct Item<'a> {
    pub(super) node: &'a Node,
    pub(super) lane: usize,
    pub(super) column: usize,
    /// Row, counted within the lane.
    pub(super) row: usize,
    /// Earlier cards that led here.
    pub(super) parents: BTreeSet<(usize, WireKind)>,
}

/// What a lane holds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Head<'a> {
    /// A hypothesis and those that descend from it.
    Lineage(&'a Node),
    /// Hypotheses that refine none and that none refines, side by side.
    Singles,
    /// Gates and promotions that rest on no experiment.
    Decisions,
}

/// A lane.
#[derive(Debug)]
pub(super) struct Lane<'a> {
    pub(super) head: Head<'a>,
    pub(super) rows: usize,
}

/// How many hypotheses that stand alone are placed side by side before the next row begins.
const SINGLES_WIDE: usize = 4;

/// Every card in order, and the lanes from top to bottom.
#[derive(Debug, Default)]
pub(super) struct Grid<'a> {
    pub(super) items: Vec<Item<'a>>,
    pub(super) lanes: Vec<Lane<'a>>,
    pub(super) columns: usize,
    /// Cells in use: lane, row, column.
    pub(super) taken: BTreeSet<(usize, usize, usize)>,
}

/// Names a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Lineage(usize),
    Singles,
    Decisions,
}

/// What is needed while cards are placed one after the other.
struct Placer<'a> {
    graph: &'a Graph,
    grid: Grid<'a>,
    /// The lane of each lineage, by the index of its root, and of what has none.
    lanes: BTreeMap<Key, usize>,
    /// Hypotheses in a lineage of more than one.
    related: BTreeSet<usize>,
    /// How many cells of the lane of singles are given.
    singles: usize,
    /// How many columns they take in the end.
    singles_wide: usize,
    /// The root of each hypothesis, by index.
    roots: BTreeMap<usize, usize>,
    /// The first card of each hypothesis, by index.
    anchors: BTreeMap<usize, usize>,
    /// The card of each experiment, gate and promotion, by index.
    cards: BTreeMap<usize, usize>,
    /// The first row of each lane's column that may be free.
    free: BTreeMap<(usize, usize), usize>,
}

/// Places every card, in the order of the log and in one pass.
pub(super) fn place(graph: &Graph) -> Grid<'_> {
    let tested: BTreeSet<usize> =
        graph.edges().filter(|edge| edge.kind == EdgeKind::Tests).map(|edge| edge.to.index).collect();
    let related = related(graph);
    let mut placer = Placer {
        graph,
        singles_wide: width_of_singles(graph, &tested, &related),
        grid: Grid::default(),
        lanes: BTreeMap::new(),
        related,
        singles: 0,
        roots: BTreeMap::new(),
        anchors: BTreeMap::new(),
        cards: BTreeMap::new(),
        free: BTreeMap::new(),
    };
    for node in graph.nodes() {
        match &node.facts {
            Facts::Hypothesis(_) => {
                placer.root(node);
                if !tested.contains(&node.index) {
                    placer.idea(node);
                }
            }
            Facts::Experiment(_) => placer.experiment(node),
            Facts::Gate(_) | Facts::Promotion(_) => placer.decision(node),
            Facts::Metric(_) | Facts::Dataset(_) | Facts::Trial(_) | Facts::Evidence(_) => {}
        }
    }
    placer.grid
}

impl<'a> Placer<'a> {
    fn root(&mut self, hypothesis: &'a Node) {
        let parent = self.graph.target(hypothesis, EdgeKind::Refines);
        let root = parent.and_then(|parent| self.roots.get(&parent.index)).copied();
        self.roots.insert(hypothesis.index, root.unwrap_or(hypothesis.index));
    }

    fn lane(&mut self, key: Key) -> usize {
        let next = self.grid.lanes.len();
        let lane = *self.lanes.entry(key).or_insert(next);
        if lane == next {
            let head = match key {
                Key::Lineage(root) => self.graph.all().get(root).map_or(Head::Singles, Head::Lineage),
                Key::Singles => Head::Singles,
                Key::Decisions => Head::Decisions,
            };
            self.grid.lanes.push(Lane { head, rows: 0 });
        }
        lane
    }

    /// The lane of a hypothesis.
    fn lane_of(&mut self, hypothesis: &Node) -> usize {
        let root = self.roots.get(&hypothesis.index).filter(|_| self.related.contains(&hypothesis.index));
        self.lane(root.map_or(Key::Singles, |root| Key::Lineage(*root)))
    }

    /// Wires from the first cards of the hypotheses that this one refines.
    fn refined(&self, hypothesis: &Node) -> BTreeSet<(usize, WireKind)> {
        let refined = self.graph.edges_of(hypothesis).filter(|edge| edge.kind == EdgeKind::Refines);
        refined
            .filter_map(|edge| self.anchors.get(&edge.to.index))
            .map(|card| (*card, WireKind::Idea))
            .collect()
    }

    fn idea(&mut self, hypothesis: &'a Node) {
        let parents = self.refined(hypothesis);
        let lane = self.lane_of(hypothesis);
        let card = self.put(hypothesis, lane, parents);
        self.anchors.insert(hypothesis.index, card);
    }

    fn experiment(&mut self, node: &'a Node) {
        let Some(hypothesis) = self.graph.target(node, EdgeKind::Tests) else { return };
        let mut parents = self.refined(hypothesis);
        let from = self.graph.target(node, EdgeKind::StartsFrom).and_then(|from| self.cards.get(&from.index));
        parents.extend(from.map(|card| (*card, WireKind::Hard)));
        let lane = self.lane_of(hypothesis);
        let card = self.put(node, lane, parents);
        self.anchors.entry(hypothesis.index).or_insert(card);
        self.cards.insert(node.index, card);
    }

    /// A gate or a promotion goes into the lane of what it rests on first.
    fn decision(&mut self, node: &'a Node) {
        let mut parents = BTreeSet::new();
        let mut lane = None;
        for edge in self.graph.edges_of(node) {
            let kind = match edge.kind {
                EdgeKind::DecidedBy => WireKind::Hard,
                EdgeKind::LooksAt | EdgeKind::Cites => WireKind::Support,
                EdgeKind::Contrast => WireKind::Contrast,
                EdgeKind::Replaces => WireKind::Succession,
                EdgeKind::Refines
                | EdgeKind::Tests
                | EdgeKind::Uses
                | EdgeKind::StartsFrom
                | EdgeKind::TrialOf
                | EdgeKind::GeneratedBy
                | EdgeKind::MeasuredOn
                | EdgeKind::Measures
                | EdgeKind::About => continue,
            };
            let source = self.graph.experiment_of(edge.to).unwrap_or(edge.to);
            let Some(card) = self.cards.get(&source.index).copied() else { continue };
            parents.insert((card, kind));
            if kind == WireKind::Support {
                lane = lane.or_else(|| self.grid.items.get(card).map(|item| item.lane));
            }
        }
        let lane = lane.unwrap_or_else(|| self.lane(Key::Decisions));
        let card = self.put(node, lane, parents);
        self.cards.insert(node.index, card);
    }

    /// Puts a card one column right of its furthest parent: in the row of its nearest parent in the lane if that
    /// cell is free, else in the first free row. Among hypotheses that stand alone, cards that nothing led to lie side
    /// by side, and what follows from them lies right of them all.
    fn put(&mut self, node: &'a Node, lane: usize, parents: BTreeSet<(usize, WireKind)>) -> usize {
        let is_singles = self.lanes.get(&Key::Singles) == Some(&lane);
        let items = &self.grid.items;
        let placed = |card: &usize| items.get(*card);
        let column = parents.iter().filter_map(|(card, _)| placed(card)).map(|item| item.column + 1).max();
        let near = parents.iter().filter_map(|(card, _)| placed(card)).filter(|item| item.lane == lane);
        let near = near.max_by_key(|item| (item.column, std::cmp::Reverse(item.row))).map(|item| item.row);
        let (mut column, mut near) = (column.unwrap_or(0), near);
        if is_singles && parents.is_empty() {
            (column, near) = (self.singles % SINGLES_WIDE, Some(self.singles / SINGLES_WIDE));
            self.singles += 1;
        } else if is_singles {
            column = column.max(self.singles_wide);
        }
        let first = self.free.entry((lane, column)).or_insert(0);
        while self.grid.taken.contains(&(lane, *first, column)) {
            *first += 1;
        }
        let row = near.filter(|row| !self.grid.taken.contains(&(lane, *row, column))).unwrap_or(*first);
        self.grid.taken.insert((lane, row, column));
        self.grid.columns = self.grid.columns.max(column + 1);
        if let Some(lane) = self.grid.lanes.get_mut(lane) {
            lane.rows = lane.rows.max(row + 1);
        }
        self.grid.items.push(Item { node, lane, column, row, parents });
        self.grid.items.len() - 1
    }
}

/// Hypotheses that refine one or that one refines.
fn related(graph: &Graph) -> BTreeSet<usize> {
    let refines = graph.edges().filter(|edge| edge.kind == EdgeKind::Refines);
    refines.flat_map(|edge| [edge.from.index, edge.to.index]).collect()
}

/// How many columns the cards take that stand alone and that nothing led to.
fn width_of_singles(graph: &Graph, tested: &BTreeSet<usize>, related: &BTreeSet<usize>) -> usize {
    let stands_alone = |node: &&Node| match &node.facts {
        Facts::Hypothesis(_) => !tested.contains(&node.index) && !related.contains(&node.index),
        Facts::Experiment(experiment) => {
            let hypothesis = graph.target(node, EdgeKind::Tests);
            experiment.starts_from.is_none()
                && hypothesis.is_some_and(|found| !related.contains(&found.index))
        }
        Facts::Metric(_)
        | Facts::Dataset(_)
        | Facts::Trial(_)
        | Facts::Evidence(_)
        | Facts::Gate(_)
        | Facts::Promotion(_) => false,
    };
    graph.nodes().filter(stands_alone).take(SINGLES_WIDE).count()
}
