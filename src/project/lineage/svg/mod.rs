//! The decision graph as a picture: swim-lanes, one a lineage, in which all influence runs left to right.
//!
//! Layout is linear in the size of the graph and uses whole pixels only, so the same prefix of the log gives the same
//! bytes on any machine. A standing shows as hatching, word and border, never as colour alone.

mod card;
mod draw;
mod faces;
mod layout;
mod legend;
mod measure;
mod place;
mod route;
mod style;
#[cfg(test)]
mod tests;
mod text;

use super::graph::Graph;

/// The decision graph as an SVG document: no script, no network, light and dark.
#[must_use]
pub fn svg(graph: &Graph) -> String {
    draw::draw(&layout::layout(graph))
}
