//! The whole log from disk: bytes, chain and marks.

use std::ops::ControlFlow;
use std::path::Path;

use super::disk::How;
use super::error::LogError;
use super::file::{FileLog, Store, pending};
use super::{Cursor, Pending};
use crate::hash::Hash;
use crate::id::{LedgerId, Seq};
use crate::record::Verdict;
use crate::record::recover::{Evidence, Fault};
use crate::record::survey::Survey;

/// A record remembered elsewhere: in a checkpoint, a receipt, a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    /// Its sequence number.
    pub seq: Seq,
    /// Its hash.
    pub hash: Hash,
}

/// What to verify besides the log itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct VerifyOptions {
    /// A record that must be in the log.
    pub against: Option<Anchor>,
    /// Whether to compute each segment's digest.
    pub digests: bool,
}

/// A segment of a verified log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentInfo {
    /// Its first sequence number.
    pub first: Seq,
    /// Its last sound one.
    pub last: Seq,
    /// How many bytes its sound records take.
    pub bytes: u64,
    /// BLAKE3 of the whole file, as `b3sum` prints it, if it was asked for.
    pub digest: Option<Hash>,
}

/// What verification found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyReport {
    /// The identity of the ledger.
    pub ledger: LedgerId,
    /// Just after the last record of the sound, chained prefix.
    pub head: Cursor,
    /// How many bytes that prefix takes.
    pub bytes: u64,
    /// The highest sequence number known to be durable.
    pub durable: Seq,
    /// The segments of that prefix.
    pub segments: Vec<SegmentInfo>,
    /// What follows it, if that is no more than a record in progress or cut short.
    pub pending: Option<Pending>,
    /// The row of the recovery table.
    pub verdict: Verdict,
    /// The segment that the verdict's offsets are in.
    pub segment: Seq,
}

impl VerifyReport {
    /// The error that a reader of this log gets; `None` if the log is sound.
    #[must_use]
    pub fn error(&self) -> Option<LogError> {
        LogError::of(&self.verdict, self.segment, self.durable)
    }
}

/// Verifies the ledger at `root`, the `.loopx` directory, without a lock and without changing anything. `progress` is
/// called now and then with the number of records and bytes so far, and stops the work by breaking.
///
/// # Errors
/// [`LogError`] if the log cannot be read, [`LogError::Interrupted`] if `progress` broke off. What is wrong with its content is in the report.
pub fn verify(
    root: &Path,
    options: &VerifyOptions,
    progress: &mut dyn FnMut(Seq, u64) -> ControlFlow<()>,
) -> Result<VerifyReport, LogError> {
    let log = FileLog::open(root)?;
    let store = &log.store;
    let mut segments: Vec<SegmentInfo> = Vec::new();
    let mut anchored = None;
    let mut bytes = 0;
    let found = store.survey(&Cursor::START, &mut |record, cursor| {
        let length = record.line().len() as u64 + 1;
        bytes += length;
        match segments.last_mut().filter(|info| info.first == cursor.segment) {
            Some(info) => (info.last, info.bytes) = (cursor.seq, cursor.end),
            None => segments.push(SegmentInfo {
                first: cursor.segment,
                last: cursor.seq,
                bytes: length,
                digest: None,
            }),
        }
        if options.against.is_some_and(|anchor| anchor.seq == cursor.seq) {
            anchored = Some(cursor.hash);
        }
        if cursor.seq.0 % 4096 == 0 { progress(cursor.seq, bytes) } else { ControlFlow::Continue(()) }
    })?;
    let walker = &found.walker;
    let (head, durable, segment) = (walker.cursor, walker.known_durable(), walker.segment);
    let Some((suffix, verdict)) = found.outcome else { return Err(LogError::Interrupted { seq: head.seq }) };
    let pending = pending(suffix, &verdict, walker.offset);
    let verdict = beyond_segment(store, segment, walker.offset, head.seq, verdict)?;
    // A reader that knows the head from HEAD does not list the segments; here it is worth it.
    let verdict = match verdict {
        Verdict::Clean | Verdict::Adopt if store.segments()?.iter().any(|first| *first > segment) => {
            let (fault, evidence) = (Fault::MissingSegment, Evidence::SealedSegment);
            Verdict::Damaged {
                seq: head.seq.next(),
                offset: walker.offset,
                fault,
                evidence,
                sound_after: None,
            }
        }
        other => other,
    };
    let verdict = options.against.map_or(verdict, |anchor| against(anchor, anchored, head.seq, verdict));
    if options.digests {
        for info in &mut segments {
            if let Some(file) = store.open_segment(info.first, How::Read)? {
                info.digest = Some(Hash::blob(&store.read_from(&*file, info.first, 0)?));
            }
        }
    }
    Ok(VerifyReport { ledger: log.id(), head, bytes, durable, segments, pending, verdict, segment })
}

/// An anchor speaks before everything else: it is the memory that an attacker could not rewrite.
fn against(anchor: Anchor, found: Option<Hash>, have: Seq, verdict: Verdict) -> Verdict {
    match found {
        Some(found) if found == anchor.hash => verdict,
        Some(found) => Verdict::Rewritten { seq: anchor.seq, expected: anchor.hash, found },
        None if matches!(verdict, Verdict::Damaged { .. } | Verdict::Fork { .. } | Verdict::Newer { .. }) => {
            verdict
        }
        None => Verdict::Rollback { have, expected: anchor.seq },
    }
}

/// Lets the sound run behind a damaged record go on through later segments.
fn beyond_segment(
    store: &Store,
    segment: Seq,
    from: u64,
    last: Seq,
    verdict: Verdict,
) -> Result<Verdict, LogError> {
    let Verdict::Damaged { seq, offset, fault, evidence, .. } = verdict else { return Ok(verdict) };
    let mut survey = Survey::new(last);
    for first in store.segments()?.into_iter().filter(|first| *first >= segment) {
        if let Some(file) = store.open_segment(first, How::Read)? {
            survey.read(&store.read_from(&*file, first, if first == segment { from } else { 0 })?);
        }
    }
    let sound_after = survey.sound();
    Ok(Verdict::Damaged { seq, offset, fault, evidence, sound_after })
}
