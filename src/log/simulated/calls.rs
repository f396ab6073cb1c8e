//! The file seam of a simulated machine: every call is a turn, and may fail, be done in part, or be the last.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::MutexGuard;
use std::time::Duration;

use super::world::{Call, Leave, Machine, Mutant, World, enter, take_turns, world};
use crate::log::disk::{Disk, DiskFile, How};

/// How a process sees the file system.
pub(super) struct SimulatedDisk {
    pub machine: Machine,
    pub process: u64,
}

impl SimulatedDisk {
    /// For calls that happen whole or not at all.
    fn enter(&self, call: Call) -> io::Result<MutexGuard<'_, World>> {
        whole(enter(&self.machine, self.process, call)?)
    }
}

fn whole(leave: Leave<'_>) -> io::Result<MutexGuard<'_, World>> {
    match leave {
        Leave::Whole(world) | Leave::Part(world, Ok(())) => Ok(world),
        Leave::Part(_, Err(error)) => Err(error),
    }
}

impl Disk for SimulatedDisk {
    fn open(&self, path: &Path, how: How) -> io::Result<Box<dyn DiskFile>> {
        let mut world = self.enter(if how == How::Create { Call::Create } else { Call::Open })?;
        let found = world.image.find(path);
        let id = match (how, found) {
            (How::Create, _) => world.image.create_file(path)?,
            (_, Some(id)) if !world.image.is_file(id) => return Err(io::ErrorKind::IsADirectory.into()),
            (_, Some(id)) => id,
            (How::Update, None) => world.image.create_file(path)?,
            (_, None) => return Err(io::ErrorKind::NotFound.into()),
        };
        world.handles += 1;
        let (machine, process) = (self.machine.clone(), self.process);
        Ok(Box::new(SimulatedFile { machine, process, handle: world.handles, id, path: path.to_owned() }))
    }

    fn exists(&self, path: &Path) -> bool {
        world(&self.machine).image.find(path).is_some()
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.enter(Call::List)?.image.list(dir)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.enter(Call::Directory)?.image.create_dir(dir)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut world = self.enter(Call::SyncDir)?;
        if world.mutant == Some(Mutant::NoDirectorySync) { Ok(()) } else { world.image.sync_dir(dir) }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.enter(Call::Rename)?.image.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.enter(Call::Remove)?.image.remove(path)
    }

    fn remove_dir_all(&self, dir: &Path) -> io::Result<()> {
        self.enter(Call::Remove)?.image.remove(dir)
    }

    fn foreign_owner(&self, _dir: &Path) -> Option<u32> {
        None
    }

    fn file_system(&self, _dir: &Path) -> Option<u32> {
        None
    }

    fn boot_id(&self) -> Option<String> {
        let world = world(&self.machine);
        let boot = if world.mutant == Some(Mutant::BootIgnored) { Some(0) } else { world.boot };
        boot.map(|boot| format!("00000000-0000-0000-0000-{boot:012}"))
    }

    fn uptime(&self) -> Duration {
        world(&self.machine).clock
    }

    fn pause(&self, rest: Duration) {
        let scheduled = {
            let mut world = world(&self.machine);
            world.clock += rest;
            world.scheduled && !world.dead.contains(&self.process)
        };
        if scheduled {
            take_turns();
        }
    }
}

struct SimulatedFile {
    machine: Machine,
    process: u64,
    handle: u64,
    id: usize,
    path: PathBuf,
}

impl SimulatedFile {
    fn enter(&self, call: Call) -> io::Result<Leave<'_>> {
        enter(&self.machine, self.process, call)
    }

    fn write(&self, call: Call, bytes: &[u8], offset: Option<u64>) -> io::Result<usize> {
        let (mut world, part) = match self.enter(call)? {
            Leave::Whole(world) => (world, None),
            Leave::Part(world, after) => (world, Some(after)),
        };
        let node = world.image.file(self.id);
        let at = offset.map_or(node.cached.len(), |offset| usize::try_from(offset).unwrap());
        let Some(after) = part else {
            world.image.file_mut(self.id).write(bytes, at);
            return Ok(bytes.len());
        };
        let count = world.dice.roll(bytes.len());
        world.image.file_mut(self.id).write(&bytes[..count], at);
        let ignored = world.mutant == Some(Mutant::ShortWriteIgnored);
        after.map(|()| if ignored { bytes.len() } else { count })
    }

    fn sync(&self, data_only: bool) -> io::Result<()> {
        let leave = self.enter(Call::Sync)?;
        let (mut world, failed) = match leave {
            Leave::Whole(world) | Leave::Part(world, Ok(())) => (world, None),
            Leave::Part(world, Err(error)) => (world, Some(error)),
        };
        let segment = self.path.extension().is_some_and(|end| end == "jsonl");
        let left_out = match world.mutant {
            Some(Mutant::NoSync) => segment && data_only,
            Some(Mutant::NoSyncOfOlderSegment) => segment && data_only && ends_with_seal(&world, self.id),
            _ => false,
        };
        if left_out {
            return Ok(());
        }
        let Some(error) = failed else {
            world.image.sync_file(self.id, data_only);
            return Ok(());
        };
        if !world.dead.contains(&self.process) {
            let mut dice = world.dice.fork();
            world.image.file_mut(self.id).fail_sync(&mut dice);
        }
        if world.mutant == Some(Mutant::FailedSyncForgiven) { Ok(()) } else { Err(error) }
    }
}

/// Whether the last line of a segment seals it.
fn ends_with_seal(world: &World, id: usize) -> bool {
    let text = String::from_utf8_lossy(&world.image.file(id).cached);
    text.lines().last().is_some_and(|line| line.contains("\"req\":\"seal-"))
}

impl DiskFile for SimulatedFile {
    fn len(&self) -> io::Result<u64> {
        let world = whole(self.enter(Call::Length)?)?;
        Ok(world.image.file(self.id).cached.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let (world, short) = match self.enter(Call::Read)? {
            Leave::Whole(world) => (world, false),
            Leave::Part(world, Ok(())) => (world, true),
            Leave::Part(_, Err(error)) => return Err(error),
        };
        let cached = &world.image.file(self.id).cached;
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(cached.len());
        let mut count = buffer.len().min(cached.len() - from);
        if short {
            count = count.min(count / 2 + 1);
        }
        buffer[..count].copy_from_slice(&cached[from..from + count]);
        Ok(count)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        if world(&self.machine).mutant == Some(Mutant::NoQuarantine)
            && self.path.extension().is_some_and(|end| end == "torn")
        {
            return Ok(bytes.len());
        }
        self.write(Call::Write, bytes, Some(offset))
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        self.write(Call::Append, bytes, None)
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        let mut world = whole(self.enter(Call::Truncate)?)?;
        world.image.file_mut(self.id).truncate(usize::try_from(length).unwrap());
        Ok(())
    }

    fn reserve(&self, _offset: u64, _length: u64) -> io::Result<()> {
        whole(self.enter(Call::Reserve)?).map(drop)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync(true)
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync(false)
    }

    fn try_lock(&self) -> io::Result<bool> {
        let mut world = whole(self.enter(Call::Lock)?)?;
        if world.mutant == Some(Mutant::NoLock) {
            return Ok(true);
        }
        let me = (self.process, self.handle);
        Ok(*world.locks.entry(self.id).or_insert(me) == me)
    }
}

impl Drop for SimulatedFile {
    fn drop(&mut self) {
        let me = (self.process, self.handle);
        world(&self.machine).locks.retain(|_, holder| *holder != me);
    }
}
