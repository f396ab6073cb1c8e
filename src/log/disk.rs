//! The file seam: every call that the log makes to the file system. Tests put a recording or failing disk here.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// To read an existing file.
    Read,
    /// To read, append to and shorten an existing file.
    Append,
    /// To read and overwrite in place, created if missing.
    Update,
    /// To write a file that must not exist yet.
    Create,
}

/// A file system.
pub(super) trait Disk: Send + Sync {
    /// Opens a regular file; a link, a directory or a device in its place is an error of kind `IsADirectory`.
    fn open(&self, path: &Path, how: How) -> io::Result<Box<dyn DiskFile>>;
    /// Whether anything is at `path`, a dangling link included.
    fn exists(&self, path: &Path) -> bool;
    /// The names in a directory.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;
    /// Creates a directory.
    fn create_dir(&self, dir: &Path) -> io::Result<()>;
    /// Makes the names in a directory durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Renames; in the target's place there is nothing, an empty directory, or for a file another file.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file that was never published.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes a directory that was never published.
    fn remove_dir_all(&self, dir: &Path) -> io::Result<()>;
    /// The owner of a directory, if it is not the user of this process.
    fn foreign_owner(&self, dir: &Path) -> Option<u32>;
    /// The type of the file system that holds a directory, as Linux numbers them; `None` where it cannot be known.
    fn file_system(&self, dir: &Path) -> Option<u32>;
    /// What identifies the time since the machine was started; `None` where it cannot be known.
    fn boot_id(&self) -> Option<String>;
    /// Time that only goes forward, from any origin.
    fn uptime(&self) -> Duration;
    /// Lets others go on for about `rest`.
    fn pause(&self, rest: Duration);
}

/// An open file.
pub(super) trait DiskFile: Send + Sync {
    /// Its length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// One read; fewer bytes than asked for are no error.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// One write in place; fewer bytes than given are no error.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;
    /// One write at the end; fewer bytes than given are no error.
    fn append(&self, bytes: &[u8]) -> io::Result<usize>;
    /// Shortens it.
    fn truncate(&self, length: u64) -> io::Result<()>;
    /// Asks for space for `length` bytes from `offset` on, without making the file longer. A hint: nothing depends on it.
    fn reserve(&self, offset: u64, length: u64) -> io::Result<()>;
    /// Makes its content durable, and its length as far as it has grown (fdatasync).
    fn sync(&self) -> io::Result<()>;
    /// Makes everything about it durable (fsync).
    fn sync_all(&self) -> io::Result<()>;
    /// Takes an exclusive lock on it, held until it is dropped; false if another holds it.
    fn try_lock(&self) -> io::Result<bool>;
}

/// Reads until `buffer` is full or the file ends; returns how many bytes were read.
pub(super) fn read_full(file: &dyn DiskFile, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Writes all of `bytes` in place.
pub(super) fn write_full(file: &dyn DiskFile, bytes: &[u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
        match file.write_at(rest, offset + done as u64) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The file system of the machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct SystemDisk;

/// The origin of [`SystemDisk`]'s uptime.
static STARTED: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);

impl Disk for SystemDisk {
    fn open(&self, path: &Path, how: How) -> io::Result<Box<dyn DiskFile>> {
        match fs::symlink_metadata(path) {
            Ok(found) if !found.is_file() => return Err(io::ErrorKind::IsADirectory.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound && how == How::Read => return Err(error),
            Ok(_) | Err(_) => {}
        }
        let mut options = OpenOptions::new();
        match how {
            How::Read => options.read(true),
            How::Append => options.read(true).append(true),
            How::Update => options.read(true).write(true).create(true).truncate(false),
            How::Create => options.read(true).write(true).create_new(true),
        };
        Ok(Box::new(SystemFile(options.open(path)?)))
    }

    fn exists(&self, path: &Path) -> bool {
        path.symlink_metadata().is_ok()
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        fs::create_dir(dir)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        if cfg!(unix) { File::open(dir)?.sync_all() } else { Ok(()) }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_dir_all(&self, dir: &Path) -> io::Result<()> {
        fs::remove_dir_all(dir)
    }

    #[cfg(unix)]
    fn foreign_owner(&self, dir: &Path) -> Option<u32> {
        use std::os::unix::fs::MetadataExt;
        let owner = fs::metadata(dir).ok()?.uid();
        let own = fs::metadata("/proc/self").ok()?.uid();
        (owner != own).then_some(owner)
    }

    #[cfg(not(unix))]
    fn foreign_owner(&self, _dir: &Path) -> Option<u32> {
        None
    }

    #[cfg(target_os = "linux")]
    fn file_system(&self, dir: &Path) -> Option<u32> {
        // All known types fit into 32 bits; the field is wider or signed on some processors.
        let found = rustix::fs::statfs(dir).ok()?;
        u32::try_from(i128::from(found.f_type) & 0xffff_ffff).ok()
    }

    #[cfg(not(target_os = "linux"))]
    fn file_system(&self, _dir: &Path) -> Option<u32> {
        None
    }

    fn boot_id(&self) -> Option<String> {
        let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(text.trim_end().to_owned())
    }

    fn uptime(&self) -> Duration {
        STARTED.elapsed()
    }

    fn pause(&self, rest: Duration) {
        sleep(rest);
    }
}

struct SystemFile(File);

impl DiskFile for SystemFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::read_at(&self.0, buffer, offset);
        #[cfg(windows)]
        return std::os::windows::fs::FileExt::seek_read(&self.0, buffer, offset);
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::write_at(&self.0, bytes, offset);
        #[cfg(windows)]
        return std::os::windows::fs::FileExt::seek_write(&self.0, bytes, offset);
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        (&self.0).write(bytes)
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    #[cfg(target_os = "linux")]
    fn reserve(&self, offset: u64, length: u64) -> io::Result<()> {
        rustix::fs::fallocate(&self.0, rustix::fs::FallocateFlags::KEEP_SIZE, offset, length)?;
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    fn reserve(&self, _offset: u64, _length: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.0.sync_all()
    }

    fn try_lock(&self) -> io::Result<bool> {
        match self.0.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}
