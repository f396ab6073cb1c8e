//! The command line of `loopx`.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

#[cfg_attr(not(test), expect(dead_code, reason = "the demo command is not wired to the evaluator yet"))]
mod demo;

fn main() {}
