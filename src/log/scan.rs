//! From segments to facts: reads forward from a cursor over all segments, verifying as it goes.

use std::io::ErrorKind;
use std::ops::ControlFlow;

use super::disk::{DiskFile, How, read_full};
use super::error::LogError;
use super::file::Store;
use super::head::{Head, Spot};
use super::layout::segment_of_name;
use super::{Cursor, Visit, hands};
use crate::id::Seq;
use crate::limits::{RECORD_MAX_BYTES, SEGMENT_MAX_BYTES};
use crate::record::recover::{Appended, Suffix};
use crate::record::survey::{self, Stop};
use crate::record::{Facts, Mark, Verdict, frame, judge};

/// How much is read at a time: small enough to stay in the processor's cache until it is hashed.
const CHUNK_BYTES: usize = 256 << 10;

/// How many times a reader looks again before it believes in damage: it takes no lock, so it may have read a tail
/// while a writer was putting it right.
const LOOKS: u32 = 3;

/// A walk over the log, just after the last sound record that it met.
pub(super) struct Walker<'s> {
    store: &'s Store,
    /// Just after the last record.
    pub cursor: Cursor,
    /// The segment being read, and how far.
    pub segment: Seq,
    pub offset: u64,
    /// Whether the last record seals `segment`.
    pub sealed: bool,
    /// The last record's `dur`.
    pub dur: Seq,
    durable: Option<Mark>,
    appended: Option<Appended>,
    poisoned: bool,
    /// How many threads verify.
    hands: usize,
    /// What is read into, kept from one segment to the next.
    buffer: Vec<u8>,
}

/// Where a walk ended.
pub(super) enum Ended {
    /// The visitor had enough.
    Visitor,
    /// The sound prefix came to its end.
    Prefix(Suffix),
}

impl<'s> Walker<'s> {
    /// A walk from `from`, once the record just before it has been found where it should be.
    pub(super) fn new(store: &'s Store, from: &Cursor) -> Result<Self, LogError> {
        let mut walker = Self {
            store,
            cursor: *from,
            segment: from.segment,
            offset: from.end,
            sealed: false,
            dur: Seq::ZERO,
            durable: None,
            appended: None,
            poisoned: false,
            hands: 1,
            buffer: Vec::new(),
        };
        if from.seq == Seq::ZERO {
            walker.cursor = Cursor::START;
            (walker.segment, walker.offset) = (Cursor::START.segment, 0);
            return Ok(walker);
        }
        let last = store.last_record(from.segment, from.end)?;
        match last.filter(|last| last.cursor == *from) {
            Some(last) => {
                (walker.sealed, walker.dur) = (last.sealed, last.dur);
                Ok(walker)
            }
            None => Err(LogError::CursorUnknown { seq: from.seq }),
        }
    }

    /// Takes note of what HEAD remembers. Called before the log is read, so that HEAD never claims more than the log.
    pub(super) fn remember(&mut self, head: &Head) {
        let (seq, hash) = (self.cursor.seq, self.cursor.hash);
        let mark = |spot: &Spot, before: Option<Mark>| {
            let known = before.filter(|mark| mark.seq == spot.seq).and_then(|mark| mark.found);
            Mark { seq: spot.seq, hash: spot.hash, found: if spot.seq == seq { Some(hash) } else { known } }
        };
        let durable = head.sync.as_ref().filter(|sync| sync.spot.seq > Seq::ZERO);
        self.durable = durable.map(|sync| mark(&sync.spot, self.durable));
        self.appended = head.append.as_ref().map(|append| Appended {
            mark: mark(&append.spot, self.appended.map(|appended| appended.mark)),
            this_boot: self.store.is_this_boot(&append.boot),
        });
        self.poisoned = self.store.is_poisoned(head);
    }

    /// Walks on to the end of the sound prefix.
    pub(super) fn run(&mut self, visit: &mut Visit<'_>) -> Result<Ended, LogError> {
        loop {
            let file = match self.store.open_segment(self.segment, How::Read)? {
                Some(file) => file,
                // A segment that was there a moment ago, or the very first one: nothing follows the prefix.
                None => return Ok(Ended::Prefix(Suffix::Nothing)),
            };
            if let Some(ended) = self.run_segment(&*file, visit)? {
                return Ok(ended);
            }
            let successor = self.cursor.seq.next();
            if successor == self.segment || self.store.open_segment(successor, How::Read)?.is_none() {
                return Ok(Ended::Prefix(Suffix::Nothing));
            }
            (self.segment, self.offset, self.sealed) = (successor, 0, false);
        }
    }

    /// Walks to the end of one segment; `None` if all of it is sound.
    fn run_segment(&mut self, file: &dyn DiskFile, visit: &mut Visit<'_>) -> Result<Option<Ended>, LogError> {
        let failed = |error| LogError::reading("read", &self.store.layout.segment(self.segment), error);
        let ahead = file.len().map_err(failed)?.saturating_sub(self.offset);
        let chunk = if self.hands > 1 { hands::CHUNK_BYTES } else { CHUNK_BYTES };
        let mut buffer = std::mem::take(&mut self.buffer);
        // One byte more than there is, so that the first read also meets the end of a short tail.
        buffer.resize(usize::try_from(ahead).unwrap_or(chunk).min(chunk) + 1, 0);
        let ended = self.run_in(&mut buffer, file, visit);
        self.buffer = buffer;
        ended
    }

    fn run_in(
        &mut self,
        buffer: &mut Vec<u8>,
        file: &dyn DiskFile,
        visit: &mut Visit<'_>,
    ) -> Result<Option<Ended>, LogError> {
        let mut carried = 0;
        loop {
            let room = buffer.get_mut(carried..).unwrap_or_default();
            let wanted = room.len();
            let count =
                hands::read_with(self.hands, file, room, self.offset + carried as u64).map_err(|error| {
                    LogError::reading("read", &self.store.layout.segment(self.segment), error)
                })?;
            let filled = carried + count;
            let (end, stop) = self.step(buffer.get(..filled).unwrap_or_default(), visit);
            let at_end = count < wanted;
            match stop {
                Stop::Visitor => return Ok(Some(Ended::Visitor)),
                Stop::NeedMore if at_end && end == filled => return Ok(None),
                Stop::NeedMore if !at_end && filled - end < RECORD_MAX_BYTES => {
                    buffer.copy_within(end..filled, 0);
                    carried = filled - end;
                    if carried * 2 > buffer.len() {
                        buffer.resize(buffer.len() * 4, 0);
                    }
                }
                Stop::NeedMore | Stop::Fault(_) => match self.rest(file, visit)? {
                    Some(ended) => return Ok(Some(ended)),
                    None => carried = 0,
                },
            }
        }
    }

    /// Walks over `bytes`, which start at `self.offset`.
    fn step(&mut self, bytes: &[u8], visit: &mut Visit<'_>) -> (usize, Stop) {
        let Self { cursor, segment, offset, sealed, dur, durable, appended, hands, .. } = self;
        let start = *offset;
        let mut link = cursor.link();
        let walked = hands::walk_with(*hands, &mut link, bytes, &mut |record, end| {
            *cursor = Cursor {
                seq: record.seq(),
                hash: record.hash(),
                ts: record.ts(),
                segment: *segment,
                end: start + end as u64,
            };
            *sealed = record.seals(*segment);
            *dur = record.dur();
            let marks = durable.iter_mut().chain(appended.iter_mut().map(|appended| &mut appended.mark));
            for mark in marks.filter(|mark| mark.seq == record.seq()) {
                mark.found = Some(record.hash());
            }
            visit(record, cursor)
        });
        *offset += walked.0 as u64;
        walked
    }

    /// Looks at everything from a bad line to the end of the segment. `None` if it turns out to be sound now: another
    /// process was writing it.
    fn rest(&mut self, file: &dyn DiskFile, visit: &mut Visit<'_>) -> Result<Option<Ended>, LogError> {
        let bytes = self.store.read_from(file, self.segment, self.offset)?;
        let (end, stop) = self.step(&bytes, visit);
        match stop {
            Stop::Visitor => Ok(Some(Ended::Visitor)),
            _ if end > 0 => Ok(None),
            _ => Ok(Some(Ended::Prefix(survey::suffix(&self.cursor.link(), &bytes)))),
        }
    }

    /// The facts, once the walk has ended with `suffix`.
    pub(super) fn facts(&self, suffix: Suffix) -> Result<Facts, LogError> {
        let known = self.appended.is_some_and(|a| a.this_boot && a.mark.found == Some(self.cursor.hash));
        let later_segment = !(known && suffix == Suffix::Nothing)
            && self.store.segments()?.iter().any(|first| *first > self.segment);
        Ok(Facts {
            last: self.cursor.link(),
            end: self.offset,
            suffix,
            sealed: self.sealed,
            later_segment,
            appended: self.appended,
            durable: self.durable,
            poisoned: self.poisoned,
        })
    }

    /// The highest sequence number known to be durable.
    pub(super) fn known_durable(&self) -> Seq {
        self.durable.map_or(Seq::ZERO, |mark| mark.seq).min(self.cursor.seq).max(self.dur)
    }
}

/// What a reader found: the walk, and unless its visitor broke off, what the table says.
pub(super) struct Found<'s> {
    pub walker: Walker<'s>,
    pub outcome: Option<(Suffix, Verdict)>,
}

impl Store {
    /// Reads from `from` to the end without a lock, and judges what it found; a bad verdict only if it lasts.
    pub(super) fn survey(&self, from: &Cursor, visit: &mut Visit<'_>) -> Result<Found<'_>, LogError> {
        self.survey_with(1, from, visit)
    }

    /// As [`Store::survey`], verifying on so many threads.
    pub(super) fn survey_with(
        &self,
        hands: usize,
        from: &Cursor,
        visit: &mut Visit<'_>,
    ) -> Result<Found<'_>, LogError> {
        let mut walker = Walker { hands, ..Walker::new(self, from)? };
        let mut looks = 1;
        loop {
            let Some((suffix, verdict)) = self.look(&mut walker, visit)? else {
                return Ok(Found { walker, outcome: None });
            };
            let stops = LogError::of(&verdict, walker.segment, Seq::ZERO).is_some();
            if !stops || looks == LOOKS {
                return Ok(Found { walker, outcome: Some((suffix, verdict)) });
            }
            looks += 1;
        }
    }

    /// Reads on once, and judges what was found; nothing if the visitor broke off.
    pub(super) fn look(
        &self,
        walker: &mut Walker<'_>,
        visit: &mut Visit<'_>,
    ) -> Result<Option<(Suffix, Verdict)>, LogError> {
        walker.remember(&self.read_head()?);
        let Ended::Prefix(suffix) = walker.run(visit)? else { return Ok(None) };
        Ok(Some((suffix, judge(&walker.facts(suffix)?))))
    }

    /// The first sequence numbers of all segments, in order.
    pub(super) fn segments(&self) -> Result<Vec<Seq>, LogError> {
        let dir = &self.layout.log;
        let names = self.disk.list(dir).map_err(|error| LogError::reading("list", dir, error))?;
        let mut found: Vec<Seq> = names.iter().filter_map(|name| segment_of_name(name)).collect();
        found.sort_unstable();
        Ok(found)
    }

    /// Just before the segment with the highest name: the part of the log that a crash can have touched.
    pub(super) fn before_last_segment(&self) -> Result<Option<Cursor>, LogError> {
        let segments = self.segments()?;
        let [.., before, last] = segments.as_slice() else { return Ok(None) };
        let Some(file) = self.open_segment(*before, How::Read)? else { return Ok(None) };
        let path = self.layout.segment(*before);
        let length = file.len().map_err(|error| LogError::reading("read", &path, error))?;
        let found = self.last_record(*before, length)?;
        Ok(found.map(|found| found.cursor).filter(|cursor| cursor.seq.next() == *last))
    }

    /// Opens a segment; `None` if there is none of that name.
    pub(super) fn open_segment(&self, first: Seq, how: How) -> Result<Option<Box<dyn DiskFile>>, LogError> {
        let path = self.layout.segment(first);
        match self.disk.open(&path, how) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) if how == How::Read => Err(LogError::reading("open", &path, error)),
            Err(error) => Err(LogError::writing("open", &path, error)),
        }
    }

    /// All bytes of a segment from `offset` on.
    pub(super) fn read_from(
        &self,
        file: &dyn DiskFile,
        segment: Seq,
        offset: u64,
    ) -> Result<Vec<u8>, LogError> {
        let failed = |error| LogError::reading("read", &self.layout.segment(segment), error);
        let length = file.len().map_err(failed)?;
        if length > SEGMENT_MAX_BYTES {
            return Err(LogError::LimitExceeded { what: "a segment", limit: SEGMENT_MAX_BYTES });
        }
        let mut bytes = vec![0; usize::try_from(length.saturating_sub(offset)).unwrap_or(0)];
        let count = read_full(file, &mut bytes, offset).map_err(failed)?;
        bytes.truncate(count);
        Ok(bytes)
    }

    /// The sound record that ends at `end` in `segment`, if there is one.
    pub(super) fn last_record(&self, segment: Seq, end: u64) -> Result<Option<LastRecord>, LogError> {
        let Some(file) = self.open_segment(segment, How::Read)? else { return Ok(None) };
        let failed = |error| LogError::reading("read", &self.layout.segment(segment), error);
        if end > file.len().map_err(failed)? {
            return Ok(None);
        }
        for reach in [4 << 10, 64 << 10, RECORD_MAX_BYTES as u64 + 1] {
            let start = end.saturating_sub(reach);
            let mut bytes = vec![0; usize::try_from(end - start).unwrap_or(0)];
            let count = read_full(&*file, &mut bytes, start).map_err(failed)?;
            let Some((&b'\n', before)) =
                bytes.get(..count).filter(|_| count == bytes.len()).and_then(<[u8]>::split_last)
            else {
                return Ok(None);
            };
            let line_start = before.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
            let Some(line_start) = line_start.or((start == 0).then_some(0)) else { continue };
            let line = before.get(line_start..).unwrap_or_default();
            let Some(record) = frame::parse(line).ok().and_then(|parsed| parsed.verify().ok()) else {
                return Ok(None);
            };
            let link = crate::record::Link::of(&record);
            let cursor = Cursor::at(&link, segment, end);
            return Ok(Some(LastRecord { cursor, sealed: record.seals(segment), dur: record.dur() }));
        }
        Ok(None)
    }
}

/// What a single look at the end of a segment tells.
pub(super) struct LastRecord {
    pub cursor: Cursor,
    pub sealed: bool,
    pub dur: Seq,
}

/// A visitor that looks at nothing.
pub(super) fn pass_over(_: &crate::record::Record<'_>, _: &Cursor) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
