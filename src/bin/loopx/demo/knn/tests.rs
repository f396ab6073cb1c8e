//! Properties of the evaluator as a whole, and counts that a second, floating-point implementation agrees on.

use super::config::{Metric, Scaling};
use super::*;

/// Configuration; right answers of 120 for the seeds 1, 2, 3; right answers of the 58 that are held out.
const KNOWN: [(&str, [u32; 3], u32); 14] = [
    ("k=1 metric=euclidean scaling=none", [90, 89, 90], 38),
    ("k=5 metric=euclidean scaling=none", [84, 87, 81], 38),
    ("k=1 metric=manhattan scaling=none", [96, 94, 93], 44),
    ("k=1 metric=euclidean scaling=minmax", [114, 112, 111], 53),
    ("k=1 metric=euclidean scaling=standard", [114, 112, 112], 51),
    ("k=5 metric=euclidean scaling=standard", [114, 114, 114], 52),
    ("k=21 metric=euclidean scaling=standard", [118, 118, 117], 54),
    ("k=1 metric=chebyshev scaling=standard", [110, 107, 106], 53),
    ("k=7 metric=chebyshev scaling=standard", [110, 110, 113], 53),
    ("k=1 metric=manhattan scaling=standard", [117, 117, 117], 54),
    ("k=5 metric=manhattan scaling=standard", [116, 116, 116], 54),
    ("k=11 metric=manhattan scaling=standard", [117, 116, 116], 56),
    ("k=21 metric=manhattan scaling=standard", [115, 115, 115], 54),
    ("k=5 metric=manhattan scaling=minmax", [115, 116, 117], 56),
];

fn wine() -> Evaluator {
    Evaluator::wine().unwrap()
}

fn config(text: &str) -> Config {
    text.parse().unwrap()
}

fn correct(evaluator: &Evaluator, text: &str, seed: u32) -> u32 {
    evaluator.cross_validate(config(text), seed, FOLDS).unwrap().score.correct
}

/// A row whose first feature is `at` and whose others are 0.
fn row(index: usize, at: u64, class: u8) -> Row {
    let mut features = [0; data::FEATURE_COUNT];
    features[0] = at;
    Row { index, features, class }
}

#[test]
fn the_wine_counts_are_those_of_an_independent_implementation() {
    let evaluator = wine();
    for (text, tuning, held_out) in KNOWN {
        assert_eq!([1, 2, 3].map(|seed| correct(&evaluator, text, seed)), tuning, "{text}");
        assert_eq!(evaluator.holdout(config(text)).score, Score { correct: held_out, total: 58 }, "{text}");
    }
}

#[test]
fn one_neighbour_on_scaled_data_has_the_leave_one_out_count_of_scikit_learn() {
    let mut all = wine();
    all.split.tuning.append(&mut all.split.held_out);
    let result = all.cross_validate(config("k=1 metric=euclidean scaling=standard"), 1, 178).unwrap();
    assert_eq!(result.score, Score { correct: 170, total: 178 });
}

#[test]
fn the_report_of_the_baseline_is_fixed_to_the_byte() {
    let evaluator = wine();
    let baseline = config("k=1 metric=euclidean scaling=none");
    let report = evaluator.cross_validate(baseline, 1, FOLDS).unwrap().report();
    assert_eq!(
        String::from_utf8(report).unwrap(),
        concat!(
            r#"{"config":"k=1 metric=euclidean scaling=none","correct":90,"evaluator":"uci-wine-knn/1","#,
            r#""folds":[[19,24],[17,24],[16,24],[19,24],[19,24]],"holdout_seed":1,"#,
            r#""kind":"cross_validation","mean":"0.7500","seed":1,"spread":"0.0589","total":120}"#
        )
    );
    assert_eq!(evaluator.holdout(baseline).score.text(), "0.6552");
}

#[test]
fn the_same_configuration_and_seed_give_the_same_bytes_and_another_seed_others() {
    let config = config("k=5 metric=manhattan scaling=standard");
    let report = |seed| wine().cross_validate(config, seed, FOLDS).unwrap().report();
    assert_eq!(report(7), report(7));
    assert_ne!(report(7), report(8));
    assert_eq!(wine().holdout(config).report(), wine().holdout(config).report());
}

#[test]
fn scaling_then_the_manhattan_metric_helps_with_every_seed() {
    let evaluator = wine();
    for seed in 1..=5 {
        let baseline = correct(&evaluator, "k=1 metric=euclidean scaling=none", seed);
        let scaled = correct(&evaluator, "k=1 metric=euclidean scaling=standard", seed);
        let manhattan = correct(&evaluator, "k=1 metric=manhattan scaling=standard", seed);
        assert!(scaled >= baseline + 18, "{scaled} {baseline}");
        assert!(manhattan >= scaled + 3, "{manhattan} {scaled}");
    }
}

#[test]
fn cross_validation_never_sees_a_held_out_row() {
    let mut changed = wine();
    for row in &mut changed.split.held_out {
        row.features = [99_999_999_999; data::FEATURE_COUNT];
        row.class = 0;
    }
    for (text, _, _) in KNOWN {
        assert_eq!(correct(&changed, text, 1), correct(&wine(), text, 1), "{text}");
    }
    let config = config("k=1 metric=manhattan scaling=standard");
    assert_ne!(changed.holdout(config), wine().holdout(config), "the change can be seen where it should be");
}

#[test]
fn scaling_is_fitted_on_the_training_rows_alone() {
    let fold = split::folds(&wine().split.tuning, 1, FOLDS).swap_remove(0);
    let mut outlier = Row { features: [99_999_999_999; data::FEATURE_COUNT], ..fold.test[0] };
    outlier.features[12] = 0;
    let with_outlier = [fold.test.clone(), vec![outlier]].concat();
    for scaling in [Scaling::Standard, Scaling::MinMax] {
        let config = Config::new(1, Metric::Manhattan, scaling).unwrap();
        let honest = predict(config, &fold.train, &fold.test);
        assert_eq!(predict(config, &fold.train, &with_outlier)[..24], honest[..]);
        let leaked = Weights::fit(scaling, &[fold.train.clone(), with_outlier.clone()].concat());
        let leaky: Vec<_> =
            fold.test.iter().map(|row| classify(config, &leaked, &fold.train, &row.features)).collect();
        assert_ne!(leaky, honest, "the outlier would show if scaling saw it");
    }
}

#[test]
fn no_prediction_depends_on_the_class_of_a_tested_row() {
    let fold = split::folds(&wine().split.tuning, 1, FOLDS).swap_remove(0);
    let relabelled: Vec<Row> = fold.test.iter().map(|row| Row { class: 0, ..row.clone() }).collect();
    let config = config("k=5 metric=euclidean scaling=standard");
    assert_eq!(predict(config, &fold.train, &relabelled), predict(config, &fold.train, &fold.test));
}

#[test]
fn standard_scaling_does_not_care_for_the_unit_of_a_feature_and_no_scaling_does() {
    let mut changed = wine();
    for row in changed.split.tuning.iter_mut().chain(&mut changed.split.held_out) {
        row.features[0] *= 1_000;
    }
    for text in ["k=1 metric=manhattan scaling=standard", "k=5 metric=euclidean scaling=minmax"] {
        assert_eq!(correct(&changed, text, 1), correct(&wine(), text, 1), "{text}");
    }
    let baseline = "k=1 metric=euclidean scaling=none";
    assert_ne!(correct(&changed, baseline, 1), correct(&wine(), baseline, 1));
}

#[test]
fn of_two_rows_at_one_distance_the_lower_index_is_nearer() {
    let nearest = |train: &[Row]| {
        predict(config("k=1 metric=euclidean scaling=none"), train, &[row(9, 100, 0)])[0].unwrap()
    };
    assert_eq!(nearest(&[row(3, 90, 1), row(4, 110, 2)]), 1);
    assert_eq!(nearest(&[row(4, 90, 1), row(3, 110, 2)]), 2);
    assert_eq!(nearest(&[row(4, 110, 2), row(3, 90, 1)]), 1, "the order of the rows does not matter");
}

#[test]
fn a_tied_vote_goes_to_the_class_of_the_nearest_voter() {
    assert_eq!(vote([2, 0, 0, 2].into_iter()), Some(2));
    assert_eq!(vote([0, 2, 2, 0].into_iter()), Some(0));
    assert_eq!(vote([1, 0, 2].into_iter()), Some(1));
    assert_eq!(vote([1, 0, 2, 2].into_iter()), Some(2), "a majority outvotes the nearest");
    assert_eq!(vote(std::iter::empty()), None);
    for seed in 1..=3 {
        let wine = wine();
        let one = correct(&wine, "k=1 metric=chebyshev scaling=minmax", seed);
        assert_eq!(correct(&wine, "k=2 metric=chebyshev scaling=minmax", seed), one, "two voters are one");
    }
}

#[test]
fn folds_that_cannot_be_of_one_size_are_refused() {
    let evaluator = wine();
    let config = config("k=60 metric=euclidean scaling=none");
    for found in [0, 1, 7, 9, 121, usize::MAX] {
        let refused = EvaluateError::Folds { found, rows: 120 };
        assert_eq!(evaluator.cross_validate(config, 1, found), Err(refused));
    }
    for folds in [2, 3, 4, 5, 6, 8, 10, 120] {
        assert_eq!(evaluator.cross_validate(config, 1, folds).unwrap().folds.len(), folds);
    }
}
