//! Many hands: the lines of a chunk are verified on several threads, each line by itself; then the chain is linked in order.

use std::io;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::thread::{available_parallelism, scope};

use super::disk::{DiskFile, read_full};
use crate::record::recover::Fault;
use crate::record::survey::{Stop, walk};
use crate::record::{Link, Record, frame};

/// Bytes for each hand at a time: much more than it costs to start one, and few enough for the memory of a small machine.
pub(super) const PART_BYTES: usize = 1 << 20;

/// Below this one hand is faster.
const LEAST_BYTES: usize = 128 << 10;

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
    let parts = split(bytes, hands);
    let verified: Vec<Part<'a>> = scope(|scope| {
        let mut rest = parts.iter().skip(1).copied();
        let started: Vec<_> = rest.by_ref().map(|part| scope.spawn(move || verify(part))).collect();
        let first = parts.first().copied().map(verify);
        let others = started.into_iter().map(|hand| hand.join().unwrap_or_default());
        first.into_iter().chain(others).collect()
    });
    let mut end = 0;
    for (part, bytes) in verified.iter().zip(&parts) {
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
        // A hand that did not come back has verified nothing: one hand goes on from there.
        if part.records.is_empty() && bytes.contains(&b'\n') {
            break;
        }
    }
    // What no hand has verified is a line without an end, unless a hand was lost.
    let rest = bytes.get(end..).unwrap_or_default();
    let (more, stop) = walk(link, rest, &mut |record, at| visit(record, end + at));
    (end + more, stop)
}

/// What one hand found: the sound records at the beginning of its part, and why the next line is none.
#[derive(Default)]
struct Part<'a> {
    records: Vec<Record<'a>>,
    fault: Option<Fault>,
}

fn verify(bytes: &[u8]) -> Part<'_> {
    let mut part = Part::default();
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

/// Cuts bytes into about as many parts as there are hands, each at the end of a line.
fn split(bytes: &[u8], hands: usize) -> Vec<&[u8]> {
    let each = bytes.len().div_ceil(hands);
    let mut parts = Vec::with_capacity(hands);
    let mut rest = bytes;
    while rest.len() > each {
        let (_, after) = rest.split_at(each);
        let Some(line) = after.iter().position(|byte| *byte == b'\n') else { break };
        let (part, left) = rest.split_at(each + line + 1);
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
    let each = room.len().div_ceil(hands);
    let counts: Vec<(usize, io::Result<usize>)> = scope(|scope| {
        let mut started = Vec::new();
        for (number, part) in room.chunks_mut(each).enumerate() {
            let at = offset + (number * each) as u64;
            started.push((part.len(), scope.spawn(move || read_full(file, part, at))));
        }
        let lost = || Err(io::Error::other("a thread was lost"));
        started.into_iter().map(|(len, hand)| (len, hand.join().unwrap_or_else(|_| lost()))).collect()
    });
    let mut filled = 0;
    for (length, count) in counts {
        let count = count?;
        filled += count;
        // Behind a short part there is nothing, or what was appended just now.
        if count < length {
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
            most in prop_oneof![Just(usize::MAX), 1usize..600],
        ) {
            let mut bytes = lines(500);
            let at = at.index(bytes.len());
            if cut { bytes.truncate(at.max(LEAST_BYTES)) } else { bytes[at] ^= flip }
            let one = outcome(1, &bytes, most);
            for hands in [2, 3, 7] {
                prop_assert_eq!(&outcome(hands, &bytes, most), &one);
            }
        }
    }
}
