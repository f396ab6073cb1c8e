//! Arguments to requests: one function a command.

use loopx::decide::Command;
use loopx::decide::command as c;
use loopx::decide::command::Spending;
use loopx::event::{Allowance, GateOutcome, TodoClass};
use loopx::ledger::Submission;

use super::Session;
use super::contract;
use super::evidence::{self, close};
use crate::cli::{self, Top};
use crate::failure::Failure;

/// The request that a command line asks for; none if it only reads.
pub fn submission(session: &Session<'_>, top: &Top) -> Result<Option<Submission>, Failure> {
    let caller = session.caller()?;
    if let Some(agent) =
        top.speaker().filter(|agent| caller.owner.is_some() || caller.agent.as_ref() != Some(agent))
    {
        return Err(Failure::usage(format!("the command names two who act; one of them is {agent}")));
    }
    let command = match top {
        Top::RegisterAgent(args) => {
            let agent = caller.agent.clone().ok_or_else(|| Failure::usage("--agent-id is required"))?;
            Some(c::AgentRegister { agent, capabilities: args.capability.clone() }.into())
        }
        Top::StartGoal(args) => Some(start_goal(args)),
        Top::Next(args) => Some(c::Next { ttl_ms: args.ttl.map(|ttl| ttl.0) }.into()),
        Top::Done(args) => Some(done(session, args)?),
        Top::Yield(args) => Some(c::Yield { todo: args.todo, why: args.why.clone() }.into()),
        Top::Block(args) => Some(c::Block { todo: args.todo, why: args.why.clone() }.into()),
        Top::Ask(args) | Top::Gate(cli::Gate::Open(args)) => Some(ask(args)),
        Top::Add(args) | Top::Todo(cli::Todo::Add(args)) => Some(add(args)),
        Top::RefreshState(args) => Some(refresh(args)),
        Top::Quota(args) => quota(args),
        Top::Goal(args) => goal(args),
        Top::Todo(args) => todo(session, args)?,
        Top::Gate(args) => gate(args),
        Top::Lease(args) => lease(args),
        Top::TaskLease(args) => contract::task_lease(args)?,
        Top::Evidence(args) => evidence::evidence(session, args)?,
        Top::Agent(args) => agent(args),
        Top::Owner(args) => owner(args),
        Top::Monitor(args) => monitor(args),
        Top::Lineage(args) => evidence::lineage(session, args)?,
        _ => None,
    };
    Ok(command.map(|command| Submission { caller, command, request: session.global.request.clone() }))
}

fn start_goal(args: &cli::StartGoal) -> Command {
    c::GoalStart {
        name: args.name.clone(),
        objective: args.goal_text.clone(),
        criteria: args.accept.clone(),
        write: args.scope_write.clone(),
        read: args.scope_read.clone(),
    }
    .into()
}

fn add(args: &cli::AddTodo) -> Command {
    c::TodoAdd {
        title: args.title.clone(),
        class: match (args.user_action, &args.watch) {
            (true, _) => TodoClass::UserAction,
            (false, Some(_)) => TodoClass::Monitor,
            (false, None) => TodoClass::Advancement,
        },
        priority: args.priority,
        action: args.action.clone(),
        done_when: args.done_when.clone(),
        needs: args.needs.clone(),
        write: args.write.clone(),
        resources: args.resource.clone(),
        requires: args.requires.clone(),
        buildable: args.requires_buildable.clone(),
        granted: args.requires_granted.clone(),
        watch: args.watch.clone(),
        every_ms: args.every.map(|every| every.0),
        until: args.until,
        requires_decision: args.requires_decision.clone(),
        excluded: args.excluded.clone(),
        bound: args.bound.clone(),
        check: args.check.clone(),
        serves: args.serves.clone(),
    }
    .into()
}

fn ask(args: &cli::Ask) -> Command {
    c::GateOpen {
        question: args.question.clone(),
        scope: args.scope.clone(),
        options: args.options.clone(),
        blocks: args.blocks.clone(),
        blocks_agents: args.blocks_agent.clone(),
        blocks_all: args.global,
        evidence: args.evidence.clone(),
    }
    .into()
}

fn refresh(args: &cli::RefreshState) -> Command {
    c::RefreshState {
        next_action: args.next_action.clone(),
        classification: args.classification.clone(),
        outcome: args.delivery_outcome,
        todo: args.todo_id,
        turn: args.turn_instance_id,
    }
    .into()
}

fn done(session: &Session<'_>, args: &cli::Done) -> Result<Command, Failure> {
    let close = close(session, &args.closing)?;
    Ok(c::Done { todo: args.todo, close, outcome: args.delivery_outcome, spend: spending(&args.cost) }.into())
}

const fn spending(cost: &cli::Cost) -> Spending {
    Spending { slots: cost.slots, tokens: cost.tokens, cost_micro: cost.cost }
}

fn quota(args: &cli::Quota) -> Option<Command> {
    Some(match args {
        cli::Quota::ShouldRun(_) | cli::Quota::Status | cli::Quota::Plan(_) => return None,
        cli::Quota::SpendSlot(args) => {
            c::QuotaSpendSlot { spend: spending(&args.cost), turn: args.turn_instance_id, todo: args.todo_id }
                .into()
        }
        cli::Quota::Budget(args) => c::QuotaBudgetRequest {
            on_agent: args.on_agent.clone(),
            tokens: args.tokens,
            cost_micro: args.cost,
            wall_ms: args.wall.map(|wall| wall.0),
            why: args.why.clone(),
        }
        .into(),
        cli::Quota::VoidSlot { seq, why } => c::QuotaVoidSlot { spend: *seq, why: why.clone() }.into(),
        cli::Quota::Set(args) => {
            let allowance = match (args.share, args.slots) {
                (Some(milli), _) => Allowance::Share { milli },
                (None, Some(slots)) => Allowance::Slots { slots },
                (None, None) => Allowance::Unlimited,
            };
            c::QuotaSetRequest {
                allowance,
                slot_ms: args.slot.map(|slot| slot.0),
                window_ms: args.window.map(|window| window.0),
                why: args.why.clone(),
            }
            .into()
        }
    })
}

fn goal(args: &cli::Goal) -> Option<Command> {
    Some(match args {
        cli::Goal::List(_) | cli::Goal::Show { .. } => return None,
        cli::Goal::Change(args) => c::GoalChangeRequest {
            objective: args.objective.clone(),
            add_criteria: args.accept.clone(),
            drop_criteria: args.drop_accept.clone(),
            write: (!args.scope_write.is_empty()).then(|| args.scope_write.clone()),
            reason: args.reason.clone(),
        }
        .into(),
        cli::Goal::Pause(args) => c::GoalPause { why: args.why.clone() }.into(),
        cli::Goal::Resume(args) => c::GoalResume { why: args.why.clone() }.into(),
        cli::Goal::Complete(args) => c::GoalComplete { why: args.why.clone() }.into(),
        cli::Goal::Abandon(args) => c::GoalAbandon { why: args.why.clone() }.into(),
        cli::Goal::Accept { criterion, evidence } => {
            c::GoalAccept { criterion: *criterion, evidence: *evidence }.into()
        }
        cli::Goal::Reject { criterion, why } => {
            c::GoalReject { criterion: *criterion, why: why.clone() }.into()
        }
    })
}

fn todo(session: &Session<'_>, args: &cli::Todo) -> Result<Option<Command>, Failure> {
    let missing = || Failure::usage("which todo? give T7 or --todo-id T7");
    Ok(Some(match args {
        cli::Todo::List(_) | cli::Todo::Show { .. } | cli::Todo::Add(_) => return Ok(None),
        cli::Todo::Claim(args) => {
            let todo = args.todo.or(args.todo_id).ok_or_else(missing)?;
            c::TodoClaim {
                todo,
                ttl_ms: args.ttl.map(|ttl| ttl.0),
                key: args.task_lease_idempotency_key.clone(),
                version: args.task_lease_expected_version,
                write: None,
            }
            .into()
        }
        cli::Todo::Release(cli::Held { because, fence }) => c::TodoRelease {
            todo: because.todo,
            epoch: fence.epoch,
            key: fence.task_lease_idempotency_key.clone(),
            version: fence.task_lease_expected_version,
            why: because.why.clone(),
        }
        .into(),
        cli::Todo::HandOver { held, to } => hand_over(held, to),
        cli::Todo::Delegate { held, to, action } => delegate(held, to, action),
        cli::Todo::Update(args) => c::TodoUpdate {
            todo: args.todo,
            title: args.title.clone(),
            priority: args.priority,
            done_when: args.done_when.clone(),
            drop_needs: args.drop_needs.clone(),
            write: (!args.write.is_empty()).then(|| args.write.clone()),
            epoch: args.fence.epoch,
            key: args.fence.task_lease_idempotency_key.clone(),
            version: args.fence.task_lease_expected_version,
        }
        .into(),
        cli::Todo::Complete(args) => match args.todo {
            Some(todo) => c::TodoComplete { todo, close: close(session, &args.closing)? }.into(),
            None => contract::complete(args)?,
        },
        cli::Todo::Block(args) => c::TodoBlock { todo: args.todo, why: args.why.clone() }.into(),
        cli::Todo::Defer { because, until, when } => {
            c::TodoDefer { todo: because.todo, until: *until, when: *when, why: because.why.clone() }.into()
        }
        cli::Todo::Reopen(args) => c::TodoReopen { todo: args.todo, why: args.why.clone() }.into(),
        cli::Todo::Supersede { because, by } => {
            c::TodoSupersede { todo: because.todo, by: *by, why: because.why.clone() }.into()
        }
        cli::Todo::Cancel(args) => c::TodoCancel { todo: args.todo, why: args.why.clone() }.into(),
    }))
}

fn hand_over(held: &cli::Held, to: &loopx::id::AgentId) -> Command {
    let cli::Held { because, fence } = held;
    c::TodoHandOver {
        todo: because.todo,
        to: to.clone(),
        epoch: fence.epoch,
        key: fence.task_lease_idempotency_key.clone(),
        version: fence.task_lease_expected_version,
        new_key: None,
        ttl_ms: None,
        why: because.why.clone(),
    }
    .into()
}

fn delegate(held: &cli::Held, to: &loopx::id::AgentId, actions: &[loopx::event::Delegable]) -> Command {
    let cli::Held { because, fence } = held;
    c::TodoDelegate {
        todo: because.todo,
        to: to.clone(),
        actions: actions.to_vec(),
        epoch: fence.epoch,
        key: fence.task_lease_idempotency_key.clone(),
        version: fence.task_lease_expected_version,
        why: because.why.clone(),
    }
    .into()
}

fn gate(args: &cli::Gate) -> Option<Command> {
    Some(match args {
        cli::Gate::Open(_) | cli::Gate::List(_) | cli::Gate::Show { .. } => return None,
        cli::Gate::Decide { gate, answer, valid_until, rests_on, why } => c::GateDecide {
            gate: *gate,
            outcome: GateOutcome::Choice { option: answer.clone() },
            valid_until: *valid_until,
            rests_on: rests_on.clone(),
            why: why.clone(),
        }
        .into(),
        cli::Gate::Revoke { gate, why } => c::GateRevoke { gate: *gate, why: why.clone() }.into(),
        cli::Gate::Withdraw { gate, why } => c::GateWithdraw { gate: *gate, why: why.clone() }.into(),
    })
}

fn lease(args: &cli::Lease) -> Option<Command> {
    Some(match args {
        cli::Lease::List(_) | cli::Lease::Show { .. } => return None,
        cli::Lease::Acquire { resource, ttl } => {
            c::LeaseAcquire { resource: resource.clone(), ttl_ms: ttl.map(|ttl| ttl.0) }.into()
        }
        cli::Lease::Renew { on, fence, ttl } => c::LeaseRenew {
            on: on.clone(),
            epoch: fence.epoch,
            key: fence.task_lease_idempotency_key.clone(),
            version: fence.task_lease_expected_version,
            ttl_ms: ttl.map(|ttl| ttl.0),
        }
        .into(),
        cli::Lease::Release { resource, epoch } => {
            c::LeaseRelease { resource: resource.clone(), epoch: *epoch }.into()
        }
        cli::Lease::Transfer { held, to } => hand_over(held, to),
    })
}

fn agent(args: &cli::Agent) -> Option<Command> {
    Some(match args {
        cli::Agent::List(_) | cli::Agent::Show { .. } => return None,
        cli::Agent::Register { name, capability } => {
            c::AgentRegister { agent: name.clone(), capabilities: capability.clone() }.into()
        }
        cli::Agent::Update { name, capability, drop_capability, why } => c::AgentUpdate {
            agent: name.clone(),
            add: capability.clone(),
            drop: drop_capability.clone(),
            why: why.clone(),
        }
        .into(),
        cli::Agent::Grant(args) => {
            let (agent, capabilities, why) = (args.name.clone(), args.capability.clone(), args.why.clone());
            c::AgentGrant { agent, capabilities, why }.into()
        }
        cli::Agent::Revoke(args) => {
            let (agent, capabilities, why) = (args.name.clone(), args.capability.clone(), args.why.clone());
            c::AgentRevoke { agent, capabilities, why }.into()
        }
        cli::Agent::Retire { name, why } => c::AgentRetire { agent: name.clone(), why: why.clone() }.into(),
    })
}

fn monitor(args: &cli::Monitor) -> Option<Command> {
    let cli::Monitor::Poll { todo, result, next, no_follow_up } = args else { return None };
    let (result, next, no_follow_up) = (result.clone(), next.clone(), no_follow_up.clone());
    Some(c::MonitorPoll { todo: *todo, result, next, no_follow_up }.into())
}

fn owner(args: &cli::Owner) -> Option<Command> {
    Some(match args {
        cli::Owner::List(_) => return None,
        cli::Owner::Register { name } => c::OwnerRegister { owner: name.clone() }.into(),
        cli::Owner::Revoke { name, why } => c::OwnerRevoke { owner: name.clone(), why: why.clone() }.into(),
    })
}
