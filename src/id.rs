//! Identifiers. Each is a type of its own with one parser in and one spelling out.
//!
//! Two families: *names* are chosen by people (`w7`, `iris`), *short ids* are minted by the ledger (`T7`, `G1`).
//! Names are safe as a path component on every system, though nothing here turns one into a path.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::limits::{INTEGER_MAX, REQUEST_MAX_BYTES, SLUG_MAX_BYTES};

/// An identifier was refused: what kind it should have been, how it starts, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{head}` is not {kind}: {rule}")]
pub struct BadId {
    /// What was expected, with its article: `an agent name`, `a todo id`.
    pub kind: &'static str,
    /// The first characters of the refused value, control characters escaped.
    pub head: String,
    /// The rule that it breaks.
    pub rule: &'static str,
}

impl BadId {
    /// An error about `value`, of which at most 40 characters are kept.
    #[must_use]
    pub fn new(kind: &'static str, value: &str, rule: &'static str) -> Self {
        let mut head: String = value.chars().take(40).flat_map(char::escape_default).collect();
        if value.chars().nth(40).is_some() {
            head.push('…');
        }
        Self { kind, head, rule }
    }
}

/// Device names that some systems refuse as files, and names that the ledger keeps for itself.
const RESERVED: [&str; 9] = ["con", "prn", "aux", "nul", "system", "all", "none", "me", "owner"];

const SLUG_RULE: &str =
    "1 to 64 of a-z A-Z 0-9 . _ -, starting with a letter or digit, not ending in a dot, not a reserved name";
const TOKEN_RULE: &str = "1 to 128 of a-z A-Z 0-9 . _ - : / @ + =, starting with a letter or digit";

fn is_slug(text: &str) -> bool {
    let device = text.split_at_checked(3).is_some_and(|(head, rest)| {
        (head.eq_ignore_ascii_case("com") || head.eq_ignore_ascii_case("lpt"))
            && matches!(rest.as_bytes(), [b'0'..=b'9'])
    });
    text.len() <= SLUG_MAX_BYTES
        && text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
        && !text.ends_with('.')
        && !RESERVED.iter().any(|name| text.eq_ignore_ascii_case(name))
        && !device
}

fn is_token(text: &str) -> bool {
    text.len() <= REQUEST_MAX_BYTES
        && text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
        && text.bytes().all(|b| {
            b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b':' | b'/' | b'@' | b'+' | b'=')
        })
}

/// Text in, text out: `Display`, `Serialize` and `Deserialize` through the one parser.
macro_rules! textual {
    ($name:ident) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::spelling::read(deserializer, str::parse)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident, $kind:literal, $accepts:ident, $rule:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                if $accepts(text) { Ok(Self(text.to_owned())) } else { Err(BadId::new($kind, text, $rule)) }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        textual!($name);
    )*};
}

names! {
    /// The name of a registered peer.
    AgentId, "an agent name", is_slug, SLUG_RULE;
    /// The name of a human who decides.
    OwnerId, "an owner name", is_slug, SLUG_RULE;
    /// The name of a goal.
    GoalId, "a goal name", is_slug, SLUG_RULE;
    /// The name of something only one may use at a time, such as `gpu0`.
    ResourceId, "a resource name", is_slug, SLUG_RULE;
    /// The name of a capability, such as `network` or `gpu`.
    CapabilityId, "a capability name", is_slug, SLUG_RULE;
    /// The name of a metric, a data set, an action kind, or another label of the domain.
    Label, "a label", is_slug, SLUG_RULE;
    /// What an agent host calls one of its sessions.
    SessionId, "a session id", is_token, TOKEN_RULE;
    /// The idempotency key of a request.
    RequestId, "a request id", is_token, TOKEN_RULE;
    /// The idempotency key under which a lease on a todo was taken. It opens one lease, once.
    LeaseKey, "a lease key", is_token, TOKEN_RULE;
}

impl RequestId {
    /// The request id that a fresh ULID spells.
    #[must_use]
    pub fn from_ulid(ulid: ulid::Ulid) -> Self {
        Self(ulid.to_string())
    }
}

/// The agent that acts while none is registered.
pub const LOCAL: &str = "local";

impl AgentId {
    /// The built-in agent of a ledger in which none is registered.
    #[must_use]
    pub fn local() -> Self {
        Self(LOCAL.to_owned())
    }
}

impl OwnerId {
    /// The built-in owner of a ledger in which none is registered.
    #[must_use]
    pub fn local() -> Self {
        Self(LOCAL.to_owned())
    }
}

macro_rules! short_ids {
    ($($(#[$doc:meta])* $name:ident, $letter:literal, $kind:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The letter before the number.
            pub const LETTER: char = $letter;
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                let bad = || BadId::new($kind, text, concat!("`", $letter, "` and a number from 1, without leading zeros"));
                let digits = text.strip_prefix($letter).ok_or_else(bad)?;
                let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
                let number = digits.parse().ok().filter(|_| plain).ok_or_else(bad)?;
                Ok(Self(number))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", $letter, self.0)
            }
        }

        textual!($name);
    )*};
}

short_ids! {
    /// A todo, `T7`.
    TodoId, 'T', "a todo id";
    /// A gate, `G1`.
    GateId, 'G', "a gate id";
    /// A piece of evidence, `E9`.
    EvidenceId, 'E', "an evidence id";
    /// A turn, `U12`.
    TurnId, 'U', "a turn id";
    /// An acceptance criterion, `A2`, numbered within its goal.
    CriterionId, 'A', "a criterion id";
    /// A hypothesis, `H3`.
    HypothesisId, 'H', "a hypothesis id";
    /// An experiment, `X4`.
    ExperimentId, 'X', "an experiment id";
    /// A trial, one run of an experiment, `R5`.
    TrialId, 'R', "a trial id";
    /// A promotion, `P1`.
    PromotionId, 'P', "a promotion id";
}

/// The sequence number of a record, from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Seq(pub u64);

impl Seq {
    /// Before the first record.
    pub const ZERO: Self = Self(0);

    /// The number after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl FromStr for Seq {
    type Err = BadId;

    /// Reads `118` or `#118`.
    fn from_str(text: &str) -> Result<Self, BadId> {
        let digits = text.strip_prefix('#').unwrap_or(text);
        let plain = digits.bytes().all(|b| b.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
        digits
            .parse()
            .ok()
            .filter(|&number| plain && number <= INTEGER_MAX)
            .map(Self)
            .ok_or_else(|| BadId::new("a sequence number", text, "a whole number up to 2^53 - 1"))
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

impl Serialize for Seq {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for Seq {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u64::deserialize(deserializer)?;
        if number <= INTEGER_MAX {
            Ok(Self(number))
        } else {
            Err(serde::de::Error::custom("beyond 2^53 - 1"))
        }
    }
}

/// Who caused a record: an agent, an owner, or the ledger itself.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Actor {
    /// A registered peer, written `agent/w7`.
    Agent(AgentId),
    /// A human who decides, written `owner/ana`.
    Owner(OwnerId),
    /// The ledger, written `system`: genesis, seals, recoveries.
    System,
}

impl Actor {
    /// The name without its kind.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Agent(agent) => agent.as_str(),
            Self::Owner(owner) => owner.as_str(),
            Self::System => "system",
        }
    }

    /// The agent, if it is one.
    #[must_use]
    pub fn agent(&self) -> Option<&AgentId> {
        match self {
            Self::Agent(agent) => Some(agent),
            Self::Owner(_) | Self::System => None,
        }
    }
}

impl FromStr for Actor {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        match text.split_once('/') {
            Some(("agent", name)) => name.parse().map(Self::Agent),
            Some(("owner", name)) => name.parse().map(Self::Owner),
            None if text == "system" => Ok(Self::System),
            _ => Err(BadId::new("an actor", text, "`agent/NAME`, `owner/NAME` or `system`")),
        }
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(agent) => write!(f, "agent/{agent}"),
            Self::Owner(owner) => write!(f, "owner/{owner}"),
            Self::System => f.write_str("system"),
        }
    }
}

textual!(Actor);

/// The identity of a ledger, a ULID.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LedgerId(pub ulid::Ulid);

impl FromStr for LedgerId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let bad = || BadId::new("a ledger id", text, "a ULID of 26 upper-case characters");
        let ulid = ulid::Ulid::from_string(text).map_err(|_| bad())?;
        if ulid.to_string() == text { Ok(Self(ulid)) } else { Err(bad()) }
    }
}

impl fmt::Display for LedgerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

textual!(LedgerId);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_that_could_escape_or_confuse_is_refused() {
        let long = "a".repeat(65);
        for bad in
            ["", ".", "..", "a/b", "a\\b", "a\nb", "-a", "CON", "com1", "nul", "a.", "a b", "é", "all", &long]
        {
            assert!(bad.parse::<GoalId>().is_err(), "{bad:?}");
        }
        for good in ["iris", "w7", "codex-main.2", "A_b", &long[1..]] {
            assert_eq!(good.parse::<GoalId>().unwrap().as_str(), good);
        }
    }

    #[test]
    fn a_short_id_has_one_spelling() {
        assert_eq!("T7".parse(), Ok(TodoId(7)));
        for bad in ["t7", "T", "T0", "T07", "T-1", "T+1", "T7 ", "G7", "T4294967296", "7"] {
            assert!(bad.parse::<TodoId>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_refusal_shows_the_head_of_the_value_escaped() {
        let error = "\u{1b}[31m".parse::<AgentId>().unwrap_err();
        assert_eq!(error.head, "\\u{1b}[31m");
        let error = "x".repeat(5_000).parse::<AgentId>().unwrap_err();
        assert_eq!(error.head.chars().count(), 41);
    }

    #[test]
    fn actors_round_trip() {
        for text in ["agent/w7", "owner/ana", "system"] {
            assert_eq!(text.parse::<Actor>().unwrap().to_string(), text);
        }
        for bad in ["agent/", "agent", "human/x", "system/x", "agent/a/b"] {
            assert!(bad.parse::<Actor>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn what_parses_prints_the_same(text in "\\PC{0,40}") {
            if let Ok(id) = text.parse::<RequestId>() { prop_assert_eq!(id.to_string(), text.clone()); }
            if let Ok(id) = text.parse::<TodoId>() { prop_assert_eq!(id.to_string(), text.clone()); }
            if let Ok(id) = text.parse::<Actor>() { prop_assert_eq!(id.to_string(), text); }
        }
    }
}
