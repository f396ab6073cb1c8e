//! What can be asked of the ledger: one struct per command. The command line and `append --stdin` both arrive here.
//!
//! The JSON form is `{"command":"todo.add","title":"…"}`; unknown fields are refused.

use super::SpendName;
use serde::{Deserialize, Serialize};

use crate::decimal::Decimal;
use crate::decision_scope::DecisionScope;
use crate::event::{
    Allowance, Delegable, DeliveryOutcome, Direction, EvidenceKind, GateOutcome, InvalidationCause,
    LeaseTarget, Priority, ResumeWhen, Split, Subject, TodoClass, TrialEnd,
};
use crate::hash::Hash;
use crate::id::{
    AgentId, CapabilityId, CriterionId, EvidenceId, ExperimentId, GateId, GoalId, HypothesisId, Label,
    LeaseKey, OwnerId, PromotionId, ResourceId, Seq, TodoId, TrialId, TurnId,
};
use crate::scope::PathScope;
use crate::text::Text;
use crate::time::Timestamp;

macro_rules! commands {
    ($($(#[$doc:meta])* $name:literal $variant:ident { $($(#[$attr:meta])* $field:ident: $type:ty,)* })*) => {
        /// One request to change something. It is decided as a whole and lands as one record, or not at all.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "command")]
        pub enum Command {
            $($(#[$doc])* #[serde(rename = $name)] $variant($variant),)*
        }

        impl Command {
            /// The name as it is written, such as `todo.add`.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)* }
            }
        }

        $(
            $(#[$doc])*
            #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
            #[serde(deny_unknown_fields)]
            pub struct $variant { $($(#[$attr])* pub $field: $type,)* }

            impl From<$variant> for Command {
                fn from(command: $variant) -> Self { Self::$variant(command) }
            }
        )*
    };
}

commands! {
    /// Registers a peer.
    "agent.register" AgentRegister {
        /// Its name.
        agent: AgentId,
        /// What it can always do.
        #[serde(default)]
        capabilities: Vec<CapabilityId>,
    }
    /// Says what a peer can do from now on.
    "agent.update" AgentUpdate {
        /// Its name.
        agent: AgentId,
        /// What it can do now.
        #[serde(default)]
        add: Vec<CapabilityId>,
        /// What it can no longer do.
        #[serde(default)]
        drop: Vec<CapabilityId>,
        /// The reason.
        why: Text,
    }
    /// Grants a peer what only an owner can grant.
    "agent.grant" AgentGrant {
        /// Its name.
        agent: AgentId,
        /// What.
        capabilities: Vec<CapabilityId>,
        /// The reason.
        why: Text,
    }
    /// Takes back what was granted.
    "agent.revoke" AgentRevoke {
        /// Its name.
        agent: AgentId,
        /// What.
        capabilities: Vec<CapabilityId>,
        /// The reason.
        why: Text,
    }
    /// Retires a peer.
    "agent.retire" AgentRetire {
        /// Its name.
        agent: AgentId,
        /// The reason.
        why: Text,
    }
    /// Registers a human who decides.
    "owner.register" OwnerRegister {
        /// The name.
        owner: OwnerId,
    }
    /// Ends an owner's right to decide.
    "owner.revoke" OwnerRevoke {
        /// The name.
        owner: OwnerId,
        /// The reason.
        why: Text,
    }
    /// Starts a goal.
    "goal.start" GoalStart {
        /// Its name; `goal`, `goal-2` … if absent.
        #[serde(default)]
        name: Option<GoalId>,
        /// What is to be reached.
        objective: Text,
        /// Acceptance criteria.
        #[serde(default)]
        criteria: Vec<Text>,
        /// What may be written.
        #[serde(default)]
        write: Vec<PathScope>,
        /// What may be read.
        #[serde(default)]
        read: Vec<PathScope>,
    }
    /// Changes a goal, with the reason.
    "goal.change" GoalChangeRequest {
        /// A new objective.
        #[serde(default)]
        objective: Option<Text>,
        /// Criteria to add.
        #[serde(default)]
        add_criteria: Vec<Text>,
        /// Criteria to drop.
        #[serde(default)]
        drop_criteria: Vec<CriterionId>,
        /// A new write scope.
        #[serde(default)]
        write: Option<Vec<PathScope>>,
        /// Why.
        reason: Text,
    }
    /// Pauses a goal.
    "goal.pause" GoalPause {
        /// The reason.
        why: Text,
    }
    /// Resumes a goal.
    "goal.resume" GoalResume {
        /// The reason.
        why: Text,
    }
    /// Completes a goal whose criteria are met.
    "goal.complete" GoalComplete {
        /// What was reached.
        why: Text,
    }
    /// Gives a goal up.
    "goal.abandon" GoalAbandon {
        /// The reason.
        why: Text,
    }
    /// Says that a criterion is met.
    "goal.accept" GoalAccept {
        /// The criterion.
        criterion: CriterionId,
        /// What shows it.
        evidence: EvidenceId,
    }
    /// Says that a criterion is not met after all.
    "goal.reject" GoalReject {
        /// The criterion.
        criterion: CriterionId,
        /// The reason.
        why: Text,
    }
    /// Adds a todo.
    "todo.add" TodoAdd {
        /// What it is, in a line.
        title: Text,
        /// The sort of work.
        #[serde(default)]
        class: TodoClass,
        /// Urgency.
        #[serde(default)]
        priority: Priority,
        /// Kind of action.
        #[serde(default)]
        action: Option<Label>,
        /// What shows that it is done.
        #[serde(default)]
        done_when: Option<Text>,
        /// Todos that come first.
        #[serde(default)]
        needs: Vec<TodoId>,
        /// What it may write.
        #[serde(default)]
        write: Vec<PathScope>,
        /// Resources that it uses alone.
        #[serde(default)]
        resources: Vec<ResourceId>,
        /// Capabilities that it requires.
        #[serde(default)]
        requires: Vec<CapabilityId>,
        /// Capabilities that its agent may have to build first.
        #[serde(default)]
        buildable: Vec<CapabilityId>,
        /// Capabilities that an owner must have granted to its agent.
        #[serde(default)]
        granted: Vec<CapabilityId>,
        /// What a monitor watches.
        #[serde(default)]
        watch: Option<Text>,
        /// How often.
        #[serde(default)]
        every_ms: Option<u64>,
        /// Until when.
        #[serde(default)]
        until: Option<Timestamp>,
        /// Scopes in which a human has to have decided.
        #[serde(default)]
        requires_decision: Vec<DecisionScope>,
        /// Agents that may not take it.
        #[serde(default)]
        excluded: Vec<AgentId>,
        /// The only agent that may take it.
        #[serde(default)]
        bound: Option<AgentId>,
        /// The command that must succeed before it can be completed.
        #[serde(default)]
        check: Vec<String>,
        /// Criteria that it serves.
        #[serde(default)]
        serves: Vec<CriterionId>,
    }
    /// Claims a todo, with a lease and a turn for an agent.
    "todo.claim" TodoClaim {
        /// The todo.
        todo: TodoId,
        /// Length of the lease.
        #[serde(default)]
        ttl_ms: Option<u64>,
        /// The key that whoever acts on it then has to show. A key opens one lease of the todo, once.
        #[serde(default)]
        key: Option<LeaseKey>,
        /// The version that its lease must have.
        #[serde(default)]
        version: Option<u64>,
        /// What it may write from now on.
        #[serde(default)]
        write: Option<Vec<PathScope>>,
    }
    /// Gives a todo back.
    "todo.release" TodoRelease {
        /// The todo.
        todo: TodoId,
        /// The epoch under which it is held.
        #[serde(default)]
        epoch: Option<u64>,
        /// The key of its lease, if it has one.
        #[serde(default)]
        key: Option<LeaseKey>,
        /// The version that its lease must have.
        #[serde(default)]
        version: Option<u64>,
        /// The reason.
        why: Text,
    }
    /// Passes a held todo on.
    "todo.hand_over" TodoHandOver {
        /// The todo.
        todo: TodoId,
        /// To whom.
        to: AgentId,
        /// The epoch under which it is held.
        #[serde(default)]
        epoch: Option<u64>,
        /// The key of its lease, if it has one.
        #[serde(default)]
        key: Option<LeaseKey>,
        /// The version that its lease must have.
        #[serde(default)]
        version: Option<u64>,
        /// The key of the new holder's lease.
        #[serde(default)]
        new_key: Option<LeaseKey>,
        /// Length of the new holder's lease.
        #[serde(default)]
        ttl_ms: Option<u64>,
        /// The reason.
        why: Text,
    }
    /// Lets a peer act on a held todo, for as long as the claim lasts.
    "todo.delegate" TodoDelegate {
        /// The todo.
        todo: TodoId,
        /// Whom.
        to: AgentId,
        /// What the peer may do.
        actions: Vec<Delegable>,
        /// The epoch under which it is held.
        #[serde(default)]
        epoch: Option<u64>,
        /// The key of its lease, if it has one.
        #[serde(default)]
        key: Option<LeaseKey>,
        /// The version that its lease must have.
        #[serde(default)]
        version: Option<u64>,
        /// The reason.
        why: Text,
    }
    /// Changes a todo.
    "todo.update" TodoUpdate {
        /// The todo.
        todo: TodoId,
        /// A new title.
        #[serde(default)]
        title: Option<Text>,
        /// A new priority.
        #[serde(default)]
        priority: Option<Priority>,
        /// A new condition.
        #[serde(default)]
        done_when: Option<Text>,
        /// Needs to drop.
        #[serde(default)]
        drop_needs: Vec<TodoId>,
        /// What it may write instead.
        #[serde(default)]
        write: Option<Vec<PathScope>>,
        /// The epoch under which it is held.
        #[serde(default)]
        epoch: Option<u64>,
        /// The key of its lease, if it has one.
        #[serde(default)]
        key: Option<LeaseKey>,
        /// The version that its lease must have.
        #[serde(default)]
        version: Option<u64>,
    }
    /// Completes a todo, on evidence, saying what follows. The turn stays open until it is paid for.
    "todo.complete" TodoComplete {
        /// The todo.
        todo: TodoId,
        /// What is shown and what follows.
        close: Close,
    }
    /// Says that a todo cannot go on.
    "todo.block" TodoBlock {
        /// The todo.
        todo: TodoId,
        /// What is in the way.
        why: Text,
    }
    /// Puts a todo off.
    "todo.defer" TodoDefer {
        /// The todo.
        todo: TodoId,
        /// Until when.
        #[serde(default)]
        until: Option<Timestamp>,
        /// What has to be closed first.
        #[serde(default)]
        when: Option<ResumeWhen>,
        /// The reason.
        why: Text,
    }
    /// Opens a blocked, deferred or closed todo again.
    "todo.reopen" TodoReopen {
        /// The todo.
        todo: TodoId,
        /// The reason.
        why: Text,
    }
    /// Replaces a todo by another open one.
    "todo.supersede" TodoSupersede {
        /// The todo.
        todo: TodoId,
        /// The replacement.
        by: TodoId,
        /// The reason.
        why: Text,
    }
    /// Drops a todo.
    "todo.cancel" TodoCancel {
        /// The todo.
        todo: TodoId,
        /// The reason.
        why: Text,
    }
    /// Puts a question to a human.
    "gate.open" GateOpen {
        /// The exact question.
        question: Text,
        /// The scope in which a decision is asked for.
        #[serde(default)]
        scope: Option<DecisionScope>,
        /// Possible answers; empty means approve or reject.
        #[serde(default)]
        options: Vec<Label>,
        /// Todos that wait.
        #[serde(default)]
        blocks: Vec<TodoId>,
        /// Agents that wait.
        #[serde(default)]
        blocks_agents: Vec<AgentId>,
        /// Whether everything waits.
        #[serde(default)]
        blocks_all: bool,
        /// What to look at.
        #[serde(default)]
        evidence: Vec<EvidenceId>,
    }
    /// Decides a gate; owners only.
    "gate.decide" GateDecide {
        /// The gate.
        gate: GateId,
        /// The decision.
        outcome: GateOutcome,
        /// When the approval ends by itself.
        #[serde(default)]
        valid_until: Option<Timestamp>,
        /// Evidence that has to stay current for the approval to cover anything.
        #[serde(default)]
        rests_on: Vec<EvidenceId>,
        /// The rationale.
        why: Text,
    }
    /// Takes an approval back; owners only.
    "gate.revoke" GateRevoke {
        /// The gate.
        gate: GateId,
        /// The reason.
        why: Text,
    }
    /// Withdraws a gate.
    "gate.withdraw" GateWithdraw {
        /// The gate.
        gate: GateId,
        /// The reason.
        why: Text,
    }
    /// Leases a named resource.
    "lease.acquire" LeaseAcquire {
        /// The resource.
        resource: ResourceId,
        /// Length of the lease.
        #[serde(default)]
        ttl_ms: Option<u64>,
    }
    /// Prolongs a lease.
    "lease.renew" LeaseRenew {
        /// On what.
        on: LeaseTarget,
        /// The epoch of the lease.
        #[serde(default)]
        epoch: Option<u64>,
        /// The key of a todo's lease, if it has one.
        #[serde(default)]
        key: Option<LeaseKey>,
        /// The version that a todo's lease must have.
        #[serde(default)]
        version: Option<u64>,
        /// Length from now.
        #[serde(default)]
        ttl_ms: Option<u64>,
    }
    /// Gives a leased resource back.
    "lease.release" LeaseRelease {
        /// The resource.
        resource: ResourceId,
        /// The epoch of the lease.
        #[serde(default)]
        epoch: Option<u64>,
    }
    /// Records evidence.
    "evidence.add" EvidenceAdd {
        /// What it is about.
        about: Subject,
        /// The evidence.
        #[serde(flatten)]
        evidence: NewEvidence,
        /// A measured value.
        #[serde(default)]
        metric: Option<NewMetricRow>,
    }
    /// Marks evidence as wrong.
    "evidence.invalidate" EvidenceInvalidate {
        /// The evidence.
        evidence: EvidenceId,
        /// The kind of fault.
        cause: InvalidationCause,
        /// What happened.
        why: Text,
    }
    /// Puts newer evidence in the place of older.
    "evidence.supersede" EvidenceSupersede {
        /// The older.
        evidence: EvidenceId,
        /// The newer.
        by: EvidenceId,
        /// The reason.
        why: Text,
    }
    /// Decides what this agent may do now and, if it may work, claims, leases and opens the turn.
    "next" Next {
        /// Length of the lease.
        #[serde(default)]
        ttl_ms: Option<u64>,
    }
    /// Closes the turn's todo on evidence, says what follows, and pays.
    "done" Done {
        /// The todo of the open turn.
        todo: TodoId,
        /// What is shown and what follows.
        close: Close,
        /// What the turn brought.
        #[serde(default)]
        outcome: Option<DeliveryOutcome>,
        /// What it cost.
        #[serde(default)]
        spend: Spending,
    }
    /// Ends the turn and gives the todo back.
    "yield" Yield {
        /// The todo of the open turn.
        todo: TodoId,
        /// The reason.
        why: Text,
    }
    /// Ends the turn; the todo cannot go on.
    "block" Block {
        /// The todo of the open turn.
        todo: TodoId,
        /// What is in the way.
        why: Text,
    }
    /// Records what was seen at what a monitor watches.
    "monitor.poll" MonitorPoll {
        /// The monitor.
        todo: TodoId,
        /// What was seen, in the same words if it is the same.
        result: Text,
        /// Todos that follow.
        #[serde(default)]
        next: Vec<Text>,
        /// Why nothing follows, though something changed.
        #[serde(default)]
        no_follow_up: Option<Text>,
    }
    /// Leaves a note for the next turn.
    "refresh-state" RefreshState {
        /// What should happen next.
        next_action: Text,
        /// What kind of turn it was.
        #[serde(default)]
        classification: Option<Label>,
        /// What it brought.
        #[serde(default)]
        outcome: Option<DeliveryOutcome>,
        /// The todo it is about.
        #[serde(default)]
        todo: Option<TodoId>,
        /// The turn it reports on.
        #[serde(default)]
        turn: Option<TurnId>,
    }
    /// Sets a goal's quota; owners only.
    "quota.set" QuotaSetRequest {
        /// How much.
        allowance: Allowance,
        /// Length of a slot; one minute if absent.
        #[serde(default)]
        slot_ms: Option<u64>,
        /// Length of the window; 24 hours if absent.
        #[serde(default)]
        window_ms: Option<u64>,
        /// The reason.
        why: Text,
    }
    /// Pays for the open turn, and closes it.
    "quota.spend-slot" QuotaSpendSlot {
        /// What it cost.
        #[serde(flatten)]
        spend: Spending,
        /// The turn; the caller's open one if absent.
        #[serde(default)]
        turn: Option<TurnId>,
        /// Its todo, to be sure.
        #[serde(default)]
        todo: Option<TodoId>,
    }
    /// Sets what a goal, or one agent, may use in all; owners only.
    "quota.budget" QuotaBudgetRequest {
        /// The agent, if it is not the goal's.
        #[serde(default)]
        on_agent: Option<AgentId>,
        /// Tokens; not limited if absent.
        #[serde(default)]
        tokens: Option<u64>,
        /// Money, in millionths; not limited if absent.
        #[serde(default)]
        cost_micro: Option<u64>,
        /// Time of turns, in milliseconds; not limited if absent.
        #[serde(default)]
        wall_ms: Option<u64>,
        /// The reason.
        why: Text,
    }
    /// Takes a spend back; owners only.
    "quota.void-slot" QuotaVoidSlot {
        /// The record of the spend.
        spend: Seq,
        /// The reason.
        why: Text,
    }
    /// Defines a metric.
    "lineage.metric" LineageMetric {
        /// Its name.
        metric: Label,
        /// Which way is better.
        direction: Direction,
        /// Its unit.
        unit: Label,
        /// What it is and how it is computed.
        title: Text,
    }
    /// Registers a version of a data set.
    "lineage.dataset" LineageDataset {
        /// Its name.
        dataset: Label,
        /// BLAKE3 of its content.
        digest: Hash,
        /// Size of its content, if the blob store has it.
        #[serde(default)]
        bytes: Option<u64>,
        /// How many rows it has.
        rows: u64,
        /// What it is for.
        split: Split,
        /// What it is and where it comes from.
        title: Text,
    }
    /// Proposes a hypothesis.
    "lineage.hypothesis" LineageHypothesis {
        /// The claim.
        text: Text,
        /// Hypotheses that it refines.
        #[serde(default)]
        refines: Vec<HypothesisId>,
        /// The todo under which it is tested.
        #[serde(default)]
        todo: Option<TodoId>,
    }
    /// Registers an experiment.
    "lineage.experiment" LineageExperiment {
        /// The hypothesis.
        tests: HypothesisId,
        /// Its configuration.
        config: Text,
        /// Data sets that it uses.
        datasets: Vec<Label>,
        /// The promotion that it starts from.
        #[serde(default)]
        starts_from: Option<PromotionId>,
    }
    /// Starts a trial.
    "lineage.trial-start" LineageTrialStart {
        /// The experiment.
        experiment: ExperimentId,
        /// The seed.
        seed: u64,
    }
    /// Ends a trial.
    "lineage.trial-end" LineageTrialEnd {
        /// The trial.
        trial: TrialId,
        /// How it ended.
        end: TrialEnd,
        /// What went wrong.
        #[serde(default)]
        why: Option<Text>,
    }
    /// Puts an artifact into a slot, on an approved gate.
    "lineage.promote" LineagePromote {
        /// The slot.
        slot: Label,
        /// The approved gate.
        gate: GateId,
        /// BLAKE3 of what is promoted.
        artifact: Hash,
        /// Its size, if the blob store has it.
        #[serde(default)]
        bytes: Option<u64>,
        /// What it is.
        title: Text,
        /// Rows that speak for it.
        cites: Vec<EvidenceId>,
        /// Baseline rows.
        #[serde(default)]
        contrast: Vec<EvidenceId>,
        /// The promotion that it replaces, which must hold the slot.
        #[serde(default)]
        replaces: Option<PromotionId>,
    }
}

/// Evidence that a command brings along; content is in the blob store by then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewEvidence {
    /// Its form.
    pub kind: EvidenceKind,
    /// What it shows.
    pub summary: Text,
    /// Where it comes from.
    #[serde(default)]
    pub source: Option<Text>,
    /// Exit code, if a command was run.
    #[serde(default)]
    pub exit: Option<i32>,
    /// BLAKE3 of its content.
    #[serde(default)]
    pub digest: Option<Hash>,
    /// Size of its content.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// For how long it shows anything; for as long as nothing changes if absent.
    #[serde(default)]
    pub valid_for_ms: Option<u64>,
}

/// A measured value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewMetricRow {
    /// The trial that measured it.
    pub trial: TrialId,
    /// The metric.
    pub metric: Label,
    /// The data set version.
    pub dataset: Label,
    /// The value.
    pub value: Decimal,
    /// The spread.
    #[serde(default)]
    pub spread: Option<Decimal>,
    /// How many observations stand behind it.
    #[serde(default)]
    pub n: Option<u64>,
}

/// How a todo is closed: what shows it and what follows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Close {
    /// Evidence recorded before.
    #[serde(default)]
    pub evidence: Vec<EvidenceId>,
    /// Evidence recorded now.
    #[serde(default)]
    pub proof: Vec<NewEvidence>,
    /// Criteria that this evidence meets.
    #[serde(default)]
    pub meets: Vec<CriterionId>,
    /// Titles of todos that follow.
    #[serde(default)]
    pub next: Vec<Text>,
    /// Open todos that follow.
    #[serde(default)]
    pub successors: Vec<TodoId>,
    /// The agent that goes on.
    #[serde(default)]
    pub hand_over: Option<AgentId>,
    /// What has to happen first.
    #[serde(default)]
    pub wait_for: Option<WaitFor>,
    /// Nothing follows, and why.
    #[serde(default)]
    pub no_follow_up: Option<Text>,
    /// The epoch under which the todo is held.
    #[serde(default)]
    pub epoch: Option<u64>,
    /// The key of its lease, if it has one.
    #[serde(default)]
    pub key: Option<LeaseKey>,
    /// The version that its lease must have.
    #[serde(default)]
    pub version: Option<u64>,
    /// The result of the todo's check. Only this program attaches it; it is never read from a request.
    #[serde(skip)]
    pub check: Option<CheckResult>,
}

/// What a close waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitFor {
    /// An open todo.
    Todo(TodoId),
    /// An open gate.
    Gate(GateId),
    /// An instant.
    Until(Timestamp),
}

/// What a todo's check did, run by this program without a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckResult {
    /// The command that was run.
    pub argv: Vec<String>,
    /// Its exit code; none if it was killed or could not start.
    pub exit: Option<i32>,
    /// BLAKE3 of its output in the blob store.
    pub digest: Hash,
    /// Size of its output.
    pub bytes: u64,
    /// The end of its output, or what kept it from running.
    pub tail: String,
}

/// What a turn cost.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spending {
    /// Slots; 1 if absent.
    #[serde(default)]
    pub slots: Option<u64>,
    /// Tokens.
    #[serde(default)]
    pub tokens: Option<u64>,
    /// Money, in millionths.
    #[serde(default)]
    pub cost_micro: Option<u64>,
}

impl Command {
    /// The todos that this command names, which may have been closed.
    #[must_use]
    pub fn todos(&self) -> Vec<TodoId> {
        match self {
            Self::TodoAdd(c) => c.needs.clone(),
            Self::TodoClaim(TodoClaim { todo, .. })
            | Self::TodoRelease(TodoRelease { todo, .. })
            | Self::TodoHandOver(TodoHandOver { todo, .. })
            | Self::TodoDelegate(TodoDelegate { todo, .. })
            | Self::TodoUpdate(TodoUpdate { todo, .. })
            | Self::TodoBlock(TodoBlock { todo, .. })
            | Self::TodoDefer(TodoDefer { todo, .. })
            | Self::TodoReopen(TodoReopen { todo, .. })
            | Self::TodoCancel(TodoCancel { todo, .. })
            | Self::MonitorPoll(MonitorPoll { todo, .. })
            | Self::Yield(Yield { todo, .. })
            | Self::Block(Block { todo, .. }) => vec![*todo],
            Self::TodoComplete(TodoComplete { todo, close }) | Self::Done(Done { todo, close, .. }) => {
                std::iter::once(*todo).chain(close.successors.iter().copied()).collect()
            }
            Self::TodoSupersede(c) => vec![c.todo, c.by],
            Self::GateOpen(c) => c.blocks.clone(),
            Self::EvidenceAdd(EvidenceAdd { about: Subject::Todo(todo), .. }) => vec![*todo],
            _ => Vec::new(),
        }
    }

    /// The spend that this command names.
    #[must_use]
    pub fn spend(&self) -> Option<SpendName> {
        match self {
            Self::QuotaSpendSlot(c) => c.turn.map(SpendName::Turn),
            Self::QuotaVoidSlot(c) => Some(SpendName::Record(c.spend)),
            _ => None,
        }
    }

    /// Whether content is kept beside the log for it.
    #[must_use]
    pub fn keeps_content(&self) -> bool {
        let kept = |evidence: &NewEvidence| evidence.bytes.is_some();
        match self {
            Self::EvidenceAdd(c) => kept(&c.evidence),
            Self::LineageDataset(c) => c.bytes.is_some(),
            Self::LineagePromote(c) => c.bytes.is_some(),
            other => {
                other.close().is_some_and(|(_, close)| close.proof.iter().any(kept) || close.check.is_some())
            }
        }
    }

    /// The key with which this command would open a lease, and on what.
    #[must_use]
    pub const fn opens(&self) -> Option<(TodoId, &LeaseKey)> {
        match self {
            Self::TodoClaim(TodoClaim { todo, key: Some(key), .. })
            | Self::TodoHandOver(TodoHandOver { todo, new_key: Some(key), .. }) => Some((*todo, key)),
            _ => None,
        }
    }

    /// The close that this command asks for, if it asks for one.
    #[must_use]
    pub fn close(&self) -> Option<(TodoId, &Close)> {
        match self {
            Self::TodoComplete(c) => Some((c.todo, &c.close)),
            Self::Done(c) => Some((c.todo, &c.close)),
            _ => None,
        }
    }

    /// The same, to attach the result of a check.
    pub fn close_mut(&mut self) -> Option<&mut Close> {
        match self {
            Self::TodoComplete(c) => Some(&mut c.close),
            Self::Done(c) => Some(&mut c.close),
            _ => None,
        }
    }
}

/// Who asks, before anything is decided about it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caller {
    /// The agent named, by option or environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The owner named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<OwnerId>,
    /// The session of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<crate::id::SessionId>,
    /// The goal named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<GoalId>,
    /// Capabilities present now, beside the registered ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<CapabilityId>,
    /// Why what looks like a secret is none, or may be recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_secret: Option<Text>,
}
