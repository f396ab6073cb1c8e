//! Where things lie: names, the FORMAT file, and how a ledger comes into being.

use std::path::{Path, PathBuf};

use super::disk::{Disk, DiskFile, How, read_full, write_full};
use super::error::{LogError, Refused};
use super::head::{AppendMark, Head, Spot, SyncMark};
use crate::id::{LedgerId, Seq};
use crate::record::{Link, Record, frame};

/// The first line of FORMAT, without the version.
const FORMAT_NAME: &str = "loopx-ledger/";

/// The version of the layout.
const FORMAT_VERSION: u64 = 1;

/// What `.loopx/.gitignore` keeps out of git: everything.
const IGNORE_ALL: &str = "*\n";

/// What it keeps out of a tracked ledger: everything but the history.
const IGNORE_DERIVED: &str =
    "*\n!/.gitignore\n!/log/\n!/log/FORMAT\n!/log/*.jsonl\n!/blobs/\n!/blobs/*/\n!/blobs/*/*\n";

/// The paths of a ledger below its root, the `.loopx` directory.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub root: PathBuf,
    pub log: PathBuf,
}

impl Layout {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), log: root.join("log") }
    }

    pub(super) fn format(&self) -> PathBuf {
        self.log.join("FORMAT")
    }

    pub(super) fn head(&self) -> PathBuf {
        self.log.join("HEAD")
    }

    pub(super) fn lock(&self) -> PathBuf {
        self.log.join("lock")
    }

    pub(super) fn sync_lock(&self) -> PathBuf {
        self.log.join("sync.lock")
    }

    pub(super) fn quarantine(&self) -> PathBuf {
        self.root.join("quarantine")
    }

    /// Where a segment is written anew before it takes its place.
    pub(super) fn rolled(&self, first: Seq) -> PathBuf {
        self.log.join(format!("{:020}.rolled", first.0))
    }

    /// The directory that holds the ledger's name.
    pub(super) fn parent(&self) -> &Path {
        let parent = self.root.parent().filter(|parent| !parent.as_os_str().is_empty());
        parent.unwrap_or(Path::new("."))
    }

    pub(super) fn segment(&self, first: Seq) -> PathBuf {
        self.log.join(format!("{:020}.jsonl", first.0))
    }
}

/// The first sequence number of the segment with this name.
pub(super) fn segment_of_name(name: &str) -> Option<Seq> {
    let digits = name.strip_suffix(".jsonl").filter(|digits| digits.len() == 20)?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok().map(Seq)).flatten()
}

/// Reads FORMAT.
pub(super) fn read_format(disk: &dyn Disk, layout: &Layout) -> Result<LedgerId, LogError> {
    let path = layout.format();
    let file = disk.open(&path, How::Read).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => no_format(disk, layout),
        _ => LogError::reading("open", &path, error),
    })?;
    let mut bytes = [0; 128];
    let length = read_full(&*file, &mut bytes, 0).map_err(|error| LogError::reading("read", &path, error))?;
    let parsed = || {
        let text = std::str::from_utf8(bytes.get(..length)?).ok()?;
        let (version, rest) = text.strip_prefix(FORMAT_NAME)?.split_once('\n')?;
        Some((version.parse::<u64>().ok()?, rest.strip_suffix('\n')?.parse::<LedgerId>()))
    };
    match parsed() {
        Some((FORMAT_VERSION, Ok(id))) => Ok(id),
        Some((version, _)) if version > FORMAT_VERSION => Err(LogError::Newer { version, seq: None }),
        _ => Err(no_format(disk, layout)),
    }
}

/// What it means that FORMAT says nothing: with a first segment beside it, a ledger that lost it; else no ledger.
fn no_format(disk: &dyn Disk, layout: &Layout) -> LogError {
    let path = layout.format();
    if disk.exists(&layout.segment(Seq(1))) {
        LogError::FormatLost { path }
    } else {
        LogError::NotALedger { path }
    }
}

/// Checks that `line`, with its line feed, is the record after `link`.
pub(super) fn next_record<'a>(link: &Link, line: &'a [u8]) -> Result<Record<'a>, Refused> {
    let body = line.strip_suffix(b"\n").filter(|body| !body.contains(&b'\n')).ok_or(Refused::NotOneLine)?;
    let record = frame::parse(body)?.verify()?;
    link.clone().accept(&record)?;
    Ok(record)
}

/// Creates a ledger with its first record: built beside its place, made durable, then moved there at once.
pub(super) fn create(
    disk: &dyn Disk,
    root: &Path,
    id: LedgerId,
    genesis: &[u8],
    track: bool,
) -> Result<(), LogError> {
    let record = next_record(&Link::GENESIS, genesis)?;
    let exists = || LogError::AlreadyExists { path: root.to_owned() };
    if disk.exists(root) {
        return Err(exists());
    }
    let name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let building = root.with_file_name(format!("{name}.new-{id}"));
    let built = build(disk, &building, id, genesis, &record, track).and_then(|()| {
        disk.rename(&building, root).map_err(|error| match error.kind() {
            std::io::ErrorKind::DirectoryNotEmpty | std::io::ErrorKind::AlreadyExists => exists(),
            _ => LogError::writing("rename", root, error),
        })
    });
    if let Err(error) = built {
        // What was built is incomplete and unnamed; the first error is the one that matters.
        drop(disk.remove_dir_all(&building));
        return Err(error);
    }
    let layout = Layout::new(root);
    disk.sync_dir(layout.parent()).map_err(|error| LogError::writing("sync", layout.parent(), error))
}

fn build(
    disk: &dyn Disk,
    root: &Path,
    id: LedgerId,
    genesis: &[u8],
    record: &Record<'_>,
    track: bool,
) -> Result<(), LogError> {
    let layout = Layout::new(root);
    for dir in [&layout.root, &layout.log] {
        disk.create_dir(dir).map_err(|error| LogError::writing("create", dir, error))?;
    }
    let ignore = if track { IGNORE_DERIVED } else { IGNORE_ALL };
    let format = format!("{FORMAT_NAME}{FORMAT_VERSION}\n{id}\n");
    write_new(disk, &root.join(".gitignore"), ignore.as_bytes())?;
    write_new(disk, &layout.format(), format.as_bytes())?;
    write_new(disk, &layout.segment(Seq(1)), genesis)?;
    write_new(disk, &layout.lock(), b"")?;
    write_new(disk, &layout.sync_lock(), b"")?;
    let spot = Spot { segment: Seq(1), end: genesis.len() as u64, seq: record.seq(), hash: record.hash() };
    let boot = disk.boot_id().unwrap_or_default();
    let head = write_new(disk, &layout.head(), b"")?;
    let sync = SyncMark { spot, intent: spot.seq, ..SyncMark::nothing(&boot) };
    Head::write_append(&*head, &AppendMark { spot, boot })
        .and_then(|()| Head::write_sync(&*head, &sync))
        .and_then(|()| head.sync_all())
        .map_err(|error| LogError::writing("write", &layout.head(), error))?;
    for dir in [&layout.log, &layout.root] {
        disk.sync_dir(dir).map_err(|error| LogError::writing("sync", dir, error))?;
    }
    Ok(())
}

/// Writes a file that must not exist yet, durably but for its name.
fn write_new(disk: &dyn Disk, path: &Path, content: &[u8]) -> Result<Box<dyn DiskFile>, LogError> {
    let written = disk.open(path, How::Create).and_then(|file| {
        write_full(&*file, content, 0)?;
        file.sync_all()?;
        Ok(file)
    });
    written.map_err(|error| LogError::writing("write", path, error))
}
