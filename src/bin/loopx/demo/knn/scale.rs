//! Feature scaling as one integer weight a feature, fitted on some rows, and the distances it gives.
//!
//! Subtracting a mean or a minimum moves two rows alike and changes no distance, so only the division is left: a
//! difference is multiplied by a weight. Equal differences of a feature then stay equal, to the last bit, and no
//! float, whose sums depend on their order, takes part.

use super::config::{Metric, Scaling};
use super::data::{FEATURE_COUNT, Features, Row};

/// One standard deviation, or one range, as a weighted difference.
const ONE: u128 = 10_000_000_000_000_000;

/// Weighted differences beyond 500 deviations or ranges count as 500, so that a sum of squares fits a `u128`.
const DIFFERENCE_MAX: u128 = 500 * ONE;

/// Extra precision of the integer square root.
const ROOT_UNIT: u128 = 10_000;

/// The weight of each feature, known from the rows that it was fitted on and from nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weights([u128; FEATURE_COUNT]);

impl Weights {
    /// Learns the weights of `scaling` from `train`. A feature that does not vary there tells nothing and weighs 0.
    pub fn fit(scaling: Scaling, train: &[Row]) -> Self {
        let fit_one: fn(&[u128]) -> u128 = match scaling {
            Scaling::None => |_| 1,
            Scaling::Standard => one_over_deviation,
            Scaling::MinMax => one_over_range,
        };
        Self(std::array::from_fn(|feature| {
            let values: Vec<u128> =
                train.iter().filter_map(|row| row.features.get(feature)).copied().map(u128::from).collect();
            fit_one(&values)
        }))
    }

    /// How far apart two rows are; squared for the Euclidean metric, which keeps the order.
    pub fn distance(&self, metric: Metric, a: &Features, b: &Features) -> u128 {
        let differences = self
            .0
            .iter()
            .zip(a.iter().zip(b))
            .map(|(weight, (a, b))| (u128::from(a.abs_diff(*b)) * weight).min(DIFFERENCE_MAX));
        match metric {
            Metric::Euclidean => differences.map(|difference| difference * difference).sum(),
            Metric::Manhattan => differences.sum(),
            Metric::Chebyshev => differences.max().unwrap_or(0),
        }
    }
}

/// The inverse of the population standard deviation, in `ONE`.
fn one_over_deviation(values: &[u128]) -> u128 {
    let count = values.len() as u128;
    let sum: u128 = values.iter().sum();
    let squares: u128 = values.iter().map(|value| value * value).sum();
    // count * deviation = sqrt(count * squares - sum^2), which Cauchy and Schwarz keep from being negative.
    let deviation = ((count * squares - sum * sum) * ROOT_UNIT * ROOT_UNIT).isqrt();
    divide(ONE * count * ROOT_UNIT, deviation)
}

/// The inverse of the range, in `ONE`.
fn one_over_range(values: &[u128]) -> u128 {
    let low = values.iter().copied().min().unwrap_or(0);
    let high = values.iter().copied().max().unwrap_or(0);
    divide(ONE, high - low)
}

/// Rounded half up; 0 for a divisor of 0.
fn divide(dividend: u128, divisor: u128) -> u128 {
    (2 * dividend + divisor).checked_div(2 * divisor).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(first: u64, second: u64) -> Row {
        let mut features = [7; FEATURE_COUNT];
        features[0] = first;
        features[1] = second;
        Row { index: 0, features, class: 0 }
    }

    /// First feature: mean 5, population standard deviation 2. Second: 0 to 30. The others never vary.
    fn train() -> Vec<Row> {
        [(2, 0), (4, 1), (4, 2), (4, 3), (5, 4), (5, 5), (7, 6), (9, 30)].map(|(a, b)| row(a, b)).to_vec()
    }

    #[test]
    fn standard_scaling_divides_by_the_population_deviation() {
        let Weights(weights) = Weights::fit(Scaling::Standard, &train());
        assert_eq!(weights[0], ONE / 2);
    }

    #[test]
    fn minmax_scaling_divides_by_the_range() {
        let Weights(weights) = Weights::fit(Scaling::MinMax, &train());
        assert_eq!((weights[0], weights[1]), (1_428_571_428_571_429, 333_333_333_333_333));
    }

    #[test]
    fn no_scaling_weighs_every_feature_alike() {
        assert_eq!(Weights::fit(Scaling::None, &train()), Weights([1; FEATURE_COUNT]));
    }

    #[test]
    fn a_feature_that_never_varied_is_ignored() {
        for scaling in [Scaling::Standard, Scaling::MinMax] {
            assert_eq!(Weights::fit(scaling, &train()).0[2..], [0; FEATURE_COUNT - 2]);
            assert_eq!(Weights::fit(scaling, &[]), Weights([0; FEATURE_COUNT]));
        }
    }

    #[test]
    fn each_metric_measures_a_three_four_triangle_as_defined() {
        let weights = Weights([1; FEATURE_COUNT]);
        let distance = |metric| weights.distance(metric, &row(10, 20).features, &row(13, 16).features);
        assert_eq!(distance(Metric::Euclidean), 25);
        assert_eq!(distance(Metric::Manhattan), 7);
        assert_eq!(distance(Metric::Chebyshev), 4);
    }

    #[test]
    fn equal_differences_stay_equal_when_they_are_scaled() {
        let weights = Weights::fit(Scaling::Standard, &train());
        for metric in Metric::ALL {
            let above = weights.distance(metric, &row(1_000_003, 7).features, &row(1_000_010, 7).features);
            let below = weights.distance(metric, &row(1_000_003, 7).features, &row(999_996, 7).features);
            assert_eq!(above, below);
        }
    }

    #[test]
    fn the_largest_readable_values_do_not_overflow() {
        let top = 99_999_999_999;
        let mut rows = vec![row(0, 0); 500];
        rows.extend(vec![Row { index: 0, features: [top; FEATURE_COUNT], class: 0 }; 500]);
        assert_eq!(Weights::fit(Scaling::Standard, &rows).0[0], 200_000);
        let farthest = Weights([ONE; FEATURE_COUNT]).distance(
            Metric::Euclidean,
            &[0; FEATURE_COUNT],
            &[top; FEATURE_COUNT],
        );
        assert_eq!(farthest, 13 * DIFFERENCE_MAX * DIFFERENCE_MAX);
    }
}
