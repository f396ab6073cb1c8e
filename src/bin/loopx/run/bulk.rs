//! `append --stdin`: many requests, one sync for many, a receipt a line.

use std::io::{BufRead, Write};

use loopx::app;
use loopx::app::bulk;
use loopx::decide::Caller;
use loopx::ledger::{Answer, Ledger};
use loopx::limits::RECORD_MAX_BYTES;
use loopx::log::LogError;
use serde_json::{Value, json};

use super::Session;
use crate::failure::{Failure, exit};
use crate::render::{Output, failure_document, value};

/// Requests between two syncs: their receipts are printed together, once all of them are durable.
const BATCH: usize = 256;

/// Reads lines until the end of input or the first one that is refused. What was recorded before stays recorded.
pub fn run(session: &Session<'_>) -> Result<Output, Failure> {
    let mut ledger = session.open()?;
    let caller = session.caller()?;
    let mut input = std::io::stdin().lock();
    let mut done = 0_usize;
    let mut line = Vec::new();
    let mut receipts = Vec::new();
    let mut number = 0_usize;
    let outcome = loop {
        line.clear();
        let read = read_line(&mut input, &mut line)
            .map_err(|error| Failure::new("io", exit::IO, error.to_string()))?;
        if read == 0 {
            break Ok(());
        }
        number += 1;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match one(session, &mut ledger, &caller, &line) {
            Ok(receipt) => receipts.push(receipt),
            Err(failure) => break Err(failure),
        }
        if receipts.len() >= BATCH {
            done += settle(session, &mut ledger, &mut receipts)?;
            progress(session, done);
        }
    };
    done += settle(session, &mut ledger, &mut receipts)?;
    if let Err(failure) = outcome {
        let mut document = failure_document("loopx.append/1", &failure);
        if let Value::Object(fields) = &mut document {
            fields.insert("line".to_owned(), number.into());
            fields.insert("recorded".to_owned(), done.into());
        }
        print_line(&document);
        return Err(Failure {
            message: format!("line {number}: {}; {done} before it are recorded", failure.message),
            ..failure
        }
        .already_printed());
    }
    Ok(Output::default().warned(session.clock_warning(&ledger)))
}

/// A line with at most one byte more than a record may have, so that no input fills the memory.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<usize> {
    let limit = u64::try_from(RECORD_MAX_BYTES).unwrap_or(u64::MAX) + 1;
    std::io::Read::take(input, limit).read_until(b'\n', line)
}

fn one(session: &Session<'_>, ledger: &mut Ledger, caller: &Caller, line: &[u8]) -> Result<Value, Failure> {
    let submission = bulk::parse(line, caller)?;
    Ok(match app::append(ledger, &session.host(), submission)? {
        Answer::Committed(committed) => {
            let output = super::write::committed_output(&committed);
            output.document("loopx.append/1")
        }
        Answer::Quiet(decision) => json!({
            "schema": "loopx.append/1", "ok": true, "status": "no_change", "verdict": decision.verdict.word(),
            "wake": value(&decision.wake),
        }),
    })
}

/// Makes everything so far durable, then prints its receipts.
fn settle(session: &Session<'_>, ledger: &mut Ledger, receipts: &mut Vec<Value>) -> Result<usize, Failure> {
    if receipts.is_empty() {
        return Ok(0);
    }
    ledger.make_durable(&session.host().wait).map_err(|error| stored(receipts.len(), &error))?;
    ledger.save_snapshot_if_due();
    for receipt in receipts.iter() {
        print_line(receipt);
    }
    let count = receipts.len();
    receipts.clear();
    Ok(count)
}

/// What is stored and may not be durable is not refused: the same lines again, with their request ids, tell.
fn stored(count: usize, error: &LogError) -> Failure {
    let message = format!("{count} requests are stored and may or may not be durable: {error}");
    Failure::new("ledger.durability_unknown", exit::UNKNOWN, message).hint("loopx verify")
}

/// What was recorded is recorded whether or not somebody reads the receipt: asking again with the same id answers it.
fn print_line(document: &Value) {
    let _ = writeln!(std::io::stdout(), "{document}");
}

fn progress(session: &Session<'_>, done: usize) {
    if session.environment.stderr_is_terminal && !session.global.quiet {
        eprint!("\r{done} recorded");
    }
}
