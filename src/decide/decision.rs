//! What a decision says: one verdict, the situation, the rules that were tried, and when to ask again.

use serde::Serialize;

use super::frontier::Hindrance;
use crate::decision_scope::DecisionScope;
use crate::event::Holder;
use crate::id::{CapabilityId, CriterionId, GateId, GoalId, Seq, TodoId, TurnId};
use crate::state::OpenCriterion;
use crate::time::Timestamp;

/// What to do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Work on this todo, and on nothing else.
    Run {
        /// The todo.
        todo: TodoId,
        /// The open turn, if this continues one.
        turn: Option<TurnId>,
        /// From whom an expired lease is taken over.
        takes_over: Option<Holder>,
        /// What has to be repaired first, in the same turn.
        repair: Option<Hindrance>,
    },
    /// Look at what this monitor watches, change nothing, and report.
    Poll {
        /// The monitor.
        todo: TodoId,
    },
    /// A human has to answer or act first.
    Ask {
        /// Open gates, most urgent first.
        gates: Vec<GateId>,
        /// Todos that only a person can do.
        user_actions: Vec<TodoId>,
        /// Capabilities that only an owner can grant, and the todos that wait for them.
        grants: Vec<(TodoId, CapabilityId)>,
    },
    /// Decide what should be done: add, reopen, replace or close todos, ask, or propose completion.
    Plan {
        /// Why there is nothing to run.
        cause: PlanCause,
    },
    /// Nothing now; ask again at the wake condition.
    Wait,
    /// The goal is finished.
    Done,
}

/// Why a plan is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanCause {
    /// Every criterion is met and nothing is open: propose completion.
    Accepted,
    /// Nothing is open and these criteria are not met; none if the goal has no criteria.
    Empty {
        /// Open criteria.
        unmet: Vec<CriterionId>,
    },
    /// Everything open is stuck until someone reopens, replaces or drops it.
    Stuck {
        /// The stuck todos.
        todos: Vec<TodoId>,
    },
    /// What these todos were put off for has happened: reopen, supersede or close them.
    Resumable {
        /// They come before anything that could run.
        todos: Vec<TodoId>,
    },
    /// This was tried again and again and brought nothing: only a typed delta ends that.
    Fruitless {
        /// The todo or monitor.
        todo: TodoId,
        /// How often in a row.
        times: u32,
    },
    /// So many turns in a row brought no progress that only recovery may run.
    OutcomeFloor {
        /// How many.
        turns: u32,
    },
}

impl Verdict {
    /// The word for it.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Run { .. } | Self::Poll { .. } => "RUN",
            Self::Ask { .. } => "ASK",
            Self::Plan { .. } => "PLAN",
            Self::Wait => "WAIT",
            Self::Done => "DONE",
        }
    }
}

/// The name that LoopX gives to the situation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The goal is finished.
    TerminalNoFollowup,
    /// The goal is paused.
    Paused,
    /// Work on one todo.
    BoundedDelivery,
    /// Work on one todo while a gate holds up something of higher rank.
    ScopedUserGateFallback,
    /// A human has to answer.
    UserGate,
    /// A human has to act.
    UserActionRequired,
    /// What a todo was put off for has happened.
    SuccessorReplanRequired,
    /// Look at what a monitor watches.
    MonitorPoll,
    /// No monitor is due yet.
    MonitorQuietSkip,
    /// Build what the best todo needs, then work on it.
    RepairBridge,
    /// Bring what a todo writes and what the goal may write together, then work on it.
    BoundaryProjectionRepair,
    /// Turn after turn brought nothing: recover.
    OutcomeFloorRecovery,
    /// The quota is used up for now.
    QuotaThrottled,
    /// The work left is others'.
    AgentScopeWait,
    /// The work left is for someone else to take or to be given.
    ReassignmentRequired,
    /// The work left becomes due later.
    Waiting,
    /// The goal can be completed.
    Closing,
    /// Someone has to plan.
    AutonomousReplan,
}

impl Mode {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::TerminalNoFollowup => "terminal_no_followup",
            Self::Paused => "paused",
            Self::BoundedDelivery => "bounded_delivery",
            Self::ScopedUserGateFallback => "scoped_user_gate_fallback",
            Self::UserGate => "user_gate",
            Self::UserActionRequired => "user_action_required",
            Self::SuccessorReplanRequired => "successor_replan_required",
            Self::MonitorPoll => "monitor_poll",
            Self::MonitorQuietSkip => "monitor_quiet_skip",
            Self::RepairBridge => "repair_bridge",
            Self::BoundaryProjectionRepair => "boundary_projection_repair",
            Self::OutcomeFloorRecovery => "outcome_floor_recovery",
            Self::QuotaThrottled => "quota_throttled",
            Self::AgentScopeWait => "agent_scope_wait",
            Self::ReassignmentRequired => "reassignment_required",
            Self::Waiting => "waiting",
            Self::Closing => "closing",
            Self::AutonomousReplan => "autonomous_replan",
        }
    }

    /// Minutes to wait before asking again while nothing changes; empty means stop.
    #[must_use]
    pub const fn cadence_minutes(self) -> &'static [u32] {
        match self {
            Self::BoundedDelivery
            | Self::ScopedUserGateFallback
            | Self::Closing
            | Self::AutonomousReplan
            | Self::SuccessorReplanRequired
            | Self::RepairBridge
            | Self::BoundaryProjectionRepair
            | Self::OutcomeFloorRecovery => &[3, 10],
            Self::MonitorPoll | Self::MonitorQuietSkip => &[15, 30, 60],
            Self::UserGate | Self::UserActionRequired | Self::QuotaThrottled | Self::Waiting => &[30, 120],
            Self::AgentScopeWait | Self::ReassignmentRequired => &[10, 20, 30, 60],
            Self::TerminalNoFollowup | Self::Paused => &[],
        }
    }
}

/// When it makes sense to ask again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wake {
    /// The instant, if there is one.
    pub at: Option<Timestamp>,
    /// What else would change the answer, in words or ids.
    pub on: Vec<String>,
}

/// One rule of the table that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tried {
    /// Its row in the table of ARCHITECTURE.md.
    pub row: u8,
    /// Its name.
    pub rule: &'static str,
    /// Whether it decided.
    pub passed: bool,
    /// The facts that it looked at and that spoke for or against it.
    pub facts: Vec<String>,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The goal it is about.
    pub goal: GoalId,
    /// Who asked.
    pub holder: Holder,
    /// The record that it was made at.
    pub seq: Seq,
    /// Ledger time.
    pub now: Timestamp,
    /// What to do.
    pub verdict: Verdict,
    /// The situation.
    pub mode: Mode,
    /// The rules tried, in order; the last one decided.
    pub trace: Vec<Tried>,
    /// Open gates that concern this lane, whatever the verdict.
    pub questions: Vec<GateId>,
    /// Todos of this goal that only a person can do and that nothing else holds up.
    pub user_actions: Vec<TodoId>,
    /// Decisions that open work of this goal requires and that nobody has been asked for, with the work.
    pub unasked: Vec<(DecisionScope, Vec<TodoId>)>,
    /// What a completed goal no longer shows.
    pub findings: Vec<OpenCriterion>,
    /// When to ask again.
    pub wake: Wake,
    /// An open turn that has lost its todo or was not paid for, and why; `next` closes it.
    pub lost: Option<(TurnId, String)>,
}
