//! The status of a goal: fits a screen, true totals.

use loopx::project::escape::terminal;
use loopx::project::status::Status;
use loopx::state::{GoalStatus, State};
use loopx::time::{DurationMs, Timestamp};
use serde_json::{Value, json};

use super::packet::{money, quota_keys};
use super::{Voice, count, cut, value};

/// Rows of each section before it is cut.
const ROWS: usize = 6;

/// The lines for people.
pub fn text(voice: &Voice, status: &Status<'_>, now: Timestamp) -> String {
    let mut out = heading(voice, status, now);
    let mut section = Section { out: &mut out, word: "needs you" };
    for (id, gate) in &status.gates {
        let blocks: Vec<String> = gate.blocks.todos.iter().map(ToString::to_string).collect();
        let blocks = if gate.blocks.all { "everything".to_owned() } else { blocks.join(", ") };
        let blocks = if blocks.is_empty() { String::new() } else { format!("  blocks {blocks}") };
        let age = DurationMs(now.ms_since(gate.asked));
        section.row(&format!("{id}  {}  {age}{blocks}", terminal(gate.question.as_str())));
    }
    for (id, todo) in &status.user_actions {
        section.row(&format!("{id}  {}  only a person can do it", terminal(todo.spec.title.as_str())));
    }
    let mut section = section.next("finding");
    let findings: Vec<String> = status.findings.iter().map(ToString::to_string).collect();
    let (rows, more) = cut(&findings, ROWS);
    rows.iter().chain(&more).for_each(|row| section.row(row));
    let mut section = section.next("running");
    for run in &status.running {
        let turn =
            run.since.map(|since| format!(", {}", DurationMs(now.ms_since(since)))).unwrap_or_default();
        let lease = run
            .until
            .map(|until| format!(", lease {} left", DurationMs(until.ms_since(now))))
            .unwrap_or_default();
        section.row(&format!(
            "{}  {}  {}{turn}{lease}",
            run.id,
            terminal(run.todo.spec.title.as_str()),
            run.holder
        ));
    }
    let word = if status.goal.status == GoalStatus::Active { "ready" } else { "when active" };
    let mut section = section.next(word);
    let (rows, more) = cut(&status.ready, ROWS);
    for (id, todo) in rows {
        let priority = super::event_word(&todo.spec.priority);
        section.row(&format!("{id}  {}  {priority}", terminal(todo.spec.title.as_str())));
    }
    more.iter().for_each(|more| section.row(more));
    let mut section = section.next("waiting");
    let (rows, more) = cut(&status.waiting, ROWS);
    for (id, todo, found) in rows {
        let why = found.first().map(|found| terminal(&found.to_string())).unwrap_or_default();
        section.row(&format!("{id}  {}  {why}", terminal(todo.spec.title.as_str())));
    }
    more.iter().for_each(|more| section.row(more));
    out.push_str(&format!("done        {}{}\n", done(status), acceptance(status)));
    out.push_str(&format!("quota       {}\n", spent(status, now)));
    if let Some(note) = &status.goal.note {
        out.push_str(&format!(
            "note        {}  ({}, #{})\n",
            terminal(note.next_action.as_str()),
            note.by.name(),
            note.seq
        ));
    }
    out
}

fn heading(voice: &Voice, status: &Status<'_>, now: Timestamp) -> String {
    let day = now.ms_since(status.goal.started) / 86_400_000 + 1;
    let mut line = format!(
        "{}  {}  day {day}, {}\n",
        status.id,
        terminal(status.goal.objective.as_str()),
        status.goal.status.word()
    );
    if status.goal.status == GoalStatus::Paused {
        line.push_str(&format!("            {}\n", voice.owner("goal resume --why \"...\"")));
    }
    line
}

/// Rows under one word in the margin.
struct Section<'a> {
    out: &'a mut String,
    word: &'static str,
}

impl<'a> Section<'a> {
    fn row(&mut self, text: &str) {
        self.out.push_str(&format!("{:<12}{text}\n", self.word));
        self.word = "";
    }

    fn next(self, word: &'static str) -> Section<'a> {
        Section { out: self.out, word }
    }
}

fn done(status: &Status<'_>) -> String {
    count(status.goal.completed_todos, "todo")
}

fn acceptance(status: &Status<'_>) -> String {
    let criteria = &status.goal.criteria;
    if criteria.is_empty() {
        return "; no acceptance criteria".to_owned();
    }
    let open: Vec<String> = status.open_criteria.iter().map(|open| open.id.to_string()).collect();
    let met = criteria.len() - open.len();
    let open = if open.is_empty() { String::new() } else { format!(" ({} open)", open.join(", ")) };
    format!("; acceptance {met} of {}{open}", criteria.len())
}

fn spent(status: &Status<'_>, now: Timestamp) -> String {
    let Some(quota) = status.quota else { return "not set, nothing spent".to_owned() };
    let spent = quota.spent_slots(now);
    let window = DurationMs(quota.window_ms());
    let slots = match (&quota.setting, quota.allowed_slots()) {
        (None, _) => format!("not set, {} spent in {window}", count(spent, "slot")),
        (Some(_), None) => format!("unlimited, {} spent in {window}", count(spent, "slot")),
        (Some(_), Some(allowed)) => format!("{spent} of {allowed} slots in {window}"),
    };
    let of = |limit: Option<String>| limit.map(|limit| format!(" of {limit}")).unwrap_or_default();
    let (total, budget) = (quota.total, quota.budget);
    let tokens = (total.tokens > 0 || budget.tokens.is_some())
        .then(|| format!("; {}{} tokens", total.tokens, of(budget.tokens.map(|limit| limit.to_string()))));
    let cost = (total.cost_micro > 0 || budget.cost_micro.is_some())
        .then(|| format!("; cost {}{}", money(total.cost_micro), of(budget.cost_micro.map(money))));
    let wall = budget
        .wall_ms
        .map(|limit| format!("; {} of {} of turns", DurationMs(total.wall_ms), DurationMs(limit)));
    let more: String = [tokens, cost, wall].into_iter().flatten().collect();
    format!("{slots}{more}")
}

/// The same for programs; lists are complete.
pub fn json(state: &State, status: &Status<'_>, now: Timestamp) -> Value {
    let goal = status.goal;
    json!({
        "goal": {
            "id": status.id, "objective": goal.objective, "status": value(&goal.status), "instance": goal.instance,
            "revision": goal.revision, "started": goal.started, "write": goal.write, "read": goal.read,
            "criteria": goal.criteria.iter().map(|(id, criterion)| {
                let open = status.open_criteria.iter().find(|open| open.id == *id);
                json!({"id": id, "text": criterion.text, "met_by": criterion.met_by,
                    "open": open.map(ToString::to_string)})
            }).collect::<Vec<_>>(),
            "findings": status.findings.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "note": value(&goal.note),
        },
        "needs_you": {
            "gates": status.gates.iter().map(|(id, gate)| {
                json!({"id": id, "question": gate.question, "options": gate.options, "asked": gate.asked, "by": gate.by,
                    "blocks": value(&gate.blocks), "evidence": gate.evidence})
            }).collect::<Vec<_>>(),
            "user_actions": status.user_actions.iter().map(|(id, todo)| {
                json!({"id": id, "title": todo.spec.title})
            }).collect::<Vec<_>>(),
        },
        "running": status.running.iter().map(|run| {
            json!({"id": run.id, "title": run.todo.spec.title, "holder": value(run.holder), "turn": run.turn,
                "epoch": run.todo.epoch, "since": run.since, "lease_until": run.until})
        }).collect::<Vec<_>>(),
        "ready": status.ready.iter().map(|(id, todo)| {
            json!({"id": id, "title": todo.spec.title, "priority": value(&todo.spec.priority)})
        }).collect::<Vec<_>>(),
        "waiting": status.waiting.iter().map(|(id, todo, found)| {
            let why: Vec<String> = found.iter().map(ToString::to_string).collect();
            json!({"id": id, "title": todo.spec.title, "why": why})
        }).collect::<Vec<_>>(),
        "totals": {
            "open": state.todos.values().filter(|todo| todo.goal == *status.id).count(),
            "running": status.running.len(), "ready": status.ready.len(), "waiting": status.waiting.len(),
            "completed": goal.completed_todos, "gates": status.gates.len(),
        },
        "quota": quota_keys(status.quota, now),
        "spent": status.quota.map(|quota| {
            json!({"slots": quota.total.slots, "tokens": quota.total.tokens, "cost_micro": quota.total.cost_micro})
        }),
        "now": now,
    })
}
