//! The one decision function: what may this agent do now?
//!
//! It reads the state and nothing else: no clock, no text. It always answers, with one verdict, the rules that were
//! tried in their order, the questions that wait for a human, and the condition for asking again.

use super::decision::{Decision, Mode, PlanCause, Tried, Verdict, Wake};
use super::frontier::{Frontier, Hindrance, Lane, frontier, hindrances};
use super::gate::unasked;
use super::waits::Waits;
use crate::event::{Holder, Priority, TodoClass};
use crate::id::{CapabilityId, CriterionId, GateId, GoalId, Seq, TodoId, TurnId};
use crate::state::{Awaited, Gate, Goal, GoalStatus, State, Todo, Turn};
use crate::time::Timestamp;

/// Turns on one todo in a row without progress, after which a plan is due.
pub const FRUITLESS_TURNS: u32 = 2;

/// Looks of one monitor in a row that saw the same, after which a plan is due.
pub const FRUITLESS_POLLS: u32 = 5;

/// Turns in a goal in a row without progress, after which only recovery may run.
pub const OUTCOME_FLOOR_TURNS: u32 = 3;

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
        unasked: unasked(state, goal_id, lane.now),
        findings: state.findings(goal, lane.now),
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
        let answer =
            self.resumable(&work).or_else(|| self.watch_first(&work)).or_else(|| self.obliged(&work));
        if let Some(answer) = answer.or_else(|| self.run(&work)).or_else(|| self.repair(&work)) {
            return answer;
        }
        let mut waits = Waits::of(self.state, self.lane, &work);
        self.grant(&work, &waits)
            .or_else(|| self.watch(&work))
            .unwrap_or_else(|| self.nothing_to_run(&mut waits))
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
        let todo = self.state.todos.get(&turn.todo);
        let left = todo.map(|todo| hindrances(self.state, self.lane, turn.todo, todo)).unwrap_or_default();
        let repair = left.into_iter().next();
        let mode = repair.as_ref().map_or(Mode::BoundedDelivery, repair_mode);
        let run = Verdict::Run { todo: turn.todo, turn: Some(id), takes_over: None, repair };
        Some((run, mode, self.now()))
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
            .iter()
            .find(|found| !(turn.repairs && found.is_repairable()))
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
        Some((Verdict::Ask { gates, user_actions: Vec::new(), grants: Vec::new() }, Mode::UserGate, wake))
    }

    const fn now(&self) -> Wake {
        Wake { at: Some(self.lane.now), on: Vec::new() }
    }

    fn rank(&self, id: TodoId) -> Option<(Priority, Seq)> {
        self.state.todos.get(&id).map(|todo| (todo.spec.priority, todo.added))
    }

    /// Row 6: what a todo was put off for has happened, and nothing that could run comes before it.
    fn resumable(&mut self, work: &Frontier) -> Option<Answer> {
        let best = work.runnable.first().and_then(|id| self.rank(*id));
        let first = |id: &TodoId| best.is_none() || self.rank(*id) < best;
        let others = |one: &Hindrance| matches!(one, Hindrance::Excluded | Hindrance::Bound(_));
        let met = |found: &[Hindrance]| {
            found.iter().any(|one| matches!(one, Hindrance::Resumes { met: true, .. }))
                && !found.iter().any(others)
        };
        let todos: Vec<TodoId> =
            work.waiting.iter().filter(|(id, found)| met(found) && first(id)).map(|(id, _)| *id).collect();
        self.tried(6, "what a todo was put off for has happened", !todos.is_empty(), names(&todos));
        let plan = Verdict::Plan { cause: PlanCause::Resumable { todos: todos.clone() } };
        (!todos.is_empty()).then(|| (plan, Mode::SuccessorReplanRequired, self.now()))
    }

    /// Row 7: a monitor that is due comes before everything that could run.
    fn watch_first(&mut self, work: &Frontier) -> Option<Answer> {
        let priority = |id: &TodoId| self.state.todos.get(id).map(|todo| todo.spec.priority);
        let (due, best) = (work.due.first(), work.runnable.first());
        let first = due.filter(|due| best.is_some_and(|best| priority(due) < priority(best))).copied();
        self.tried(7, "a monitor is due that comes before other work", first.is_some(), names(&work.due));
        first.map(|todo| (Verdict::Poll { todo }, Mode::MonitorPoll, self.now()))
    }

    /// Row 8: what was tried again and again and brought nothing.
    fn obliged(&mut self, work: &Frontier) -> Option<Answer> {
        let delta = self.goal.delta;
        let turns = work.runnable.first().and_then(|id| {
            let times = self.state.todos.get(id)?.fruitless.since(delta);
            (times >= FRUITLESS_TURNS).then_some((*id, times))
        });
        let polls = self.monitors().find_map(|(id, todo)| {
            let times = todo.watch.as_ref()?.unchanged.since(delta);
            (times >= FRUITLESS_POLLS).then_some((id, times))
        });
        let found = turns.or(polls);
        let facts = found.iter().map(|(id, times)| format!("{id}: {times} times")).collect();
        self.tried(8, "the same was tried and brought nothing", found.is_some(), facts);
        let (todo, times) = found?;
        let plan = Verdict::Plan { cause: PlanCause::Fruitless { todo, times } };
        Some((plan, Mode::AutonomousReplan, self.now()))
    }

    /// The monitors of this goal that this agent may look at.
    fn monitors(&self) -> impl Iterator<Item = (TodoId, &Todo)> {
        let agent = self.lane.holder.actor.agent();
        let mine = move |todo: &Todo| {
            todo.spec.bound.as_ref().is_none_or(|bound| Some(bound) == agent)
                && !agent.is_some_and(|agent| todo.spec.excluded.contains(agent))
        };
        let here =
            self.state.todos.iter().filter(|(_, todo)| todo.watch.is_some() && todo.goal == *self.lane.goal);
        here.filter(move |(_, todo)| mine(todo)).map(|(id, todo)| (*id, todo))
    }

    /// Rows 9, 12 and 13.
    fn run(&mut self, work: &Frontier) -> Option<Answer> {
        const RULE: &str = "a todo is runnable, and neither floor nor quota stops it";
        let Some(&best) = work.runnable.first() else {
            self.tried(9, RULE, false, Vec::new());
            return None;
        };
        let floor = (self.goal.fruitless >= OUTCOME_FLOOR_TURNS).then_some(self.goal.fruitless);
        let recovers = |id: &&TodoId| self.state.todos.get(id).is_some_and(is_recovery);
        let todo = if floor.is_some() { work.runnable.iter().find(recovers).copied() } else { Some(best) };
        let throttled = todo.and_then(|_| self.throttled_until());
        if floor.is_some() || throttled.is_some() {
            self.tried(9, RULE, false, names(&work.runnable));
        }
        if let Some(turns) = floor
            && throttled.is_none()
        {
            let facts = std::iter::once(format!("{turns} turns")).chain(names(todo.as_slice())).collect();
            self.tried(12, "turn after turn brought no progress", true, facts);
            let plan = Verdict::Plan { cause: PlanCause::OutcomeFloor { turns } };
            let verdict = todo.map_or(plan, |todo| self.take(todo));
            return Some((verdict, Mode::OutcomeFloorRecovery, self.now()));
        }
        if let Some(at) = throttled {
            return Some(self.throttled(at));
        }
        self.tried(9, RULE, true, vec![best.to_string()]);
        let gated = self.outranked_by_a_gate(work, best);
        let mode = if gated { Mode::ScopedUserGateFallback } else { Mode::BoundedDelivery };
        Some((self.take(best), mode, self.now()))
    }

    fn take(&self, todo: TodoId) -> Verdict {
        let claim = self.state.todos.get(&todo).and_then(|todo| todo.claim.as_ref());
        let others = claim.filter(|claim| {
            claim.holder != *self.lane.holder && !self.state.is_addressed_to(todo, self.lane.holder)
        });
        Verdict::Run { todo, turn: None, takes_over: others.map(|claim| claim.holder.clone()), repair: None }
    }

    fn throttled(&mut self, at: Option<Timestamp>) -> Answer {
        let spent = used_up(self.state, self.lane.goal, self.lane.holder);
        let budget = spent.map(|(whose, (what, used, limit))| format!("{whose}: {used} of {limit} {what}"));
        let on = if budget.is_some() { "quota.budgeted" } else { "quota.set" };
        let fact = budget.unwrap_or_else(|| at.map_or_else(|| "never fits".to_owned(), |at| at.to_string()));
        self.tried(13, "quota is used up", true, vec![fact]);
        let on = vec![on.to_owned(), "quota.voided".to_owned()];
        (Verdict::Wait, Mode::QuotaThrottled, Wake { at, on })
    }

    /// Row 10: the best of what lacks nothing but what this agent can repair.
    fn repair(&mut self, work: &Frontier) -> Option<Answer> {
        let repairable = |found: &[Hindrance]| match found {
            [first, ..] if found.iter().all(Hindrance::is_repairable) => Some(first.clone()),
            _ => None,
        };
        let all = work.waiting.iter().filter_map(|(id, found)| Some((*id, repairable(found)?)));
        let best = all.min_by_key(|(id, _)| self.rank(*id));
        let facts = best.iter().map(|(id, repair)| format!("{id}: {repair}")).collect();
        let throttled = best.as_ref().and_then(|_| self.throttled_until());
        let passed = best.is_some() && throttled.is_none();
        self.tried(10, "a todo lacks only what its agent can repair", passed, facts);
        if let Some(at) = throttled {
            return Some(self.throttled(at));
        }
        let (id, needed) = best?;
        let mode = repair_mode(&needed);
        let mut verdict = self.take(id);
        if let Verdict::Run { repair, .. } = &mut verdict {
            *repair = Some(needed);
        }
        Some((verdict, mode, self.now()))
    }

    /// Row 11: the best of what lacks, beside repairs, only what an owner grants, and no peer has been granted.
    fn grant(&mut self, work: &Frontier, waits: &Waits) -> Option<Answer> {
        let lacks = |found: &[Hindrance]| {
            found.iter().any(|one| matches!(one, Hindrance::NotGranted(_)))
                && found.iter().all(|one| one.is_repairable() || matches!(one, Hindrance::NotGranted(_)))
        };
        let asked: Vec<(TodoId, CapabilityId)> = waits
            .grants
            .iter()
            .filter(|(id, _)| work.waiting.get(id).is_some_and(|found| lacks(found)))
            .cloned()
            .collect();
        let facts = asked.iter().map(|(id, capability)| format!("{id}: {capability}")).collect();
        self.tried(11, "a todo lacks what only an owner grants", !asked.is_empty(), facts);
        let on = asked.iter().map(|(id, _)| id.to_string()).collect();
        let ask = Verdict::Ask { gates: Vec::new(), user_actions: Vec::new(), grants: asked.clone() };
        (!asked.is_empty()).then_some((ask, Mode::UserActionRequired, Wake { at: None, on }))
    }

    /// Row 14: a monitor is due, and there is nothing else.
    fn watch(&mut self, work: &Frontier) -> Option<Answer> {
        self.tried(13, "quota is used up", false, Vec::new());
        let due = work.due.first().copied();
        self.tried(14, "a monitor is due", due.is_some(), names(&work.due));
        due.map(|todo| (Verdict::Poll { todo }, Mode::MonitorPoll, self.now()))
    }

    /// When one more slot fits beside those spent and those that open turns may still spend; none if it fits now. A budget
    /// that is used up ends at no instant.
    #[expect(
        clippy::option_option,
        reason = "the outer says whether to wait, the inner whether an instant ends it"
    )]
    fn throttled_until(&self) -> Option<Option<Timestamp>> {
        if used_up(self.state, self.lane.goal, self.lane.holder).is_some() {
            return Some(None);
        }
        let quota = self.state.quotas.get(self.lane.goal)?;
        let reserved = kept_slots(self.state, self.lane.goal, self.lane.holder);
        let free_at = quota.free_at(1, self.lane.now, &reserved);
        (free_at != Some(self.lane.now)).then_some(free_at)
    }

    fn outranked_by_a_gate(&self, work: &Frontier, chosen: TodoId) -> bool {
        let gated = |found: &[Hindrance]| {
            found.iter().all(|one| matches!(one, Hindrance::Gate(_) | Hindrance::Undecided(_)))
        };
        work.waiting.iter().any(|(id, found)| gated(found) && self.rank(*id) < self.rank(chosen))
    }

    /// Rows 15 to 19.
    fn nothing_to_run(&mut self, waits: &mut Waits) -> Answer {
        let (gates, instants) = self.awaited();
        let answers = !waits.human.is_empty() || !gates.is_empty();
        let human = answers && waits.others.is_empty() && waits.later.is_empty() && instants.is_empty();
        let facts = names(&waits.human).into_iter().chain(names(&gates)).collect();
        self.tried(15, "everything left waits for a human", human, facts);
        if human {
            waits.gates.extend(gates);
            return self.ask(waits);
        }
        self.tried(16, "work left is others'", !waits.others.is_empty(), names(&waits.others));
        if !waits.others.is_empty() {
            let mode =
                if waits.earliest.is_some() { Mode::AgentScopeWait } else { Mode::ReassignmentRequired };
            return (Verdict::Wait, mode, Wake { at: waits.earliest, on: names(&waits.others) });
        }
        let instants_left = instants.len();
        let later: Vec<String> = names(&waits.later).into_iter().chain(names(&instants)).collect();
        self.tried(17, "work left becomes due later", !later.is_empty(), later.clone());
        if !later.is_empty() {
            let at = waits.earliest.into_iter().chain(instants).min();
            let watched = |id: &TodoId| self.state.todos.get(id).is_some_and(|todo| todo.watch.is_some());
            let only_monitors = instants_left == 0 && waits.later.iter().all(watched);
            let mode = if only_monitors { Mode::MonitorQuietSkip } else { Mode::Waiting };
            return (Verdict::Wait, mode, Wake { at, on: names(&waits.later) });
        }
        self.plan(waits)
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
        let grants: Vec<(TodoId, CapabilityId)> = waits.grants.iter().cloned().collect();
        let unasked: Vec<String> = unasked(self.state, self.lane.goal, self.lane.now)
            .iter()
            .map(|(scope, _)| scope.to_string())
            .collect();
        let asks = !gates.is_empty() || !unasked.is_empty();
        let mode = if asks { Mode::UserGate } else { Mode::UserActionRequired };
        let granted = grants.iter().map(|(id, _)| id.to_string());
        let on =
            names(&gates).into_iter().chain(names(&user_actions)).chain(granted).chain(unasked).collect();
        (Verdict::Ask { gates, user_actions, grants }, mode, Wake { at: None, on })
    }

    /// Rows 18 and 19.
    fn plan(&mut self, waits: &Waits) -> Answer {
        let unmet: Vec<CriterionId> =
            self.state.open_criteria(self.goal, self.lane.now).iter().map(|open| open.id).collect();
        let accepted = self.state.is_accepted(self.goal, self.lane.now) && waits.stuck.is_empty();
        self.tried(18, "acceptance is met and nothing is open", accepted, names(&unmet));
        let wake = self.now();
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

/// The budget of this goal or of this agent that is used up: whose, which number, what was used, and the limit.
#[must_use]
pub fn used_up(state: &State, goal: &GoalId, holder: &Holder) -> Option<(String, (&'static str, u64, u64))> {
    let of_goal = state.quotas.get(goal).and_then(|quota| quota.total.used_up(&quota.budget));
    let agent = holder.actor.agent().and_then(|agent| Some((agent, state.agents.get(agent)?)));
    let of_agent = || {
        let (name, agent) = agent?;
        Some((format!("agent {name}"), agent.total.used_up(&agent.budget)?))
    };
    of_goal.map(|found| (format!("goal {goal}"), found)).or_else(of_agent)
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

/// A todo that is there to find out why nothing comes of the others.
fn is_recovery(todo: &Todo) -> bool {
    todo.spec.action.as_ref().is_some_and(|action| action.as_str() == "recovery")
}

const fn repair_mode(repair: &Hindrance) -> Mode {
    match repair {
        Hindrance::OutsideScope(_) => Mode::BoundaryProjectionRepair,
        _ => Mode::RepairBridge,
    }
}

fn names<T: ToString>(ids: &[T]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

fn wake_on(conditions: &[&str]) -> Wake {
    Wake { at: None, on: names(conditions) }
}
