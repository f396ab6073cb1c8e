//! Appending to a file log, under its lock.

use std::io::{self, ErrorKind};

use super::disk::{DiskFile, How, write_full};
use super::error::{AppendError, LogError};
use super::file::Store;
use super::head::{AppendMark, Head, Spot, SyncMark};
use super::layout::next_record;
use super::scan::{Ended, Walker, pass_over};
use super::{Cursor, Recovered, Tail, Transaction, Visit, Wait};
use crate::hash::Hash;
use crate::id::Seq;
use crate::limits::{LOCK_WAIT_MS, SEGMENT_MAX_BYTES};
use crate::record::{Verdict, judge};

/// How much space is reserved at once. With its blocks in place a sync is faster, and seldom slow.
const RESERVE_BYTES: u64 = 256 << 10;

/// The exclusive right to append to a file log.
pub(super) struct FileTransaction<'s> {
    store: &'s Store,
    _lock: Box<dyn DiskFile>,
    head_file: Box<dyn DiskFile>,
    active: Active,
    head: Cursor,
    durable: Seq,
    recovered: Vec<Recovered>,
    holder: String,
    /// Whether HEAD's append mark says less than `head`.
    unmarked: bool,
}

/// The segment that is appended to.
struct Active {
    first: Seq,
    file: Box<dyn DiskFile>,
    length: u64,
    sealed: bool,
    /// Whether a failed write may have left bytes behind.
    soiled: bool,
    /// Whether its name is known to be durable.
    named: bool,
}

impl<'s> FileTransaction<'s> {
    /// Takes the lock and puts the tail right.
    pub(super) fn begin(store: &'s Store, wait: &Wait<'_>) -> Result<Self, LogError> {
        store.refuse_place()?;
        let lock = store.lock(&store.layout.lock(), wait)?;
        let head_file = store.open_head()?;
        let path = store.layout.head();
        let head = Head::read(&*head_file).map_err(|error| LogError::reading("read", &path, error))?;
        let holder = wait.holder.to_owned();
        if let Some((cursor, active, durable)) = at_mark(store, &head)? {
            let recovered = Vec::new();
            return Ok(Self {
                store,
                _lock: lock,
                head_file,
                active,
                head: cursor,
                durable,
                recovered,
                holder,
                unmarked: false,
            });
        }
        let (cursor, active, durable, recovered) = put_right(store, wait)?;
        let (head, unmarked) = (cursor, false);
        let begun =
            Self { store, _lock: lock, head_file, active, head, durable, recovered, holder, unmarked };
        // A mark would let the next transaction start without a look at what is still to be recorded.
        if begun.recovered.is_empty() {
            begun.mark().map_err(|error| LogError::writing("write", &path, error))?;
        }
        Ok(begun)
    }

    /// Writes HEAD's append mark.
    fn mark(&self) -> io::Result<()> {
        let Cursor { seq, hash, segment, end, .. } = self.head;
        let boot = self.store.boot.clone().unwrap_or_default();
        Head::write_append(&*self.head_file, &AppendMark { spot: Spot { segment, end, seq, hash }, boot })
    }

    /// One write of the whole line.
    fn write(&mut self, line: &[u8]) -> Result<(), AppendError> {
        let path = self.store.layout.segment(self.active.first);
        let written = loop {
            match self.active.file.append(line) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // A file takes less than it is given when there is no room for more.
                Ok(count) if count < line.len() => break Err(LogError::Full { path }),
                Ok(_) => break Ok(()),
                Err(error) => break Err(LogError::writing("append", &path, error)),
            }
        };
        let Err(error) = written else { return Ok(()) };
        let undone = self.active.file.truncate(self.active.length).and_then(|()| self.active.file.len());
        if undone.is_ok_and(|length| length == self.active.length) {
            Err(AppendError::NotStored(error))
        } else {
            self.active.soiled = true;
            Err(AppendError::Unknown(error))
        }
    }
}

impl Transaction for FileTransaction<'_> {
    fn recovered(&self) -> &[Recovered] {
        &self.recovered
    }

    fn head(&self) -> Cursor {
        self.head
    }

    fn durable(&self) -> Seq {
        self.durable
    }

    fn read(&self, from: &Cursor, visit: &mut Visit<'_>) -> Result<Tail, LogError> {
        self.store.read(from, visit)
    }

    fn wants_seal(&self) -> bool {
        !self.active.sealed && self.active.length >= self.store.segment_target
    }

    fn append(&mut self, expected: &Cursor, line: &[u8]) -> Result<Cursor, AppendError> {
        if (expected.seq, expected.hash) != (self.head.seq, self.head.hash) {
            return Err(AppendError::Conflict { head: self.head });
        }
        if self.active.soiled {
            return Err(AppendError::NotStored(LogError::DurabilityUnknown { durable: self.durable }));
        }
        let record =
            next_record(&self.head.link(), line).map_err(|refused| AppendError::NotStored(refused.into()))?;
        self.rotate().map_err(AppendError::NotStored)?;
        let length = self.active.length + line.len() as u64;
        if length > SEGMENT_MAX_BYTES {
            let error = LogError::LimitExceeded { what: "a segment", limit: SEGMENT_MAX_BYTES };
            return Err(AppendError::NotStored(error));
        }
        if !self.active.named {
            let dir = &self.store.layout.log;
            let synced = self.store.disk.sync_dir(dir);
            synced.map_err(|error| AppendError::NotStored(LogError::writing("sync", dir, error)))?;
            self.active.named = true;
        }
        self.active.reserve(length);
        self.write(line)?;
        self.active.length = length;
        self.active.sealed = record.seals(self.active.first);
        self.head = Cursor::at(&crate::record::Link::of(&record), self.active.first, length);
        self.unmarked = true;
        Ok(self.head)
    }

    fn rotate(&mut self) -> Result<(), LogError> {
        if self.active.sealed {
            let wait = Wait { holder: &self.holder, wait_ms: LOCK_WAIT_MS };
            self.durable = self.durable.max(open_successor(self.store, &self.head, &wait)?);
            self.active = Active { named: true, ..Active::open(self.store, self.head.seq.next(), false)? };
        }
        Ok(())
    }
}

impl Drop for FileTransaction<'_> {
    /// One mark for all that was appended, before the lock is released. A hint only: without it the next transaction
    /// reads the segment again.
    fn drop(&mut self) {
        if self.unmarked {
            drop(self.mark());
        }
    }
}

impl Active {
    fn open(store: &Store, first: Seq, sealed: bool) -> Result<Self, LogError> {
        let path = store.layout.segment(first);
        let file = store.disk.open(&path, How::Append).map_err(|e| LogError::writing("open", &path, e))?;
        let length = file.len().map_err(|error| LogError::reading("read", &path, error))?;
        // Whoever wrote the first record to it had synced the directory before.
        Ok(Self { first, file, length, sealed, soiled: false, named: length > 0 })
    }
}

impl Active {
    /// Reserves space for the records to come each time that the file grows past another step. That there is none is
    /// no failure: the write will tell.
    fn reserve(&self, length: u64) {
        let step = RESERVE_BYTES;
        // The first step of a ledger is not reserved: most ledgers are small.
        let begins = self.length == 0 && self.first > Seq(1);
        if begins || self.length / step < length / step {
            drop(self.file.reserve(self.length, length.next_multiple_of(step) - self.length));
        }
    }
}

/// The constant-time start: HEAD is of this boot and the active segment ends where and as it says.
fn at_mark(store: &Store, head: &Head) -> Result<Option<(Cursor, Active, Seq)>, LogError> {
    let Head { append: Some(append), sync: Some(sync) } = head else { return Ok(None) };
    let spot = append.spot;
    let agrees = spot.seq > sync.spot.seq || (spot.seq, spot.hash) == (sync.spot.seq, sync.spot.hash);
    if !store.is_this_boot(&append.boot) || sync.poisoned || !agrees {
        return Ok(None);
    }
    let Some(last) = store.last_record(spot.segment, spot.end)? else { return Ok(None) };
    if (last.cursor.seq, last.cursor.hash) != (spot.seq, spot.hash) {
        return Ok(None);
    }
    let mut active = Active::open(store, spot.segment, last.sealed)?;
    if active.length != spot.end {
        return Ok(None);
    }
    if last.sealed {
        if store.open_segment(spot.seq.next(), How::Read)?.is_none() {
            return Ok(None);
        }
        active = Active::open(store, spot.seq.next(), false)?;
        if active.length != 0 {
            return Ok(None);
        }
    }
    Ok(Some((last.cursor, active, sync.spot.seq.max(last.dur))))
}

/// Judges the tail by the table, and acts on the verdict until the log is clean.
fn put_right(store: &Store, wait: &Wait<'_>) -> Result<(Cursor, Active, Seq, Vec<Recovered>), LogError> {
    let start = store.before_last_segment()?.unwrap_or(Cursor::START);
    loop {
        let mut walker = Walker::new(store, &start)?;
        let head = store.read_head()?;
        walker.remember(&head);
        let Ended::Prefix(suffix) = walker.run(&mut pass_over)? else { continue };
        let verdict = judge(&walker.facts(suffix)?);
        let stops = LogError::of(&verdict, walker.segment, walker.known_durable());
        // A cut of which nobody knows whether it is durable: what was cut might come back between new records.
        let half_cut = stops.is_none() && store.intends_beyond(&head, walker.cursor.seq);
        if half_cut || matches!(verdict, Verdict::SyncUnknown | Verdict::Torn { .. }) {
            let _sync_lock = store.lock(&store.layout.sync_lock(), wait)?;
            let head_file = store.open_head()?;
            let head = store.head_of(&*head_file)?;
            if store.in_doubt(&head) {
                store.roll_last_segment(&*head_file)?;
            } else if let Verdict::Torn { seq, offset, .. } = verdict {
                let cut = Cut { segment: walker.segment, seq, offset, last: Spot::of(&walker.cursor) };
                set_aside(store, &cut, &*head_file, head.sync)?;
            }
            continue;
        }
        if let Some(error) = stops {
            return Err(error);
        }
        match verdict {
            Verdict::FinishRotation => drop(open_successor(store, &walker.cursor, wait)?),
            _ => {
                let active = Active::open(store, walker.segment, false)?;
                let recovered = unrecorded(store, &walker)?;
                return Ok((walker.cursor, active, walker.known_durable(), recovered));
            }
        }
    }
}

/// What recovery cuts.
struct Cut {
    segment: Seq,
    /// The number that the first cut record would have had.
    seq: Seq,
    offset: u64,
    /// The last record that stays.
    last: Spot,
}

/// Moves what follows `offset` to the quarantine: copied and synced before it is cut. Killed at any point, it may
/// simply be done again: its name says that it is to be recorded, and HEAD that someone has to look.
fn set_aside(
    store: &Store,
    cut: &Cut,
    head_file: &dyn DiskFile,
    synced: Option<SyncMark>,
) -> Result<(), LogError> {
    let Cut { segment, seq, offset, last } = *cut;
    let path = store.layout.segment(segment);
    let file =
        store.disk.open(&path, How::Append).map_err(|error| LogError::writing("open", &path, error))?;
    let bytes = store.read_from(&*file, segment, offset)?;
    let digest = Hash::blob(&bytes);
    let dir = store.layout.quarantine();
    match store.disk.create_dir(&dir) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(LogError::writing("create", &dir, error));
        }
        Ok(()) | Err(_) => {}
    }
    let copy = dir.join(format!("{}{}{TORN}", torn_at(seq), digest.short()));
    let written = store.disk.open(&copy, How::Update).and_then(|file| {
        write_full(&*file, &bytes, 0)?;
        file.sync_all()
    });
    written.map_err(|error| LogError::writing("write", &copy, error))?;
    for dir in [&dir, &store.layout.root] {
        store.disk.sync_dir(dir).map_err(|error| LogError::writing("sync", dir, error))?;
    }
    let head = store.layout.head();
    forget_append_mark(store).map_err(|error| LogError::writing("write", &head, error))?;
    // This sync covers the records before as well: if it fails, what becomes of them is not known either.
    store.round(head_file, synced, last, seq, &|| file.truncate(offset).and_then(|()| file.sync_all()))?;
    Ok(())
}

/// Makes HEAD's append mark one of no boot: it is not taken as a start until the next append has written it anew.
fn forget_append_mark(store: &Store) -> io::Result<()> {
    let file = store.disk.open(&store.layout.head(), How::Update)?;
    match Head::read(&*file)?.append {
        Some(mark) => Head::write_append(&*file, &AppendMark { boot: String::new(), ..mark }),
        None => Ok(()),
    }
}

/// How the name of a torn record in the quarantine ends.
const TORN: &str = ".torn";

/// How the name of a torn record in the quarantine begins: with the number that it would have had.
fn torn_at(seq: Seq) -> String {
    format!("{:020}-", seq.0)
}

/// What lies in the quarantine under the number of the next record: had it been recorded, a record would have that
/// number.
fn unrecorded(store: &Store, walker: &Walker<'_>) -> Result<Vec<Recovered>, LogError> {
    let dir = store.layout.quarantine();
    let mut names = match store.disk.list(&dir) {
        Ok(names) => names,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(LogError::reading("list", &dir, error)),
    };
    let (seq, segment, offset) = (walker.cursor.seq.next(), walker.segment, walker.offset);
    names.retain(|name| name.starts_with(&torn_at(seq)) && name.ends_with(TORN));
    names.sort_unstable();
    let read = |name: String| {
        let path = dir.join(&name);
        let opened = store.disk.open(&path, How::Read);
        let file = opened.map_err(|error| LogError::reading("open", &path, error))?;
        let bytes = store.read_from(&*file, segment, 0)?;
        let digest = Hash::blob(&bytes);
        Ok(Recovered { seq, segment, offset, bytes: bytes.len() as u64, digest, name })
    };
    names.into_iter().map(read).collect()
}

/// Makes the sealed segment that ends at `head` durable, then creates its successor.
fn open_successor(store: &Store, head: &Cursor, wait: &Wait<'_>) -> Result<Seq, LogError> {
    let durable = store.make_durable(head, wait, true)?;
    release(store, head);
    let path = store.layout.segment(head.seq.next());
    match store.disk.open(&path, How::Create) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(LogError::writing("create", &path, error));
        }
        Ok(_) | Err(_) => {}
    }
    let dir = &store.layout.log;
    store.disk.sync_dir(dir).map_err(|error| LogError::writing("sync", dir, error))?;
    Ok(durable)
}

/// Gives back the space that was reserved behind the end of a sealed segment. It is no failure if it stays.
fn release(store: &Store, head: &Cursor) {
    if let Ok(Some(file)) = store.open_segment(head.segment, How::Append)
        && file.len().is_ok_and(|length| length == head.end)
    {
        drop(file.truncate(head.end));
    }
}
