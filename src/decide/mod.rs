//! Deciding: a command against the state gives the events to append, or a refusal. Pure: no I/O, no clock.

mod boundary;
mod close;
pub mod command;
pub mod decision;
mod evidence;
pub mod frontier;
mod gate;
mod goal;
pub mod history;
mod hold;
mod lease;
mod lineage;
mod monitor;
pub mod next;
mod people;
mod quota;
pub mod refusal;
mod todo;
mod turn;
mod waits;

use std::collections::BTreeSet;

pub use command::{Caller, Command};
pub use decision::{Decision, Mode, PlanCause, Verdict};
pub use frontier::{Frontier, Hindrance, Lane};
pub use history::{ClosedTodo, Closing, History, PastLease, PastSpend, SpendName};
pub use refusal::Refusal;

use crate::event::{Event, Holder, TurnOpened};
use crate::id::{Actor, AgentId, CapabilityId, EvidenceId, GoalId, OwnerId, Seq, TodoId, TurnId};
use crate::limits::LIST_MAX_ITEMS;
use crate::state::{Goal, GoalStatus, State};
use crate::time::Timestamp;

/// What a command comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decided {
    /// These events, as one record, caused by this actor. There is at least one.
    Append {
        /// Who causes them.
        actor: Actor,
        /// What happens.
        events: Vec<Event>,
    },
    /// It happened before, in that record: its receipt is the answer.
    Already(Seq),
    /// Nothing is appended; the decision is the answer.
    Quiet(Box<Decision>),
}

/// Everything a decision may look at.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// What is so.
    pub state: &'a State,
    /// Finished work that the command names.
    pub history: &'a History,
    /// Who asks.
    pub caller: &'a Caller,
    /// Ledger time of the record to be.
    pub now: Timestamp,
}

/// Decides a command.
///
/// # Errors
/// [`Refusal`]: nothing may be appended.
pub fn decide(context: &Context<'_>, command: &Command) -> Result<Decided, Refusal> {
    boundary::passed(context.caller, command, || dispatch(context, command))
}

fn dispatch(context: &Context<'_>, command: &Command) -> Result<Decided, Refusal> {
    match command {
        Command::AgentRegister(c) => people::agent_register(context, c),
        Command::AgentUpdate(c) => people::agent_update(context, c),
        Command::AgentGrant(c) => people::agent_grant(context, c),
        Command::AgentRevoke(c) => people::agent_revoke(context, c),
        Command::AgentRetire(c) => people::agent_retire(context, c),
        Command::OwnerRegister(c) => people::owner_register(context, c),
        Command::OwnerRevoke(c) => people::owner_revoke(context, c),
        Command::GoalStart(c) => goal::start(context, c),
        Command::GoalChangeRequest(c) => goal::change(context, c),
        Command::GoalPause(c) => goal::pause(context, &c.why),
        Command::GoalResume(c) => goal::resume(context, &c.why),
        Command::GoalComplete(c) => goal::complete(context, &c.why),
        Command::GoalAbandon(c) => goal::abandon(context, &c.why),
        Command::GoalAccept(c) => goal::accept(context, c),
        Command::GoalReject(c) => goal::reject(context, c),
        Command::TodoAdd(c) => todo::add(context, c),
        Command::TodoClaim(c) => turn::claim(context, c),
        Command::TodoRelease(c) => hold::release(context, c),
        Command::TodoHandOver(c) => hold::hand_over(context, c),
        Command::TodoDelegate(c) => hold::delegate(context, c),
        Command::TodoUpdate(c) => todo::update(context, c),
        Command::TodoComplete(c) => close::complete(context, c),
        Command::TodoBlock(c) => todo::block(context, c.todo, &c.why),
        Command::TodoDefer(c) => todo::defer(context, c),
        Command::TodoReopen(c) => todo::reopen(context, c),
        Command::TodoSupersede(c) => todo::supersede(context, c),
        Command::TodoCancel(c) => todo::cancel(context, c),
        Command::GateOpen(c) => gate::open(context, c),
        Command::GateDecide(c) => gate::decide(context, c),
        Command::GateWithdraw(c) => gate::withdraw(context, c),
        Command::GateRevoke(c) => gate::revoke(context, c),
        Command::LeaseAcquire(c) => hold::acquire(context, c),
        Command::LeaseRenew(c) => hold::renew(context, c),
        Command::LeaseRelease(c) => hold::release_resource(context, c),
        Command::EvidenceAdd(c) => evidence::add(context, c),
        Command::EvidenceInvalidate(c) => evidence::invalidate(context, c),
        Command::EvidenceSupersede(c) => evidence::supersede(context, c),
        Command::Next(c) => turn::next(context, c),
        Command::Done(c) => close::done(context, c),
        Command::Yield(c) => turn::give_back(context, c.todo, &c.why),
        Command::Block(c) => turn::block(context, c.todo, &c.why),
        Command::MonitorPoll(c) => monitor::poll(context, c),
        Command::RefreshState(c) => turn::refresh(context, c),
        Command::QuotaSetRequest(c) => quota::set(context, c),
        Command::QuotaBudgetRequest(c) => quota::budget(context, c),
        Command::QuotaSpendSlot(c) => quota::spend(context, c),
        Command::QuotaVoidSlot(c) => quota::void(context, c),
        Command::LineageMetric(c) => lineage::metric(context, c),
        Command::LineageDataset(c) => lineage::dataset(context, c),
        Command::LineageHypothesis(c) => lineage::hypothesis(context, c),
        Command::LineageExperiment(c) => lineage::experiment(context, c),
        Command::LineageTrialStart(c) => lineage::trial_start(context, c),
        Command::LineageTrialEnd(c) => lineage::trial_end(context, c),
        Command::LineagePromote(c) => lineage::promote(context, c),
    }
}

/// The decision of `quota should-run` and `next`, for this caller.
///
/// # Errors
/// [`Refusal`] if the caller or the goal is not one that can be decided for.
pub fn should_run(context: &Context<'_>) -> Result<Decision, Refusal> {
    let holder = context.agent()?;
    let (goal_id, goal) = context.goal_for_decision()?;
    let capabilities = context.capabilities(&holder);
    let lane = context.lane(goal_id, &holder, &capabilities);
    // A turn in another goal is not lost by asking about this one.
    if let Some((turn, open)) = context.state.turn_of(&holder).filter(|(_, turn)| turn.goal != *goal_id) {
        return Err(Refusal::TurnOpen { turn, todo: open.todo });
    }
    Ok(next::next(context.state, goal_id, goal, &lane))
}

/// The decision that a turn was opened on, made again from the state just before its record.
///
/// # Errors
/// [`Refusal`] if nothing could be decided for its holder then.
pub fn behind(before: &State, now: Timestamp, opened: &TurnOpened) -> Result<Decision, Refusal> {
    let caller = Caller {
        agent: opened.holder.actor.agent().cloned(),
        session: opened.holder.session.clone(),
        goal: Some(opened.goal.clone()),
        capabilities: opened.capabilities.clone(),
        ..Caller::default()
    };
    let caller = if before.agents.is_empty() { Caller { agent: None, ..caller } } else { caller };
    should_run(&Context { state: before, history: &History::default(), caller: &caller, now })
}

/// The goal that a reader means: the one named, the only one that is not finished, or the last one.
///
/// # Errors
/// [`Refusal`] if there is none, or more than one.
pub fn goal_of(context: &Context<'_>) -> Result<GoalId, Refusal> {
    context.goal_for_decision().map(|(goal, _)| goal.clone())
}

/// What could run now for this caller, and why the rest cannot.
///
/// # Errors
/// As [`should_run`].
pub fn ready(context: &Context<'_>) -> Result<(GoalId, Frontier), Refusal> {
    let holder = context.agent()?;
    let (goal, _) = context.goal_for_decision()?;
    let capabilities = context.capabilities(&holder);
    let lane = context.lane(goal, &holder, &capabilities);
    Ok((goal.clone(), frontier::frontier(context.state, &lane)))
}

impl<'a> Context<'a> {
    /// The caller as an agent: registered and not retired, or the built-in one while none is registered.
    fn agent(&self) -> Result<Holder, Refusal> {
        let session = self.caller.session.clone();
        let agent = match &self.caller.agent {
            None if self.state.agents.is_empty() => AgentId::local(),
            None => return Err(Refusal::AgentUnnamed),
            Some(name) => match self.state.agents.get(name) {
                None => return Err(Refusal::AgentUnknown { agent: name.clone() }),
                Some(agent) if agent.retired => return Err(Refusal::AgentRetired { agent: name.clone() }),
                Some(_) => name.clone(),
            },
        };
        Ok(Holder { actor: Actor::Agent(agent), session })
    }

    /// The caller as an owner: registered and not revoked, or the built-in one while none is registered and no agent
    /// is speaking.
    fn owner(&self, what: &'static str) -> Result<OwnerId, Refusal> {
        match &self.caller.owner {
            Some(name) if self.state.owners.is_empty() && *name == OwnerId::local() => Ok(OwnerId::local()),
            Some(name) => match self.state.owners.get(name) {
                Some(owner) if !owner.revoked => Ok(name.clone()),
                _ => Err(Refusal::OwnerUnknown { owner: name.clone() }),
            },
            None if self.caller.agent.is_some() => Err(Refusal::OwnerOnly { what }),
            None if self.state.owners.is_empty() => Ok(OwnerId::local()),
            None => Err(Refusal::OwnerUnnamed),
        }
    }

    /// The caller as whoever it says it is: an owner if it names one, else an agent.
    fn anyone(&self) -> Result<Holder, Refusal> {
        match &self.caller.owner {
            Some(_) => Ok(Holder { actor: Actor::Owner(self.owner("do this")?), session: None }),
            None => self.agent(),
        }
    }

    /// Someone setting things up: an owner or agent that it names, or the built-in owner.
    fn founder(&self) -> Result<Actor, Refusal> {
        match &self.caller.agent {
            Some(_) if self.caller.owner.is_none() => Ok(self.agent()?.actor),
            _ => Ok(Actor::Owner(self.owner("set this up")?)),
        }
    }

    fn capabilities(&self, holder: &Holder) -> BTreeSet<CapabilityId> {
        let registered = holder.actor.agent().and_then(|agent| self.state.agents.get(agent));
        let registered = registered.map(|agent| agent.capabilities.clone()).unwrap_or_default();
        registered.into_iter().chain(self.caller.capabilities.iter().cloned()).collect()
    }

    fn lane<'l>(
        &self,
        goal: &'l GoalId,
        holder: &'l Holder,
        capabilities: &'l BTreeSet<CapabilityId>,
    ) -> Lane<'l>
    where
        'a: 'l,
    {
        let agent = holder.actor.agent().and_then(|agent| self.state.agents.get(agent));
        let granted = agent.map(|agent| agent.granted.as_slice()).unwrap_or_default();
        Lane { goal, holder, capabilities, granted, now: self.now }
    }

    /// The goal named, or the only one that is not finished.
    fn unfinished_goal(&self) -> Result<(&'a GoalId, &'a Goal), Refusal> {
        match &self.caller.goal {
            Some(name) => self.named_goal(name),
            None => {
                let mut open = self.state.goals.iter().filter(|(_, goal)| !goal.status.is_final());
                match (open.next(), open.next()) {
                    (None, _) => Err(Refusal::NoGoal),
                    (Some(only), None) => Ok(only),
                    (Some(_), Some(_)) => self.only_active_goal(),
                }
            }
        }
    }

    fn only_active_goal(&self) -> Result<(&'a GoalId, &'a Goal), Refusal> {
        let active: Vec<_> =
            self.state.goals.iter().filter(|(_, goal)| goal.status == GoalStatus::Active).collect();
        match active.as_slice() {
            [only] => Ok(*only),
            _ => Err(Refusal::GoalAmbiguous { active: active.iter().map(|(id, _)| (*id).clone()).collect() }),
        }
    }

    fn named_goal(&self, name: &GoalId) -> Result<(&'a GoalId, &'a Goal), Refusal> {
        let found = self.state.goals.get_key_value(name);
        found.ok_or_else(|| Refusal::Unknown { what: "goal", name: name.to_string() })
    }

    /// As [`Self::unfinished_goal`], but the last finished goal is an answer too: the decision on it is DONE.
    fn goal_for_decision(&self) -> Result<(&'a GoalId, &'a Goal), Refusal> {
        self.unfinished_goal().or_else(|refusal| match refusal {
            Refusal::NoGoal => {
                let last = self.state.goals.iter().max_by_key(|(_, goal)| goal.instance);
                last.ok_or(Refusal::NoGoal)
            }
            other => Err(other),
        })
    }

    /// A goal in which work may be added or changed: not finished.
    fn open_goal(&self) -> Result<(&'a GoalId, &'a Goal), Refusal> {
        let (id, goal) = self.unfinished_goal()?;
        if goal.status.is_final() {
            return Err(Refusal::GoalNotActive { goal: id.clone(), status: goal.status });
        }
        Ok((id, goal))
    }

    fn draft(&self) -> Draft<'a> {
        Draft { state: self.state, events: Vec::new(), todos: 0, evidence: 0 }
    }

    fn exists<T: ToString>(what: &'static str, id: &T, found: bool) -> Result<(), Refusal> {
        if found { Ok(()) } else { Err(Refusal::Unknown { what, name: id.to_string() }) }
    }
}

/// Events in the making, and the numbers minted on the way.
struct Draft<'a> {
    state: &'a State,
    events: Vec<Event>,
    todos: u32,
    evidence: u32,
}

impl Draft<'_> {
    fn push(&mut self, event: impl Into<Event>) {
        self.events.push(event.into());
    }

    fn mint_todo(&mut self) -> TodoId {
        self.todos += 1;
        TodoId(self.state.minted.todos + self.todos)
    }

    fn mint_evidence(&mut self) -> EvidenceId {
        self.evidence += 1;
        EvidenceId(self.state.minted.evidence + self.evidence)
    }

    fn mint_turn(&self) -> TurnId {
        TurnId(self.state.minted.turns + 1)
    }

    fn by(self, actor: Actor) -> Result<Decided, Refusal> {
        Ok(Decided::Append { actor, events: self.events })
    }
}

/// One event by one actor: the plain case.
fn one(actor: Actor, event: impl Into<Event>) -> Result<Decided, Refusal> {
    Ok(Decided::Append { actor, events: vec![event.into()] })
}

fn bounded<T>(field: &'static str, list: &[T]) -> Result<(), Refusal> {
    if list.len() <= LIST_MAX_ITEMS {
        return Ok(());
    }
    let value = u64::try_from(list.len()).unwrap_or(u64::MAX);
    Err(Refusal::OutOfRange { field, value, limit: format!("at most {LIST_MAX_ITEMS}") })
}

/// An instant that is yet to come.
fn ahead(context: &Context<'_>, field: &'static str, at: Timestamp) -> Result<(), Refusal> {
    if at > context.now { Ok(()) } else { Err(Refusal::InPast { field, at }) }
}

fn in_range(field: &'static str, value: u64, least: u64, most: u64) -> Result<u64, Refusal> {
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    Err(Refusal::OutOfRange { field, value, limit: format!("{least} to {most}") })
}
