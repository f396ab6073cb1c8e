//! What is seen while the demo runs: a line a step, as it happens, and the same as JSON afterwards.

use std::io::Write;
use std::time::Instant;

use loopx::project::escape::terminal;
use serde_json::{Value, json};

use super::step::Step;

/// Columns that the words of a step are padded to.
const TEXT_COLUMNS: usize = 66;

/// The lines of a demo.
pub struct Screen {
    started: Instant,
    shown: bool,
    steps: Vec<Value>,
}

impl Screen {
    /// A screen that prints at once if it is shown, and keeps everything for the end.
    pub fn new(shown: bool) -> Self {
        Self { started: Instant::now(), shown, steps: Vec::new() }
    }

    /// Seconds since the demo began.
    pub fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Shows a line that is no step.
    pub fn line(&self, line: &str) {
        if self.shown {
            let mut out = std::io::stdout().lock();
            let _ = writeln!(out, "{line}").and_then(|()| out.flush());
        }
    }

    /// Shows a step: when, who, what, and in which record.
    pub fn step(&mut self, actor: &str, step: &Step) {
        let seconds = self.seconds();
        let place = if step.seq == 0 { "-".to_owned() } else { format!("#{}", step.seq) };
        let words = terminal(&step.text);
        let what = terminal(&step.what);
        self.line(&format!("{seconds:>5.1}s  {actor:<5} {what:<10}  {words:<TEXT_COLUMNS$} {place:>5}"));
        self.steps.push(json!({
            "seconds": format!("{seconds:.3}"), "actor": actor, "what": step.what, "text": step.text,
            "seq": (step.seq > 0).then_some(step.seq),
        }));
    }

    /// Every step that was shown.
    pub fn steps(&self) -> Value {
        Value::Array(self.steps.clone())
    }
}
