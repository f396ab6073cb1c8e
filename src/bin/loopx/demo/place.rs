//! Where a demo lives: a new directory of its own, never one that holds something.

use std::fs;
use std::path::{Path, PathBuf};

use crate::environment;
use crate::failure::{Failure, exit};

/// Makes the directory: `keep` if it is named, else a new one under the system's temporary directory.
///
/// # Errors
/// A [`Failure`] if `keep` exists and is not an empty directory, or if it cannot be made.
pub fn make(keep: Option<&Path>, cwd: &Path) -> Result<PathBuf, Failure> {
    let path = match keep {
        Some(keep) => empty(cwd.join(keep))?,
        None => {
            let name = format!("loopx-demo-{}", environment::ulid().to_string().to_ascii_lowercase());
            std::env::temp_dir().join(name)
        }
    };
    fs::create_dir_all(&path).map_err(|error| failed(&path, &error))?;
    path.canonicalize().map_err(|error| failed(&path, &error))
}

/// The same path, if nothing is there or an empty directory is.
fn empty(path: PathBuf) -> Result<PathBuf, Failure> {
    let refused = |what: &str| {
        Failure::new("demo.not_empty", exit::REFUSED, format!("{} {what}", path.display()))
            .hint("loopx demo --keep NEW-DIRECTORY")
    };
    match fs::read_dir(&path) {
        Ok(mut entries) => {
            if entries.next().is_none() {
                Ok(path)
            } else {
                Err(refused("is not empty"))
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(path),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            Err(refused("is not a directory, or lies below something that is none"))
        }
        Err(error) => Err(failed(&path, &error)),
    }
}

/// An error of the file system, with the path.
pub fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new("io", exit::IO, format!("{}: {error}", path.display()))
}

/// Writes a file and the directories above it.
///
/// # Errors
/// A [`Failure`] with the path.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let above = path.parent().map_or(Ok(()), fs::create_dir_all);
    above.and_then(|()| fs::write(path, bytes)).map_err(|error| failed(path, &error))
}

/// Copies a directory with everything below it.
///
/// # Errors
/// A [`Failure`] with the path.
pub fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::create_dir_all(to).map_err(|error| failed(to, &error))?;
    for entry in fs::read_dir(from).map_err(|error| failed(from, &error))? {
        let entry = entry.map_err(|error| failed(from, &error))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy(&source, &target)?;
        } else {
            fs::copy(&source, &target).map_err(|error| failed(&source, &error))?;
        }
    }
    Ok(())
}
