//! `append --stdin`: many requests, one transaction and one sync for many, a receipt a line.

use std::collections::VecDeque;
use std::io::{ErrorKind, Write};
use std::sync::mpsc::Receiver;

use loopx::app;
use loopx::ledger::{BATCH_REQUESTS, Batch, Ledger, Reply, Submission};
use loopx::log::LogError;
use serde_json::{Value, json};

use super::Session;
use super::feed::{self, Broken, Line};
use super::progress::Progress;
use crate::failure::{Failure, exit};
use crate::render::{Output, failure_document, value};

/// Reads lines until the end of input or the first one that is refused. What was recorded before stays recorded.
///
/// What has arrived while one batch was being recorded and synced is the next batch.
pub fn run(session: &Session<'_>) -> Result<Output, Failure> {
    let mut ledger = session.open()?;
    let mut bulk = Bulk { session, recorded: 0, progress: Progress::new(session) };
    let mut queue = Queue { lines: feed::read(session.caller()?), ready: VecDeque::new(), broken: None };
    let mut submissions = Vec::new();
    let mut numbers = VecDeque::new();
    loop {
        queue.fill(BATCH_REQUESTS.saturating_sub(submissions.len()), submissions.is_empty());
        while submissions.len() < BATCH_REQUESTS
            && let Some((number, submission)) = queue.ready.pop_front()
        {
            numbers.push_back(number);
            submissions.push(submission);
        }
        if submissions.is_empty() {
            break;
        }
        let Batch { replies, failure } = app::append_many(&mut ledger, &session.host(), &mut submissions);
        let done = replies.len();
        bulk.settle(&mut ledger, &replies)?;
        submissions.drain(..done);
        numbers.drain(..done);
        if let Some(error) = failure {
            return Err(bulk.stopped(numbers.front().copied().unwrap_or_default(), error.into()));
        }
    }
    match queue.broken {
        None => Ok(Output::default().warned(session.clock_warning(&ledger))),
        Some((number, Broken::Bad(error))) => Err(bulk.stopped(number, error.into())),
        Some((number, Broken::Unread(error))) => {
            Err(bulk.stopped(number, Failure::new("io", exit::IO, error.to_string())))
        }
    }
}

/// Lines that were read and not yet recorded.
struct Queue {
    lines: Receiver<Vec<Line>>,
    ready: VecDeque<(usize, Submission)>,
    /// The line that ends it.
    broken: Option<(usize, Broken)>,
}

impl Queue {
    /// Takes what has arrived, until `most` are ready; waits for the first if it `must`.
    fn fill(&mut self, most: usize, must: bool) {
        while self.broken.is_none() && self.ready.len() < most {
            let next = if must && self.ready.is_empty() {
                self.lines.recv().ok()
            } else {
                self.lines.try_recv().ok()
            };
            let Some(chunk) = next else { return };
            for Line { number, request } in chunk {
                match request {
                    Ok(submission) => self.ready.push_back((number, submission)),
                    Err(broken) => self.broken = Some((number, broken)),
                }
            }
        }
    }
}

struct Bulk<'a> {
    session: &'a Session<'a>,
    /// Requests whose receipts are printed, or would be if anybody read them.
    recorded: usize,
    progress: Progress,
}

impl Bulk<'_> {
    /// Makes everything so far durable, then prints its receipts.
    fn settle(&mut self, ledger: &mut Ledger, replies: &[Reply]) -> Result<(), Failure> {
        if replies.is_empty() {
            return Ok(());
        }
        ledger.make_durable(&self.session.host().wait).map_err(|error| stored(replies.len(), &error))?;
        if self.recorded == 0 {
            self.session.note(ledger);
        }
        self.recorded += replies.len();
        let mut text = Vec::with_capacity(512 * replies.len());
        for reply in replies {
            // To memory, where nothing fails.
            let _ = writeln!(text, "{}", receipt(reply));
        }
        print(&text).map_err(|error| self.unread(&error))?;
        ledger.save_snapshot_if_due();
        self.progress.show(self.recorded as u64, || None);
        Ok(())
    }

    /// Nobody takes the receipts any more, so nothing more is recorded.
    fn unread(&self, error: &std::io::Error) -> Failure {
        let why = match error.kind() {
            ErrorKind::BrokenPipe => "nobody reads the receipts any more".to_owned(),
            _ => format!("standard output: {error}"),
        };
        let message = format!("{why}; {} requests are recorded, the rest was not looked at", self.recorded);
        Failure::new("output", exit::IO, message).already_printed()
    }

    fn stopped(&self, number: usize, failure: Failure) -> Failure {
        let recorded = self.recorded;
        let mut document = failure_document("loopx.append/1", &failure);
        if let Value::Object(fields) = &mut document {
            fields.insert("line".to_owned(), number.into());
            fields.insert("recorded".to_owned(), recorded.into());
        }
        // It is said on standard error too.
        let _ = print(format!("{document}\n").as_bytes());
        let message = format!("line {number}: {}; {recorded} before it are recorded", failure.message);
        Failure { message, ..failure }.already_printed()
    }
}

fn receipt(reply: &Reply) -> Value {
    match reply {
        Reply::Landed(landed) => {
            super::write::told(Output::default(), &landed.receipt, &landed.events).document("loopx.append/1")
        }
        Reply::Quiet(decision) => json!({
            "schema": "loopx.append/1", "ok": true, "status": "no_change", "verdict": decision.verdict.word(),
            "wake": value(&decision.wake),
        }),
    }
}

/// What is stored and may not be durable is not refused: the same lines again, with their request ids, tell.
fn stored(count: usize, error: &LogError) -> Failure {
    let message = format!("{count} requests are stored and may or may not be durable: {error}");
    Failure::new("ledger.durability_unknown", exit::UNKNOWN, message).hint("loopx verify")
}

fn print(text: &[u8]) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text).and_then(|()| out.flush())
}
