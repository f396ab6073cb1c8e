//! What is held out and which fold a row is in: seeded, stratified, the same on every machine.

use super::data::{CLASS_COUNT, Row};

/// The seed of the held-out set. Fixed, so that no result can be improved by choosing what it is tested on.
pub const HOLDOUT_SEED: u32 = 1;

/// One row in so many of each class is held out, rounded down.
pub const HOLDOUT_ONE_IN: usize = 3;

/// SplitMix64 (Steele, Lea and Flood 2014): small, well spread, fully specified.
#[derive(Debug, Clone)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// A generator whose whole future follows from `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Fisher-Yates from the back. The remainder's bias is below 2^-50 for the lengths that occur here.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let bound = last as u64 + 1;
            let other = (self.next_u64() % bound) as usize;
            items.swap(last, other);
        }
    }
}

/// The rows of each class in an order that only the seed decides; one generator runs through the classes.
fn shuffled_classes(rows: &[Row], seed: u32) -> Vec<Vec<Row>> {
    let mut random = SplitMix64::new(u64::from(seed));
    let shuffled = |class| {
        let mut members: Vec<Row> = rows.iter().filter(|row| row.class == class).cloned().collect();
        random.shuffle(&mut members);
        members
    };
    (0..CLASS_COUNT).map(shuffled).collect()
}

/// A data set cut in two, each part in the order of the csv.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// The rows that cross-validation and scaling may see.
    pub tuning: Vec<Row>,
    /// The rows that only a hold-out evaluation may see.
    pub held_out: Vec<Row>,
}

impl Split {
    /// Holds out one third of each class, rounded down.
    pub fn new(rows: &[Row], seed: u32) -> Self {
        let mut split = Self { tuning: Vec::new(), held_out: Vec::new() };
        for mut members in shuffled_classes(rows, seed) {
            let tuning = members.split_off(members.len() / HOLDOUT_ONE_IN);
            split.held_out.extend(members);
            split.tuning.extend(tuning);
        }
        split.tuning.sort_by_key(|row| row.index);
        split.held_out.sort_by_key(|row| row.index);
        split
    }
}

/// One round of a cross-validation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fold {
    /// The rows that the classifier and its scaling are fitted on.
    pub train: Vec<Row>,
    /// The rows that are classified.
    pub test: Vec<Row>,
}

/// Deals the rows of each class in turn to `count` folds, going on where the last class stopped: fold sizes differ
/// by at most one, and so do the rows of one class in them.
pub fn folds(rows: &[Row], seed: u32, count: usize) -> Vec<Fold> {
    let dealt: Vec<(usize, Row)> = (0..count).cycle().zip(shuffled_classes(rows, seed).concat()).collect();
    let fold = |number| {
        let (mut train, mut test) = (Vec::new(), Vec::new());
        for (home, row) in &dealt {
            if *home == number { test.push(row.clone()) } else { train.push(row.clone()) }
        }
        Fold { train, test }
    };
    (0..count).map(fold).collect()
}

#[cfg(test)]
mod tests {
    use super::super::data::{WINE_CSV, parse};
    use super::*;

    fn per_class(rows: &[Row]) -> [usize; 3] {
        [0, 1, 2].map(|class| rows.iter().filter(|row| row.class == class).count())
    }

    fn indices(rows: &[Row]) -> Vec<usize> {
        rows.iter().map(|row| row.index).collect()
    }

    #[test]
    fn splitmix64_gives_its_published_sequence() {
        let mut random = SplitMix64::new(1_234_567);
        assert_eq!(
            [random.next_u64(), random.next_u64(), random.next_u64()],
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn the_held_out_set_is_a_stratified_third_and_no_row_is_on_both_sides() {
        let rows = parse(WINE_CSV).unwrap();
        let split = Split::new(&rows, HOLDOUT_SEED);
        assert_eq!(per_class(&split.tuning), [40, 48, 32]);
        assert_eq!(per_class(&split.held_out), [19, 23, 16]);
        let mut all = [indices(&split.tuning), indices(&split.held_out)].concat();
        all.sort_unstable();
        assert_eq!(all, (0..178).collect::<Vec<_>>());
    }

    #[test]
    fn a_seed_always_gives_the_same_split_and_another_seed_another() {
        let rows = parse(WINE_CSV).unwrap();
        assert_eq!(Split::new(&rows, HOLDOUT_SEED), Split::new(&rows, HOLDOUT_SEED));
        assert_ne!(Split::new(&rows, HOLDOUT_SEED), Split::new(&rows, HOLDOUT_SEED + 1));
    }

    #[test]
    fn every_tuning_row_is_tested_once_and_never_in_its_own_training_part() {
        let tuning = Split::new(&parse(WINE_CSV).unwrap(), HOLDOUT_SEED).tuning;
        let folds = folds(&tuning, 7, 5);
        let mut tested = Vec::new();
        for fold in &folds {
            assert_eq!((fold.train.len(), fold.test.len()), (96, 24));
            assert!(fold.test.iter().all(|row| !fold.train.contains(row)));
            tested.extend(indices(&fold.test));
        }
        tested.sort_unstable();
        assert_eq!(tested, indices(&tuning));
    }

    #[test]
    fn folds_are_stratified_to_within_one_row_of_each_class() {
        let tuning = Split::new(&parse(WINE_CSV).unwrap(), HOLDOUT_SEED).tuning;
        for fold in folds(&tuning, 7, 5) {
            let [a, b, c] = per_class(&fold.test);
            assert!(a == 8 && (9..=10).contains(&b) && (6..=7).contains(&c), "{a} {b} {c}");
        }
    }
}
