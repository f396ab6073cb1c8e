//! Exact decimal numbers, kept as the text they were written in and compared by value.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::id::BadId;

/// A decimal number such as `0.9533`, `-12` or `3.50`: at most 18 digits before the point and 18 after. There is no
/// exponent, no NaN and no infinity: an evaluation that yields one of those has failed and is recorded so.
#[derive(Clone)]
pub struct Decimal {
    text: String,
    /// The value in units of 10^-18.
    scaled: i128,
}

const FRACTION_DIGITS: usize = 18;

impl Decimal {
    /// The number as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The value in units of 10^-18.
    #[must_use]
    pub const fn scaled(&self) -> i128 {
        self.scaled
    }
}

impl FromStr for Decimal {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let bad = || {
            BadId::new(
                "a decimal number",
                text,
                "digits with an optional sign and fraction, up to 18 + 18 digits",
            )
        };
        let magnitude = text.strip_prefix('-').unwrap_or(text);
        let (whole, fraction) = magnitude.split_once('.').unwrap_or((magnitude, "0"));
        let digits =
            |part: &str| !part.is_empty() && part.len() <= 18 && part.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || (whole.len() > 1 && whole.starts_with('0')) {
            return Err(bad());
        }
        let unsigned: i128 = format!("{whole}{fraction:0<FRACTION_DIGITS$}").parse().map_err(|_| bad())?;
        let scaled = if text.starts_with('-') { -unsigned } else { unsigned };
        Ok(Self { text: text.to_owned(), scaled })
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.scaled == other.scaled
    }
}

impl Eq for Decimal {}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        self.scaled.cmp(&other.scaled)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::spelling::read(deserializer, str::parse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    #[test]
    fn values_compare_exactly_whatever_their_spelling() {
        assert_eq!(decimal("0.950"), decimal("0.95"));
        assert!(decimal("0.1") < decimal("0.10000000000000001"));
        assert!(decimal("-2") < decimal("-1.5"));
        assert_eq!(decimal("-0"), decimal("0"));
        assert_eq!(decimal("0.950").as_str(), "0.950");
    }

    #[test]
    fn what_is_not_a_number_is_refused() {
        for bad in
            ["", "-", ".", "1.", ".5", "NaN", "inf", "1e3", "+1", "01", "1,5", " 1", "1234567890123456789"]
        {
            assert!(bad.parse::<Decimal>().is_err(), "{bad:?}");
        }
    }
}
