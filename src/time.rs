//! Instants and durations. An instant is microseconds since the Unix epoch, always UTC, written in one fixed form.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Datelike, NaiveDate, Timelike};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Length of an instant in text: `2026-12-01T12:34:56.789012Z`.
pub const TIMESTAMP_BYTES: usize = 27;

/// An instant in UTC, in microseconds since the Unix epoch; years 1970 to 9999.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The earliest instant, 1970-01-01.
    pub const MIN: Self = Self(0);

    /// The latest instant, 9999-12-31T23:59:59.999999Z.
    pub const MAX: Self = Self(253_402_300_799_999_999);

    /// An instant from microseconds since the epoch, brought into range.
    #[must_use]
    pub fn from_micros(micros: i64) -> Self {
        Self(micros.clamp(Self::MIN.0, Self::MAX.0))
    }

    /// Microseconds since the epoch.
    #[must_use]
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// This instant and `ms` milliseconds, at most [`Timestamp::MAX`].
    #[must_use]
    pub fn plus_ms(self, ms: u64) -> Self {
        let micros = i64::try_from(ms.saturating_mul(1_000)).unwrap_or(i64::MAX);
        Self::from_micros(self.0.saturating_add(micros))
    }

    /// This instant less `ms` milliseconds, at least the epoch.
    #[must_use]
    pub fn minus_ms(self, ms: u64) -> Self {
        let micros = i64::try_from(ms.saturating_mul(1_000)).unwrap_or(i64::MAX);
        Self::from_micros(self.0.saturating_sub(micros))
    }

    /// Milliseconds from `earlier` to this instant; zero if it lies after.
    #[must_use]
    pub fn ms_since(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0) / 1_000).unwrap_or(0)
    }

    /// Reads the fixed form, and nothing else.
    #[must_use]
    pub fn parse_fixed(text: &[u8]) -> Option<Self> {
        let [
            y1,
            y2,
            y3,
            y4,
            b'-',
            mo1,
            mo2,
            b'-',
            d1,
            d2,
            b'T',
            h1,
            h2,
            b':',
            mi1,
            mi2,
            b':',
            s1,
            s2,
            b'.',
            fraction @ ..,
            b'Z',
        ] = text
        else {
            return None;
        };
        if fraction.len() != 6 {
            return None;
        }
        let date = NaiveDate::from_ymd_opt(
            i32::try_from(number(&[*y1, *y2, *y3, *y4])?).ok()?,
            number(&[*mo1, *mo2])?,
            number(&[*d1, *d2])?,
        )?;
        let instant = date.and_hms_micro_opt(
            number(&[*h1, *h2])?,
            number(&[*mi1, *mi2])?,
            number(&[*s1, *s2])?,
            number(fraction)?,
        )?;
        let micros = instant.and_utc().timestamp_micros();
        (Self::MIN.0..=Self::MAX.0).contains(&micros).then_some(Self(micros))
    }

    /// Reads what a person types: the fixed form, RFC 3339 with any offset, `2026-12-03 18:00[:30]`, or a date, in UTC.
    #[must_use]
    pub fn parse_loose(text: &str) -> Option<Self> {
        if let Ok(instant) = DateTime::parse_from_rfc3339(text) {
            return Some(Self::from_micros(instant.timestamp_micros()));
        }
        for form in ["%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M"] {
            if let Ok(instant) = chrono::NaiveDateTime::parse_from_str(text, form) {
                return Some(Self::from_micros(instant.and_utc().timestamp_micros()));
            }
        }
        let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
        Some(Self::from_micros(date.and_hms_opt(0, 0, 0)?.and_utc().timestamp_micros()))
    }

    /// Hours and minutes in UTC, as `14:02`.
    #[must_use]
    pub fn clock(self) -> String {
        self.to_string().chars().skip(11).take(5).collect()
    }
}

fn number(digits: &[u8]) -> Option<u32> {
    digits
        .iter()
        .try_fold(0_u32, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + u32::from(digit - b'0')))
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instant = DateTime::from_timestamp_micros(self.0).unwrap_or_default();
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z",
            instant.year(),
            instant.month(),
            instant.day(),
            instant.hour(),
            instant.minute(),
            instant.second(),
            instant.nanosecond() / 1_000
        )
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::spelling::read(deserializer, |text| {
            Self::parse_fixed(text.as_bytes()).ok_or("an instant is written as 2026-12-01T12:34:56.789012Z")
        })
    }
}

/// A duration in milliseconds, read as `90s`, `45m`, `24h`, `7d` or `250ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DurationMs(pub u64);

/// A duration was not a whole number and a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a duration is a whole number and a unit, such as 250ms, 90s, 45m, 24h or 7d")]
pub struct BadDuration;

impl FromStr for DurationMs {
    type Err = BadDuration;

    fn from_str(text: &str) -> Result<Self, BadDuration> {
        let split = text.find(|c: char| !c.is_ascii_digit()).ok_or(BadDuration)?;
        let (digits, unit) = text.split_at(split);
        let count: u64 = digits.parse().map_err(|_| BadDuration)?;
        let unit_ms: u64 = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Err(BadDuration),
        };
        count.checked_mul(unit_ms).map(Self).ok_or(BadDuration)
    }
}

impl fmt::Display for DurationMs {
    /// The two largest units for people: `2 h 5 min`, `44 min`, `3.0 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 / 1_000;
        match seconds {
            0..60 => write!(f, "{}.{} s", seconds, self.0 % 1_000 / 100),
            60..3_600 => write!(f, "{} min", seconds / 60),
            3_600..=86_400 if seconds % 3_600 < 60 => write!(f, "{} h", seconds / 3_600),
            3_600..86_400 => write!(f, "{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
            _ => write!(f, "{} d {} h", seconds / 86_400, seconds % 86_400 / 3_600),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_fixed_form_round_trips_and_sorts_as_text(a in 0..Timestamp::MAX.0, b in 0..Timestamp::MAX.0) {
            let (left, right) = (Timestamp(a), Timestamp(b));
            prop_assert_eq!(Timestamp::parse_fixed(left.to_string().as_bytes()), Some(left));
            prop_assert_eq!(left.cmp(&right), left.to_string().cmp(&right.to_string()));
        }
    }

    #[test]
    fn only_the_fixed_form_is_a_stored_instant() {
        assert_eq!(
            Timestamp::parse_fixed(b"2026-12-01T12:34:56.789012Z").map(Timestamp::as_micros),
            Some(1_796_128_496_789_012)
        );
        for bad in ["2026-12-01T12:34:56Z", "2026-13-01T12:34:56.789012Z", "2026-12-01 12:34:56.789012Z", ""]
        {
            assert_eq!(Timestamp::parse_fixed(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn a_leap_second_is_not_an_instant() {
        assert_eq!(Timestamp::parse_fixed(b"2026-12-31T23:59:60.000000Z"), None);
    }

    #[test]
    fn durations_read_and_refuse() {
        assert_eq!("45m".parse(), Ok(DurationMs(2_700_000)));
        assert_eq!("250ms".parse(), Ok(DurationMs(250)));
        for bad in ["", "5", "m", "-5m", "1.5h", "5 m", "99999999999999999999s", "18446744073709551615d"] {
            assert_eq!(bad.parse::<DurationMs>(), Err(BadDuration), "{bad}");
        }
    }
}
