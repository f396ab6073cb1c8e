//! What can be tuned, and its one canonical spelling: `k=5 metric=manhattan scaling=standard`.

use std::fmt;
use std::str::FromStr;

/// Most neighbours that vote: the smallest training part, that of two folds of the wine data, has 60 rows.
pub const K_MAX: u32 = 60;

/// How far apart two wines are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Metric {
    /// Root of the sum of squares; compared as the square, which has the same order and is exact.
    Euclidean,
    /// Sum of the absolute differences.
    Manhattan,
    /// Largest absolute difference.
    Chebyshev,
}

impl Metric {
    /// Every metric, in the order of their introduction.
    pub const ALL: [Self; 3] = [Self::Euclidean, Self::Manhattan, Self::Chebyshev];

    /// The canonical spelling.
    pub fn name(self) -> &'static str {
        match self {
            Self::Euclidean => "euclidean",
            Self::Manhattan => "manhattan",
            Self::Chebyshev => "chebyshev",
        }
    }
}

/// What the differences of each feature are divided by. A mean or minimum need not be subtracted: no distance knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scaling {
    /// By nothing: the feature with the largest numbers decides.
    None,
    /// The population standard deviation of the training part.
    Standard,
    /// The range of the training part.
    MinMax,
}

impl Scaling {
    /// Every scaling, in the order of their introduction.
    pub const ALL: [Self; 3] = [Self::None, Self::Standard, Self::MinMax];

    /// The canonical spelling.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Standard => "standard",
            Self::MinMax => "minmax",
        }
    }
}

/// One classifier: how many neighbours vote, and who counts as near.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Config {
    k: u32,
    metric: Metric,
    scaling: Scaling,
}

/// Why a configuration was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Not the three named fields in their order with single spaces between.
    #[error("{text:?} is not of the form `k=5 metric=manhattan scaling=standard`")]
    Form {
        /// The text as it stands.
        text: String,
    },
    /// The number of neighbours is not a plain integer in range.
    #[error("k: expected an integer from 1 to {K_MAX}, found {text:?}")]
    K {
        /// The value as it stands.
        text: String,
    },
    /// No such metric.
    #[error("metric: expected euclidean, manhattan or chebyshev, found {text:?}")]
    Metric {
        /// The value as it stands.
        text: String,
    },
    /// No such scaling.
    #[error("scaling: expected none, standard or minmax, found {text:?}")]
    Scaling {
        /// The value as it stands.
        text: String,
    },
}

impl Config {
    /// A classifier of `k` neighbours, from 1 to `K_MAX`.
    ///
    /// # Errors
    /// `ConfigError::K` when `k` is out of range.
    pub fn new(k: u32, metric: Metric, scaling: Scaling) -> Result<Self, ConfigError> {
        if (1..=K_MAX).contains(&k) {
            Ok(Self { k, metric, scaling })
        } else {
            Err(ConfigError::K { text: k.to_string() })
        }
    }

    /// How many neighbours vote.
    pub fn k(self) -> u32 {
        self.k
    }

    /// How far apart two wines are.
    pub fn metric(self) -> Metric {
        self.metric
    }

    /// What the differences of each feature are divided by.
    pub fn scaling(self) -> Scaling {
        self.scaling
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "k={} metric={} scaling={}", self.k, self.metric.name(), self.scaling.name())
    }
}

impl FromStr for Config {
    type Err = ConfigError;

    /// Reads the canonical spelling and no other, so that equal configurations are equal text.
    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let (k, metric, scaling) = fields(text).ok_or_else(|| ConfigError::Form { text: text.to_owned() })?;
        let k = (1..=K_MAX)
            .find(|number| number.to_string() == k)
            .ok_or_else(|| ConfigError::K { text: k.to_owned() })?;
        let metric = Metric::ALL
            .into_iter()
            .find(|known| known.name() == metric)
            .ok_or_else(|| ConfigError::Metric { text: metric.to_owned() })?;
        let scaling = Scaling::ALL
            .into_iter()
            .find(|known| known.name() == scaling)
            .ok_or_else(|| ConfigError::Scaling { text: scaling.to_owned() })?;
        Self::new(k, metric, scaling)
    }
}

/// The three values of the canonical spelling; a space too many stays in a value and is refused there.
fn fields(text: &str) -> Option<(&str, &str, &str)> {
    let (k, rest) = text.strip_prefix("k=")?.split_once(" metric=")?;
    let (metric, scaling) = rest.split_once(" scaling=")?;
    Some((k, metric, scaling))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_configuration_reads_back_from_its_own_spelling() {
        for metric in Metric::ALL {
            for scaling in Scaling::ALL {
                for k in [1, 9, 10, K_MAX] {
                    let config = Config::new(k, metric, scaling).unwrap();
                    assert_eq!(config.to_string().parse(), Ok(config));
                }
            }
        }
    }

    #[test]
    fn the_canonical_spelling_is_fixed() {
        let config = Config::new(5, Metric::Manhattan, Scaling::Standard).unwrap();
        assert_eq!(config.to_string(), "k=5 metric=manhattan scaling=standard");
    }

    #[test]
    fn any_other_spelling_is_refused_with_the_part_that_is_wrong() {
        let parse = |text: &str| text.parse::<Config>().unwrap_err();
        for text in ["", "k=5", "metric=manhattan k=5 scaling=none", " k=5 metric=manhattan scaling=none"] {
            assert_eq!(parse(text), ConfigError::Form { text: text.to_owned() });
        }
        for k in ["", "0", "05", "+5", "-1", "5.0", "61", "99999999999999999999"] {
            let text = format!("k={k} metric=manhattan scaling=none");
            assert_eq!(parse(&text), ConfigError::K { text: k.to_owned() });
        }
        assert_eq!(
            parse("k=5 metric=Manhattan scaling=none"),
            ConfigError::Metric { text: "Manhattan".to_owned() }
        );
        assert_eq!(
            parse("k=5 metric=manhattan scaling=none "),
            ConfigError::Scaling { text: "none ".to_owned() }
        );
    }

    #[test]
    fn a_number_of_neighbours_out_of_range_is_refused() {
        for k in [0, K_MAX + 1, u32::MAX] {
            assert_eq!(
                Config::new(k, Metric::Euclidean, Scaling::None),
                Err(ConfigError::K { text: k.to_string() })
            );
        }
    }
}
