//! An agent as its host sees it: a process that is told to take a turn and reports what it did.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use super::command::Loopx;
use super::failed;
use super::step::{Order, Report, Step};
use crate::failure::Failure;

/// The longest that an agent may say nothing before the demo gives up.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// A running agent. It ends when its host lets go of it.
pub struct Peer {
    /// Its name.
    pub name: String,
    child: Child,
    orders: Option<ChildStdin>,
    reports: Receiver<String>,
}

impl Peer {
    /// Starts the process.
    ///
    /// # Errors
    /// A [`Failure`] if it cannot be started.
    pub fn start(loopx: &Loopx, name: &str) -> Result<Self, Failure> {
        let mut process = loopx.process();
        process.args(["demo", "--role", name]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = process.spawn().map_err(|error| failed(format!("agent {name}: {error}")))?;
        let orders = child.stdin.take();
        let stdout = child.stdout.take().ok_or_else(|| failed(format!("agent {name} has no output")))?;
        let (send, reports) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self { name: name.to_owned(), child, orders, reports })
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Tells it to take a turn; does not wait for anything.
    ///
    /// # Errors
    /// A [`Failure`] if it is gone.
    pub fn order(&mut self, order: &Order) -> Result<(), Failure> {
        let line = serde_json::to_string(order).map_err(|error| failed(error.to_string()))?;
        let told =
            self.orders.as_mut().map(|orders| writeln!(orders, "{line}").and_then(|()| orders.flush()));
        match told {
            Some(Ok(())) => Ok(()),
            _ => Err(failed(format!("agent {} is gone", self.name))),
        }
    }

    /// Its next report.
    ///
    /// # Errors
    /// A [`Failure`] if it is gone or silent for too long.
    pub fn report(&self) -> Result<Report, Failure> {
        let line = self.reports.recv_timeout(SILENCE_MAX).map_err(|error| match error {
            RecvTimeoutError::Timeout => failed(format!("agent {} says nothing", self.name)),
            RecvTimeoutError::Disconnected => failed(format!("agent {} ended in mid-turn", self.name)),
        })?;
        serde_json::from_str(&line).map_err(|error| failed(format!("agent {}: {error}: {line}", self.name)))
    }

    /// Its next report, which has to be a step of this kind: `RUN T3`.
    ///
    /// # Errors
    /// A [`Failure`] if it is anything else.
    pub fn expect(&self, what: &str) -> Result<Step, Failure> {
        match self.report()? {
            Report::Step(step) if step.what == what => Ok(step),
            other => Err(failed(format!("agent {}: expected {what}, found {other:?}", self.name))),
        }
    }

    /// Kills it with SIGKILL: nothing of it runs after this.
    ///
    /// # Errors
    /// A [`Failure`] if it was not killed.
    pub fn kill(mut self) -> Result<(), Failure> {
        let ended = self.child.kill().and_then(|()| self.child.wait());
        let status = ended.map_err(|error| failed(format!("agent {}: {error}", self.name)))?;
        if killed(status) {
            return Ok(());
        }
        Err(failed(format!("agent {}: expected to be killed by signal 9, found {status}", self.name)))
    }

    /// Lets go of it, and waits until it has ended well.
    ///
    /// # Errors
    /// A [`Failure`] if it ended otherwise.
    pub fn leave(mut self) -> Result<(), Failure> {
        self.orders = None;
        let status = self.child.wait().map_err(|error| failed(format!("agent {}: {error}", self.name)))?;
        if status.success() {
            return Ok(());
        }
        Err(failed(format!("agent {}: expected to end well, found {status}", self.name)))
    }
}

impl Drop for Peer {
    /// No agent outlives its demo, however that ends.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(unix)]
fn killed(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.signal() == Some(9)
}

#[cfg(not(unix))]
fn killed(status: ExitStatus) -> bool {
    !status.success()
}
