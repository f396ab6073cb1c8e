//! The legend: what lines, borders, dots and numbers mean.

use super::card::{Anchor, Ink, Line};
use super::layout::{MARGIN, Rect};
use super::measure::Mark;
use super::place::WireKind;
use super::text::{Font, width};
use crate::event::{Direction, Split};
use crate::project::lineage::graph::Graph;
use crate::project::lineage::node::Facts;
use crate::project::lineage::standing::Standing;

/// Width of a sign.
pub(super) const SIGN_W: i32 = 30;
const LINE_H: i32 = 22;

/// What a legend entry shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// A wire.
    Wire(WireKind),
    /// Border and hatching of a standing.
    Standing(Standing),
    /// A replicate.
    Dot(Mark),
    /// The mean of the baseline on a strip.
    Baseline,
    /// Nothing but words.
    Words,
}

/// A sign and its words.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) rect: Rect,
    pub(super) sign: Sign,
    pub(super) line: Line,
}

/// The legend from `top` down, and the height of the whole picture.
pub(super) fn lay(top: i32, picture_width: i32) -> (Vec<Entry>, i32) {
    let (mut entries, mut y) = (Vec::new(), top);
    let wires = WireKind::ALL.map(|kind| (Sign::Wire(kind), wire_words(kind)));
    let standings = Standing::ALL.map(|standing| (Sign::Standing(standing), standing_words(standing)));
    let dots = [
        (Sign::Dot(Mark::Counts), "run that counts"),
        (Sign::Dot(Mark::Superseded), "superseded"),
        (Sign::Dot(Mark::Tainted), "tainted"),
        (Sign::Dot(Mark::Invalid), "invalid"),
        (Sign::Baseline, "mean of the baseline"),
    ];
    let words = [
        (
            Sign::Words,
            "± is the largest spread of a run, n the observations of a run, × the runs; big numbers are means",
        ),
        (
            Sign::Words,
            "every strip runs from the lowest to the highest value of its metric and data set in this picture",
        ),
        (
            Sign::Words,
            "diamonds are questions to a human, a double border is a promotion, dashes around a hypothesis: not tried",
        ),
    ];
    for group in [&wires[..], &standings[..], &dots[..], &words[..]] {
        y = flow(&mut entries, group, y, picture_width) + LINE_H;
    }
    (entries, y + MARGIN - 8)
}

/// Lays entries side by side and wraps them; returns the top of the last line.
fn flow(entries: &mut Vec<Entry>, group: &[(Sign, &str)], top: i32, picture_width: i32) -> i32 {
    let (mut x, mut y) = (MARGIN, top);
    for (sign, text) in group {
        let sign_w = if *sign == Sign::Words { 0 } else { SIGN_W + 8 };
        let w = sign_w + width(text, Font::Sans, 11);
        if x > MARGIN && x + w > picture_width - MARGIN {
            (x, y) = (MARGIN, y + LINE_H);
        }
        let (font, ink, anchor) = (Font::Sans, Ink::Muted, Anchor::Start);
        let line = Line { x: x + sign_w, y: y + 14, size: 11, font, ink, anchor, text: (*text).to_owned() };
        entries.push(Entry { rect: Rect { x, y, w, h: LINE_H - 4 }, sign: *sign, line });
        x += w + 22;
    }
    y
}

const fn wire_words(kind: WireKind) -> &'static str {
    match kind {
        WireKind::Hard => "decides, or is the start of",
        WireKind::Support => "is evidence for",
        WireKind::Contrast => "is the baseline of",
        WireKind::Idea => "inspires (conducts nothing)",
        WireKind::Succession => "is replaced by",
    }
}

const fn standing_words(standing: Standing) -> &'static str {
    match standing {
        Standing::Valid => "valid",
        Standing::Reduced => "reduced: some evidence is gone",
        Standing::Tainted => "tainted: made from what no longer stands",
        Standing::Unsupported => "unsupported: its evidence is gone",
        Standing::Invalid => "invalid: found wrong",
    }
}

/// What was measured on what, in a sentence.
pub(super) fn measured(graph: &Graph) -> String {
    let (mut metrics, mut datasets) = (Vec::new(), Vec::new());
    for node in graph.nodes() {
        match &node.facts {
            Facts::Metric(metric) => {
                let better = match metric.direction {
                    Direction::Maximize => "more is better",
                    Direction::Minimize => "less is better",
                };
                metrics.push(format!("{} ({}, {better})", metric.metric, metric.unit));
            }
            Facts::Dataset(dataset) => {
                let split = match dataset.split {
                    Split::Train => "train",
                    Split::Dev => "dev",
                    Split::Holdout => "hold-out",
                    Split::Serving => "serving",
                };
                datasets.push(format!("{} ({split}, {} rows)", dataset.dataset, dataset.rows));
            }
            Facts::Hypothesis(_)
            | Facts::Experiment(_)
            | Facts::Trial(_)
            | Facts::Evidence(_)
            | Facts::Gate(_)
            | Facts::Promotion(_) => {}
        }
    }
    if metrics.is_empty() {
        return String::new();
    }
    format!("Measured: {} on {}", metrics.join(", "), datasets.join(", "))
}
