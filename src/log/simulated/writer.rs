//! What a process does: opens the ledger, appends, waits for the disk, reads, until it is done or dead.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use super::calls::SimulatedDisk;
use super::dice::Dice;
use super::model::{Records, Shared, model};
use super::world::{Machine, Mutant, world};
use crate::hash::Hash;
use crate::id::{Actor, Seq};
use crate::log::{AppendError, Cursor, FileLog, Log, LogError, Transaction, Wait};
use crate::record::{Draft, frame};
use crate::time::Timestamp;

/// Where the ledger is.
pub(super) const ROOT: &str = "/.loopx";

/// From which length on a segment is sealed: a few records.
pub(super) const TARGET: u64 = 1_500;

const WAIT: Wait<'_> = Wait { holder: "simulated", wait_ms: 2_000 };

/// A process of the simulation.
pub(super) struct Process {
    pub machine: Machine,
    pub model: Shared,
    pub id: u64,
    pub dice: Dice,
}

/// The record after `head`, as a line with its line feed.
pub(super) fn draft(head: &Cursor, dur: Seq, actor: &Actor, request: &str, length: usize) -> Vec<u8> {
    let events = format!("{{\"k\":\"note\",\"kv\":1,\"b\":{{\"text\":\"{}\"}}}}", "x".repeat(length));
    let mut out = Vec::new();
    let draft = Draft {
        seq: head.seq.next(),
        prev: head.hash,
        dur,
        ts: Timestamp::MIN,
        actor,
        request: &request.parse().unwrap(),
        digest: Hash::ZERO,
        events: events.as_bytes(),
    };
    draft.write(&mut out).unwrap();
    out
}

/// Opens the ledger for a process, with small segments.
pub(super) fn open(machine: &Machine, id: u64) -> Result<FileLog, LogError> {
    let disk = Arc::new(SimulatedDisk { machine: machine.clone(), process: id });
    let mut log = FileLog::open_on(disk, Path::new(ROOT))?;
    log.store.segment_target = TARGET;
    Ok(log)
}

/// Everything that a log holds after `from`.
pub(super) fn read_all(log: &dyn Log, from: &Cursor) -> Result<Records, LogError> {
    let mut records = Vec::new();
    log.read(from, &mut |record, cursor| {
        records.push((*cursor, record.line().to_vec()));
        ControlFlow::Continue(())
    })?;
    Ok(records)
}

impl Process {
    fn alive(&self) -> bool {
        !world(&self.machine).dead.contains(&self.id)
    }

    /// Lives through some commands.
    pub(super) fn run(&mut self, commands: usize) {
        let log = match open(&self.machine, self.id) {
            Ok(log) => log,
            Err(error) => return self.failed(&error),
        };
        for _ in 0..commands {
            if !self.alive() {
                return;
            }
            if let Err(error) = self.command(&log) {
                self.failed(&error);
            }
        }
    }

    fn failed(&self, error: &LogError) {
        if self.alive() {
            model(&self.model).fail(error, &world(&self.machine));
        }
    }

    fn command(&mut self, log: &FileLog) -> Result<(), LogError> {
        if self.dice.once_in(8) {
            return self.reread(log);
        }
        if self.dice.once_in(8) {
            return self.ask_again(log);
        }
        let mut last = None;
        for _ in 0..1 + self.dice.roll(3) {
            let cursor = self.append(log)?;
            last = cursor.or(last);
            if self.dice.once_in(2) {
                break;
            }
        }
        match last.filter(|_| !self.dice.once_in(5)) {
            Some(cursor) => self.wait_for_disk(log, &cursor),
            None => Ok(()),
        }
    }

    fn wait_for_disk(&self, log: &FileLog, cursor: &Cursor) -> Result<(), LogError> {
        let durable = log.make_durable(cursor, &WAIT)?;
        let mut model = model(&self.model);
        if durable < cursor.seq {
            model.violations.push(format!("waited for {}, got {durable}", cursor.seq));
        }
        if self.alive() {
            model.count("acknowledged");
            model.acknowledge(cursor);
        }
        Ok(())
    }

    /// A reader without a lock sees what was acknowledged before it began.
    fn reread(&self, log: &FileLog) -> Result<(), LogError> {
        let known = model(&self.model).acknowledged;
        let records = read_all(log, &Cursor::START)?;
        if self.alive()
            && let Some(known) = known
            && !records.iter().any(|(cursor, _)| *cursor == known)
        {
            model(&self.model).violations.push(format!("a reader misses record {}", known.seq));
        }
        Ok(())
    }

    /// The same request again: the record is there, and it has to be durable before the answer is given.
    fn ask_again(&self, log: &FileLog) -> Result<(), LogError> {
        match read_all(log, &Cursor::START)?.last() {
            Some((cursor, _)) => self.wait_for_disk(log, cursor),
            None => Ok(()),
        }
    }

    /// One record, and the seal if it is due. `None` if it is not stored.
    fn append(&mut self, log: &FileLog) -> Result<Option<Cursor>, LogError> {
        let mut transaction = log.transaction(&WAIT)?;
        let request = {
            let mut model = model(&self.model);
            model.requests += 1;
            format!("r{}", model.requests)
        };
        let actor = "agent/w".parse().unwrap();
        let length = self.dice.pick(&[0, 40, 200, 600]);
        let Some(cursor) = self.offer(&mut *transaction, &actor, &request, length)? else { return Ok(None) };
        if transaction.wants_seal() {
            let request = frame::seal_request(cursor.segment).unwrap();
            self.offer(&mut *transaction, &Actor::System, request.as_str(), 0)?;
            transaction.rotate()?;
        }
        Ok(Some(cursor))
    }

    fn offer(
        &mut self,
        transaction: &mut dyn Transaction,
        actor: &Actor,
        request: &str,
        length: usize,
    ) -> Result<Option<Cursor>, LogError> {
        let head = transaction.head();
        let too_high = world(&self.machine).mutant == Some(Mutant::DurTooHigh);
        let dur = if too_high { head.seq } else { transaction.durable() };
        let line = draft(&head, dur, actor, request, length);
        let body = line[..line.len() - 1].to_vec();
        model(&self.model).offered.insert(body.clone());
        let stored = transaction.append(&head, &line);
        if !self.alive() {
            return Ok(None);
        }
        let mut model = model(&self.model);
        match stored {
            Ok(cursor) => return Ok(Some(cursor)),
            Err(AppendError::Conflict { .. }) => {
                model.violations.push("a conflict under the lock".to_owned())
            }
            Err(AppendError::NotStored(error)) => {
                model.refused.insert(body);
                model.fail(&error, &world(&self.machine));
            }
            Err(AppendError::Unknown(error)) => model.fail(&error, &world(&self.machine)),
        }
        Ok(None)
    }
}
