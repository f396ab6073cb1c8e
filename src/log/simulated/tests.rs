//! The simulation, as tests. A slice by default; `LOOPX_STATES=2000000 cargo test --release simulated` is the big run.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::schedule::{Plan, play};
use super::world::Mutant;

/// How many states are checked unless the environment says otherwise.
const STATES: u64 = if cfg!(debug_assertions) { 12_000 } else { 100_000 };

/// How many histories may pass before a mistake is found.
const MUTANT_HISTORIES: u64 = 3_000;

/// A number from the environment.
#[expect(clippy::disallowed_methods, reason = "a test may be told how long to run")]
pub(super) fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Every other history has faults, so that a seed alone names it.
fn plan(seed: u64) -> Plan {
    Plan { faults: seed.is_multiple_of(2), mutant: None }
}

/// What all histories came to.
#[derive(Default)]
struct Total {
    histories: u64,
    states: u64,
    outcomes: BTreeMap<&'static str, u64>,
    broken: Vec<String>,
}

/// Plays histories from `first` on, on every core, until there are enough states, or one is broken.
fn play_many(first: u64, states: u64) -> Total {
    let (next, total) = (AtomicU64::new(first), Mutex::new(Total::default()));
    let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(8));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let enough = |total: &Total| total.states >= states || !total.broken.is_empty();
                while !enough(&total.lock().unwrap()) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let played = play(seed, plan(seed));
                    let mut total = total.lock().unwrap();
                    total.histories += 1;
                    match played {
                        Ok(history) => {
                            total.states += history.states;
                            for (name, count) in history.outcomes {
                                *total.outcomes.entry(name).or_default() += count;
                            }
                        }
                        Err(what) => total.broken.push(what),
                    }
                }
            });
        }
    });
    total.into_inner().unwrap()
}

#[test]
fn whatever_crashes_and_fails_what_was_acknowledged_is_there_and_nothing_honest_is_called_damage() {
    let states = number("LOOPX_STATES").unwrap_or(STATES);
    let first = number("LOOPX_SEED").unwrap_or(1);
    let began = Instant::now();
    let total = play_many(first, states);
    println!(
        "{} crash states in {} histories from seed {first} in {:.1} s: {:?}",
        total.states,
        total.histories,
        began.elapsed().as_secs_f32(),
        total.outcomes
    );
    assert!(total.broken.is_empty(), "{:#?}", total.broken);
    assert!(total.states >= states && total.outcomes["acknowledged"] > 0);
    for outcome in ["durability unknown", "full", "i/o"] {
        assert!(states < 100_000 || total.outcomes.contains_key(outcome), "the histories meet {outcome}");
    }
}

/// Plays histories of an engine with a mistake, until the checks find it.
fn found(mutant: Mutant, faults: bool) -> String {
    let played =
        (1..MUTANT_HISTORIES).find_map(|seed| play(seed, Plan { faults, mutant: Some(mutant) }).err());
    played.unwrap_or_else(|| panic!("{mutant:?} is not found"))
}

#[test]
fn an_acknowledgement_without_a_sync_is_found() {
    let what = found(Mutant::NoSync, false);
    assert!(what.contains("durable") || what.contains("lost"), "{what}");
}

#[test]
fn a_directory_that_is_not_synced_is_found() {
    found(Mutant::NoDirectorySync, false);
}

#[test]
fn an_older_segment_that_is_not_synced_before_the_next_is_used_is_found() {
    found(Mutant::NoSyncOfOlderSegment, false);
}

#[test]
fn a_failed_sync_taken_for_a_good_one_is_found() {
    found(Mutant::FailedSyncForgiven, true);
}

#[test]
fn a_lock_that_keeps_nobody_out_is_found() {
    found(Mutant::NoLock, false);
}

#[test]
fn a_short_write_that_nobody_notices_is_found() {
    found(Mutant::ShortWriteIgnored, true);
}

#[test]
fn cut_bytes_that_are_not_kept_are_found() {
    let what = found(Mutant::NoQuarantine, false);
    assert!(what.contains("quarantine"), "{what}");
}

#[test]
fn a_restart_that_goes_unnoticed_is_found() {
    found(Mutant::BootIgnored, false);
}

#[test]
fn a_dur_that_is_too_high_is_found() {
    found(Mutant::DurTooHigh, false);
}
