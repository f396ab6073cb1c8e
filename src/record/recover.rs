//! Recovery is a table: [`judge`] turns the facts about a log's tail into one verdict. A test enumerates every
//! combination of the facts.

use super::chain::{ChainError, Link};
use super::frame::{FrameError, HashMismatch};
use super::survey::Bad;
use crate::hash::Hash;
use crate::id::Seq;

/// What is known about the tail of a log: the last sound record, what follows it, and what was remembered elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The last record of the sound, chained prefix.
    pub last: Link,
    /// Offset in its segment at which that prefix ends.
    pub end: u64,
    /// What follows the prefix in its segment.
    pub suffix: Suffix,
    /// Whether the last record seals its segment.
    pub sealed: bool,
    /// Whether a segment lies beyond the one in which the prefix ends.
    pub later_segment: bool,
    /// HEAD's append mark; `None` if absent or garbled.
    pub appended: Option<Appended>,
    /// HEAD's durable mark; `None` if absent or garbled.
    pub durable: Option<Mark>,
    /// Whether a sync is known to have failed since this machine started.
    pub poisoned: bool,
}

/// What follows the sound prefix in its segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suffix {
    /// Nothing.
    Nothing,
    /// A line whose hash holds, of a version that this program does not know.
    Newer {
        /// The version that it names.
        version: u64,
    },
    /// Bytes that are not the next record.
    Bad(Bad),
}

/// A remembered record, and the hash that the log now has at its sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The remembered sequence number.
    pub seq: Seq,
    /// The remembered hash.
    pub hash: Hash,
    /// What the log has there; `None` if it lies before the part that was read, or beyond the prefix.
    pub found: Option<Hash>,
}

impl Mark {
    fn conflict(&self) -> Option<Verdict> {
        let found = self.found.filter(|found| *found != self.hash)?;
        Some(Verdict::Rewritten { seq: self.seq, expected: self.hash, found })
    }
}

/// HEAD's append mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// The record that it names.
    pub mark: Mark,
    /// Whether it was written since this machine started: only then does nothing but damage undo an append.
    pub this_boot: bool,
}

/// In which respect the bytes after the sound prefix are not the next record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The segment ends without a line feed.
    #[error("the line has no end")]
    Unterminated,
    /// The line is not spelled as a record.
    #[error("{0}")]
    Frame(FrameError),
    /// The line's hash does not hold.
    #[error("{0}")]
    Hash(HashMismatch),
    /// The line is a record, but not the next one.
    #[error("{0}")]
    Chain(ChainError),
    /// A later segment exists, but not the one that starts with the next record.
    #[error("the segment that starts with the next record is missing")]
    MissingSegment,
}

/// What shows that a bad record was once acknowledged or complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// A later sound record says that its writer knew the bad one to be durable.
    LaterRecord {
        /// The highest sequence number that such a record calls durable.
        dur: Seq,
    },
    /// HEAD calls it durable.
    DurableMark {
        /// The sequence number that HEAD calls durable.
        dur: Seq,
    },
    /// HEAD says that it was appended since this machine started.
    AppendMark {
        /// The sequence number that HEAD names.
        seq: Seq,
    },
    /// It lies in a segment that has a successor.
    SealedSegment,
    /// It is the first record, and a ledger does not exist before that one is durable.
    Genesis,
}

impl Evidence {
    /// Whether it holds even if a sync has failed since: an append that was never durable may be undone by that.
    const fn outlasts_poison(self) -> bool {
        !matches!(self, Self::AppendMark { .. })
    }
}

/// The rows of the recovery table.
///
/// # Source
/// ledger-format.md, "Recovery".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The log ends where HEAD says.
    Clean,
    /// The log is sound and HEAD does not know all of it: a writer died before its last step.
    Adopt,
    /// The last record was cut short and never acknowledged: move its bytes aside.
    Torn {
        /// The sequence number that it would have had.
        seq: Seq,
        /// Where its bytes start in the segment.
        offset: u64,
        /// How many bytes there are.
        bytes: u64,
    },
    /// A record that was acknowledged, or complete, is no longer what it was. Only a person repairs this.
    Damaged {
        /// Its sequence number.
        seq: Seq,
        /// Where it starts in the segment.
        offset: u64,
        /// In which respect it is wrong.
        fault: Fault,
        /// What shows that it was once complete.
        evidence: Evidence,
        /// First and last of the longest run of records after it that are sound and chained among themselves.
        sound_after: Option<(Seq, Seq)>,
    },
    /// The log is sound but ends before a record that was once there.
    Rollback {
        /// The last record.
        have: Seq,
        /// The record that is remembered.
        expected: Seq,
    },
    /// The log is sound but holds another record than the one remembered.
    Rewritten {
        /// Its sequence number.
        seq: Seq,
        /// The remembered hash.
        expected: Hash,
        /// The hash in the log.
        found: Hash,
    },
    /// The segment is sealed and its successor is missing: create it.
    FinishRotation,
    /// The next record is of a version that this program does not know: read what comes before it, write nothing.
    Newer {
        /// Its sequence number.
        seq: Seq,
        /// Its version.
        version: u64,
    },
    /// A sync failed: which of the last records are durable is not known.
    SyncUnknown,
    /// Two sound records claim one sequence number.
    Fork {
        /// The number.
        seq: Seq,
        /// Where the second one starts in the segment.
        offset: u64,
    },
}

impl Verdict {
    /// Its name in ledger-format.md.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Adopt => "adopt",
            Self::Torn { .. } => "torn",
            Self::Damaged { .. } => "damaged",
            Self::Rollback { .. } => "rollback",
            Self::Rewritten { .. } => "rewritten",
            Self::FinishRotation => "finish-rotation",
            Self::Newer { .. } => "newer",
            Self::SyncUnknown => "sync-unknown",
            Self::Fork { .. } => "fork",
        }
    }
}

/// The first record, durable before a ledger exists.
const FIRST: Seq = Seq(1);

/// The recovery table.
///
/// Order of the rows: what a memory contradicts, then what stops, then what can be put right.
#[must_use]
pub fn judge(facts: &Facts) -> Verdict {
    if let Some(rewritten) =
        facts.durable.and_then(|mark| mark.conflict()).or_else(|| appended_conflict(facts))
    {
        return rewritten;
    }
    let next = facts.last.seq.next();
    match facts.suffix {
        Suffix::Newer { version } => Verdict::Newer { seq: next, version },
        Suffix::Bad(bad) => judge_bad(facts, next, bad),
        Suffix::Nothing => judge_sound(facts, next),
    }
}

/// An append mark of another boot proves nothing: what it names may have been lost before it was acknowledged.
fn appended_conflict(facts: &Facts) -> Option<Verdict> {
    facts.appended.filter(|appended| appended.this_boot).and_then(|appended| appended.mark.conflict())
}

fn judge_bad(facts: &Facts, next: Seq, bad: Bad) -> Verdict {
    if let Some((seq, at)) = bad.claimed_twice {
        return Verdict::Fork { seq, offset: facts.end + at };
    }
    let evidence = evidence(facts, next, bad.highest_dur);
    // What was appended and never durable may be gone after a sync that failed.
    if facts.poisoned && !evidence.is_some_and(Evidence::outlasts_poison) {
        return Verdict::SyncUnknown;
    }
    if let Some(evidence) = evidence {
        let Bad { fault, sound, .. } = bad;
        return Verdict::Damaged { seq: next, offset: facts.end, fault, evidence, sound_after: sound };
    }
    Verdict::Torn { seq: next, offset: facts.end, bytes: bad.bytes }
}

/// What shows that the record at `next` was once complete.
fn evidence(facts: &Facts, next: Seq, highest_dur: Option<Seq>) -> Option<Evidence> {
    if let Some(dur) = highest_dur.filter(|dur| *dur >= next) {
        return Some(Evidence::LaterRecord { dur });
    }
    if let Some(mark) = facts.durable.filter(|mark| mark.seq >= next) {
        return Some(Evidence::DurableMark { dur: mark.seq });
    }
    if facts.later_segment {
        return Some(Evidence::SealedSegment);
    }
    if next == FIRST {
        return Some(Evidence::Genesis);
    }
    let appended = facts.appended.filter(|appended| appended.this_boot && appended.mark.seq >= next)?;
    Some(Evidence::AppendMark { seq: appended.mark.seq })
}

fn judge_sound(facts: &Facts, next: Seq) -> Verdict {
    if facts.later_segment {
        let (fault, evidence) = (Fault::MissingSegment, Evidence::SealedSegment);
        return Verdict::Damaged { seq: next, offset: facts.end, fault, evidence, sound_after: None };
    }
    let appended = facts.appended.filter(|appended| appended.this_boot).map(|appended| appended.mark.seq);
    let appended_there = appended.filter(|_| !facts.poisoned);
    let remembered = facts.durable.map(|mark| mark.seq).max(appended_there).max(Some(FIRST));
    if let Some(expected) = remembered.filter(|seq| *seq >= next) {
        return Verdict::Rollback { have: facts.last.seq, expected };
    }
    if facts.poisoned {
        Verdict::SyncUnknown
    } else if facts.sealed {
        Verdict::FinishRotation
    } else if appended == Some(facts.last.seq) {
        Verdict::Clean
    } else {
        Verdict::Adopt
    }
}
