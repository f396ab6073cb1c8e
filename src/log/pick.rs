//! Single records of a file log, by their place or by their number alone.

use std::cmp::Ordering;

use super::Pick;
use super::disk::{DiskFile, How, read_full};
use super::error::LogError;
use super::file::Store;
use crate::id::Seq;
use crate::limits::RECORD_MAX_BYTES;
use crate::record::{Record, frame};

/// What is read first of a record: more than most of them have.
const REACH_BYTES: usize = 4 << 10;

/// A segment that records are picked from.
struct Open {
    first: Seq,
    file: Box<dyn DiskFile>,
}

impl Store {
    /// As [`super::Log::pick`].
    pub(super) fn pick(
        &self,
        records: &[Pick],
        visit: &mut dyn FnMut(&Record<'_>),
    ) -> Result<bool, LogError> {
        let segments = self.segments()?;
        let mut open: Option<Open> = None;
        for pick in records {
            // A segment is named by its first record.
            let at = segments.partition_point(|first| *first <= pick.seq);
            let Some(first) = at.checked_sub(1).and_then(|at| segments.get(at)).copied() else {
                return Ok(false);
            };
            if open.as_ref().is_none_or(|open| open.first != first) {
                open = self.open_segment(first, How::Read)?.map(|file| Open { first, file });
            }
            let Some(segment) = &open else { return Ok(false) };
            let found = match pick.offset {
                Some(offset) => segment.take(pick.seq, offset, visit),
                None => segment.search(pick.seq, visit),
            };
            if !found.map_err(|error| LogError::reading("read", &self.layout.segment(first), error))? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Open {
    /// Visits the record that starts at `offset`, if it is sound and has this number.
    fn take(&self, seq: Seq, offset: u64, visit: &mut dyn FnMut(&Record<'_>)) -> std::io::Result<bool> {
        let line = self.line(offset)?;
        let record = frame::parse(&line).ok().and_then(|parsed| parsed.verify().ok());
        let Some(record) = record.filter(|record| record.seq() == seq) else { return Ok(false) };
        visit(&record);
        Ok(true)
    }

    /// Visits the record of this number: numbers grow with offsets, so it is found by halving.
    fn search(&self, seq: Seq, visit: &mut dyn FnMut(&Record<'_>)) -> std::io::Result<bool> {
        let (mut low, mut high) = (0, self.file.len()?);
        while low < high {
            let middle = low + (high - low) / 2;
            // The first record that starts at or after the middle.
            let start = if middle == 0 { 0 } else { middle + self.line(middle - 1)?.len() as u64 };
            let line = self.line(start)?;
            let Ok(found) = frame::parse(&line).map(frame::Unverified::claimed_seq) else {
                // Nothing starts after the middle, or nothing that can be told.
                high = middle;
                continue;
            };
            match found.cmp(&seq) {
                Ordering::Equal => return self.take(seq, start, visit),
                Ordering::Less => low = start + line.len() as u64 + 1,
                Ordering::Greater => high = middle,
            }
        }
        Ok(false)
    }

    /// The bytes from `offset` to the next line feed, without it; nothing if there is none in reach of a record.
    fn line(&self, offset: u64) -> std::io::Result<Vec<u8>> {
        for reach in [REACH_BYTES, RECORD_MAX_BYTES] {
            let mut bytes = vec![0; reach];
            let count = read_full(&*self.file, &mut bytes, offset)?;
            bytes.truncate(count);
            if let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
                bytes.truncate(end);
                return Ok(bytes);
            }
        }
        Ok(Vec::new())
    }
}
