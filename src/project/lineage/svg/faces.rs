//! The words on each kind of card.

use super::card::{Anchor, Card, Dot, GATE_HALF_H, Ink, LEFT, Line, RIGHT, ROOM, Strip};
use super::measure::{Group, Mark, Measured, Measures, Runs, Scope, Value};
use super::route::GATE_Y;
use super::text::{Font, fit, width, wrap};
use crate::decimal::Decimal;
use crate::event::GateOutcome;
use crate::project::lineage::compare::{Mean, verdict};
use crate::project::lineage::edge::EdgeKind;
use crate::project::lineage::graph::Graph;
use crate::project::lineage::node::{Facts, GateFacts, Node};
use crate::project::lineage::standing::{Standing, Standings};

/// An experiment: the claim, the configuration, what was measured, and against what.
pub(super) fn experiment(card: &mut Card, graph: &Graph, measures: &Measures<'_>, node: &Node) {
    card.heading(node);
    let hypothesis = graph.target(node, EdgeKind::Tests);
    let claim = hypothesis.map_or_else(String::new, |found| format!("{} {}", found.id, found.title()));
    card.paragraph(37, &claim, Font::Sans, 12, 3);
    card.paragraph(84, &node.title(), Font::Mono, 10, 2);
    let mut notes = measures.runs.get(&node.index).map_or_else(Vec::new, runs);
    let Some(measured) = measures.by_experiment.get(&node.index) else {
        card.line(118, "no value yet", Font::Sans, 11, Ink::Muted);
        return card.line(178, &notes.join(", "), Font::Sans, 10, Ink::Muted);
    };
    let Some(((group, values), scope)) = main_group(measured, measures) else { return };
    value_line(card, measured, *group, values);
    let baseline = scope.baseline.and_then(|index| graph.all().get(index));
    card.line(135, &against(measured, measures, *group, scope, node, baseline), Font::Sans, 11, Ink::Main);
    let base = scope.baseline.and_then(|index| measures.by_experiment.get(&index)?.mean(*group));
    strip(card, values, scope, base);
    let wrong = values.iter().filter(|value| value.mark == Mark::Invalid).count();
    if wrong > 0 {
        notes.insert(0, format!("{wrong} of {} rows invalid", values.len()));
    }
    for (other, _) in measured.groups.iter().filter(|(other, _)| other != group) {
        let mean =
            measured.mean(*other).map_or_else(|| "no valid row".to_owned(), |mean| mean.text(mean.digits));
        notes.push(format!("{} {mean}", other.1));
    }
    card.line(178, &notes.join(", "), Font::Sans, 10, if wrong > 0 { Ink::Alarm } else { Ink::Muted });
}

/// Runs without a result.
fn runs(runs: &Runs) -> Vec<String> {
    let counts =
        [(runs.running, "running"), (runs.failed, "failed"), (runs.stopped, "stopped"), (runs.lost, "lost")];
    counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect()
}

type Found<'m, 'a> = (&'m (Group<'a>, Vec<Value<'a>>), &'m Scope<'a>);

/// What the card is mainly about: the group that has most rows in the whole graph.
fn main_group<'m, 'a>(measured: &'m Measured<'a>, measures: &'m Measures<'a>) -> Option<Found<'m, 'a>> {
    let scoped = measured.groups.iter().filter_map(|found| Some((found, measures.scopes.get(&found.0)?)));
    scoped.rev().max_by_key(|(_, scope)| scope.rows)
}

/// Mean, largest spread, and how many observations by how many runs.
fn value_line(card: &mut Card, measured: &Measured<'_>, group: Group<'_>, values: &[Value<'_>]) {
    let counted: Vec<&Value<'_>> = values.iter().filter(|value| value.mark == Mark::Counts).collect();
    let Some(mean) = measured.mean(group) else {
        let tainted = values.iter().filter(|value| value.mark == Mark::Tainted).map(|value| value.value);
        let text = Mean::of(tainted).map(|mean| format!("{} tainted", mean.text(mean.digits)));
        return card.line(118, text.as_deref().unwrap_or("no valid row"), Font::Bold, 13, Ink::Alarm);
    };
    let text = fit(&mean.text(mean.digits), Font::Bold, 15, ROOM);
    let used = width(&text, Font::Bold, 15) + 6;
    let anchor = Anchor::Start;
    card.lines.push(Line { x: LEFT, y: 118, size: 15, font: Font::Bold, ink: Ink::Main, anchor, text });
    let mut about = String::new();
    if let Some(spread) = counted.iter().filter_map(|value| value.spread).max() {
        about = format!("±{spread} ");
    }
    if let Some(n) = counted.iter().filter_map(|value| value.n).min() {
        about.push_str(&format!("n {n}"));
    }
    if counted.len() > 1 {
        about.push_str(&format!(" ×{}", counted.len()));
    }
    let text = fit(&about, Font::Sans, 10, ROOM - used);
    if !text.is_empty() && text != "…" {
        let (font, ink, x) = (Font::Sans, Ink::Muted, LEFT + used);
        card.lines.push(Line { x, y: 118, size: 10, font, ink, anchor, text });
    }
}

fn against(
    measured: &Measured<'_>,
    measures: &Measures<'_>,
    group: Group<'_>,
    scope: &Scope<'_>,
    node: &Node,
    baseline: Option<&Node>,
) -> String {
    let Some(baseline) = baseline else { return "nothing to compare with".to_owned() };
    if baseline.index == node.index {
        return "baseline".to_owned();
    }
    let theirs = measures.by_experiment.get(&baseline.index).and_then(|found| found.mean(group));
    let ours = measured.mean(group);
    match ours.zip(theirs).and_then(|(ours, theirs)| ours.difference(theirs, 0)) {
        Some(difference) => {
            let word = verdict(scope.direction, ours, theirs).word();
            format!("{difference} vs {}: {word}", baseline.id)
        }
        None => format!("vs {}: inconclusive", baseline.id),
    }
}

/// Dots on the scale that all values of this metric on this data set share; equal values are stacked.
fn strip(card: &mut Card, values: &[Value<'_>], scope: &Scope<'_>, baseline: Option<Mean>) {
    let (low, high) =
        (fit(scope.low.as_str(), Font::Sans, 9, 52), fit(scope.high.as_str(), Font::Sans, 9, 52));
    let (left, right) = (width(&low, Font::Sans, 9) + 9, width(&high, Font::Sans, 9) + 9);
    let (x, y, w) = (LEFT + left, 156, ROOM - left - right);
    let span = scope.high.scaled().saturating_sub(scope.low.scaled());
    let place = |scaled: i128| {
        let off = scaled.saturating_sub(scope.low.scaled()).clamp(0, span);
        let pixels = off.checked_mul(i128::from(w)).and_then(|pixels| pixels.checked_div(span));
        x + pixels.and_then(|pixels| i32::try_from(pixels).ok()).unwrap_or(w / 2)
    };
    let mut dots: Vec<Dot> = Vec::new();
    for value in values {
        let at = place(value.value.scaled());
        let stacked = dots.iter().filter(|dot| (dot.x - at).abs() < 6).count();
        let step = [0, -5, 5].get(stacked % 3).copied().unwrap_or(0);
        dots.push(Dot { x: at, y: y + step, mark: value.mark });
    }
    let baseline = baseline.map(|mean| place(mean.scaled()));
    card.strip = Some(Strip { x, y, w, dots, baseline });
    for (x, anchor, text) in [(LEFT, Anchor::Start, low), (RIGHT, Anchor::End, high)] {
        card.lines.push(Line { x, y: y + 3, size: 9, font: Font::Sans, ink: Ink::Muted, anchor, text });
    }
}

/// A gate: the answer, by whom, the question, and the reason.
pub(super) fn gate(card: &mut Card, node: &Node) {
    let Facts::Gate(gate) = &node.facts else { return };
    card.centred(GATE_Y + 5, &node.id.to_string(), Font::Bold, 13, 60, Ink::Main);
    if card.standing != Standing::Valid {
        card.centred(11, card.standing.word(), Font::Bold, 10, ROOM, Ink::Alarm);
    }
    let mut y = GATE_Y + GATE_HALF_H + 15;
    for text in wrap(&node.title(), Font::Sans, 11, ROOM, 4) {
        card.centred(y, &text, Font::Sans, 11, ROOM, Ink::Main);
        y += 13;
    }
    card.centred(y + 3, &outcome(gate), Font::Bold, 11, ROOM, Ink::Main);
    if let Some(answer) = &gate.decided {
        for text in wrap(&format!("“{}”", answer.event.why), Font::Sans, 10, ROOM, 2) {
            card.centred(y + 17, &text, Font::Sans, 10, ROOM, Ink::Muted);
            y += 12;
        }
    }
}

/// The answer and who gave it.
fn outcome(gate: &GateFacts) -> String {
    let Some(answer) = &gate.decided else {
        return if gate.withdrawn.is_some() { "withdrawn" } else { "no answer yet" }.to_owned();
    };
    let word = match &answer.event.outcome {
        GateOutcome::Approve => "approved",
        GateOutcome::Reject => "rejected",
        GateOutcome::Defer => "put off",
        GateOutcome::Choice { option } => option.as_str(),
    };
    format!("{word} by {}", answer.actor.name())
}

/// A promotion: what took which slot, and what of its evidence is left.
pub(super) fn promotion(
    card: &mut Card,
    graph: &Graph,
    standings: &Standings,
    measures: &Measures<'_>,
    node: &Node,
) {
    let Facts::Promotion(promotion) = &node.facts else { return };
    card.heading(node);
    card.line(37, &format!("slot {}", promotion.slot), Font::Bold, 12, Ink::Main);
    card.paragraph(54, &node.title(), Font::Sans, 12, 3);
    card.line(102, &format!("artifact {}", promotion.artifact.short()), Font::Mono, 10, Ink::Muted);
    let stands = |kind: EdgeKind| {
        let cited: Vec<_> = graph.edges_of(node).filter(|edge| edge.kind == kind).collect();
        let left = cited.iter().filter(|edge| standings.of(edge.to).standing.survives()).count();
        (left, cited.len())
    };
    for (y, kind, what) in [(122, EdgeKind::Cites, "cited"), (137, EdgeKind::Contrast, "compared")] {
        let (left, all) = stands(kind);
        let ink = if left < all { Ink::Alarm } else { Ink::Main };
        if all > 0 {
            card.line(y, &format!("{left} of {all} {what} rows stand"), Font::Sans, 11, ink);
        }
    }
    // The first thing that both sides measured.
    let (cited, contrast) =
        (values(graph, standings, node, EdgeKind::Cites), values(graph, standings, node, EdgeKind::Contrast));
    let compared = measures.scopes.iter().find_map(|(group, scope)| {
        let side = |rows: &[(Group<'_>, &Decimal)]| {
            Mean::of(rows.iter().filter(|(found, _)| found == group).map(|(_, value)| *value))
        };
        let (ours, theirs) = (side(&cited)?, side(&contrast)?);
        let word = verdict(scope.direction, Some(ours), Some(theirs)).word();
        Some(format!("{}: {word}", ours.difference(theirs, 0)?))
    });
    let text = compared.unwrap_or_else(|| "comparison inconclusive".to_owned());
    card.line(156, &text, Font::Bold, 11, Ink::Main);
    let gate = graph.target(node, EdgeKind::DecidedBy).map_or_else(String::new, |gate| gate.id.to_string());
    card.line(174, &format!("decided at {gate}, unsigned"), Font::Sans, 10, Ink::Muted);
}

/// The values on one side of a promotion that still stand.
fn values<'a>(
    graph: &'a Graph,
    standings: &Standings,
    node: &'a Node,
    kind: EdgeKind,
) -> Vec<(Group<'a>, &'a Decimal)> {
    let cited = graph.edges_of(node).filter(|edge| edge.kind == kind);
    let left = cited.filter(|edge| standings.of(edge.to).standing.survives());
    left.filter_map(|edge| match &edge.to.facts {
        Facts::Evidence(evidence) => {
            let row = evidence.recorded.metric.as_ref()?;
            Some(((&row.metric, &row.dataset), &row.value))
        }
        _ => None,
    })
    .collect()
}
