//! The clock: jumps of it, and what must not run out because of them.
//!
//! Ledger time is what the clock said, and never goes back. While the clock is behind the last record, ledger time stands
//! still: nothing runs out before the clock has got there. A jump ahead would let everything run out at once; if it is known
//! for one, what is bounded in time is moved along with it.

use serde::{Deserialize, Serialize};

use super::{At, Fold, Quota, State};
use crate::event::{ClockDirection, ClockJumped};
use crate::id::Seq;
use crate::limits::CLOCK_JUMP_MS;
use crate::time::Timestamp;

/// A jump of the clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Jump {
    /// The record that tells of it.
    pub seq: Seq,
    /// Its ledger time.
    pub ts: Timestamp,
    /// What the clock said.
    pub clock: Timestamp,
    /// How far, as the event has it.
    pub by_ms: u64,
    /// Which way.
    pub direction: ClockDirection,
}

impl State {
    /// The jump back since which no record has had a later time: the clock is behind still, as far as the log says.
    fn jumped_back(&self) -> Option<&Jump> {
        self.jump.as_ref().filter(|jump| jump.direction == ClockDirection::Back && jump.ts == self.now)
    }

    /// What the clock's reading says of the clock, if that is not on record yet: it is behind the last record, or it has gone
    /// `ahead_ms` further than time has passed. That is asked for only if there is room for it.
    #[must_use]
    pub fn clock_jump(
        &self,
        clock: Timestamp,
        ahead_ms: impl FnOnce() -> Option<u64>,
    ) -> Option<ClockJumped> {
        let behind_ms = self.now.ms_since(clock);
        let jumped_back = self.jumped_back();
        if behind_ms > CLOCK_JUMP_MS {
            let again = jumped_back.is_none_or(|jump| jump.clock.ms_since(clock) > CLOCK_JUMP_MS);
            let direction = ClockDirection::Back;
            return again.then_some(ClockJumped { by_ms: behind_ms, clock, direction });
        }
        // A clock that gets where ledger time has been waiting for it is right again.
        let since_ms = clock.ms_since(self.now);
        if jumped_back.is_some() || since_ms <= CLOCK_JUMP_MS {
            return None;
        }
        let by_ms = ahead_ms()?.min(since_ms);
        (by_ms > CLOCK_JUMP_MS).then_some(ClockJumped { by_ms, clock, direction: ClockDirection::Ahead })
    }

    pub(super) fn clock_jumped(&mut self, at: &At, event: &ClockJumped) -> Fold {
        let ClockJumped { by_ms, clock, direction } = *event;
        self.jump = Some(Jump { seq: at.seq, ts: self.now, clock, by_ms, direction });
        match direction {
            ClockDirection::Back => {}
            ClockDirection::Ahead => self.prolong(by_ms),
        }
        Ok(())
    }

    /// Moves what is measured in time `ms` on: leases, turns, slots that are kept, spends. What is due at an instant of the
    /// calendar stays where it is.
    pub fn prolong(&mut self, ms: u64) {
        let claims = self.todos.values_mut().filter_map(|todo| todo.claim.as_mut());
        let held = self.resources.values_mut().filter_map(|resource| resource.held.as_mut());
        for lease in claims.chain(held).filter_map(|claim| claim.lease.as_mut()) {
            lease.until = lease.until.plus_ms(ms);
        }
        for turn in self.turns.values_mut() {
            turn.since = turn.since.plus_ms(ms);
            turn.pay_by = turn.pay_by.map(|pay_by| pay_by.plus_ms(ms));
        }
        for quota in self.quotas.values_mut() {
            quota.prolong(ms);
        }
    }
}

impl Quota {
    /// Lets every spend count for `ms` longer: as much of ledger time did not pass.
    fn prolong(&mut self, ms: u64) {
        for group in &mut self.groups {
            (group.first_ts, group.ts) = (group.first_ts.plus_ms(ms), group.ts.plus_ms(ms));
        }
    }
}
