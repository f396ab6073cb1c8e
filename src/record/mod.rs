//! Records: bytes to record and back, the chain, and what a damaged tail means. Knows no event; does no I/O.
//!
//! A record is one line. Its events are opaque bytes here, so a verifier needs nothing of the domain.

pub mod chain;
pub mod frame;
mod lexer;
pub mod recover;
pub mod survey;

pub use chain::{ChainError, Link};
pub use frame::{Draft, FrameError, FrameFault, HashMismatch, Record, Unverified};
pub use recover::{Facts, Mark, Verdict, judge};
