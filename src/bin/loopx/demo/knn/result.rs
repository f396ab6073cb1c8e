//! What an evaluation found, as integers and exact decimal text, and as the bytes that evidence keeps.

use super::config::Config;
use super::split::HOLDOUT_SEED;

/// Names the data, the split and the rules. Changed whenever the same configuration could give another result.
pub const EVALUATOR: &str = "uci-wine-knn/1";

/// Right answers out of all answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Score {
    /// Rows classified rightly.
    pub correct: u32,
    /// Rows classified.
    pub total: u32,
}

impl Score {
    /// The accuracy in units of 10^-4, rounded half up; 0 when nothing was classified.
    pub fn basis_points(self) -> u32 {
        let (correct, total) = (u64::from(self.correct), u64::from(self.total));
        (20_000 * correct + total).checked_div(2 * total).unwrap_or(0) as u32
    }

    /// The accuracy as text, such as `0.9533`.
    pub fn text(self) -> String {
        decimal(self.basis_points())
    }
}

/// Units of 10^-4 as text with four decimals.
fn decimal(basis_points: u32) -> String {
    format!("{}.{:04}", basis_points / 10_000, basis_points % 10_000)
}

/// The result of a cross-validation on the tuning rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CvResult {
    /// What was evaluated.
    pub config: Config,
    /// What the folds were dealt with.
    pub seed: u32,
    /// The score of each fold, in the order of the folds; all folds are of one size.
    pub folds: Vec<Score>,
    /// All folds together. Because they are of one size its accuracy is also the mean over the folds.
    pub score: Score,
}

impl CvResult {
    /// Sums up at least two folds of one size.
    pub fn new(config: Config, seed: u32, folds: Vec<Score>) -> Self {
        let correct = folds.iter().map(|fold| fold.correct).sum();
        let total = folds.iter().map(|fold| fold.total).sum();
        Self { config, seed, folds, score: Score { correct, total } }
    }

    /// The sample standard deviation (n - 1) over the folds' accuracies in units of 10^-4, rounded half up.
    pub fn spread_basis_points(&self) -> u32 {
        let count = self.folds.len() as u64;
        let size = self.folds.first().map_or(0, |fold| u64::from(fold.total));
        let sum: u64 = self.folds.iter().map(|fold| u64::from(fold.correct)).sum();
        let squares: u64 = self.folds.iter().map(|fold| u64::from(fold.correct).pow(2)).sum();
        // variance = (n * squares - sum^2) / (n * (n - 1) * size^2); four times it, so that the root can be rounded.
        let numerator = 4 * 10_000 * 10_000 * (count * squares).saturating_sub(sum * sum);
        let denominator = count * count.saturating_sub(1) * size * size;
        (numerator.checked_div(denominator).unwrap_or(0).isqrt().div_ceil(2)) as u32
    }

    /// The mean accuracy over the folds, such as `0.9533`.
    pub fn mean_text(&self) -> String {
        self.score.text()
    }

    /// The spread over the folds, such as `0.0312`.
    pub fn spread_text(&self) -> String {
        decimal(self.spread_basis_points())
    }

    /// Canonical JSON: keys sorted, no space, only integers and plain ASCII strings. Equal results are equal bytes.
    pub fn report(&self) -> Vec<u8> {
        let folds: Vec<String> =
            self.folds.iter().map(|fold| format!("[{},{}]", fold.correct, fold.total)).collect();
        format!(
            concat!(
                r#"{{"config":"{}","correct":{},"evaluator":"{}","folds":[{}],"holdout_seed":{},"#,
                r#""kind":"cross_validation","mean":"{}","seed":{},"spread":"{}","total":{}}}"#
            ),
            self.config,
            self.score.correct,
            EVALUATOR,
            folds.join(","),
            HOLDOUT_SEED,
            self.mean_text(),
            self.seed,
            self.spread_text(),
            self.score.total,
        )
        .into_bytes()
    }
}

/// The result on the held-out rows, with everything fitted on the tuning rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldoutResult {
    /// What was evaluated.
    pub config: Config,
    /// Right answers on the held-out rows.
    pub score: Score,
}

impl HoldoutResult {
    /// Canonical JSON, as for `CvResult`.
    pub fn report(&self) -> Vec<u8> {
        format!(
            concat!(
                r#"{{"accuracy":"{}","config":"{}","correct":{},"evaluator":"{}","holdout_seed":{},"#,
                r#""kind":"holdout","total":{}}}"#
            ),
            self.score.text(),
            self.config,
            self.score.correct,
            EVALUATOR,
            HOLDOUT_SEED,
            self.score.total,
        )
        .into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::{Metric, Scaling};
    use super::*;

    fn cv(correct: &[u32], total: u32) -> CvResult {
        let config = Config::new(5, Metric::Manhattan, Scaling::Standard).unwrap();
        CvResult::new(config, 7, correct.iter().map(|&correct| Score { correct, total }).collect())
    }

    #[test]
    fn accuracy_is_rounded_half_up_from_integers() {
        for (correct, total, text) in [
            (143, 150, "0.9533"),
            (2, 3, "0.6667"),
            (1, 3, "0.3333"),
            (0, 5, "0.0000"),
            (5, 5, "1.0000"),
            (1, 20_000, "0.0001"),
            (3, 20_000, "0.0002"),
            (0, 0, "0.0000"),
        ] {
            assert_eq!(Score { correct, total }.text(), text, "{correct}/{total}");
        }
    }

    #[test]
    fn spread_is_the_sample_standard_deviation_over_the_folds() {
        // Python: statistics.stdev([23/24, 22/24, 24/24, 21/24, 24/24]) = 0.0543394...
        assert_eq!(cv(&[23, 22, 24, 21, 24], 24).spread_text(), "0.0543");
        // Python: statistics.stdev([24/24, 23/24]) = 0.0294627..., rounded up.
        assert_eq!(cv(&[24, 23], 24).spread_text(), "0.0295");
        assert_eq!(cv(&[24, 24], 24).spread_text(), "0.0000");
        // Python: statistics.stdev([0, 1]) = 0.7071067...
        assert_eq!(cv(&[0, 60], 60).spread_text(), "0.7071");
    }

    #[test]
    fn reports_are_canonical_json_of_integers_and_strings() {
        let score = Score { correct: 56, total: 58 };
        let cv = cv(&[23, 22, 24, 21, 24], 24);
        let holdout = HoldoutResult { config: cv.config, score };
        assert_eq!(
            String::from_utf8(cv.report()).unwrap(),
            concat!(
                r#"{"config":"k=5 metric=manhattan scaling=standard","correct":114,"evaluator":"uci-wine-knn/1","#,
                r#""folds":[[23,24],[22,24],[24,24],[21,24],[24,24]],"holdout_seed":1,"#,
                r#""kind":"cross_validation","mean":"0.9500","seed":7,"spread":"0.0543","total":120}"#
            )
        );
        assert_eq!(
            String::from_utf8(holdout.report()).unwrap(),
            concat!(
                r#"{"accuracy":"0.9655","config":"k=5 metric=manhattan scaling=standard","correct":56,"#,
                r#""evaluator":"uci-wine-knn/1","holdout_seed":1,"kind":"holdout","total":58}"#
            )
        );
        for bytes in [cv.report(), holdout.report()] {
            let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            assert_eq!(serde_json::to_vec(&value).unwrap(), bytes);
        }
    }
}
