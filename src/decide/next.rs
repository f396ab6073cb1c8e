//! The one decision function: what may this agent do now?
//!
//! It reads the state and nothing else: no clock, no text. It always answers, with one verdict, the rules that were
//! tried in their order, the questions that wait for a human, and the condition for asking again.

use serde::Serialize;

use super::frontier::{Frontier, Hindrance, Lane, frontier, hindrances};
use super::waits::Waits;
use crate::event::{Holder, TodoClass};
use crate::id::{CriterionId, GateId, GoalId, Seq, TodoId, TurnId};
use crate::state::{Awaited, Gate, Goal, GoalStatus, State, Turn};
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
    },
    /// A human has to answer or act first.
    Ask {
        /// Open gates, most urgent first.
        gates: Vec<GateId>,
        /// Todos that only a person can do.
        user_actions: Vec<TodoId>,
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
}

impl Verdict {
    /// The word for it.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Run { .. } => "RUN",
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
            Self::BoundedDelivery | Self::ScopedUserGateFallback | Self::Closing | Self::AutonomousReplan => {
                &[3, 10]
            }
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
    /// When to ask again.
    pub wake: Wake,
    /// An open turn that has lost its todo or was not paid for, and why; `next` closes it.
    pub lost: Option<(TurnId, String)>,
}

/// Decides. Pure and total: equal arguments give equal answers.
#[must_use]
pub fn next(state: &State, goal_id: &GoalId, goal: &Goal, lane: &Lane<'_>) -> Decision {
    let mut rules = Rules { state, lane, goal, trace: Vec::new(), lost: None };
    let (verdict, mode, wake) = rules.decide();
    let Rules { trace, lost, .. } = rules;
    let open =
        state.gates.iter().filter(|(_, gate)| concerns(state, lane, gate)).map(|(id, _)| *id).collect();
    Decision {
        goal: goal_id.clone(),
        holder: lane.holder.clone(),
        seq: state.seq,
        now: lane.now,
        verdict,
        mode,
        trace,
        questions: open,
        user_actions: user_actions(state, lane),
        wake,
        lost,
    }
}

/// Whether a gate belongs in this lane's user channel: unless it only names other agents or their open work.
fn concerns(state: &State, lane: &Lane<'_>, gate: &Gate) -> bool {
    if gate.goal != *lane.goal {
        return false;
    }
    let blocks = &gate.blocks;
    let agent = lane.holder.actor.agent();
    let names_me = blocks.agents.iter().any(|name| Some(name) == agent);
    let open_to_me = |id: &TodoId| {
        state.todos.get(id).is_some_and(|todo| {
            todo.spec.bound.as_ref().is_none_or(|bound| Some(bound) == agent)
                && !agent.is_some_and(|agent| todo.spec.excluded.contains(agent))
        })
    };
    let names_nobody =
        blocks.agents.is_empty() && !blocks.todos.iter().any(|id| state.todos.contains_key(id));
    blocks.all || names_me || names_nobody || blocks.todos.iter().any(open_to_me)
}

fn user_actions(state: &State, lane: &Lane<'_>) -> Vec<TodoId> {
    let mine = state.todos.iter().filter(|(_, todo)| todo.goal == *lane.goal);
    let person = mine.filter(|(_, todo)| todo.spec.class == TodoClass::UserAction);
    person
        .filter(|(id, todo)| hindrances(state, lane, **id, todo) == [Hindrance::UserAction])
        .map(|(id, _)| *id)
        .collect()
}

type Answer = (Verdict, Mode, Wake);

struct Rules<'a> {
    state: &'a State,
    lane: &'a Lane<'a>,
    goal: &'a Goal,
    trace: Vec<Tried>,
    lost: Option<(TurnId, String)>,
}

impl Rules<'_> {
    fn tried(&mut self, row: u8, rule: &'static str, passed: bool, facts: Vec<String>) {
        self.trace.push(Tried { row, rule, passed, facts });
    }

    fn decide(&mut self) -> Answer {
        // Row 1, the caller's standing, has been passed by the time there is a lane.
        self.tried(1, "caller is known", false, Vec::new());
        if let Some(answer) =
            self.ended_or_paused().or_else(|| self.open_turn()).or_else(|| self.held_up_entirely())
        {
            return answer;
        }
        let work = frontier(self.state, self.lane);
        if let Some(answer) = self.run(&work) {
            return answer;
        }
        self.nothing_to_run(&work)
    }

    /// Rows 2 and 3.
    fn ended_or_paused(&mut self) -> Option<Answer> {
        let status = self.goal.status;
        let word = vec![status.word().to_owned()];
        self.tried(2, "goal is finished", status.is_final(), word.clone());
        if status.is_final() {
            return Some((Verdict::Done, Mode::TerminalNoFollowup, wake_on(&["a new goal"])));
        }
        let share_zero =
            self.state.quotas.get(self.lane.goal).is_some_and(|quota| quota.allowed_slots() == Some(0));
        let paused = status == GoalStatus::Paused;
        let facts = if share_zero { vec!["quota 0".to_owned()] } else { word };
        self.tried(3, "goal is paused", paused || share_zero, facts);
        let change = if paused { "goal.resumed" } else { "quota.set" };
        (paused || share_zero).then(|| (Verdict::Wait, Mode::Paused, wake_on(&[change])))
    }

    /// Row 4: the same todo, the same turn, the same epoch; or the loss is named.
    fn open_turn(&mut self) -> Option<Answer> {
        const RULE: &str = "a turn of this agent is open";
        let Some((id, turn)) = self.state.turn_of(self.lane.holder) else {
            self.tried(4, RULE, false, Vec::new());
            return None;
        };
        if let Some(loss) = self.loss(turn) {
            self.tried(4, RULE, false, vec![id.to_string(), loss.clone()]);
            self.lost = Some((id, loss));
            return None;
        }
        self.tried(4, RULE, true, vec![id.to_string(), turn.todo.to_string()]);
        let run = Verdict::Run { todo: turn.todo, turn: Some(id), takes_over: None };
        Some((run, Mode::BoundedDelivery, Wake { at: Some(self.lane.now), on: Vec::new() }))
    }

    /// Why an open turn cannot go on.
    fn loss(&self, turn: &Turn) -> Option<String> {
        if turn.goal != *self.lane.goal {
            return Some(format!("it belongs to goal {}", turn.goal));
        }
        if turn.completed {
            return Some(format!("{} was completed and not paid for", turn.todo));
        }
        let Some(todo) = self.state.todos.get(&turn.todo) else {
            return Some(format!("{} was closed", turn.todo));
        };
        if !todo.claim.as_ref().is_some_and(|claim| claim.holder == turn.holder && todo.epoch == turn.epoch) {
            return Some(format!("{} is no longer held under epoch {}", turn.todo, turn.epoch));
        }
        hindrances(self.state, self.lane, turn.todo, todo)
            .first()
            .map(|found| format!("{}: {found}", turn.todo))
    }

    /// Row 5: a gate on everything, or on this agent.
    fn held_up_entirely(&mut self) -> Option<Answer> {
        let agent = self.lane.holder.actor.agent();
        let gates: Vec<GateId> = self
            .state
            .gates
            .iter()
            .filter(|(_, gate)| gate.goal == *self.lane.goal)
            .filter(|(_, gate)| gate.blocks.all || gate.blocks.agents.iter().any(|name| Some(name) == agent))
            .map(|(id, _)| *id)
            .collect();
        self.tried(5, "a gate holds up everything or this agent", !gates.is_empty(), names(&gates));
        if gates.is_empty() {
            return None;
        }
        let wake = Wake { at: None, on: names(&gates) };
        Some((Verdict::Ask { gates, user_actions: Vec::new() }, Mode::UserGate, wake))
    }

    /// Rows 9 and 13.
    fn run(&mut self, work: &Frontier) -> Option<Answer> {
        let Some(&todo) = work.runnable.first() else {
            self.tried(9, "a todo is runnable", false, Vec::new());
            return None;
        };
        if let Some(at) = self.throttled_until() {
            self.tried(9, "a todo is runnable and quota allows it", false, names(&work.runnable));
            self.tried(
                13,
                "quota is used up",
                true,
                vec![at.map_or_else(|| "never fits".to_owned(), |at| at.to_string())],
            );
            let on = vec!["quota.set".to_owned(), "quota.voided".to_owned()];
            return Some((Verdict::Wait, Mode::QuotaThrottled, Wake { at, on }));
        }
        self.tried(9, "a todo is runnable and quota allows it", true, vec![todo.to_string()]);
        let claim = self.state.todos.get(&todo).and_then(|todo| todo.claim.as_ref());
        let takes_over = claim
            .filter(|claim| {
                claim.holder != *self.lane.holder && !self.state.is_addressed_to(todo, self.lane.holder)
            })
            .map(|claim| claim.holder.clone());
        let mode = if self.outranked_by_a_gate(work, todo) {
            Mode::ScopedUserGateFallback
        } else {
            Mode::BoundedDelivery
        };
        Some((
            Verdict::Run { todo, turn: None, takes_over },
            mode,
            Wake { at: Some(self.lane.now), on: Vec::new() },
        ))
    }

    /// When one more slot fits beside those spent and those that open turns may still spend; none if it fits now.
    #[expect(
        clippy::option_option,
        reason = "the outer says whether to wait, the inner whether an instant ends it"
    )]
    fn throttled_until(&self) -> Option<Option<Timestamp>> {
        let quota = self.state.quotas.get(self.lane.goal)?;
        let reserved = kept_slots(self.state, self.lane.goal, self.lane.holder);
        let free_at = quota.free_at(1, self.lane.now, &reserved);
        (free_at != Some(self.lane.now)).then_some(free_at)
    }

    fn outranked_by_a_gate(&self, work: &Frontier, chosen: TodoId) -> bool {
        let rank = |id: &TodoId| self.state.todos.get(id).map(|todo| (todo.spec.priority, todo.added));
        let gated = |found: &[Hindrance]| found.iter().all(|one| matches!(one, Hindrance::Gate(_)));
        work.waiting.iter().any(|(id, found)| gated(found) && rank(id) < rank(&chosen))
    }

    /// Rows 15 to 19.
    fn nothing_to_run(&mut self, work: &Frontier) -> Answer {
        self.tried(13, "quota is used up", false, Vec::new());
        let mut waits = Waits::of(self.state, self.lane, work);
        let (gates, instants) = self.awaited();
        let answers = !waits.human.is_empty() || !gates.is_empty();
        let human = answers && waits.others.is_empty() && waits.later.is_empty() && instants.is_empty();
        let facts = names(&waits.human).into_iter().chain(names(&gates)).collect();
        self.tried(15, "everything left waits for a human", human, facts);
        if human {
            waits.gates.extend(gates);
            return self.ask(&waits);
        }
        self.tried(16, "work left is others'", !waits.others.is_empty(), names(&waits.others));
        if !waits.others.is_empty() {
            let mode =
                if waits.earliest.is_some() { Mode::AgentScopeWait } else { Mode::ReassignmentRequired };
            return (Verdict::Wait, mode, Wake { at: waits.earliest, on: names(&waits.others) });
        }
        let later: Vec<String> = names(&waits.later).into_iter().chain(names(&instants)).collect();
        self.tried(17, "work left becomes due later", !later.is_empty(), later.clone());
        if !later.is_empty() {
            let at = waits.earliest.into_iter().chain(instants).min();
            return (Verdict::Wait, Mode::Waiting, Wake { at, on: names(&waits.later) });
        }
        self.plan(&waits)
    }

    /// What closed work said has to happen first, and has not: open gates, and instants to come.
    fn awaited(&self) -> (Vec<GateId>, Vec<Timestamp>) {
        let mut open = (Vec::new(), Vec::new());
        for awaited in &self.goal.awaited {
            match awaited {
                Awaited::Gate(gate) if self.state.gates.contains_key(gate) => open.0.push(*gate),
                Awaited::Until(at) if *at > self.lane.now => open.1.push(*at),
                Awaited::Gate(_) | Awaited::Until(_) => {}
            }
        }
        open
    }

    fn ask(&self, waits: &Waits) -> Answer {
        let gates: Vec<GateId> = waits.gates.iter().copied().collect();
        let user_actions = user_actions(self.state, self.lane);
        let mode = if gates.is_empty() { Mode::UserActionRequired } else { Mode::UserGate };
        let on = names(&gates).into_iter().chain(names(&user_actions)).collect();
        (Verdict::Ask { gates, user_actions }, mode, Wake { at: None, on })
    }

    /// Rows 18 and 19.
    fn plan(&mut self, waits: &Waits) -> Answer {
        let unmet: Vec<CriterionId> =
            self.goal.criteria.iter().filter(|(_, c)| c.met_by.is_none()).map(|(id, _)| *id).collect();
        let accepted = self.goal.is_accepted() && waits.stuck.is_empty();
        self.tried(18, "acceptance is met and nothing is open", accepted, names(&unmet));
        let wake = Wake { at: Some(self.lane.now), on: Vec::new() };
        if accepted {
            return (Verdict::Plan { cause: PlanCause::Accepted }, Mode::Closing, wake);
        }
        let facts = if waits.stuck.is_empty() { names(&unmet) } else { names(&waits.stuck) };
        self.tried(19, "nothing can run", true, facts);
        let cause = if waits.stuck.is_empty() {
            PlanCause::Empty { unmet }
        } else {
            PlanCause::Stuck { todos: waits.stuck.clone() }
        };
        (Verdict::Plan { cause }, Mode::AutonomousReplan, wake)
    }
}

/// Open turns of other holders may still spend one slot each, and so may a completed one of this holder, which is paid
/// for before it takes up anything else; until when each is kept for them.
fn kept_slots(state: &State, goal: &GoalId, holder: &Holder) -> Vec<Timestamp> {
    let owed =
        state.turns.values().filter(|turn| turn.goal == *goal && turn.holder == *holder && turn.completed);
    let owed = owed.filter_map(|turn| state.reserved_until(turn));
    reservations(state, goal, holder).into_iter().chain(owed).collect()
}

/// Open turns of other holders may still spend one slot each; until when each is kept for them.
#[must_use]
pub fn reservations(state: &State, goal: &GoalId, except: &Holder) -> Vec<Timestamp> {
    let open = state.turns.values().filter(|turn| turn.goal == *goal && turn.holder != *except);
    open.filter_map(|turn| state.reserved_until(turn)).collect()
}

fn names<T: ToString>(ids: &[T]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

fn wake_on(conditions: &[&str]) -> Wake {
    Wake { at: None, on: names(conditions) }
}
