//! A log in memory: for tests, for dry runs, and as the second reading of the contract.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::error::{AppendError, LogError};
use super::layout::next_record;
use super::{Cursor, Log, Recovered, Tail, Transaction, Visit, Wait};
use crate::id::Seq;
use crate::limits::{SEGMENT_MAX_BYTES, SEGMENT_TARGET_BYTES};
use crate::record::Link;
use crate::record::survey::{Stop, walk};

/// A log in memory. Clones share it.
#[derive(Clone, Default)]
pub struct MemoryLog {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    content: Mutex<Content>,
    holder: Mutex<Option<String>>,
    free: Condvar,
}

/// Segments by first sequence number. Durable means that someone asked for it.
#[derive(Default)]
struct Content {
    segments: BTreeMap<u64, Vec<u8>>,
    head: Option<Cursor>,
    sealed: bool,
    durable: Seq,
}

impl MemoryLog {
    /// An empty log, without even a first record.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        self.shared.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemoryLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryLog").field("head", &self.content().head()).finish_non_exhaustive()
    }
}

impl Content {
    fn head(&self) -> Cursor {
        self.head.unwrap_or(Cursor::START)
    }

    fn active(&self) -> u64 {
        self.segments.last_key_value().map_or(1, |(first, _)| *first)
    }
}

impl Log for MemoryLog {
    fn read(&self, from: &Cursor, visit: &mut Visit<'_>) -> Result<Tail, LogError> {
        let (segments, durable) = {
            let content = self.content();
            (
                content.segments.range(from.segment.0..).map(|(k, v)| (*k, v.clone())).collect::<Vec<_>>(),
                content.durable,
            )
        };
        let mut head = if from.seq == Seq::ZERO { Cursor::START } else { *from };
        let mut known = from.seq == Seq::ZERO;
        for (first, bytes) in &segments {
            let segment = Seq(*first);
            let skip =
                if segment == head.segment { usize::try_from(head.end).unwrap_or(usize::MAX) } else { 0 };
            if !known {
                known = ends_with(bytes.get(..skip).unwrap_or_default(), from);
                if !known {
                    break;
                }
            }
            let mut link = head.link();
            let (_, stop) = walk(&mut link, bytes.get(skip..).unwrap_or_default(), &mut |record, end| {
                head = Cursor::at(&Link::of(record), segment, (skip + end) as u64);
                visit(record, &head)
            });
            if stop == Stop::Visitor {
                break;
            }
        }
        if known {
            Ok(Tail { head, durable, pending: None })
        } else {
            Err(LogError::CursorUnknown { seq: from.seq })
        }
    }

    fn transaction(&self, wait: &Wait<'_>) -> Result<Box<dyn Transaction + '_>, LogError> {
        let held = self.shared.holder.lock().unwrap_or_else(PoisonError::into_inner);
        let limit = Duration::from_millis(wait.wait_ms);
        let waited = self.shared.free.wait_timeout_while(held, limit, |holder| holder.is_some());
        let (mut held, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if let Some(holder) = &*held {
            return Err(LogError::Busy { holder: holder.clone(), waited_ms: wait.wait_ms });
        }
        *held = Some(wait.holder.to_owned());
        Ok(Box::new(MemoryTransaction { log: self }))
    }

    fn make_durable(&self, up_to: &Cursor, _wait: &Wait<'_>) -> Result<Seq, LogError> {
        let mut content = self.content();
        if up_to.seq > content.head().seq {
            return Err(LogError::CursorUnknown { seq: up_to.seq });
        }
        content.durable = content.head().seq;
        Ok(content.durable)
    }
}

/// Whether the last line of `bytes` is the record that `cursor` names.
fn ends_with(bytes: &[u8], cursor: &Cursor) -> bool {
    let Some(body) = bytes.strip_suffix(b"\n") else { return false };
    let start = body.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let record =
        crate::record::frame::parse(body.get(start..).unwrap_or_default()).ok().and_then(|r| r.verify().ok());
    record.is_some_and(|record| Link::of(&record) == cursor.link())
}

struct MemoryTransaction<'l> {
    log: &'l MemoryLog,
}

impl Drop for MemoryTransaction<'_> {
    fn drop(&mut self) {
        *self.log.shared.holder.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.log.shared.free.notify_one();
    }
}

impl Transaction for MemoryTransaction<'_> {
    fn recovered(&self) -> &[Recovered] {
        &[]
    }

    fn head(&self) -> Cursor {
        self.log.content().head()
    }

    fn durable(&self) -> Seq {
        self.log.content().durable
    }

    fn read(&self, from: &Cursor, visit: &mut Visit<'_>) -> Result<Tail, LogError> {
        self.log.read(from, &mut |record, cursor| -> ControlFlow<()> { visit(record, cursor) })
    }

    fn wants_seal(&self) -> bool {
        let content = self.log.content();
        let length = content.segments.last_key_value().map_or(0, |(_, bytes)| bytes.len() as u64);
        !content.sealed && length >= SEGMENT_TARGET_BYTES
    }

    fn append(&mut self, expected: &Cursor, line: &[u8]) -> Result<Cursor, AppendError> {
        let head = self.head();
        if (expected.seq, expected.hash) != (head.seq, head.hash) {
            return Err(AppendError::Conflict { head });
        }
        let record =
            next_record(&head.link(), line).map_err(|refused| AppendError::NotStored(refused.into()))?;
        self.rotate().map_err(AppendError::NotStored)?;
        let mut content = self.log.content();
        let first = content.active();
        let bytes = content.segments.entry(first).or_default();
        if (bytes.len() + line.len()) as u64 > SEGMENT_MAX_BYTES {
            let error = LogError::LimitExceeded { what: "a segment", limit: SEGMENT_MAX_BYTES };
            return Err(AppendError::NotStored(error));
        }
        bytes.extend_from_slice(line);
        let head = Cursor::at(&Link::of(&record), Seq(first), bytes.len() as u64);
        content.sealed = record.seals(Seq(first));
        content.head = Some(head);
        Ok(head)
    }

    fn rotate(&mut self) -> Result<(), LogError> {
        let mut content = self.log.content();
        if content.sealed {
            let head = content.head();
            content.durable = head.seq;
            content.segments.insert(head.seq.next().0, Vec::new());
            content.sealed = false;
        }
        Ok(())
    }
}
