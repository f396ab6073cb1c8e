//! The status of a goal: fits a screen, true totals. In order: what is the objective, what needs me, what runs, what
//! waits until when, what did it cost.

use loopx::decide::Hindrance;
use loopx::project::brief::share;
use loopx::project::status::Status;
use loopx::state::{GoalStatus, Quota};
use loopx::time::{DurationMs, Timestamp};
use serde_json::{Map, Value, json};

use super::packet::{money, quota_keys};
use super::page::Page;
use super::{Voice, count, value};
use crate::failure::when;

/// Lines of a screen, less one for the prompt.
pub const SCREEN: usize = 23;

/// Lines of a status beside its lists: title, done, quota, last change, and one about a torn tail.
const FIXED: usize = 5;

/// Rows of what a completed goal no longer shows. It has no open work, so that its lists leave room.
const FINDINGS: usize = 8;

/// Entries of each list in JSON unless told otherwise.
const LISTED: usize = 20;

/// The page; each list has at most `limit` rows, or as many as a screen can take.
pub fn page(voice: &Voice, status: &Status<'_>, now: Timestamp, limit: Option<usize>) -> Page {
    let mut page = Page::default();
    let goal = status.goal;
    let day = now.ms_since(goal.started) / 86_400_000 + 1;
    page.title(status.id.to_string(), goal.objective.as_str(), format!("day {day}, {}", goal.status.word()));
    let paused = goal.status == GoalStatus::Paused;
    if paused {
        page.command(voice.owner("goal resume --why \"...\""));
    }
    if !status.findings.is_empty() {
        page.section("finding");
        let finding =
            |finding: &loopx::state::OpenCriterion| (String::new(), String::new(), finding.to_string());
        show(&mut page, status.findings.iter().map(finding).collect(), FINDINGS);
    }
    let needs = needs(status, now);
    let running = running(status, now);
    let ready = ready(status);
    let waiting = waiting(status, now);
    let nothing = usize::from(needs.is_empty()) + usize::from(running.is_empty());
    let free = SCREEN - FIXED - usize::from(paused) - usize::from(goal.note.is_some()) - nothing;
    let lengths = [needs.len(), running.len(), ready.len(), waiting.len()];
    let rows = match limit {
        Some(limit) => [limit.saturating_add(1); 4],
        None => share(free, lengths),
    };
    let word = if goal.status == GoalStatus::Active { "ready" } else { "when active" };
    let lists = [("needs you", needs), ("running", running), (word, ready), ("waiting", waiting)];
    for ((word, list), rows) in lists.into_iter().zip(rows) {
        page.section(word);
        if list.is_empty() && matches!(word, "needs you" | "running") {
            page.say("nothing");
        }
        show(&mut page, list, rows);
    }
    page.section("done");
    page.say(format!("{}{}", count(goal.completed_todos, "todo"), acceptance(status)));
    page.section("quota");
    page.say(spent(status.quota, now));
    if let Some(note) = &goal.note {
        page.section("note");
        page.row("", note.next_action.as_str(), format!("({}, #{})", note.by.name(), note.seq));
    }
    page
}

/// A row of a list: an id, what someone wrote, what is so.
type Item = (String, String, String);

/// A list in `rows` rows; the last one says how many are left out, if any are.
pub fn show(page: &mut Page, list: Vec<Item>, rows: usize) {
    let whole = list.len() <= rows;
    let shown = if whole { list.len() } else { rows.saturating_sub(1) };
    let left = list.len() - shown;
    for (head, theirs, tail) in list.into_iter().take(shown) {
        page.row(head, &theirs, tail);
    }
    if !whole {
        page.say(format!("+ {left} more"));
    }
}

fn needs(status: &Status<'_>, now: Timestamp) -> Vec<Item> {
    let gate = |(id, gate): &(loopx::id::GateId, &loopx::state::Gate)| {
        let age = DurationMs(now.ms_since(gate.asked));
        let blocks = blocks(gate).map(|blocks| format!("  blocks {blocks}")).unwrap_or_default();
        (id.to_string(), gate.question.to_string(), format!("{age}{blocks}"))
    };
    let action = |(id, todo): &(loopx::id::TodoId, &loopx::state::Todo)| {
        (id.to_string(), todo.spec.title.to_string(), "only a person can do it".to_owned())
    };
    status.gates.iter().map(gate).chain(status.user_actions.iter().map(action)).collect()
}

/// What a gate holds up, in words; nothing if it names nothing.
pub fn blocks(gate: &loopx::state::Gate) -> Option<String> {
    if gate.blocks.all {
        return Some("everything".to_owned());
    }
    let todos = gate.blocks.todos.iter().map(ToString::to_string);
    let names: Vec<String> = todos.chain(gate.blocks.agents.iter().map(ToString::to_string)).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

fn running(status: &Status<'_>, now: Timestamp) -> Vec<Item> {
    let row = |run: &loopx::project::status::Running<'_>| {
        let turn =
            run.since.map(|since| format!(", {}", DurationMs(now.ms_since(since)))).unwrap_or_default();
        let lease = run.until.map(|until| format!(", lease {} left", DurationMs(until.ms_since(now))));
        let tail = format!("{}{turn}{}", run.holder, lease.unwrap_or_default());
        (run.id.to_string(), run.todo.spec.title.to_string(), tail)
    };
    status.running.iter().map(row).collect()
}

fn ready(status: &Status<'_>) -> Vec<Item> {
    let row = |(id, todo): &(loopx::id::TodoId, &loopx::state::Todo)| {
        let due = if todo.watch.is_some() { ", a monitor that is due" } else { "" };
        let priority = super::event_word(&todo.spec.priority);
        (id.to_string(), todo.spec.title.to_string(), format!("{priority}{due}"))
    };
    status.ready.iter().map(row).collect()
}

fn waiting(status: &Status<'_>, now: Timestamp) -> Vec<Item> {
    let row = |(id, todo, found): &(loopx::id::TodoId, &loopx::state::Todo, Vec<Hindrance>)| {
        let why = found.first().map(|found| hindrance(found, now)).unwrap_or_default();
        let more = found.len().saturating_sub(1);
        let more = if more == 0 { String::new() } else { format!(" (+ {more} more)") };
        (id.to_string(), todo.spec.title.to_string(), format!("{why}{more}"))
    };
    status.waiting.iter().map(row).collect()
}

/// What is in the way, with instants as people say them.
pub fn hindrance(found: &Hindrance, now: Timestamp) -> String {
    match found {
        Hindrance::NotDue { at } => format!("due {}", when(*at, now)),
        Hindrance::Deferred { until: Some(at) } => format!("deferred until {}", when(*at, now)),
        Hindrance::HeldBy { holder, until: Some(at) } => {
            format!("held by {holder} until {}", when(*at, now))
        }
        Hindrance::Overlap { todo, until: Some(at) } => {
            format!("writes where {todo} does until {}", when(*at, now))
        }
        Hindrance::Resource { resource, until: Some(at) } => {
            format!("{resource} is in use until {}", when(*at, now))
        }
        other => other.to_string(),
    }
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

/// What was spent, and of how much.
pub fn spent(quota: Option<&Quota>, now: Timestamp) -> String {
    let Some(quota) = quota else { return "not set, nothing spent".to_owned() };
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

/// The lists of a status in JSON, cut at `limit` each, with their true totals.
struct Lists {
    limit: usize,
    shown: Map<String, Value>,
    longest: usize,
}

impl Lists {
    fn cut<T>(&mut self, key: &str, list: &[T], row: impl Fn(&T) -> Value) -> Value {
        let rows: Vec<Value> = list.iter().take(self.limit).map(row).collect();
        self.shown.insert(key.to_owned(), rows.len().into());
        self.longest = self.longest.max(list.len());
        Value::Array(rows)
    }
}

/// The same for programs. Each list is cut at `limit`; `totals` holds their lengths, `shown` what is here, `next` the
/// option that brings the rest.
pub fn json(status: &Status<'_>, now: Timestamp, limit: Option<usize>) -> Value {
    let goal = status.goal;
    let mut lists = Lists { limit: limit.unwrap_or(LISTED), shown: Map::new(), longest: 0 };
    let gates = lists.cut("gates", &status.gates, |(id, gate)| {
        json!({"id": id, "question": gate.question, "options": gate.options, "asked": gate.asked, "by": gate.by,
            "blocks": value(&gate.blocks), "evidence": gate.evidence})
    });
    let user_actions = lists.cut(
        "user_actions",
        &status.user_actions,
        |(id, todo)| json!({"id": id, "title": todo.spec.title}),
    );
    let running = lists.cut("running", &status.running, |run| {
        json!({"id": run.id, "title": run.todo.spec.title, "holder": value(run.holder), "turn": run.turn,
            "epoch": run.todo.epoch, "since": run.since, "lease_until": run.until})
    });
    let ready = lists.cut(
        "ready",
        &status.ready,
        |(id, todo)| json!({"id": id, "title": todo.spec.title, "priority": value(&todo.spec.priority)}),
    );
    let waiting = lists.cut("waiting", &status.waiting, |(id, todo, found)| {
        let why: Vec<String> = found.iter().map(ToString::to_string).collect();
        json!({"id": id, "title": todo.spec.title, "why": why})
    });
    let next = (lists.longest > lists.limit).then(|| format!("--limit {}", lists.longest));
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
        "needs_you": {"gates": gates, "user_actions": user_actions},
        "running": running,
        "ready": ready,
        "waiting": waiting,
        "totals": {
            "open": status.user_actions.len() + status.running.len() + status.ready.len() + status.waiting.len(),
            "running": status.running.len(), "ready": status.ready.len(), "waiting": status.waiting.len(),
            "completed": goal.completed_todos, "gates": status.gates.len(),
            "user_actions": status.user_actions.len(),
        },
        "shown": lists.shown,
        "next": next,
        "quota": quota_keys(status.quota, now),
        "spent": status.quota.map(|quota| {
            json!({"slots": quota.total.slots, "tokens": quota.total.tokens, "cost_micro": quota.total.cost_micro})
        }),
        "now": now,
    })
}
