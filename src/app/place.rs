//! Finding the ledger: from a directory, up to the nearest `.loopx`, and through git to the main worktree.

use std::fs;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// The name of a ledger's directory.
pub const DIRECTORY: &str = ".loopx";

/// A place that says two things, or nothing that can be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// One repository has two ledgers.
    #[error("two ledgers belong to this repository: {} and {}", nearer.display(), other.display())]
    Two {
        /// The one that is nearer.
        nearer: PathBuf,
        /// The other one.
        other: PathBuf,
    },
    /// A linked worktree names a git directory that is not there, as after a move.
    #[error("{} names {}, which is not there", pointer.display(), target.display())]
    Broken {
        /// The `.git` file.
        pointer: PathBuf,
        /// What it names.
        target: PathBuf,
    },
}

/// The `.loopx` directory that a command run in `start` means, if there is one: the nearest in `start` or above it, or
/// the one of the repository that `start` is a linked worktree of.
///
/// # Errors
/// [`PlaceError`]: within one repository there may be one ledger only, and a worktree must lead to its repository.
pub fn find(start: &Path) -> Result<Option<PathBuf>, PlaceError> {
    let mut found: Option<PathBuf> = None;
    for directory in start.ancestors() {
        let repository = repository(directory)?;
        let shared = repository.iter().filter(|home| *home != directory).map(|home| home.join(DIRECTORY));
        for ledger in
            std::iter::once(directory.join(DIRECTORY)).chain(shared).filter(|ledger| is_there(ledger))
        {
            match found.take() {
                None => found = Some(ledger),
                Some(nearer) => return Err(PlaceError::Two { nearer, other: ledger }),
            }
        }
        // What lies above the repository of a ledger, or above a ledger outside of any, is another project's.
        if found.is_some() && (repository.is_some() || !in_repository(directory)) {
            break;
        }
    }
    Ok(found)
}

/// Where a ledger for work in `start` is created: beside the repository that it is in, or a linked worktree of, else there.
///
/// # Errors
/// As [`find`].
pub fn home(start: &Path) -> Result<PathBuf, PlaceError> {
    for directory in start.ancestors() {
        if let Some(home) = repository(directory)? {
            return Ok(home);
        }
    }
    Ok(start.to_owned())
}

fn in_repository(directory: &Path) -> bool {
    directory.ancestors().any(|above| is_there(&above.join(".git")))
}

/// Whether something is at `path`, or may be. Whatever has the name of a ledger is meant, and what is wrong with it is
/// for those who open it to say; a directory that may not be looked into is no reason to go on to another
/// ledger.
fn is_there(path: &Path) -> bool {
    let absent = |error: &Error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
    fs::symlink_metadata(path).map_or_else(|error| !absent(&error), |_| true)
}

/// Where the ledger of the repository lies whose worktree `directory` is the top of; none if it is none. The top of the
/// main worktree, or a bare repository itself. In a linked worktree `.git` is a file that names the worktree's git
/// directory, which names the common one.
fn repository(directory: &Path) -> Result<Option<PathBuf>, PlaceError> {
    let pointer = directory.join(".git");
    let Ok(content) = fs::read_to_string(&pointer) else {
        return Ok(pointer.is_dir().then(|| directory.to_owned()));
    };
    let Some(target) = content.strip_prefix("gitdir:").map(|named| directory.join(named.trim())) else {
        return Ok(None);
    };
    if !target.exists() {
        return Err(PlaceError::Broken { pointer, target });
    }
    // A submodule has a git directory of its own, and names no common one.
    let Ok(common) = fs::read_to_string(target.join("commondir")) else {
        return Ok(Some(directory.to_owned()));
    };
    let Ok(common) = target.join(common.trim()).canonicalize() else {
        return Err(PlaceError::Broken { pointer, target });
    };
    let main = common.parent().filter(|_| common.file_name().is_some_and(|name| name == ".git"));
    Ok(Some(main.map_or(common.clone(), Path::to_owned)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger_at(directory: &Path) -> PathBuf {
        let root = directory.join(DIRECTORY);
        fs::create_dir_all(root.join("log")).unwrap();
        root
    }

    fn repository_at(directory: &Path) {
        fs::create_dir_all(directory.join(".git")).unwrap();
    }

    /// A worktree at `linked` of the repository whose common git directory is `common`.
    fn worktree_at(linked: &Path, common: &Path) {
        let git = common.join("worktrees/w");
        fs::create_dir_all(&git).unwrap();
        fs::write(git.join("commondir"), "../..\n").unwrap();
        fs::create_dir_all(linked).unwrap();
        fs::write(linked.join(".git"), format!("gitdir: {}\n", git.display())).unwrap();
    }

    fn scratch() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        (dir, path)
    }

    #[test]
    fn the_ledger_of_a_project_is_found_from_below_and_by_way_of_a_link() {
        let (_dir, top) = scratch();
        let root = ledger_at(&top.join("project"));
        let deep = top.join("project/a/b");
        fs::create_dir_all(&deep).unwrap();
        assert_eq!(find(&deep), Ok(Some(root.clone())));
        let link = top.join("link");
        std::os::unix::fs::symlink(&deep, &link).unwrap();
        assert_eq!(find(&link.canonicalize().unwrap()), Ok(Some(root.clone())));
        let inner = ledger_at(&top.join("project/a"));
        assert_eq!(find(&deep), Ok(Some(inner)), "outside a repository the nearest is meant");
        repository_at(&top.join("project"));
        assert!(matches!(find(&deep), Err(PlaceError::Two { .. })), "one repository has one");
    }

    #[test]
    fn a_ledger_above_repositories_is_theirs_until_they_have_one() {
        let (_dir, top) = scratch();
        let shared = ledger_at(&top);
        repository_at(&top.join("project"));
        fs::create_dir_all(top.join("project/a")).unwrap();
        assert_eq!(find(&top.join("project/a")), Ok(Some(shared)));
        let own = ledger_at(&top.join("project"));
        assert_eq!(find(&top.join("project/a")), Ok(Some(own)));
        assert_eq!(home(&top.join("project/a/b")), Ok(top.join("project")));
        assert_eq!(home(&top.join("elsewhere")), Ok(top.join("elsewhere")));
    }

    #[test]
    fn a_linked_worktree_has_the_ledger_of_its_repository_and_no_other() {
        let (_dir, top) = scratch();
        let main = top.join("main");
        let root = ledger_at(&main);
        let linked = top.join("linked");
        worktree_at(&linked, &main.join(".git"));
        let deep = linked.join("deep");
        fs::create_dir_all(&deep).unwrap();
        for from in [&linked, &deep] {
            assert_eq!(find(from), Ok(Some(root.clone())));
            assert_eq!(home(from), Ok(main.clone()));
        }
        let own = ledger_at(&linked);
        assert_eq!(find(&deep), Err(PlaceError::Two { nearer: own, other: root }));
    }

    #[test]
    fn worktrees_of_a_bare_repository_share_the_ledger_in_it() {
        let (_dir, top) = scratch();
        let bare = top.join("project.git");
        worktree_at(&top.join("one"), &bare);
        assert_eq!(home(&top.join("one")), Ok(bare.clone()));
        let root = ledger_at(&bare);
        assert_eq!(find(&top.join("one")), Ok(Some(root)));
    }

    #[test]
    fn a_worktree_whose_repository_was_moved_is_not_one_without_a_ledger() {
        let (_dir, top) = scratch();
        let main = top.join("main");
        ledger_at(&main);
        worktree_at(&top.join("linked"), &main.join(".git"));
        fs::rename(&main, top.join("moved")).unwrap();
        assert!(matches!(find(&top.join("linked")), Err(PlaceError::Broken { .. })));
        assert!(matches!(home(&top.join("linked")), Err(PlaceError::Broken { .. })));
    }

    #[test]
    fn a_submodule_is_a_repository_of_its_own() {
        let (_dir, top) = scratch();
        repository_at(&top);
        let root = ledger_at(&top);
        let module = top.join(".git/modules/m");
        fs::create_dir_all(&module).unwrap();
        fs::create_dir_all(top.join("m")).unwrap();
        fs::write(top.join("m/.git"), "gitdir: ../.git/modules/m\n").unwrap();
        assert_eq!(find(&top.join("m")), Ok(Some(root)));
        let own = ledger_at(&top.join("m"));
        assert_eq!(find(&top.join("m")), Ok(Some(own)), "beside that of the repository around it");
        assert_eq!(home(&top.join("m")), Ok(top.join("m")));
    }

    #[test]
    fn a_ledger_that_cannot_be_used_is_found_all_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join(DIRECTORY);
        fs::write(&root, "not a directory").unwrap();
        assert_eq!(find(dir.path()), Ok(Some(root)));
    }

    #[test]
    fn no_ledger_is_not_an_empty_ledger() {
        let (_dir, top) = scratch();
        assert_eq!(find(&top), Ok(None));
    }
}
