//! The answer of [`super::why`] as plain lines for a terminal.

use std::fmt::Write;

use super::compare::Comparison;
use super::standing::Standing;
use super::why::{Decided, Lost, Resting, Row, Why};
use crate::event::{Direction, GateOutcome, InvalidationCause};
use crate::project::escape::terminal;

/// Most rows, and most experiments that rest on a promotion, that are written out; the rest is counted.
const LIST_MAX: usize = 12;

/// Lines of text, each ending in a line feed, without colour. Everything that people wrote is escaped.
#[must_use]
pub fn render(why: &Why) -> String {
    let mut out = String::new();
    headline(&mut out, why);
    match &why.decided {
        Some(decided) => decision(&mut out, decided),
        None => line(&mut out, "decided", "by no recorded answer"),
    }
    rows(&mut out, "cites", &why.cites);
    rows(&mut out, "contrast", &why.contrast);
    for (place, comparison) in why.comparisons.iter().enumerate() {
        line(&mut out, if place == 0 { "now" } else { "" }, &compared(comparison));
    }
    for row in why.cites.iter().chain(&why.contrast) {
        if let Some(lost) = &row.lost {
            line(&mut out, "because", &because(row, lost));
        }
    }
    rests(&mut out, &why.rests_on_it);
    if let Some(id) = why.replaces {
        line(&mut out, "replaced", &format!("{id} in slot {}", why.slot));
    }
    if let Some(later) = &why.replaced_by {
        line(
            &mut out,
            "since then",
            &format!("slot {} is held by {} (#{})", why.slot, later.promotion, later.seq),
        );
    }
    for (place, command) in why.next.iter().enumerate() {
        line(&mut out, if place == 0 { "next" } else { "" }, command);
    }
    out
}

fn line(out: &mut String, label: &str, text: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "{label:<13}{text}");
}

fn headline(out: &mut String, why: &Why) {
    let left = format!(
        "{}  {}  slot {}, artifact {}…",
        why.promotion,
        terminal(why.title.as_str()),
        why.slot,
        why.artifact.short()
    );
    let _ = writeln!(out, "{left}  {} since #{}", why.standing.word().to_uppercase(), why.since);
}

fn decision(out: &mut String, decided: &Decided) {
    let outcome = match &decided.outcome {
        GateOutcome::Approve => "approved".to_owned(),
        GateOutcome::Reject => "rejected".to_owned(),
        GateOutcome::Defer => "put off".to_owned(),
        GateOutcome::Choice { option } => format!("answered {option}"),
    };
    let signed = if decided.signed { "signed" } else { "unsigned" };
    let text = format!(
        "{} {outcome} by {} at #{} ({signed}): \"{}\"",
        decided.gate,
        decided.by.name(),
        decided.seq,
        terminal(decided.why.as_str())
    );
    line(out, "decided", &text);
    line(out, "asked", &format!("\"{}\"", terminal(decided.question.as_str())));
}

fn rows(out: &mut String, label: &str, rows: &[Row]) {
    let values: Vec<String> = rows.iter().map(value).collect();
    let width = values.iter().map(|value| value.chars().count()).max().unwrap_or(0);
    for (place, (row, value)) in rows.iter().zip(&values).take(LIST_MAX).enumerate() {
        let standing = match (row.standing, row.superseded_by) {
            (Standing::Valid, None) => String::new(),
            (Standing::Valid, Some(newer)) => format!("  superseded by {newer}"),
            (standing, _) => format!("  {}", standing.word().to_uppercase()),
        };
        let text = format!(
            "{:<4} {value:<width$}  {} on {}  {} seed {}, {} {}{standing}",
            row.evidence.to_string(),
            row.metric,
            row.dataset,
            row.trial,
            row.seed,
            row.experiment,
            terminal(row.config.as_str()),
        );
        line(out, if place == 0 { label } else { "" }, &text);
    }
    more(out, rows.len());
}

fn more(out: &mut String, total: usize) {
    if total > LIST_MAX {
        line(out, "", &format!("and {} more: --json shows all {total}", total - LIST_MAX));
    }
}

fn value(row: &Row) -> String {
    let mut text = row.value.to_string();
    if let Some(spread) = &row.spread {
        let _ = write!(text, " ±{spread}");
    }
    if let Some(n) = row.n {
        let _ = write!(text, " of {n}");
    }
    text
}

fn compared(comparison: &Comparison) -> String {
    let place = format!("{} on {}", comparison.metric, comparison.dataset);
    let sides = (&comparison.cited.mean, &comparison.contrast.mean, &comparison.mean_difference);
    let (Some(cited), Some(contrast), Some(difference)) = sides else {
        let reason = match (comparison.cited.rows, comparison.contrast.rows) {
            (0, _) => "no cited row is left",
            (_, 0) => "no contrast row is left",
            _ => "too large to compare exactly",
        };
        return format!("{place}: {} ({reason})", comparison.verdict.word());
    };
    let direction = match comparison.direction {
        Direction::Maximize => "more is better",
        Direction::Minimize => "less is better",
    };
    let verdict = comparison.verdict.word();
    format!(
        "{place}: mean {cited} ({}) against {contrast} ({}): {difference}, {verdict} ({direction})",
        comparison.cited.rows, comparison.contrast.rows
    )
}

fn because(row: &Row, lost: &Lost) -> String {
    let place = format!("{} ({}, {} seed {})", row.evidence, row.value, row.experiment, row.seed);
    match (&lost.cause, &lost.by, &lost.why, &lost.through) {
        (Some(cause), Some(by), Some(why), _) => format!(
            "{place} was invalidated at #{} by {}: {}: \"{}\"",
            lost.seq,
            by.name(),
            cause_words(*cause),
            terminal(why.as_str())
        ),
        (_, _, _, Some(through)) => {
            format!("{place} is tainted since #{}: it comes from {through}", lost.seq)
        }
        _ => format!("{place} is lost since #{}", lost.seq),
    }
}

const fn cause_words(cause: InvalidationCause) -> &'static str {
    match cause {
        InvalidationCause::Leak => "leak",
        InvalidationCause::Contamination => "contamination",
        InvalidationCause::EvaluatorBug => "evaluator bug",
        InvalidationCause::DataCorruption => "data corruption",
        InvalidationCause::WrongBaseline => "wrong baseline",
        InvalidationCause::Unreproducible => "unreproducible",
        InvalidationCause::Fabricated => "fabricated",
        InvalidationCause::Mislabelled => "mislabelled",
        InvalidationCause::ProtocolRetired => "protocol retired",
        InvalidationCause::OwnerWithdrawn => "withdrawn by its owner",
    }
}

fn rests(out: &mut String, resting: &[Resting]) {
    if resting.is_empty() {
        return line(out, "rests on it", "nothing");
    }
    for (place, one) in resting.iter().take(LIST_MAX).enumerate() {
        let running = match one.running.len() {
            0 => String::new(),
            count => format!(", {count} running"),
        };
        let text = format!(
            "{} {}: {}, {} trials{running}",
            one.experiment,
            terminal(one.config.as_str()),
            one.standing.word(),
            one.trials.len()
        );
        line(out, if place == 0 { "rests on it" } else { "" }, &text);
    }
    more(out, resting.len());
}
