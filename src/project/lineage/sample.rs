//! Campaigns to try things on: a realistic one, and random ones.

use proptest::prelude::*;

use super::Graph;
use crate::event::{
    Blocks, DatasetRegistered, Direction, Event, EvidenceInvalidated, EvidenceKind, EvidenceRecorded,
    EvidenceSuperseded, ExperimentRegistered, GateDecided, GateOpened, GateOutcome, GoalStarted,
    HypothesisProposed, InvalidationCause, MetricDefined, MetricRow, PromotionRecorded, Split, Subject,
    TodoAdded, TodoSpec, TrialEnd, TrialEnded, TrialStarted,
};
use crate::hash::Hash;
use crate::id::{
    Actor, EvidenceId, ExperimentId, GateId, GoalId, HypothesisId, Label, PromotionId, Seq, TodoId, TrialId,
};
use crate::state::At;
use crate::text::Text;
use crate::time::Timestamp;

/// Collects events, minting ids; each event is a record.
#[derive(Default)]
pub(crate) struct Campaign {
    pub(crate) events: Vec<(Actor, Event)>,
    hypotheses: u32,
    experiments: u32,
    trials: u32,
    evidence: u32,
    gates: u32,
    promotions: u32,
    todos: u32,
}

pub(crate) fn text(text: &str) -> Text {
    text.parse().unwrap()
}

fn label(name: &str) -> Label {
    name.parse().unwrap()
}

fn goal() -> GoalId {
    "wine".parse().unwrap()
}

impl Campaign {
    pub(crate) fn push(&mut self, actor: &str, event: impl Into<Event>) {
        self.events.push((actor.parse().unwrap(), event.into()));
    }

    pub(crate) fn start() -> Self {
        let mut campaign = Self::default();
        let objective = text("held-out accuracy of at least 0.95 with the smallest k");
        campaign.push(
            "owner/ana",
            GoalStarted { criteria: vec![], goal: goal(), objective, read: vec![], write: vec![] },
        );
        let (metric, unit) = (label("accuracy"), label("fraction"));
        let title = text("rows classified rightly");
        campaign.push("owner/ana", MetricDefined { direction: Direction::Maximize, metric, title, unit });
        for (name, rows, split) in [("wine-cv", 120, Split::Dev), ("wine-holdout", 58, Split::Holdout)] {
            let digest = Hash::blob(name.as_bytes());
            let title = text("UCI Wine, split by seed 1");
            let dataset = label(name);
            campaign
                .push("owner/ana", DatasetRegistered { bytes: None, dataset, digest, rows, split, title });
        }
        campaign
    }

    pub(crate) fn hypothesis(&mut self, actor: &str, claim: &str, refines: &[u32]) -> u32 {
        self.todos += 1;
        self.hypotheses += 1;
        let id = TodoId(self.todos);
        self.push(actor, TodoAdded { goal: goal(), id, spec: TodoSpec::titled(text("test the claim")) });
        let refines = refines.iter().copied().map(HypothesisId).collect();
        let event = HypothesisProposed {
            goal: goal(),
            id: HypothesisId(self.hypotheses),
            refines,
            text: text(claim),
            todo: Some(id),
        };
        self.push(actor, event);
        self.hypotheses
    }

    pub(crate) fn experiment(&mut self, actor: &str, tests: u32, config: &str, from: Option<u32>) -> u32 {
        self.experiments += 1;
        let event = ExperimentRegistered {
            config: text(config),
            datasets: vec![label("wine-cv")],
            goal: goal(),
            id: ExperimentId(self.experiments),
            starts_from: from.map(PromotionId),
            tests: HypothesisId(tests),
        };
        self.push(actor, event);
        self.experiments
    }

    pub(crate) fn trial(&mut self, actor: &str, experiment: u32, seed: u64) -> u32 {
        self.trials += 1;
        let id = TrialId(self.trials);
        self.push(actor, TrialStarted { experiment: ExperimentId(experiment), id, seed });
        self.trials
    }

    pub(crate) fn row(&mut self, actor: &str, trial: u32, dataset: &str, value: &str, spread: &str) -> u32 {
        self.evidence += 1;
        let is_cv = dataset == "wine-cv";
        let row = MetricRow {
            dataset: label(dataset),
            metric: label("accuracy"),
            n: Some(if is_cv { 120 } else { 58 }),
            spread: (!spread.is_empty()).then(|| spread.parse().unwrap()),
            trial: TrialId(trial),
            value: value.parse().unwrap(),
        };
        let summary = format!("accuracy {value} on {dataset}");
        self.evidence_about(actor, Subject::Trial(TrialId(trial)), Some(row), &summary)
    }

    pub(crate) fn note(&mut self, actor: &str, summary: &str) -> u32 {
        self.evidence += 1;
        self.evidence_about(actor, Subject::Goal(goal()), None, summary)
    }

    fn evidence_about(&mut self, actor: &str, about: Subject, metric: Option<MetricRow>, what: &str) -> u32 {
        let kind = if metric.is_some() { EvidenceKind::Metric } else { EvidenceKind::Note };
        let event = EvidenceRecorded {
            about,
            bytes: None,
            digest: None,
            exit: None,
            goal: goal(),
            id: EvidenceId(self.evidence),
            kind,
            metric,
            revision: 1,
            source: None,
            summary: text(what),
            valid_until: None,
        };
        self.push(actor, event);
        self.evidence
    }

    pub(crate) fn run(&mut self, actor: &str, experiment: u32, seed: u64, value: &str, spread: &str) -> u32 {
        let trial = self.trial(actor, experiment, seed);
        let row = self.row(actor, trial, "wine-cv", value, spread);
        self.push(actor, TrialEnded { end: TrialEnd::Ok, id: TrialId(trial), why: None });
        row
    }

    pub(crate) fn gate(&mut self, actor: &str, question: &str, evidence: &[u32]) -> u32 {
        self.gates += 1;
        let event = GateOpened {
            blocks: Blocks::default(),
            evidence: evidence.iter().copied().map(EvidenceId).collect(),
            goal: goal(),
            id: GateId(self.gates),
            options: vec![],
            question: text(question),
            scope: None,
        };
        self.push(actor, event);
        self.gates
    }

    pub(crate) fn decide(&mut self, gate: u32, outcome: GateOutcome, why: &str) {
        let (id, why) = (GateId(gate), text(why));
        let decided = GateDecided { id, outcome, rests_on: vec![], valid_until: None, why };
        self.push("owner/ana", decided);
    }

    pub(crate) fn promote(&mut self, gate: u32, cites: &[u32], contrast: &[u32], title: &str) -> u32 {
        let replaces = (self.promotions > 0).then_some(PromotionId(self.promotions));
        self.promotions += 1;
        let event = PromotionRecorded {
            bytes: None,
            artifact: Hash::blob(title.as_bytes()),
            cites: cites.iter().copied().map(EvidenceId).collect(),
            contrast: contrast.iter().copied().map(EvidenceId).collect(),
            gate: GateId(gate),
            goal: goal(),
            id: PromotionId(self.promotions),
            replaces,
            slot: label("incumbent"),
            title: text(title),
        };
        self.push("agent/a1", event);
        self.promotions
    }

    pub(crate) fn invalidate(&mut self, evidence: u32, why: &str) {
        let (cause, id) = (InvalidationCause::Leak, EvidenceId(evidence));
        self.push("owner/ana", EvidenceInvalidated { cause, id, why: text(why) });
    }

    pub(crate) fn supersede(&mut self, evidence: u32, by: u32) {
        let (id, by) = (EvidenceId(evidence), EvidenceId(by));
        self.push("agent/a1", EvidenceSuperseded { by, id, why: text("measured again") });
    }

    /// The graph of the first `count` records.
    pub(crate) fn prefix(&self, count: usize) -> Graph {
        let mut graph = Graph::default();
        for (seq, (actor, event)) in (1_u64..).zip(self.events.iter().take(count)) {
            let ts = Timestamp::from_micros(1_796_128_496_000_000 + 1_000_000 * i64::try_from(seq).unwrap());
            let at = At { seq: Seq(seq), ts, actor: actor.clone() };
            let hash = Hash::blob(&seq.to_le_bytes());
            graph.record(&at, &hash, std::slice::from_ref(event)).unwrap();
        }
        graph
    }

    pub(crate) fn graph(&self) -> Graph {
        self.prefix(self.events.len())
    }
}

/// Three agents tune a k-nearest-neighbour classifier; the owner promotes one result; one row turns out to be wrong
/// (`faulty`), and work that started from the promotion goes on.
pub(crate) fn wine(faulty: bool) -> Campaign {
    let mut c = Campaign::start();
    let h1 = c.hypothesis("agent/a1", "The nearest neighbour alone is a fair baseline", &[]);
    let x1 = c.experiment("agent/a1", h1, "k=1 metric=euclidean scaling=none", None);
    let base = [c.run("agent/a1", x1, 1, "0.7500", "0.0589"), c.run("agent/a1", x1, 2, "0.7333", "0.0612")];
    let h2 =
        c.hypothesis("agent/a2", "Features on different scales drown each other: standardise them", &[h1]);
    let h3 = c.hypothesis("agent/a3", "More neighbours smooth out noise in the raw features", &[h1]);
    let x2 = c.experiment("agent/a2", h2, "k=1 metric=euclidean scaling=standard", None);
    let x3 = c.experiment("agent/a3", h3, "k=15 metric=euclidean scaling=none", None);
    let x4 = c.experiment("agent/a3", h3, "k=5 metric=euclidean scaling=none", None);
    c.run("agent/a2", x2, 1, "0.9417", "0.0349");
    c.run("agent/a2", x2, 2, "0.9500", "0.0280");
    c.run("agent/a3", x3, 1, "0.7083", "0.0707");
    c.run("agent/a3", x3, 2, "0.7250", "0.0533");
    let odd = c.run("agent/a3", x4, 1, "0.9917", "0.0100");
    c.run("agent/a3", x4, 2, "0.7167", "0.0634");
    c.invalidate(odd, "fitted on the rows that it was judged on");
    let h4 = c.hypothesis("agent/a2", "Squeezing every feature into 0..1 does as well", &[h2]);
    let h5 = c.hypothesis("agent/a1", "Manhattan distance suits features that vary one by one", &[h2]);
    let x5 = c.experiment("agent/a2", h4, "k=1 metric=euclidean scaling=minmax", None);
    let x6 = c.experiment("agent/a1", h5, "k=5 metric=manhattan scaling=standard", None);
    let x7 = c.experiment("agent/a1", h5, "k=3 metric=manhattan scaling=standard", None);
    c.run("agent/a2", x5, 1, "0.9333", "0.0373");
    c.run("agent/a2", x5, 2, "0.9417", "0.0349");
    let best = [
        c.run("agent/a1", x6, 1, "0.9750", "0.0228"),
        c.run("agent/a1", x6, 2, "0.9667", "0.0186"),
        c.run("agent/a1", x6, 3, "0.9750", "0.0228"),
    ];
    c.run("agent/a1", x7, 1, "0.9583", "0.0295");
    c.run("agent/a1", x7, 2, "0.9667", "0.0349");
    let h6 = c.hypothesis("agent/a3", "Chebyshev distance ignores the small features", &[]);
    let x8 = c.experiment("agent/a3", h6, "k=5 metric=chebyshev scaling=standard", None);
    c.run("agent/a3", x8, 1, "0.9083", "0.0456");
    let lost = c.trial("agent/a3", x8, 2);
    c.push("system", TrialEnded { end: TrialEnd::Lost, id: TrialId(lost), why: Some(text("lease expired")) });
    let judge = c.trial("agent/a1", x6, 1);
    let holdout = c.row("agent/a1", judge, "wine-holdout", "0.9828", "");
    c.push("agent/a1", TrialEnded { end: TrialEnd::Ok, id: TrialId(judge), why: None });
    let question = "Promote k=5 metric=manhattan scaling=standard? 3 seeds agree, held out 0.9828";
    let gate = c.gate("agent/a1", question, &[best[0], best[1], best[2], holdout]);
    c.decide(gate, GateOutcome::Approve, "clear of the baseline by 23 points");
    let p = c.promote(gate, &[best[0], best[1], best[2], holdout], &base, "knn k=5 manhattan, standardised");
    let h7 = c.hypothesis("agent/a2", "Weighting neighbours by distance lets k shrink", &[h5]);
    let x9 = c.experiment("agent/a2", h7, "k=3 metric=manhattan scaling=standard weights=distance", Some(p));
    c.run("agent/a2", x9, 1, "0.9667", "0.0186");
    c.trial("agent/a2", x9, 2);
    c.hypothesis("agent/a3", "Drop the two features that repeat others", &[h7]);
    if faulty {
        c.invalidate(base[0], "fold 3 leaked into the training rows");
        c.invalidate(base[1], "fold 3 leaked into the training rows");
    }
    c
}

/// The same work by people who never say what refines what.
pub(crate) fn flat() -> Campaign {
    let mut c = wine(false);
    for (_, event) in &mut c.events {
        if let Event::HypothesisProposed(hypothesis) = event {
            hypothesis.refines.clear();
        }
    }
    c
}

/// Titles that break careless writers.
pub(crate) const HOSTILE: [&str; 9] = [
    "plain",
    "\"quoted\" \\N \\ <b>&amp;</b> ]]>",
    "\u{1b}[31mred\u{0}\u{7}",
    "line\nbreak\ttab\u{2028}sep",
    "\u{202e}desrever",
    "名前の長い題名名前の長い題名名前の長い題名名前の長い題名名前の長い題名",
    "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW",
    "🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂",
    "\u{fdfd}\u{fdfd}\u{fdfd} e\u{301}\u{301}\u{301}\u{301}\u{301} \u{ffff}",
];

/// Plays a list of small numbers as a campaign: whatever they are, every reference exists.
fn play(moves: &[(u8, u32, u32, u32)]) -> Campaign {
    let mut c = Campaign::start();
    for &(what, a, b, d) in moves {
        let pick = |count: u32, number: u32| (count > 0).then(|| 1 + number % count.max(1));
        let title = HOSTILE[d as usize % HOSTILE.len()];
        let actor = ["agent/a1", "agent/a2", "owner/ana"][b as usize % 3];
        match what {
            0 => {
                let parents: Vec<u32> = [a, b].into_iter().filter_map(|n| pick(c.hypotheses, n)).collect();
                c.hypothesis(actor, title, &parents[..(d as usize % 3).min(parents.len())]);
            }
            1 => {
                if let Some(tests) = pick(c.hypotheses, a) {
                    let from = pick(c.promotions, b).filter(|_| d % 2 == 0);
                    c.experiment(actor, tests, title, from);
                }
            }
            2 => {
                if let Some(experiment) = pick(c.experiments, a) {
                    c.run(actor, experiment, u64::from(b), ["0.9", "0.75", "-3.250"][d as usize % 3], "0.01");
                }
            }
            3 => {
                if let Some(trial) = pick(c.trials, a) {
                    c.row(actor, trial, "wine-holdout", ["1", "0.50"][b as usize % 2], "");
                }
            }
            4 => {
                c.note(actor, title);
            }
            5 => {
                let seen: Vec<u32> = [a, b].into_iter().filter_map(|n| pick(c.evidence, n)).collect();
                let gate = c.gate(actor, title, &seen);
                c.decide(gate, GateOutcome::Approve, title);
            }
            6 => {
                if let Some(gate) = pick(c.gates, d) {
                    let cites: Vec<u32> = [a, b].into_iter().filter_map(|n| pick(c.evidence, n)).collect();
                    let contrast: Vec<u32> = [a / 3, d]
                        .into_iter()
                        .filter_map(|n| pick(c.evidence, n))
                        .take(b as usize % 3)
                        .collect();
                    c.promote(gate, &cites, &contrast, title);
                }
            }
            7 => {
                if let Some(evidence) = pick(c.evidence, a) {
                    c.invalidate(evidence, title);
                }
            }
            _ => {
                if let Some((evidence, by)) = pick(c.evidence, a).zip(pick(c.evidence, b)) {
                    c.supersede(evidence, by);
                }
            }
        }
    }
    c
}

/// Random campaigns of up to `most` steps.
pub(crate) fn campaigns(most: usize) -> impl Strategy<Value = Campaign> {
    prop::collection::vec((0_u8..9, 0_u32..40, 0_u32..40, 0_u32..40), 0..most).prop_map(|moves| play(&moves))
}

impl std::fmt::Debug for Campaign {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.events.iter().map(|(_, event)| event)).finish()
    }
}
