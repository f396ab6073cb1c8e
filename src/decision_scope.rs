//! Decision scopes: what a human's decision is about and how far it reaches, written `kind:granularity:key`.
//!
//! A todo names the scopes in which it needs a decision; a gate names the one in which it asks for one. An approval
//! covers a need of the same kind, for the same key or for every key (`*`), at its own granularity or below.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::id::{BadId, Label};

const RULE: &str = "kind:granularity:key, such as production:goal:deploy: the kind private_read, write_scope, resource, production, \
     public_claim, direction or other, the granularity action, lane, goal, project or global, the key a label or *";

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// Every one, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The word for it.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            fn of(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.word() == word)
            }
        }
    };
}

words! {
    /// What sort of thing is decided.
    ScopeKind {
        /// Reading what is private.
        PrivateRead = "private_read",
        /// Writing somewhere.
        WriteScope = "write_scope",
        /// Using something scarce.
        Resource = "resource",
        /// Touching production.
        Production = "production",
        /// Saying something in public.
        PublicClaim = "public_claim",
        /// Which way to go.
        Direction = "direction",
        /// Anything else.
        Other = "other",
    }
}

words! {
    /// How far a decision reaches, from the least to the most.
    Granularity {
        /// One action.
        Action = "action",
        /// The work of one agent.
        Lane = "lane",
        /// One goal.
        Goal = "goal",
        /// Every goal of this ledger.
        Project = "project",
        /// Everywhere.
        Global = "global",
    }
}

/// `production:goal:deploy`: a kind, how far it reaches, and the one thing that it is about, or `*` for all.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DecisionScope {
    /// What sort of thing is decided.
    pub kind: ScopeKind,
    /// How far it reaches.
    pub granularity: Granularity,
    /// What it is about; none is every key, written `*`.
    pub key: Option<Label>,
}

impl DecisionScope {
    /// Whether a decision in this scope is one about `need`. A need for every key is covered by every key only.
    #[must_use]
    pub fn covers(&self, need: &Self) -> bool {
        self.kind == need.kind
            && self.granularity >= need.granularity
            && (self.key.is_none() || self.key == need.key)
    }
}

impl FromStr for DecisionScope {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let bad = || BadId::new("a decision scope", text, RULE);
        let mut parts = text.split(':');
        let (Some(kind), Some(granularity), Some(key), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(bad());
        };
        Ok(Self {
            kind: ScopeKind::of(kind).ok_or_else(bad)?,
            granularity: Granularity::of(granularity).ok_or_else(bad)?,
            key: if key == "*" { None } else { Some(key.parse().map_err(|_| bad())?) },
        })
    }
}

impl fmt::Display for DecisionScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key.as_ref().map_or("*", Label::as_str);
        write!(f, "{}:{}:{key}", self.kind.word(), self.granularity.word())
    }
}

impl fmt::Debug for DecisionScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for DecisionScope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DecisionScope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::spelling::read(deserializer, str::parse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(text: &str) -> DecisionScope {
        text.parse().unwrap()
    }

    #[test]
    fn every_scope_is_read_as_it_is_written_and_nothing_else_is_one() {
        for kind in ScopeKind::ALL {
            for granularity in Granularity::ALL {
                for key in ["*", "deploy", "gpu0.2"] {
                    let text = format!("{}:{}:{key}", kind.word(), granularity.word());
                    assert_eq!(scope(&text).to_string(), text);
                }
            }
        }
        for text in [
            "",
            "production",
            "production:goal",
            "production:goal:",
            "production:goal:deploy:more",
            "Production:goal:deploy",
            "production:Goal:deploy",
            "prod:goal:deploy",
            "production:team:deploy",
            "production:goal:de ploy",
            "production:goal:**",
            "production:goal:none",
            " production:goal:deploy",
            "production:goal:deploy\n",
            "*:goal:deploy",
            "production:*:deploy",
        ] {
            assert!(text.parse::<DecisionScope>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_scope_covers_its_kind_and_key_at_its_granularity_and_below() {
        let covers = |one: &str, need: &str| scope(one).covers(&scope(need));
        assert!(covers("production:goal:deploy", "production:goal:deploy"));
        assert!(covers("production:goal:*", "production:goal:deploy"));
        assert!(!covers("production:goal:deploy", "production:goal:*"));
        assert!(covers("production:goal:*", "production:goal:*"));
        assert!(!covers("production:goal:deploy", "production:goal:rollback"));
        assert!(!covers("resource:goal:deploy", "production:goal:deploy"));
        for (wide, at) in Granularity::ALL.iter().enumerate() {
            for (low, need) in Granularity::ALL.iter().enumerate() {
                let (one, need) = (format!("other:{}:x", at.word()), format!("other:{}:x", need.word()));
                assert_eq!(covers(&one, &need), wide >= low, "{one} {need}");
            }
        }
    }
}
