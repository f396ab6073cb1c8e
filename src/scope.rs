//! Path scopes: which part of a project a goal covers or a todo may write.
//!
//! A scope names a file or a directory by its components below the project root. A directory covers everything below
//! it; a trailing `/**` says the same and is dropped. Overlap compares components, so `src/a` and `src/ab` are apart.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::id::BadId;
use crate::limits::PATH_MAX_BYTES;

/// A file or directory below the project root, and everything below it. The root itself is written `**`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathScope(Vec<String>);

impl PathScope {
    /// Whether the two have a path in common: one's components begin the other's.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(mine, theirs)| mine == theirs)
    }

    /// Whether everything in `other` is in this scope.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }
}

/// The first pair of overlapping scopes, one of each list.
#[must_use]
pub fn first_overlap<'a>(
    mine: &'a [PathScope],
    theirs: &'a [PathScope],
) -> Option<(&'a PathScope, &'a PathScope)> {
    mine.iter()
        .find_map(|scope| theirs.iter().find(|other| scope.overlaps(other)).map(|other| (scope, other)))
}

impl FromStr for PathScope {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let bad = |rule| BadId::new("a path scope", text, rule);
        if text.is_empty() || text.len() > PATH_MAX_BYTES {
            return Err(bad("1 to 1024 bytes"));
        }
        if text.starts_with('/') || text.contains('\\') || text.contains(':') {
            return Err(bad("relative to the project root, components separated by `/`"));
        }
        if text.chars().any(char::is_control) {
            return Err(bad("no control characters"));
        }
        let trimmed = text.trim_start_matches("./").trim_end_matches('/');
        let body = match trimmed {
            "**" | "." | "" => return Ok(Self(Vec::new())),
            other => other.strip_suffix("/**").unwrap_or(other),
        };
        let parts: Vec<String> = body.split('/').map(str::to_owned).collect();
        if parts.iter().any(|part| part.is_empty() || part == "." || part == "..") {
            return Err(bad("no empty, `.` or `..` component"));
        }
        if parts.iter().any(|part| part.contains(['*', '?', '['])) {
            return Err(bad("a path, or a directory followed by `/**`; no other wildcard"));
        }
        Ok(Self(parts))
    }
}

impl fmt::Display for PathScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("**") } else { f.write_str(&self.0.join("/")) }
    }
}

impl fmt::Debug for PathScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for PathScope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PathScope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::spelling::read(deserializer, str::parse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(text: &str) -> PathScope {
        text.parse().unwrap()
    }

    #[test]
    fn overlap_compares_components_not_characters() {
        assert!(!scope("src/a").overlaps(&scope("src/ab")));
        assert!(scope("src/a/**").overlaps(&scope("src/a")));
        assert!(scope("src").overlaps(&scope("src/a/b.rs")));
        assert!(scope("**").overlaps(&scope("x")));
        assert!(!scope("src").overlaps(&scope("docs")));
    }

    #[test]
    fn covering_is_one_way() {
        assert!(scope("src").covers(&scope("src/a")));
        assert!(!scope("src/a").covers(&scope("src")));
        assert!(scope(".").covers(&scope("src")));
    }

    #[test]
    fn a_scope_stays_below_the_root() {
        for bad in ["", "/etc", "../x", "a/../b", "a//b", "a\\b", "C:x", "a\nb", "src/*.rs", "a/./b"] {
            assert!(bad.parse::<PathScope>().is_err(), "{bad:?}");
        }
    }
}
