//! What stands on a card. Places are in pixels from the corner of its cell.

use super::faces;
use super::measure::{Mark, Measures};
use super::text::{Font, fit, width, wrap};
use crate::project::lineage::graph::Graph;
use crate::project::lineage::node::{Facts, Node};
use crate::project::lineage::standing::{Standing, Standings};

/// Width of a cell.
pub(super) const CARD_W: i32 = 184;
/// Height of a cell.
pub(super) const CARD_H: i32 = 188;
/// Height of the card of an untested hypothesis.
pub(super) const IDEA_H: i32 = 112;
/// Half the width of a gate's diamond.
pub(super) const GATE_HALF_W: i32 = 50;
/// Half its height.
pub(super) const GATE_HALF_H: i32 = 32;

/// Left end of the text.
pub(super) const LEFT: i32 = 15;
/// Right end of the text.
pub(super) const RIGHT: i32 = CARD_W - 10;
/// Width of the text.
pub(super) const ROOM: i32 = RIGHT - LEFT;

/// The colour of a text, by its part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    /// What is to be read.
    Main,
    /// What is said beside it.
    Muted,
    /// That something does not hold.
    Alarm,
}

/// Where a text begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    /// `x` is its left end.
    Start,
    /// `x` is its middle.
    Middle,
    /// `x` is its right end.
    End,
}

/// A line of text on its base line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) size: i32,
    pub(super) font: Font,
    pub(super) ink: Ink,
    pub(super) anchor: Anchor,
    pub(super) text: String,
}

/// The shape of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A hypothesis that was not tried.
    Idea,
    /// An experiment.
    Experiment,
    /// A gate.
    Gate,
    /// A promotion.
    Promotion,
}

/// A replicate on the strip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dot {
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) mark: Mark,
}

/// The replicates of a card: a line from `x` to `x + w` and dots on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Strip {
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) w: i32,
    pub(super) dots: Vec<Dot>,
    /// Where the mean of the baseline lies.
    pub(super) baseline: Option<i32>,
}

/// A card without its place.
#[derive(Debug)]
pub(super) struct Card {
    pub(super) shape: Shape,
    pub(super) standing: Standing,
    pub(super) height: i32,
    /// Everything in full, for a pointer that rests on it and for screen readers.
    pub(super) tooltip: String,
    pub(super) lines: Vec<Line>,
    pub(super) strip: Option<Strip>,
}

/// The card of a node.
pub(super) fn card(graph: &Graph, standings: &Standings, measures: &Measures<'_>, node: &Node) -> Card {
    let standing = standings.of(node).standing;
    let (shape, height) = match &node.facts {
        Facts::Gate(_) => (Shape::Gate, CARD_H),
        Facts::Promotion(_) => (Shape::Promotion, CARD_H),
        Facts::Experiment(_) => (Shape::Experiment, CARD_H),
        Facts::Hypothesis(_)
        | Facts::Metric(_)
        | Facts::Dataset(_)
        | Facts::Trial(_)
        | Facts::Evidence(_) => (Shape::Idea, IDEA_H),
    };
    let tooltip = format!("{} {} by {}: {}", node.id, standing.word(), node.actor, node.title());
    let mut card = Card { shape, standing, height, tooltip, lines: Vec::new(), strip: None };
    match shape {
        Shape::Idea => {
            card.heading(node);
            let y = card.paragraph(38, &node.title(), Font::Sans, 12, 4);
            card.line(y + 3, "not tried yet", Font::Sans, 11, Ink::Muted);
        }
        Shape::Experiment => faces::experiment(&mut card, graph, measures, node),
        Shape::Gate => faces::gate(&mut card, node),
        Shape::Promotion => faces::promotion(&mut card, graph, standings, measures, node),
    }
    card
}

impl Card {
    pub(super) fn line(&mut self, y: i32, text: &str, font: Font, size: i32, ink: Ink) {
        let text = fit(text, font, size, ROOM);
        self.lines.push(Line { x: LEFT, y, size, font, ink, anchor: Anchor::Start, text });
    }

    /// Several lines; the base line after the last.
    pub(super) fn paragraph(&mut self, y: i32, text: &str, font: Font, size: i32, most: usize) -> i32 {
        let mut y = y;
        for text in wrap(text, font, size, ROOM, most) {
            self.lines.push(Line { x: LEFT, y, size, font, ink: Ink::Main, anchor: Anchor::Start, text });
            y += size + 3;
        }
        y
    }

    /// Id and actor on the left, the standing on the right unless all is well.
    pub(super) fn heading(&mut self, node: &Node) {
        let mut room = ROOM;
        if self.standing != Standing::Valid {
            let text = self.standing.word().to_owned();
            room -= width(&text, Font::Bold, 10) + 6;
            let (font, ink, anchor) = (Font::Bold, Ink::Alarm, Anchor::End);
            self.lines.push(Line { x: RIGHT, y: 19, size: 10, font, ink, anchor, text });
        }
        let id = fit(&node.id.to_string(), Font::Bold, 12, room);
        let used = width(&id, Font::Bold, 12) + 6;
        let start = Anchor::Start;
        self.lines.push(Line {
            x: LEFT,
            y: 19,
            size: 12,
            font: Font::Bold,
            ink: Ink::Main,
            anchor: start,
            text: id,
        });
        let actor = fit(node.actor.name(), Font::Sans, 11, room - used);
        if actor != "…" {
            let (font, ink, x) = (Font::Sans, Ink::Muted, LEFT + used);
            self.lines.push(Line { x, y: 19, size: 11, font, ink, anchor: start, text: actor });
        }
    }

    pub(super) fn centred(&mut self, y: i32, text: &str, font: Font, size: i32, room: i32, ink: Ink) {
        let text = fit(text, font, size, room);
        self.lines.push(Line { x: CARD_W / 2, y, size, font, ink, anchor: Anchor::Middle, text });
    }
}
