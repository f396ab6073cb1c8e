//! An agent of the demo: a process that asks what to do, does it, and writes back, by public commands alone.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use loopx::time::Timestamp;
use serde_json::Value;

use super::command::{Loopx, bodies, seq, text, texts};
use super::knn::Evaluator;
use super::step::{Order, Report, Step};
use super::{failed, plan, work};
use crate::environment;
use crate::failure::Failure;

/// The longest that an agent waits by itself for a moment that it was told to ask again at.
const PATIENCE_MS: u64 = 10_000;

/// An agent with its name, its place and its tools.
pub struct Agent {
    /// The command line, as this agent.
    pub loopx: Loopx,
    /// Where it keeps its working files.
    pub desk: PathBuf,
    /// The evaluator.
    pub evaluator: Evaluator,
    /// Whether the trial that it starts next never ends.
    pub hang: bool,
}

/// Takes a turn for every order on standard input, until there are no more.
///
/// # Errors
/// A [`Failure`] if a command fails that has to succeed.
pub fn play(name: &str, dir: &Path) -> Result<(), Failure> {
    let evaluator = Evaluator::wine().map_err(|error| failed(error.to_string()))?;
    let loopx = Loopx::new(dir)?.acting(&["--agent", name]);
    let mut agent = Agent { loopx, desk: dir.join("work").join(name), evaluator, hang: false };
    loop {
        // The lock is not kept from order to order: a hanging trial waits on the same input.
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line).map_err(|error| failed(error.to_string()))?;
        if read == 0 {
            return Ok(());
        }
        let order: Order = serde_json::from_str(&line).map_err(|error| failed(format!("{error}: {line}")))?;
        agent.hang = order.hang;
        agent.turn(order.ttl.as_deref())?;
    }
}

/// Says something to the host.
fn report(report: &Report) -> Result<(), Failure> {
    let line = serde_json::to_string(report).map_err(|error| failed(error.to_string()))?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|error| failed(error.to_string()))
}

impl Agent {
    /// Reports a step.
    pub fn say(&self, what: impl Into<String>, words: impl Into<String>, seq: u64) -> Result<(), Failure> {
        self.report(Step { what: what.into(), text: words.into(), seq, measured: None })
    }

    /// Reports a step with everything in it.
    pub fn report(&self, step: Step) -> Result<(), Failure> {
        report(&Report::Step(step))
    }

    /// Asks and does as it is told until one todo is done or there is nothing to do now.
    fn turn(&mut self, ttl: Option<&str>) -> Result<(), Failure> {
        let mut words = vec!["next"];
        words.extend(ttl.iter().flat_map(|ttl| ["--ttl", *ttl]));
        loop {
            let answer = self.loopx.run(&words)?;
            let verdict = text(&answer, "/verdict")?;
            let mode = text(&answer, "/mode").unwrap_or_default();
            match (verdict.as_str(), mode.as_str()) {
                ("RUN", _) => self.take(&answer)?,
                ("PLAN", "closing") => {
                    plan::close(self)?;
                    continue;
                }
                ("PLAN", _) => {
                    plan::replan(self)?;
                    continue;
                }
                ("WAIT", "agent_scope_wait") => {
                    // Someone else holds what is left, for a while: the answer says until when.
                    wait_until(&text(&answer, "/wake/at")?)?;
                    continue;
                }
                ("WAIT", "quota_throttled") => self.throttled(&answer)?,
                ("ASK", _) => self.asked(&answer)?,
                ("DONE", _) => self.say("DONE", "the goal is reached, nothing is left to do", 0)?,
                (other, mode) => return Err(failed(format!("no idea what to do on {other} {mode}"))),
            }
            return report(&Report::End { verdict, mode });
        }
    }

    /// A todo to work on, fresh or taken over.
    fn take(&mut self, answer: &Value) -> Result<(), Failure> {
        let (todo, title) = (text(answer, "/todo/id")?, text(answer, "/todo/title")?);
        let events = answer.pointer("/events").and_then(Value::as_array);
        let mut kinds = events.into_iter().flatten().filter_map(|event| event.pointer("/kind"));
        let words =
            if kinds.any(|kind| kind == "lease.taken_over") { self.taken_over(&todo)? } else { title };
        self.say(format!("RUN {todo}"), words, seq(answer))?;
        work::run(self, &todo)
    }

    fn taken_over(&self, todo: &str) -> Result<String, Failure> {
        let history = self.loopx.run(&["history", todo])?;
        let bodies = bodies(&history, "lease.taken_over");
        let body = bodies.last().copied().unwrap_or(&Value::Null);
        let epoch = body.pointer("/epoch").and_then(Value::as_u64).unwrap_or(0);
        let from = text(body, "/from/actor")?;
        Ok(format!("taken over from {}, epoch {epoch}: its lease expired", from.trim_start_matches("agent/")))
    }

    fn throttled(&self, answer: &Value) -> Result<(), Failure> {
        let status = self.loopx.run(&["quota", "status"])?;
        let number = |pointer: &str| status.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
        let (spent, allowed) = (number("/quota/spent_slots"), number("/quota/allowed_slots"));
        let at = text(answer, "/wake/at").ok().and_then(|at| Timestamp::parse_loose(&at));
        let hours = at.map_or(0, |at| at.ms_since(environment::now()).div_ceil(3_600_000));
        let words = format!("quota used, {spent} of {allowed} slots; the next is free in {hours} h");
        self.say("WAIT quota", words, 0)
    }

    fn asked(&self, answer: &Value) -> Result<(), Failure> {
        let gate = text(answer, "/questions/0/id")?;
        let blocked = texts(answer, "/questions/0/blocks/todos").join(", ");
        self.say(format!("ASK {gate}"), format!("{blocked} waits for an owner's answer"), 0)
    }
}

/// Sleeps until an instant that an answer named.
fn wait_until(at: &str) -> Result<(), Failure> {
    let at = Timestamp::parse_loose(at).ok_or_else(|| failed(format!("{at} is no instant")))?;
    let left = at.ms_since(environment::now());
    if left > PATIENCE_MS {
        return Err(failed(format!("expected to wait for at most {PATIENCE_MS} ms, found {left}")));
    }
    // The lease has to be over, not about to be.
    std::thread::sleep(Duration::from_millis(left + 5));
    Ok(())
}
