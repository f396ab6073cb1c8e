//! Comparison of measured values, exact: no floating point anywhere.

use serde::Serialize;

use crate::decimal::Decimal;
use crate::event::Direction;
use crate::id::Label;

/// How many of the last digits of a [`Decimal`]'s scaled value are its fraction.
const SCALE_DIGITS: usize = 18;

/// How cited rows do against the rows that they were compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The mean is better, by the direction of the metric.
    Better,
    /// The means are equal.
    Equal,
    /// The mean is worse.
    Worse,
    /// Nothing matches: no value of the same metric on the same data is left on both sides. Or, with magnitudes near
    /// 10^18 and many rows, the difference cannot be computed exactly.
    Inconclusive,
}

impl Verdict {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Equal => "equal",
            Self::Worse => "worse",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// Values of one side, of one metric on one data set, that still count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// How many.
    pub rows: usize,
    /// Their mean, rounded two digits beyond the finest value.
    pub mean: Option<String>,
    /// The best of them. Best of many proves little: the verdict is on the mean.
    pub best: Option<Decimal>,
}

/// One metric on one data set, on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// The metric.
    pub metric: Label,
    /// The version of the data set.
    pub dataset: Label,
    /// Which way is better.
    pub direction: Direction,
    /// What speaks for the promotion.
    pub cited: Summary,
    /// What it was compared with.
    pub contrast: Summary,
    /// Mean of the cited rows less mean of the others, rounded like a mean, with its sign.
    pub mean_difference: Option<String>,
    /// Best of the cited rows less best of the others, with its sign.
    pub best_difference: Option<String>,
    /// What that means, decided on exact values.
    pub verdict: Verdict,
}

/// A mean as an exact fraction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mean {
    sum: i128,
    count: i128,
    /// Digits after the point of the finest value.
    pub(super) digits: usize,
}

impl Mean {
    /// The mean of the values; none without values, or if they are too large to add up.
    pub(super) fn of<'a>(values: impl Iterator<Item = &'a Decimal>) -> Option<Self> {
        let mut mean = Self { sum: 0, count: 0, digits: 0 };
        for value in values {
            mean.sum = mean.sum.checked_add(value.scaled())?;
            mean.count += 1;
            let digits = value.as_str().split_once('.').map_or(0, |(_, fraction)| fraction.len());
            mean.digits = mean.digits.max(digits);
        }
        (mean.count > 0).then_some(mean)
    }

    /// In units of 10^-18, cut off.
    pub(super) fn scaled(self) -> i128 {
        self.sum.checked_div(self.count).unwrap_or(0)
    }

    /// As text, rounded half away from zero.
    pub(super) fn text(self, digits: usize) -> String {
        rounded(self.sum, self.count, digits)
    }

    /// This mean less another, as a fraction.
    pub(super) fn less(self, other: Self) -> Option<(i128, i128)> {
        let common = gcd(self.count, other.count);
        let left = self.sum.checked_mul(other.count / common)?;
        let right = other.sum.checked_mul(self.count / common)?;
        Some((left.checked_sub(right)?, self.count / common * other.count))
    }

    /// This mean less another, as text with its sign.
    pub(super) fn difference(self, other: Self, extra_digits: usize) -> Option<String> {
        let digits = (self.digits.max(other.digits) + extra_digits).min(SCALE_DIGITS);
        let (numerator, denominator) = self.less(other)?;
        Some(signed(numerator, denominator, digits))
    }
}

const fn gcd(mut left: i128, mut right: i128) -> i128 {
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left
}

fn signed(numerator: i128, denominator: i128, digits: usize) -> String {
    let text = rounded(numerator, denominator, digits);
    if numerator > 0 { format!("+{text}") } else { text }
}

/// `numerator / denominator` units of 10^-18 as decimal text. `denominator` is a count, and positive.
fn rounded(numerator: i128, denominator: i128, digits: usize) -> String {
    let digits = digits.min(SCALE_DIGITS);
    let dropped = 10_u128.pow(u32::try_from(SCALE_DIGITS - digits).unwrap_or(0));
    let divisor = denominator.unsigned_abs().max(1).saturating_mul(dropped);
    let magnitude = numerator.unsigned_abs();
    let (quotient, rest) = (magnitude / divisor, magnitude % divisor);
    let units = quotient + u128::from(rest >= divisor.div_ceil(2));
    let sign = if numerator < 0 && units > 0 { "-" } else { "" };
    let unit = 10_u128.pow(u32::try_from(digits).unwrap_or(0));
    if digits == 0 {
        return format!("{sign}{units}");
    }
    format!("{sign}{}.{:0digits$}", units / unit, units % unit)
}

/// Compares what is left of both sides.
pub(super) fn compare(
    (metric, dataset): (&Label, &Label),
    direction: Direction,
    cited: &[&Decimal],
    contrast: &[&Decimal],
) -> Comparison {
    let means = (Mean::of(cited.iter().copied()), Mean::of(contrast.iter().copied()));
    let best = (best(direction, cited), best(direction, contrast));
    let difference = |left: Option<Mean>, right: Option<Mean>, extra| left?.difference(right?, extra);
    let single = |value: Option<&Decimal>| Mean::of(value.into_iter());
    Comparison {
        metric: metric.clone(),
        dataset: dataset.clone(),
        direction,
        cited: summary(cited.len(), means.0, best.0),
        contrast: summary(contrast.len(), means.1, best.1),
        mean_difference: difference(means.0, means.1, 2),
        best_difference: difference(single(best.0), single(best.1), 0),
        verdict: verdict(direction, means.0, means.1),
    }
}

fn summary(rows: usize, mean: Option<Mean>, best: Option<&Decimal>) -> Summary {
    Summary { rows, mean: mean.map(|mean| mean.text(mean.digits + 2)), best: best.cloned() }
}

fn best<'a>(direction: Direction, values: &[&'a Decimal]) -> Option<&'a Decimal> {
    match direction {
        Direction::Maximize => values.iter().copied().max(),
        Direction::Minimize => values.iter().copied().min(),
    }
}

/// Which mean is better.
pub(super) fn verdict(direction: Direction, left: Option<Mean>, right: Option<Mean>) -> Verdict {
    let difference = left.zip(right).and_then(|(left, right)| left.less(right));
    match (difference.map(|(numerator, _)| numerator.signum()), direction) {
        (None, _) => Verdict::Inconclusive,
        (Some(0), _) => Verdict::Equal,
        (Some(1), Direction::Maximize) | (Some(-1), Direction::Minimize) => Verdict::Better,
        (Some(_), _) => Verdict::Worse,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(direction: Direction, cited: &[&str], contrast: &[&str]) -> Comparison {
        let parse = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<Decimal>>();
        let (cited, contrast) = (parse(cited), parse(contrast));
        let names = ("accuracy".parse().unwrap(), "wine".parse().unwrap());
        let (cited, contrast): (Vec<_>, Vec<_>) = (cited.iter().collect(), contrast.iter().collect());
        compare((&names.0, &names.1), direction, &cited, &contrast)
    }

    #[test]
    fn a_difference_is_exact_and_its_meaning_depends_on_the_direction_only() {
        let up = compared(Direction::Maximize, &["0.9583", "0.9417"], &["0.75", "0.7667"]);
        assert_eq!(up.cited.mean.as_deref(), Some("0.950000"));
        assert_eq!(up.mean_difference.as_deref(), Some("+0.191650"));
        assert_eq!(up.best_difference.as_deref(), Some("+0.1916"));
        assert_eq!(up.verdict, Verdict::Better);
        let down = compared(Direction::Minimize, &["0.9583", "0.9417"], &["0.75", "0.7667"]);
        assert_eq!((down.verdict, down.best_difference.as_deref()), (Verdict::Worse, Some("+0.1917")));
    }

    #[test]
    fn a_difference_that_rounding_would_hide_still_decides() {
        let third = compared(Direction::Maximize, &["0.1", "0.1", "0.1000000000000001"], &["0.1"]);
        assert_eq!(third.verdict, Verdict::Better);
        let same = compared(Direction::Maximize, &["0.1", "0.3"], &["0.20"]);
        assert_eq!((same.verdict, same.mean_difference.as_deref()), (Verdict::Equal, Some("0.0000")));
    }

    #[test]
    fn without_both_sides_nothing_is_improved() {
        let alone = compared(Direction::Maximize, &["0.9"], &[]);
        assert_eq!((alone.verdict, alone.mean_difference), (Verdict::Inconclusive, None));
    }

    #[test]
    fn values_at_the_edge_of_the_range_do_not_overflow() {
        let huge = "999999999999999999.999999999999999999";
        let compared = compared(Direction::Maximize, &[huge; 64], &["-999999999999999999"; 64]);
        assert_eq!(compared.verdict, Verdict::Better);
    }
}
