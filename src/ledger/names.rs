//! Where names occur: the index for the records that it covers, and memory for those after it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::{Entry, LedgerError};
use crate::event::Event;
use crate::hash::Hash;
use crate::id::{RequestId, Seq};
use crate::index::{self, Index, Place, RUN_RECORDS};
use crate::log::{Cursor, Log, LogError, Pick};
use crate::record::Record;
use crate::state::At;

/// If more than one record in so many is wanted, reading all of them is faster than picking.
const DENSE: u64 = 16;

/// Records that are indexed in one go when much of the index is missing.
const PART: u64 = 64 * RUN_RECORDS;

/// The key under which a request is found.
pub(super) fn request_key(request: &RequestId) -> String {
    format!("request/{request}")
}

/// A record of the past, read as events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    /// Its envelope.
    pub at: At,
    /// Its hash.
    pub hash: Hash,
    /// The request that caused it.
    pub request: RequestId,
    /// The digest of that request.
    pub digest: Hash,
    /// What happened.
    pub events: Vec<Event>,
}

impl From<Entry<'_>> for Past {
    fn from(entry: Entry<'_>) -> Self {
        let digest = entry.record.digest();
        Self { at: entry.at, hash: entry.hash, request: entry.request, digest, events: entry.events }
    }
}

/// What a record is found by. A key may come twice.
fn keys<'e>(request: &RequestId, events: &'e [Event]) -> impl Iterator<Item = String> + use<'e> {
    std::iter::once(request_key(request)).chain(events.iter().flat_map(Event::keys))
}

/// Where names occur, up to some record.
pub(super) struct Names {
    /// Where the index lies; without a directory everything is kept in memory.
    root: Option<PathBuf>,
    /// Opened when it is first asked.
    index: Option<Index>,
    /// What the index does not cover.
    later: BTreeSet<index::Entry>,
    /// Just after the last record that is known here.
    end: Cursor,
}

impl Names {
    pub(super) fn new(root: Option<&Path>) -> Self {
        Self { root: root.map(Path::to_owned), index: None, later: BTreeSet::new(), end: Cursor::START }
    }

    /// Takes note of a record that was just read or written, if it is the next one.
    pub(super) fn note(
        &mut self,
        prev: Hash,
        request: &RequestId,
        events: &[Event],
        bytes: usize,
        end: &Cursor,
    ) {
        if self.index.is_some() && (self.end.seq.next(), self.end.hash) == (end.seq, prev) {
            let place = Place { seq: end.seq, offset: end.end.saturating_sub(bytes as u64) };
            self.later.extend(keys(request, events).map(|key| index::Entry::new(&key, place)));
            self.end = *end;
        }
    }

    /// As [`Names::note`], of a record that was read.
    pub(super) fn see(&mut self, entry: &Entry<'_>, end: &Cursor) {
        let bytes = entry.record.line().len() + 1;
        self.note(entry.record.prev(), &entry.request, &entry.events, bytes, end);
    }

    /// Adds to `known` every record up to `head` in which one of the keys occurs.
    pub(super) fn gather(
        &mut self,
        log: &dyn Log,
        head: &Cursor,
        wanted: &BTreeSet<String>,
        known: &mut BTreeMap<Seq, Past>,
    ) -> Result<(), LedgerError> {
        let mut places = self.places(log, head, wanted)?;
        places.retain(|place| place.seq <= head.seq && !known.contains_key(&place.seq));
        let picked = if (places.len() as u64).saturating_mul(DENSE) > head.seq.0 {
            None
        } else {
            pick(log, &places, wanted, known)?
        };
        // A record that is not where it was is no answer: the log itself tells what there is, or what is wrong with it.
        if picked.is_none() && !places.is_empty() { scan(log, head, wanted, known) } else { Ok(()) }
    }

    fn places(
        &mut self,
        log: &dyn Log,
        head: &Cursor,
        wanted: &BTreeSet<String>,
    ) -> Result<BTreeSet<Place>, LedgerError> {
        self.catch_up(log, head.seq, Some(head.hash))?;
        if let Some(found) = self.find(wanted) {
            return Ok(found);
        }
        // A block does not hold.
        self.restart(self.empty());
        self.catch_up(log, head.seq, Some(head.hash))?;
        Ok(self.find(wanted).unwrap_or_default())
    }

    fn find(&self, wanted: &BTreeSet<String>) -> Option<BTreeSet<Place>> {
        let found = self.index.as_ref()?.find(wanted.iter().map(String::as_str))?;
        let mut places = BTreeSet::from_iter(found);
        for key in wanted {
            let (first, last) = index::Entry::bounds(key);
            places.extend(self.later.range(first..=last).map(|entry| entry.place));
        }
        Some(places)
    }

    fn open(&self) -> Index {
        self.root.as_deref().map(Index::open).unwrap_or_default()
    }

    /// An index of the ledger that covers nothing yet. What it is given later is written where the ledger is.
    fn empty(&self) -> Index {
        self.root.as_deref().map(Index::empty).unwrap_or_default()
    }

    fn restart(&mut self, index: Index) {
        self.end = index.covered();
        self.index = Some(index);
        self.later.clear();
    }

    /// Reads on, so that every record up to `to` is known. An index may lie there whose records a loss of power took, and
    /// the log may have grown to its length again: the same number is not the same record, so its hash is compared.
    fn catch_up(&mut self, log: &dyn Log, to: Seq, hash: Option<Hash>) -> Result<(), LedgerError> {
        if self.index.is_none() {
            self.restart(self.open());
        }
        if self.end.seq == to && hash.is_none_or(|hash| hash == self.end.hash) {
            return Ok(());
        }
        match self.read_on(log, to) {
            Err(LedgerError::Log(LogError::CursorUnknown { .. })) if self.end.seq > Seq::ZERO => {
                // The index, or what is in memory, is of another history than the log.
                self.restart(self.empty());
                self.read_on(log, to)
            }
            other => other,
        }
    }

    fn read_on(&mut self, log: &dyn Log, to: Seq) -> Result<(), LedgerError> {
        let mut failure = None;
        let from = self.end;
        log.read(&from, &mut |record, end| {
            if end.seq <= to {
                match Entry::of(record) {
                    Ok(entry) => self.see(&entry, end),
                    Err(error) => failure = Some(error),
                }
            }
            if end.seq >= to || failure.is_some() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        failure.map_or(Ok(()), Err)
    }

    /// Brings the index up to `to` if at least `due` records are not covered. Whatever fails is of no consequence.
    pub(super) fn build(&mut self, log: &dyn Log, to: Seq, due: u64) -> Option<()> {
        let root = self.root.clone()?;
        if to.0 < index::reach(&root).0.saturating_add(due) && index::reach(&root) <= to {
            return None;
        }
        let _lock = Index::lock(&root)?;
        let found = Index::open(&root);
        if self.index.as_ref().map(Index::covered) != Some(found.covered()) {
            self.restart(found);
        }
        loop {
            // No more at a time than a command may have to hold in memory.
            let covered = self.index.as_ref()?.covered().seq;
            let part = Seq(covered.0.saturating_add(PART).min(to.0));
            if part.0 < covered.0 + due || self.end.seq > to {
                return Some(());
            }
            self.catch_up(log, part, None).ok()?;
            if self.end.seq != part {
                return None;
            }
            let entries: Vec<_> = std::mem::take(&mut self.later).into_iter().collect();
            let end = self.end;
            if self.index.as_mut()?.extend(entries, &end).is_err() {
                self.index = None;
                return None;
            }
            // A merge that met a run which does not hold leaves less covered than before: that is read again.
            if self.index.as_ref()?.covered() != end {
                let left = self.index.take()?;
                self.restart(left);
            }
        }
    }
}

/// Visits the records at these places, those that turn out to hold one of the keys; `None` if one is not there.
fn pick(
    log: &dyn Log,
    places: &BTreeSet<Place>,
    wanted: &BTreeSet<String>,
    known: &mut BTreeMap<Seq, Past>,
) -> Result<Option<()>, LedgerError> {
    let picks: Vec<Pick> =
        places.iter().map(|place| Pick { seq: place.seq, offset: Some(place.offset) }).collect();
    let mut failure = None;
    let all = log.pick(&picks, &mut |record| {
        failure = failure.take().or(add(record, wanted, known).err());
    })?;
    match failure {
        Some(error) => Err(error),
        None => Ok(all.then_some(())),
    }
}

/// Visits every record up to `head`.
fn scan(
    log: &dyn Log,
    head: &Cursor,
    wanted: &BTreeSet<String>,
    known: &mut BTreeMap<Seq, Past>,
) -> Result<(), LedgerError> {
    let mut failure = None;
    log.read(&Cursor::START, &mut |record, end| {
        if end.seq <= head.seq {
            failure = add(record, wanted, known).err();
        }
        if end.seq >= head.seq || failure.is_some() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    failure.map_or(Ok(()), Err)
}

fn add(
    record: &Record<'_>,
    wanted: &BTreeSet<String>,
    known: &mut BTreeMap<Seq, Past>,
) -> Result<(), LedgerError> {
    let entry = Entry::of(record)?;
    if keys(&entry.request, &entry.events).any(|key| wanted.contains(&key)) {
        known.insert(entry.at.seq, Past::from(entry));
    }
    Ok(())
}
