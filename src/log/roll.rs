//! After a sync that failed, or of which nobody knows: the last segment is written anew.
//!
//! A failed sync may leave pages that the kernel takes to be clean although the disk does not have them, so no later sync
//! of that file means anything. Its content is therefore verified, copied to a new file, synced there, and renamed into
//! its place. Killed at any point, the segment is the old file or the new one, with the same bytes.

use std::ops::ControlFlow;
use std::path::Path;

use super::Cursor;
use super::disk::{DiskFile, How, write_full};
use super::error::LogError;
use super::file::Store;
use super::head::{Head, Spot, SyncMark};
use super::scan::{Ended, Walker, pass_over};
use crate::id::Seq;
use crate::record::{Verdict, judge, survey};

impl Store {
    /// Rolls the last segment forward. The caller holds `lock` and `sync.lock`. Returns the last record's number.
    pub(super) fn roll_last_segment(&self, head_file: &dyn DiskFile) -> Result<Seq, LogError> {
        let start = self.before_last_segment()?.unwrap_or(Cursor::START);
        let mut walker = Walker::new(self, &start)?;
        let head = self.head_of(head_file)?;
        walker.remember(&head);
        let Ended::Prefix(suffix) = walker.run(&mut pass_over)? else {
            return Err(LogError::DurabilityUnknown { durable: walker.known_durable() });
        };
        let verdict = judge(&walker.facts(suffix)?);
        match LogError::of(&verdict, walker.segment, walker.known_durable()) {
            Some(error) if verdict != Verdict::SyncUnknown => return Err(error),
            Some(_) | None => {}
        }
        // A record that can no longer be read is not given up: after a restart its place tells whether it is there.
        let appended = head.append.filter(|append| self.is_this_boot(&append.boot));
        if appended.is_some_and(|append| append.spot.seq > walker.cursor.seq) {
            return Err(LogError::DurabilityUnknown { durable: walker.known_durable() });
        }
        self.roll_forward(head_file, &start, &walker)
    }

    /// Rolls the segment forward that follows `start` and in which the walk ended.
    fn roll_forward(
        &self,
        head_file: &dyn DiskFile,
        start: &Cursor,
        walker: &Walker<'_>,
    ) -> Result<Seq, LogError> {
        let (segment, last) = (walker.segment, &walker.cursor);
        let unknown = || LogError::DurabilityUnknown { durable: walker.known_durable() };
        let file = self.open_segment(segment, How::Read)?.ok_or_else(unknown)?;
        let bytes = self.read_from(&*file, segment, 0)?;
        let begin = if start.segment == segment { start.end } else { 0 };
        if !holds(&bytes, start, begin, last) {
            return Err(unknown());
        }
        self.replace(segment, &bytes).map_err(|_| unknown())?;
        let boot = self.boot.clone().unwrap_or_default();
        let mark = SyncMark { spot: Spot::of(last), intent: last.seq, poisoned: false, boot };
        // Without the note the doubt stays, and the next one does it again.
        Head::write_sync(head_file, &mark).map_err(|_| unknown())?;
        Ok(last.seq)
    }

    /// Puts a file with new pages in a segment's place.
    fn replace(&self, segment: Seq, bytes: &[u8]) -> std::io::Result<()> {
        let (path, fresh) = (self.layout.segment(segment), self.layout.rolled(segment));
        self.write_fresh(&fresh, bytes)?;
        self.disk.rename(&fresh, &path)?;
        self.disk.sync_dir(&self.layout.log)?;
        self.disk.sync_dir(self.layout.parent())
    }

    fn write_fresh(&self, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
        if self.disk.exists(path) {
            self.disk.remove_file(path)?;
        }
        let file = self.disk.open(path, How::Create)?;
        write_full(&*file, bytes, 0)?;
        file.sync_all()
    }
}

/// Whether the records of `bytes` from `begin` on lead from `start` to `last`.
fn holds(bytes: &[u8], start: &Cursor, begin: u64, last: &Cursor) -> bool {
    let mut link = start.link();
    let begin = usize::try_from(begin).unwrap_or(usize::MAX);
    let rest = if last.seq == start.seq { &[] } else { bytes.get(begin..).unwrap_or_default() };
    survey::walk(&mut link, rest, &mut |record, _| {
        if record.seq() == last.seq { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    link == last.link()
}
