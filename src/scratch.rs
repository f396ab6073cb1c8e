//! Files on their way to their name: written beside it under the name of this process, then renamed. A process that was killed
//! leaves one behind, which nobody reads.

use std::fs;
use std::path::{Path, PathBuf};

/// How the name of such a file ends.
const END: &str = ".tmp";

/// Where the content of `target` is written before it is put in its place.
#[must_use]
pub fn beside(target: &Path) -> PathBuf {
    target.with_extension(format!("{}{END}", std::process::id()))
}

/// The files in `directory`, in order of their names, that processes left there which are gone. Where it cannot be told who is
/// running, none is.
#[must_use]
pub fn abandoned(directory: &Path) -> Vec<PathBuf> {
    let running = Path::new("/proc");
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    if !running.join(std::process::id().to_string()).exists() {
        return Vec::new();
    }
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let gone = |path: &PathBuf| writer(path).is_some_and(|id| !running.join(id.to_string()).exists());
    let mut found: Vec<PathBuf> = paths.filter(gone).collect();
    found.sort_unstable();
    found
}

/// Deletes what processes that are gone left in `directory`, which must hold nothing that anyone depends on.
pub fn clear(directory: &Path) {
    for path in abandoned(directory) {
        drop(fs::remove_file(path));
    }
}

/// The process that such a file is named by.
fn writer(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?.strip_suffix(END)?;
    name.rsplit_once('.')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn only_what_a_process_that_is_gone_left_is_abandoned() {
        let dir = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let (gone, here) = (child.id(), std::process::id());
        let left = format!("state.{gone}.tmp");
        let kept = [
            format!("state.{here}.tmp"),
            format!("state.{gone}"),
            "state.json".to_owned(),
            "x.tmp".to_owned(),
        ];
        for name in kept.iter().chain([&left]) {
            fs::write(dir.path().join(name), "x").unwrap();
        }
        assert_eq!(abandoned(dir.path()), [dir.path().join(&left)]);
        clear(dir.path());
        let mut names: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        let mut kept = kept.to_vec();
        kept.sort_unstable();
        assert_eq!(names, kept);
        assert_eq!(beside(Path::new("a/state.json")), Path::new("a").join(format!("state.{here}.tmp")));
    }
}
