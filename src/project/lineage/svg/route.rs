//! Wires: out of a card to the right, along gutters between columns and channels above rows, into a card from the
//! left. No wire crosses a card, because none leaves gutters, channels and empty cells.

use std::collections::BTreeMap;

use super::place::{Grid, Item, WireKind};
use crate::project::lineage::node::Kind;

/// Between two tracks, in pixels.
pub(super) const TRACK: i32 = 7;

/// Where wires meet a gate, from the top of its cell.
pub(super) const GATE_Y: i32 = 48;

/// How much lower a wire enters that does not come straight from the left, so that it covers none that leaves there.
const SHIFT: i32 = 6;

/// Which wires share a track: those that leave one card, or those that enter one, of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Bus {
    From(usize, WireKind),
    Into(usize, WireKind),
}

/// How a wire runs.
#[derive(Debug, Clone, Copy)]
enum Path {
    /// Along the row to the gutter before the target, then up or down.
    Row { gutter: (usize, usize) },
    /// By the gutter after the source, the channel above the target's row, and the gutter before the target.
    Channel { leave: (usize, usize), channel: (usize, usize), enter: (usize, usize) },
}

/// A wire in the grid, before there are pixels.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) kind: WireKind,
    path: Path,
}

/// How many tracks each gutter and each channel needs.
#[derive(Debug, Default)]
pub(super) struct Tracks {
    gutters: Vec<BTreeMap<Bus, usize>>,
    channels: BTreeMap<(usize, usize), BTreeMap<Bus, usize>>,
}

impl Tracks {
    /// Tracks in the gutter before a column.
    pub(super) fn in_gutter(&self, gutter: usize) -> i32 {
        count(self.gutters.get(gutter).map_or(0, BTreeMap::len))
    }

    /// Tracks in the channel above a row of a lane.
    pub(super) fn in_channel(&self, lane: usize, row: usize) -> i32 {
        count(self.channels.get(&(lane, row)).map_or(0, BTreeMap::len))
    }

    fn gutter(&mut self, gutter: usize, bus: Bus) -> (usize, usize) {
        if self.gutters.len() <= gutter {
            self.gutters.resize_with(gutter + 1, BTreeMap::new);
        }
        let tracks = self.gutters.get_mut(gutter);
        (gutter, tracks.map_or(0, |tracks| claim(tracks, bus)))
    }
}

fn claim(tracks: &mut BTreeMap<Bus, usize>, bus: Bus) -> usize {
    let next = tracks.len();
    *tracks.entry(bus).or_insert(next)
}

/// A count as pixels are counted; pictures that large are not drawn.
pub(super) fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX / 1_000).min(i32::MAX / 1_000)
}

/// Plans every wire, in the order of the cards that they enter.
pub(super) fn plan(grid: &Grid<'_>) -> (Vec<Plan>, Tracks) {
    let (mut plans, mut tracks) = (Vec::new(), Tracks::default());
    let reach = reach(grid);
    for (to, target) in grid.items.iter().enumerate() {
        for (from, kind) in &target.parents {
            let Some(source) = grid.items.get(*from) else { continue };
            let out = Bus::From(*from, *kind);
            let clear = reach.get(from).is_none_or(|next| *next >= target.column);
            let path = if clear {
                Path::Row { gutter: tracks.gutter(target.column, out) }
            } else {
                let channel = tracks.channels.entry((target.lane, target.row)).or_default();
                let channel = (0, claim(channel, out));
                Path::Channel {
                    leave: tracks.gutter(source.column + 1, out),
                    channel,
                    enter: tracks.gutter(target.column, Bus::Into(to, *kind)),
                }
            };
            plans.push(Plan { from: *from, to, kind: *kind, path });
        }
    }
    (plans, tracks)
}

/// The column of the next card to the right in the same row, for each card that has one.
fn reach(grid: &Grid<'_>) -> BTreeMap<usize, usize> {
    let mut rows: BTreeMap<(usize, usize, usize), usize> = BTreeMap::new();
    for (card, item) in grid.items.iter().enumerate() {
        rows.insert((item.lane, item.row, item.column), card);
    }
    let ordered: Vec<_> = rows.into_iter().collect();
    let pairs = ordered.iter().zip(ordered.iter().skip(1));
    pairs
        .filter(|((left, _), (right, _))| (left.0, left.1) == (right.0, right.1))
        .map(|((_, card), (right, _))| (*card, right.2))
        .collect()
}

/// Where a wire leaves or enters a card, from the top of its cell.
fn port(item: &Item<'_>, kind: WireKind, enters: bool) -> i32 {
    match (item.node.kind(), kind) {
        (Kind::Gate, _) | (_, WireKind::Hard) => GATE_Y,
        (Kind::Promotion, WireKind::Support) if enters => GATE_Y + 20,
        (_, WireKind::Support) => GATE_Y,
        (_, WireKind::Idea) => GATE_Y + 34,
        (_, WireKind::Contrast) => GATE_Y + 52,
        (_, WireKind::Succession) => GATE_Y + 70,
    }
}

/// Pixels of the grid.
pub(super) trait Scale {
    /// Left edge of a column.
    fn column_x(&self, column: usize) -> i32;
    /// Left edge of the gutter before a column.
    fn gutter_x(&self, gutter: usize) -> i32;
    /// Top edge of a row.
    fn row_y(&self, lane: usize, row: usize) -> i32;
    /// Top edge of the channel above a row.
    fn channel_y(&self, lane: usize, row: usize) -> i32;
    /// Width of a card.
    fn card_width(&self) -> i32;
    /// How far into its cell a gate's shape begins at this height from its middle; 0 for other cards.
    fn inset(&self, item: &Item<'_>, off: i32) -> i32;
}

/// The corners of a wire, in pixels, from the source to the target.
pub(super) fn corners(plan: &Plan, grid: &Grid<'_>, scale: &impl Scale) -> Vec<(i32, i32)> {
    let (Some(source), Some(target)) = (grid.items.get(plan.from), grid.items.get(plan.to)) else {
        return Vec::new();
    };
    let start_y = scale.row_y(source.lane, source.row) + port(source, plan.kind, false);
    let start_x = scale.column_x(source.column) + scale.card_width() - scale.inset(source, 0);
    let end_y = scale.row_y(target.lane, target.row) + port(target, plan.kind, true);
    let track = |(gutter, track): (usize, usize)| scale.gutter_x(gutter) + 7 + TRACK * count(track);
    let end_x = |off: i32| scale.column_x(target.column) + scale.inset(target, off);
    match plan.path {
        Path::Row { .. } if start_y == end_y => vec![(start_x, start_y), (end_x(0), end_y)],
        Path::Row { gutter } => {
            let (x, y) = (track(gutter), end_y + SHIFT);
            vec![(start_x, start_y), (x, start_y), (x, y), (end_x(SHIFT), y)]
        }
        Path::Channel { leave, channel, enter } => {
            let (out, into, y) = (track(leave), track(enter), end_y + SHIFT);
            let along = scale.channel_y(target.lane, target.row) + 6 + TRACK * count(channel.1);
            let end = (end_x(SHIFT), y);
            vec![(start_x, start_y), (out, start_y), (out, along), (into, along), (into, y), end]
        }
    }
}
