//! Lists of things, and one thing.

use loopx::id::{EvidenceId, GateId, TodoId, TurnId};
use loopx::project::escape::{markdown, terminal};
use loopx::project::history::Line;
use loopx::state::State;
use loopx::time::Timestamp;
use serde_json::{Value, json};

use super::{Output, cut, event::sentence, event_word, value};

/// One row of a list: what a person reads and what a program reads.
pub struct Row {
    /// The line.
    pub text: String,
    /// The object.
    pub json: Value,
}

/// A list under its key, cut at `limit`, with its true total and what was shown.
pub fn list(key: &str, rows: Vec<Row>, limit: usize) -> Output {
    let total = rows.len();
    let (shown, more) = cut(&rows, limit);
    let mut text: String = shown.iter().map(|row| format!("{}\n", row.text)).collect();
    if let Some(more) = more {
        text.push_str(&format!("{more}; all: --limit {total}\n"));
    }
    if total == 0 {
        text.push_str(&format!("no {key}\n"));
    }
    let objects: Vec<Value> = shown.iter().map(|row| row.json.clone()).collect();
    let next = (objects.len() < total).then(|| format!("--limit {total}"));
    Output::text(text)
        .with("total", total)
        .with("shown", objects.len())
        .with("next", next)
        .with(key, Value::Array(objects))
}

/// A state object with its name in it.
fn named<T: serde::Serialize, N: ToString>(name: &N, thing: &T) -> Value {
    let mut object = value(thing);
    if let Value::Object(fields) = &mut object {
        fields.insert("id".to_owned(), name.to_string().into());
    }
    object
}

/// Open todos of a goal, or of all.
pub fn todos(state: &State, goal: Option<&loopx::id::GoalId>) -> Vec<Row> {
    let mine = state.todos.iter().filter(|(_, todo)| goal.is_none_or(|goal| todo.goal == *goal));
    let row = |(id, todo): (&TodoId, &loopx::state::Todo)| {
        let held = todo.claim.as_ref().map(|claim| format!("  held by {}", claim.holder)).unwrap_or_default();
        let status = match &todo.status {
            loopx::state::TodoStatus::Open => String::new(),
            other => format!("  {}", status_word(other)),
        };
        let priority = event_word(&todo.spec.priority);
        Row {
            text: format!("{id}  {priority}  {}{status}{held}", terminal(todo.spec.title.as_str())),
            json: named(id, todo),
        }
    };
    mine.map(row).collect()
}

/// Monitors, with what they watch and when they are due.
pub fn monitors(state: &State) -> Vec<Row> {
    let row = |(id, todo): (&TodoId, &loopx::state::Todo)| {
        let (watch, monitor) = (todo.watch.as_ref()?, todo.spec.monitor.as_ref()?);
        let target = terminal(monitor.target.as_str());
        let every = loopx::time::DurationMs(monitor.every_ms);
        let text = format!(
            "{id}  {}  {target}, every {every}, due {}",
            terminal(todo.spec.title.as_str()),
            watch.due
        );
        Some(Row { text, json: named(id, todo) })
    };
    state.todos.iter().filter_map(row).collect()
}

fn status_word(status: &loopx::state::TodoStatus) -> &'static str {
    match status {
        loopx::state::TodoStatus::Open => "open",
        loopx::state::TodoStatus::Blocked { .. } => "blocked",
        loopx::state::TodoStatus::Deferred { .. } => "deferred",
    }
}

/// Goals, finished ones too.
pub fn goals(state: &State) -> Vec<Row> {
    let row = |(id, goal): (&loopx::id::GoalId, &loopx::state::Goal)| Row {
        text: format!("{id}  {}  {}", goal.status.word(), terminal(goal.objective.as_str())),
        json: named(id, goal),
    };
    state.goals.iter().map(row).collect()
}

/// Approvals in a scope, which cover what requires a decision in it.
pub fn approvals(state: &State, now: Timestamp) -> Vec<Row> {
    let row = |(id, approval): (&GateId, &loopx::state::Approval)| {
        let scope = approval.scope.as_ref().filter(|_| approval.stands || !approval.todos.is_empty())?;
        let todos: Vec<String> = approval.todos.iter().map(ToString::to_string).collect();
        let reach = if approval.stands { "stands".to_owned() } else { format!("for {}", todos.join(", ")) };
        let lapse = state.lapse(approval, now);
        let end = match (&lapse, approval.valid_until) {
            (Some(lapse), _) => format!(", but {lapse}"),
            (None, Some(until)) => format!(" until {until}"),
            (None, None) => String::new(),
        };
        let (by, seq) = (actor(&approval.by), approval.seq);
        let mut json = named(id, approval);
        if let Value::Object(fields) = &mut json {
            fields.insert("lapsed".to_owned(), value(&lapse.map(|lapse| lapse.to_string())));
        }
        Some(Row { text: format!("{id}  {scope}  approved by {by} (#{seq}), {reach}{end}"), json })
    };
    state.approvals.iter().filter_map(row).collect()
}

/// Open gates.
pub fn gates(state: &State) -> Vec<Row> {
    let row = |(id, gate): (&GateId, &loopx::state::Gate)| Row {
        text: format!(
            "{id}  {}  asked by {}{}",
            terminal(gate.question.as_str()),
            gate.by.name(),
            gate.scope.as_ref().map(|scope| format!("  {scope}")).unwrap_or_default()
        ),
        json: named(id, gate),
    };
    state.gates.iter().map(row).collect()
}

/// Evidence that open work rests on.
pub fn evidence(state: &State, now: Timestamp) -> Vec<Row> {
    let row = |(id, found): (&EvidenceId, &loopx::state::Evidence)| {
        let word = found.ended(now).map_or("current", loopx::state::Ended::word);
        let mut json = named(id, found);
        if let Value::Object(fields) = &mut json {
            fields.insert("standing".to_owned(), word.into());
        }
        Row {
            text: format!("{id}  {word}  about {}  {}", found.about, terminal(found.summary.as_str())),
            json,
        }
    };
    state.evidence.iter().map(row).collect()
}

/// Agents, retired ones too.
pub fn agents(state: &State) -> Vec<Row> {
    let row = |(id, agent): (&loopx::id::AgentId, &loopx::state::Agent)| {
        let capabilities: Vec<String> = agent.capabilities.iter().map(ToString::to_string).collect();
        let word = if agent.retired { "retired" } else { "registered" };
        Row {
            text: format!("{id}  {word}  {}", capabilities.join(" ")).trim_end().to_owned(),
            json: named(id, agent),
        }
    };
    state.agents.iter().map(row).collect()
}

/// Owners, revoked ones too.
pub fn owners(state: &State) -> Vec<Row> {
    let row = |(id, owner): (&loopx::id::OwnerId, &loopx::state::Owner)| {
        let word = if owner.revoked { "revoked" } else { "decides, unsigned" };
        Row { text: format!("{id}  {word}"), json: named(id, owner) }
    };
    state.owners.iter().map(row).collect()
}

/// Leases on todos and resources.
pub fn leases(state: &State) -> Vec<Row> {
    let todos =
        state.todos.iter().filter_map(|(id, todo)| Some((id.to_string(), todo.claim.as_ref()?, todo.epoch)));
    let resources = state
        .resources
        .iter()
        .filter_map(|(name, slot)| Some((format!("resource/{name}"), slot.held.as_ref()?, slot.epoch)));
    let row = |(on, claim, epoch): (String, &loopx::state::Claim, u64)| {
        let lease = claim.lease.as_ref();
        let until = lease.map_or_else(
            || "no lease, a person's claim".to_owned(),
            |lease| format!("until {}", lease.until),
        );
        Row {
            text: format!("{on}  {}  epoch {epoch}  {until}", claim.holder),
            json: json!({
                "on": on, "holder": value(&claim.holder), "epoch": epoch, "since": claim.since,
                "token": lease.map(|lease| lease.token), "until": lease.map(|lease| lease.until),
            }),
        }
    };
    todos.chain(resources).map(row).collect()
}

/// The open thing of that name, if there is one.
pub fn find(state: &State, name: &str) -> Option<Value> {
    if let Ok(id) = name.parse() {
        return state.todos.get(&id).map(|todo| named(&id, todo));
    }
    if let Ok(id) = name.parse() {
        return state.gates.get(&id).map(|gate| named(&id, gate));
    }
    if let Ok(id) = name.parse() {
        return state.evidence.get(&id).map(|found| named(&id, found));
    }
    if let Ok(id) = name.parse() {
        return state.turns.get(&id).map(|turn| named(&id, turn));
    }
    let goal = name.parse().ok().and_then(|id| state.goals.get(&id).map(|goal| named(&id, goal)));
    let agent = || name.parse().ok().and_then(|id| state.agents.get(&id).map(|agent| named(&id, agent)));
    let owner = || name.parse().ok().and_then(|id| state.owners.get(&id).map(|owner| named(&id, owner)));
    let resource = || name.parse().ok().and_then(|id| state.resources.get(&id).map(|slot| named(&id, slot)));
    goal.or_else(agent).or_else(owner).or_else(resource)
}

/// Whether a thing of that name leaves the state when it is finished.
pub fn leaves(name: &str) -> bool {
    name.parse::<TodoId>().is_ok()
        || name.parse::<GateId>().is_ok()
        || name.parse::<EvidenceId>().is_ok()
        || name.parse::<TurnId>().is_ok()
}

/// A thing as it last was, with how it ended in place of what no longer holds.
pub fn ended(id: &str, mut object: Value, lines: &[Line]) -> Value {
    let noun = match id.chars().next() {
        Some(GateId::LETTER) => "gate",
        Some(TurnId::LETTER) => "turn",
        _ => "todo",
    };
    let kinds = lines
        .iter()
        .rev()
        .flat_map(|line| line.events.iter().rev().map(move |event| (line.seq, event.kind())));
    let end = kinds.into_iter().find_map(|(seq, kind)| {
        let word = kind.strip_prefix(noun)?.strip_prefix('.')?;
        let ends = ["completed", "superseded", "cancelled", "decided", "withdrawn", "closed"];
        ends.contains(&word).then_some((seq, word))
    });
    if let (Value::Object(fields), Some((seq, word))) = (&mut object, end) {
        fields.remove("claim");
        fields.insert("status".to_owned(), format!("{word} at #{seq}").into());
    }
    object
}

/// History lines for people, oldest first: `#88  a1  T7 added "…"`.
pub fn history_line(line: &Line) -> String {
    let what: Vec<String> = line.events.iter().map(sentence).collect();
    let ts = line.ts.to_string();
    let minute: String = ts.chars().take(16).collect::<String>().replace('T', " ");
    format!("#{:<5} {minute}  {:<8} {}\n", line.seq.to_string(), actor(&line.actor), what.join("; "))
}

/// The history of a thing, or of all, as a table in Markdown.
pub fn history_markdown(about: Option<&str>, shown: &[Line], total: usize) -> String {
    let mut out = format!("# History of {}\n\n", about.map_or_else(|| "the ledger".to_owned(), markdown));
    if shown.len() < total {
        out.push_str(&format!("The last {} of {total} records.\n\n", shown.len()));
    }
    out.push_str("| record | time (UTC) | by | what |\n|---|---|---|---|\n");
    for line in shown {
        let what: Vec<String> = line.events.iter().map(sentence).collect();
        let cells = [line.ts.to_string(), actor(&line.actor), what.join("; ")].map(|cell| markdown(&cell));
        out.push_str(&format!("| {} | {} |\n", line.seq, cells.join(" | ")));
    }
    out
}

/// An agent by its name; an owner is marked as one.
pub fn actor(actor: &loopx::id::Actor) -> String {
    match actor {
        loopx::id::Actor::Owner(owner) => format!("owner/{owner}"),
        other => other.name().to_owned(),
    }
}

/// The same for programs.
pub fn history_json(line: &Line) -> Value {
    json!({
        "seq": line.seq, "ts": line.ts, "actor": line.actor, "request": line.request, "hash": line.hash,
        "events": line.events.iter().map(|event| {
            json!({"kind": event.kind(), "text": sentence(event), "body": loopx::event::codec::body(event)})
        }).collect::<Vec<_>>(),
    })
}

/// An object as aligned `key  value` lines.
pub fn object_lines(object: &Value) -> String {
    let Value::Object(fields) = object else { return format!("{}\n", terminal(&object.to_string())) };
    let mut out = String::new();
    for (key, field) in fields {
        let text = match field {
            Value::Null => continue,
            Value::Array(list) if list.is_empty() => continue,
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        out.push_str(&format!("  {key:<12} {}\n", terminal(&text)));
    }
    out
}
