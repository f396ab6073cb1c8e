//! Group commit: one process syncs for all that wait.
//!
//! The leader of a round holds `sync.lock`, never `lock`: appends go on while it syncs, and the next round takes them
//! all. A sync that failed is never tried again: the kernel may have dropped the pages and would report success.

use super::disk::{DiskFile, How, write_full};
use super::error::LogError;
use super::file::{Patience, Store, holder};
use super::head::{Head, Spot, SyncMark};
use super::{Cursor, Wait};
use crate::id::Seq;

impl Store {
    /// Returns once the record at `up_to` is durable.
    pub(super) fn make_durable(&self, up_to: &Cursor, wait: &Wait<'_>) -> Result<Seq, LogError> {
        let head_file = self.open_head()?;
        let path = self.layout.sync_lock();
        let opened = self.disk.open(&path, How::Update);
        let lock = opened.map_err(|error| LogError::writing("open", &path, error))?;
        let mut patience = Patience::new(wait.wait_ms);
        loop {
            if let Some(durable) = self.settled(&*head_file, up_to)? {
                return Ok(durable);
            }
            if self.try_lock(&path, &*lock, wait)? {
                // The lock is let go when this function returns.
                return match self.settled(&*head_file, up_to)? {
                    Some(durable) => Ok(durable),
                    None => self.lead(&*head_file, up_to),
                };
            }
            if !patience.rest() {
                return Err(LogError::Busy { holder: holder(&*lock), waited_ms: patience.waited_ms() });
            }
        }
    }

    /// The durable sequence number, if it has reached `up_to`.
    fn settled(&self, head_file: &dyn DiskFile, up_to: &Cursor) -> Result<Option<Seq>, LogError> {
        let head = self.head_of(head_file)?;
        let durable = head.sync.as_ref().map_or(Seq::ZERO, |sync| sync.spot.seq);
        if durable >= up_to.seq {
            Ok(Some(durable))
        } else if self.is_poisoned(&head) {
            Err(LogError::DurabilityUnknown { durable })
        } else {
            Ok(None)
        }
    }

    /// One round, under `sync.lock`: intent, sync, mark.
    fn lead(&self, head_file: &dyn DiskFile, up_to: &Cursor) -> Result<Seq, LogError> {
        let head = self.head_of(head_file)?;
        let own = Spot { segment: up_to.segment, end: up_to.end, seq: up_to.seq, hash: up_to.hash };
        let target = head
            .append
            .filter(|append| append.spot.seq > own.seq && self.is_this_boot(&append.boot))
            .map_or(own, |append| append.spot);
        let boot = self.boot.clone().unwrap_or_default();
        // Without a mark, what became of the last round is not known either.
        let unfinished = head
            .sync
            .as_ref()
            .is_none_or(|sync| sync.intent > sync.spot.seq && self.may_be_this_boot(&sync.boot));
        let before = head.sync.unwrap_or_else(|| SyncMark::nothing(&boot));
        let file = self.open_segment(target.segment, How::Append)?;
        let file = file.ok_or(LogError::CursorUnknown { seq: target.seq })?;
        let mark = SyncMark { intent: target.seq, poisoned: false, boot, ..before };
        let write = |mark: &SyncMark| {
            let written = Head::write_sync(head_file, mark);
            written.map_err(|error| LogError::writing("write", &self.layout.head(), error))
        };
        write(&mark)?;
        let synced = if unfinished { self.write_again(&*file, &before.spot, &target) } else { Ok(()) };
        match synced.and_then(|()| file.sync()) {
            Ok(()) => {
                // The sync is done whether or not this is noted; without the note the next one does it again.
                drop(write(&SyncMark { spot: target, ..mark }));
                Ok(target.seq)
            }
            Err(_) => {
                let durable = mark.spot.seq;
                drop(write(&SyncMark { poisoned: true, ..mark }));
                Err(LogError::DurabilityUnknown { durable })
            }
        }
    }

    /// After a round that nobody finished: a failed sync may have left pages that the kernel takes to be clean.
    /// Writing the same bytes again makes them dirty, so that the sync to come covers them.
    fn write_again(&self, file: &dyn DiskFile, durable: &Spot, target: &Spot) -> std::io::Result<()> {
        let start = if durable.segment == target.segment { durable.end } else { 0 };
        let mut bytes = vec![0; usize::try_from(target.end.saturating_sub(start)).unwrap_or(0)];
        let count = super::disk::read_full(file, &mut bytes, start)?;
        // Not through `file`: on Linux a file opened for appending ignores the offset.
        let again = self.disk.open(&self.layout.segment(target.segment), How::Update)?;
        write_full(&*again, bytes.get(..count).unwrap_or_default(), start)
    }

    fn head_of(&self, file: &dyn DiskFile) -> Result<Head, LogError> {
        Head::read(file).map_err(|error| LogError::reading("read", &self.layout.head(), error))
    }
}
