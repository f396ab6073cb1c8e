//! Things, and what can be done with them.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use loopx::event::{Delegable, InvalidationCause, Priority, ResumeWhen, Subject};
use loopx::hash::Hash;
use loopx::id::{
    AgentId, CapabilityId, CriterionId, EvidenceId, GateId, GoalId, LeaseKey, OwnerId, Seq, TodoId, TurnId,
};
use loopx::scope::PathScope;
use loopx::text::Text;
use loopx::time::{DurationMs, Timestamp};

use super::lease::{Fence, Held};
use super::tick::{AddTodo, Ask, Because, Closing, Cost, instant, priority, word};

// A list.
#[derive(Debug, Args)]
pub struct List {
    /// Show at most this many
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub limit: usize,
}

// `quota …`
#[derive(Debug, Subcommand)]
pub enum Quota {
    /// Decide what to do now, in LoopX's shape; appends nothing
    ShouldRun(ShouldRun),
    /// Pay for the open turn and close it
    SpendSlot(SpendSlot),
    /// Take a spend back
    VoidSlot {
        /// Record of the spend
        seq: Seq,
        /// The reason
        #[arg(long, value_name = "TEXT")]
        why: Text,
    },
    /// Limit, spend and window, with the records behind every number
    Status,
    /// Which goals would run now, best first, and the numbers behind it
    Plan(List),
    /// Set a goal's quota
    Set(QuotaSet),
    /// Set what a goal, or one agent, may use in all; a number left out does not limit
    Budget(QuotaBudget),
}

// `quota should-run`
#[derive(Debug, Args)]
pub struct ShouldRun {
    /// Also the rules that were tried and every open question
    #[arg(long)]
    pub include_detail: bool,
}

// `quota spend-slot`
#[derive(Debug, Args)]
pub struct SpendSlot {
    /// What it cost.
    #[command(flatten)]
    pub cost: Cost,
    /// The turn [default: the open one]
    #[arg(long, value_name = "U1")]
    pub turn_instance_id: Option<TurnId>,
    /// Its todo, to be sure
    #[arg(long, value_name = "T7")]
    pub todo_id: Option<TodoId>,
    /// Accepted for LoopX scripts; a spend is always recorded
    #[arg(long, hide = true)]
    pub execute: bool,
}

// `quota set`
#[derive(Debug, Args)]
pub struct QuotaSet {
    /// Share of the window, 0 to 1 with up to three digits after the point
    #[arg(long, value_name = "SHARE", conflicts_with_all = ["slots", "unlimited"], required_unless_present_any = ["slots", "unlimited"], value_parser = milli)]
    pub share: Option<u32>,
    /// Slots in the window
    #[arg(long, value_name = "N", conflicts_with = "unlimited")]
    pub slots: Option<u64>,
    /// No limit
    #[arg(long)]
    pub unlimited: bool,
    /// Length of the sliding window [default: 24h]
    #[arg(long, value_name = "DURATION")]
    pub window: Option<DurationMs>,
    /// Length of a slot [default: 1m]
    #[arg(long, value_name = "DURATION")]
    pub slot: Option<DurationMs>,
    /// The reason
    #[arg(long, value_name = "TEXT")]
    pub why: Text,
}

// `quota budget`
#[derive(Debug, Args)]
pub struct QuotaBudget {
    /// The agent, if it is not the goal's
    #[arg(long, value_name = "AGENT")]
    pub on_agent: Option<AgentId>,
    /// Tokens
    #[arg(long, value_name = "N")]
    pub tokens: Option<u64>,
    /// Money, in millionths
    #[arg(long, value_name = "MICRO")]
    pub cost: Option<u64>,
    /// Time of turns
    #[arg(long, value_name = "DURATION")]
    pub wall: Option<DurationMs>,
    /// The reason
    #[arg(long, value_name = "TEXT")]
    pub why: Text,
}

fn milli(text: &str) -> Result<u32, String> {
    let bad = || "expected a number from 0 to 1 with up to three digits after the point".to_owned();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = fraction.len() <= 3 && !fraction.is_empty() && fraction.bytes().all(|b| b.is_ascii_digit());
    let milli: u32 = match (whole, digits) {
        ("0", true) => format!("{fraction:0<3}").parse().map_err(|_| bad())?,
        ("1", true) if fraction.bytes().all(|b| b == b'0') => 1_000,
        _ => return Err(bad()),
    };
    Ok(milli)
}

// `goal …`
#[derive(Debug, Subcommand)]
pub enum Goal {
    /// List goals
    List(List),
    /// Show a goal
    Show {
        /// The goal [default: the only active one]
        goal: Option<GoalId>,
    },
    /// Change a goal, with the reason
    Change(GoalChange),
    /// Pause it: no turn until it is resumed
    Pause(Why),
    /// Resume it
    Resume(Why),
    /// Complete it: every criterion met, nothing open
    Complete(Why),
    /// Give it up
    Abandon(Why),
    /// Say that a criterion is met
    Accept {
        /// The criterion
        criterion: CriterionId,
        /// What shows it
        #[arg(long, value_name = "E9")]
        evidence: EvidenceId,
    },
    /// Say that a criterion is not met after all
    Reject {
        /// The criterion
        criterion: CriterionId,
        /// The reason
        #[arg(long, value_name = "TEXT")]
        why: Text,
    },
}

// A reason.
#[derive(Debug, Args)]
pub struct Why {
    /// The reason
    #[arg(long, value_name = "TEXT")]
    pub why: Text,
}

// `goal change`
#[derive(Debug, Args)]
pub struct GoalChange {
    /// New objective
    #[arg(long, value_name = "TEXT")]
    pub objective: Option<Text>,
    /// Criterion to add (repeat)
    #[arg(long, value_name = "TEXT")]
    pub accept: Vec<Text>,
    /// Criterion to drop (repeat)
    #[arg(long, value_name = "A1")]
    pub drop_accept: Vec<CriterionId>,
    /// New write scope (repeat)
    #[arg(long, value_name = "PATH")]
    pub scope_write: Vec<PathScope>,
    /// Why it moves
    #[arg(long, visible_alias = "why", value_name = "TEXT")]
    pub reason: Text,
}

// `todo …`
#[derive(Debug, Subcommand)]
pub enum Todo {
    /// Add a todo
    Add(AddTodo),
    /// List open todos
    List(List),
    /// Show a todo
    Show {
        /// The todo
        todo: TodoId,
    },
    /// Claim a todo, with a lease and a turn
    Claim(Claim),
    /// Give a todo back
    Release(Held),
    /// Pass a held todo on
    HandOver {
        /// What.
        #[command(flatten)]
        held: Held,
        /// To whom
        #[arg(long, value_name = "AGENT")]
        to: AgentId,
    },
    /// Let a peer act on a todo that you hold, for as long as your claim lasts
    Delegate {
        /// What.
        #[command(flatten)]
        held: Held,
        /// Whom
        #[arg(long, value_name = "AGENT")]
        to: AgentId,
        /// What the peer may do: update, complete or release (repeat)
        #[arg(long, required = true, value_name = "ACTION", value_parser = delegable)]
        action: Vec<Delegable>,
    },
    /// Change a todo
    Update(TodoUpdate),
    /// Complete a todo on evidence; the turn stays open until it is paid for
    Complete(TodoComplete),
    /// Say that a todo cannot go on
    Block(Because),
    /// Put a todo off
    Defer {
        /// What.
        #[command(flatten)]
        because: Because,
        /// Until when [default: until it is reopened]
        #[arg(long, value_name = "TIME", value_parser = instant)]
        until: Option<Timestamp>,
        /// Todo or gate that has to be closed first; then a plan is asked for
        #[arg(long, value_name = "T9|G1", conflicts_with = "until")]
        when: Option<ResumeWhen>,
    },
    /// Open a blocked, deferred or closed todo again
    Reopen(Because),
    /// Replace a todo by another open one
    Supersede {
        /// What.
        #[command(flatten)]
        because: Because,
        /// The replacement
        #[arg(long, value_name = "T9")]
        by: TodoId,
    },
    /// Drop a todo
    Cancel(Because),
}

// `todo claim`
#[derive(Debug, Args)]
pub struct Claim {
    /// The todo
    #[arg(required_unless_present = "todo_id", conflicts_with = "todo_id")]
    pub todo: Option<TodoId>,
    /// The todo, as LoopX spells it
    #[arg(long, value_name = "T7")]
    pub todo_id: Option<TodoId>,
    /// The agent, as LoopX spells it
    #[arg(long, value_name = "AGENT")]
    pub claimed_by: Option<AgentId>,
    /// Length of the lease [default: 45m]
    #[arg(long, value_name = "DURATION")]
    pub ttl: Option<DurationMs>,
    /// Key that whoever acts on it then has to show; it opens one lease, once
    #[arg(long, value_name = "KEY")]
    pub task_lease_idempotency_key: Option<LeaseKey>,
    /// Version that its lease must have
    #[arg(long, value_name = "N")]
    pub task_lease_expected_version: Option<u64>,
}

fn delegable(text: &str) -> Result<Delegable, String> {
    word(text, "update, complete or release")
}

// `todo update`
#[derive(Debug, Args)]
pub struct TodoUpdate {
    /// The todo
    pub todo: TodoId,
    /// New title
    #[arg(long, value_name = "TEXT")]
    pub title: Option<Text>,
    /// New priority
    #[arg(long, short, value_name = "P0..P4", value_parser = priority)]
    pub priority: Option<Priority>,
    /// New condition
    #[arg(long, value_name = "TEXT")]
    pub done_when: Option<Text>,
    /// Todo that it no longer needs (repeat)
    #[arg(long, value_name = "T3")]
    pub drop_needs: Vec<TodoId>,
    /// Path that it writes instead of those before (repeat)
    #[arg(long, value_name = "PATH")]
    pub write: Vec<PathScope>,
    /// What it shows of its lease.
    #[command(flatten)]
    pub fence: Fence,
}

// `todo complete`
#[derive(Debug, Args)]
pub struct TodoComplete {
    /// The todo
    #[arg(required_unless_present = "todo_id", conflicts_with = "todo_id")]
    pub todo: Option<TodoId>,
    /// The todo, as LoopX spells it, or the gate that is decided; evidence is then an id or text, not a file
    #[arg(long, value_name = "T7|G1")]
    pub todo_id: Option<Closable>,
    /// The agent, as LoopX spells it
    #[arg(long, value_name = "AGENT")]
    pub claimed_by: Option<AgentId>,
    /// The decision: approve; at a gate also reject, defer or cancel
    #[arg(long, value_name = "OUTCOME", requires = "todo_id")]
    pub decision_outcome: Option<DecisionOutcome>,
    /// What is shown and what follows.
    #[command(flatten)]
    pub closing: Closing,
}

/// What LoopX calls a todo, and a decision of a human among them.
#[derive(Debug, Clone, Copy)]
pub enum Closable {
    /// A todo.
    Todo(TodoId),
    /// A gate.
    Gate(GateId),
}

impl std::str::FromStr for Closable {
    type Err = loopx::id::BadId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self::Gate).or_else(|_| text.parse().map(Self::Todo))
    }
}

/// How LoopX spells a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum DecisionOutcome {
    /// Yes.
    Approve,
    /// No.
    Reject,
    /// Not now.
    Defer,
    /// It is no longer asked.
    Cancel,
}

// `gate …`
#[derive(Debug, Subcommand)]
pub enum Gate {
    /// Put a question to a human
    Open(Ask),
    /// List open gates, and approvals that cover something
    List(List),
    /// Show a gate
    Show {
        /// The gate
        gate: GateId,
    },
    /// Decide: approve, reject, defer, or one of the gate's options; `no` rejects
    Decide {
        /// The gate
        gate: GateId,
        /// The answer
        answer: loopx::id::Label,
        /// When the approval ends by itself [default: when it is used up or revoked]
        #[arg(long, value_name = "TIME", value_parser = instant)]
        valid_until: Option<Timestamp>,
        /// Evidence that has to stay current for the approval to hold (repeat)
        #[arg(long, value_name = "E4")]
        rests_on: Vec<EvidenceId>,
        /// The rationale
        #[arg(long, value_name = "TEXT")]
        why: Text,
    },
    /// Take an approval back
    Revoke {
        /// The gate
        gate: GateId,
        /// The reason
        #[arg(long, value_name = "TEXT")]
        why: Text,
    },
    /// Stop asking
    Withdraw {
        /// The gate
        gate: GateId,
        /// The reason
        #[arg(long, value_name = "TEXT")]
        why: Text,
    },
}

// `operator-gate`: what can be done with a gate, or LoopX's one call that decides it
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct OperatorGate {
    /// What is done.
    #[command(subcommand)]
    pub verb: Option<Gate>,
    /// What is decided.
    #[command(flatten)]
    pub decided: Option<OperatorDecision>,
}

// LoopX's one call.
#[derive(Debug, Args)]
pub struct OperatorDecision {
    /// The gate
    #[arg(long, value_name = "G1")]
    pub gate: GateId,
    /// The decision: approve, reject, defer, or one of the gate's options
    #[arg(long, value_name = "ANSWER")]
    pub decision: loopx::id::Label,
    /// The rationale
    #[arg(long, value_name = "TEXT")]
    pub reason_summary: Text,
}

impl From<OperatorGate> for Gate {
    fn from(args: OperatorGate) -> Self {
        match (args.verb, args.decided) {
            (Some(verb), _) => verb,
            (None, Some(one)) => Self::Decide {
                gate: one.gate,
                answer: one.decision,
                rests_on: Vec::new(),
                valid_until: None,
                why: one.reason_summary,
            },
            (None, None) => Self::List(List { limit: 50 }),
        }
    }
}

// `evidence …`
#[derive(Debug, Subcommand)]
pub enum Evidence {
    /// Record evidence
    Add(EvidenceAdd),
    /// List evidence that open work rests on
    List(List),
    /// Show evidence, and what rests on it
    Show {
        /// The evidence
        evidence: EvidenceId,
    },
    /// Mark evidence as wrong; criteria that rest on it are open again
    Invalidate {
        /// The evidence
        evidence: EvidenceId,
        /// Kind of fault
        #[arg(long, value_name = "CAUSE", value_parser = cause)]
        cause: InvalidationCause,
        /// What happened
        #[arg(long, value_name = "TEXT")]
        why: Text,
    },
    /// Put newer evidence in the place of older
    Supersede {
        /// The older
        evidence: EvidenceId,
        /// The newer
        #[arg(long, value_name = "E9")]
        by: EvidenceId,
        /// The reason
        #[arg(long, value_name = "TEXT")]
        why: Text,
    },
}

// `evidence add`
#[derive(Debug, Args)]
pub struct EvidenceAdd {
    /// What it is about: a todo T7, a gate G1, a trial R1, or goal/NAME
    #[arg(long, value_name = "SUBJECT")]
    pub about: Subject,
    /// What it shows, in a line
    #[arg(long, value_name = "TEXT")]
    pub summary: Text,
    /// File whose content is kept
    #[arg(long, value_name = "FILE", group = "form")]
    pub file: Option<PathBuf>,
    /// Command that was run
    #[arg(long, value_name = "CMD", group = "form")]
    pub command: Option<Text>,
    /// Commit
    #[arg(long, value_name = "ID", group = "form")]
    pub commit: Option<Text>,
    /// Address
    #[arg(long, value_name = "URL", group = "form")]
    pub url: Option<Text>,
    /// Exit code of the command
    #[arg(long, value_name = "CODE", requires = "command", allow_negative_numbers = true)]
    pub exit: Option<i32>,
    /// For how long it shows anything [default: as long as nothing changes]
    #[arg(long, value_name = "DURATION")]
    pub valid_for: Option<DurationMs>,
    /// BLAKE3 of content kept elsewhere
    #[arg(long, value_name = "HEX", conflicts_with = "file")]
    pub digest: Option<Hash>,
}

fn cause(text: &str) -> Result<InvalidationCause, String> {
    word(
        text,
        "leak, contamination, evaluator_bug, data_corruption, wrong_baseline, unreproducible, fabricated, mislabelled, \
         protocol_retired or owner_withdrawn",
    )
}

// `agent …`
#[derive(Debug, Subcommand)]
pub enum Agent {
    /// Register a peer
    Register {
        /// Its name
        name: AgentId,
        /// What it can always do (repeat)
        #[arg(long, value_name = "CAPABILITY")]
        capability: Vec<CapabilityId>,
    },
    /// List agents
    List(List),
    /// Show an agent
    Show {
        /// Its name
        name: AgentId,
    },
    /// Say what a peer can do from now on
    Update {
        /// Its name
        name: AgentId,
        /// What it can do now (repeat)
        #[arg(long, value_name = "CAPABILITY")]
        capability: Vec<CapabilityId>,
        /// What it can no longer do (repeat)
        #[arg(long, value_name = "CAPABILITY")]
        drop_capability: Vec<CapabilityId>,
        /// The reason
        #[arg(long, value_name = "TEXT")]
        why: Text,
    },
    /// Grant a peer what only an owner can grant
    Grant(Granting),
    /// Take back what was granted
    Revoke(Granting),
    /// Retire a peer
    Retire {
        /// Its name
        name: AgentId,
        /// The reason
        #[arg(long, value_name = "TEXT")]
        why: Text,
    },
}

// `agent grant`, `agent revoke`
#[derive(Debug, Args)]
pub struct Granting {
    /// Its name
    pub name: AgentId,
    /// What (repeat)
    #[arg(long, required = true, value_name = "CAPABILITY")]
    pub capability: Vec<CapabilityId>,
    /// The reason
    #[arg(long, value_name = "TEXT")]
    pub why: Text,
}

// `monitor …`
#[derive(Debug, Subcommand)]
pub enum Monitor {
    /// Record what was seen at what a monitor watches
    Poll {
        /// The monitor
        todo: TodoId,
        /// What was seen, in the same words if it is the same
        #[arg(long, value_name = "TEXT")]
        result: Text,
        /// Todo that follows (repeat) [default: one, if something changed]
        #[arg(long, value_name = "TEXT")]
        next: Vec<Text>,
        /// Nothing follows, though something changed, and why
        #[arg(long, value_name = "WHY", conflicts_with = "next")]
        no_follow_up: Option<Text>,
    },
    /// List monitors
    List(List),
}

// `register-agent`, as LoopX spells it: the name is the global `--agent-id`
#[derive(Debug, Args)]
pub struct RegisterAgent {
    /// What it can always do (repeat)
    #[arg(long, value_name = "CAPABILITY")]
    pub capability: Vec<CapabilityId>,
    /// Accepted for LoopX scripts; a registration is always recorded
    #[arg(long, hide = true)]
    pub execute: bool,
}

// `owner …`
#[derive(Debug, Subcommand)]
pub enum Owner {
    /// Register a human who decides; the first one registers themselves
    Register {
        /// The name
        name: OwnerId,
    },
    /// List owners
    List(List),
    /// End an owner's right to decide
    Revoke {
        /// The name
        name: OwnerId,
        /// The reason
        #[arg(long, value_name = "TEXT")]
        why: Text,
    },
}
