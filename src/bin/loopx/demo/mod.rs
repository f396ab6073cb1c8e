//! The demo.

#[cfg_attr(not(test), expect(dead_code, reason = "not wired yet"))]
pub mod knn;

use crate::cli;
use crate::failure::Failure;
use crate::render::Output;
use crate::run::Session;

/// `demo`
pub fn run(_session: &Session<'_>, _args: &cli::Demo) -> Result<Output, Failure> {
    Err(Failure::usage("not wired"))
}
