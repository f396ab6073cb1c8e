//! A log of 64 KiB, and every small thing that can be done to it: each is found, at its record, with the verdict of the
//! table. `LOOPX_GOLDEN=1` tries everything; else a part of it, evenly spread.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::calls::SimulatedDisk;
use super::dice::Dice;
use super::image::{Image, Mode};
use super::tests::number;
use super::world::{Machine, World, world};
use super::writer::{ROOT, draft};
use crate::id::{Actor, LedgerId, Seq};
use crate::log::scan::{Walker, pass_over};
use crate::log::{Cursor, FileLog, Log, Wait};
use crate::record::Verdict;

const LENGTH: usize = 64 << 10;
const WAIT: Wait<'_> = Wait { holder: "golden", wait_ms: 0 };

/// One of so many changes is tried where not all are; a prime, so that every bit and every kind of byte comes up.
const STRIDE: usize = if cfg!(debug_assertions) { 499 } else { 31 };

/// The log, and the cursor and line of each record.
struct Golden {
    machine: Machine,
    log: FileLog,
    records: Vec<(Cursor, Vec<u8>)>,
    /// Whether HEAD is there.
    head: bool,
}

impl Golden {
    fn new(head: bool) -> Self {
        let image = Image::new(Mode::Ordered);
        let machine: Machine = Arc::new(Mutex::new(World::new(image, Dice::new(1), Some(1))));
        let disk = Arc::new(SimulatedDisk { machine: machine.clone(), process: 1 });
        let genesis = draft(&Cursor::START, Seq::ZERO, &Actor::System, "init", 10);
        let id: LedgerId = "01J5ZK0000000000000000000A".parse().unwrap();
        let log = FileLog::create_on(disk, Path::new(ROOT), id, &genesis, false).unwrap();
        let mut length = genesis.len();
        while length < LENGTH {
            let mut transaction = log.transaction(&WAIT).unwrap();
            let at = transaction.head();
            let size =
                usize::try_from(at.seq.0 * 37 % 300).unwrap().min((LENGTH - length).saturating_sub(330));
            let line = draft(&at, transaction.durable(), &"agent/w7".parse().unwrap(), "r", size);
            length += line.len();
            let cursor = transaction.append(&at, &line).unwrap();
            drop(transaction);
            log.make_durable(&cursor, &WAIT).unwrap();
        }
        let mut records = super::writer::read_all(&log, &Cursor::START).unwrap();
        records.iter_mut().for_each(|(_, line)| line.push(b'\n'));
        if !head {
            world(&machine).image.remove(&Path::new(ROOT).join("log/HEAD")).unwrap();
        }
        Self { machine, log, records, head }
    }

    fn bytes(&self) -> Vec<u8> {
        self.records.iter().flat_map(|(_, line)| line.clone()).collect()
    }

    fn count(&self) -> usize {
        self.records.len()
    }

    /// How many whole records `bytes` begins with.
    fn intact(&self, bytes: &[u8]) -> usize {
        let begins = |(cursor, line): &(Cursor, Vec<u8>)| {
            let end = usize::try_from(cursor.end).unwrap();
            bytes.get(end - line.len()..end) == Some(line)
        };
        self.records.iter().position(|record| !begins(record)).unwrap_or(self.count())
    }

    /// The verdict on `bytes` in the log's place. What lies before the first record that may differ is read only where
    /// `whole` says so.
    fn judge(&self, bytes: Vec<u8>, whole: bool) -> (Verdict, usize) {
        let intact = self.intact(&bytes);
        {
            let mut world = world(&self.machine);
            let path = Path::new(ROOT).join("log/00000000000000000001.jsonl");
            let id = world.image.find(&path).unwrap();
            world.image.file_mut(id).cached = bytes;
        }
        let from =
            intact.checked_sub(1).filter(|_| !whole).map_or(Cursor::START, |last| self.records[last].0);
        let mut walker = Walker::new(&self.log.store, &from).unwrap();
        let (_, verdict) = self.log.store.look(&mut walker, &mut pass_over).unwrap().unwrap();
        (verdict, intact)
    }

    /// Judges `bytes`, and holds it against the table; `forked` is the number that two records claim.
    fn hold(&self, bytes: Vec<u8>, whole: bool, forked: Option<usize>, what: &dyn Fn() -> String) {
        let length = bytes.len();
        let (verdict, intact) = self.judge(bytes, whole);
        let end = intact.checked_sub(1).map_or(0, |last| usize::try_from(self.records[last].0.end).unwrap());
        let seq = |count: usize| Seq(count as u64);
        let (next, rest) = (seq(intact + 1), length - end);
        // The last record has no later one to say that it was durable; HEAD says so, if it is there.
        let remembered = if self.head { intact < self.count() } else { intact + 1 < self.count() };
        let fits = match (forked, rest) {
            (Some(claimed), _) => {
                matches!(verdict, Verdict::Fork { seq: found, .. } if found == seq(claimed))
            }
            (None, 0) if intact == 0 => matches!(verdict, Verdict::Rollback { have: Seq::ZERO, .. }),
            (None, 0) if self.head && intact < self.count() => {
                verdict == Verdict::Rollback { have: seq(intact), expected: seq(self.count()) }
            }
            (None, 0) => matches!(verdict, Verdict::Clean | Verdict::Adopt),
            (None, _) if intact == 0 || (remembered && self.says(intact, length)) => {
                matches!(verdict, Verdict::Damaged { seq: found, .. } if found == next)
            }
            (None, _) => {
                matches!(verdict, Verdict::Torn { seq: found, bytes, .. } if found == next && bytes == rest as u64)
            }
        };
        assert!(fits, "{}: {intact} records are intact, {verdict:?}", what());
    }

    /// Whether anything says that the record after `intact` was durable: HEAD, or a whole record behind it.
    fn says(&self, intact: usize, length: usize) -> bool {
        self.head || length > usize::try_from(self.records[intact + 1].0.end).unwrap() - 2
    }
}

/// Runs `try_one` for the numbers below `count`: all of them, or one of every [`STRIDE`], on two threads.
fn each(name: &str, count: usize, dense: usize, try_one: impl Fn(&Golden, &[u8], usize) + Sync) {
    let stride = if number("LOOPX_GOLDEN").is_some() { 1 } else { (STRIDE / dense).max(1) };
    let (began, tried) = (Instant::now(), Mutex::new(0));
    std::thread::scope(|scope| {
        for (head, half) in [(true, 0), (true, 1), (false, 0)] {
            let (try_one, tried) = (&try_one, &tried);
            scope.spawn(move || {
                let golden = Golden::new(head);
                let bytes = golden.bytes();
                // Without HEAD one change in seven is enough: only the end of the log is judged otherwise.
                let (first, step) = if head { (half * stride, 2 * stride) } else { (3 * stride, 7 * stride) };
                for at in (first..count).step_by(step) {
                    try_one(&golden, &bytes, at);
                    *tried.lock().unwrap() += 1;
                }
            });
        }
    });
    println!("{} {name} in {:.1} s", tried.into_inner().unwrap(), began.elapsed().as_secs_f32());
}

#[test]
fn the_golden_log_has_64_kib_and_is_clean() {
    let golden = Golden::new(true);
    let bytes = golden.bytes();
    assert!((LENGTH..LENGTH + 512).contains(&bytes.len()), "{}", bytes.len());
    assert_eq!(golden.judge(bytes, true), (Verdict::Clean, golden.count()));
    assert!(golden.count() > 100);
}

#[test]
fn every_flipped_bit_is_found_at_its_record() {
    each("flipped bits", LENGTH * 8, 1, |golden, bytes, at| {
        let mut bytes = bytes.to_vec();
        bytes[at / 8] ^= 1 << (at % 8);
        golden.hold(bytes, at % 16 == 0, None, &|| format!("bit {at}"));
    });
}

#[test]
fn every_truncation_is_found() {
    each("truncations", LENGTH, 4, |golden, bytes, at| {
        golden.hold(bytes[..at].to_vec(), at % 16 == 0, None, &|| format!("cut at {at}"));
    });
}

#[test]
fn every_byte_that_is_taken_out_or_put_in_is_found_at_its_record() {
    each("bytes out", LENGTH, 2, |golden, bytes, at| {
        golden.hold([&bytes[..at], &bytes[at + 1..]].concat(), false, None, &|| format!("without byte {at}"));
    });
    each("bytes in", LENGTH * 4, 2, |golden, bytes, number| {
        let (at, byte) = (number / 4, [b'\n', b'0', b'"', 0xff][number % 4]);
        let more = [&bytes[..at], &[byte], &bytes[at..]].concat();
        golden.hold(more, false, None, &|| format!("{byte:#x} at {at}"));
    });
}

#[test]
fn every_pair_of_swapped_lines_and_every_line_repeated_anywhere_is_found() {
    let count = Golden::new(true).count();
    each("swapped lines", count * count, 8, |golden, _, number| {
        let (one, other) = (number / count, number % count);
        if one < other {
            let mut lines: Vec<&[u8]> = golden.records.iter().map(|(_, line)| &line[..]).collect();
            lines.swap(one, other);
            golden.hold(lines.concat(), false, None, &|| format!("lines {one} and {other} swapped"));
        }
    });
    each("repeated lines", count * (count + 1), 8, |golden, _, number| {
        let (line, place) = (number / (count + 1), number % (count + 1));
        let mut lines: Vec<&[u8]> = golden.records.iter().map(|(_, line)| &line[..]).collect();
        lines.insert(place, lines[line]);
        // Put in behind itself, its number is taken; before itself, it is out of order.
        let forked = (place >= line).then_some(line + 1);
        golden.hold(lines.concat(), false, forked, &|| format!("line {line} again at {place}"));
    });
}
