//! The index: where in the log a name occurs. A hint, like a snapshot: deleting or garbling it costs time and changes
//! no answer.
//!
//! It is a handful of immutable *runs* in `.loopx/idx`, each for a range of records, sorted by key. A lookup reads the
//! fences of each run and one block; both carry digests, and a run that does not hold is not used. Runs cover the log
//! from its first record without a gap; what comes after the last one is read from the log.

mod run;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::hash::Hash;
use crate::id::Seq;
use crate::log::Cursor;

use run::Span;
pub use run::{Entry, Run};

/// Records in a run of the lowest level. Looking through as many in the log costs a command a few milliseconds.
pub const RUN_RECORDS: u64 = 1024;

/// Runs of one level that are merged into one of the next. Few runs to look into, and each record is rewritten
/// only twice however long the log grows.
const FAN: usize = 8;

/// The highest level that is merged into the next: what a command may have to merge, in one go and in memory, is bounded.
const TOP: u32 = 1;

/// Where a record starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The record.
    pub seq: Seq,
    /// Offset of its first byte in its segment.
    pub offset: u64,
}

impl Entry {
    /// An entry for a key.
    #[must_use]
    pub fn new(key: &str, place: Place) -> Self {
        Self { key: digest(key), place }
    }

    /// Least and greatest entry of a key.
    #[must_use]
    pub fn bounds(key: &str) -> (Self, Self) {
        let (first, last) =
            (Place { seq: Seq::ZERO, offset: 0 }, Place { seq: Seq(u64::MAX), offset: u64::MAX });
        (Self::new(key, first), Self::new(key, last))
    }
}

/// The runs of a ledger that hold, oldest first, chained without a gap from the first record on.
#[derive(Debug, Default)]
pub struct Index {
    directory: PathBuf,
    runs: Vec<Run>,
}

impl Index {
    /// Opens the index of the ledger at `root`. Runs that overlap an earlier one, leave a gap, are of another history or
    /// do not hold are left out, with everything after them.
    #[must_use]
    pub fn open(root: &Path) -> Self {
        let directory = root.join("idx");
        let mut named: BTreeMap<Seq, Vec<(Seq, PathBuf)>> = BTreeMap::new();
        for (first, last, path) in files(&directory) {
            named.entry(first).or_default().push((last, path));
        }
        let mut index = Self { directory, runs: Vec::new() };
        while let Some(choices) = named.get_mut(&index.covered().seq.next()) {
            // The longest run of those that begin here: a merge may have left its sources behind.
            choices.sort_unstable();
            let hash = index.covered().hash;
            let found = choices.iter().rev().find_map(|(_, path)| Run::open(path));
            let Some(found) = found.filter(|run| run.span().prev == hash) else { break };
            index.runs.push(found);
        }
        index
    }

    /// An index of the ledger at `root` that covers nothing yet, whatever lies there.
    #[must_use]
    pub fn empty(root: &Path) -> Self {
        Self { directory: root.join("idx"), runs: Vec::new() }
    }

    /// Just after the last record that the runs cover; the start if there are none. The caller finds this place in the log
    /// before it believes them.
    #[must_use]
    pub fn covered(&self) -> Cursor {
        self.runs.last().map_or(Cursor::START, |run| run.span().end)
    }

    /// The places of the records that one of these keys occurs in, or another key of the same digest: the record itself
    /// tells. Up to [`Index::covered`], in the order of the runs. `None` if a run turns out not to hold: the log has to be
    /// read.
    #[must_use]
    pub fn find<'k>(&self, keys: impl IntoIterator<Item = &'k str>) -> Option<Vec<Place>> {
        let mut digests: Vec<u64> = keys.into_iter().map(digest).collect();
        digests.sort_unstable();
        digests.dedup();
        let mut places = Vec::new();
        for run in &self.runs {
            places.extend(run.find(&digests)?);
        }
        Some(places)
    }

    /// The right to change the index of the ledger at `root`, which one process has at a time; `None` if it is taken.
    #[must_use]
    pub fn lock(root: &Path) -> Option<File> {
        let directory = root.join("idx");
        fs::create_dir_all(&directory).ok()?;
        let file =
            File::options().create(true).truncate(false).write(true).open(directory.join("lock")).ok()?;
        file.try_lock().ok().map(|()| file)
    }

    /// Adds a run for the records after the last one covered, up to `end`; merges runs where there are enough of a level;
    /// and removes what is no longer needed. The caller holds the lock, and looks at [`Index::covered`] afterwards: if a run
    /// that was to be merged does not hold, less is covered than before.
    ///
    /// # Errors
    /// What the system says. Nobody depends on it: the caller may ignore it.
    pub fn extend(&mut self, entries: Vec<Entry>, end: &Cursor) -> std::io::Result<()> {
        let covered = self.covered();
        let span = Span { first: covered.seq.next(), prev: covered.hash, end: *end };
        self.runs.push(Run::write(&self.directory, &span, entries)?);
        while let Some(from) = self.full_level() {
            self.merge(from)?;
        }
        self.sweep()
    }

    /// The position of the first of the last `FAN` runs, if those are of one level that is merged.
    fn full_level(&self) -> Option<usize> {
        let from = self.runs.len().checked_sub(FAN)?;
        let last = self.runs.get(from..)?;
        let level = last.last()?.level();
        (level <= TOP && last.iter().all(|run| run.level() == level)).then_some(from)
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
        let span = Span { end: last.span().end, ..*first.span() };
        self.runs.push(Run::write(&self.directory, &span, entries)?);
        Ok(())
    }

    /// Removes every run that is not in use: sources of a merge, runs of another history, what does not hold.
    fn sweep(&self) -> std::io::Result<()> {
        for (_, _, path) in files(&self.directory) {
            if self.runs.iter().all(|run| run.path() != path) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

/// The files in the directory that are named like runs, with the records that the names claim.
fn files(directory: &Path) -> impl Iterator<Item = (Seq, Seq, PathBuf)> {
    fs::read_dir(directory).into_iter().flatten().flatten().filter_map(|entry| {
        let (first, last) = run::range(entry.file_name().to_str()?)?;
        Some((first, last, entry.path()))
    })
}

/// The record that the index of the ledger at `root` claims to reach, by the names of its files alone.
#[must_use]
pub fn reach(root: &Path) -> Seq {
    files(&root.join("idx")).map(|(_, last, _)| last).max().unwrap_or(Seq::ZERO)
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

    fn after(seq: u64) -> Cursor {
        let ts = crate::time::Timestamp::from_micros(0);
        Cursor { seq: Seq(seq), hash: HASH, ts, end: seq * 10 + 10, ..Cursor::START }
    }

    /// An index over records 1..=records with one key a record, in runs of `step`.
    fn filled(root: &Path, records: u64, step: u64) -> Index {
        fs::create_dir_all(root.join("idx")).unwrap();
        let mut index = Index::open(root);
        let mut first = 1;
        while first <= records {
            let last = (first + step - 1).min(records);
            let keys =
                (first..=last).map(|n| (format!("k{}", n % 50), Place { seq: Seq(n), offset: n * 10 }));
            let entries = keys.map(|(key, place)| Entry::new(&key, place));
            index.extend(entries.collect(), &after(last)).unwrap();
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
            let want = Some(places(key, 7_000));
            assert_eq!(index.find([format!("k{key}").as_str()]), want);
            assert_eq!(again.find([format!("k{key}").as_str()]), want);
        }
        let all: Vec<String> = (0..50).map(|key| format!("k{key}")).collect();
        let mut found = index.find(all.iter().map(String::as_str)).unwrap();
        found.sort_unstable();
        assert_eq!(
            found,
            (0..50)
                .flat_map(|key| places(key, 7_000))
                .collect::<std::collections::BTreeSet<_>>()
                .into_iter()
                .collect::<Vec<_>>(),
            "many keys at once"
        );
        assert_eq!(again.covered(), after(7_000));
        assert_eq!(index.find(["absent"]).unwrap(), []);
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
        index.extend(Vec::new(), &after(800)).unwrap();
        for entry in fs::read_dir(&kept).unwrap().flatten() {
            fs::copy(entry.path(), dir.path().join("idx").join(entry.file_name())).unwrap();
        }
        let index = Index::open(dir.path());
        assert_eq!((index.find(["k3"]).unwrap(), index.covered()), (places(3, 700), after(800)));
    }

    #[test]
    fn a_missing_run_ends_what_is_covered() {
        let dir = tempfile::tempdir().unwrap();
        filled(dir.path(), 500, 100);
        fs::remove_file(dir.path().join("idx").join(run::name(Seq(201), Seq(300)))).unwrap();
        let index = Index::open(dir.path());
        assert_eq!(index.covered(), after(200));
        assert_eq!(index.find(["k3"]).unwrap(), places(3, 200));
    }

    #[test]
    fn a_run_of_another_history_ends_what_is_covered_and_is_swept_away() {
        let dir = tempfile::tempdir().unwrap();
        filled(dir.path(), 300, 100);
        let stray = Span { first: Seq(301), prev: Hash([8; 32]), end: after(400) };
        let stray = Run::write(&dir.path().join("idx"), &stray, Vec::new()).unwrap();
        let mut index = Index::open(dir.path());
        assert_eq!(index.covered(), after(300));
        index.extend(Vec::new(), &after(350)).unwrap();
        assert!(!stray.path().exists());
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
                if let Some(found) = index.find([format!("k{key}").as_str()]) {
                    prop_assert_eq!(found, places(key, index.covered().seq.0));
                }
            }
        }
    }
}
