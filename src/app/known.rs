//! Which ledgers a user has: a small index outside of them, one file a ledger, that may be deleted at any time.
//!
//! An entry holds the path and the ledger's id, and nothing of what the ledger holds. Deleting it loses nothing but a
//! line of `status --all`, until the next append from there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::hash::Hash;
use crate::id::LedgerId;

/// Where ledgers were used, according to one entry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// The `.loopx` directory, absolute and without links.
    pub path: PathBuf,
    /// The ledger that was there.
    pub ledger: LedgerId,
}

/// What became of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A ledger of that id is there.
    There,
    /// Nothing is there any more.
    Missing,
    /// Nothing is there any more, and a ledger of that id is known at another place.
    Moved {
        /// Where.
        to: PathBuf,
    },
    /// Another ledger is there.
    Replaced {
        /// Which.
        by: LedgerId,
    },
    /// It cannot be told.
    Unreadable {
        /// Why.
        why: String,
    },
}

/// An entry, where it is kept, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The entry.
    pub known: Known,
    /// The file that holds it.
    pub file: PathBuf,
    /// What became of it.
    pub place: Place,
}

/// All entries, and files of the index that hold none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Index {
    /// Entries by path.
    pub entries: Vec<Entry>,
    /// Files that cannot be read as an entry.
    pub unreadable: Vec<PathBuf>,
}

/// Takes note that a ledger is used at `root`, unless that is known. Costs one look at a file if it is.
///
/// # Errors
/// Whatever the file system says. It is of no consequence for the ledger.
pub fn note(home: &Path, root: &Path, ledger: LedgerId) -> io::Result<()> {
    let path = root.canonicalize()?;
    let known = Known { path, ledger };
    let file = file_of(home, &known.path);
    if read(&file).is_some_and(|before| before == known) {
        return Ok(());
    }
    make_private(home)?;
    let text = serde_json::to_vec(&known)?;
    // Two processes write the same file name only if they run under one number, which no two do at one time.
    let temporary = file.with_extension(format!("{}.tmp", std::process::id()));
    fs::write(&temporary, text)?;
    fs::rename(&temporary, &file).inspect_err(|_| drop(fs::remove_file(&temporary)))
}

/// Reads the index. A home that is not there holds no entry.
///
/// # Errors
/// An index that is there and cannot be listed.
pub fn read_all(home: &Path) -> io::Result<Index> {
    let files = match fs::read_dir(home) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Index::default()),
        other => other?,
    };
    let mut index = Index::default();
    let mut found = Vec::new();
    for file in files {
        let file = file?.path();
        if file.extension().is_none_or(|end| end != "json") {
            continue;
        }
        match read(&file) {
            Some(known) => found.push((known, file)),
            None => index.unreadable.push(file),
        }
    }
    found.sort();
    index.unreadable.sort();
    let places: Vec<Place> = found.iter().map(|(known, _)| place(known)).collect();
    let at: Vec<&Known> =
        found.iter().zip(&places).filter(|(_, place)| **place == Place::There).map(|((k, _), _)| k).collect();
    let moved = |known: &Known, place: &Place| match place {
        Place::Missing => {
            at.iter().find(|other| other.ledger == known.ledger).map(|other| other.path.clone())
        }
        _ => None,
    };
    let settled: Vec<Place> = found
        .iter()
        .zip(&places)
        .map(|((known, _), place)| match moved(known, place) {
            Some(to) => Place::Moved { to },
            None => place.clone(),
        })
        .collect();
    let entries = found.into_iter().zip(settled);
    index.entries = entries.map(|((known, file), place)| Entry { known, file, place }).collect();
    Ok(index)
}

fn file_of(home: &Path, path: &Path) -> PathBuf {
    home.join(Hash::blob(path.as_os_str().as_encoded_bytes()).to_hex()).with_extension("json")
}

fn read(file: &Path) -> Option<Known> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

/// What is at the place of an entry, by the one file that names a ledger.
fn place(known: &Known) -> Place {
    match crate::log::FileLog::open(&known.path) {
        Ok(log) if log.id() == known.ledger => Place::There,
        Ok(log) => Place::Replaced { by: log.id() },
        Err(crate::log::LogError::NotALedger { .. }) if !known.path.exists() => Place::Missing,
        Err(error) => Place::Unreadable { why: error.to_string() },
    }
}

/// Paths tell what someone works on, so only the user may look.
#[cfg(unix)]
fn make_private(home: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(home)
}

#[cfg(not(unix))]
fn make_private(home: &Path) -> io::Result<()> {
    fs::create_dir_all(home)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Env, Ledger};
    use crate::time::Timestamp;

    /// Counts up, so that no two ledgers have one id.
    fn ulid() -> ulid::Ulid {
        static LAST: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        ulid::Ulid::from(u128::from(LAST.fetch_add(1, std::sync::atomic::Ordering::Relaxed)))
    }

    fn ledger(directory: &Path) -> (PathBuf, LedgerId) {
        fs::create_dir_all(directory).unwrap();
        let root = directory.canonicalize().unwrap().join(".loopx");
        let env = Env { now: &|| Timestamp::from_micros(1), ulid: &ulid };
        let ledger = Ledger::create(&root, &env, false).unwrap();
        (root, ledger.state().ledger.unwrap())
    }

    fn places(home: &Path) -> Vec<Place> {
        read_all(home).unwrap().entries.into_iter().map(|entry| entry.place).collect()
    }

    #[test]
    fn an_entry_holds_a_path_and_an_id_and_only_the_user_may_read_it() {
        let dir = tempfile::tempdir().unwrap();
        let (home, (root, id)) = (dir.path().join("state"), ledger(&dir.path().join("a")));
        assert_eq!(read_all(&home).unwrap(), Index::default());
        note(&home, &root, id).unwrap();
        let index = read_all(&home).unwrap();
        let [entry] = index.entries.as_slice() else { panic!("{index:?}") };
        assert_eq!((&entry.known.path, entry.known.ledger, &entry.place), (&root, id, &Place::There));
        let text = fs::read_to_string(&entry.file).unwrap();
        assert_eq!(text, format!("{{\"path\":\"{}\",\"ledger\":\"{id}\"}}", root.display()));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&home).unwrap().permissions().mode() & 0o777, 0o700);
        }
        let written = fs::metadata(&entry.file).unwrap().modified().unwrap();
        note(&home, &root, id).unwrap();
        assert_eq!(fs::metadata(&entry.file).unwrap().modified().unwrap(), written, "known already");
        assert_eq!(fs::read_dir(&home).unwrap().count(), 1);
    }

    #[test]
    fn what_became_of_a_ledger_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("state");
        let (root, id) = ledger(&dir.path().join("a"));
        note(&home, &root, id).unwrap();
        let to = root.parent().unwrap().parent().unwrap().join("b");
        fs::rename(dir.path().join("a"), &to).unwrap();
        assert_eq!(places(&home), [Place::Missing]);
        note(&home, &to.join(".loopx"), id).unwrap();
        assert_eq!(places(&home), [Place::Moved { to: to.join(".loopx") }, Place::There]);
        let (_, other) = ledger(&dir.path().join("a"));
        assert_eq!(places(&home), [Place::Replaced { by: other }, Place::There]);
        fs::remove_file(to.join(".loopx/log/FORMAT")).unwrap();
        assert!(matches!(places(&home).as_slice(), [Place::Replaced { .. }, Place::Unreadable { .. }]));
    }

    #[test]
    fn a_file_that_is_no_entry_is_named_and_hides_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("state");
        let (root, id) = ledger(&dir.path().join("a"));
        note(&home, &root, id).unwrap();
        fs::write(home.join("x.json"), "{\"path\":").unwrap();
        fs::write(home.join("y.tmp"), "half").unwrap();
        let index = read_all(&home).unwrap();
        assert_eq!((index.entries.len(), index.unreadable), (1, vec![home.join("x.json")]));
        fs::remove_dir_all(&home).unwrap();
        fs::write(&home, "a file").unwrap();
        assert!(read_all(&home).is_err() && note(&home, &root, id).is_err());
    }
}
