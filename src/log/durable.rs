//! Group commit: one process syncs for all that wait.
//!
//! The leader of a round holds `sync.lock`, never `lock`: appends go on while it syncs, and the next round takes them
//! all. A sync that failed is never tried again on the same pages: the kernel may have taken them to be clean and would
//! report success. Whoever comes next rolls the segment forward instead.

use std::io;

use super::disk::{DiskFile, How};
use super::error::LogError;
use super::file::{Patience, Store, holder};
use super::head::{Head, Spot, SyncMark};
use super::{Cursor, Wait};
use crate::id::Seq;

impl Store {
    /// Returns once the record at `up_to` is durable. `holds_lock` says whether the caller holds `lock`.
    pub(super) fn make_durable(
        &self,
        up_to: &Cursor,
        wait: &Wait<'_>,
        holds_lock: bool,
    ) -> Result<Seq, LogError> {
        let head_file = self.open_head()?;
        let sync_lock = match self.sync_turn(&*head_file, up_to, wait)? {
            Turn::Settled(durable) => return Ok(durable),
            Turn::Mine(lock) => lock,
        };
        if !self.in_doubt(&self.head_of(&*head_file)?) {
            return self.lead(&*head_file, up_to);
        }
        if holds_lock {
            return self.roll_last_segment(&*head_file);
        }
        // Whoever waits for `lock` does not hold `sync.lock`.
        drop(sync_lock);
        let lock = self.lock(&self.layout.lock(), wait)?;
        let durable = self.make_durable(up_to, wait, true);
        drop(lock);
        durable
    }

    /// Waits until the record at `up_to` is durable, or the sync is this process's to do.
    fn sync_turn(&self, head_file: &dyn DiskFile, up_to: &Cursor, wait: &Wait<'_>) -> Result<Turn, LogError> {
        let path = self.layout.sync_lock();
        let opened = self.disk.open(&path, How::Update);
        let lock = opened.map_err(|error| LogError::writing("open", &path, error))?;
        let mut patience = Patience::new(&*self.disk, wait.wait_ms);
        loop {
            if let Some(durable) = self.settled(head_file, up_to)? {
                return Ok(Turn::Settled(durable));
            }
            if self.try_lock(&path, &*lock, wait)? {
                return match self.settled(head_file, up_to)? {
                    Some(durable) => Ok(Turn::Settled(durable)),
                    None => Ok(Turn::Mine(lock)),
                };
            }
            if !patience.rest() {
                return Err(LogError::Busy { holder: holder(&*lock), waited_ms: patience.waited_ms() });
            }
        }
    }

    /// The durable sequence number, if it has reached `up_to`. The first record's mark is older than the ledger's name,
    /// so it settles nothing.
    fn settled(&self, head_file: &dyn DiskFile, up_to: &Cursor) -> Result<Option<Seq>, LogError> {
        let durable = self.head_of(head_file)?.sync.map_or(Seq::ZERO, |sync| sync.spot.seq);
        Ok((durable >= up_to.seq && durable > Seq(1)).then_some(durable))
    }

    /// Under `sync.lock`: whether a sync may have failed. One is known to have failed, or its leader died before it
    /// said what came of it, or HEAD no longer tells.
    pub(super) fn in_doubt(&self, head: &Head) -> bool {
        head.sync.as_ref().is_none_or(|sync| {
            (sync.poisoned || sync.intent > sync.spot.seq) && self.may_be_this_boot(&sync.boot)
        })
    }

    /// Whether a sync was begun, since this machine started, that had to do with more than the records up to `last`.
    pub(super) fn intends_beyond(&self, head: &Head, last: Seq) -> bool {
        head.sync.as_ref().is_some_and(|sync| sync.intent > last && self.may_be_this_boot(&sync.boot))
    }

    /// One round, under `sync.lock`: intent, sync, mark.
    fn lead(&self, head_file: &dyn DiskFile, up_to: &Cursor) -> Result<Seq, LogError> {
        let head = self.head_of(head_file)?;
        let own = Spot::of(up_to);
        let target = head
            .append
            .filter(|append| append.spot.seq > own.seq && self.is_this_boot(&append.boot))
            .map_or(own, |append| append.spot);
        let file = self.open_segment(target.segment, How::Append)?;
        let file = file.ok_or(LogError::CursorUnknown { seq: target.seq })?;
        // The first round of a ledger also sees to its name, in case its creator died just before.
        let first = head.sync.as_ref().is_none_or(|sync| sync.spot.seq <= Seq(1));
        self.round(head_file, head.sync, target, target.seq, &|| {
            if first {
                self.disk.sync_dir(self.layout.parent())?;
            }
            file.sync()
        })
    }

    /// Says what is intended, does it, and says what came of it: `target` is durable, or nobody knows.
    pub(super) fn round(
        &self,
        head_file: &dyn DiskFile,
        before: Option<SyncMark>,
        target: Spot,
        intent: Seq,
        sync: &dyn Fn() -> io::Result<()>,
    ) -> Result<Seq, LogError> {
        let boot = self.boot.clone().unwrap_or_default();
        let before = before.unwrap_or_else(|| SyncMark::nothing(&boot));
        let mark = SyncMark { intent, poisoned: false, boot, ..before };
        let write = |mark: &SyncMark| {
            let written = Head::write_sync(head_file, mark);
            written.map_err(|error| LogError::writing("write", &self.layout.head(), error))
        };
        write(&mark)?;
        match sync() {
            Ok(()) => {
                // The sync is done whether or not this is noted; without the note the next one is in doubt.
                drop(write(&SyncMark { spot: target, intent: target.seq, ..mark }));
                Ok(target.seq)
            }
            Err(_) => {
                let durable = mark.spot.seq;
                drop(write(&SyncMark { poisoned: true, ..mark }));
                Err(LogError::DurabilityUnknown { durable })
            }
        }
    }

    pub(super) fn head_of(&self, file: &dyn DiskFile) -> Result<Head, LogError> {
        Head::read(file).map_err(|error| LogError::reading("read", &self.layout.head(), error))
    }
}

/// What waiting for a sync came to.
enum Turn {
    /// Somebody else has done it.
    Settled(Seq),
    /// It is this process's to do, as long as it holds this lock.
    Mine(Box<dyn DiskFile>),
}
