//! `loopx` keeps what long-running agent work must not lose: a hash-chained, append-only ledger of goals, gates,
//! todos, claims, leases, evidence and spend, and one pure function that says what may happen next.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

pub mod app;
pub mod decide;
pub mod decimal;
pub mod decision_scope;
pub mod event;
pub mod hash;
pub mod id;
pub mod index;
pub mod json;
pub mod ledger;
pub mod limits;
pub mod log;
pub mod project;
pub mod record;
pub mod scope;
pub mod scratch;
pub mod secret;
pub mod snapshot;
mod spelling;
pub mod state;
pub mod text;
pub mod time;
