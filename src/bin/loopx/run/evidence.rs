//! Arguments to evidence: what a close shows, files that are kept, measured values.

use std::path::Path;

use loopx::app::{self, KeepError};
use loopx::decide::Command;
use loopx::decide::command as c;
use loopx::decide::command::{Close, NewEvidence, NewMetricRow, WaitFor};
use loopx::event::{EvidenceKind, Subject};
use loopx::hash::Hash;
use loopx::id::EvidenceId;
use loopx::ledger::LedgerError;
use loopx::log::LogError;
use loopx::text::Text;
use loopx::time::Timestamp;

use super::Session;
use crate::cli;
use crate::failure::{Failure, exit};

/// What printed commands say where the reader has to say something.
const PLACEHOLDERS: [&str; 3] = ["CMD => RESULT", "TEXT", "WHY"];

/// What a close shows: ids of evidence recorded before, files kept now, and statements `CMD => RESULT`.
pub(super) fn close(session: &Session<'_>, args: &cli::Closing) -> Result<Close, Failure> {
    let mut close = closing(args)?;
    for named in &args.evidence {
        match named.parse::<EvidenceId>() {
            Ok(id) => close.evidence.push(id),
            Err(_) => close.proof.push(kept(session, Path::new(named), None)?),
        }
    }
    Ok(close)
}

/// As [`close`], with evidence as LoopX gives it: an id, or text, which is a note.
pub(super) fn close_on_text(args: &cli::Closing) -> Result<Close, Failure> {
    let mut close = closing(args)?;
    for named in &args.evidence {
        let Ok(id) = named.parse::<EvidenceId>() else {
            let summary = named.parse().map_err(|error| Failure::usage(format!("--evidence: {error}")))?;
            let kind = EvidenceKind::Note;
            close.proof.push(NewEvidence {
                kind,
                summary,
                source: None,
                exit: None,
                digest: None,
                bytes: None,
                valid_for_ms: None,
            });
            continue;
        };
        close.evidence.push(id);
    }
    Ok(close)
}

/// Everything that a close says but evidence by name.
fn closing(args: &cli::Closing) -> Result<Close, Failure> {
    let no_follow_up = match (&args.no_follow_up, &args.note) {
        (Some(Some(_)), Some(_)) => {
            return Err(Failure::usage("say why nothing follows once, with --no-follow-up or with --note"));
        }
        (Some(None), None) => return Err(Failure::usage("why does nothing follow? --no-follow-up \"WHY\"")),
        (Some(why), note) => why.clone().or_else(|| note.clone()),
        (None, _) => None,
    };
    let texts = args.proof.iter().chain(&args.next).chain(&no_follow_up);
    if let Some(text) = texts.into_iter().find(|text| PLACEHOLDERS.contains(&text.as_str())) {
        return Err(Failure::usage(format!("`{text}` stands for words of your own")));
    }
    let mut close = Close {
        meets: args.meets.clone(),
        next: args.next.clone(),
        successors: args.successor.clone(),
        hand_over: args.hand_over.clone(),
        wait_for: args.wait_for.as_deref().map(wait_for).transpose()?,
        no_follow_up: no_follow_up.clone(),
        epoch: args.fence.epoch,
        key: args.fence.task_lease_idempotency_key.clone(),
        version: args.fence.task_lease_expected_version,
        ..Close::default()
    };
    for proof in &args.proof {
        close.proof.push(stated(proof)?);
    }
    Ok(close)
}

/// `CMD => RESULT` is the form of the option: what was run, and what it gave. Without an arrow it is a note.
fn stated(proof: &Text) -> Result<NewEvidence, Failure> {
    let text =
        |part: &str| part.trim().parse::<Text>().map_err(|error| Failure::usage(format!("--proof: {error}")));
    let (kind, source, summary) = match proof.as_str().split_once(" => ") {
        Some((command, result)) => (EvidenceKind::Command, Some(text(command)?), text(result)?),
        None => (EvidenceKind::Note, None, proof.clone()),
    };
    Ok(NewEvidence { kind, summary, source, exit: None, digest: None, bytes: None, valid_for_ms: None })
}

/// A file whose content goes into the blob store.
fn kept(session: &Session<'_>, file: &Path, summary: Option<&Text>) -> Result<NewEvidence, Failure> {
    let (digest, bytes) = keep(session, file)?;
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name: Text = name.parse().map_err(|error| Failure::usage(format!("{}: {error}", file.display())))?;
    Ok(NewEvidence {
        kind: EvidenceKind::File,
        summary: summary.cloned().unwrap_or_else(|| name.clone()),
        source: Some(name),
        exit: None,
        digest: Some(digest),
        bytes: Some(bytes),
        valid_for_ms: None,
    })
}

fn keep(session: &Session<'_>, file: &Path) -> Result<(Hash, u64), Failure> {
    let path = session.environment.cwd.join(file);
    let allowed = session.global.allow_secret.is_some();
    app::keep_file(&session.root()?, &path, allowed).map_err(|error| match error {
        KeepError::Ledger(LedgerError::Log(LogError::Io { source, .. }))
            if source.kind() == std::io::ErrorKind::NotFound =>
        {
            Failure::usage(format!("no file {}", file.display()))
        }
        KeepError::Ledger(other) => other.into(),
        secret => Failure::new("secret.found", exit::REFUSED, secret.to_string()),
    })
}

fn wait_for(text: &str) -> Result<WaitFor, Failure> {
    if let Ok(todo) = text.parse() {
        return Ok(WaitFor::Todo(todo));
    }
    if let Ok(gate) = text.parse() {
        return Ok(WaitFor::Gate(gate));
    }
    let at = Timestamp::parse_loose(text);
    at.map(WaitFor::Until)
        .ok_or_else(|| Failure::usage("--wait-for takes a todo T9, a gate G1, or an instant"))
}

pub(super) fn evidence(session: &Session<'_>, args: &cli::Evidence) -> Result<Option<Command>, Failure> {
    Ok(Some(match args {
        cli::Evidence::List(_) | cli::Evidence::Show { .. } => return Ok(None),
        cli::Evidence::Add(args) => {
            let evidence = match &args.file {
                Some(file) => kept(session, file, Some(&args.summary))?,
                None => {
                    let (kind, source) = match (&args.command, &args.commit, &args.url) {
                        (Some(command), ..) => (EvidenceKind::Command, Some(command)),
                        (None, Some(commit), _) => (EvidenceKind::Commit, Some(commit)),
                        (None, None, Some(url)) => (EvidenceKind::Url, Some(url)),
                        (None, None, None) => (EvidenceKind::Note, None),
                    };
                    NewEvidence {
                        kind,
                        summary: args.summary.clone(),
                        source: source.cloned(),
                        exit: args.exit,
                        digest: args.digest,
                        bytes: None,
                        valid_for_ms: None,
                    }
                }
            };
            let evidence = NewEvidence { valid_for_ms: args.valid_for.map(|age| age.0), ..evidence };
            c::EvidenceAdd { about: args.about.clone(), evidence, metric: None }.into()
        }
        cli::Evidence::Invalidate { evidence, cause, why } => {
            c::EvidenceInvalidate { evidence: *evidence, cause: *cause, why: why.clone() }.into()
        }
        cli::Evidence::Supersede { evidence, by, why } => {
            c::EvidenceSupersede { evidence: *evidence, by: *by, why: why.clone() }.into()
        }
    }))
}

pub(super) fn lineage(session: &Session<'_>, args: &cli::Lineage) -> Result<Option<Command>, Failure> {
    Ok(Some(match args {
        cli::Lineage::Why { .. } | cli::Lineage::Export { .. } => return Ok(None),
        cli::Lineage::Metric { metric, direction, unit, title } => c::LineageMetric {
            metric: metric.clone(),
            direction: *direction,
            unit: unit.clone(),
            title: title.clone(),
        }
        .into(),
        cli::Lineage::Dataset(args) => {
            let (digest, bytes) = content(session, args.file.as_deref(), args.digest)?;
            c::LineageDataset {
                dataset: args.dataset.clone(),
                digest,
                bytes,
                rows: args.rows,
                split: args.split,
                title: args.title.clone(),
            }
            .into()
        }
        cli::Lineage::Hypothesis { text, refines, todo } => {
            c::LineageHypothesis { text: text.clone(), refines: refines.clone(), todo: *todo }.into()
        }
        cli::Lineage::Experiment { tests, config, dataset, starts_from } => c::LineageExperiment {
            tests: *tests,
            config: config.clone(),
            datasets: dataset.clone(),
            starts_from: *starts_from,
        }
        .into(),
        cli::Lineage::Trial(cli::Trial::Start { experiment, seed }) => {
            c::LineageTrialStart { experiment: *experiment, seed: *seed }.into()
        }
        cli::Lineage::Trial(cli::Trial::End { trial, end, why }) => {
            c::LineageTrialEnd { trial: *trial, end: *end, why: why.clone() }.into()
        }
        cli::Lineage::Evidence(row) => measured(session, row)?,
        cli::Lineage::Promote(args) => {
            let (artifact, bytes) = content(session, args.file.as_deref(), args.artifact)?;
            c::LineagePromote {
                slot: args.slot.clone(),
                gate: args.gate,
                artifact,
                bytes,
                title: args.title.clone(),
                cites: args.cites.clone(),
                contrast: args.contrast.clone(),
                replaces: args.replaces,
            }
            .into()
        }
    }))
}

/// The digest and size of a file whose content is kept, or the digest given.
fn content(
    session: &Session<'_>,
    file: Option<&Path>,
    digest: Option<Hash>,
) -> Result<(Hash, Option<u64>), Failure> {
    match (file, digest) {
        (Some(file), _) => keep(session, file).map(|(digest, bytes)| (digest, Some(bytes))),
        (None, Some(digest)) => Ok((digest, None)),
        (None, None) => Err(Failure::usage("a file or a digest is required")),
    }
}

fn measured(session: &Session<'_>, row: &cli::Row) -> Result<Command, Failure> {
    let summary = match &row.summary {
        Some(summary) => summary.clone(),
        None => {
            let text = format!("{} {} on {}", row.metric, row.value, row.dataset);
            text.parse().map_err(|error: loopx::text::BadText| Failure::usage(error.to_string()))?
        }
    };
    let kept = row.file.as_deref().map(|file| keep(session, file)).transpose()?;
    Ok(c::EvidenceAdd {
        about: Subject::Trial(row.trial),
        evidence: NewEvidence {
            kind: EvidenceKind::Metric,
            summary,
            source: None,
            exit: None,
            digest: kept.map(|(digest, _)| digest),
            bytes: kept.map(|(_, bytes)| bytes),
            valid_for_ms: None,
        },
        metric: Some(NewMetricRow {
            trial: row.trial,
            metric: row.metric.clone(),
            dataset: row.dataset.clone(),
            value: row.value.clone(),
            spread: row.spread.clone(),
            n: row.n,
        }),
    }
    .into())
}
