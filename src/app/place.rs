//! Finding the ledger: from a directory, up to the nearest `.loopx`, and through git to the main worktree.

use std::fs;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// The name of a ledger's directory.
pub const DIRECTORY: &str = ".loopx";

/// The `.loopx` directory that a command run in `start` means, if there is one: the nearest in `start` or above it, or
/// the one beside the repository that `start` is a linked worktree of.
#[must_use]
pub fn find(start: &Path) -> Option<PathBuf> {
    for directory in start.ancestors() {
        let own = directory.join(DIRECTORY);
        if is_there(&own) {
            return Some(own);
        }
        if let Some(main) = main_worktree(directory) {
            let shared = main.join(DIRECTORY);
            if is_there(&shared) {
                return Some(shared);
            }
        }
    }
    None
}

/// Whether something is at `path`, or may be. Whatever has the name of a ledger is meant, and what is wrong with it is
/// for those who open it to say; a directory that may not be looked into is no reason to go on to another
/// ledger.
fn is_there(path: &Path) -> bool {
    let absent = |error: &Error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
    fs::symlink_metadata(path).map_or_else(|error| !absent(&error), |_| true)
}

/// The main worktree of the repository that `directory` is a linked worktree of. There `.git` is a file that names
/// the worktree's git directory, which names the common one.
fn main_worktree(directory: &Path) -> Option<PathBuf> {
    let pointer = fs::read_to_string(directory.join(".git")).ok()?;
    let git_dir = directory.join(pointer.strip_prefix("gitdir:")?.trim());
    let common = fs::read_to_string(git_dir.join("commondir")).ok()?;
    let common = git_dir.join(common.trim()).canonicalize().ok()?;
    common.parent().map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger_at(directory: &Path) -> PathBuf {
        let root = directory.join(DIRECTORY);
        fs::create_dir_all(root.join("log")).unwrap();
        root
    }

    #[test]
    fn the_nearest_ledger_above_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let root = ledger_at(dir.path());
        let deep = dir.path().join("a/b");
        fs::create_dir_all(&deep).unwrap();
        assert_eq!(find(&deep), Some(root));
        let inner = ledger_at(&dir.path().join("a"));
        assert_eq!(find(&deep), Some(inner));
    }

    #[test]
    fn a_linked_worktree_finds_the_ledger_of_the_main_one() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().canonicalize().unwrap().join("main");
        let root = ledger_at(&main);
        let git = main.join(".git/worktrees/w");
        fs::create_dir_all(&git).unwrap();
        fs::write(git.join("commondir"), "../..\n").unwrap();
        let linked = dir.path().join("w/deep");
        fs::create_dir_all(&linked).unwrap();
        fs::write(dir.path().join("w/.git"), format!("gitdir: {}\n", git.display())).unwrap();
        assert_eq!(find(&linked), Some(root));
    }

    #[test]
    fn a_ledger_that_cannot_be_used_is_found_all_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join(DIRECTORY);
        fs::write(&root, "not a directory").unwrap();
        assert_eq!(find(dir.path()), Some(root));
    }

    #[test]
    fn no_ledger_is_not_an_empty_ledger() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(find(dir.path()).filter(|found| found.starts_with(dir.path())), None);
    }
}
