//! BLAKE3 digests, and the contexts that keep their uses apart.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use blake3::hazmat::{ContextKey, HasherExt, hash_derive_key_context};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Key-derivation context of a record's hash. Part of the format: it never changes within version 1.
pub const RECORD_CONTEXT: &str = "loopx 2026-12-01 ledger record v1";

/// Key-derivation context of a request digest.
pub const REQUEST_CONTEXT: &str = "loopx 2026-12-01 request digest v1";

/// Key-derivation context of a state digest.
pub const STATE_CONTEXT: &str = "loopx 2026-12-01 state digest v1";

/// A 32-byte BLAKE3 digest, written as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// The predecessor of the first record.
    pub const ZERO: Self = Self([0; 32]);

    /// The hash of a record: `preimage` is the line without its last 75 bytes and line feed.
    ///
    /// # Source
    /// ledger-format.md, "Hash".
    #[must_use]
    pub fn record(preimage: &[u8]) -> Self {
        // Over every record that is read: the key of the context is derived once.
        static KEY: LazyLock<ContextKey> = LazyLock::new(|| hash_derive_key_context(RECORD_CONTEXT));
        Self::under(&KEY, preimage)
    }

    /// The digest of a request, in its canonical JSON form.
    #[must_use]
    pub fn request(canonical: &[u8]) -> Self {
        static KEY: LazyLock<ContextKey> = LazyLock::new(|| hash_derive_key_context(REQUEST_CONTEXT));
        Self::under(&KEY, canonical)
    }

    /// The digest of a folded state, in its canonical JSON form.
    #[must_use]
    pub fn state(canonical: &[u8]) -> Self {
        Self::under(&hash_derive_key_context(STATE_CONTEXT), canonical)
    }

    /// Plain BLAKE3 of a blob, as `b3sum` prints it.
    #[must_use]
    pub fn blob(content: &[u8]) -> Self {
        Self(*blake3::hash(content).as_bytes())
    }

    fn under(key: &ContextKey, bytes: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new_from_context_key(key);
        hasher.update(bytes);
        Self(*hasher.finalize().as_bytes())
    }

    /// Reads exactly 64 lower-case hex digits; upper case is refused, so that one digest has one spelling.
    #[must_use]
    pub fn from_hex(hex: &[u8]) -> Option<Self> {
        let digits: &[u8; 64] = hex.try_into().ok()?;
        let mut out = [0; 32];
        for (byte, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
            let [high, low] = *pair else { return None };
            *byte = nibble(high)? << 4 | nibble(low)?;
        }
        Some(Self(out))
    }

    /// The 64 lower-case hex digits.
    #[must_use]
    pub fn to_hex(self) -> String {
        blake3::Hash::from_bytes(self.0).to_hex().to_string()
    }

    /// The first eight hex digits, for people.
    #[must_use]
    pub fn short(self) -> String {
        let mut hex = self.to_hex();
        hex.truncate(8);
        hex
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({})", self.short())
    }
}

/// A digest was not 64 lower-case hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a digest is 64 lower-case hex digits")]
pub struct BadHash;

impl FromStr for Hash {
    type Err = BadHash;

    fn from_str(text: &str) -> Result<Self, BadHash> {
        Self::from_hex(text.as_bytes()).ok_or(BadHash)
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_hex())
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::spelling::read(deserializer, str::parse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_has_one_spelling_and_round_trips() {
        let hash = Hash::blob(b"abc");
        assert_eq!(hash.to_hex(), "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85");
        assert_eq!(hash.to_hex().parse(), Ok(hash));
        assert_eq!(hash.to_hex().to_uppercase().parse::<Hash>(), Err(BadHash));
        assert_eq!("6437".parse::<Hash>(), Err(BadHash));
    }

    #[test]
    fn contexts_separate_equal_bytes() {
        let digests = [Hash::record(b"x"), Hash::request(b"x"), Hash::state(b"x"), Hash::blob(b"x")];
        for (i, left) in digests.iter().enumerate() {
            assert!(digests.iter().skip(i + 1).all(|right| left != right));
        }
    }
}
