//! The tick: decide, do, write back.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use loopx::decision_scope::DecisionScope;
use loopx::event::Priority;
use loopx::id::{AgentId, CapabilityId, CriterionId, EvidenceId, GoalId, Label, ResourceId, TodoId, TurnId};
use loopx::scope::PathScope;
use loopx::text::Text;
use loopx::time::{DurationMs, Timestamp};

use super::lease::Fence;

// `init`
#[derive(Debug, Args)]
pub struct Init {
    /// Keep the history (not the working files) visible to git
    #[arg(long)]
    pub track: bool,
}

// `start-goal`
#[derive(Debug, Args)]
pub struct StartGoal {
    /// Name of the goal [default: goal, goal-2 …]
    #[arg(long, value_name = "GOAL")]
    pub name: Option<GoalId>,
    /// What is to be reached
    #[arg(long, value_name = "TEXT")]
    pub goal_text: Text,
    /// Acceptance criterion (repeat)
    #[arg(long, value_name = "TEXT")]
    pub accept: Vec<Text>,
    /// Path that the work may write (repeat) [default: everything]
    #[arg(long, value_name = "PATH")]
    pub scope_write: Vec<PathScope>,
    /// Path that the work may read (repeat) [default: everything]
    #[arg(long, value_name = "PATH")]
    pub scope_read: Vec<PathScope>,
}

// `demo`
#[derive(Debug, Args)]
pub struct Demo {
    /// Work in this new directory and keep it
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Play one of the demo's agents (used by the demo itself)
    #[arg(long, hide = true)]
    pub role: Option<String>,
}

// `next`
#[derive(Debug, Args)]
pub struct Next {
    /// Exit with 10 on WAIT, 11 on ASK, 12 on PLAN, 13 on DONE
    #[arg(long)]
    pub exit_code: bool,
    /// Length of the lease [default: 45m]
    #[arg(long, value_name = "DURATION")]
    pub ttl: Option<DurationMs>,
    /// Also print the rules that were tried
    #[arg(long)]
    pub explain: bool,
}

// What a close shows and what follows.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("follow").multiple(false).args(["hand_over", "wait_for", "no_follow_up"]))]
pub struct Closing {
    /// What was run and what it gave (repeat)
    #[arg(long, value_name = "CMD => RESULT")]
    pub proof: Vec<Text>,
    /// File to keep as evidence, or the id of evidence recorded before (repeat)
    #[arg(long, value_name = "FILE|E9")]
    pub evidence: Vec<String>,
    /// Criterion that this evidence meets (repeat)
    #[arg(long, value_name = "A1")]
    pub meets: Vec<CriterionId>,
    /// Todo to add as a follow-up (repeat)
    #[arg(long, visible_alias = "next-agent-todo", value_name = "TEXT")]
    pub next: Vec<Text>,
    /// Open todo that follows (repeat)
    #[arg(long, visible_alias = "successor-todo-id", value_name = "T9")]
    pub successor: Vec<TodoId>,
    /// Agent that goes on, with the one --next as its todo
    #[arg(long, value_name = "AGENT", requires = "next")]
    pub hand_over: Option<AgentId>,
    /// What has to happen first: a todo, a gate or an instant
    #[arg(long, value_name = "T9|G1|TIME")]
    pub wait_for: Option<String>,
    /// Nothing follows, and why; LoopX says why with --note
    #[arg(long, value_name = "WHY", num_args = 0..=1)]
    pub no_follow_up: Option<Option<Text>>,
    /// Why nothing follows, as LoopX spells it
    #[arg(long, value_name = "WHY", requires = "no_follow_up")]
    pub note: Option<Text>,
    /// What it shows of its lease.
    #[command(flatten)]
    pub fence: Fence,
}

// What a turn cost.
#[derive(Debug, Args)]
pub struct Cost {
    /// Slots of the quota [default: 1]
    #[arg(long, value_name = "N")]
    pub slots: Option<u64>,
    /// Tokens
    #[arg(long, value_name = "N")]
    pub tokens: Option<u64>,
    /// Money, in millionths
    #[arg(long, value_name = "MICRO")]
    pub cost: Option<u64>,
}

// `done`
#[derive(Debug, Args)]
pub struct Done {
    /// The todo of the open turn
    pub todo: TodoId,
    /// What is shown and what follows.
    #[command(flatten)]
    pub closing: Closing,
    /// What the turn brought [default: outcome_progress]
    #[arg(long, value_name = "OUTCOME", value_parser = outcome)]
    pub delivery_outcome: Option<loopx::event::DeliveryOutcome>,
    /// What it cost.
    #[command(flatten)]
    pub cost: Cost,
}

// `yield`, `block` and their like
#[derive(Debug, Args)]
pub struct Because {
    /// The todo
    pub todo: TodoId,
    /// The reason
    #[arg(long, value_name = "TEXT")]
    pub why: Text,
}

// `ask`
#[derive(Debug, Args)]
pub struct Ask {
    /// The exact question
    pub question: Text,
    /// Possible answers [default: approve, reject]
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub options: Vec<Label>,
    /// Todo that waits for the answer (repeat)
    #[arg(long, value_name = "T7")]
    pub blocks: Vec<TodoId>,
    /// Agent that waits for the answer (repeat)
    #[arg(long, value_name = "AGENT")]
    pub blocks_agent: Vec<AgentId>,
    /// Everything in the goal waits for the answer
    #[arg(long)]
    pub global: bool,
    /// Decision asked for; an approval covers it for the todos named, or for the whole goal
    #[arg(long, value_name = "KIND:GRANULARITY:KEY")]
    pub scope: Option<DecisionScope>,
    /// Evidence to look at (repeat)
    #[arg(long, value_name = "E9")]
    pub evidence: Vec<EvidenceId>,
}

// `add`
#[derive(Debug, Args)]
pub struct AddTodo {
    /// What it is, in a line
    pub title: Text,
    /// Urgency, P0 (first) to P4
    #[arg(long, short, default_value = "P2", value_name = "P0..P4", value_parser = priority)]
    pub priority: Priority,
    /// What shows that it is done
    #[arg(long, value_name = "TEXT")]
    pub done_when: Option<Text>,
    /// Todo that comes first (repeat)
    #[arg(long, value_name = "T3")]
    pub needs: Vec<TodoId>,
    /// Path that it writes (repeat)
    #[arg(long, value_name = "PATH")]
    pub write: Vec<PathScope>,
    /// Resource that it uses alone (repeat)
    #[arg(long, value_name = "NAME")]
    pub resource: Vec<ResourceId>,
    /// Capability that it requires (repeat)
    #[arg(long, value_name = "CAPABILITY")]
    pub requires: Vec<CapabilityId>,
    /// Capability that its agent may have to build first (repeat)
    #[arg(long, value_name = "CAPABILITY")]
    pub requires_buildable: Vec<CapabilityId>,
    /// Capability that an owner must have granted to its agent, such as credentials (repeat)
    #[arg(long, value_name = "CAPABILITY")]
    pub requires_granted: Vec<CapabilityId>,
    /// Watch this again and again: a monitor, which is polled and never claimed
    #[arg(long, value_name = "TEXT", requires = "every", conflicts_with = "user_action")]
    pub watch: Option<Text>,
    /// How often to look
    #[arg(long, value_name = "DURATION", requires = "watch")]
    pub every: Option<DurationMs>,
    /// When to stop watching
    #[arg(long, value_name = "TIME", requires = "watch", value_parser = instant)]
    pub until: Option<Timestamp>,
    /// Decision of a human that it requires (repeat)
    #[arg(long, value_name = "KIND:GRANULARITY:KEY")]
    pub requires_decision: Vec<DecisionScope>,
    /// The only agent that may take it
    #[arg(long, value_name = "AGENT")]
    pub bound: Option<AgentId>,
    /// Agent that may not take it (repeat)
    #[arg(long, value_name = "AGENT")]
    pub excluded: Vec<AgentId>,
    /// Criterion that it serves (repeat)
    #[arg(long, value_name = "A1")]
    pub serves: Vec<CriterionId>,
    /// Kind of action
    #[arg(long, value_name = "LABEL")]
    pub action: Option<Label>,
    /// Only a person can do it
    #[arg(long)]
    pub user_action: bool,
    /// Command, without a shell, that must succeed before it can be completed; last, after `--check`
    #[arg(long, num_args = 1.., allow_hyphen_values = true, value_name = "CMD")]
    pub check: Vec<String>,
}

// `ready`
#[derive(Debug, Args)]
pub struct Ready {
    /// Also say why the rest cannot run
    #[arg(long)]
    pub explain: bool,
}

// `refresh-state`
#[derive(Debug, Args)]
pub struct RefreshState {
    /// What should happen next
    #[arg(long, value_name = "TEXT")]
    pub next_action: Text,
    /// What kind of turn it was
    #[arg(long, value_name = "LABEL")]
    pub classification: Option<Label>,
    /// What it brought
    #[arg(long, value_name = "OUTCOME", value_parser = outcome)]
    pub delivery_outcome: Option<loopx::event::DeliveryOutcome>,
    /// The todo it is about
    #[arg(long, value_name = "T7")]
    pub todo_id: Option<TodoId>,
    /// The turn it reports on
    #[arg(long, value_name = "U1")]
    pub turn_instance_id: Option<TurnId>,
}

// `append`
#[derive(Debug, Args)]
pub struct Append {
    /// Read requests from standard input
    #[arg(long, required = true)]
    pub stdin: bool,
}

pub(super) fn priority(text: &str) -> Result<Priority, String> {
    word(text, "P0, P1, P2, P3 or P4")
}

fn outcome(text: &str) -> Result<loopx::event::DeliveryOutcome, String> {
    word(text, "surface_only, outcome_gap, outcome_progress or primary_goal_outcome")
}

/// A word of one of the closed sets, by the same spelling as in the log.
pub(super) fn word<T: serde::de::DeserializeOwned>(text: &str, expected: &str) -> Result<T, String> {
    serde_json::from_value(serde_json::Value::String(text.to_owned()))
        .map_err(|_| format!("expected {expected}"))
}

/// An instant as a person types it.
pub(super) fn instant(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse_loose(text)
        .ok_or_else(|| "expected an instant such as 2026-12-03 or \"2026-12-03 18:00\" (UTC)".to_owned())
}
