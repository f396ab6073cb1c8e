//! Reading.

use clap::{Args, Subcommand};
use loopx::id::Seq;
use loopx::time::Timestamp;

use super::tick::instant;

/// A place in the log, as a person names it.
#[derive(Debug, Clone, Copy)]
pub enum AsOf {
    /// A record.
    Seq(Seq),
    /// The last record at or before an instant.
    Time(Timestamp),
}

fn as_of(text: &str) -> Result<AsOf, String> {
    match text.parse() {
        Ok(seq) => Ok(AsOf::Seq(seq)),
        Err(_) => instant(text)
            .map(AsOf::Time)
            .map_err(|_| "expected a record such as #118, or an instant".to_owned()),
    }
}

// `status`
#[derive(Debug, Args)]
pub struct Status {
    /// All ledgers that you have used on this machine, two lines each
    #[arg(long)]
    pub all: bool,
    /// Show at most this many of each list [default: what fits a screen; 20 in JSON]
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
}

// `review-packet`
#[derive(Debug, Args)]
pub struct ReviewPacket {
    /// The question [default: the one that has waited longest]
    pub gate: Option<loopx::id::GateId>,
    /// Show at most this many of each list [default: what fits a page; 20 in JSON]
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
}

// `handoff`
#[derive(Debug, Args)]
pub struct Handoff {
    /// The agent that goes on
    #[arg(long, value_name = "AGENT")]
    pub to: Option<loopx::id::AgentId>,
    /// Show at most this many of each list [default: what fits a page; 20 in JSON]
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
}

// `help`
#[derive(Debug, Args)]
pub struct Help {
    /// A topic, or the words of a command
    pub words: Vec<String>,
}

// `history`
#[derive(Debug, Args)]
pub struct History {
    /// Anything with a name: T7, G1, E9, U12, an agent, a goal
    pub about: Option<String>,
    /// The todo, as an option
    #[arg(long, value_name = "T7", conflicts_with = "about")]
    pub todo: Option<loopx::id::TodoId>,
    /// Only after this
    #[arg(long, value_name = "SEQ|TIME", value_parser = as_of)]
    pub since: Option<AsOf>,
    /// Show at most the last this many
    #[arg(long, default_value_t = 100, value_name = "N")]
    pub limit: usize,
}

// `show`
#[derive(Debug, Args)]
pub struct Show {
    /// Anything with a name: T7, G1, E9, U12, an agent, a goal, #118
    pub id: String,
    /// As it was then
    #[arg(long, value_name = "SEQ|TIME", value_parser = as_of)]
    pub as_of: Option<AsOf>,
}

// `log`
#[derive(Debug, Args)]
pub struct Log {
    /// Only after this record
    #[arg(long, value_name = "SEQ", default_value = "0")]
    pub since: Seq,
    /// Print the records themselves
    #[arg(long)]
    pub raw: bool,
    /// Go on printing as records come
    #[arg(long, short)]
    pub follow: bool,
    /// Print at most this many
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
}

// `replay`
#[derive(Debug, Args)]
pub struct Replay {
    /// Fold up to here
    #[arg(long, value_name = "SEQ|TIME", value_parser = as_of)]
    pub as_of: Option<AsOf>,
    /// Compare with what a command starts from, and fail if they differ
    #[arg(long)]
    pub check: bool,
    /// Decide again what every turn was opened on, and fail if one would not be
    #[arg(long)]
    pub decisions: bool,
    /// Print the state as JSON
    #[arg(long)]
    pub state: bool,
    /// Print each record's digest of the state
    #[arg(long)]
    pub step: bool,
    /// What to look at in the folded state
    #[command(subcommand)]
    pub view: Option<ReplayView>,
}

/// What to look at in a folded state.
#[derive(Debug, Subcommand)]
pub enum ReplayView {
    /// The status at that point
    Status,
}

// `verify`
#[derive(Debug, Args)]
pub struct Verify {
    /// A record that must be in the log, as SEQ:HASH, or a file that holds it
    #[arg(long, value_name = "SEQ:HASH|FILE")]
    pub against: Option<String>,
    /// Leave blobs out
    #[arg(long)]
    pub no_blobs: bool,
    /// Print each segment with its BLAKE3
    #[arg(long)]
    pub segments: bool,
}
