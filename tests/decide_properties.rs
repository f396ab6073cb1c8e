//! What holds for every decision, after any history.

mod kernel;

use std::collections::BTreeSet;

use kernel::chaos::{GOALS, LANES, judgments, steps, take, world};
use kernel::*;
use loopx::decide::{self, Decision, PlanCause, Verdict};
use loopx::event::{Event, ResumeWhen, TodoClass, codec};
use loopx::id::{Actor, EvidenceId, GateId, TodoId};
use loopx::ledger::Ledger;
use loopx::project::evidence::Piece;
use loopx::project::ruling::{Ruling, Used};
use loopx::state::{GoalStatus, Standing, State, TodoStatus};
use loopx::time::Timestamp;
use proptest::prelude::*;

/// Who asks, as plain text.
struct Me<'a> {
    agent: &'a str,
    session: Option<&'a str>,
}

impl<'a> Me<'a> {
    fn of(lane: &'a str) -> Self {
        match lane.split_once('+') {
            Some((agent, session)) => Self { agent, session: Some(session) },
            None => Self { agent: lane, session: None },
        }
    }

    fn is(&self, holder: &loopx::event::Holder) -> bool {
        holder.actor.to_string() == format!("agent/{}", self.agent)
            && holder.session.as_ref().map(loopx::id::SessionId::as_str) == self.session
    }
}

/// What an agent may take out of the way by itself.
const REPAIRS: [&str; 2] = ["a capability to build", "outside the goal"];

/// Whether a monitor is to be looked at now by whoever asks.
fn to_be_polled(state: &State, goal: &str, me: &Me<'_>, id: TodoId, now: Timestamp) -> bool {
    let todo = &state.todos[&id];
    let (Some(watch), Some(monitor)) = (&todo.watch, &todo.spec.monitor) else { return false };
    in_the_way(state, goal, me, id, now) == ["a monitor"]
        && watch.due <= now
        && monitor.until.is_none_or(|until| until > now)
}

/// Whether a decision asked for or taken in one scope is one about another, from the way they are spelled.
fn about(scope: &str, need: &str) -> bool {
    let part = |text: &str, at: usize| text.split(':').nth(at).unwrap().to_owned();
    let rank = |text: &str| {
        let order = ["action", "lane", "goal", "project", "global"];
        order.iter().position(|word| *word == part(text, 1)).unwrap()
    };
    let key = part(scope, 2) == "*" || part(scope, 2) == part(need, 2);
    part(scope, 0) == part(need, 0) && rank(scope) >= rank(need) && key
}

/// Whether a decision taken in `scope`, in `goal`, for these todos or for all, is one for this need of this todo.
fn meant<'a>(
    state: &State,
    id: TodoId,
    need: &str,
    (scope, goal, named): (Option<String>, &str, impl IntoIterator<Item = &'a TodoId>),
) -> bool {
    let Some(scope) = scope else { return false };
    let wide = scope.contains(":project:") || scope.contains(":global:");
    let mut named = named.into_iter().peekable();
    let reaches = match named.peek() {
        None => wide || state.todos[&id].goal.as_str() == goal,
        Some(_) => named.any(|todo| *todo == id),
    };
    reaches && about(&scope, need)
}

fn counts(state: &State, id: EvidenceId, now: Timestamp) -> bool {
    let evidence = state.evidence.get(&id);
    evidence.is_some_and(|e| e.standing == Standing::Current && e.valid_until.is_none_or(|until| until > now))
}

/// Decisions that a todo requires and that no approval gives it now.
fn undecided(state: &State, id: TodoId, now: Timestamp) -> Vec<String> {
    let needs = state.todos[&id].spec.requires_decision.iter().map(ToString::to_string);
    let given = |need: &str| {
        state.approvals.values().any(|approval| {
            let scope = approval.scope.as_ref().map(ToString::to_string);
            (approval.stands || !approval.todos.is_empty())
                && meant(state, id, need, (scope, approval.goal.as_str(), &approval.todos))
                && approval.valid_until.is_none_or(|until| until > now)
                && approval.rests_on.iter().all(|evidence| counts(state, *evidence, now))
        })
    };
    needs.filter(|need| !given(need)).collect()
}

/// Whether an open gate asks for a decision that a todo requires.
fn asked(state: &State, id: TodoId, need: &str) -> bool {
    state.gates.values().any(|gate| {
        let scope = gate.scope.as_ref().map(ToString::to_string);
        meant(state, id, need, (scope, gate.goal.as_str(), &gate.blocks.todos))
    })
}

/// A plain second reading of what may run, straight from the rules: everything in the way of a todo.
fn in_the_way(state: &State, goal: &str, me: &Me<'_>, id: TodoId, now: Timestamp) -> Vec<&'static str> {
    let todo = &state.todos[&id];
    let mut why = Vec::new();
    let mut unless = |fine: bool, what: &'static str| {
        if !fine {
            why.push(what);
        }
    };
    let on_it = |id: TodoId| state.turns.values().any(|turn| turn.todo == id && !turn.completed);
    let mine = |id: TodoId| {
        state.todos[&id].claim.as_ref().is_some_and(|claim| {
            let addressed = claim.holder.session.is_none()
                && claim.holder.actor.to_string() == format!("agent/{}", me.agent)
                && !on_it(id);
            me.is(&claim.holder) || addressed
        })
    };
    let alive = |claim: &loopx::state::Claim| claim.lease.as_ref().is_none_or(|lease| lease.until > now);
    let theirs = |id: TodoId| state.todos[&id].claim.as_ref().is_some_and(|claim| alive(claim) && !mine(id));
    unless(todo.goal.as_str() == goal, "another goal");
    unless(
        match &todo.status {
            TodoStatus::Open => true,
            TodoStatus::Blocked { .. } => false,
            TodoStatus::Deferred { until, when } => when.is_none() && until.is_some_and(|until| until <= now),
        },
        "blocked or deferred",
    );
    // Open needs are unmet, and so are closed ones that were never completed.
    unless(
        todo.spec.needs.iter().all(|n| !state.todos.contains_key(n) || todo.unmet.contains(n)),
        "unmet lost",
    );
    unless(mine(id) || todo.unmet.is_empty(), "a need is not completed");
    unless(!state.gates.values().any(|gate| gate.blocks.todos.contains(&id)), "a gate");
    unless(undecided(state, id, now).is_empty(), "a decision");
    unless(todo.spec.class != TodoClass::UserAction, "a person's");
    unless(!todo.spec.excluded.iter().any(|agent| agent.as_str() == me.agent), "excluded");
    unless(todo.spec.bound.as_ref().is_none_or(|agent| agent.as_str() == me.agent), "bound");
    let agent = state.agents.iter().find(|(name, _)| name.as_str() == me.agent).map(|(_, agent)| agent);
    let can = |wanted| agent.is_some_and(|agent| agent.capabilities.contains(wanted));
    unless(todo.spec.requires.iter().all(can), "a capability");
    unless(todo.spec.buildable.iter().all(can), REPAIRS[0]);
    let granted = |wanted| agent.is_some_and(|agent| agent.granted.contains(wanted));
    unless(todo.spec.granted.iter().all(granted), "a grant");
    unless(todo.spec.class != TodoClass::Monitor, "a monitor");
    unless(!theirs(id), "held");
    let below = |path: &str, root: &str| path == root || path.starts_with(&format!("{root}/"));
    let clash = |one: &str, other: &str| below(one, other) || below(other, one);
    for other in state.todos.keys().copied().filter(|other| *other != id && theirs(*other)) {
        let spec = &state.todos[&other].spec;
        for path in &todo.spec.write {
            unless(!spec.write.iter().any(|theirs| clash(&path.to_string(), &theirs.to_string())), "overlap");
        }
        unless(!todo.spec.resources.iter().any(|name| spec.resources.contains(name)), "a resource in use");
    }
    for name in &todo.spec.resources {
        let held = state.resources.get(name).and_then(|slot| slot.held.as_ref());
        unless(!held.is_some_and(|claim| alive(claim) && !me.is(&claim.holder)), "a leased resource");
    }
    let scope = &state.goals[&todo.goal].write;
    unless(
        todo.spec.write.iter().all(|path| {
            scope.is_empty() || scope.iter().any(|root| below(&path.to_string(), &root.to_string()))
        }),
        REPAIRS[1],
    );
    why
}

/// Slots left, counted from the log's point of view: none means not limited.
fn slots_left(state: &State, goal: &str, me: &Me<'_>, now: Timestamp) -> Option<i64> {
    let quota = state.quotas.iter().find(|(name, _)| name.as_str() == goal).map(|(_, quota)| quota)?;
    let allowed = i64::try_from(quota.allowed_slots()?).unwrap();
    let window = quota.setting.as_ref().unwrap().window_ms;
    let inside = |ts: Timestamp| now.as_micros() - ts.as_micros() < i64::try_from(window).unwrap() * 1_000;
    let spent: u64 = quota.groups.iter().filter(|s| inside(s.ts)).map(|s| s.slots).sum();
    let reserved = state.turns.values().filter(|turn| {
        let until = match &state.todos.get(&turn.todo) {
            Some(todo) if !turn.completed => {
                todo.claim.as_ref().and_then(|c| c.lease.as_ref()).map(|l| l.until)
            }
            _ => turn.pay_by,
        };
        turn.goal.as_str() == goal
            && (!me.is(&turn.holder) || turn.completed)
            && until.is_some_and(|until| until > now)
    });
    Some(allowed - i64::try_from(spent).unwrap() - i64::try_from(reserved.count()).unwrap())
}

/// Every decision agrees with the second reading, and leaves nobody waiting for nothing.
fn sound(world: &World) -> Result<(), TestCaseError> {
    let (state, now) = (world.state(), world.now());
    for lane in LANES {
        for goal in GOALS {
            let Ok(decision) = world.should_run(&format!("{lane} {goal}")) else { continue };
            prop_assert_eq!(
                &decision,
                &world.decision(&format!("{lane} {goal}")),
                "equal arguments, equal answer"
            );
            let me = Me::of(lane);
            explained(&decision)?;
            let unasked: BTreeSet<(String, TodoId)> = decision
                .unasked
                .iter()
                .flat_map(|(scope, todos)| todos.iter().map(move |id| (scope.to_string(), *id)))
                .collect();
            let want = state.todos.iter().filter(|(_, todo)| {
                let goes_on = !matches!(
                    todo.status,
                    TodoStatus::Blocked { .. } | TodoStatus::Deferred { until: None, when: None }
                );
                todo.goal.as_str() == goal && goes_on
            });
            let missing = |id: TodoId| undecided(state, id, now).into_iter().map(move |need| (need, id));
            let want: BTreeSet<(String, TodoId)> =
                want.flat_map(|(id, _)| missing(*id)).filter(|(need, id)| !asked(state, *id, need)).collect();
            prop_assert_eq!(unasked, want, "{} {}", lane, goal);
            let open_turn = state.turns.values().find(|turn| me.is(&turn.holder));
            let free: BTreeSet<TodoId> = state
                .todos
                .keys()
                .copied()
                .filter(|id| in_the_way(state, goal, &me, *id, now).is_empty())
                .collect();
            let status =
                state.goals.iter().find(|(name, _)| name.as_str() == goal).map(|(_, goal)| goal.status);
            let left = slots_left(state, goal, &me, now);
            let zero =
                state.quotas.iter().any(|(name, q)| name.as_str() == goal && q.allowed_slots() == Some(0));
            let stopped = status != Some(GoalStatus::Active) || zero;
            if let Verdict::Run { todo, turn, repair, .. } = &decision.verdict {
                let way = in_the_way(state, goal, &me, *todo, now);
                prop_assert_eq!(
                    repair.is_some(),
                    !way.is_empty(),
                    "{} {}: RUN {}, {:?}",
                    lane,
                    goal,
                    todo,
                    way
                );
                prop_assert!(
                    way.iter().all(|one| REPAIRS.contains(one)),
                    "{lane} {goal}: RUN {todo}, but {way:?}"
                );
                prop_assert!(turn.is_some() || repair.is_none() || free.is_empty(), "a repair before work");
                let fruitless =
                    state.goals.iter().find(|(name, _)| name.as_str() == goal).unwrap().1.fruitless;
                let recovers =
                    state.todos[todo].spec.action.as_ref().is_some_and(|a| a.as_str() == "recovery");
                prop_assert!(
                    turn.is_some() || repair.is_some() || fruitless < 3 || recovers,
                    "below the floor"
                );
                prop_assert!(!stopped, "{lane} {goal}: RUN in a goal that is stopped");
                match turn {
                    Some(turn) => {
                        let turn = &state.turns[turn];
                        prop_assert!(
                            me.is(&turn.holder)
                                && turn.todo == *todo
                                && state.todos[todo].epoch == turn.epoch
                        );
                    }
                    None => {
                        prop_assert!(left.is_none_or(|left| left >= 1), "{lane} {goal}: RUN without a slot")
                    }
                }
            } else if let Verdict::Poll { todo } = &decision.verdict {
                prop_assert!(
                    !stopped && to_be_polled(state, goal, &me, *todo, now),
                    "{lane} {goal}: poll {todo}"
                );
                let priority = |id: &TodoId| state.todos[id].spec.priority;
                prop_assert!(free.iter().all(|other| priority(todo) < priority(other)), "a poll before work");
            } else if matches!(
                &decision.verdict,
                Verdict::Plan {
                    cause: PlanCause::Resumable { .. }
                        | PlanCause::Fruitless { .. }
                        | PlanCause::OutcomeFloor { .. }
                }
            ) {
                prop_assert!(!stopped, "{lane} {goal}: a plan in a goal that is stopped");
                planned(state, goal, &decision)?;
            } else if !stopped && !free.is_empty() {
                let held_up = state.gates.values().any(|gate| {
                    gate.goal.as_str() == goal
                        && (gate.blocks.all
                            || gate
                                .blocks
                                .agents
                                .iter()
                                .any(|a| a.as_str() == lane.split('+').next().unwrap()))
                });
                prop_assert!(
                    held_up || left.is_some_and(|left| left < 1),
                    "{lane} {goal}: {free:?} could run, turn {open_turn:?}, but {:?}",
                    decision.verdict
                );
            }
        }
    }
    Ok(())
}

/// A plan comes before work only for one of three reasons.
fn planned(state: &State, goal: &str, decision: &Decision) -> Result<(), TestCaseError> {
    let goal = state.goals.iter().find(|(name, _)| name.as_str() == goal).unwrap().1;
    match &decision.verdict {
        Verdict::Plan { cause: PlanCause::Resumable { todos } } => {
            for id in todos {
                let TodoStatus::Deferred { when: Some(when), .. } = &state.todos[id].status else {
                    return Err(TestCaseError::fail(format!("{id} waits for nothing")));
                };
                let open = match when {
                    ResumeWhen::Todo(todo) => state.todos.contains_key(todo),
                    ResumeWhen::Gate(gate) => state.gates.contains_key(gate),
                };
                prop_assert!(!open, "{id} still waits");
            }
        }
        Verdict::Plan { cause: PlanCause::Fruitless { todo, times } } => {
            let todo = &state.todos[todo];
            let (row, most) = match &todo.watch {
                Some(watch) => (watch.unchanged, 5),
                None => (todo.fruitless, 2),
            };
            prop_assert!(row.count == *times && *times >= most && row.last > goal.delta);
        }
        Verdict::Plan { cause: PlanCause::OutcomeFloor { turns } } => {
            prop_assert!(*turns == goal.fruitless && *turns >= 3);
        }
        other => return Err(TestCaseError::fail(format!("{other:?}"))),
    }
    Ok(())
}

fn explained(decision: &Decision) -> Result<(), TestCaseError> {
    let rows: Vec<u8> = decision.trace.iter().map(|tried| tried.row).collect();
    prop_assert!(rows.is_sorted_by(|a, b| a < b), "{rows:?}");
    let (last, before) = decision.trace.split_last().unwrap();
    prop_assert!(last.passed && before.iter().all(|tried| !tried.passed));
    match &decision.verdict {
        Verdict::Ask { gates, user_actions, grants } => {
            let asked = !gates.is_empty() || !user_actions.is_empty() || !grants.is_empty();
            prop_assert!(asked || !decision.unasked.is_empty());
        }
        Verdict::Wait => {
            prop_assert!(decision.wake.at.is_some() || !decision.wake.on.is_empty(), "{decision:?}")
        }
        Verdict::Run { .. } | Verdict::Poll { .. } | Verdict::Plan { .. } | Verdict::Done => {}
    }
    if decision.verdict == Verdict::Wait
        && let Some(at) = decision.wake.at
    {
        prop_assert!(at > decision.now, "a wake that has passed wakes nobody: {decision:?}");
    }
    Ok(())
}

/// What every state keeps to.
fn consistent(state: &State) -> Result<(), TestCaseError> {
    for (id, todo) in &state.todos {
        if let Some(claim) = &todo.claim {
            prop_assert_eq!(&todo.status, &TodoStatus::Open, "{} is held", id);
            prop_assert_eq!(
                claim.lease.is_some(),
                matches!(claim.holder.actor, Actor::Agent(_)),
                "{} leased",
                id
            );
            let turn = state.turns.values().find(|turn| turn.todo == *id && !turn.completed);
            match turn {
                Some(turn) => prop_assert!(turn.holder == claim.holder && turn.epoch == todo.epoch),
                None => prop_assert!(claim.holder.session.is_none(), "{} is held without a turn", id),
            }
        }
        prop_assert!(
            todo.unmet.iter().all(|need| todo.spec.needs.contains(need)),
            "{id} waits for what it does not need"
        );
        let gates: BTreeSet<_> = state
            .gates
            .iter()
            .filter(|(_, gate)| gate.blocks.todos.contains(id))
            .map(|(id, _)| *id)
            .collect();
        prop_assert_eq!(&todo.gates, &gates);
        prop_assert!(!state.goals[&todo.goal].status.is_final());
    }
    for (id, turn) in &state.turns {
        prop_assert!(!state.goals[&turn.goal].status.is_final());
        let on_it = state.todos.get(&turn.todo).and_then(|todo| todo.claim.as_ref());
        prop_assert!(
            turn.completed || on_it.is_some_and(|claim| claim.holder == turn.holder),
            "{id} lost its todo"
        );
        prop_assert_eq!(state.turns.values().filter(|other| other.holder == turn.holder).count(), 1);
        prop_assert!(turn.holder.actor.agent().is_some_and(|agent| !state.agents[agent].retired));
    }
    prop_assert!(state.owners.values().any(|owner| !owner.revoked));
    for (id, approval) in &state.approvals {
        prop_assert!(!state.gates.contains_key(id), "{} is decided", id);
        prop_assert!(approval.stands || approval.promotes || !approval.todos.is_empty(), "{} is used up", id);
        prop_assert!(!approval.stands || approval.todos.is_empty() && approval.scope.is_some());
        prop_assert!(approval.rests_on.iter().all(|id| state.evidence.contains_key(id)));
        prop_assert!(!state.goals[&approval.goal].status.is_final() || approval.stands && !approval.promotes);
    }
    for goal in state.goals.values() {
        for (id, criterion) in &goal.criteria {
            prop_assert!(criterion.met_by.is_none_or(|by| state.evidence.contains_key(&by)), "{}", id);
            // What was recorded of its evidence has opened it again; only age does so by itself.
            let current = criterion.met_by.map(|by| state.evidence[&by].standing);
            prop_assert!(current.is_none_or(|current| current == Standing::Current), "{} {:?}", id, current);
        }
    }
    Ok(())
}

/// What the log says of evidence and gates is what the fold says.
fn told_alike(world: &mut World) -> Result<(), TestCaseError> {
    let (state, head, now) = (world.state().clone(), world.head(), world.now());
    for (id, evidence) in &state.evidence {
        let piece = Piece::read(&mut world.ledger, *id).unwrap().unwrap();
        prop_assert_eq!(piece.ended_at(head, now), evidence.ended(now), "{}", id);
        let holds = |rests: &loopx::project::evidence::Rests| rests.holds(&state, *id);
        let criteria = state.goals.values().flat_map(|goal| goal.criteria.values());
        let on_it = criteria.filter(|criterion| criterion.met_by == Some(*id)).count();
        let told: BTreeSet<String> = piece
            .rests
            .iter()
            .filter(|rests| {
                matches!(rests.what, loopx::project::evidence::Resting::Criterion(..)) && holds(rests)
            })
            .map(|rests| format!("{:?}", rests.what))
            .collect();
        prop_assert_eq!(told.len(), on_it, "{}: {:?}", id, told);
    }
    for id in (1..=state.minted.gates).map(GateId) {
        let ruling = Ruling::read(&mut world.ledger, id).unwrap().unwrap();
        let last = ruling.answers.last().is_some_and(|answer| answer.decided.outcome.is_final());
        prop_assert!(!last || !state.gates.contains_key(&id));
        let Some(approval) = state.approvals.get(&id) else { continue };
        prop_assert_eq!(approval.seq, ruling.answers.last().unwrap().seq);
        prop_assert!(ruling.ended.is_none(), "an approval that was revoked is gone");
        for used in &ruling.uses {
            if let Used::Todo(todo) = used.what {
                prop_assert!(!approval.todos.contains(&todo), "{} is used up for {}", id, todo);
            }
        }
    }
    Ok(())
}

/// Read back from the first record, with every event through the codec once more.
fn replayed(world: &World) -> Result<(), TestCaseError> {
    let mut broken = None;
    let state = world.ledger.replay(world.head(), &mut |before, entry| {
        for event in &entry.events {
            let Event::TurnOpened(opened) = event else { continue };
            let again = decide::behind(before, entry.at.ts, opened).map(|decision| decision.verdict);
            let same = matches!(&again, Ok(Verdict::Run { todo, .. }) if *todo == opened.todo);
            if !same && !opened.by_name {
                broken = Some(format!(
                    "{}: {} was opened on another decision than {again:?}",
                    entry.at.seq, opened.id
                ));
            }
        }
        let bytes = codec::encode(&entry.events).unwrap();
        if bytes != entry.record.events() || codec::decode(&bytes).unwrap() != entry.events {
            broken = Some(format!("{}: another spelling", entry.at.seq));
        }
    });
    let state = state.unwrap();
    prop_assert_eq!(broken, None::<String>);
    prop_assert_eq!(state.digest().unwrap(), world.state().digest().unwrap());
    let again = Ledger::start(Box::new(world.log.clone()), None).unwrap();
    prop_assert_eq!(again.state(), world.state());
    let json = serde_json::to_string(&state).unwrap();
    prop_assert_eq!(serde_json::from_str::<State>(&json).unwrap(), state, "a snapshot is the state");
    Ok(())
}

/// Every open turn can be closed by its own holder, and every RUN can be taken up.
fn no_dead_end(world: &mut World) -> Result<(), TestCaseError> {
    for (id, turn) in world.state().turns.clone() {
        let session = turn.holder.session.map(|session| format!("+{session}")).unwrap_or_default();
        let who = format!("{}{session} {}", turn.holder.actor.name(), turn.goal);
        world.by(&who, format!(r#"{{"command":"yield","todo":"{}","why":"enough"}}"#, turn.todo));
        prop_assert!(!world.state().turns.contains_key(&id));
    }
    for lane in LANES {
        for goal in GOALS {
            let who = format!("{lane} {goal}");
            let Ok(decision) = world.should_run(&who) else { continue };
            if let Verdict::Run { todo, .. } = decision.verdict {
                prop_assert_eq!(world.next(&who), todo);
                let again = world.decision(&who).verdict;
                let continues =
                    matches!(again, Verdict::Run { todo: same, turn: Some(_), .. } if same == todo);
                prop_assert!(continues);
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn after_any_history_decisions_are_sound_and_the_state_is_its_log(steps in steps(60)) {
        let mut world = world();
        for step in &steps {
            take(&mut world, step)?;
            consistent(world.state())?;
            sound(&world)?;
        }
        replayed(&world)?;
        told_alike(&mut world)?;
        no_dead_end(&mut world)?;
        consistent(world.state())?;
    }

    #[test]
    fn after_any_decisions_what_they_cover_is_what_the_second_reading_says(steps in judgments(50)) {
        let mut world = world();
        for step in &steps {
            take(&mut world, step)?;
            consistent(world.state())?;
            sound(&world)?;
        }
        replayed(&world)?;
        told_alike(&mut world)?;
        no_dead_end(&mut world)?;
    }

    #[test]
    fn a_gate_on_one_todo_changes_no_answer_for_work_independent_of_it(
        steps in steps(40),
        gated in 1..7u32,
        scope in prop::sample::select(vec!["", r#","scope":"production:action:*""#, r#","scope":"production:global:*""#]),
        then in prop::sample::select(vec!["", "reject", "defer"]),
    ) {
        let mut world = world();
        for step in &steps {
            take(&mut world, step)?;
        }
        let gated = TodoId(gated);
        let Some(todo) = world.state().todos.get(&gated) else { return Ok(()) };
        let goal = todo.goal.clone();
        let lanes: Vec<String> = LANES.iter().flat_map(|lane| GOALS.map(|goal| format!("{lane} {goal}"))).collect();
        let before: Vec<_> = lanes.iter().map(|who| world.should_run(who)).collect();
        let owner = world.state().owners.iter().find(|(_, owner)| !owner.revoked).unwrap().0.clone();
        world.by(&format!("@{owner} {goal}"), format!(r#"{{"command":"gate.open","question":"q","blocks":["{gated}"]{scope}}}"#));
        // A todo that is taken from its holder frees paths and resources, which other work depends on.
        let held = world.state().todos[&gated].claim.is_some();
        if !then.is_empty() && !held {
            let gate = world.state().minted.gates;
            let decide = format!(r#"{{"command":"gate.decide","gate":"G{gate}","outcome":{{"is":"{then}"}},"why":"w"}}"#);
            world.by(&format!("@{owner} {goal}"), decide);
        }
        for (who, before) in lanes.iter().zip(before) {
            let Ok(before) = before else { continue };
            if let Verdict::Run { todo, .. } = &before.verdict && *todo != gated {
                prop_assert_eq!(&world.decision(who).verdict, &before.verdict, "{}", who);
            }
            if before.goal != goal {
                prop_assert_eq!(&world.decision(who).verdict, &before.verdict, "{}: another goal", who);
            }
        }
    }

    #[test]
    fn work_that_requires_a_decision_changes_no_answer_for_work_that_does_not(
        steps in steps(40),
        urgent in any::<bool>(),
        goal in prop::sample::select(GOALS.to_vec()),
    ) {
        let mut world = world();
        for step in &steps {
            take(&mut world, step)?;
        }
        let open = world.state().goals.iter().any(|(name, found)| name.as_str() == goal && !found.status.is_final());
        if !open {
            return Ok(());
        }
        let lanes: Vec<String> = LANES.iter().flat_map(|lane| GOALS.map(|goal| format!("{lane} {goal}"))).collect();
        let before: Vec<_> = lanes.iter().map(|who| world.should_run(who)).collect();
        let owner = world.state().owners.iter().find(|(_, owner)| !owner.revoked).unwrap().0.clone();
        let priority = if urgent { "P0" } else { "P4" };
        // No gate of these histories asks for it.
        let add = format!(
            r#"{{"command":"todo.add","title":"t","priority":"{priority}","requires_decision":["private_read:goal:letters"]}}"#
        );
        world.by(&format!("@{owner} {goal}"), add);
        for (who, before) in lanes.iter().zip(before) {
            let Ok(before) = before else { continue };
            if matches!(before.verdict, Verdict::Run { .. }) || before.goal.as_str() != goal {
                prop_assert_eq!(&world.decision(who).verdict, &before.verdict, "{}", who);
            }
        }
    }
}
