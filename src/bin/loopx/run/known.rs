//! `status --all`: every ledger that this user has, two lines each.

use loopx::app::known::{self, Entry, Place};
use loopx::ledger::Ledger;
use loopx::project::status::{due, status as read};
use loopx::state::State;
use loopx::time::Timestamp;
use serde_json::{Value, json};

use super::Session;
use crate::cli;
use crate::failure::{Failure, exit, when};
use crate::render::packet::money;
use crate::render::page::Page;
use crate::render::voice::quoted;
use crate::render::{Output, count, value};

/// Ledgers on one screen.
const SHOWN: usize = 10;

/// What is so in one ledger, over all its goals that are not finished.
struct Summary {
    goals: usize,
    /// The goal to name: the one that needs someone, else the youngest.
    goal: Option<(String, String)>,
    needs_you: usize,
    running: usize,
    ready: usize,
    waiting: usize,
    due: Option<Timestamp>,
    slots: u64,
    tokens: u64,
    cost_micro: u64,
    last: Timestamp,
}

/// One ledger: what is so in it, or why that cannot be told.
struct Row {
    entry: Entry,
    found: Result<Summary, (String, bool)>,
}

/// `status --all`: those that need someone first, then those that cannot be read, then the others by path.
pub fn status(session: &Session<'_>, args: &cli::Status) -> Result<Output, Failure> {
    let Some(home) = session.known_ledgers() else {
        let message = "no list of ledgers is kept: none of LOOPX_STATE_HOME, XDG_STATE_HOME and HOME names an absolute path";
        return Err(Failure::new("state_home.none", exit::REFUSED, message));
    };
    let index = known::read_all(&home)
        .map_err(|error| Failure::new("io", exit::IO, format!("{}: {error}", home.display())))?;
    let now = (session.env().now)();
    let mut rows: Vec<Row> = index.entries.into_iter().map(|entry| summed(entry, now)).collect();
    rows.sort_by_key(|row| match &row.found {
        Ok(summary) if summary.needs_you > 0 => 0,
        Err((_, true)) => 1,
        Ok(_) => 2,
        Err((_, false)) => 3,
    });
    let limit = args.limit.unwrap_or(SHOWN);
    let page = page(&rows, limit, &index.unreadable, now);
    let next = (rows.len() > limit).then(|| format!("--limit {}", rows.len()));
    let ledgers: Vec<Value> = rows.iter().take(limit).map(object).collect();
    let mut output = page
        .output()
        .with("total", rows.len())
        .with("shown", ledgers.len())
        .with("next", next)
        .with("ledgers", ledgers)
        .with("index", home.display().to_string())
        .with("not_entries", value(&index.unreadable));
    let damaged = rows.iter().any(|row| matches!(row.found, Err((_, true)))) || !index.unreadable.is_empty();
    output.exit = if damaged { exit::FINDINGS } else { exit::DONE };
    Ok(output)
}

fn summed(entry: Entry, now: Timestamp) -> Row {
    let found = match &entry.place {
        Place::There => match Ledger::open(&entry.known.path) {
            Ok(ledger) => Ok(summary(ledger.state(), now.max(ledger.state().now))),
            Err(error) => Err((Failure::from(error).message, true)),
        },
        Place::Missing => Err(("nothing is there any more".to_owned(), false)),
        Place::Moved { to } => Err((format!("moved to {}", to.display()), false)),
        Place::Replaced { by } => Err((format!("another ledger is there, {by}"), false)),
        Place::Unreadable { why } => Err((why.clone(), true)),
    };
    Row { entry, found }
}

fn summary(state: &State, now: Timestamp) -> Summary {
    let mut sum = Summary {
        goals: 0,
        goal: None,
        needs_you: 0,
        running: 0,
        ready: 0,
        waiting: 0,
        due: None,
        slots: 0,
        tokens: 0,
        cost_micro: 0,
        last: state.now,
    };
    let mut most = None;
    for (id, goal) in state.goals.iter().filter(|(_, goal)| !goal.status.is_final()) {
        let read = read(state, id, goal, now);
        let needs = read.gates.len() + read.user_actions.len();
        sum.goals += 1;
        sum.needs_you += needs;
        sum.running += read.running.len();
        sum.ready += read.ready.len();
        sum.waiting += read.waiting.len();
        let next = read.waiting.iter().filter_map(|(.., found)| due(found)).min();
        sum.due = [sum.due, next].into_iter().flatten().min();
        if most.is_none_or(|before| before < (needs, goal.instance)) {
            most = Some((needs, goal.instance));
            sum.goal = Some((id.to_string(), goal.objective.to_string()));
        }
    }
    for quota in state.quotas.values() {
        sum.slots = sum.slots.saturating_add(quota.total.slots);
        sum.tokens = sum.tokens.saturating_add(quota.total.tokens);
        sum.cost_micro = sum.cost_micro.saturating_add(quota.total.cost_micro);
    }
    sum
}

fn directory(row: &Row) -> String {
    let path = &row.entry.known.path;
    path.parent().unwrap_or(path).display().to_string()
}

fn page(rows: &[Row], limit: usize, unreadable: &[std::path::PathBuf], now: Timestamp) -> Page {
    let mut page = Page::default();
    let needs: usize = rows.iter().filter_map(|row| row.found.as_ref().ok()).map(|sum| sum.needs_you).sum();
    let needs = if needs == 0 { "nothing needs you".to_owned() } else { format!("needs you {needs}") };
    page.title(count(rows.len(), "ledger"), "", needs);
    for row in rows.iter().take(limit) {
        page.title(directory(row), "", line(row, now));
        match &row.found {
            Ok(sum) => match &sum.goal {
                Some((id, objective)) => {
                    let others = sum.goals - 1;
                    let others = match others {
                        0 => String::new(),
                        others => format!("+ {others} more open"),
                    };
                    page.row(id.clone(), objective, others);
                }
                None => page.say("no goal is open"),
            },
            Err((why, true)) => {
                page.say(why);
                page.command(format!("loopx --dir {} doctor", quoted(&directory(row))));
            }
            Err((why, false)) => {
                page.say(format!("{why}; to forget it:"));
                page.command(format!("rm {}", quoted(&row.entry.file.display().to_string())));
            }
        }
    }
    if rows.len() > limit {
        page.say(format!("+ {} more; all: --limit {}", rows.len() - limit, rows.len()));
    }
    for file in unreadable {
        page.say("a file of the list holds no entry; it may be deleted:");
        page.command(format!("rm {}", quoted(&file.display().to_string())));
    }
    page
}

fn line(row: &Row, now: Timestamp) -> String {
    let sum = match &row.found {
        Ok(sum) => sum,
        Err((_, true)) => return "cannot be read".to_owned(),
        Err((_, false)) => return "is not there".to_owned(),
    };
    let mut facts = Vec::new();
    for (word, number) in [("needs you", sum.needs_you), ("running", sum.running), ("ready", sum.ready)] {
        if number > 0 {
            facts.push(format!("{word} {number}"));
        }
    }
    if sum.waiting > 0 {
        let due = sum.due.map(|at| format!(" (next {})", when(at, now))).unwrap_or_default();
        facts.push(format!("waiting {}{due}", sum.waiting));
    }
    facts.push(count(sum.slots, "slot"));
    if sum.tokens > 0 {
        facts.push(count(sum.tokens, "token"));
    }
    if sum.cost_micro > 0 {
        facts.push(format!("cost {}", money(sum.cost_micro)));
    }
    facts.join(", ")
}

fn object(row: &Row) -> Value {
    let mut object = json!({
        "path": row.entry.known.path, "ledger": row.entry.known.ledger, "file": row.entry.file,
        "place": match &row.entry.place {
            Place::There => "there",
            Place::Missing => "missing",
            Place::Moved { .. } => "moved",
            Place::Replaced { .. } => "replaced",
            Place::Unreadable { .. } => "unreadable",
        },
    });
    let more = match &row.found {
        Ok(sum) => json!({
            "goals": sum.goals, "needs_you": sum.needs_you, "running": sum.running, "ready": sum.ready,
            "waiting": sum.waiting, "due": sum.due, "last": sum.last,
            "goal": sum.goal.as_ref().map(|(id, objective)| json!({"id": id, "objective": objective})),
            "spent": {"slots": sum.slots, "tokens": sum.tokens, "cost_micro": sum.cost_micro},
            "error": null,
        }),
        Err((why, _)) => json!({"error": why}),
    };
    if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
        object.extend(more);
    }
    object
}
