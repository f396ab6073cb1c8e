//! What the clock says, beside what the ledger remembers.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use super::Ledger;
use crate::event::{ClockDirection, ClockJumped};
use crate::limits::CLOCK_JUMP_MS;
use crate::state::State;
use crate::time::Timestamp;

/// How long the machine has been running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uptime {
    /// Names the start of the machine, in one word.
    pub boot: String,
    /// Milliseconds since then, sleep included.
    pub ms: u64,
}

/// Says how long the machine has been running, if that is known.
pub type UptimeSource = dyn Fn() -> Option<Uptime> + Send + Sync;

/// The clock and the time that the machine had been running, once, in `.loopx/clock`: from then on the two go together for as
/// long as the machine runs. A hint that may be deleted; without it a clock set ahead looks like a ledger that nobody used.
#[derive(Default)]
pub(super) struct Pace {
    root: Option<PathBuf>,
    source: Option<Box<UptimeSource>>,
}

impl Pace {
    pub(super) fn new(root: Option<&Path>) -> Self {
        Self { root: root.map(Path::to_owned), source: None }
    }

    fn uptime(&self) -> Option<Uptime> {
        self.source.as_ref().and_then(|source| source())
    }

    fn path(&self) -> Option<PathBuf> {
        self.root.as_ref().map(|root| root.join("clock"))
    }

    /// How far the clock has gone beyond the time that has passed; none if nothing is known of this run of the machine.
    fn ahead_ms(&self, clock: Timestamp) -> Option<u64> {
        let uptime = self.uptime()?;
        let kept = fs::read_to_string(self.path()?).ok()?;
        let (boot, started) = kept.strip_suffix('\n')?.split_once(' ')?;
        let started = Timestamp::parse_fixed(started.as_bytes()).filter(|_| boot == uptime.boot)?;
        Some(clock.ms_since(started.plus_ms(uptime.ms)))
    }

    /// Remembers at what time of this clock the machine was started. A failure is of no consequence but the one of a deleted
    /// file.
    fn keep(&self, clock: Timestamp) {
        let (Some(uptime), Some(path)) = (self.uptime(), self.path()) else { return };
        drop(fs::write(path, format!("{} {}\n", uptime.boot, clock.minus_ms(uptime.ms))));
    }

    /// A jump that is not on record yet.
    pub(super) fn jump(&self, state: &State, clock: Timestamp) -> Option<ClockJumped> {
        state.clock_jump(clock, || self.ahead_ms(clock))
    }

    /// After a record at `clock`, the first one since `last`: what is remembered is brought up if the record came long after
    /// the last, so that small corrections do not add up to a jump.
    pub(super) fn settle(&self, last: Timestamp, clock: Timestamp, jump: Option<&ClockJumped>) {
        if jump.is_some() || clock.ms_since(last) > CLOCK_JUMP_MS {
            self.keep(clock);
        }
    }
}

/// A clock that wants a person's attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockNotice {
    /// It is behind the last record: ledger time stands still until it gets there.
    Behind {
        /// What it says.
        clock: Timestamp,
        /// The last record's time.
        last: Timestamp,
    },
    /// It jumped ahead just now: what was bounded in time was moved along.
    Ahead {
        /// What it says.
        clock: Timestamp,
        /// How far further on than time has passed.
        by_ms: u64,
    },
}

impl Ledger {
    /// Says how long the machine has been running. Without it a clock that was set ahead looks like a ledger that nobody
    /// used.
    pub fn set_uptime(&mut self, source: Box<UptimeSource>) {
        self.pace.source = Some(source);
    }

    /// Remembers the pace of the clock, for a ledger that was just created.
    pub fn keep_pace(&self, clock: Timestamp) {
        self.pace.keep(clock);
    }

    /// The state as a request finds it that comes now: what a jump ahead moves along is moved, although no record tells of
    /// the jump yet.
    #[must_use]
    pub fn present(&self, clock: Timestamp) -> Cow<'_, State> {
        match self.pace.jump(&self.state, clock) {
            Some(ClockJumped { by_ms, direction: ClockDirection::Ahead, .. }) => {
                let mut state = State::clone(&self.state);
                state.prolong(by_ms);
                Cow::Owned(state)
            }
            Some(ClockJumped { direction: ClockDirection::Back, .. }) | None => Cow::Borrowed(&self.state),
        }
    }

    /// What is to be said of the clock now: that it is behind, or that it jumped ahead since, or with the last record.
    #[must_use]
    pub fn clock_notice(&self, clock: Timestamp) -> Option<ClockNotice> {
        let last = self.state.now;
        if last.ms_since(clock) > CLOCK_JUMP_MS {
            return Some(ClockNotice::Behind { clock, last });
        }
        let new = self.pace.jump(&self.state, clock);
        let told = new.or_else(|| self.told.clone());
        told.filter(|jump| jump.direction == ClockDirection::Ahead)
            .map(|jump| ClockNotice::Ahead { clock: jump.clock, by_ms: jump.by_ms })
    }
}
