//! Quota: what a goal may use of a sliding window, and what it has used.

use serde::{Deserialize, Serialize};

use super::{At, Fold, State, entry};
use crate::event::{Allowance, Budget, QuotaBudgeted, QuotaSet, QuotaSpent, QuotaVoided};
use crate::id::{Seq, TurnId};
use crate::time::Timestamp;

/// The window of a goal without a setting: 24 hours.
pub const DEFAULT_WINDOW_MS: u64 = 86_400_000;

/// The slot of a goal without a setting: one minute.
pub const DEFAULT_SLOT_MS: u64 = 60_000;

/// What an owner set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuotaSetting {
    /// The record that set it.
    pub seq: Seq,
    /// How much.
    pub allowance: Allowance,
    /// Length of a slot.
    pub slot_ms: u64,
    /// Length of the window.
    pub window_ms: u64,
}

impl QuotaSetting {
    /// Slots in a full window; none if it is unlimited.
    #[must_use]
    pub fn allowed_slots(&self) -> Option<u64> {
        match self.allowance {
            Allowance::Unlimited => None,
            Allowance::Slots { slots } => Some(slots),
            Allowance::Share { milli } => {
                let slots =
                    u128::from(milli) * u128::from(self.window_ms) / u128::from(self.slot_ms.max(1)) / 1_000;
                Some(u64::try_from(slots).unwrap_or(u64::MAX))
            }
        }
    }
}

/// Most groups of spends that are kept for a goal.
const GROUPS_MAX: usize = 512;

/// Spends are put together while the first and the last of a group are at most this part of the window apart. With two
/// groups in every two parts at most, some 400 are left when there were too many.
const GROUP_PART: u64 = 200;

/// Neighbouring spends that leave the window together, with the last of them. One spend each, until there are too many.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spends {
    /// The record of the first.
    pub first_seq: Seq,
    /// When that was.
    pub first_ts: Timestamp,
    /// The record of the last.
    pub seq: Seq,
    /// When that was: it counts until a window later.
    pub ts: Timestamp,
    /// The turn that the last one paid for.
    pub turn: TurnId,
    /// How many spends count.
    pub spends: u64,
    /// How many were taken back.
    pub voided: u64,
    /// Slots of those that count.
    pub slots: u64,
    /// Their tokens.
    pub tokens: u64,
    /// Their money.
    pub cost_micro: u64,
}

impl Spends {
    fn join(&mut self, later: &Self) {
        (self.seq, self.ts, self.turn) = (later.seq, later.ts, later.turn);
        self.spends += later.spends;
        self.voided += later.voided;
        self.slots += later.slots;
        self.tokens += later.tokens;
        self.cost_micro += later.cost_micro;
    }
}

/// Setting, window and totals of one goal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// What an owner set; absent means not limited.
    pub setting: Option<QuotaSetting>,
    /// The longest window so far: spends are kept as long, so that no change of the window forgets one.
    pub kept_ms: u64,
    /// Spends that the window may still hold, oldest first. Their number is bounded, however many there were: beyond
    /// 512 of them neighbours are put together, and count a little longer than each would alone, never shorter.
    #[serde(with = "rows")]
    pub groups: Vec<Spends>,
    /// All of all time.
    pub total: Totals,
    /// What may be used in all.
    pub budget: Budget,
}

/// What was used in all, less voids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Totals {
    /// Slots.
    pub slots: u64,
    /// Tokens.
    pub tokens: u64,
    /// Money, in millionths.
    pub cost_micro: u64,
    /// Time, in milliseconds.
    pub wall_ms: u64,
}

impl Totals {
    fn of(slots: u64, tokens: Option<u64>, cost_micro: Option<u64>, wall_ms: u64) -> Self {
        Self { slots, tokens: tokens.unwrap_or(0), cost_micro: cost_micro.unwrap_or(0), wall_ms }
    }

    const fn plus(self, more: Self) -> Self {
        Self {
            slots: self.slots.saturating_add(more.slots),
            tokens: self.tokens.saturating_add(more.tokens),
            cost_micro: self.cost_micro.saturating_add(more.cost_micro),
            wall_ms: self.wall_ms.saturating_add(more.wall_ms),
        }
    }

    /// None if there is less than that.
    fn minus(self, less: Self) -> Option<Self> {
        Some(Self {
            slots: self.slots.checked_sub(less.slots)?,
            tokens: self.tokens.checked_sub(less.tokens)?,
            cost_micro: self.cost_micro.checked_sub(less.cost_micro)?,
            wall_ms: self.wall_ms.checked_sub(less.wall_ms)?,
        })
    }

    /// The first of the limits that is used up: its name, what was used, and the limit.
    #[must_use]
    pub fn used_up(&self, budget: &Budget) -> Option<(&'static str, u64, u64)> {
        let each = [
            ("tokens", self.tokens, budget.tokens),
            ("cost_micro", self.cost_micro, budget.cost_micro),
            ("wall_ms", self.wall_ms, budget.wall_ms),
        ];
        each.into_iter().find_map(|(name, used, limit)| {
            limit.filter(|limit| used >= *limit).map(|limit| (name, used, limit))
        })
    }
}

/// Spends in a folded state, a row of numbers each: every command reads them.
mod rows {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::{Seq, Spends, Timestamp, TurnId};

    type Row = (Seq, i64, Seq, i64, u32, u64, u64, u64, u64, u64);

    pub(super) fn serialize<S: Serializer>(groups: &[Spends], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(groups.iter().map(|group| -> Row {
            let Spends { first_seq, first_ts, seq, ts, turn, spends, voided, slots, tokens, cost_micro } =
                *group;
            let (first_ts, ts) = (first_ts.as_micros(), ts.as_micros());
            (first_seq, first_ts, seq, ts, turn.0, spends, voided, slots, tokens, cost_micro)
        }))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Spends>, D::Error> {
        let rows = Vec::<Row>::deserialize(deserializer)?;
        let group = |(first_seq, first_ts, seq, ts, turn, spends, voided, slots, tokens, cost_micro)| {
            let (first_ts, ts) = (Timestamp::from_micros(first_ts), Timestamp::from_micros(ts));
            let turn = TurnId(turn);
            Spends { first_seq, first_ts, seq, ts, turn, spends, voided, slots, tokens, cost_micro }
        };
        Ok(rows.into_iter().map(group).collect())
    }
}

impl Quota {
    /// Length of the window.
    #[must_use]
    pub fn window_ms(&self) -> u64 {
        self.setting.as_ref().map_or(DEFAULT_WINDOW_MS, |setting| setting.window_ms)
    }

    /// Spends that count at `now`, oldest first.
    pub fn counted(&self, now: Timestamp) -> impl Iterator<Item = &Spends> {
        let start = now.minus_ms(self.window_ms());
        let inside = move |group: &&Spends| group.ts > start || start == Timestamp::MIN;
        self.groups.iter().filter(|group| group.spends > 0).filter(inside)
    }

    /// Slots used at `now`.
    #[must_use]
    pub fn spent_slots(&self, now: Timestamp) -> u64 {
        self.counted(now).map(|group| group.slots).sum()
    }

    /// Slots in a full window; none if nothing limits the goal.
    #[must_use]
    pub fn allowed_slots(&self) -> Option<u64> {
        self.setting.as_ref().and_then(QuotaSetting::allowed_slots)
    }

    /// When `slots` more will fit beside one slot reserved until each of `reserved`: now, at a later instant, or never
    /// because the whole allowance is smaller.
    #[must_use]
    pub fn free_at(&self, slots: u64, now: Timestamp, reserved: &[Timestamp]) -> Option<Timestamp> {
        let Some(allowed) = self.allowed_slots() else { return Some(now) };
        let fits = |at: Timestamp| {
            let kept =
                u64::try_from(reserved.iter().filter(|until| **until > at).count()).unwrap_or(u64::MAX);
            self.spent_slots(at).saturating_add(kept).saturating_add(slots) <= allowed
        };
        if fits(now) {
            return Some(now);
        }
        let window_ms = self.window_ms();
        let slides = self.counted(now).map(|group| group.ts.plus_ms(window_ms));
        let mut ends: Vec<Timestamp> =
            slides.chain(reserved.iter().copied()).filter(|end| *end > now).collect();
        ends.sort_unstable();
        ends.get(ends.partition_point(|end| !fits(*end))).copied()
    }
}

impl Quota {
    fn kept(&self) -> u64 {
        self.kept_ms.max(DEFAULT_WINDOW_MS)
    }

    /// Takes note of one more spend, and forgets those that no window can hold any more.
    fn add(&mut self, spend: Spends) {
        let start = spend.ts.minus_ms(self.kept());
        let past = self.groups.partition_point(|group| group.ts < start);
        self.groups.drain(..past);
        self.groups.push(spend);
        if self.groups.len() > GROUPS_MAX {
            self.put_together();
        }
    }

    /// Puts neighbours together, from the oldest on.
    fn put_together(&mut self) {
        let part = self.kept() / GROUP_PART;
        self.groups.dedup_by(|later, group| {
            let near = later.ts.ms_since(group.first_ts) <= part;
            if near {
                group.join(later);
            }
            near
        });
    }
}

impl State {
    pub(super) fn quota_set(&mut self, at: &At, event: &QuotaSet) -> Fold {
        let setting = QuotaSetting {
            seq: at.seq,
            allowance: event.allowance.clone(),
            slot_ms: event.slot_ms,
            window_ms: event.window_ms,
        };
        let quota = self.quotas.entry(event.goal.clone()).or_default();
        quota.kept_ms = quota.kept_ms.max(event.window_ms);
        quota.setting = Some(setting);
        Ok(())
    }

    pub(super) fn quota_spent(&mut self, at: &At, event: &QuotaSpent) -> Fold {
        let turn = entry(&mut self.turns, &event.turn, "open")?;
        if std::mem::replace(&mut turn.paid, true) {
            return Err(format!("{} was paid for", event.turn));
        }
        let (seq, ts) = (at.seq, self.now);
        let used = Totals::of(event.slots, event.tokens, event.cost_micro, event.wall_ms);
        if let Some(agent) = self.agents.get_mut(&event.agent) {
            agent.total = agent.total.plus(used);
        }
        let quota = self.quotas.entry(event.goal.clone()).or_default();
        quota.total = quota.total.plus(used);
        quota.add(Spends {
            first_seq: seq,
            first_ts: ts,
            seq,
            ts,
            turn: event.turn,
            spends: 1,
            voided: 0,
            slots: used.slots,
            tokens: used.tokens,
            cost_micro: used.cost_micro,
        });
        Ok(())
    }

    pub(super) fn quota_budgeted(&mut self, event: &QuotaBudgeted) -> Fold {
        if let Some(agent) = &event.agent {
            entry(&mut self.agents, agent, "registered")?.budget = event.budget;
        }
        if let Some(goal) = &event.goal {
            self.quotas.entry(goal.clone()).or_default().budget = event.budget;
        }
        Ok(())
    }

    pub(super) fn quota_voided(&mut self, event: &QuotaVoided) -> Fold {
        let gone = || format!("#{} holds no spend that counts", event.spend);
        let used = Totals::of(event.slots, event.tokens, event.cost_micro, event.wall_ms);
        if let Some(agent) = self.agents.get_mut(&event.agent) {
            // An agent that came back after it was retired begins anew.
            agent.total = agent.total.minus(used).unwrap_or_default();
        }
        let quota = self.quotas.entry(event.goal.clone()).or_default();
        quota.total = quota.total.minus(used).ok_or_else(gone)?;
        // A spend that has left every window changes the totals alone.
        let place = quota.groups.partition_point(|group| group.seq < event.spend);
        let group = quota.groups.get_mut(place).filter(|group| group.first_seq <= event.spend);
        if let Some(group) = group {
            let less = |part: u64, used: u64| part.checked_sub(used).ok_or_else(gone);
            group.spends = less(group.spends, 1)?;
            group.slots = less(group.slots, used.slots)?;
            group.tokens = less(group.tokens, used.tokens)?;
            group.cost_micro = less(group.cost_micro, used.cost_micro)?;
            group.voided += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spend(number: u64, ts: Timestamp) -> Spends {
        Spends {
            first_seq: Seq(number),
            first_ts: ts,
            seq: Seq(number),
            ts,
            turn: TurnId(u32::try_from(number).unwrap()),
            spends: 1,
            voided: 0,
            slots: 1,
            tokens: 120_000,
            cost_micro: 3,
        }
    }

    #[test]
    fn a_kept_quota_is_the_quota() {
        let ts = Timestamp::from_micros(1_796_128_496_000_001);
        let quota = Quota { groups: vec![spend(8, ts), spend(9, ts)], ..Quota::default() };
        let kept = serde_json::to_string(&quota).unwrap();
        assert!(kept.contains("[8,1796128496000001,8,1796128496000001,8,1,0,1,120000,3]"), "{kept}");
        assert_eq!(serde_json::from_str::<Quota>(&kept).unwrap(), quota);
    }

    #[test]
    fn a_hundred_thousand_spends_a_day_take_a_bounded_place_and_are_never_given_back_early() {
        let mut quota = Quota::default();
        let step_ms = DEFAULT_WINDOW_MS / 100_000;
        let at = |number: u64| Timestamp::from_micros(1_796_128_496_000_000).plus_ms(number * step_ms);
        for number in 1..=250_000 {
            quota.add(spend(number, at(number)));
            assert!(quota.groups.len() <= GROUPS_MAX);
            if number % 10_007 == 0 {
                let exact = number.min(DEFAULT_WINDOW_MS.div_ceil(step_ms));
                let spent = quota.spent_slots(at(number));
                // A group counts for at most one part of the window longer than its first spend would.
                assert!(
                    (exact..=exact + exact / GROUP_PART + 1).contains(&spent),
                    "{spent} of {exact} at {number}"
                );
            }
        }
    }

    #[test]
    fn few_spends_are_counted_one_by_one() {
        let mut quota = Quota::default();
        let at = |number: u64| Timestamp::from_micros(1_796_128_496_000_000).plus_ms(number);
        for number in 1..=GROUPS_MAX as u64 {
            quota.add(spend(number, at(number)));
        }
        assert_eq!(quota.groups.len(), GROUPS_MAX);
        for gone in 0..=GROUPS_MAX as u64 {
            assert_eq!(quota.spent_slots(at(gone).plus_ms(DEFAULT_WINDOW_MS)), GROUPS_MAX as u64 - gone);
        }
    }
}
