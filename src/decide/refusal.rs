//! Why a rule said no. A refusal is an answer, not an error: it changes nothing and says what is in the way.

use crate::decision_scope::DecisionScope;
use crate::event::{Holder, LeaseTarget};
use crate::id::{
    AgentId, CriterionId, EvidenceId, GateId, GoalId, Label, LeaseKey, OwnerId, ResourceId, Seq, TodoId,
    TurnId,
};
use crate::scope::PathScope;
use crate::state::{Ended, GoalStatus, Lapse, Uncovered};
use crate::time::Timestamp;

use super::frontier::Hindrance;
use super::history::ClosedTodo;

/// A rule said no.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The agent is not registered.
    #[error("agent {agent} is not registered")]
    AgentUnknown {
        /// The name given.
        agent: AgentId,
    },
    /// The agent has left.
    #[error("agent {agent} is retired")]
    AgentRetired {
        /// The name given.
        agent: AgentId,
    },
    /// Agents are registered and the caller does not say which it is.
    #[error(
        "this ledger has registered agents; say who you are with --agent or LOOPX_AGENT, or --as for an owner"
    )]
    AgentUnnamed,
    /// Only a human decides this.
    #[error("only an owner can {what}")]
    OwnerOnly {
        /// What was asked.
        what: &'static str,
    },
    /// The owner is not registered, or revoked.
    #[error("{owner} is not an owner of this ledger")]
    OwnerUnknown {
        /// The name given.
        owner: OwnerId,
    },
    /// Without this owner nobody could decide anything any more.
    #[error("{owner} is the last owner; register another one first")]
    LastOwner {
        /// The owner.
        owner: OwnerId,
    },
    /// Owners are registered and the caller does not say which it is.
    #[error("this ledger has registered owners; say which one you are with --as")]
    OwnerUnnamed,
    /// The name is in use.
    #[error("{what} {name} exists already")]
    Exists {
        /// What kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// Nothing of that name or number.
    #[error("{what} {name} does not exist")]
    Unknown {
        /// What kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// There is no goal to work on.
    #[error("no goal is active in this ledger")]
    NoGoal,
    /// More than one goal is active and none was named.
    #[error("{} goals are active; say which one", .active.len())]
    GoalAmbiguous {
        /// The active goals.
        active: Vec<GoalId>,
    },
    /// The goal does not take this now.
    #[error("goal {goal} is {}", .status.word())]
    GoalNotActive {
        /// The goal.
        goal: GoalId,
        /// Where it is.
        status: GoalStatus,
    },
    /// The goal is not reached.
    #[error("goal {goal} is not reached: {} without current evidence", list(.open))]
    GoalNotAccepted {
        /// The goal.
        goal: GoalId,
        /// Open criteria.
        open: Vec<CriterionId>,
    },
    /// A goal without criteria is completed by an owner.
    #[error("goal {goal} has no acceptance criteria, so an owner has to judge it")]
    GoalWithoutCriteria {
        /// The goal.
        goal: GoalId,
    },
    /// The goal has open work.
    #[error("goal {goal} has open work: {}", list(.open))]
    GoalHasOpenWork {
        /// The goal.
        goal: GoalId,
        /// Some of it.
        open: Vec<TodoId>,
    },
    /// The command changes nothing.
    #[error("nothing to change")]
    NothingToChange,
    /// The todo was closed.
    #[error("{todo} was {}", .closed.as_ref().map_or_else(|| "closed".to_owned(), ToString::to_string))]
    TodoNotOpen {
        /// The todo.
        todo: TodoId,
        /// How, by whom, when.
        closed: Option<Box<ClosedTodo>>,
    },
    /// The todo cannot be taken now.
    #[error("{todo} cannot be taken: {hindrance}")]
    NotRunnable {
        /// The todo.
        todo: TodoId,
        /// The first thing in the way.
        hindrance: Hindrance,
    },
    /// Another one holds it.
    #[error("{on} is held by {holder} since #{since}, epoch {epoch}")]
    HeldBy {
        /// What.
        on: LeaseTarget,
        /// Who.
        holder: Holder,
        /// The record that began it.
        since: Seq,
        /// The epoch.
        epoch: u64,
        /// Until when, if by a lease.
        until: Option<Timestamp>,
    },
    /// Nobody holds it, and the caller would have to.
    #[error("{on} is not held by you")]
    NotHeld {
        /// What.
        on: LeaseTarget,
    },
    /// The epoch has passed.
    #[error("epoch {given} of {on} has passed; it is {current} now")]
    StaleEpoch {
        /// What.
        on: LeaseTarget,
        /// The epoch given.
        given: u64,
        /// The epoch now.
        current: u64,
    },
    /// The key was used for a lease on this todo before.
    #[error("key {key} was used for a lease on {todo} at #{seq}, and opens no other")]
    KeyReused {
        /// The key.
        key: LeaseKey,
        /// The todo.
        todo: TodoId,
        /// The record of that lease.
        seq: Seq,
    },
    /// The lease is under another key.
    #[error("the lease on {todo} is not under key {key}")]
    KeyMismatch {
        /// The todo.
        todo: TodoId,
        /// The key given.
        key: LeaseKey,
    },
    /// The lease has another version.
    #[error("version {given} of the lease on {todo} has passed; it is {current} now")]
    StaleVersion {
        /// The todo.
        todo: TodoId,
        /// The version given.
        given: u64,
        /// The version now.
        current: u64,
    },
    /// The lease has ended, or there never was one.
    #[error("there is no lease on {todo} under key {key} that lasts")]
    LeaseNotActive {
        /// The todo.
        todo: TodoId,
        /// The key given.
        key: LeaseKey,
    },
    /// The lease has a key, and the command shows neither it nor the epoch.
    #[error("the lease on {todo} has a key; show it, or the epoch {epoch}")]
    KeyRequired {
        /// The todo.
        todo: TodoId,
        /// The epoch.
        epoch: u64,
    },
    /// A person's claim has no lease.
    #[error("a person's claim on {todo} has no lease, so it takes no key")]
    KeyForAgents {
        /// The todo.
        todo: TodoId,
    },
    /// The caller has an open turn.
    #[error("turn {turn} on {todo} is open")]
    TurnOpen {
        /// The turn.
        turn: TurnId,
        /// Its todo.
        todo: TodoId,
    },
    /// The caller has no open turn on this todo.
    #[error("you have no open turn on {todo}")]
    NoTurn {
        /// The todo.
        todo: TodoId,
    },
    /// The turn is not open.
    #[error("{turn} is not an open turn of yours")]
    TurnNotOpen {
        /// The turn.
        turn: TurnId,
    },
    /// The caller has no open turn at all.
    #[error("you have no open turn")]
    NoOpenTurn,
    /// A turn that brought nothing may not spend.
    #[error("turn {turn} has brought no accountable outcome, so it may not spend")]
    NotAccountable {
        /// The turn.
        turn: TurnId,
    },
    /// The quota does not allow it now.
    #[error(
        "quota: {slots} more would exceed {allowed} slots, of which {spent} are spent and {reserved} kept for open turns"
    )]
    QuotaExceeded {
        /// Slots asked for.
        slots: u64,
        /// Slots allowed.
        allowed: u64,
        /// Slots spent.
        spent: u64,
        /// Slots kept for the open turns of others.
        reserved: u64,
        /// When they would fit.
        free_at: Option<Timestamp>,
    },
    /// A close without evidence.
    #[error("{todo} cannot be completed without evidence")]
    EvidenceRequired {
        /// The todo.
        todo: TodoId,
    },
    /// The evidence does not count.
    #[error("{evidence} {ended}")]
    EvidenceNotCurrent {
        /// The evidence.
        evidence: EvidenceId,
        /// Why.
        ended: Ended,
    },
    /// The evidence is a command that failed.
    #[error("{evidence} is a command that failed (exit {exit})")]
    EvidenceFailed {
        /// The evidence.
        evidence: EvidenceId,
        /// Its exit code.
        exit: i32,
    },
    /// Evidence of a kind that cannot be stated like this.
    #[error("evidence of the kind {kind} is recorded {how}")]
    EvidenceKindReserved {
        /// The kind.
        kind: &'static str,
        /// How it is recorded.
        how: &'static str,
    },
    /// The evidence is about something else.
    #[error("{evidence} is not evidence about {about}")]
    EvidenceElsewhere {
        /// The evidence.
        evidence: EvidenceId,
        /// What it should be about.
        about: String,
    },
    /// A close that does not say what follows.
    #[error("completing {todo} has to say what follows")]
    ContinuationRequired {
        /// The todo.
        todo: TodoId,
    },
    /// A close that says more than one thing.
    #[error("completing {todo} may say only one of: next or successor, hand-over, wait-for, no-follow-up")]
    ContinuationAmbiguous {
        /// The todo.
        todo: TodoId,
    },
    /// A hand-over without a title for what follows.
    #[error("handing over from {todo} has to say, in one title, what follows")]
    HandOverNeedsNext {
        /// The todo.
        todo: TodoId,
    },
    /// The check of the todo was not run.
    #[error("the check of {todo} has to be run by this program")]
    CheckRequired {
        /// The todo.
        todo: TodoId,
    },
    /// The check of the todo failed.
    #[error("the check of {todo} failed ({}): {tail}", .exit.map_or_else(|| "no exit code".to_owned(), |code| format!("exit {code}")))]
    CheckFailed {
        /// The todo.
        todo: TodoId,
        /// Its exit code.
        exit: Option<i32>,
        /// The end of its output.
        tail: String,
    },
    /// The gate is not open.
    #[error("{gate} is not open")]
    GateNotOpen {
        /// The gate.
        gate: GateId,
    },
    /// An open gate holds the work up.
    #[error("{gate} has not been answered")]
    GateNotAnswered {
        /// The gate.
        gate: GateId,
    },
    /// The answer is not one of the options.
    #[error("`{given}` is not an option of {gate}: {}", list(.options))]
    OptionUnknown {
        /// The gate.
        gate: GateId,
        /// The answer given.
        given: Label,
        /// The options.
        options: Vec<Label>,
    },
    /// Several agents are registered and the gate does not say what it blocks.
    #[error("several agents are registered, so a gate has to say what waits for it")]
    BlocksRequired,
    /// The gate's approval is needed and absent.
    #[error("{gate} is not an approved gate, was not shown a measured value, or its approval was used")]
    NotApproved {
        /// The gate.
        gate: GateId,
    },
    /// The gate's approval was given for a time, or rests on evidence, that has ended.
    #[error("the approval of {gate} {lapse}")]
    ApprovalLapsed {
        /// The gate.
        gate: GateId,
        /// Why.
        lapse: Lapse,
    },
    /// The work requires a decision that no approval covers now.
    #[error("{todo} {missing}")]
    DecisionRequired {
        /// The todo.
        todo: TodoId,
        /// What is missing.
        missing: Box<Uncovered>,
    },
    /// An approval in this scope would stand for nothing.
    #[error(
        "below the goal, or for single agents, an approval in {scope} is for the todos that its gate names, and this one names none"
    )]
    ScopeNeedsTodos {
        /// The scope.
        scope: DecisionScope,
    },
    /// The answer covers nothing that could end.
    #[error(
        "only an approval in a scope can be given for a time or rest on evidence; this answer to {gate} is none"
    )]
    NothingToEnd {
        /// The gate.
        gate: GateId,
    },
    /// The slot is held by another promotion than the one named.
    #[error("slot {slot} is held by {}", .held.as_deref().unwrap_or("no promotion"))]
    SlotMoved {
        /// The slot.
        slot: Label,
        /// Who holds it.
        held: Option<String>,
    },
    /// The path lies outside what the goal may write.
    #[error("{scope} is outside what goal {goal} may write: {}", list(.allowed))]
    OutsideScope {
        /// The path.
        scope: PathScope,
        /// The goal.
        goal: GoalId,
        /// What it may write.
        allowed: Vec<PathScope>,
    },
    /// A need that was closed without being completed.
    #[error("{need} is not completed and not open: it was {closed}")]
    NeedNotMet {
        /// The need.
        need: TodoId,
        /// How it was closed.
        closed: Box<ClosedTodo>,
    },
    /// An instant that has passed.
    #[error("{field} is {at}, which has passed")]
    InPast {
        /// The field.
        field: &'static str,
        /// The instant given.
        at: Timestamp,
    },
    /// The caller holds it already.
    #[error("{on} is held by you already, until {until}")]
    HeldAlready {
        /// What.
        on: LeaseTarget,
        /// Until when.
        until: Timestamp,
    },
    /// The gate that is to carry a promotion was decided without looking at any of the rows cited.
    #[error("{gate} was decided without looking at any of the rows cited")]
    RowsNotShown {
        /// The gate.
        gate: GateId,
    },
    /// A row cannot speak for a promotion and be its baseline.
    #[error("{evidence} cannot be cited and be the baseline too")]
    OwnBaseline {
        /// The row.
        evidence: EvidenceId,
    },
    /// A number or a list is out of range.
    #[error("{field} is {value}; the limit is {limit}")]
    OutOfRange {
        /// The field.
        field: &'static str,
        /// The value given.
        value: u64,
        /// The limit, in words.
        limit: String,
    },
    /// The resource is free.
    #[error("{resource} is not leased")]
    NotLeased {
        /// The resource.
        resource: ResourceId,
    },
    /// The spend cannot be taken back.
    #[error("#{spend} holds no spend of this goal that still counts")]
    SpendNotFound {
        /// The record named.
        spend: Seq,
    },
    /// Something looks like a secret, and would be kept for ever.
    #[error("{place} looks like {kind}; --allow-secret WHY records it all the same")]
    SecretFound {
        /// Where it stands.
        place: String,
        /// What it looks like.
        kind: crate::secret::Kind,
    },
    /// A budget is used up.
    #[error("{whose} has used {used} of {limit} {what}")]
    BudgetUsedUp {
        /// The goal or agent.
        whose: String,
        /// Which number.
        what: &'static str,
        /// What was used.
        used: u64,
        /// The limit.
        limit: u64,
    },
    /// It is no monitor.
    #[error("{todo} is not a monitor")]
    NotAMonitor {
        /// The todo.
        todo: TodoId,
    },
    /// Nothing new was seen, and it is too early to say so again.
    #[error("{todo} saw nothing new, and is due at {at}")]
    MonitorNotDue {
        /// The monitor.
        todo: TodoId,
        /// When it is due.
        at: Timestamp,
    },
    /// A monitor says what it watches and how often; nothing else does.
    #[error("a monitor says what it watches and how often, and nothing else does")]
    MonitorSpec,
    /// A monitor is no work.
    #[error("{todo} is a monitor, which is never completed")]
    NeedIsMonitor {
        /// The monitor.
        todo: TodoId,
    },
    /// A todo is put off until an instant, or until something happens.
    #[error("{todo} is put off until an instant or until something is closed, not both")]
    ResumeAmbiguous {
        /// The todo.
        todo: TodoId,
    },
}

impl Refusal {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::AgentUnknown { .. } => "agent.unknown",
            Self::AgentRetired { .. } => "agent.retired",
            Self::AgentUnnamed => "agent.unnamed",
            Self::OwnerOnly { .. } => "owner.required",
            Self::OwnerUnknown { .. } => "owner.unknown",
            Self::LastOwner { .. } => "owner.last",
            Self::OwnerUnnamed => "owner.unnamed",
            Self::Exists { .. } => "exists",
            Self::Unknown { .. } => "not_found",
            Self::NoGoal => "goal.none",
            Self::GoalAmbiguous { .. } => "goal.ambiguous",
            Self::GoalNotActive { .. } => "goal.not_active",
            Self::GoalNotAccepted { .. } => "goal.not_accepted",
            Self::GoalWithoutCriteria { .. } => "goal.no_criteria",
            Self::GoalHasOpenWork { .. } => "goal.open_work",
            Self::NothingToChange => "nothing_to_change",
            Self::TodoNotOpen { .. } => "todo.not_open",
            Self::NotRunnable { .. } => "todo.not_runnable",
            Self::HeldBy { .. } => "held_by_other",
            Self::NotHeld { .. } => "not_held",
            Self::StaleEpoch { .. } => "epoch.stale",
            Self::KeyReused { .. } => "idempotency_key_reuse",
            Self::KeyMismatch { .. } | Self::StaleVersion { .. } => "lease_cas_mismatch",
            Self::LeaseNotActive { .. } => "lease_not_active",
            Self::KeyRequired { .. } => "lease_fence_required",
            Self::KeyForAgents { .. } => "lease_for_agents",
            Self::TurnOpen { .. } => "turn.open",
            Self::NoTurn { .. } => "turn.none",
            Self::TurnNotOpen { .. } => "turn.not_open",
            Self::NoOpenTurn => "turn.none",
            Self::NotAccountable { .. } => "turn.not_accountable",
            Self::QuotaExceeded { .. } => "quota.exceeded",
            Self::EvidenceRequired { .. } => "evidence.required",
            Self::EvidenceNotCurrent { .. } => "evidence.not_current",
            Self::EvidenceFailed { .. } => "evidence.failed",
            Self::EvidenceKindReserved { .. } => "evidence.kind_reserved",
            Self::EvidenceElsewhere { .. } => "evidence.elsewhere",
            Self::ContinuationRequired { .. } => "continuation.required",
            Self::ContinuationAmbiguous { .. } => "continuation.ambiguous",
            Self::HandOverNeedsNext { .. } => "continuation.hand_over_needs_next",
            Self::CheckRequired { .. } => "check.required",
            Self::CheckFailed { .. } => "check.failed",
            Self::GateNotOpen { .. } => "gate.not_open",
            Self::GateNotAnswered { .. } => "gate.not_answered",
            Self::OptionUnknown { .. } => "gate.option_unknown",
            Self::BlocksRequired => "gate.blocks_required",
            Self::NotApproved { .. } => "gate.not_approved",
            Self::ApprovalLapsed { .. } => "gate.lapsed",
            Self::DecisionRequired { .. } => "gate.decision_required",
            Self::ScopeNeedsTodos { .. } => "gate.scope_needs_todos",
            Self::NothingToEnd { .. } => "gate.nothing_to_end",
            Self::SlotMoved { .. } => "promotion.slot_moved",
            Self::OutsideScope { .. } => "scope.outside",
            Self::NeedNotMet { .. } => "todo.need_not_met",
            Self::InPast { .. } => "in_past",
            Self::HeldAlready { .. } => "held_already",
            Self::RowsNotShown { .. } => "gate.rows_not_shown",
            Self::OwnBaseline { .. } => "promotion.own_baseline",
            Self::OutOfRange { .. } => "out_of_range",
            Self::NotLeased { .. } => "lease.none",
            Self::SpendNotFound { .. } => "quota.no_such_spend",
            Self::SecretFound { .. } => "secret.found",
            Self::BudgetUsedUp { .. } => "quota.budget_used_up",
            Self::NotAMonitor { .. } => "monitor.none",
            Self::MonitorNotDue { .. } => "monitor.not_due",
            Self::MonitorSpec => "monitor.unclear",
            Self::NeedIsMonitor { .. } => "need.is_monitor",
            Self::ResumeAmbiguous { .. } => "resume.ambiguous",
        }
    }
}

fn list<T: ToString>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
