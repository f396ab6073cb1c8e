//! A log in files, shared by any number of processes of one machine.

use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::disk::{Disk, DiskFile, How, SystemDisk, read_full, write_full};
use super::error::LogError;
use super::head::Head;
use super::layout::{self, Layout};
use super::place::{FileSystems, refused_file_system};
use super::transaction::FileTransaction;
use super::{Cursor, Log, Pending, Pick, Tail, Transaction, Visit, Wait};
use crate::id::{LedgerId, Seq};
use crate::limits::SEGMENT_TARGET_BYTES;
use crate::record::recover::Suffix;
use crate::record::{Record, Verdict};

/// How much of what a lock's holder says of itself is kept.
const HOLDER_CHARS: usize = 120;

/// A log in the directory `.loopx/log`.
///
/// # Source
/// ledger-format.md.
pub struct FileLog {
    pub(super) store: Store,
    id: LedgerId,
}

/// The disk, the paths and the boot that the parts of a file log share.
pub(super) struct Store {
    pub disk: Arc<dyn Disk>,
    pub layout: Layout,
    pub boot: Option<String>,
    /// The length from which on a segment is sealed.
    pub segment_target: u64,
    pub file_systems: FileSystems,
}

impl FileLog {
    /// Creates a ledger at `root`, the `.loopx` directory, with its first record given as a line with its line feed.
    /// Everything is durable when this returns. On an error nothing is there, unless only the very last sync failed.
    /// `track` lets git see the history.
    ///
    /// # Errors
    /// [`LogError::AlreadyExists`] if anything is there; [`LogError::NotNext`] if the line is no first record.
    pub fn create(root: &Path, id: LedgerId, genesis: &[u8], track: bool) -> Result<Self, LogError> {
        Self::create_in(FileSystems::Local, root, id, genesis, track)
    }

    /// As [`FileLog::create`], on file systems that the caller names.
    ///
    /// # Errors
    /// As [`FileLog::create`]; [`LogError::RefusedFileSystem`] unless any will do.
    pub fn create_in(
        file_systems: FileSystems,
        root: &Path,
        id: LedgerId,
        genesis: &[u8],
        track: bool,
    ) -> Result<Self, LogError> {
        let disk = Arc::new(SystemDisk);
        let parent = Layout::new(root).parent().to_owned();
        refuse_file_system(&*disk, file_systems, &parent)?;
        Ok(Self::create_on(disk, root, id, genesis, track)?.in_file_systems(file_systems))
    }

    /// Opens the ledger at `root`, the `.loopx` directory. On a network or FUSE file system it may be read only.
    ///
    /// # Errors
    /// [`LogError::NotALedger`], [`LogError::Newer`], or what keeps FORMAT from being read.
    pub fn open(root: &Path) -> Result<Self, LogError> {
        Self::open_on(Arc::new(SystemDisk), root)
    }

    /// As [`FileLog::open`], to be written on file systems that the caller names.
    ///
    /// # Errors
    /// As [`FileLog::open`].
    pub fn open_in(file_systems: FileSystems, root: &Path) -> Result<Self, LogError> {
        Ok(Self::open(root)?.in_file_systems(file_systems))
    }

    pub(super) fn in_file_systems(mut self, file_systems: FileSystems) -> Self {
        self.store.file_systems = file_systems;
        self
    }

    pub(super) fn create_on(
        disk: Arc<dyn Disk>,
        root: &Path,
        id: LedgerId,
        genesis: &[u8],
        track: bool,
    ) -> Result<Self, LogError> {
        layout::create(&*disk, root, id, genesis, track)?;
        Self::open_on(disk, root)
    }

    pub(super) fn open_on(disk: Arc<dyn Disk>, root: &Path) -> Result<Self, LogError> {
        let layout = Layout::new(root);
        let id = layout::read_format(&*disk, &layout)?;
        let boot = disk.boot_id();
        let (segment_target, file_systems) = (SEGMENT_TARGET_BYTES, FileSystems::Local);
        Ok(Self { store: Store { disk, layout, boot, segment_target, file_systems }, id })
    }

    /// The identity of the ledger.
    #[must_use]
    pub const fn id(&self) -> LedgerId {
        self.id
    }

    /// Whether a transaction may begin here at all, found out before work is done for one: by the owner of the ledger
    /// and the mode of its lock. Nothing is changed.
    ///
    /// # Errors
    /// [`LogError::ForeignOwner`], [`LogError::RefusedFileSystem`], [`LogError::NotWritable`], [`LogError::WrongType`].
    pub fn check_writable(&self) -> Result<(), LogError> {
        self.store.refuse_place()?;
        let path = self.store.layout.lock();
        let opened = self.store.disk.open(&path, How::Update);
        opened.map(drop).map_err(|error| LogError::writing("open", &path, error))
    }

    /// The `.loopx` directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.store.layout.root
    }
}

impl fmt::Debug for FileLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileLog").field("id", &self.id).field("root", &self.root()).finish()
    }
}

impl Log for FileLog {
    fn read(&self, from: &Cursor, visit: &mut Visit<'_>) -> Result<Tail, LogError> {
        self.store.read(from, visit)
    }

    fn pick(&self, records: &[Pick], visit: &mut dyn FnMut(&Record<'_>)) -> Result<bool, LogError> {
        self.store.pick(records, visit)
    }

    fn transaction(&self, wait: &Wait<'_>) -> Result<Box<dyn Transaction + '_>, LogError> {
        Ok(Box::new(FileTransaction::begin(&self.store, wait)?))
    }

    fn make_durable(&self, up_to: &Cursor, wait: &Wait<'_>) -> Result<Seq, LogError> {
        self.store.make_durable(up_to, wait, false)
    }
}

impl Store {
    /// Reads without a lock.
    pub(super) fn read(&self, from: &Cursor, visit: &mut Visit<'_>) -> Result<Tail, LogError> {
        let found = self.survey(from, visit)?;
        let walker = &found.walker;
        let mut tail = Tail { head: walker.cursor, durable: walker.known_durable(), pending: None };
        let Some((suffix, verdict)) = found.outcome else { return Ok(tail) };
        match LogError::of(&verdict, walker.segment, tail.durable) {
            // A reader is not concerned with what may be lost later.
            None | Some(LogError::DurabilityUnknown { .. }) => {}
            Some(error) => return Err(error),
        }
        tail.pending = pending(suffix, &verdict, walker.offset);
        Ok(tail)
    }

    /// Reads HEAD; both marks are absent if the file is.
    pub(super) fn read_head(&self) -> Result<Head, LogError> {
        let path = self.layout.head();
        match self.disk.open(&path, How::Read) {
            Ok(file) => Head::read(&*file).map_err(|error| LogError::reading("read", &path, error)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Head::default()),
            Err(error) => Err(LogError::reading("open", &path, error)),
        }
    }

    /// The ledger of another user, or on a file system that is no place for one, is only read.
    pub(super) fn refuse_place(&self) -> Result<(), LogError> {
        let path = &self.layout.log;
        if let Some(uid) = self.disk.foreign_owner(path) {
            return Err(LogError::ForeignOwner { path: path.clone(), uid });
        }
        refuse_file_system(&*self.disk, self.file_systems, path)
    }

    pub(super) fn open_head(&self) -> Result<Box<dyn DiskFile>, LogError> {
        let path = self.layout.head();
        self.disk.open(&path, How::Update).map_err(|error| LogError::writing("open", &path, error))
    }

    pub(super) fn is_this_boot(&self, boot: &str) -> bool {
        self.boot.as_deref() == Some(boot)
    }

    /// Whether a sync is known to have failed. A restart ends that: what is read then comes from the disk.
    pub(super) fn is_poisoned(&self, head: &Head) -> bool {
        head.sync.as_ref().is_some_and(|sync| sync.poisoned && self.may_be_this_boot(&sync.boot))
    }

    /// Whether `boot` is the present one, or either is unknown.
    pub(super) fn may_be_this_boot(&self, boot: &str) -> bool {
        self.boot.is_none() || boot.starts_with('-') || self.is_this_boot(boot)
    }

    /// Takes the lock in the file `path`, and leaves word who holds it.
    pub(super) fn lock(&self, path: &Path, wait: &Wait<'_>) -> Result<Box<dyn DiskFile>, LogError> {
        let open = self.disk.open(path, How::Update);
        let file = open.map_err(|error| LogError::writing("open", path, error))?;
        let mut patience = Patience::new(&*self.disk, wait.wait_ms);
        while !self.try_lock(path, &*file, wait)? {
            if !patience.rest() {
                return Err(LogError::Busy { holder: holder(&*file), waited_ms: patience.waited_ms() });
            }
        }
        Ok(file)
    }

    /// Tries once to take a lock.
    pub(super) fn try_lock(
        &self,
        path: &Path,
        file: &dyn DiskFile,
        wait: &Wait<'_>,
    ) -> Result<bool, LogError> {
        let locked = file.try_lock().map_err(|error| LogError::writing("lock", path, error))?;
        if locked {
            let line: String = wait.holder.replace('\n', " ").chars().take(HOLDER_CHARS).collect();
            // One length for all, so that one write replaces what the last holder said. Only a help for people: a
            // lock without it is a lock as well.
            drop(write_full(file, format!("{line:HOLDER_CHARS$}\n").as_bytes(), 0));
        }
        Ok(locked)
    }
}

fn refuse_file_system(disk: &dyn Disk, allowed: FileSystems, dir: &Path) -> Result<(), LogError> {
    if allowed == FileSystems::Any {
        return Ok(());
    }
    match disk.file_system(dir).and_then(refused_file_system) {
        Some(file_system) => Err(LogError::RefusedFileSystem { path: dir.to_owned(), file_system }),
        None => Ok(()),
    }
}

/// What the holder of a lock says of itself.
pub(super) fn holder(file: &dyn DiskFile) -> String {
    let mut bytes = [0; 4 * HOLDER_CHARS];
    let length = read_full(file, &mut bytes, 0).unwrap_or(0);
    let text = String::from_utf8_lossy(bytes.get(..length).unwrap_or_default()).into_owned();
    text.lines().next().unwrap_or_default().trim_end().to_owned()
}

/// The bytes after the sound prefix, if they are what a writer leaves in passing.
pub(super) fn pending(suffix: Suffix, verdict: &Verdict, offset: u64) -> Option<Pending> {
    match (suffix, verdict) {
        (Suffix::Bad(bad), Verdict::Torn { .. } | Verdict::SyncUnknown) => {
            Some(Pending { offset, bytes: bad.bytes })
        }
        _ => None,
    }
}

/// A bounded wait with rests that grow from 50 microseconds to 4 milliseconds.
pub(super) struct Patience<'d> {
    disk: &'d dyn Disk,
    since: Duration,
    limit: Duration,
    rest: Duration,
}

impl<'d> Patience<'d> {
    pub(super) fn new(disk: &'d dyn Disk, wait_ms: u64) -> Self {
        let (limit, rest) = (Duration::from_millis(wait_ms), Duration::from_micros(50));
        Self { disk, since: disk.uptime(), limit, rest }
    }

    fn waited(&self) -> Duration {
        self.disk.uptime().saturating_sub(self.since)
    }

    /// Rests a while; false once the wait is over.
    pub(super) fn rest(&mut self) -> bool {
        let left = self.limit.saturating_sub(self.waited());
        if left.is_zero() {
            return false;
        }
        self.disk.pause(self.rest.min(left));
        self.rest = (self.rest * 2).min(Duration::from_millis(4));
        true
    }

    pub(super) fn waited_ms(&self) -> u64 {
        u64::try_from(self.waited().as_millis()).unwrap_or(u64::MAX)
    }
}
