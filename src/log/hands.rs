//! Many hands: the lines of a chunk are verified on several threads, each line by itself; then the chain is linked in order.

use std::io;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::thread::{available_parallelism, scope};

use super::disk::{DiskFile, read_full};
use crate::record::recover::Fault;
use crate::record::survey::{Stop, walk};
use crate::record::{Link, Record, frame};

/// Bytes that are read and verified together: so many that a barrier costs little, and so few that memory stays bounded
/// however many hands there are.
pub(super) const CHUNK_BYTES: usize = 4 << 20;

/// What a hand takes at a time: it stays in the processor's cache, and a hand that is kept waiting holds up little.
const PART_BYTES: usize = 256 << 10;

/// Below this one hand is faster.
const LEAST_BYTES: usize = 2 * PART_BYTES;

/// A guess at the length of a record, for the room that its part needs.
const TYPICAL_BYTES: usize = 512;

/// Most hands: so many keep up with any disk.
const MOST: usize = 16;

/// How many hands this machine has.
pub(super) fn all() -> usize {
    available_parallelism().map_or(1, NonZero::get).min(MOST)
}

/// As [`walk`], on so many threads. The visitor is called on this one, in order.
pub(super) fn walk_with<'a>(
    hands: usize,
    link: &mut Link,
    bytes: &'a [u8],
    visit: &mut dyn FnMut(&Record<'a>, usize) -> ControlFlow<()>,
) -> (usize, Stop) {
    if hands < 2 || bytes.len() < LEAST_BYTES {
        return walk(link, bytes, visit);
    }
    let parts = split(bytes);
    let verified = share(hands, parts.iter().copied(), verify);
    let mut end = 0;
    for (due, (number, part)) in verified.iter().enumerate() {
        if due != *number {
            break;
        }
        for record in &part.records {
            if let Err(error) = link.accept(record) {
                return (end, Stop::Fault(Fault::Chain(error)));
            }
            end += record.line().len() + 1;
            if visit(record, end).is_break() {
                return (end, Stop::Visitor);
            }
        }
        if let Some(fault) = part.fault {
            return (end, Stop::Fault(fault));
        }
    }
    // What is left is a line without an end, or what a hand took and did not bring back.
    let rest = bytes.get(end..).unwrap_or_default();
    let (more, stop) = walk(link, rest, &mut |record, at| visit(record, end + at));
    (end + more, stop)
}

/// Lets so many threads, this one among them, take items from a queue. The results are in order, each with the number of
/// its item; one is missing only if the thread that took it was lost.
fn share<T, R: Send>(
    hands: usize,
    items: impl Iterator<Item = T> + Send,
    work: impl Fn(T) -> R + Sync,
) -> Vec<(usize, R)> {
    let queue = Mutex::new(items.enumerate());
    let turn = || {
        let mut done = Vec::new();
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((number, item)) = next else { return done };
            done.push((number, work(item)));
        }
    };
    let mut done = scope(|scope| {
        let started: Vec<_> = (1..hands).map(|_| scope.spawn(turn)).collect();
        let mut done = turn();
        started.into_iter().for_each(|hand| done.extend(hand.join().unwrap_or_default()));
        done
    });
    done.sort_unstable_by_key(|(number, _)| *number);
    done
}

/// What one hand found: the sound records at the beginning of its part, and why the next line is none.
struct Part<'a> {
    records: Vec<Record<'a>>,
    fault: Option<Fault>,
}

fn verify(bytes: &[u8]) -> Part<'_> {
    let mut part = Part { records: Vec::with_capacity(bytes.len() / TYPICAL_BYTES), fault: None };
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let Some(line) = line.strip_suffix(b"\n") else { break };
        let parsed = frame::parse(line).map_err(Fault::Frame);
        match parsed.and_then(|parsed| parsed.verify().map_err(Fault::Hash)) {
            Ok(record) => part.records.push(record),
            Err(fault) => {
                part.fault = Some(fault);
                break;
            }
        }
    }
    part
}

/// Cuts bytes into parts, each at the end of a line.
fn split(bytes: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::with_capacity(bytes.len() / PART_BYTES + 1);
    let mut rest = bytes;
    while let Some(line) =
        rest.get(PART_BYTES..).and_then(|after| after.iter().position(|byte| *byte == b'\n'))
    {
        let (part, left) = rest.split_at(PART_BYTES + line + 1);
        parts.push(part);
        rest = left;
    }
    parts.push(rest);
    parts
}

/// As [`read_full`], on so many threads.
pub(super) fn read_with(
    hands: usize,
    file: &dyn DiskFile,
    room: &mut [u8],
    offset: u64,
) -> io::Result<usize> {
    if hands < 2 || room.len() < LEAST_BYTES {
        return read_full(file, room, offset);
    }
    let wanted: Vec<usize> = room.chunks(PART_BYTES).map(<[u8]>::len).collect();
    let parts = room.chunks_mut(PART_BYTES).enumerate();
    let counts =
        share(hands, parts, |(number, part)| read_full(file, part, offset + (number * PART_BYTES) as u64));
    let mut filled = 0;
    for ((due, wanted), (number, count)) in wanted.into_iter().enumerate().zip(counts) {
        let count = if due == number { count? } else { 0 };
        filled += count;
        // Behind a short part there is nothing, or what was appended just now.
        if count < wanted {
            break;
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Hash;
    use crate::id::Seq;
    use crate::record::Draft;
    use crate::time::Timestamp;
    use proptest::prelude::*;

    fn lines(count: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut link = Link::GENESIS;
        for seq in 1..=count {
            let events = format!("{{\"n\":\"{}\"}}", "x".repeat(usize::try_from(seq * 37 % 900).unwrap()));
            let draft = Draft {
                seq: Seq(seq),
                prev: link.hash,
                dur: Seq::ZERO,
                ts: Timestamp::from_micros(i64::try_from(seq).unwrap()),
                actor: &"system".parse().unwrap(),
                request: &format!("r{seq}").parse().unwrap(),
                digest: Hash::ZERO,
                events: events.as_bytes(),
            };
            link = Link { seq: Seq(seq), hash: draft.write(&mut bytes).unwrap(), ts: draft.ts };
        }
        bytes
    }

    fn outcome(hands: usize, bytes: &[u8], most: usize) -> (usize, Stop, Link, Vec<usize>) {
        let (mut link, mut ends) = (Link::GENESIS, Vec::new());
        let (end, stop) = walk_with(hands, &mut link, bytes, &mut |_, end| {
            ends.push(end);
            if ends.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        (end, stop, link, ends)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn many_hands_find_what_one_finds(
            at in any::<prop::sample::Index>(),
            flip in 0u8..=255,
            cut in any::<bool>(),
            most in prop_oneof![Just(usize::MAX), 1usize..1_600],
        ) {
            let mut bytes = lines(1_500);
            let at = at.index(bytes.len());
            if cut { bytes.truncate(at.max(LEAST_BYTES)) } else { bytes[at] ^= flip }
            let one = outcome(1, &bytes, most);
            for hands in [2, 3, 7] {
                prop_assert_eq!(&outcome(hands, &bytes, most), &one);
            }
        }
    }
}
