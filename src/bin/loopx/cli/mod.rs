//! The command line: what can be typed. Parsing is pure; a doc comment is the help text.

mod lease;
mod lineage;
mod nouns;
mod read;
mod tick;

use clap::{Args, Parser, Subcommand, ValueEnum};
use loopx::id::{AgentId, CapabilityId, GoalId, OwnerId, RequestId, SessionId};
use loopx::text::Text;
use std::path::PathBuf;

pub use lease::*;
pub use lineage::*;
pub use nouns::*;
pub use read::*;
pub use tick::*;

/// A ledger for long-running AI-agent work: goals, gates, todos, claims, leases, evidence and spend, hash-chained.
///
/// Ask `loopx next` before a turn, write back with `loopx done` after it.
#[derive(Debug, Parser)]
#[command(name = "loopx", version, max_term_width = 110, disable_help_subcommand = true)]
pub struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub global: Global,
    /// The command.
    #[command(subcommand)]
    pub command: Top,
}

/// Options of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Directory that holds `.loopx` [env: LOOPX_DIR] [default: the nearest above, or the repository's]
    #[arg(long, global = true, value_name = "PATH")]
    pub dir: Option<PathBuf>,
    /// Goal to work in [env: LOOPX_GOAL] [default: the only active one]
    #[arg(long, global = true, visible_alias = "goal-id", value_name = "GOAL")]
    pub goal: Option<GoalId>,
    /// Agent that acts [env: LOOPX_AGENT]
    #[arg(long, global = true, visible_alias = "agent-id", value_name = "AGENT")]
    pub agent: Option<AgentId>,
    /// Owner who acts
    #[arg(long = "as", global = true, value_name = "OWNER", conflicts_with = "agent")]
    pub owner: Option<OwnerId>,
    /// Session of the agent's host [env: LOOPX_SESSION]
    #[arg(long, global = true, value_name = "SESSION")]
    pub session: Option<SessionId>,
    /// Idempotency key: the same request again answers the same receipt
    #[arg(long, global = true, value_name = "ID")]
    pub request: Option<RequestId>,
    /// Capability present in this turn, beside the registered ones
    #[arg(long, global = true, value_name = "CAPABILITY")]
    pub available_capability: Vec<CapabilityId>,
    /// Record what looks like a secret all the same, and why it may be
    #[arg(long, global = true, value_name = "WHY")]
    pub allow_secret: Option<Text>,
    /// Answer with one JSON document
    #[arg(long, global = true)]
    pub json: bool,
    /// Form of the answer
    #[arg(long, global = true, value_enum, conflicts_with = "json", value_name = "FORMAT")]
    pub format: Option<Format>,
    /// Print nothing but errors
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Longest wait for other writers
    #[arg(long, global = true, value_name = "DURATION", default_value = "10s")]
    pub lock_wait: loopx::time::DurationMs,
    /// Write on a network or FUSE file system [env: LOOPX_FORCE_FILESYSTEM]
    #[arg(long, global = true)]
    pub force_filesystem: bool,
}

/// Form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Lines for people.
    Text,
    /// One document for programs.
    Json,
    /// For a report: `status`, `history`, `review-packet` and `handoff`.
    Markdown,
    /// Graphviz, for `lineage export`.
    Dot,
    /// The picture, for `lineage export`.
    Svg,
}

impl Cli {
    /// The same command in this program's own spelling: who acts is a global option.
    #[must_use]
    pub fn plain(mut self) -> Self {
        if self.global.agent.is_none() && self.global.owner.is_none() {
            self.global.agent = self.command.speaker().cloned();
        }
        self.command = match self.command {
            Top::OperatorGate(args) => Top::Gate(args.into()),
            other => other,
        };
        self
    }

    /// Whether the answer is one JSON document. `lineage export --format json` is the graph itself, not an answer
    /// about it.
    pub fn wants_json(&self) -> bool {
        let export = matches!(self.command, Top::Lineage(Lineage::Export { .. }));
        self.global.json || (self.global.format == Some(Format::Json) && !export)
    }
}

/// Everything that can be asked. Only the command that is asked for is put together: that halves the start.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Top {
    /// Create a ledger in this directory
    Init(Init),
    /// Start a goal
    StartGoal(StartGoal),
    /// Say what is here: the ledger, its goals and agents
    Connect,
    /// Look at program, ledger, locks, file system and clock; change nothing
    Doctor,
    /// Look for secrets and home paths in what is recorded
    Check,
    /// Print the protocol that an agent follows in one turn
    Prime,
    /// Watch agents do real work in a temporary ledger, with a crash and its recovery
    Demo(Demo),
    /// Decide what to do now; on RUN take the todo, its lease and a turn
    Next(Next),
    /// Complete the turn's todo on evidence, say what follows, pay
    Done(Done),
    /// End the turn and give the todo back
    Yield(Because),
    /// End the turn: its todo cannot go on
    Block(Because),
    /// Put a question to a human
    Ask(Ask),
    /// Add a todo
    Add(AddTodo),
    /// List what could run now
    Ready(Ready),
    /// Leave a note for the next turn
    RefreshState(RefreshState),
    /// Quota: decide, spend, explain
    #[command(subcommand)]
    Quota(Quota),
    /// Goals
    #[command(subcommand)]
    Goal(Goal),
    /// Todos
    #[command(subcommand)]
    Todo(Todo),
    /// Gates: questions to a human
    #[command(subcommand)]
    Gate(Gate),
    /// Gates, as LoopX spells them
    OperatorGate(OperatorGate),
    /// Leases on todos and resources
    #[command(subcommand)]
    Lease(Lease),
    /// Leases on todos under a key, as LoopX spells them
    #[command(subcommand)]
    TaskLease(TaskLease),
    /// Evidence
    #[command(subcommand)]
    Evidence(Evidence),
    /// Agents
    #[command(subcommand)]
    Agent(Agent),
    /// Register an agent
    RegisterAgent(RegisterAgent),
    /// Owners: humans who decide
    #[command(subcommand)]
    Owner(Owner),
    /// Monitors: what is looked at again and again
    #[command(subcommand)]
    Monitor(Monitor),
    /// What needs you, what runs, what waits until when, what it cost
    Status(Status),
    /// What a human needs to answer a question, on one page
    ReviewPacket(ReviewPacket),
    /// What the next peer needs to go on, on one page
    Handoff(Handoff),
    /// Print the fixed text that wakes an agent for one turn
    HeartbeatPrompt,
    /// Explain a topic (objective, next, judgment, evidence, continuation) or a command
    Help(Help),
    /// Who did what, when, on which evidence
    History(History),
    /// Show one thing
    Show(Show),
    /// Print records
    Log(Log),
    /// Fold the log from genesis
    Replay(Replay),
    /// Verify bytes, chain, marks and blobs
    Verify(Verify),
    /// Decision graphs: what was tried, what was promoted, what still stands
    #[command(subcommand)]
    Lineage(Lineage),
    /// Submit many requests, one JSON object a line, with one sync for many
    Append(Append),
}

impl Top {
    /// The agent that a command names in LoopX's way.
    pub fn speaker(&self) -> Option<&AgentId> {
        match self {
            Self::Todo(Todo::Claim(args)) => args.claimed_by.as_ref(),
            Self::Todo(Todo::Complete(args)) => args.claimed_by.as_ref(),
            Self::TaskLease(args) => args.keyed().map(|on| &on.owner),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    /// Commands are put together when they are asked for: one that clashes with a global option would only then fail.
    #[test]
    fn every_command_can_be_put_together() {
        Cli::command().debug_assert();
    }
}
