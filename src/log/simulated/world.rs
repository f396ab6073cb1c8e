//! A machine in memory: a file system, locks, a clock, processes that may be killed at any call, and faults.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::dice::Dice;
use super::image::Image;

/// A call that a process makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Open,
    Create,
    List,
    Directory,
    SyncDir,
    Rename,
    Remove,
    Length,
    Read,
    Write,
    Append,
    Truncate,
    Reserve,
    Sync,
    Lock,
}

/// What a call comes to instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// EIO; a sync that fails like this marks pages clean.
    Broken,
    /// ENOSPC.
    Full,
    /// EINTR, once.
    Interrupted,
    /// Fewer bytes than asked for.
    Short,
}

/// A fault that is going to happen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trouble {
    pub call: Call,
    pub failure: Failure,
    /// How many such calls still succeed.
    pub after: usize,
    /// Whether it stays.
    pub forever: bool,
}

/// Mistakes that an engine could make, each made here by a file system that leaves out what it would leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mutant {
    /// Records are acknowledged without a sync.
    NoSync,
    /// A directory is not synced after a file was created or renamed in it.
    NoDirectorySync,
    /// A sealed segment is not synced before its successor is written to.
    NoSyncOfOlderSegment,
    /// A failed sync is taken for a good one.
    FailedSyncForgiven,
    /// The lock keeps nobody out.
    NoLock,
    /// A short write is not taken back, and the writer does not notice.
    ShortWriteIgnored,
    /// The bytes that recovery cuts are not copied.
    NoQuarantine,
    /// What was appended before a restart is taken to be still there.
    BootIgnored,
    /// Records say that more is durable than their writer knew.
    DurTooHigh,
}

/// The state of the machine.
pub(super) struct World {
    pub image: Image,
    pub dice: Dice,
    /// Counts the starts of the machine; `None` where processes cannot know.
    pub boot: Option<u64>,
    pub clock: Duration,
    pub trouble: Option<Trouble>,
    pub mutant: Option<Mutant>,
    /// Whether a fault has happened since the last loss of power.
    pub faulted: bool,
    /// Whether a page that a failed sync marked clean was dropped.
    pub evicted: bool,
    /// Processes that are gone. Their code still runs, but nothing that it does happens.
    pub dead: BTreeSet<u64>,
    /// Processes that are going to die in their next call: a write is then done in part.
    pub dying: BTreeSet<u64>,
    /// How many more calls are made before everybody is dead.
    pub calls_left: Option<usize>,
    /// Whether processes take turns at every call.
    pub scheduled: bool,
    pub locks: BTreeMap<usize, (u64, u64)>,
    pub handles: u64,
}

impl World {
    pub(super) fn new(image: Image, dice: Dice, boot: Option<u64>) -> Self {
        Self {
            image,
            dice,
            boot,
            clock: Duration::ZERO,
            trouble: None,
            mutant: None,
            faulted: false,
            evicted: false,
            dead: BTreeSet::new(),
            dying: BTreeSet::new(),
            calls_left: None,
            scheduled: false,
            locks: BTreeMap::new(),
            handles: 0,
        }
    }

    /// Ends a process at once; its locks are free.
    pub(super) fn kill(&mut self, process: u64) {
        self.dead.insert(process);
        self.dying.remove(&process);
        self.locks.retain(|_, (holder, _)| *holder != process);
    }
}

/// A machine, shared by its processes.
pub(super) type Machine = Arc<Mutex<World>>;

pub(super) fn world(machine: &Machine) -> MutexGuard<'_, World> {
    machine.lock().unwrap_or_else(PoisonError::into_inner)
}

fn killed() -> io::Error {
    io::Error::other("killed")
}

/// What a call may do.
pub(super) enum Leave<'w> {
    /// All of it.
    Whole(MutexGuard<'w, World>),
    /// A part of it, then what is said.
    Part(MutexGuard<'w, World>, io::Result<()>),
}

/// Gives the scheduler the word.
#[expect(deprecated, reason = "the calls are far below the scope that the newer form is handed to")]
pub(super) fn take_turns() {
    generator::yield_with(());
}

/// Lets the others go first, then says what may be done.
pub(super) fn enter(machine: &Machine, process: u64, call: Call) -> io::Result<Leave<'_>> {
    let scheduled = world(machine).scheduled;
    if scheduled {
        take_turns();
    }
    let mut world = world(machine);
    if world.dead.contains(&process) {
        return Err(killed());
    }
    if let Some(left) = &mut world.calls_left {
        match left.checked_sub(1) {
            Some(less) => *left = less,
            None => {
                world.kill(process);
                return Err(killed());
            }
        }
    }
    if world.dying.contains(&process) {
        world.kill(process);
        return Ok(Leave::Part(world, Err(killed())));
    }
    let Some(trouble) = world.trouble.as_mut().filter(|trouble| trouble.call == call) else {
        return Ok(Leave::Whole(world));
    };
    if trouble.after > 0 {
        trouble.after -= 1;
        return Ok(Leave::Whole(world));
    }
    let Trouble { failure, forever, .. } = *trouble;
    if !forever || failure == Failure::Interrupted {
        world.trouble = None;
    }
    world.faulted |= failure != Failure::Interrupted;
    match failure {
        Failure::Broken => Ok(Leave::Part(world, Err(io::Error::from_raw_os_error(5)))),
        Failure::Full => Err(io::ErrorKind::StorageFull.into()),
        Failure::Interrupted => Err(io::ErrorKind::Interrupted.into()),
        Failure::Short => Ok(Leave::Part(world, Ok(()))),
    }
}
