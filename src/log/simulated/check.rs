//! What has to hold in a state that a crash left behind.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::dice::Dice;
use super::image::Image;
use super::model::{Model, Records, hold};
use super::world::{Machine, Mutant, World, world};
use super::writer::{ROOT, draft, open, read_all};
use crate::log::{Cursor, FileLog, Log, LogError, Wait};

const WAIT: Wait<'_> = Wait { holder: "checker", wait_ms: 0 };

/// A state that a crash left behind.
pub(super) struct Crashed {
    pub image: Image,
    pub boot: Option<u64>,
    /// What HEAD called durable before the crash.
    pub claimed: u64,
    /// Whether content that was never durable has been dropped from the page cache.
    pub evicted: bool,
    pub mutant: Option<Mutant>,
}

impl Crashed {
    fn start(&self, dice: &mut Dice) -> Machine {
        let mut world = World::new(self.image.clone(), dice.fork(), self.boot);
        world.mutant = self.mutant;
        Arc::new(Mutex::new(world))
    }
}

fn told(what: &str, error: &LogError) -> String {
    format!("{what}: {error:?}")
}

/// Checks one state. Returns how many were looked at: a recovery may itself be cut short.
pub(super) fn check(crashed: &Crashed, model: &Model, dice: &mut Dice, depth: usize) -> Result<u64, String> {
    let machine = crashed.start(dice);
    if crashed.image.find(Path::new(ROOT)).is_none() {
        return match model.acknowledged {
            None => Ok(1),
            Some(_) => Err("the ledger is gone".to_owned()),
        };
    }
    let mut states = 1;
    if depth > 0 && dice.once_in(4) {
        states += check_cut_short(crashed, model, dice, depth)?;
    }
    let log = open(&machine, 1).map_err(|error| told("open", &error))?;
    let before = match read_all(&log, &Cursor::START) {
        Ok(records) => records,
        Err(error) => return excuse(crashed, "read", error).map(|()| states),
    };
    hold(model, &before)?;
    if (before.len() as u64) < crashed.claimed {
        return Err(format!("HEAD called {} durable, {} are there", crashed.claimed, before.len()));
    }
    if let Some(known) = model.acknowledged {
        read_all(&log, &known).map_err(|error| told("read from an acknowledged record", &error))?;
    }
    let torn = rest(&machine, &before);
    if let Err(error) = log.transaction(&WAIT) {
        return excuse(crashed, "transaction", error).map(|()| states);
    }
    let after = read_all(&log, &Cursor::START).map_err(|error| told("read after recovery", &error))?;
    if after != before {
        return Err(format!("recovery changed the log from {} to {} records", before.len(), after.len()));
    }
    let kept = contents(&machine, "quarantine");
    if !torn.is_empty() && !kept.values().any(|bytes| *bytes == torn) {
        return Err(format!("{} bytes were cut and are not in quarantine", torn.len()));
    }
    let (first, kept_first) = (contents(&machine, "log"), kept);
    drop(log.transaction(&WAIT).map_err(|error| told("second transaction", &error))?);
    if contents(&machine, "log") != first || contents(&machine, "quarantine") != kept_first {
        return Err("a second recovery changed something".to_owned());
    }
    if dice.once_in(3) {
        goes_on(&machine, &log, model, dice)?;
    }
    Ok(states)
}

/// Nothing is amiss after a crash. Only where pages of records that nobody was told of are gone, after a sync that
/// failed, one may be told so.
fn excuse(crashed: &Crashed, what: &str, error: LogError) -> Result<(), String> {
    match error {
        LogError::DurabilityUnknown { .. } if crashed.evicted => Ok(()),
        LogError::Damaged(damage) if crashed.evicted && damage.place.seq.0 > crashed.claimed => Ok(()),
        error => Err(told(what, &error)),
    }
}

/// The bytes after the last record.
fn rest(machine: &Machine, records: &Records) -> Vec<u8> {
    let (cursor, _) = records.last().unwrap();
    let world = world(machine);
    let path = Path::new(ROOT).join(format!("log/{:020}.jsonl", cursor.segment.0));
    let bytes = world.image.file_at(&path).map(|node| node.cached.clone()).unwrap_or_default();
    let own = bytes[usize::try_from(cursor.end).unwrap()..].to_vec();
    let next = Path::new(ROOT).join(format!("log/{:020}.jsonl", cursor.seq.next().0));
    match world.image.file_at(&next) {
        Some(node) if own.is_empty() => node.cached.clone(),
        _ => own,
    }
}

/// The files of a directory, but for the lock and HEAD, which say who was there last.
fn contents(machine: &Machine, dir: &str) -> BTreeMap<String, Vec<u8>> {
    let world = world(machine);
    let dir = Path::new(ROOT).join(dir);
    let names = world.image.list(&dir).unwrap_or_default().into_iter();
    let files = names.filter(|name| name.ends_with(".jsonl") || name.ends_with(".torn"));
    files.map(|name| (name.clone(), world.image.file_at(&dir.join(name)).unwrap().cached.clone())).collect()
}

/// A recovery that dies half way, and then perhaps the power goes: everything holds for what that leaves behind.
fn check_cut_short(crashed: &Crashed, model: &Model, dice: &mut Dice, depth: usize) -> Result<u64, String> {
    let machine = crashed.start(dice);
    world(&machine).calls_left = Some(dice.roll(40));
    if let Ok(log) = open(&machine, 1) {
        drop(log.transaction(&WAIT));
    }
    let image = world(&machine).image.clone();
    let (image, boot) = if dice.once_in(2) {
        (image.crash(dice), crashed.boot.map(|boot| boot + 1))
    } else {
        (image, crashed.boot)
    };
    let next = Crashed { image, boot, ..*crashed };
    check(&next, model, dice, depth - 1)
}

/// The next record is stored, made durable, and survives whatever comes.
fn goes_on(machine: &Machine, log: &FileLog, model: &Model, dice: &mut Dice) -> Result<(), String> {
    let failed = |error: LogError| told("the next record", &error);
    let mut transaction = log.transaction(&WAIT).map_err(failed)?;
    let head = transaction.head();
    let line = draft(&head, transaction.durable(), &"agent/next".parse().unwrap(), "next", 300);
    let cursor = transaction.append(&head, &line).map_err(|error| format!("the next record: {error:?}"))?;
    drop(transaction);
    log.make_durable(&cursor, &WAIT).map_err(failed)?;
    let image = world(machine).image.crash(dice);
    let boot = world(machine).boot.map(|boot| boot + 1);
    let machine = Arc::new(Mutex::new(World::new(image, dice.fork(), boot)));
    let log = open(&machine, 1).map_err(failed)?;
    let records = read_all(&log, &Cursor::START).map_err(failed)?;
    if records.last().map(|(found, _)| *found) != Some(cursor) {
        return Err(format!("record {} was acknowledged after recovery and is lost", cursor.seq));
    }
    hold(model, &records[..records.len() - 1].to_vec())
}
