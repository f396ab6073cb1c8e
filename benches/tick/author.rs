//! Histories made by real commands under a synthetic clock: agents that take turn after turn for months.

use std::cell::Cell;
use std::path::Path;

use loopx::decide::{Caller, Command};
use loopx::event::Event;
use loopx::id::TodoId;
use loopx::ledger::{Answer, Committed, Env, Ledger, Submission};
use loopx::log::Wait;
use loopx::time::Timestamp;
use serde_json::{Value, json};
use ulid::Ulid;

/// Agents that take turns.
const AGENTS: usize = 4;

/// Most follow-ups that one close opens here.
const FOLLOW_UPS: usize = 60;

/// Records between two syncs, as a busy host would do it.
const BATCH: u64 = 256;

const DAY_MICROS: i64 = 86_400_000_000;

/// What history to make.
#[derive(Clone, Copy)]
pub struct Plan {
    /// Records, at least.
    pub records: usize,
    /// Open todos at the end.
    pub open: usize,
    /// Whether the last 35 % of the records lie within one day: 100,000 turns of a million records.
    pub busy_day: bool,
}

/// Writes a history that ends at `end`. The ledger is new, at `root`.
pub fn write(root: &Path, plan: Plan, end: Timestamp) {
    let clock = Clock { plan, end: end.as_micros(), written: Cell::new(0) };
    let now = || clock.now();
    let ulid = || Ulid::from_parts(u64::try_from(clock.now().as_micros() / 1_000).unwrap_or(0), 1);
    let env = Env { now: &now, ulid: &ulid };
    let ledger = Ledger::create(root, &env, false).expect("a new ledger");
    let mut author = Author { ledger, clock: &clock, env, todos: 0, gates: 0 };
    author.begin();
    let mut turn = 0;
    while author.clock.written.get() < plan.records {
        author.turn(turn);
        turn += 1;
    }
    author.settle();
    author.ledger.build_index();
}

/// Ledger time: half a year that ends at `end`.
struct Clock {
    plan: Plan,
    end: i64,
    written: Cell<usize>,
}

impl Clock {
    fn now(&self) -> Timestamp {
        let all = self.plan.records.max(1) as f64;
        let left = (all - self.written.get() as f64).max(0.0) / all;
        // Days before the end.
        let days = match self.plan.busy_day {
            true if left < 0.35 => left / 0.35,
            true => 1.0 + (left - 0.35) / 0.65 * 179.0,
            false => left * 180.0,
        };
        Timestamp::from_micros(self.end - (days * DAY_MICROS as f64) as i64)
    }
}

struct Author<'a> {
    ledger: Ledger,
    clock: &'a Clock,
    env: Env<'a>,
    todos: usize,
    gates: usize,
}

impl Author<'_> {
    /// Submits one command, which has to be recorded.
    fn say(&mut self, agent: Option<usize>, command: Value) -> Box<Committed> {
        let shown = command.to_string();
        let command: Command = serde_json::from_value(command).expect("a command");
        let agent = agent.map(|agent| format!("w{agent}").parse().expect("a name"));
        let caller = Caller { agent, ..Caller::default() };
        let submission = Submission { caller, command, request: None };
        let ulid = || Ulid::from_parts(1, self.clock.written.get() as u128);
        let env = Env { ulid: &ulid, ..self.env };
        let answer = self.ledger.append(&env, &WAIT, &submission);
        let committed = match answer.unwrap_or_else(|error| panic!("{shown}: {error}")) {
            Answer::Committed(committed) => committed,
            Answer::Quiet(decision) => panic!("{shown}: nothing to record, {:?}", decision.verdict),
        };
        self.clock.written.set(usize::try_from(committed.receipt.seq.0).expect("a count"));
        if committed.receipt.seq.0.is_multiple_of(BATCH) {
            self.settle();
        }
        committed
    }

    fn settle(&mut self) {
        self.ledger.make_durable(&WAIT).expect("the disk keeps it");
        self.ledger.save_snapshot_if_due();
    }

    fn title(&mut self) -> String {
        self.todos += 1;
        format!("Evaluate candidate {}: k, metric and scaling of the classifier", self.todos)
    }

    /// A goal, its quota, agents, and turns that plan until enough is open.
    fn begin(&mut self) {
        self.say(
            None,
            json!({"command": "goal.start", "name": "main",
                "objective": "Reach a held-out accuracy of 0.97",
                "criteria": ["held-out accuracy is at least 0.97", "the evaluation is deterministic"]}),
        );
        // A week's window keeps the busy day within it for as long as the ledger is used.
        let window_ms = if self.clock.plan.busy_day { 604_800_000 } else { 86_400_000 };
        self.say(
            None,
            json!({"command": "quota.set", "allowance": {"kind": "slots", "slots": 1_000_000},
                "window_ms": window_ms, "why": "enough for the search"}),
        );
        for agent in 0..AGENTS {
            self.say(
                None,
                json!({"command": "agent.register", "agent": format!("w{agent}"),
                    "capabilities": ["python"]}),
            );
        }
        let title = self.title();
        self.say(
            Some(0),
            json!({"command": "todo.add", "title": title, "priority": "P1",
                "done_when": "its held-out score is recorded with the seed"}),
        );
        while self.ledger.state().todos.len() < self.clock.plan.open {
            let missing = self.clock.plan.open - self.ledger.state().todos.len();
            let todo = self.take(0);
            self.close(0, todo, missing.min(FOLLOW_UPS) + 1);
        }
    }

    /// Asks what to do, and gets a todo.
    fn take(&mut self, agent: usize) -> TodoId {
        let taken = self.say(Some(agent), json!({"command": "next"}));
        let opened = taken.events.iter().find_map(|event| match event {
            Event::TurnOpened(opened) => Some(opened.todo),
            _ => None,
        });
        opened.expect("work is open")
    }

    /// Closes it on a proof, opens follow-ups and pays.
    fn close(&mut self, agent: usize, todo: TodoId, follow_ups: usize) {
        let next: Vec<String> = (0..follow_ups).map(|_| self.title()).collect();
        let score = self.clock.written.get() % 1000;
        self.say(
            Some(agent),
            json!({"command": "done", "todo": todo, "spend": {"tokens": 12_000 + score, "cost_micro": 90_000},
                "close": {"next": next, "proof": [{"kind": "command", "exit": 0,
                    "summary": format!("cargo run --release -- evaluate --candidate {todo} => 0.9{score:03}")}]}}),
        );
    }

    /// One turn: take, note, close; now and then evidence, a lease, a gate.
    fn turn(&mut self, turn: usize) {
        let agent = turn % AGENTS;
        let todo = self.take(agent);
        if turn.is_multiple_of(5) {
            self.say(
                Some(agent),
                json!({"command": "evidence.add", "about": todo, "kind": "note",
                    "summary": format!("candidate {todo} is sensitive to the scaling of the second feature")}),
            );
        }
        if turn.is_multiple_of(10) {
            self.say(Some(agent), json!({"command": "lease.acquire", "resource": "gpu0"}));
            self.say(Some(agent), json!({"command": "lease.release", "resource": "gpu0"}));
        }
        if turn.is_multiple_of(50) {
            self.gates += 1;
            self.say(
                Some(agent),
                json!({"command": "gate.open", "blocks": [format!("T{}", self.todos)],
                    "question": format!("Keep candidate {todo}?")}),
            );
            self.say(
                None,
                json!({"command": "gate.decide", "gate": format!("G{}", self.gates),
                    "outcome": {"is": "approve"}, "why": "it beats the baseline on both splits"}),
            );
        }
        self.say(
            Some(agent),
            json!({"command": "refresh-state", "classification": "progress", "todo": todo,
                "next_action": format!("compare candidate {todo} with the best so far")}),
        );
        self.close(agent, todo, 1);
    }
}

const WAIT: Wait<'static> = Wait { holder: "benchmark", wait_ms: 10_000 };
