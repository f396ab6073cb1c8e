//! `review-packet`: what a human needs to answer a question, on one page.

use loopx::app::blob::{self, BlobState};
use loopx::id::{GateId, Label};
use loopx::ledger::Ledger;
use loopx::project::history::Line;
use loopx::project::packet::{self, Consequence, Exhibit};
use loopx::state::{Gate, Goal, Standing, State};
use loopx::time::{DurationMs, Timestamp};
use serde_json::{Value, json};

use super::Session;
use super::look::{goal_of, headed};
use crate::cli;
use crate::failure::{Failure, exit};
use crate::render::page::Page;
use crate::render::status::{blocks, hindrance};
use crate::render::{Output, event::sentence, event_word, thing, value};

/// Entries of each list on the page, unless told otherwise.
const SHOWN: usize = 5;

/// Entries of each list in JSON, unless told otherwise.
const LISTED: usize = 20;

/// Lines that the question may take.
const QUESTION_LINES: usize = 6;

/// Everything about one question, read.
struct Packet {
    id: GateId,
    gate: Gate,
    goal: Goal,
    asked: Option<Goal>,
    since: Vec<Line>,
    exhibits: Vec<(Exhibit, &'static str)>,
    answers: Vec<(Label, Option<Consequence>, String)>,
    others: Vec<(GateId, Gate)>,
    now: Timestamp,
}

/// `review-packet`
pub fn packet(session: &Session<'_>, args: &cli::ReviewPacket) -> Result<Output, Failure> {
    let mut ledger = session.open()?;
    let now = session.now(&ledger);
    let open = waiting(session, &ledger, args.gate)?;
    let Some((id, gate)) = open.first().cloned() else {
        let page = {
            let mut page = Page::default();
            page.title("", "", "no question waits for an answer");
            page.command(session.voice.command("status"));
            page
        };
        return Ok(headed(page.output().with("gate", Value::Null), &ledger));
    };
    let others = open.into_iter().skip(1).collect();
    let packet = read(session, &mut ledger, (id, gate), others, now)?;
    let mut output = page(ledger.state(), &packet, args.limit.unwrap_or(SHOWN)).output();
    output.keys = match object(&packet, args.limit.unwrap_or(LISTED)) {
        Value::Object(keys) => keys,
        _ => output.keys,
    };
    Ok(headed(output, &ledger))
}

/// The gate that is meant, and then the others of its goal that are open.
fn waiting(
    session: &Session<'_>,
    ledger: &Ledger,
    named: Option<GateId>,
) -> Result<Vec<(GateId, Gate)>, Failure> {
    let state = ledger.state();
    let goal = match named {
        None => goal_of(session, state)?,
        Some(id) => match state.gates.get(&id) {
            Some(gate) => gate.goal.clone(),
            None if id.0 == 0 || id.0 > state.minted.gates => {
                return Err(loopx::decide::Refusal::Unknown { what: "gate", name: id.to_string() }.into());
            }
            None => {
                let failure = Failure::new("gate.not_open", exit::REFUSED, format!("{id} is not open"));
                return Err(failure.hint(format!("loopx history {id}")));
            }
        },
    };
    let gates = state.gates.iter().filter(|(_, gate)| gate.goal == goal);
    let mut open: Vec<(GateId, Gate)> = gates.map(|(id, gate)| (*id, gate.clone())).collect();
    open.sort_by_key(|(id, gate)| (Some(*id) != named, gate.seq, *id));
    Ok(open)
}

fn read(
    session: &Session<'_>,
    ledger: &mut Ledger,
    (id, gate): (GateId, Gate),
    others: Vec<(GateId, Gate)>,
    now: Timestamp,
) -> Result<Packet, Failure> {
    let since = packet::since(ledger, id, &gate)?;
    let root = session.root()?;
    let kept = |exhibit: &Exhibit| match (exhibit.recorded.digest, exhibit.recorded.bytes) {
        (Some(digest), Some(_)) => match blob::check(&root, digest) {
            Ok(BlobState::Sound) => "kept",
            Ok(BlobState::Missing) => "MISSING",
            Ok(BlobState::Altered) => "ALTERED",
            Err(_) => "cannot be read",
        },
        (Some(_), None) => "not kept here",
        (None, _) => "",
    };
    let exhibits = packet::exhibits(ledger, id, &gate)?;
    let exhibits =
        exhibits.into_iter().map(|exhibit| (kept(&exhibit), exhibit)).map(|(k, e)| (e, k)).collect();
    let asked = packet::goal_when_asked(ledger, &gate)?;
    let state = ledger.state();
    let who = judge(session, state);
    let answers = packet::answers(&gate)
        .into_iter()
        .map(|answer| {
            let follows = packet::consequence(state, id, packet::outcome(&answer), now);
            let command = session.voice.owner(&format!("{who}gate decide {id} {answer} --why \"...\""));
            (answer, follows, command)
        })
        .collect();
    let Some(goal) = state.goals.get(&gate.goal).cloned() else {
        return Err(Failure::usage(format!("no goal {}", gate.goal)));
    };
    Ok(Packet { id, gate, goal, asked, since, exhibits, answers, others, now })
}

/// The option that says who answers, once owners are registered.
fn judge(session: &Session<'_>, state: &State) -> String {
    let mut owners =
        state.owners.iter().filter(|(_, owner)| !owner.revoked).map(|(name, _)| name.to_string());
    let named = session.global.owner.as_ref().map(ToString::to_string);
    match (named, owners.next(), owners.next()) {
        (Some(name), ..) | (None, Some(name), None) => format!("--as {name} "),
        (None, Some(_), Some(_)) => "--as NAME ".to_owned(),
        (None, None, _) => String::new(),
    }
}

fn page(state: &State, packet: &Packet, limit: usize) -> Page {
    let Packet { id, gate, goal, now, .. } = packet;
    let mut page = Page::default();
    let age = DurationMs(now.ms_since(gate.asked));
    page.title(id.to_string(), "", format!("asked {age} ago by {} (#{})", thing::actor(&gate.by), gate.seq));
    page.section("question");
    page.words(gate.question.as_str(), QUESTION_LINES);
    page.section("goal");
    page.row(gate.goal.to_string(), goal.objective.as_str(), format!("revision {}", goal.revision));
    page.section("blocks");
    let todos = gate.blocks.todos.iter().filter_map(|id| Some((id, state.todos.get(id)?)));
    let mut held: Vec<(String, String, String)> =
        todos.map(|(id, todo)| (id.to_string(), todo.spec.title.to_string(), String::new())).collect();
    if gate.blocks.all || !gate.blocks.agents.is_empty() || held.is_empty() {
        held.insert(0, (String::new(), String::new(), blocks(gate).unwrap_or_else(|| "nothing".to_owned())));
    }
    list(&mut page, held, limit);
    since(&mut page, packet, limit);
    page.section("evidence");
    if packet.exhibits.is_empty() {
        page.say("none is named");
    }
    for found in packet.exhibits.iter().take(limit) {
        let (head, theirs, tail) = exhibit(&found.0, goal);
        page.row(head, &theirs, tail);
        if let Some(digest) = found.0.recorded.digest {
            page.say(format!("  blake3 {digest} {}", found.1));
        }
    }
    more(&mut page, packet.exhibits.len(), limit);
    page.section("answers");
    for (answer, follows, command) in packet.answers.iter().take(answers_shown(limit)) {
        page.row(
            answer.to_string(),
            "",
            follows.as_ref().map_or_else(String::new, |found| effect(gate, found, *now)),
        );
        page.command(command.clone());
    }
    let left = packet.answers.len().saturating_sub(answers_shown(limit));
    if left > 0 {
        page.say(format!("+ {left} more answers"));
    }
    if !packet.others.is_empty() {
        page.section("also open");
        let age = |gate: &Gate| DurationMs(now.ms_since(gate.asked)).to_string();
        let others = packet.others.iter();
        let rows = others.map(|(id, gate)| (id.to_string(), gate.question.to_string(), age(gate))).collect();
        list(&mut page, rows, limit);
    }
    page
}

/// Each answer takes two lines, and there are few: twice as many as of other things.
fn answers_shown(limit: usize) -> usize {
    limit.saturating_mul(2)
}

fn list(page: &mut Page, rows: Vec<(String, String, String)>, limit: usize) {
    let total = rows.len();
    for (head, theirs, tail) in rows.into_iter().take(limit) {
        page.row(head, &theirs, tail);
    }
    more(page, total, limit);
}

fn more(page: &mut Page, total: usize, limit: usize) {
    if total > limit {
        page.say(format!("+ {} more", total - limit));
    }
}

/// What changed since the question was asked: the goal, then records that touch what it is about.
fn since(page: &mut Page, packet: &Packet, limit: usize) {
    page.section("since then");
    let changes = packet.asked.as_ref().map(|asked| changes(asked, &packet.goal)).unwrap_or_default();
    if changes.is_empty() && packet.since.is_empty() {
        page.say("nothing that it is about has changed");
    }
    for (what, now) in &changes {
        page.row(what.clone(), now, "");
    }
    let rows = packet.since.iter().rev().map(|line| {
        let what: Vec<String> = line.events.iter().map(sentence).collect();
        (format!("#{}  {}", line.seq, thing::actor(&line.actor)), what.join("; "), String::new())
    });
    list(page, rows.collect(), limit);
}

/// How the goal differs from what it was.
fn changes(was: &Goal, is: &Goal) -> Vec<(String, String)> {
    let mut changes = Vec::new();
    if was.objective != is.objective {
        changes.push(("objective is now".to_owned(), is.objective.to_string()));
    }
    if was.status != is.status {
        changes.push((format!("goal is now {}", is.status.word()), String::new()));
    }
    for (id, criterion) in &is.criteria {
        match was.criteria.get(id) {
            None => changes.push((format!("{id} added"), criterion.text.to_string())),
            Some(before) if before.text != criterion.text => {
                changes.push((format!("{id} is now"), criterion.text.to_string()));
            }
            Some(before) if before.met_by != criterion.met_by => changes.push(match criterion.met_by {
                Some(evidence) => (format!("{id} met on {evidence}"), String::new()),
                None => (format!("{id} open again"), String::new()),
            }),
            Some(_) => {}
        }
    }
    let dropped = was.criteria.keys().filter(|id| !is.criteria.contains_key(id));
    changes.extend(dropped.map(|id| (format!("{id} dropped"), String::new())));
    if was.write != is.write {
        changes.push(("write scope changed".to_owned(), String::new()));
    }
    changes
}

/// `E1 command  cargo test => 14 passed  current, of revision 1, now 2`
fn exhibit(found: &Exhibit, goal: &Goal) -> (String, String, String) {
    let recorded = &found.recorded;
    let source = recorded.source.as_ref().map(|source| format!("{source} => ")).unwrap_or_default();
    let mut facts = vec![found.standing.word().to_owned()];
    if let Some(seq) = found.withdrawn {
        facts.push(format!("by #{seq}"));
    }
    if recorded.revision < goal.revision {
        facts.push(format!("of revision {}, now {}", recorded.revision, goal.revision));
    }
    if let Some(exit) = recorded.exit {
        facts.push(format!("exit {exit}"));
    }
    if !found.cited {
        facts.push(format!("about {}", recorded.about));
    }
    let head = format!("{} {}", recorded.id, event_word(&recorded.kind));
    (head, format!("{source}{}", recorded.summary), facts.join(", "))
}

/// What an answer would bring, in words.
fn effect(gate: &Gate, found: &Consequence, now: Timestamp) -> String {
    let names = |ids: &[loopx::id::TodoId]| {
        let shown: Vec<String> = ids.iter().take(SHOWN).map(ToString::to_string).collect();
        let left = ids.len().saturating_sub(SHOWN);
        if left == 0 { shown.join(", ") } else { format!("{} + {left} more", shown.join(", ")) }
    };
    let mut facts = Vec::new();
    if !found.runnable.is_empty() {
        facts.push(format!("{} can run", names(&found.runnable)));
    }
    if !found.for_a_person.is_empty() {
        facts.push(format!("{} for a person", names(&found.for_a_person)));
    }
    if !found.blocked.is_empty() {
        facts.push(format!("{} blocked until someone plans anew", names(&found.blocked)));
    }
    if found.closes && !gate.blocks.agents.is_empty() {
        let agents: Vec<String> = gate.blocks.agents.iter().map(ToString::to_string).collect();
        facts.push(format!("agents {} may go on", agents.join(", ")));
    }
    if let Some((id, why)) = found.waiting.first() {
        let why = why.first().map(|why| hindrance(why, now)).unwrap_or_default();
        let more = found.waiting.len() - 1;
        let more = if more == 0 { String::new() } else { format!(" + {more} more") };
        facts.push(format!("still waiting: {id} ({why}){more}"));
    }
    if facts.is_empty() { "frees nothing".to_owned() } else { facts.join("; ") }
}

fn object(packet: &Packet, limit: usize) -> Value {
    let gate = &packet.gate;
    let since: Vec<Value> = packet.since.iter().rev().take(limit).map(thing::history_json).collect();
    let changes = packet.asked.as_ref().map(|asked| changes(asked, &packet.goal)).unwrap_or_default();
    let evidence: Vec<Value> = packet.exhibits.iter().take(limit).map(|(found, kept)| {
        json!({
            "id": found.recorded.id, "kind": value(&found.recorded.kind), "summary": found.recorded.summary,
            "source": found.recorded.source, "about": found.recorded.about, "cited": found.cited,
            "standing": found.standing.word(), "counts": found.standing == Standing::Current,
            "withdrawn_at": found.withdrawn, "seq": found.seq, "revision": found.recorded.revision,
            "goal_revision": packet.goal.revision, "exit": found.recorded.exit, "digest": found.recorded.digest,
            "bytes": found.recorded.bytes, "content": kept,
        })
    }).collect();
    let answers: Vec<Value> = packet
        .answers
        .iter()
        .map(|(answer, follows, command)| {
            json!({
                "answer": answer, "outcome": value(&packet::outcome(answer)), "command": command,
                "runnable": follows.as_ref().map(|found| &found.runnable),
                "for_a_person": follows.as_ref().map(|found| &found.for_a_person),
                "blocked": follows.as_ref().map(|found| &found.blocked),
                "waiting": follows.as_ref().map(|found| {
                    found.waiting.iter().map(|(id, why)| {
                        json!({"id": id, "why": why.iter().map(ToString::to_string).collect::<Vec<_>>()})
                    }).collect::<Vec<_>>()
                }),
            })
        })
        .collect();
    let others: Vec<Value> = packet
        .others
        .iter()
        .take(limit)
        .map(|(id, gate)| json!({"id": id, "question": gate.question, "asked": gate.asked}))
        .collect();
    let longest = packet.since.len().max(packet.exhibits.len()).max(packet.others.len());
    json!({
        "gate": {"id": packet.id, "question": gate.question, "options": gate.options, "asked": gate.asked,
            "by": gate.by, "seq": gate.seq, "blocks": value(&gate.blocks), "deferred": gate.deferred},
        "goal": {"id": gate.goal, "objective": packet.goal.objective, "revision": packet.goal.revision,
            "asked_at_revision": packet.asked.as_ref().map(|goal| goal.revision)},
        "changes": changes.iter().map(|(what, now)| json!({"what": what, "now": now})).collect::<Vec<_>>(),
        "answers": answers,
        "totals": {"since": packet.since.len(), "evidence": packet.exhibits.len(), "also_open": packet.others.len()},
        "shown": {"since": since.len(), "evidence": evidence.len(), "also_open": others.len()},
        "next": (longest > limit).then(|| format!("--limit {longest}")),
        "since": since, "evidence": evidence, "also_open": others,
    })
}
