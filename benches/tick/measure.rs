//! Interleaved runs: every round runs every contestant once, so that what disturbs one disturbs its neighbours too, and
//! a ratio is taken within a round.

use std::time::Duration;

/// Something to be timed.
pub struct Contestant<'a> {
    /// Its name in the table.
    pub name: String,
    /// One run. The time is its own, so that it may leave out what it prepares.
    pub run: Box<dyn FnMut() -> Duration + 'a>,
}

/// The times of each contestant, a round a place.
pub struct Times {
    series: Vec<(String, Vec<f64>)>,
}

/// Runs the contestants `rounds` times, the order turning by one each round, after one round that does not count.
pub fn interleave(rounds: usize, contestants: &mut [Contestant<'_>]) -> Times {
    let mut series: Vec<(String, Vec<f64>)> =
        contestants.iter().map(|contestant| (contestant.name.clone(), Vec::new())).collect();
    let count = contestants.len();
    for contestant in contestants.iter_mut() {
        (contestant.run)();
    }
    for round in 0..rounds {
        for place in 0..count {
            let at = (place + round) % count;
            let time = (contestants[at].run)();
            series[at].1.push(time.as_secs_f64());
        }
    }
    Times { series }
}

impl Times {
    /// The times of one contestant; none if it did not take part.
    fn of(&self, name: &str) -> Option<&[f64]> {
        self.series.iter().find(|(found, _)| found == name).map(|(_, times)| times.as_slice())
    }

    /// Median and least time of each contestant, in the order in which they were given.
    pub fn rows(&self) -> impl Iterator<Item = (&str, f64, f64)> {
        self.series.iter().map(|(name, times)| {
            (name.as_str(), median(times.clone()), times.iter().copied().fold(f64::INFINITY, f64::min))
        })
    }

    /// The median over all rounds of the time of `name` over that of `base` in the same round.
    pub fn ratio(&self, name: &str, base: &str) -> Option<f64> {
        let (own, base) = (self.of(name)?, self.of(base)?);
        Some(median(own.iter().zip(base).map(|(own, base)| own / base).collect()))
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.get(middle) {
        Some(&upper) if values.len() % 2 == 1 => upper,
        Some(&upper) => (values[middle - 1] + upper) / 2.0,
        None => f64::NAN,
    }
}
