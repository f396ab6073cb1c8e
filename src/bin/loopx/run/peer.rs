//! `handoff` and `heartbeat-prompt`: what the next peer, or the next turn, is told.

use loopx::decide::{self, Context, Decision, Frontier, Hindrance, History, Refusal};
use loopx::event::GateOutcome;
use loopx::id::{AgentId, TodoId};
use loopx::project::handoff::{Answered, answered};
use loopx::project::status::{Status, status};
use loopx::state::State;
use loopx::time::{DurationMs, Timestamp};
use serde_json::{Value, json};

use super::Session;
use super::look::{goal_of, headed};
use crate::cli;
use crate::failure::{Failure, when};
use crate::render::packet::reason;
use crate::render::page::Page;
use crate::render::status::{blocks, hindrance, show, spent};
use crate::render::{Output, event_word, thing, value};

/// Rows of each list on the page, unless told otherwise.
const SHOWN: usize = 5;

/// Entries of each list in JSON, unless told otherwise.
const LISTED: usize = 20;

/// What is handed over, read.
struct Handed<'a> {
    status: Status<'a>,
    /// The agent that goes on, what it could run and not, and what `next` would say to it.
    to: Option<(AgentId, Frontier, Result<Decision, Refusal>)>,
    answered: Vec<Answered>,
    state: &'a State,
    now: Timestamp,
}

/// `handoff`
pub fn handoff(session: &Session<'_>, args: &cli::Handoff) -> Result<Output, Failure> {
    let mut ledger = session.open()?;
    let now = session.now(&ledger);
    let name = goal_of(session, ledger.state())?;
    let answered = answered(&mut ledger, &name)?;
    let state = ledger.state();
    let Some(goal) = state.goals.get(&name) else { return Err(Failure::usage(format!("no goal {name}"))) };
    let to = match &args.to {
        None => None,
        Some(agent) => {
            let mut caller = session.caller()?;
            (caller.agent, caller.owner, caller.goal) = (Some(agent.clone()), None, Some(name.clone()));
            let context = Context { state, history: &History::default(), caller: &caller, now };
            Some((agent.clone(), decide::ready(&context)?.1, decide::should_run(&context)))
        }
    };
    let handed = Handed { status: status(state, &name, goal, now), to, answered, state, now };
    let mut output = page(session, &handed, args.limit.unwrap_or(SHOWN)).output();
    if let Value::Object(keys) = object(&handed, args.limit.unwrap_or(LISTED)) {
        output.keys.extend(keys);
    }
    Ok(headed(output, &ledger))
}

/// What could run, best first: for the agent that goes on, or for anyone.
fn runnable(handed: &Handed<'_>) -> Vec<TodoId> {
    match &handed.to {
        Some((_, frontier, _)) => frontier.runnable.iter().chain(&frontier.due).copied().collect(),
        None => handed.status.ready.iter().map(|(id, _)| *id).collect(),
    }
}

/// What cannot run, and why: for the agent that goes on, or for anyone.
fn waiting<'a>(handed: &'a Handed<'a>) -> Vec<(TodoId, &'a [Hindrance])> {
    match &handed.to {
        Some((_, frontier, _)) => {
            frontier.waiting.iter().map(|(id, found)| (*id, found.as_slice())).collect()
        }
        None => handed.status.waiting.iter().map(|(id, _, found)| (*id, found.as_slice())).collect(),
    }
}

fn page(session: &Session<'_>, handed: &Handed<'_>, limit: usize) -> Page {
    let Handed { status: read, to, answered, now, .. } = handed;
    let mut page = Page::default();
    let goal = read.goal;
    let whom = to.as_ref().map(|(agent, ..)| format!("for {agent}, ")).unwrap_or_default();
    page.title(read.id.to_string(), "", format!("{whom}{}, revision {}", goal.status.word(), goal.revision));
    page.section("objective");
    page.words(goal.objective.as_str(), 4);
    page.section("criteria");
    let criteria: Vec<_> = goal
        .criteria
        .iter()
        .map(|(id, criterion)| {
            let met = criterion.met_by.map_or_else(|| "open".to_owned(), |by| format!("met on {by}"));
            (id.to_string(), criterion.text.to_string(), met)
        })
        .collect();
    some(&mut page, criteria, limit, "none");
    work(&mut page, handed, limit);
    page.section("answered");
    let decided = answered.iter().map(|found| {
        let by = format!("{} (#{})", thing::actor(&found.by), found.seq);
        let said = format!("{} => {}", found.opened.question, found.decided.why);
        (format!("{} {}", found.decided.id, outcome(&found.decided.outcome)), said, by)
    });
    some(&mut page, decided.collect(), limit, "none lately");
    page.section("note");
    match &goal.note {
        None => page.say("none"),
        Some(note) => page.row("", note.next_action.as_str(), format!("({}, #{})", note.by.name(), note.seq)),
    }
    page.section("quota");
    page.say(spent(read.quota, *now));
    page.section("go on");
    match to {
        None => page.command(session.voice.command("next")),
        Some((agent, _, decided)) => {
            page.say(match decided {
                Ok(decided) => format!("{}: {}", decided.verdict.word(), reason(decided)),
                Err(refused) => refused.to_string(),
            });
            page.command(session.voice.agent(agent, "next"));
        }
    }
    page
}

/// What is under way, what can run, what cannot, and what a human is asked.
fn work(page: &mut Page, handed: &Handed<'_>, limit: usize) {
    let Handed { status: read, state, now, .. } = handed;
    page.section("open turns");
    let turns = read.running.iter().map(|run| {
        let turn = run.turn.map(|turn| format!("{turn} of ")).unwrap_or_default();
        let until = run.until.map(|at| format!(", lease until {}", when(at, *now))).unwrap_or_default();
        let holder = format!("{turn}{}, epoch {}{until}", run.holder, run.todo.epoch);
        (run.id.to_string(), run.todo.spec.title.to_string(), holder)
    });
    some(page, turns.collect(), limit, "none");
    page.section("can run");
    let ready = runnable(handed);
    let rows = ready.iter().filter_map(|id| {
        let todo = state.todos.get(id)?;
        Some((id.to_string(), todo.spec.title.to_string(), event_word(&todo.spec.priority)))
    });
    some(page, rows.collect(), limit, "nothing");
    page.section("waits");
    let waits = waiting(handed).into_iter().filter_map(|(id, found)| {
        let why = found.first().map(|found| hindrance(found, *now)).unwrap_or_default();
        Some((id.to_string(), state.todos.get(&id)?.spec.title.to_string(), why))
    });
    some(page, waits.collect(), limit, "nothing");
    page.section("questions");
    let gates = read.gates.iter().map(|(id, gate)| {
        let blocks = blocks(gate).map(|blocks| format!(", blocks {blocks}")).unwrap_or_default();
        let age = DurationMs(now.ms_since(gate.asked));
        (id.to_string(), gate.question.to_string(), format!("{age}{blocks}"))
    });
    some(page, gates.collect(), limit, "none is open");
}

/// A list, or a word for an empty one.
fn some(page: &mut Page, rows: Vec<(String, String, String)>, limit: usize, none: &str) {
    if rows.is_empty() {
        page.say(none);
    } else {
        show(page, rows, limit.saturating_add(1));
    }
}

fn outcome(outcome: &GateOutcome) -> String {
    match outcome {
        GateOutcome::Approve => "approved".to_owned(),
        GateOutcome::Reject => "rejected".to_owned(),
        GateOutcome::Defer => "deferred".to_owned(),
        GateOutcome::Choice { option } => format!("`{option}`"),
    }
}

fn object(handed: &Handed<'_>, limit: usize) -> Value {
    let Handed { status: read, to, answered, state, .. } = handed;
    let (ready, waits) = (runnable(handed), waiting(handed));
    let todo = |id: &TodoId| {
        let todo = state.todos.get(id)?;
        Some(json!({"id": id, "title": todo.spec.title, "priority": value(&todo.spec.priority),
            "done_when": todo.spec.done_when}))
    };
    let totals = [
        ("open_turns", read.running.len()),
        ("runnable", ready.len()),
        ("waiting", waits.len()),
        ("questions", read.gates.len()),
        ("answered", answered.len()),
    ];
    let longest = totals.iter().map(|(_, length)| *length).max().unwrap_or_default();
    json!({
        "to": to.as_ref().map(|(agent, ..)| agent),
        "verdict": to.as_ref().and_then(|(.., decided)| Some(decided.as_ref().ok()?.verdict.word())),
        "goal": {"id": read.id, "objective": read.goal.objective, "status": value(&read.goal.status),
            "revision": read.goal.revision, "note": value(&read.goal.note),
            "criteria": read.goal.criteria.iter().map(|(id, criterion)| {
                json!({"id": id, "text": criterion.text, "met_by": criterion.met_by})
            }).collect::<Vec<_>>()},
        "open_turns": read.running.iter().take(limit).map(|run| {
            json!({"todo": run.id, "title": run.todo.spec.title, "turn": run.turn, "holder": value(run.holder),
                "epoch": run.todo.epoch, "lease_until": run.until})
        }).collect::<Vec<_>>(),
        "runnable": ready.iter().take(limit).filter_map(todo).collect::<Vec<_>>(),
        "waiting": waits.iter().take(limit).map(|(id, found)| {
            json!({"id": id, "title": state.todos.get(id).map(|todo| &todo.spec.title),
                "why": found.iter().map(ToString::to_string).collect::<Vec<_>>()})
        }).collect::<Vec<_>>(),
        "questions": read.gates.iter().take(limit).map(|(id, gate)| {
            json!({"id": id, "question": gate.question, "blocks": value(&gate.blocks), "asked": gate.asked})
        }).collect::<Vec<_>>(),
        "answered": answered.iter().take(limit).map(|found| {
            json!({"gate": found.decided.id, "question": found.opened.question, "outcome": value(&found.decided.outcome),
                "why": found.decided.why, "by": found.by, "seq": found.seq, "ts": found.ts})
        }).collect::<Vec<_>>(),
        "answered_among_last_gates": loopx::project::handoff::GATES_LOOKED_AT,
        "totals": totals.iter().map(|(key, length)| ((*key).to_owned(), json!(length))).collect::<serde_json::Map<_, _>>(),
        "shown": totals.iter().map(|(key, length)| ((*key).to_owned(), json!(length.min(&limit)))).collect::<serde_json::Map<_, _>>(),
        "next": (longest > limit).then(|| format!("--limit {longest}")),
    })
}

/// `heartbeat-prompt`: fixed text. It is refused where its first command would be, since nobody is there to read why.
pub fn heartbeat_prompt(session: &Session<'_>) -> Result<Output, Failure> {
    let ledger = session.open()?;
    session.ask(&ledger, decide::should_run)?;
    let text = include_str!("heartbeat.txt").replace("loopx ", &session.voice.command(""));
    Ok(headed(Output::text(text.clone()).with("prompt", text), &ledger))
}
