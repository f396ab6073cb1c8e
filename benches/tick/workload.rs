//! A ledger's worth of requests, as `append --stdin` reads them.

use std::collections::VecDeque;

use serde_json::{Value, json};

/// Todos that are open from the beginning to the end.
const OPEN_TODOS: usize = 100;

/// Agents that take turns.
const AGENTS: usize = 4;

/// Requests, one JSON object a line, each of which makes one record: a goal, agents, then turn after turn that takes
/// the oldest todo, leaves a note, closes it on a proof and opens a follow-up; now and then evidence, a lease, a gate.
pub fn requests(count: usize) -> String {
    let mut work = Work::default();
    work.say(
        json!({"command": "goal.start", "name": "main", "objective": "Reach a held-out accuracy of 0.97",
        "criteria": ["held-out accuracy is at least 0.97", "the evaluation is deterministic"]}),
    );
    work.say(json!({"command": "quota.set", "allowance": {"kind": "slots", "slots": 1_000_000},
        "why": "enough for the search"}));
    for agent in 0..AGENTS {
        work.say(
            json!({"command": "agent.register", "agent": format!("w{agent}"), "capabilities": ["python"]}),
        );
    }
    for _ in 0..OPEN_TODOS {
        let todo = work.next_todo();
        work.say(json!({"command": "todo.add", "title": title(todo), "priority": "P1", "agent_id": "w0",
            "done_when": "its held-out score is recorded with the seed"}));
    }
    let mut turn = 0;
    while work.lines.len() < count {
        work.turn(turn);
        turn += 1;
    }
    work.lines.truncate(count);
    work.lines.concat()
}

fn title(todo: usize) -> String {
    format!("Evaluate candidate {todo}: k, metric and scaling of the classifier")
}

#[derive(Default)]
struct Work {
    lines: Vec<String>,
    open: VecDeque<usize>,
    todos: usize,
    gates: usize,
}

impl Work {
    fn say(&mut self, request: Value) {
        self.lines.push(format!("{request}\n"));
    }

    fn next_todo(&mut self) -> usize {
        self.todos += 1;
        self.open.push_back(self.todos);
        self.todos
    }

    fn turn(&mut self, turn: usize) {
        let agent = format!("w{}", turn % AGENTS);
        let todo = self.open.pop_front().unwrap_or_default();
        let id = format!("T{todo}");
        self.say(json!({"command": "next", "agent_id": agent}));
        if turn.is_multiple_of(5) {
            self.say(json!({"command": "evidence.add", "agent_id": agent, "about": id, "kind": "note",
                "summary": format!("candidate {todo} is sensitive to the scaling of the second feature")}));
        }
        if turn.is_multiple_of(10) {
            self.say(json!({"command": "lease.acquire", "agent_id": agent, "resource": "gpu0"}));
            self.say(json!({"command": "lease.release", "agent_id": agent, "resource": "gpu0"}));
        }
        if turn.is_multiple_of(50) {
            self.gates += 1;
            self.say(
                json!({"command": "gate.open", "agent_id": agent, "blocks": [format!("T{}", self.todos)],
"question": format!("Keep candidate {todo}?")}),
            );
            self.say(json!({"command": "gate.decide", "gate": format!("G{}", self.gates),
                "outcome": {"is": "approve"}, "why": "it beats the baseline on both splits"}));
        }
        self.say(
            json!({"command": "refresh-state", "agent_id": agent, "classification": "progress", "todo": id,
            "next_action": format!("compare candidate {todo} with the best so far")}),
        );
        let follow_up = self.next_todo();
        self.say(json!({"command": "done", "agent_id": agent, "todo": id, "close": {
            "proof": [{"kind": "command", "exit": 0,
                "summary": format!("cargo run --release -- evaluate --candidate {todo} => 0.9{:03}", turn % 1000)}],
            "next": [title(follow_up)]}}));
    }
}
