//! Quota: what a goal may use of a sliding window, and what it has used.

use serde::{Deserialize, Serialize};

use super::{At, Fold, State};
use crate::event::{Allowance, QuotaSet, QuotaSpent, QuotaVoided};
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

/// One spend inside the window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spend {
    /// Its record.
    pub seq: Seq,
    /// When.
    pub ts: Timestamp,
    /// The turn that was paid for.
    pub turn: TurnId,
    /// Slots.
    pub slots: u64,
    /// Tokens.
    pub tokens: u64,
    /// Money.
    pub cost_micro: u64,
    /// Whether it was taken back.
    pub voided: bool,
}

/// Setting, window and totals of one goal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// What an owner set; absent means not limited.
    pub setting: Option<QuotaSetting>,
    /// The longest window so far: spends are kept as long, so that no change of the window forgets one.
    pub kept_ms: u64,
    /// Spends that the window may still hold, oldest first.
    #[serde(with = "rows")]
    pub spends: Vec<Spend>,
    /// Slots of all time, less voids.
    pub total_slots: u64,
    /// Tokens of all time, less voids.
    pub total_tokens: u64,
    /// Money of all time, less voids.
    pub total_cost_micro: u64,
}

/// Spends in a folded state, a row of numbers each: there may be thousands, and every command reads them.
mod rows {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::{Seq, Spend, Timestamp, TurnId};

    type Row = (Seq, i64, u32, u64, u64, u64, bool);

    pub(super) fn serialize<S: Serializer>(spends: &[Spend], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(spends.iter().map(|spend| -> Row {
            let Spend { seq, ts, turn, slots, tokens, cost_micro, voided } = *spend;
            (seq, ts.as_micros(), turn.0, slots, tokens, cost_micro, voided)
        }))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Spend>, D::Error> {
        let rows = Vec::<Row>::deserialize(deserializer)?;
        let spend = |(seq, ts, turn, slots, tokens, cost_micro, voided)| {
            let (ts, turn) = (Timestamp::from_micros(ts), TurnId(turn));
            Spend { seq, ts, turn, slots, tokens, cost_micro, voided }
        };
        Ok(rows.into_iter().map(spend).collect())
    }
}

impl Quota {
    /// Length of the window.
    #[must_use]
    pub fn window_ms(&self) -> u64 {
        self.setting.as_ref().map_or(DEFAULT_WINDOW_MS, |setting| setting.window_ms)
    }

    /// Spends that count at `now`, oldest first.
    pub fn counted(&self, now: Timestamp) -> impl Iterator<Item = &Spend> {
        let start = now.minus_ms(self.window_ms());
        self.spends.iter().filter(move |spend| !spend.voided && (spend.ts > start || start == Timestamp::MIN))
    }

    /// Slots used at `now`.
    #[must_use]
    pub fn spent_slots(&self, now: Timestamp) -> u64 {
        self.counted(now).map(|spend| spend.slots).sum()
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
        let slides = self.counted(now).map(|spend| spend.ts.plus_ms(window_ms));
        let mut ends: Vec<Timestamp> =
            slides.chain(reserved.iter().copied()).filter(|end| *end > now).collect();
        ends.sort_unstable();
        ends.get(ends.partition_point(|end| !fits(*end))).copied()
    }
}

impl State {
    pub(super) fn quota_set(&mut self, event: &QuotaSet) -> Fold {
        let setting = QuotaSetting {
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
        let now = self.now;
        let quota = self.quotas.entry(event.goal.clone()).or_default();
        if quota.spends.iter().any(|spend| spend.turn == event.turn) {
            return Err(format!("{} was paid for", event.turn));
        }
        let start = now.minus_ms(quota.kept_ms.max(DEFAULT_WINDOW_MS));
        let past = quota.spends.partition_point(|spend| spend.ts < start);
        quota.spends.drain(..past);
        let spend = Spend {
            seq: at.seq,
            ts: now,
            turn: event.turn,
            slots: event.slots,
            tokens: event.tokens.unwrap_or(0),
            cost_micro: event.cost_micro.unwrap_or(0),
            voided: false,
        };
        quota.total_slots += spend.slots;
        quota.total_tokens += spend.tokens;
        quota.total_cost_micro += spend.cost_micro;
        quota.spends.push(spend);
        Ok(())
    }

    pub(super) fn quota_voided(&mut self, event: &QuotaVoided) -> Fold {
        let quota = self.quotas.entry(event.goal.clone()).or_default();
        let found = quota.spends.iter_mut().find(|spend| spend.seq == event.spend && !spend.voided);
        let spend = found.ok_or_else(|| format!("#{} holds no spend that counts", event.spend))?;
        spend.voided = true;
        quota.total_slots = quota.total_slots.saturating_sub(spend.slots);
        quota.total_tokens = quota.total_tokens.saturating_sub(spend.tokens);
        quota.total_cost_micro = quota.total_cost_micro.saturating_sub(spend.cost_micro);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_quota_is_the_quota() {
        let spend = |seq, voided| Spend {
            seq: Seq(seq),
            ts: Timestamp::from_micros(1_796_128_496_000_001),
            turn: TurnId(7),
            slots: 1,
            tokens: 120_000,
            cost_micro: 3,
            voided,
        };
        let quota =
            Quota { spends: vec![spend(8, false), spend(9, true)], total_slots: 1, ..Quota::default() };
        let kept = serde_json::to_string(&quota).unwrap();
        assert!(kept.contains("[8,1796128496000001,7,1,120000,3,false]"), "{kept}");
        assert_eq!(serde_json::from_str::<Quota>(&kept).unwrap(), quota);
    }
}
