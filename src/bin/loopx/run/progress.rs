//! How far a long command has come, for a person who watches: on standard error, if that is a terminal.

use std::io::Write;
use std::time::{Duration, Instant};

use super::Session;
use crate::cli::Format;

/// How often the line changes. A command that is done before shows nothing.
const EVERY: Duration = Duration::from_millis(100);

/// One line that is written over, and gone at the end.
pub struct Progress {
    wanted: bool,
    started: Instant,
    shown: Instant,
    on_screen: bool,
}

impl Progress {
    /// Shown only on a terminal, and neither with `--quiet` nor with `--json`.
    pub fn new(session: &Session<'_>) -> Self {
        let global = session.global;
        let spoken = !global.quiet && !global.json && global.format != Some(Format::Json);
        let now = Instant::now();
        let wanted = session.environment.stderr_is_terminal && spoken;
        Self { wanted, started: now, shown: now, on_screen: false }
    }

    /// So many records are done; `percent` of all there is, if that is known.
    pub fn show(&mut self, records: u64, percent: impl FnOnce() -> Option<u64>) {
        if !self.wanted || self.shown.elapsed() < EVERY {
            return;
        }
        self.shown = Instant::now();
        let line = line(records, percent(), self.started.elapsed());
        // What cannot be shown is not worth a word.
        let _ = write!(std::io::stderr(), "\r{line}\u{1b}[K");
        self.on_screen = true;
    }
}

impl Drop for Progress {
    /// What comes next starts on an empty line.
    fn drop(&mut self) {
        if self.on_screen {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
        }
    }
}

/// `41 %, 410000 records, 205000/s`
fn line(records: u64, percent: Option<u64>, elapsed: Duration) -> String {
    let part = percent.map(|percent| format!("{} %, ", percent.min(100))).unwrap_or_default();
    let millis = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).max(1);
    format!("{part}{records} records, {}/s", records.saturating_mul(1_000) / millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_the_part_the_records_and_the_rate() {
        let two = Duration::from_secs(2);
        assert_eq!(line(410_000, Some(41), two), "41 %, 410000 records, 205000/s");
        assert_eq!(line(7, None, two), "7 records, 3/s");
        assert_eq!(line(7, Some(130), Duration::ZERO), "100 %, 7 records, 7000/s");
    }
}
