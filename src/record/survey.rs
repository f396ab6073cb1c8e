//! From the bytes of a segment to facts: walk the sound prefix, then survey what follows it.

use std::io::BufRead;
use std::ops::ControlFlow;

use super::chain::Link;
use super::frame::{self, FrameFault, Record};
use super::recover::{Fault, Suffix};
use crate::hash::Hash;
use crate::id::Seq;

/// What follows the sound prefix, and what the sound records in it say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bad {
    /// In which respect the first line is not the next record.
    pub fault: Fault,
    /// How many bytes follow the prefix in its segment.
    pub bytes: u64,
    /// The highest `dur` of any sound record from the first bad byte on.
    pub highest_dur: Option<Seq>,
    /// A sequence number that a sound record claims although another sound record has it, and where that record
    /// starts after the prefix.
    pub claimed_twice: Option<(Seq, u64)>,
    /// First and last of the longest run of sound records that are chained among themselves.
    pub sound: Option<(Seq, Seq)>,
}

/// Why [`walk`] came to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// No complete line is left.
    NeedMore,
    /// The next line is not the next record.
    Fault(Fault),
    /// The visitor had enough.
    Visitor,
}

/// Walks the complete lines of `bytes` as long as each is the record that follows `link`, and brings `link` up to the
/// last one accepted. The visitor gets each record and the offset of its end. Returns the offset behind the last
/// accepted line, and why it ended there.
pub fn walk<'a>(
    link: &mut Link,
    bytes: &'a [u8],
    visit: &mut dyn FnMut(&Record<'a>, usize) -> ControlFlow<()>,
) -> (usize, Stop) {
    let mut end = 0;
    let mut rest = bytes;
    while let Some(line) = next_line(&mut rest) {
        let accepted = frame::parse(line).map_err(Fault::Frame).and_then(|unverified| {
            let record = unverified.verify().map_err(Fault::Hash)?;
            link.accept(&record).map_err(Fault::Chain)?;
            Ok(record)
        });
        match accepted {
            Ok(record) => {
                end += line.len() + 1;
                if visit(&record, end).is_break() {
                    return (end, Stop::Visitor);
                }
            }
            Err(fault) => return (end, Stop::Fault(fault)),
        }
    }
    (end, Stop::NeedMore)
}

/// Takes the next complete line, without its line feed. `skip_until` searches faster than a loop over bytes.
fn next_line<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let whole = *rest;
    let length = rest.skip_until(b'\n').ok()?;
    whole.get(..length)?.strip_suffix(b"\n")
}

/// Reads everything after the sound prefix that ends with `last`: bytes whose first line is not the next record.
#[must_use]
pub fn suffix(last: &Link, bytes: &[u8]) -> Suffix {
    if bytes.is_empty() {
        return Suffix::Nothing;
    }
    let mut rest = bytes;
    let first = next_line(&mut rest);
    let fault = first.map_or(Fault::Unterminated, |line| first_fault(last, line));
    if let (Fault::Frame(error), Some(line)) = (fault, first)
        && let FrameFault::Newer(version) = error.fault
        && frame::suffix_holds(line)
    {
        return Suffix::Newer { version };
    }
    let mut survey = Survey::new(last.seq);
    survey.read(bytes);
    Suffix::Bad(survey.finish(fault, bytes.len() as u64))
}

fn first_fault(last: &Link, line: &[u8]) -> Fault {
    match frame::parse(line).map_err(Fault::Frame).and_then(|parsed| parsed.verify().map_err(Fault::Hash)) {
        Ok(record) => last.clone().accept(&record).map_or_else(Fault::Chain, |()| Fault::Unterminated),
        Err(fault) => fault,
    }
}

/// Collects what the sound records behind a fault say. Several segments may be read one after the other.
#[derive(Debug, Clone)]
pub struct Survey {
    last: Seq,
    read: u64,
    highest_dur: Option<Seq>,
    claimed_twice: Option<(Seq, u64)>,
    run: Option<(Seq, Seq, Hash)>,
    longest: Option<(Seq, Seq)>,
}

impl Survey {
    /// A survey behind the record `last`.
    #[must_use]
    pub const fn new(last: Seq) -> Self {
        Self { last, read: 0, highest_dur: None, claimed_twice: None, run: None, longest: None }
    }

    /// Reads on.
    pub fn read(&mut self, bytes: &[u8]) {
        let mut start = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if let Some((at, record)) = sound(line.strip_suffix(b"\n").unwrap_or(line)) {
                self.note(&record, self.read + start + at as u64);
            }
            start += line.len() as u64;
        }
        self.read += start;
    }

    fn note(&mut self, record: &Record<'_>, at: u64) {
        let seq = record.seq();
        let repeats = self.run.is_some_and(|(_, last, _)| last == seq);
        if seq <= self.last || repeats {
            self.claimed_twice = self.claimed_twice.or(Some((seq, at)));
        }
        self.highest_dur = self.highest_dur.max(Some(record.dur()));
        let first = match self.run {
            Some((first, last, hash)) if last.next() == seq && hash == record.prev() => first,
            _ => seq,
        };
        self.run = Some((first, seq, record.hash()));
        if self.longest.is_none_or(|(from, to)| seq.0 - first.0 > to.0 - from.0) {
            self.longest = Some((first, seq));
        }
    }

    /// First and last of the longest run of sound records that are chained among themselves.
    #[must_use]
    pub const fn sound(&self) -> Option<(Seq, Seq)> {
        self.longest
    }

    /// What was found.
    #[must_use]
    pub const fn finish(&self, fault: Fault, bytes: u64) -> Bad {
        let Self { highest_dur, claimed_twice, longest, .. } = *self;
        Bad { fault, bytes, highest_dur, claimed_twice, sound: longest }
    }
}

/// The sound record at the end of `line`, and where it starts. A lost line feed, or zeroes in place of lost bytes, put
/// a record behind other bytes on the same line; it counts as well, or one flipped bit could hide what it says.
fn sound(line: &[u8]) -> Option<(usize, Record<'_>)> {
    let mut at = 0;
    loop {
        let rest = line.get(at..)?;
        if rest.starts_with(b"{\"v\":1,\"seq\":")
            && let Some(record) = frame::parse(rest).ok().and_then(|parsed| parsed.verify().ok())
        {
            return Some((at, record));
        }
        at += 1 + rest.iter().skip(1).position(|byte| *byte == b'{')?;
    }
}
