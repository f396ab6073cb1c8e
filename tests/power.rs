//! Power cuts, thousands of them, on a disk that keeps, loses or zeroes each unsynced sector as it likes: what was
//! acknowledged is there, and nothing honest is called damage.

mod common;

use std::ops::ControlFlow;

use common::*;
use loopx::hash::Hash;
use loopx::id::Seq;
use loopx::log::Cursor;
use loopx::record::recover::{Appended, Facts, Mark, Suffix, Verdict, judge};
use loopx::record::{Link, survey};

const SECTOR: usize = 512;
const CUTS: u64 = 4_000;

/// A small generator of random numbers; the seed is in every message.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) % sides
    }
}

/// What HEAD said at some moment: the last record appended, and the last one known to be durable.
#[derive(Clone, Copy, Default)]
struct Head {
    appended: Option<(Seq, Hash)>,
    durable: Option<(Seq, Hash)>,
}

/// A segment as the page cache has it, and as far as the disk is bound to keep it.
struct Disk {
    cached: Vec<u8>,
    synced: usize,
    /// HEAD as it was at each change since it was last certainly on disk; any of these may be what is found.
    heads: Vec<Head>,
    link: Link,
    acknowledged: Seq,
}

impl Disk {
    fn new() -> Self {
        let cached = genesis();
        let mut disk = Self {
            synced: cached.len(),
            cached,
            heads: Vec::new(),
            link: Link::GENESIS,
            acknowledged: Seq(1),
        };
        survey::walk(&mut disk.link, &disk.cached, &mut |_, _| ControlFlow::Continue(()));
        let mark = Some((disk.link.seq, disk.link.hash));
        disk.heads.push(Head { appended: mark, durable: mark });
        disk
    }

    fn head(&self) -> Head {
        self.heads.last().copied().unwrap_or_default()
    }

    fn append(&mut self, dice: &mut Dice) {
        let Link { seq, hash, ts } = self.link;
        let head = Cursor { seq, hash, ts, segment: Seq(1), end: 0 };
        // A writer knows what the sync mark says, or an older state of it.
        let dur = if dice.roll(4) == 0 { Seq(dice.roll(self.acknowledged.0 + 1)) } else { self.acknowledged };
        let text = "x".repeat(usize::try_from(dice.roll(900)).unwrap());
        let line = line(&head, dur, "agent/w7", "r", &note(&text));
        survey::walk(&mut self.link, &line, &mut |_, _| ControlFlow::Continue(()));
        self.cached.extend_from_slice(&line);
        self.heads.push(Head { appended: Some((self.link.seq, self.link.hash)), ..self.head() });
    }

    fn sync(&mut self) {
        self.synced = self.cached.len();
        self.acknowledged = self.link.seq;
        self.heads.push(Head { durable: Some((self.link.seq, self.link.hash)), ..self.head() });
    }

    /// What is found after the power comes back: the file, and HEAD if it is there.
    fn cut(&self, dice: &mut Dice) -> (Vec<u8>, Option<Head>) {
        let length =
            self.synced + usize::try_from(dice.roll((self.cached.len() - self.synced) as u64 + 1)).unwrap();
        let mut found = self.cached[..length].to_vec();
        let mut at = self.synced;
        while at < length {
            let end = ((at / SECTOR + 1) * SECTOR).min(length);
            if dice.roll(3) == 0 {
                found[at..end].fill(0);
            }
            at = end;
        }
        let head = (dice.roll(5) > 0)
            .then(|| self.heads[usize::try_from(dice.roll(self.heads.len() as u64)).unwrap()]);
        (found, head)
    }

    /// Starts again on what was found, as the next writer does.
    fn recover(&mut self, found: Vec<u8>, head: Option<Head>) -> Verdict {
        let mark = |(seq, hash): (Seq, Hash)| Mark { seq, hash, found: None };
        let mut durable = head.and_then(|head| head.durable).map(mark);
        let mut appended = head.and_then(|head| head.appended).map(mark);
        let mut link = Link::GENESIS;
        let (end, _) = survey::walk(&mut link, &found, &mut |record, _| {
            for mark in durable.iter_mut().chain(appended.iter_mut()).filter(|mark| mark.seq == record.seq())
            {
                mark.found = Some(record.hash());
            }
            ControlFlow::Continue(())
        });
        let suffix = if end == found.len() { Suffix::Nothing } else { survey::suffix(&link, &found[end..]) };
        let verdict = judge(&Facts {
            last: link,
            end: end as u64,
            suffix,
            sealed: false,
            later_segment: false,
            appended: appended.map(|mark| Appended { mark, this_boot: false }),
            durable,
            poisoned: false,
        });
        self.cached = found[..end].to_vec();
        self.synced = end;
        self.link = link;
        // The sync mark stays as it was found; the append mark is written anew.
        let durable = head.and_then(|head| head.durable);
        let marked = Head { appended: Some((link.seq, link.hash)), durable };
        self.heads = head.into_iter().chain([marked]).collect();
        verdict
    }
}

#[test]
fn after_any_power_cut_what_was_acknowledged_is_there_and_nothing_honest_is_called_damage() {
    let mut torn = 0;
    for seed in 1..=CUTS {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut disk = Disk::new();
        for _ in 0..4 {
            for _ in 0..dice.roll(6) {
                disk.append(&mut dice);
                if dice.roll(3) == 0 {
                    disk.sync();
                }
            }
            let acknowledged = disk.acknowledged;
            let before = disk.cached[..disk.synced].to_vec();
            let (found, head) = disk.cut(&mut dice);
            let verdict = disk.recover(found, head);
            assert!(matches!(verdict, Verdict::Adopt | Verdict::Torn { .. }), "seed {seed}: {verdict:?}");
            assert!(disk.link.seq >= acknowledged, "seed {seed}: {} < {acknowledged}", disk.link.seq);
            assert!(disk.cached.starts_with(&before), "seed {seed}");
            torn += u64::from(matches!(verdict, Verdict::Torn { .. }));
        }
    }
    assert!(torn > CUTS / 4, "the cuts do tear records: {torn}");
}

#[test]
fn after_any_power_cut_the_loss_of_an_acknowledged_record_is_never_called_torn_while_head_knows_it() {
    for seed in 1..=CUTS {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut disk = Disk::new();
        for _ in 0..2 + dice.roll(5) {
            disk.append(&mut dice);
        }
        disk.sync();
        for _ in 0..dice.roll(3) {
            disk.append(&mut dice);
        }
        let (mut found, _) = disk.cut(&mut dice);
        let at = usize::try_from(dice.roll(disk.synced as u64)).unwrap();
        found[at] ^= 1 << dice.roll(8);
        let head = disk.head();
        let verdict = disk.recover(found, Some(head));
        assert!(matches!(verdict, Verdict::Damaged { .. }), "seed {seed}: {verdict:?}");
    }
}
