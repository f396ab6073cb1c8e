//! Payloads about quota.

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, GoalId, Seq, TodoId, TurnId};
use crate::text::Text;

/// As [`Allowance`] is written. serde lets a variant without braces have unknown fields.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum WrittenAllowance {
    Unlimited {},
    Share { milli: u32 },
    Slots { slots: u64 },
}

impl From<WrittenAllowance> for Allowance {
    fn from(written: WrittenAllowance) -> Self {
        match written {
            WrittenAllowance::Unlimited {} => Self::Unlimited,
            WrittenAllowance::Share { milli } => Self::Share { milli },
            WrittenAllowance::Slots { slots } => Self::Slots { slots },
        }
    }
}

/// How much of a window a goal may use. A goal without any setting is not limited, but its spend is counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", from = "WrittenAllowance")]
pub enum Allowance {
    /// No limit, said explicitly.
    Unlimited,
    /// A share of the window, in thousandths; 0 pauses the goal.
    Share {
        /// 0 to 1000.
        milli: u32,
    },
    /// A number of slots in the window; 0 pauses the goal.
    Slots {
        /// How many.
        slots: u64,
    },
}

/// `quota.set`: by an owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuotaSet {
    /// How much.
    pub allowance: Allowance,
    /// The goal.
    pub goal: GoalId,
    /// Length of a slot, in milliseconds.
    pub slot_ms: u64,
    /// The reason.
    pub why: Text,
    /// Length of the sliding window, in milliseconds.
    pub window_ms: u64,
}

/// `quota.budgeted`: what a goal, or one agent, may use in all. An absent number is not limited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuotaBudgeted {
    /// The agent, if it is one agent's and not the goal's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// How much.
    pub budget: Budget,
    /// The goal, if it is a goal's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<GoalId>,
    /// The reason.
    pub why: Text,
}

/// Limits on what is used in all. An absent one does not limit; zero allows nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Money, in millionths of the ledger's currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro: Option<u64>,
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Time from the opening of a turn to its payment, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
}

/// `quota.spent`: an accountable turn was paid for, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuotaSpent {
    /// The agent whose turn it was.
    pub agent: AgentId,
    /// Money, in millionths of the ledger's currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro: Option<u64>,
    /// The goal.
    pub goal: GoalId,
    /// Slots of the window.
    pub slots: u64,
    /// The todo that the turn was opened on.
    pub todo: TodoId,
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The turn.
    pub turn: TurnId,
    /// From the opening of the turn until now, in milliseconds.
    pub wall_ms: u64,
}

/// `quota.voided`: a spend no longer counts. It repeats what was spent, since the state does not keep every spend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuotaVoided {
    /// The agent whose turn it was.
    pub agent: AgentId,
    /// Its money.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro: Option<u64>,
    /// The goal.
    pub goal: GoalId,
    /// Its slots.
    pub slots: u64,
    /// The record of the spend.
    pub spend: Seq,
    /// Its tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The turn that it paid for.
    pub turn: TurnId,
    /// Its time.
    pub wall_ms: u64,
    /// The reason.
    pub why: Text,
}
