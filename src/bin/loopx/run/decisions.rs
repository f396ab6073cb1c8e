//! `replay --decisions`: what every turn was opened on, decided again.

use loopx::decide::{self, Verdict};
use loopx::event::Event;
use loopx::id::{Seq, TurnId};
use loopx::ledger::Entry;
use loopx::project::escape::terminal;
use loopx::state::State;
use serde_json::json;

use crate::failure::exit;
use crate::render::{Output, count};

/// What every turn was opened on, decided again.
#[derive(Default)]
pub struct Decisions {
    same: u64,
    by_name: u64,
    other: Vec<(Seq, TurnId, String)>,
}

impl Decisions {
    /// Decides again what the turns of this record were opened on.
    pub fn see(&mut self, before: &State, entry: &Entry<'_>) {
        for event in &entry.events {
            let Event::TurnOpened(opened) = event else { continue };
            let verdict = match decide::behind(before, entry.at.ts, opened) {
                Ok(decision) => match decision.verdict {
                    Verdict::Run { todo, .. } if todo == opened.todo => None,
                    Verdict::Run { todo, .. } => Some(format!("RUN {todo}")),
                    verdict => Some(verdict.word().to_owned()),
                },
                Err(refusal) => Some(refusal.to_string()),
            };
            match verdict {
                None => self.same += 1,
                Some(_) if opened.by_name => self.by_name += 1,
                Some(other) => self.other.push((entry.at.seq, opened.id, other)),
            }
        }
    }

    /// Adds what came of it to an answer.
    pub fn told(self, mut output: Output) -> Output {
        let Self { same, by_name, other } = self;
        output.text.push_str(&format!(
            "decisions   {} opened: {same} as decided, {by_name} by name, {} otherwise\n",
            count(same + by_name + other.len() as u64, "turn"),
            other.len()
        ));
        for (seq, turn, verdict) in &other {
            output.text.push_str(&format!("  #{seq}  {turn}  would now be {}\n", terminal(verdict)));
        }
        if !other.is_empty() {
            output.exit = exit::FINDINGS;
        }
        let rows: Vec<_> = other
            .iter()
            .map(|(seq, turn, verdict)| json!({"seq": seq, "turn": turn, "decision": verdict}))
            .collect();
        output.with("decisions", json!({"same": same, "by_name": by_name, "other": rows}))
    }
}
