//! How a gate was decided and on what; what rests on a piece of evidence.

use loopx::event::{GateOutcome, codec};
use loopx::id::Seq;
use loopx::project::evidence::{Piece, Resting, Rests};
use loopx::project::ruling::{Answer, Looked, Ruling, Used};
use loopx::state::{Ended, State};
use loopx::time::Timestamp;
use serde_json::{Value, json};

use super::{cut, thing::actor, value};

/// Rows of a list before it is cut; programs get all.
const ROWS: usize = 12;

/// A moment at which something is looked at: a state, its record, and the time.
#[derive(Clone, Copy)]
pub struct Moment<'a> {
    /// What is so.
    pub state: &'a State,
    /// The last record that counts.
    pub seq: Seq,
    /// Ledger time.
    pub now: Timestamp,
}

fn used(what: Used) -> (&'static str, String) {
    match what {
        Used::Todo(id) => ("completed", id.to_string()),
        Used::Promotion(id) => ("promoted", id.to_string()),
    }
}

/// The word for whether it counts.
pub fn standing(ended: Option<Ended>) -> &'static str {
    ended.map_or("current", Ended::word)
}

fn looked_line(looked: &Looked) -> String {
    let digest = looked.digest.map(|digest| format!(" digest {}", digest.short())).unwrap_or_default();
    match looked.ended {
        None => format!("{}{digest} current then", looked.id),
        Some(ended) => format!("{}{digest}, which {ended}", looked.id),
    }
}

/// The answers to a gate, the evidence that each was given on, what used the approval, and what it covers.
pub fn ruling_lines(ruling: &Ruling, at: Moment<'_>) -> String {
    let mut out = String::new();
    for answer in answers(ruling, at) {
        let word = outcome(&answer.decided.outcome);
        let (by, seq, ts) = (actor(&answer.by), answer.seq, answer.ts);
        out.push_str(&format!("decided      {word} by {by} at #{seq}, {ts}, unsigned\n"));
        let looked = ruling.looked_at(answer);
        for one in &looked {
            out.push_str(&format!("  on         {}\n", looked_line(one)));
        }
        if looked.is_empty() {
            out.push_str("  on         no evidence\n");
        }
        if let Some(until) = answer.decided.valid_until {
            out.push_str(&format!("  until      {until}\n"));
        }
        for id in &answer.decided.rests_on {
            out.push_str(&format!("  while      {id} is current\n"));
        }
    }
    let uses: Vec<String> = ruling
        .uses
        .iter()
        .filter(|used| used.seq <= at.seq)
        .map(|one| {
            let (word, id) = used(one.what);
            format!("used         {id} {word} on it by {} at #{}\n", actor(&one.by), one.seq)
        })
        .collect();
    let (rows, more) = cut(&uses, ROWS);
    rows.iter().for_each(|row| out.push_str(row));
    more.iter().for_each(|more| out.push_str(&format!("  {more}\n")));
    if let Some(end) = ruling.ended.as_ref().filter(|end| end.seq <= at.seq) {
        let word = if end.revoked { "revoked" } else { "withdrawn" };
        out.push_str(&format!("{word:<12} by {} at #{}\n", actor(&end.by), end.seq));
    }
    if let Some(force) = ruling.force(at.state, at.now) {
        out.push_str(&format!("approval     {force}\n"));
    }
    out
}

fn answers<'r>(ruling: &'r Ruling, at: Moment<'_>) -> impl Iterator<Item = &'r Answer> {
    ruling.answers.iter().filter(move |answer| answer.seq <= at.seq)
}

fn outcome(outcome: &GateOutcome) -> String {
    match outcome {
        GateOutcome::Approve => "approved".to_owned(),
        GateOutcome::Reject => "rejected".to_owned(),
        GateOutcome::Defer => "deferred".to_owned(),
        GateOutcome::Choice { option } => format!("answered `{option}`"),
    }
}

/// The same for programs.
pub fn ruling_json(ruling: &Ruling, at: Moment<'_>) -> Value {
    let answer = |answer: &Answer| {
        let looked: Vec<Value> = ruling
            .looked_at(answer)
            .iter()
            .map(|one| {
                json!({"id": one.id, "digest": one.digest, "then": standing(one.ended),
                    "why": one.ended.map(|ended| ended.to_string())})
            })
            .collect();
        json!({
            "seq": answer.seq, "ts": answer.ts, "by": answer.by, "outcome": value(&answer.decided.outcome),
            "why": answer.decided.why, "valid_until": answer.decided.valid_until,
            "rests_on": answer.decided.rests_on, "on": looked,
        })
    };
    let uses = ruling.uses.iter().filter(|used| used.seq <= at.seq).map(|one| {
        let (word, id) = used(one.what);
        json!({"seq": one.seq, "by": one.by, "id": id, "how": word})
    });
    let ended = ruling.ended.as_ref().filter(|end| end.seq <= at.seq).map(|end| {
        json!({"seq": end.seq, "by": end.by, "why": end.why, "how": if end.revoked { "revoked" } else { "withdrawn" }})
    });
    json!({
        "scope": ruling.opened.scope, "options": ruling.opened.options,
        "answers": answers(ruling, at).map(answer).collect::<Vec<_>>(),
        "uses": uses.collect::<Vec<_>>(),
        "ended": ended,
        "approval": ruling.force(at.state, at.now),
    })
}

fn rests(what: &Resting) -> (&'static str, String, &'static str) {
    match what {
        Resting::Criterion(goal, id) => ("criterion", format!("{id} of {goal}"), "is met by it"),
        Resting::Question(id) => ("question", id.to_string(), "was asked with it"),
        Resting::Approval(id) => ("approval", format!("the approval of {id}"), "holds while it is current"),
        Resting::Todo(id) => ("todo", id.to_string(), "was completed on it"),
        Resting::Cited(id) => ("promotion", id.to_string(), "cites it"),
        Resting::Baseline(id) => ("baseline", id.to_string(), "was compared with it"),
    }
}

/// What no longer rests on it says so.
fn no_longer(one: &Rests, piece: &Piece, at: Moment<'_>) -> &'static str {
    match (one.holds(at.state, piece.recorded.id), &one.what) {
        (true, _) => "",
        (false, Resting::Question(_)) => ", and is decided",
        (false, Resting::Approval(_)) => ", and is used up or revoked",
        (false, _) => ", but no longer",
    }
}

/// Whether a piece of evidence counts, and what rests on it.
pub fn evidence_lines(piece: &Piece, at: Moment<'_>) -> String {
    let id = piece.recorded.id;
    let mut out = match piece.ended_at(at.seq, at.now) {
        None => format!("{id} is current\n"),
        Some(ended) => format!("{id} {ended}\n"),
    };
    let rows: Vec<String> = resting(piece, at)
        .map(|one| {
            let (_, name, how) = rests(&one.what);
            format!("  {name} {how} (#{}){}\n", one.seq, no_longer(one, piece, at))
        })
        .collect();
    let (shown, more) = cut(&rows, ROWS);
    if rows.is_empty() {
        out.push_str("  nothing rests on it\n");
    }
    shown.iter().for_each(|row| out.push_str(row));
    more.iter().for_each(|more| out.push_str(&format!("  {more}\n")));
    out
}

fn resting<'p>(piece: &'p Piece, at: Moment<'_>) -> impl Iterator<Item = &'p Rests> {
    piece.rests.iter().filter(move |one| one.seq <= at.seq)
}

/// The same for programs.
pub fn evidence_json(piece: &Piece, at: Moment<'_>) -> Value {
    let ended = piece.ended_at(at.seq, at.now);
    let rows = resting(piece, at).map(|one| {
        let (kind, name, how) = rests(&one.what);
        let holds = one.holds(at.state, piece.recorded.id);
        json!({"kind": kind, "name": name, "how": how, "seq": one.seq, "holds": holds})
    });
    json!({
        "standing": standing(ended), "why": ended.map(|ended| ended.to_string()),
        "recorded": codec::body(&piece.recorded.clone().into()), "seq": piece.seq,
        "rested_on_it": rows.collect::<Vec<_>>(),
    })
}
