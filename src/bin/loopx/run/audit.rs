//! Reading the log itself: log, replay, verify.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use loopx::app::blob::{self, BlobState};
use loopx::event::Event;
use loopx::hash::Hash;
use loopx::id::Seq;
use loopx::ledger::{Entry, Ledger, LedgerError};
use loopx::log::{Anchor, Cursor, VerifyOptions, VerifyReport};
use loopx::project::history::Line;
use loopx::record::Record;
use loopx::snapshot;
use serde_json::{Value, json};

use super::Session;
use super::decisions::Decisions;
use super::look::{headed, seq_at, status_of};
use super::progress::Progress;
use crate::cli;
use crate::failure::{Failure, exit};
use crate::render::{Output, count, thing, value};

/// How often `log --follow` looks for new records.
const FOLLOW_EVERY: Duration = Duration::from_millis(100);

/// `log`: streams, so it prints by itself.
pub fn log(session: &Session<'_>, args: &cli::Log) -> Result<Output, Failure> {
    let ledger = session.open()?;
    let mut cursor = Cursor::START;
    let mut left = args.limit.unwrap_or(u64::MAX);
    loop {
        let mut closed = false;
        let mut failure = None;
        ledger.records(&cursor.clone(), &mut |record, at| {
            cursor = *at;
            if at.seq <= args.since {
                return ControlFlow::Continue(());
            }
            if left == 0 {
                return ControlFlow::Break(());
            }
            left -= 1;
            let line = if args.raw {
                let mut line = record.line().to_vec();
                line.push(b'\n');
                Ok(line)
            } else {
                Entry::of(record).map(|entry| rendered(session, &entry).into_bytes())
            };
            match line.map_err(Failure::from).and_then(|line| print(&line)) {
                Ok(still_read) => closed = !still_read,
                Err(error) => failure = Some(error),
            }
            if closed || failure.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if let Some(failure) = failure {
            return Err(failure);
        }
        if closed || left == 0 || !args.follow {
            return Ok(Output::default());
        }
        std::thread::sleep(FOLLOW_EVERY);
    }
}

/// Prints a line; false once nobody reads any more.
fn print(line: &[u8]) -> Result<bool, Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(line).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::new("output", exit::IO, format!("standard output: {error}"))),
    }
}

fn rendered(session: &Session<'_>, entry: &Entry<'_>) -> String {
    let line = Line::whole(entry);
    if session.global.json || session.global.format == Some(cli::Format::Json) {
        format!("{}\n", thing::history_json(&line))
    } else {
        thing::history_line(&line)
    }
}

/// `replay`
pub fn replay(session: &Session<'_>, args: &cli::Replay) -> Result<Output, Failure> {
    let started = Instant::now();
    let ledger = session.open()?;
    let to = args.as_of.map_or(Ok(ledger.head().seq), |as_of| seq_at(&ledger, as_of))?;
    let mut events = 0_usize;
    let mut steps: Vec<(Seq, Hash)> = Vec::new();
    let mut failure = None;
    let mut decisions = Decisions::default();
    let mut progress = Progress::new(session);
    let state = ledger.replay(to, &mut |before, entry: &Entry<'_>| {
        events += entry.events.len();
        if entry.at.seq.0.is_multiple_of(1024) {
            progress.show(entry.at.seq.0, || (entry.at.seq.0 * 100).checked_div(to.0));
        }
        if args.decisions {
            decisions.see(before, entry);
        }
        if args.step && before.seq > Seq::ZERO {
            match before.digest() {
                Ok(digest) => steps.push((before.seq, digest)),
                Err(error) => failure = Some(error),
            }
        }
    })?;
    drop(progress);
    if let Some(error) = failure {
        return Err(Failure::new("internal", exit::IO, error.to_string()));
    }
    let digest = digest(&state)?;
    if args.step {
        steps.push((state.seq, digest));
    }
    if args.view.is_some() {
        let output = status_of(session, &state, state.now)?;
        return Ok(output.with("as_of", to.0).with("digest", digest.to_hex()));
    }
    let mut text: String = steps.iter().map(|(seq, digest)| format!("#{seq}  {digest}\n")).collect();
    text.push_str(&format!(
        "replayed {} and {}, state digest {digest}  {}\n",
        count(to.0, "record"),
        count(events, "event"),
        elapsed(started)
    ));
    if args.state {
        text = format!("{}\n", value(&state));
    }
    let mut output = Output::text(text)
        .with("records", to.0)
        .with("events", events)
        .with("as_of", to.0)
        .with("digest", digest.to_hex());
    if args.state {
        output = output.with("state", value(&state));
    }
    if args.step {
        output = output
            .with("steps", steps.iter().map(|(s, d)| json!({"seq": s, "digest": d})).collect::<Vec<_>>());
    }
    if args.decisions {
        output = decisions.told(output);
    }
    if args.check {
        return checked(&ledger, output, to, digest);
    }
    Ok(headed(output, &ledger))
}

fn digest(state: &loopx::state::State) -> Result<Hash, Failure> {
    state.digest().map_err(|error| Failure::new("internal", exit::IO, error.to_string()))
}

fn elapsed(started: Instant) -> String {
    format!("{:.1} ms", started.elapsed().as_secs_f64() * 1_000.0)
}

/// Compares a fold from genesis with what commands start from: the live state, and the snapshot under it.
fn checked(ledger: &Ledger, mut output: Output, to: Seq, replayed: Hash) -> Result<Output, Failure> {
    let mut same = true;
    let mut lines = String::new();
    if to == ledger.head().seq {
        let live = digest(ledger.state())?;
        same &= live == replayed;
        lines.push_str(&format!("live state  {}\n", if live == replayed { "the same" } else { "DIFFERS" }));
    }
    let kept = ledger.root().and_then(snapshot::load);
    match kept {
        None => lines.push_str("snapshot    none\n"),
        Some((cursor, state)) => {
            let at = cursor.seq;
            let stands = at <= ledger.head().seq;
            let from_genesis = if stands { Some(digest(&ledger.replay(at, &mut |_, _| {})?)?) } else { None };
            let equal = from_genesis == Some(digest(&state)?);
            same &= equal;
            lines.push_str(&format!("snapshot    at #{at} {}\n", if equal { "the same" } else { "DIFFERS" }));
        }
    }
    output.text.push_str(&lines);
    output.exit = if same { exit::DONE } else { exit::FINDINGS };
    Ok(headed(output.with("check", same), ledger))
}

/// `verify`
pub fn verify(session: &Session<'_>, args: &cli::Verify) -> Result<Output, Failure> {
    let started = Instant::now();
    let root = session.root()?;
    let against = args.against.as_deref().map(|text| anchor(session, text)).transpose()?;
    let options = VerifyOptions { against, digests: args.segments, hands: None };
    let mut progress = Progress::new(session);
    let (whole, mut read) = (log_bytes(&root), 0);
    let mut kept = Kept::default();
    let report = loopx::log::inspect(&root, &options, &mut |record, cursor| {
        read += record.line().len() as u64 + 1;
        if cursor.seq.0.is_multiple_of(4096) {
            progress.show(cursor.seq.0, || (read * 100).checked_div(whole));
        }
        if !args.no_blobs {
            kept.note(record);
        }
        ControlFlow::Continue(())
    })?;
    drop(progress);
    if let Some(error) = report.error() {
        return Err(error.into());
    }
    let blobs = if args.no_blobs {
        Blobs::default()
    } else {
        // What no command can start from is not sound, whatever its hashes say.
        Ledger::open(&root)?;
        kept.check(&root)?
    };
    let mut text = String::new();
    if args.segments {
        for info in &report.segments {
            let digest = info.digest.map(|digest| digest.to_hex()).unwrap_or_default();
            text.push_str(&format!(
                "segment {:020}  #{} to #{}  {} bytes  {digest}\n",
                info.first.0, info.first, info.last, info.bytes
            ));
        }
    }
    text.push_str(&summary(session, &report, &blobs, args, started));
    let mut output = Output::text(text)
        .with("records", report.head.seq.0)
        .with("segments", report.segments.len())
        .with("durable", report.durable.0)
        .with("bytes", report.bytes)
        .with("blobs", json!({"sound": blobs.sound, "missing": blobs.missing, "altered": blobs.altered}))
        .with("signatures", 0)
        .with("pending_bytes", report.pending.map(|pending| pending.bytes))
        .at(report.head.seq, report.head.hash);
    if args.segments {
        let list: Vec<Value> = report
            .segments
            .iter()
            .map(|info| json!({"first": info.first, "last": info.last, "bytes": info.bytes, "blake3": info.digest}))
            .collect();
        output = output.with("segment_list", list);
    }
    if !blobs.missing.is_empty() || !blobs.altered.is_empty() {
        output.exit = exit::FINDINGS;
    }
    Ok(output)
}

/// How long the log is, by what its directory says: good enough to tell how much of it is read.
fn log_bytes(root: &Path) -> u64 {
    let entries = std::fs::read_dir(root.join("log")).into_iter().flatten().flatten();
    let segments = entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "jsonl"));
    segments.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum()
}

fn summary(
    session: &Session<'_>,
    report: &VerifyReport,
    blobs: &Blobs,
    args: &cli::Verify,
    started: Instant,
) -> String {
    let last = report.head.seq;
    let sound = if args.no_blobs { "blobs left out".to_owned() } else { count(blobs.sound, "blob") };
    let word = if blobs.missing.is_empty() && blobs.altered.is_empty() { "ok" } else { "findings" };
    let mut text = format!(
        "{word}  {}, {}, chain head {}, durable to #{}, {sound}, 0 signatures  {}\n",
        count(last.0, "record"),
        count(report.segments.len(), "segment"),
        report.head.hash.short(),
        report.durable,
        elapsed(started),
    );
    if let Some(pending) = report.pending {
        text.push_str(&format!(
            "    {} bytes after #{last} are in progress or torn; the next write settles it\n",
            pending.bytes
        ));
    }
    for (word, list) in [("missing", &blobs.missing), ("altered", &blobs.altered)] {
        for digest in list.iter().take(10) {
            text.push_str(&format!("    blob {word}: {digest}\n"));
        }
    }
    text.push_str(&format!(
        "    proves: nothing between #1 and #{last} was altered, removed or reordered since it was written,\n"
    ));
    text.push_str("            unless whoever did it recomputed every hash after it\n");
    match args.against {
        Some(_) => text.push_str("    the record that you remember is in it, unchanged\n"),
        None => {
            let compare = session.voice.command(&format!("verify --against {last}:{}", report.head.hash));
            text.push_str("    does not prove: that the end was not cut. Keep this and compare later:\n");
            text.push_str(&format!("    {compare}\n"));
        }
    }
    text
}

/// `SEQ:HASH`, or a file that holds it.
fn anchor(session: &Session<'_>, text: &str) -> Result<Anchor, Failure> {
    let bad = || Failure::usage("--against takes SEQ:HASH, as verify prints it, or a file that holds it");
    let read = |text: &str| {
        let (seq, hash) = text.trim().split_once(':')?;
        Some(Anchor { seq: seq.parse().ok()?, hash: hash.parse().ok()? })
    };
    if let Some(anchor) = read(text) {
        return Ok(anchor);
    }
    let content = std::fs::read_to_string(session.environment.cwd.join(text)).map_err(|_| bad())?;
    read(&content).ok_or_else(bad)
}

#[derive(Default)]
pub(super) struct Blobs {
    /// How many are there as they should be.
    pub sound: u64,
    /// Those that are not there.
    pub missing: Vec<Hash>,
    /// Those with another content.
    pub altered: Vec<Hash>,
}

/// Every blob that a record of the ledger names, read back.
pub(super) fn blobs(root: &Path) -> Result<Blobs, Failure> {
    let ledger = Ledger::open(root)?;
    let mut kept = Kept::default();
    ledger.records(&Cursor::START, &mut |record, _| {
        kept.note(record);
        ControlFlow::Continue(())
    })?;
    kept.check(root)
}

/// The blobs that records name. One that was never here (a digest given by hand, without its size) is none of them.
#[derive(Default)]
struct Kept {
    named: std::collections::BTreeSet<Hash>,
    failure: Option<LedgerError>,
}

impl Kept {
    /// A record names a blob with its size; one without any is not read as events.
    fn note(&mut self, record: &Record<'_>) {
        let names_none =
            std::str::from_utf8(record.events()).is_ok_and(|events| !events.contains("\"bytes\":"));
        if names_none || self.failure.is_some() {
            return;
        }
        match Entry::of(record) {
            Ok(entry) => self.named.extend(entry.events.iter().filter_map(|event| match event {
                Event::EvidenceRecorded(e) => e.digest.filter(|_| e.bytes.is_some()),
                Event::DatasetRegistered(e) => e.bytes.map(|_| e.digest),
                Event::PromotionRecorded(e) => e.bytes.map(|_| e.artifact),
                _ => None,
            })),
            Err(error) => self.failure = Some(error),
        }
    }

    fn check(self, root: &Path) -> Result<Blobs, Failure> {
        if let Some(error) = self.failure {
            return Err(error.into());
        }
        let mut blobs = Blobs::default();
        for digest in self.named {
            match blob::check(root, digest)? {
                BlobState::Sound => blobs.sound += 1,
                BlobState::Missing => blobs.missing.push(digest),
                BlobState::Altered => blobs.altered.push(digest),
            }
        }
        Ok(blobs)
    }
}
