//! Commands that append: a request's outcome to an answer.

use loopx::app;
use loopx::event::Event;
use loopx::ledger::{Answer, Committed, Receipt, Submission, SubmitError};
use serde_json::{Value, json};

use super::{Session, contract};
use crate::cli::Top;
use crate::failure::Failure;
use crate::render::{Output, decision, event::sentence, value};

/// Submits and answers with the receipt.
pub fn run(session: &Session<'_>, top: &Top, submission: Submission) -> Result<Output, Failure> {
    let mut ledger = session.open()?;
    let answer = match app::submit(&mut ledger, &session.host(), submission) {
        Err(SubmitError::Refused(refusal)) => {
            return contract::settled(session, top, &mut ledger, refusal);
        }
        other => other?,
    };
    let options = match top {
        Top::Next(args) => Some(args),
        _ => None,
    };
    let warning = session.clock_warning(&ledger);
    match answer {
        Answer::Committed(committed) => {
            session.note(&ledger);
            let output = match options {
                Some(_) => taken(session, &ledger, &committed)?,
                None => contract::told(top, &mut ledger, committed_output(&committed), &committed)?,
            };
            Ok(output.warned(warning))
        }
        Answer::Quiet(decided) => {
            let mut output = decision::quiet(&session.voice, ledger.state(), &decided, &[]);
            if options.is_some_and(|args| args.explain) {
                output.text.push_str(&decision::trace_lines(&decided));
                output = output.with("trace", value(&decided.trace));
            }
            if options.is_some_and(|args| args.exit_code) {
                output.exit = decision::exit_code(&decided.verdict);
            }
            Ok(output.at(ledger.head().seq, ledger.head().hash).warned(warning))
        }
    }
}

/// `next` appended something: the turn that was opened or goes on, or a turn that was lost and the decision after it.
fn taken(
    session: &Session<'_>,
    ledger: &loopx::ledger::Ledger,
    committed: &Committed,
) -> Result<Output, Failure> {
    let turn = committed.events.iter().find_map(|event| match event {
        Event::TurnOpened(e) => Some((e.todo, e.id)),
        _ => None,
    });
    let renewed = || {
        let agent = committed.at.actor.clone();
        let turn = committed.state.turns.iter().find(|(_, turn)| turn.holder.actor == agent);
        turn.map(|(id, turn)| (turn.todo, *id))
    };
    let mut after = Vec::new();
    if committed.receipt.duplicate {
        let ask = session.voice.command("next");
        after.push(format!("recorded before, at #{}; what is so now: {ask}", committed.receipt.seq));
    }
    let lost = committed.events.iter().filter(|event| matches!(event, Event::TurnClosed(_)));
    after.extend(lost.map(|lost| format!("before that: {}", sentence(lost))));
    let output = match turn.or_else(renewed) {
        Some((todo, turn)) => decision::opened(&session.voice, committed, todo, turn, &after),
        None => {
            let decided = session.ask(ledger, loopx::decide::should_run)?;
            decision::quiet(&session.voice, ledger.state(), &decided, &after)
        }
    };
    Ok(with_receipt(output, committed))
}

/// What a record says happened, with its receipt.
pub fn committed_output(committed: &Committed) -> Output {
    let what: Vec<String> = committed.events.iter().map(sentence).collect();
    let mark = if committed.receipt.duplicate { " (recorded before)" } else { "" };
    let output = Output::text(format!("{}  #{}{mark}\n", what.join("; "), committed.receipt.seq));
    with_receipt(output, committed)
}

fn with_receipt(output: Output, committed: &Committed) -> Output {
    told(output, &committed.receipt, &committed.events)
}

/// Adds what a program wants to know of a record.
pub fn told(mut output: Output, receipt: &Receipt, events: &[Event]) -> Output {
    for (key, id) in events.iter().filter_map(minted) {
        output.keys.entry(key).or_insert(json!({ "id": id }));
    }
    let said: Vec<Value> =
        events.iter().map(|event| json!({"kind": event.kind(), "text": sentence(event)})).collect();
    let status = if receipt.duplicate { "replayed" } else { "applied" };
    output
        .with("receipt", value(receipt))
        .with("events", said)
        .with("status", status)
        .with("idempotent_replay", receipt.duplicate)
        .at(receipt.seq, receipt.hash)
}

/// The thing that an event brought into being, by kind and id.
fn minted(event: &Event) -> Option<(String, String)> {
    let (key, id) = match event {
        Event::GoalStarted(e) => ("goal", e.goal.to_string()),
        Event::TodoAdded(e) => ("todo", e.id.to_string()),
        Event::GateOpened(e) => ("gate", e.id.to_string()),
        Event::EvidenceRecorded(e) => ("evidence", e.id.to_string()),
        Event::TurnOpened(e) => ("turn", e.id.to_string()),
        Event::HypothesisProposed(e) => ("hypothesis", e.id.to_string()),
        Event::ExperimentRegistered(e) => ("experiment", e.id.to_string()),
        Event::TrialStarted(e) => ("trial", e.id.to_string()),
        Event::PromotionRecorded(e) => ("promotion", e.id.to_string()),
        _ => return None,
    };
    Some((key.to_owned(), id))
}
