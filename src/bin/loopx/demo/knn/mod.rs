//! The evaluator of the demo: k nearest neighbours on the wine data, cross-validated and held out.
//!
//! Pure, without a clock, a float or a random source: a configuration and a seed give the same bytes on every
//! machine. A neighbour is nearer by (distance, row index); a tied vote goes to the class of the nearest voter.

pub mod config;
pub mod data;
pub mod result;
mod scale;
mod split;

pub use config::Config;
pub use data::DataError;
pub use result::{CvResult, HoldoutResult, Score};
pub use split::HOLDOUT_SEED;

use data::{Features, Row, WINE_CSV};
use scale::Weights;
use split::{Fold, Split};

/// Folds of a cross-validation unless there is a reason for another number.
pub const FOLDS: usize = 5;

/// Why an evaluation was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluateError {
    /// The tuning rows cannot be dealt to folds of one size; with unequal folds a mean has two meanings.
    #[error("folds: expected 2 or more that divide the {rows} tuning rows evenly, found {found}")]
    Folds {
        /// What was asked.
        found: usize,
        /// Tuning rows.
        rows: usize,
    },
}

/// The data, cut once into tuning and held-out rows.
#[derive(Debug, Clone)]
pub struct Evaluator {
    split: Split,
}

impl Evaluator {
    /// The wine data that ships with the demo.
    ///
    /// # Errors
    /// `DataError` when the built-in csv is malformed; a test holds that it is not.
    pub fn wine() -> Result<Self, DataError> {
        Ok(Self { split: Split::new(&data::parse(WINE_CSV)?, HOLDOUT_SEED) })
    }

    /// The tuning rows as csv, with the header, each line as it is in the data.
    pub fn tuning_csv(&self) -> String {
        data::csv(&self.split.tuning)
    }

    /// The held-out rows as csv, with the header, each line as it is in the data.
    pub fn held_out_csv(&self) -> String {
        data::csv(&self.split.held_out)
    }

    /// Cross-validates on the tuning rows. `seed` deals the folds; scaling is fitted on each training part alone.
    ///
    /// # Errors
    /// `EvaluateError::Folds` unless `folds` is 2 or more and divides the tuning rows.
    pub fn cross_validate(&self, config: Config, seed: u32, folds: usize) -> Result<CvResult, EvaluateError> {
        let rows = self.split.tuning.len();
        if folds < 2 || !rows.is_multiple_of(folds) {
            return Err(EvaluateError::Folds { found: folds, rows });
        }
        let scores = split::folds(&self.split.tuning, seed, folds)
            .iter()
            .map(|Fold { train, test }| score(config, train, test))
            .collect();
        Ok(CvResult::new(config, seed, scores))
    }

    /// Fits on the tuning rows and scores the held-out rows.
    pub fn holdout(&self, config: Config) -> HoldoutResult {
        HoldoutResult { config, score: score(config, &self.split.tuning, &self.split.held_out) }
    }
}

/// How many rows of `test` the classifier fitted on `train` gets right.
fn score(config: Config, train: &[Row], test: &[Row]) -> Score {
    let predicted = predict(config, train, test);
    let correct =
        predicted.iter().zip(test).filter(|(predicted, row)| **predicted == Some(row.class)).count();
    Score { correct: correct as u32, total: test.len() as u32 }
}

/// The class of each row of `test`; none when there is no row to learn from.
fn predict(config: Config, train: &[Row], test: &[Row]) -> Vec<Option<u8>> {
    let weights = Weights::fit(config.scaling(), train);
    test.iter().map(|row| classify(config, &weights, train, &row.features)).collect()
}

/// The vote of the `k` rows of `train` that are nearest to `features`.
fn classify(config: Config, weights: &Weights, train: &[Row], features: &Features) -> Option<u8> {
    let mut neighbours: Vec<(u128, usize, u8)> = train
        .iter()
        .map(|row| (weights.distance(config.metric(), &row.features, features), row.index, row.class))
        .collect();
    neighbours.sort_unstable();
    vote(neighbours.iter().take(config.k() as usize).map(|&(_, _, class)| class))
}

/// The most frequent class; among equals, the one that comes first.
fn vote(nearest_first: impl Iterator<Item = u8>) -> Option<u8> {
    let mut votes: Vec<(u8, u32)> = Vec::new();
    for class in nearest_first {
        match votes.iter_mut().find(|(known, _)| *known == class) {
            Some((_, count)) => *count += 1,
            None => votes.push((class, 1)),
        }
    }
    // `max_by_key` keeps the last of equals: reversed, that is the class met first.
    votes.iter().rev().max_by_key(|(_, count)| *count).map(|(class, _)| *class)
}

#[cfg(test)]
mod tests;
