//! Cards, lanes, wires and words in pixels. Everything that is drawn is here, so that a test can see that nothing
//! overlaps.

use std::collections::BTreeSet;

use super::card::{Anchor, CARD_H, CARD_W, Card, GATE_HALF_H, GATE_HALF_W, IDEA_H, Ink, Line, Shape, card};
use super::legend;
use super::measure::measures;
use super::place::{Grid, Head, Item, WireKind, place};
use super::route::{Scale, TRACK, Tracks, corners, plan};
use super::text::{Font, clean, wrap};
use crate::project::lineage::graph::Graph;
use crate::project::lineage::json::Counts;
use crate::project::lineage::node::Kind;
use crate::project::lineage::standing::Standings;

/// Room around everything.
pub(super) const MARGIN: i32 = 18;
/// Narrowest picture, so that header and legend stay readable.
const MIN_WIDTH: i32 = 760;
const LANE_HEAD: i32 = 40;
const LANE_FOOT: i32 = 16;
const LANE_GAP: i32 = 12;

/// A rectangle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rect {
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) w: i32,
    pub(super) h: i32,
}

/// A card in its place.
#[derive(Debug)]
pub(super) struct Cell {
    pub(super) rect: Rect,
    pub(super) card: Card,
}

/// A wire in its place.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) kind: WireKind,
    pub(super) points: Vec<(i32, i32)>,
}

/// Everything that is drawn.
#[derive(Debug)]
pub(super) struct Picture {
    pub(super) width: i32,
    pub(super) height: i32,
    pub(super) title: String,
    pub(super) description: String,
    pub(super) lanes: Vec<Rect>,
    pub(super) cells: Vec<Cell>,
    pub(super) wires: Vec<Wire>,
    /// Header and lane headings.
    pub(super) lines: Vec<Line>,
    pub(super) legend: Vec<legend::Entry>,
}

/// Where columns and rows begin.
struct Frame {
    columns: Vec<i32>,
    gutters: Vec<i32>,
    /// For each lane and row: the top of its channel and of its cards.
    rows: Vec<Vec<(i32, i32)>>,
}

impl Scale for Frame {
    fn column_x(&self, column: usize) -> i32 {
        self.columns.get(column).copied().unwrap_or(MARGIN)
    }

    fn gutter_x(&self, gutter: usize) -> i32 {
        self.gutters.get(gutter).copied().unwrap_or(MARGIN)
    }

    fn row_y(&self, lane: usize, row: usize) -> i32 {
        self.rows.get(lane).and_then(|rows| rows.get(row)).map_or(0, |(_, cards)| *cards)
    }

    fn channel_y(&self, lane: usize, row: usize) -> i32 {
        self.rows.get(lane).and_then(|rows| rows.get(row)).map_or(0, |(channel, _)| *channel)
    }

    fn card_width(&self) -> i32 {
        CARD_W
    }

    fn inset(&self, item: &Item<'_>, off: i32) -> i32 {
        match item.node.kind() {
            Kind::Gate => CARD_W / 2 - GATE_HALF_W + GATE_HALF_W * off.abs() / GATE_HALF_H,
            _ => 0,
        }
    }
}

/// Lays the whole graph out.
pub(super) fn layout(graph: &Graph) -> Picture {
    let standings = graph.standings();
    let measures = measures(graph, &standings);
    let grid = place(graph);
    let (plans, tracks) = plan(&grid);
    let (columns, gutters, right) = columns(&grid, &tracks);
    let width = (right + MARGIN).max(MIN_WIDTH);
    let (title, description) = words(graph, &standings);
    let (mut lines, top) = header(graph, &title, &description, width);
    let (rows, lanes, bottom) = lanes(&grid, &tracks, &mut lines, top, width);
    let frame = Frame { columns, gutters, rows };
    let cells = grid
        .items
        .iter()
        .map(|item| {
            let card = card(graph, &standings, &measures, item.node);
            let (x, y) = (frame.column_x(item.column), frame.row_y(item.lane, item.row));
            Cell { rect: Rect { x, y, w: CARD_W, h: card.height }, card }
        })
        .collect();
    let wires =
        plans.iter().map(|plan| Wire { kind: plan.kind, points: corners(plan, &grid, &frame) }).collect();
    let (legend, height) = legend::lay(bottom + 8, width);
    Picture { width, height, title, description, lanes, cells, wires, lines, legend }
}

fn columns(grid: &Grid<'_>, tracks: &Tracks) -> (Vec<i32>, Vec<i32>, i32) {
    let (mut columns, mut gutters, mut x) = (Vec::new(), Vec::new(), MARGIN);
    for column in 0..grid.columns {
        gutters.push(x);
        x += if column == 0 { 12 } else { 15 + TRACK * tracks.in_gutter(column).max(1) };
        columns.push(x);
        x += CARD_W;
    }
    (columns, gutters, x + 12)
}

type Rows = Vec<Vec<(i32, i32)>>;

fn lanes(
    grid: &Grid<'_>,
    tracks: &Tracks,
    lines: &mut Vec<Line>,
    top: i32,
    width: i32,
) -> (Rows, Vec<Rect>, i32) {
    let (mut rows, mut lanes, mut y) = (Vec::new(), Vec::new(), top);
    // A row with nothing but untested hypotheses is lower.
    let full = grid.items.iter().filter(|item| item.node.kind() != Kind::Hypothesis);
    let tall: BTreeSet<(usize, usize)> = full.map(|item| (item.lane, item.row)).collect();
    for (number, lane) in grid.lanes.iter().enumerate() {
        let start = y;
        let heading = match lane.head {
            Head::Lineage(root) => format!("Lineage of {}: {}", root.id, root.title()),
            Head::Singles => "Hypotheses that stand alone".to_owned(),
            Head::Decisions => "Decisions that rest on no experiment".to_owned(),
        };
        // Wires cross a lane's head only right of the first column.
        for text in wrap(&heading, Font::Bold, 10, CARD_W, 2) {
            y += 14;
            let (font, ink, anchor, x) = (Font::Bold, Ink::Muted, Anchor::Start, MARGIN + 12);
            lines.push(Line { x, y: y + 2, size: 10, font, ink, anchor, text });
        }
        y = start + LANE_HEAD;
        let mut tops = Vec::new();
        for row in 0..lane.rows {
            let channel = y;
            let used = tracks.in_channel(number, row);
            y += if row > 0 || used > 0 { 12 + TRACK * used } else { 0 };
            tops.push((channel, y));
            y += if tall.contains(&(number, row)) { CARD_H } else { IDEA_H };
        }
        y += LANE_FOOT;
        rows.push(tops);
        lanes.push(Rect { x: MARGIN, y: start, w: width - 2 * MARGIN, h: y - start });
        y += LANE_GAP;
    }
    (rows, lanes, y)
}

/// The title, and what the picture shows, in a sentence.
fn words(graph: &Graph, standings: &Standings) -> (String, String) {
    let goals: Vec<String> = graph
        .goals()
        .iter()
        .map(|goal| format!("{}: {}", goal.goal, clean(goal.objective.as_str())))
        .collect();
    let title = if goals.is_empty() { "No lineage yet".to_owned() } else { goals.join("; ") };
    let counts = Counts::of(graph, standings);
    let kinds =
        [Kind::Hypothesis, Kind::Experiment, Kind::Trial, Kind::Evidence, Kind::Gate, Kind::Promotion];
    let number = |kind: Kind| counts.by_kind.get(kind.word()).copied().unwrap_or(0);
    let kinds: Vec<String> = kinds.iter().map(|kind| plural(number(*kind), kind.word())).collect();
    let standing = |word: &str| counts.by_standing.get(word).map(|count| format!("{count} {word}"));
    let lost: Vec<String> =
        ["reduced", "tainted", "unsupported", "invalid"].into_iter().filter_map(standing).collect();
    let lost = if lost.is_empty() { "everything stands".to_owned() } else { lost.join(", ") };
    let description = format!(
        "Decision graph as of #{}, chain head {}: {}; {lost}",
        graph.as_of(),
        graph.head().short(),
        kinds.join(", ")
    );
    (title, description)
}

fn plural(count: usize, word: &str) -> String {
    let many = match word {
        "hypothesis" => "hypotheses".to_owned(),
        "evidence" => return format!("{count} pieces of evidence"),
        word => format!("{word}s"),
    };
    format!("{count} {}", if count == 1 { word } else { &many })
}

fn header(graph: &Graph, title: &str, description: &str, width: i32) -> (Vec<Line>, i32) {
    let (mut lines, mut y, room) = (Vec::new(), MARGIN, width - 2 * MARGIN);
    let mut add = |text: &str, font: Font, size: i32, ink: Ink, most: usize| {
        for text in wrap(text, font, size, room, most) {
            y += size + 6;
            lines.push(Line { x: MARGIN, y, size, font, ink, anchor: Anchor::Start, text });
        }
    };
    add(title, Font::Bold, 17, Ink::Main, 2);
    add(description, Font::Sans, 12, Ink::Muted, 2);
    let measured = legend::measured(graph);
    add(&measured, Font::Sans, 12, Ink::Muted, 2);
    (lines, y + 18)
}

impl Cell {
    /// The corners of a gate's diamond, from the left.
    pub(super) fn diamond(&self) -> Option<[(i32, i32); 4]> {
        let (x, y) = (self.rect.x + CARD_W / 2, self.rect.y + super::route::GATE_Y);
        let (w, h) = (GATE_HALF_W, GATE_HALF_H);
        (self.card.shape == Shape::Gate).then_some([(x - w, y), (x, y - h), (x + w, y), (x, y + h)])
    }
}
