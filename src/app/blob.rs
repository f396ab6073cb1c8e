//! Evidence content, by BLAKE3, in `.loopx/blobs/ab/<64 hex>`. A blob is durable before a record names it.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::hash::Hash;
use crate::limits::BLOB_MAX_BYTES;
use crate::log::LogError;
use crate::scratch;

/// Where a blob lies.
#[must_use]
pub fn path(root: &Path, digest: Hash) -> PathBuf {
    let hex = digest.to_hex();
    let shelf: String = hex.chars().take(2).collect();
    root.join("blobs").join(shelf).join(hex)
}

/// Stores content durably and returns its digest. Content that is there already is left alone.
///
/// # Errors
/// [`LogError`]: nothing half-written is left under the blob's name.
pub fn put(root: &Path, content: &[u8]) -> Result<Hash, LogError> {
    let digest = Hash::blob(content);
    let target = path(root, digest);
    let failed = |source: io::Error| LogError::writing_blob(&target, source);
    let Some(shelf) = target.parent() else { return Ok(digest) };
    if !target.exists() {
        fs::create_dir_all(shelf).map_err(failed)?;
        let temporary = scratch::beside(&target);
        let written = File::create(&temporary).and_then(|mut file| {
            file.write_all(content)?;
            file.sync_all()
        });
        if let Err(error) = written.and_then(|()| fs::rename(&temporary, &target)) {
            let _ = fs::remove_file(&temporary);
            return Err(failed(error));
        }
    }
    // Of one that is there already too: whoever put it there may have been killed before its name was durable.
    for directory in [Some(shelf), shelf.parent(), Some(root)].into_iter().flatten() {
        File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed)?;
    }
    Ok(digest)
}

/// What a stored blob is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlobState {
    /// There, with the right digest.
    Sound,
    /// Not there.
    Missing,
    /// There, with another digest.
    Altered,
}

/// Reads a blob back and compares its digest.
///
/// # Errors
/// [`LogError`] if it is there and cannot be read.
pub fn check(root: &Path, digest: Hash) -> Result<BlobState, LogError> {
    let target = path(root, digest);
    match fs::read(&target) {
        Ok(content) if Hash::blob(&content) == digest => Ok(BlobState::Sound),
        Ok(_) => Ok(BlobState::Altered),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BlobState::Missing),
        Err(error) => Err(LogError::reading_blob(&target, error)),
    }
}

/// Reads a file of at most [`BLOB_MAX_BYTES`].
///
/// # Errors
/// [`LogError::LimitExceeded`] if it is larger, or what keeps it from being read.
pub fn read_bounded(file: &Path) -> Result<Vec<u8>, LogError> {
    let failed = |source: io::Error| LogError::reading_blob(file, source);
    let mut content = Vec::new();
    File::open(file).map_err(failed)?.take(BLOB_MAX_BYTES + 1).read_to_end(&mut content).map_err(failed)?;
    if u64::try_from(content.len()).unwrap_or(u64::MAX) > BLOB_MAX_BYTES {
        return Err(LogError::LimitExceeded { what: "an evidence file", limit: BLOB_MAX_BYTES });
    }
    Ok(content)
}
