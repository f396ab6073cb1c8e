//! `check`: what stands in the log that should not be shown.

use std::ops::ControlFlow;

use loopx::app::blob;
use loopx::hash::Hash;
use loopx::id::Seq;
use loopx::log::VerifyOptions;
use loopx::project::escape::terminal;
use loopx::secret;
use serde_json::{Value, json};

use super::Session;
use super::look::headed;
use crate::failure::{Failure, exit};
use crate::render::{Output, count};

/// Findings that are shown; the rest is counted.
const SHOWN: usize = 50;

/// One thing that should not be shown. What was found is not repeated.
struct Finding {
    seq: Seq,
    place: String,
    what: String,
    /// Why it was recorded all the same.
    allowed: Option<String>,
}

/// Reads every record, and the text of every blob that a record names.
pub fn check(session: &Session<'_>) -> Result<Output, Failure> {
    let root = session.root()?;
    let ledger = session.open()?;
    let mut found = Vec::new();
    let (mut records, mut blobs) = (0_u64, 0_u64);
    let options = VerifyOptions { against: None, digests: false, hands: None };
    let report = loopx::log::inspect(&root, &options, &mut |record, cursor| {
        records += 1;
        let events = [b"[", record.events(), b"]"].concat();
        if let Ok(events) = serde_json::from_slice::<Value>(&events) {
            of_record(cursor.seq, &events, &mut found);
            blobs += of_blobs(&root, cursor.seq, &events, &mut found);
        }
        ControlFlow::Continue(())
    })?;
    if let Some(error) = report.error() {
        return Err(error.into());
    }
    Ok(headed(told(&found, records, blobs), &ledger))
}

fn of_record(seq: Seq, events: &Value, found: &mut Vec<Finding>) {
    let of_kind = |event: &&Value| event["k"] == "secret.allowed";
    let allowed = events.as_array().and_then(|events| events.iter().find(of_kind));
    let allowed = allowed.and_then(|event| event.get("b")?.get("why")?.as_str()).map(str::to_owned);
    for event in events.as_array().into_iter().flatten() {
        let kind = event["k"].as_str().unwrap_or_default();
        secret::texts(&event["b"], &mut |place, text| {
            let place = format!("{kind} {place}");
            if let Some((what, _)) = secret::find(text) {
                found.push(Finding { seq, place, what: what.to_string(), allowed: allowed.clone() });
            } else if secret::home_path(text).is_some() {
                found.push(Finding {
                    seq,
                    place,
                    what: "a path into a home directory".to_owned(),
                    allowed: None,
                });
            }
        });
    }
}

fn of_blobs(root: &std::path::Path, seq: Seq, events: &Value, found: &mut Vec<Finding>) -> u64 {
    let mut read = 0;
    for event in events.as_array().into_iter().flatten() {
        let body = &event["b"];
        let digest = if body["bytes"].is_u64() {
            body["digest"].as_str().or_else(|| body["artifact"].as_str())
        } else {
            None
        };
        let Some(digest) = digest.and_then(|text| text.parse::<Hash>().ok()) else { continue };
        let Ok(content) = blob::read_bounded(&blob::path(root, digest)) else { continue };
        read += 1;
        if let Some((what, _)) = std::str::from_utf8(&content).ok().and_then(secret::find) {
            found.push(Finding {
                seq,
                place: format!("blob {}", digest.short()),
                what: what.to_string(),
                allowed: None,
            });
        }
    }
    read
}

fn told(found: &[Finding], records: u64, blobs: u64) -> Output {
    let open = found.iter().filter(|one| one.allowed.is_none()).count();
    let mut text = format!("read {} and {}: ", count(records, "record"), count(blobs, "blob"));
    text.push_str(&match (open, found.len() - open) {
        (0, 0) => "no secret and no home path found\n".to_owned(),
        (open, 0) => format!("{}\n", count(open, "finding")),
        (open, allowed) => format!("{}, {allowed} recorded on purpose\n", count(open, "finding")),
    });
    for one in found.iter().take(SHOWN) {
        let why =
            one.allowed.as_ref().map(|why| format!("  on purpose: {}", terminal(why))).unwrap_or_default();
        text.push_str(&format!("  #{}  {}  {}{why}\n", one.seq, terminal(&one.place), one.what));
    }
    if found.len() > SHOWN {
        text.push_str(&format!("  and {} more\n", found.len() - SHOWN));
    }
    let row =
        |one: &Finding| json!({"seq": one.seq, "place": one.place, "what": one.what, "allowed": one.allowed});
    let rows: Vec<Value> = found.iter().take(SHOWN).map(row).collect();
    let mut output = Output::text(text)
        .with("records", records)
        .with("blobs", blobs)
        .with("total", found.len())
        .with("open", open)
        .with("shown", rows.len())
        .with("findings", rows);
    if open > 0 {
        output.exit = exit::FINDINGS;
    }
    output
}
