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
        const FORM: &[u8; TIMESTAMP_BYTES] = b"0000-00-00T00:00:00.000000Z";
        let text: &[u8; TIMESTAMP_BYTES] = text.try_into().ok()?;
        // No branch a byte: every record that is read has one of these.
        let fits = |(byte, form): (&u8, &u8)| {
            if *form == b'0' { byte.wrapping_sub(b'0') < 10 } else { byte == form }
        };
        if !text.iter().zip(FORM).fold(true, |all, pair| all & fits(pair)) {
            return None;
        }
        let number = |from: usize, to: usize| {
            let digits = text.get(from..to).unwrap_or_default();
            digits.iter().fold(0_i64, |sum, digit| sum * 10 + i64::from(digit - b'0'))
        };
        let days = days_since_epoch(number(0, 4), number(5, 7), number(8, 10))?;
        let (hours, minutes, seconds) = (number(11, 13), number(14, 16), number(17, 19));
        if hours > 23 || minutes > 59 || seconds > 59 {
            return None;
        }
        let seconds = ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
        Some(Self(seconds * 1_000_000 + number(20, 26)))
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

/// Days from 1970-01-01 to a date of the years 1970 to 9999; `None` if there is no such date.
fn days_since_epoch(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if year < 1970 || !(1..=length).contains(&day) {
        return None;
    }
    // Years that begin in March end with their leap day.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    Some(year * 365 + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468)
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

    proptest! {
        #[test]
        fn the_fixed_form_is_read_as_the_calendar_has_it(
            year in 1960_i32..10_000,
            (month, day) in (0_u32..14, 0_u32..33),
            (hour, minute, second) in (0_u32..25, 0_u32..62, 0_u32..62),
            micros in 0_u32..1_000_000,
        ) {
            let text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z");
            let calendar = NaiveDate::from_ymd_opt(year, month, day)
                .and_then(|date| date.and_hms_micro_opt(hour, minute, second, micros))
                .map(|instant| instant.and_utc().timestamp_micros())
                .filter(|micros| *micros >= 0);
            prop_assert_eq!(Timestamp::parse_fixed(text.as_bytes()).map(Timestamp::as_micros), calendar);
        }

        #[test]
        fn one_other_byte_makes_another_instant_or_none(at in 0_usize..27, byte: u8) {
            let text = *b"2026-12-01T12:34:56.789012Z";
            let mut other = text;
            other[at] = byte;
            let (before, after) = (Timestamp::parse_fixed(&text), Timestamp::parse_fixed(&other));
            prop_assert_eq!(before == after, text == other);
            if let Some(after) = after {
                prop_assert_eq!(after.to_string().into_bytes(), other.to_vec());
            }
        }
    }

    #[test]
    fn every_day_of_every_year_is_the_day_after_the_one_before() {
        let mut days = -1;
        for year in 1970..10_000 {
            for (month, day) in (1..=12).flat_map(|month| (1..=31).map(move |day| (month, day))) {
                if let Some(found) = days_since_epoch(year, month, day) {
                    days += 1;
                    assert_eq!(found, days, "{year}-{month}-{day}");
                }
            }
        }
        assert_eq!(days, Timestamp::MAX.as_micros() / 86_400_000_000);
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
