//! The demo does not believe itself: what it claims is read back from the ledger and compared with what is known.

use std::path::Path;

use serde_json::{Value, json};

use super::command::{Loopx, bodies, text, texts};
use super::step::Measured;
use super::{failed, place};
use crate::failure::{Failure, exit};

/// Configuration, data set and right answers by seed, as a second implementation of the evaluator has them.
const KNOWN: [(&str, &str, &[u32]); 8] = [
    ("k=1 metric=euclidean scaling=none", "wine-dev", &[90, 89, 90]),
    ("k=5 metric=euclidean scaling=none", "wine-dev", &[84, 87, 81]),
    ("k=1 metric=euclidean scaling=standard", "wine-dev", &[114, 112, 112]),
    ("k=1 metric=chebyshev scaling=standard", "wine-dev", &[110, 107, 106]),
    ("k=21 metric=euclidean scaling=standard", "wine-dev", &[118, 118, 117]),
    ("k=1 metric=manhattan scaling=standard", "wine-dev", &[117, 117, 117]),
    ("k=1 metric=euclidean scaling=none", "wine-holdout", &[38]),
    ("k=1 metric=manhattan scaling=standard", "wine-holdout", &[54]),
];

/// What was read back.
pub struct Proof {
    /// Records in the ledger.
    pub records: u64,
    /// Turns that were opened.
    pub turns: u64,
    /// Agents that were registered.
    pub agents: u64,
    /// Rows of evidence whose content is kept.
    pub blobs: u64,
    /// The digest of the state, live and replayed.
    pub digest: String,
    /// The hash at the head of the chain.
    pub head: String,
    /// The record that was altered in a copy, and what `verify` said to that.
    pub tampered: (u64, String),
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, expected: &T, found: &T) -> Result<(), Failure> {
    if expected == found {
        return Ok(());
    }
    Err(failed(format!("{what}: expected {expected:?}, found {found:?}")))
}

/// Compares what was measured with what is known, todo by todo.
///
/// # Errors
/// A [`Failure`] that names the first difference.
pub fn numbers(measured: &[Measured]) -> Result<(), Failure> {
    expect("measurements", &KNOWN.len(), &measured.len())?;
    for ((config, dataset, correct), found) in KNOWN.iter().zip(measured) {
        expect("configuration", config, &found.config.as_str())?;
        expect("data set", dataset, &found.dataset.as_str())?;
        expect(config, &correct.to_vec(), &found.correct)?;
    }
    Ok(())
}

/// Reads everything back.
///
/// # Errors
/// A [`Failure`] that says what was expected and what was found.
pub fn check(loopx: &Loopx, dir: &Path) -> Result<Proof, Failure> {
    takeover(loopx)?;
    objective(loopx)?;
    promotion(loopx)?;
    let replay = loopx.run(&["replay", "--check"])?;
    expect("replay --check", &Some(true), &replay.pointer("/check").and_then(Value::as_bool))?;
    let verify = loopx.run(&["verify"])?;
    let number = |pointer: &str| verify.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    let records = number("/records");
    expect(
        "records replayed and verified",
        &Some(records),
        &replay.pointer("/records").and_then(Value::as_u64),
    )?;
    let limit = records.to_string();
    let history = loopx.run(&["history", "--limit", &limit])?;
    Ok(Proof {
        records,
        turns: bodies(&history, "turn.opened").len() as u64,
        agents: bodies(&history, "agent.registered").len() as u64,
        blobs: number("/blobs/sound"),
        digest: text(&replay, "/digest")?,
        head: text(&verify, "/head/hash")?,
        tampered: tamper(loopx, dir, records)?,
    })
}

fn takeover(loopx: &Loopx) -> Result<(), Failure> {
    let history = loopx.run(&["history", "T4"])?;
    let taken: Vec<Value> = bodies(&history, "lease.taken_over")
        .iter()
        .map(|body| json!([body.pointer("/epoch"), body.pointer("/from/actor"), body.pointer("/to/actor")]))
        .collect();
    expect("takeovers of T4", &vec![json!([2, "agent/a3", "agent/a1"])], &taken)
}

fn objective(loopx: &Loopx) -> Result<(), Failure> {
    let history = loopx.run(&["history", "wine"])?;
    let reasons: Vec<bool> = bodies(&history, "goal.changed")
        .iter()
        .map(|body| text(body, "/reason").is_ok_and(|reason| reason.starts_with("prefer the smaller k")))
        .collect();
    expect("changes of the objective with their reason", &vec![true], &reasons)?;
    let ends = bodies(&history, "goal.completed").len();
    expect("completions of the goal", &1, &ends)
}

fn promotion(loopx: &Loopx) -> Result<(), Failure> {
    let history = loopx.run(&["history", "P1"])?;
    let recorded = bodies(&history, "promotion.recorded");
    let found = recorded.first().copied().unwrap_or(&Value::Null);
    let title = text(found, "/title")?;
    expect("what P1 promotes", &"k=1 metric=manhattan scaling=standard", &title.as_str())?;
    expect("rows that P1 cites", &4, &texts(found, "/cites").len())?;
    expect("rows that P1 is held against", &4, &texts(found, "/contrast").len())
}

/// A measured value in a record, up to its first digit after the point.
const VALUE: &[u8] = b"\"value\":\"0.";

/// Changes the last digit of a measured value in the middle of a copy: `verify` has to name that record.
fn tamper(loopx: &Loopx, dir: &Path, records: u64) -> Result<(u64, String), Failure> {
    let copy = dir.join("tampered");
    place::copy(&dir.join(".loopx"), &copy.join(".loopx"))?;
    let log = copy.join(".loopx").join("log").join("00000000000000000001.jsonl");
    let mut bytes = std::fs::read(&log).map_err(|error| place::failed(&log, &error))?;
    let (altered, at) =
        digit(&bytes, records / 2).ok_or_else(|| failed("expected a measured value to alter"))?;
    if let Some(digit) = bytes.get_mut(at) {
        // The lowest bit turns a digit into another digit.
        *digit ^= 1;
    }
    place::write(&log, &bytes)?;
    let reply = loopx.in_dir(&copy).ask(&["verify"])?;
    expect("exit of verify on an altered copy", &i32::from(exit::DAMAGED), &reply.exit)?;
    let said = text(&reply.document, "/error/message")?;
    expect("verify names the altered record", &true, &said.contains(&format!("record #{altered} ")))?;
    Ok((altered, said))
}

/// The first record from `middle` on that holds a measured value, and where the last digit of that is.
fn digit(bytes: &[u8], middle: u64) -> Option<(u64, usize)> {
    let mut from = 0;
    for (seq, line) in (1_u64..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
        let value = line.windows(VALUE.len()).position(|window| window == VALUE);
        if let Some(at) = value.filter(|_| seq >= middle) {
            return Some((seq, from + at + VALUE.len() + 3));
        }
        from += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Vec<Measured> {
        let measured = |(config, dataset, correct): &(&str, &str, &[u32])| Measured {
            todo: "T1".to_owned(),
            hypothesis: "H1".to_owned(),
            config: (*config).to_owned(),
            dataset: (*dataset).to_owned(),
            correct: correct.to_vec(),
            total: 120,
            values: Vec::new(),
            evidence: Vec::new(),
            judgement: String::new(),
        };
        KNOWN.iter().map(measured).collect()
    }

    #[test]
    fn a_number_that_is_one_off_is_named() {
        assert_eq!(numbers(&known()), Ok(()));
        let mut wrong = known();
        wrong[2].correct[1] = 113;
        let said = numbers(&wrong).unwrap_err().message;
        assert_eq!(
            said,
            "k=1 metric=euclidean scaling=standard: expected [114, 112, 112], found [114, 113, 112]"
        );
    }

    #[test]
    fn a_measurement_that_is_missing_is_missed() {
        let mut short = known();
        short.pop();
        assert_eq!(numbers(&short).unwrap_err().message, "measurements: expected 8, found 7");
    }

    #[test]
    fn the_digit_that_is_altered_is_the_last_of_the_first_value_from_the_middle_on() {
        let log = b"{\"value\":\"0.1111\"}\n{}\n{\"value\":\"0.2345\"}\n";
        assert_eq!(digit(log, 1), Some((1, 15)));
        let (seq, at) = digit(log, 2).unwrap();
        assert_eq!((seq, log[at]), (3, b'5'));
        assert_eq!(digit(log, 4), None);
    }
}
