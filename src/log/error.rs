//! What can go wrong with a log, as data. Each variant is a decision that a caller can take.

use std::io;
use std::path::{Path, PathBuf};

use crate::hash::Hash;
use crate::id::Seq;
use crate::record::recover::{Evidence, Fault, Verdict};
use crate::record::{ChainError, FrameError, HashMismatch};

/// A place in a file of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The sequence number of the record.
    pub seq: Seq,
    /// The first sequence number of its segment.
    pub segment: Seq,
    /// Where it starts in that segment.
    pub offset: u64,
}

/// A record that was complete is no longer what it was. Only a person, or a verified copy, repairs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Where.
    pub place: Place,
    /// What is wrong.
    pub fault: Fault,
    /// What shows that it was once complete.
    pub evidence: Evidence,
    /// First and last of the longest sound run of records after it.
    pub sound_after: Option<(Seq, Seq)>,
}

/// A log could not be read, locked, or made durable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// There is no ledger here.
    #[error("no ledger at {}", path.display())]
    NotALedger {
        /// What is missing, or is no ledger.
        path: PathBuf,
    },
    /// There are records, and the file that says whose they are is missing or garbled.
    #[error("{} is missing or garbled, and there are records beside it", path.display())]
    FormatLost {
        /// The file.
        path: PathBuf,
    },
    /// A ledger is already here; it was left as it is.
    #[error("a ledger already exists at {}", path.display())]
    AlreadyExists {
        /// Where.
        path: PathBuf,
    },
    /// The ledger, or a record of it, is of a newer version: write with a newer program.
    #[error("version {version} is newer than this program's 1")]
    Newer {
        /// The version found.
        version: u64,
        /// The first record of that version; `None` if the whole layout is.
        seq: Option<Seq>,
    },
    /// A record that was complete is no longer what it was.
    #[error("record {} at byte {} of segment {}: {}", .0.place.seq, .0.place.offset, .0.place.segment, .0.fault)]
    Damaged(Box<Damage>),
    /// The log ends before a record that was once there.
    #[error("the log ends at record {have}, but record {expected} was there")]
    RolledBack {
        /// The last record.
        have: Seq,
        /// The record that is remembered.
        expected: Seq,
    },
    /// The log holds another record than the one remembered.
    #[error("record {seq} is {}, but {} was there", found.short(), expected.short())]
    Rewritten {
        /// Its sequence number.
        seq: Seq,
        /// The remembered hash.
        expected: Hash,
        /// The hash in the log.
        found: Hash,
    },
    /// Two records claim one sequence number.
    #[error("a second record claims the number {} at byte {} of segment {}", place.seq, place.offset, place.segment)]
    Forked {
        /// Where the second one is.
        place: Place,
    },
    /// The record that a cursor names is not there: read from the start.
    #[error("record {seq} is not where it was remembered")]
    CursorUnknown {
        /// The sequence number that the cursor names.
        seq: Seq,
    },
    /// Another process holds the lock.
    #[error("the ledger is held by {} for more than {waited_ms} ms", named(holder))]
    Busy {
        /// What the holder says of itself.
        holder: String,
        /// How long this process waited.
        waited_ms: u64,
    },
    /// A file may not be read. It is never taken to be empty.
    #[error("{} may not be read", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
    },
    /// A file may not be written: permissions, or a read-only file system.
    #[error("{} may not be written", path.display())]
    NotWritable {
        /// Which file.
        path: PathBuf,
    },
    /// No space is left, or the quota is used up. Nothing was changed.
    #[error("no space is left for {}", path.display())]
    Full {
        /// Which file.
        path: PathBuf,
    },
    /// The ledger belongs to another user; it may be read.
    #[error("{} belongs to user {uid}", path.display())]
    ForeignOwner {
        /// Which directory.
        path: PathBuf,
        /// Its owner.
        uid: u32,
    },
    /// The ledger lies on a file system that is no place for one; it may be read.
    #[error("{} is on {file_system}, where locks and syncs may not hold", path.display())]
    RefusedFileSystem {
        /// Which directory.
        path: PathBuf,
        /// The type of the file system.
        file_system: &'static str,
    },
    /// A directory, a link or a device where a file should be, or the reverse.
    #[error("{} is of the wrong type", path.display())]
    WrongType {
        /// Which path.
        path: PathBuf,
    },
    /// A sync failed: records after `durable` are stored, and may be lost with the power.
    #[error("a sync failed: records after {durable} may be lost with the power")]
    DurabilityUnknown {
        /// The highest sequence number known to be durable.
        durable: Seq,
    },
    /// A limit of the format is exceeded.
    #[error("{what} exceeds {limit}")]
    LimitExceeded {
        /// What exceeds it.
        what: &'static str,
        /// The limit, in bytes.
        limit: u64,
    },
    /// A line offered to the log is not the next record.
    #[error("the line is not the next record: {0}")]
    NotNext(Box<Refused>),
    /// The caller stopped the work.
    #[error("stopped after record {seq}")]
    Interrupted {
        /// The last record that was looked at.
        seq: Seq,
    },
    /// Any other failure of the system.
    #[error("{op} {}: {source}", path.display())]
    Io {
        /// What was tried.
        op: &'static str,
        /// On which path.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// In which respect a line offered to the log is not the next record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is not one line, ending with its line feed.
    #[error("it is not one line")]
    NotOneLine,
    /// It is not spelled as a record.
    #[error("{0}")]
    Frame(#[from] FrameError),
    /// Its hash does not hold.
    #[error("{0}")]
    Hash(#[from] HashMismatch),
    /// It does not follow the head.
    #[error("{0}")]
    Chain(#[from] ChainError),
}

impl From<Refused> for LogError {
    fn from(refused: Refused) -> Self {
        Self::NotNext(Box::new(refused))
    }
}

/// A record was not stored, or perhaps not.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// The head is another one than expected. Certainly not stored.
    #[error("the head is record {}", head.seq)]
    Conflict {
        /// The head.
        head: super::Cursor,
    },
    /// The write failed and nothing of it is left. Certainly not stored.
    #[error(transparent)]
    NotStored(LogError),
    /// The write failed and what is left of it is not known: look for the request id before trying again.
    #[error("the record may be stored: {0}")]
    Unknown(LogError),
}

impl LogError {
    /// The error that `error` is, when reading.
    pub(super) fn reading(op: &'static str, path: &Path, source: io::Error) -> Self {
        Self::from_io(op, path, source, false)
    }

    /// The error that `error` is, when writing.
    pub(super) fn writing(op: &'static str, path: &Path, source: io::Error) -> Self {
        Self::from_io(op, path, source, true)
    }

    /// The error of reading a file that is not part of the log.
    #[must_use]
    pub fn reading_blob(path: &Path, source: io::Error) -> Self {
        Self::from_io("read", path, source, false)
    }

    /// The error of writing a file that is not part of the log.
    #[must_use]
    pub fn writing_blob(path: &Path, source: io::Error) -> Self {
        Self::from_io("write", path, source, true)
    }

    fn from_io(op: &'static str, path: &Path, source: io::Error, writing: bool) -> Self {
        use io::ErrorKind as Kind;
        let path = path.to_owned();
        match source.kind() {
            Kind::PermissionDenied if writing => Self::NotWritable { path },
            Kind::PermissionDenied => Self::Unreadable { path },
            Kind::ReadOnlyFilesystem => Self::NotWritable { path },
            Kind::StorageFull | Kind::QuotaExceeded => Self::Full { path },
            Kind::IsADirectory | Kind::NotADirectory => Self::WrongType { path },
            _ => Self::Io { op, path, source },
        }
    }

    /// The error that a verdict is, if it forbids to go on; `segment` is where the sound prefix ends.
    pub(super) fn of(verdict: &Verdict, segment: Seq, durable: Seq) -> Option<Self> {
        Some(match *verdict {
            Verdict::Clean | Verdict::Adopt | Verdict::Torn { .. } | Verdict::FinishRotation => return None,
            Verdict::Damaged { seq, offset, fault, evidence, sound_after } => {
                Self::Damaged(Box::new(Damage {
                    place: Place { seq, segment, offset },
                    fault,
                    evidence,
                    sound_after,
                }))
            }
            Verdict::Rollback { have, expected } => Self::RolledBack { have, expected },
            Verdict::Rewritten { seq, expected, found } => Self::Rewritten { seq, expected, found },
            Verdict::Newer { seq, version } => Self::Newer { version, seq: Some(seq) },
            Verdict::SyncUnknown => Self::DurabilityUnknown { durable },
            Verdict::Fork { seq, offset } => Self::Forked { place: Place { seq, segment, offset } },
        })
    }
}

/// A holder as it names itself; one that was just started may not have done so yet.
fn named(holder: &str) -> String {
    if holder.is_empty() { "another process".to_owned() } else { format!("{holder:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_failure_is_an_error_of_its_own() {
        use io::ErrorKind as Kind;
        let path = Path::new("log/HEAD");
        let reading = |kind: Kind| LogError::reading("read", path, kind.into());
        let writing = |kind: Kind| LogError::writing("write", path, kind.into());
        assert!(matches!(reading(Kind::PermissionDenied), LogError::Unreadable { .. }));
        assert!(matches!(writing(Kind::PermissionDenied), LogError::NotWritable { .. }));
        assert!(matches!(writing(Kind::ReadOnlyFilesystem), LogError::NotWritable { .. }));
        assert!(matches!(writing(Kind::StorageFull), LogError::Full { .. }));
        assert!(matches!(writing(Kind::QuotaExceeded), LogError::Full { .. }));
        assert!(matches!(reading(Kind::IsADirectory), LogError::WrongType { .. }));
        assert!(matches!(reading(Kind::NotADirectory), LogError::WrongType { .. }));
        assert!(matches!(reading(Kind::Other), LogError::Io { op: "read", .. }));
    }

    #[test]
    fn a_holder_without_a_name_is_another_process() {
        let busy = |holder: &str| LogError::Busy { holder: holder.to_owned(), waited_ms: 5 }.to_string();
        assert_eq!(busy(""), "the ledger is held by another process for more than 5 ms");
        assert_eq!(busy("pid 7"), "the ledger is held by \"pid 7\" for more than 5 ms");
    }
}
