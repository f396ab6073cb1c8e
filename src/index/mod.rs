//! The index: where in the log a name occurs. A hint, like a snapshot: deleting or garbling it costs time and changes
//! no answer.
//!
//! It is a handful of immutable *runs* in `.loopx/idx`, each for a range of records, sorted by key. A lookup reads the
//! fences of each run and one block; both carry digests, and a run that does not hold is not used. Runs cover the log
//! from its first record without a gap; what comes after the last one is read from the log.

mod run;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::hash::Hash;
use crate::id::Seq;

pub use run::{Entry, Run};

/// Records in a run of the lowest level. Looking through as many in the log costs a command about a millisecond.
pub const RUN_RECORDS: u64 = 1024;

/// Runs of one level that are merged into one of the next. Few runs to look into, and each record is rewritten
/// only a handful of times however long the log grows.
const FAN: usize = 8;

/// What an index says about a key: the places of the records that it occurs in, oldest first, up to `covered`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Records up to this one were looked at.
    pub covered: Seq,
    /// Places where it occurs, or where another key of the same digest does: the record itself tells.
    pub places: Vec<Place>,
}

/// Where a record starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The record.
    pub seq: Seq,
    /// Offset of its first byte in its segment.
    pub offset: u64,
}

/// The runs of a ledger that hold, oldest first, without a gap from the first record on.
#[derive(Debug, Default)]
pub struct Index {
    directory: PathBuf,
    runs: Vec<Run>,
}

impl Index {
    /// Opens the index of the ledger at `root`. Runs that overlap an earlier one, leave a gap, or do not hold are left
    /// out, with everything after them.
    #[must_use]
    pub fn open(root: &Path) -> Self {
        let directory = root.join("idx");
        let mut named: BTreeMap<Seq, Vec<(Seq, PathBuf)>> = BTreeMap::new();
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            if let Some((first, last)) = entry.file_name().to_str().and_then(run::range) {
                named.entry(first).or_default().push((last, entry.path()));
            }
        }
        let mut runs: Vec<Run> = Vec::new();
        let mut next = Seq(1);
        while let Some(choices) = named.get_mut(&next) {
            // The longest run of those that begin here: a merge may have left its sources behind.
            choices.sort_unstable();
            let Some(found) = choices.iter().rev().find_map(|(_, path)| Run::open(path)) else { break };
            next = found.last().next();
            runs.push(found);
        }
        Self { directory, runs }
    }

    /// The last record that the runs cover, and its hash. The caller compares it with the log before it believes them.
    #[must_use]
    pub fn covered(&self) -> Option<(Seq, Hash)> {
        self.runs.last().map(|run| (run.last(), run.hash()))
    }

    /// Looks a key up. `None` if a run turns out not to hold: the log has to be read.
    #[must_use]
    pub fn find(&self, key: &str) -> Option<Found> {
        let mut places = Vec::new();
        let digest = digest(key);
        for run in &self.runs {
            places.extend(run.find(digest)?);
        }
        Some(Found { covered: self.covered().map_or(Seq::ZERO, |(seq, _)| seq), places })
    }

    /// Adds a run for the records after the last one covered, and merges runs where there are enough of a level.
    /// `entries` are the keys of those records with the place of each; `hash` is that of record `last`.
    ///
    /// # Errors
    /// What the system says. Nobody depends on it: the caller may ignore it.
    pub fn extend(&mut self, entries: Vec<(String, Place)>, last: Seq, hash: Hash) -> std::io::Result<()> {
        fs::create_dir_all(&self.directory)?;
        let first = self.covered().map_or(Seq(1), |(seq, _)| seq.next());
        let entries = entries.into_iter().map(|(key, place)| Entry { key: digest(&key), place }).collect();
        let run = Run::write(&self.directory, first, last, hash, entries)?;
        self.runs.push(run);
        while let Some(level) = self.full_level() {
            self.merge(level)?;
        }
        Ok(())
    }

    /// The position of the first of the last `FAN` runs, if those are of one level.
    fn full_level(&self) -> Option<usize> {
        let from = self.runs.len().checked_sub(FAN)?;
        let last = self.runs.get(from..)?;
        let level = last.last()?.level();
        last.iter().all(|run| run.level() == level).then_some(from)
    }

    fn merge(&mut self, from: usize) -> std::io::Result<()> {
        let sources = self.runs.split_off(from);
        let mut entries = Vec::new();
        for run in &sources {
            match run.entries() {
                Some(found) => entries.extend(found),
                // A source that does not hold ends what the index covers; the log is read from there on.
                None => return Ok(()),
            }
        }
        let (Some(first), Some(last)) = (sources.first(), sources.last()) else { return Ok(()) };
        let merged = Run::write(&self.directory, first.first(), last.last(), last.hash(), entries)?;
        self.runs.push(merged);
        for run in sources {
            fs::remove_file(run.path())?;
        }
        Ok(())
    }
}

/// The first eight bytes of a key's BLAKE3.
fn digest(key: &str) -> u64 {
    let Hash(bytes) = Hash::blob(key.as_bytes());
    let mut head = [0; 8];
    head.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    u64::from_be_bytes(head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HASH: Hash = Hash([7; 32]);

    /// An index over records 1..=records with one key a record, in runs of `step`.
    fn filled(root: &Path, records: u64, step: u64) -> Index {
        let mut index = Index::open(root);
        let mut first = 1;
        while first <= records {
            let last = (first + step - 1).min(records);
            let keys =
                (first..=last).map(|n| (format!("k{}", n % 50), Place { seq: Seq(n), offset: n * 10 }));
            index.extend(keys.collect(), Seq(last), HASH).unwrap();
            first = last + 1;
        }
        index
    }

    fn places(key: u64, records: u64) -> Vec<Place> {
        (1..=records).filter(|n| n % 50 == key).map(|n| Place { seq: Seq(n), offset: n * 10 }).collect()
    }

    #[test]
    fn every_place_of_a_key_is_found_in_order_after_any_number_of_merges() {
        let dir = tempfile::tempdir().unwrap();
        let index = filled(dir.path(), 7_000, 100);
        let again = Index::open(dir.path());
        for key in 0..50 {
            let want = Some(Found { covered: Seq(7_000), places: places(key, 7_000) });
            assert_eq!(index.find(&format!("k{key}")), want);
            assert_eq!(again.find(&format!("k{key}")), want);
        }
        assert_eq!(index.find("absent").unwrap().places, []);
        assert!(fs::read_dir(dir.path().join("idx")).unwrap().count() < 16, "runs are merged");
    }

    #[test]
    fn what_a_merge_left_behind_is_not_counted_twice() {
        let dir = tempfile::tempdir().unwrap();
        let kept = dir.path().join("kept");
        fs::create_dir(&kept).unwrap();
        filled(dir.path(), 700, 100);
        for entry in fs::read_dir(dir.path().join("idx")).unwrap().flatten() {
            fs::copy(entry.path(), kept.join(entry.file_name())).unwrap();
        }
        let mut index = Index::open(dir.path());
        index.extend(Vec::new(), Seq(800), HASH).unwrap();
        for entry in fs::read_dir(&kept).unwrap().flatten() {
            fs::copy(entry.path(), dir.path().join("idx").join(entry.file_name())).unwrap();
        }
        let found = Index::open(dir.path()).find("k3").unwrap();
        assert_eq!(found, Found { covered: Seq(800), places: places(3, 700) });
    }

    #[test]
    fn a_missing_run_ends_what_is_covered() {
        let dir = tempfile::tempdir().unwrap();
        filled(dir.path(), 500, 100);
        fs::remove_file(dir.path().join("idx").join(run::name(Seq(201), Seq(300)))).unwrap();
        let index = Index::open(dir.path());
        assert_eq!(index.covered(), Some((Seq(200), HASH)));
        assert_eq!(index.find("k3").unwrap().places, places(3, 200));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_garbled_run_never_gives_a_wrong_answer(at in 0usize..20_000, flip in 1u8..=255, cut in any::<bool>()) {
            let dir = tempfile::tempdir().unwrap();
            filled(dir.path(), 800, 100);
            let path = fs::read_dir(dir.path().join("idx")).unwrap().next().unwrap().unwrap().path();
            let mut bytes = fs::read(&path).unwrap();
            let at = at % bytes.len();
            if cut { bytes.truncate(at) } else { bytes[at] ^= flip }
            fs::write(&path, &bytes).unwrap();
            let index = Index::open(dir.path());
            for key in 0..50 {
                if let Some(found) = index.find(&format!("k{key}")) {
                    prop_assert_eq!(found.places, places(key, found.covered.0));
                }
            }
        }
    }
}
