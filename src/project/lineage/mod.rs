//! Lineage: what was tried on what, what was promoted on which evidence, and what of that still stands.
//!
//! [`Graph`] is built by one forward pass over the log. Every reference names something that came before (rule L0), so
//! the order of the log is a topological order and standing is one scan. Everything here is a pure function of a
//! prefix of the log: the same prefix gives the same bytes.

mod compare;
mod dot;
mod edge;
mod graph;
mod json;
mod node;
mod render;
mod standing;
mod svg;

mod why;

pub use compare::{Comparison, Summary, Verdict};
pub use dot::dot;
pub use edge::{Class, Edge, EdgeKind};
pub use graph::{Graph, GraphError, GraphGoal};
pub use json::json;
pub use node::{EvidenceFacts, Facts, GateFacts, Kind, Later, Node, NodeId, TrialFacts};
pub use render::render;
pub use standing::{Assessed, Standing, Standings};

pub use svg::svg;
pub use why::{Decided, Lost, Replaced, Resting, Row, Why, why};

#[cfg(test)]
pub(crate) mod sample;

#[cfg(test)]
mod tests;
