//! Lineage.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use loopx::decimal::Decimal;
use loopx::event::{Direction, Split, TrialEnd};
use loopx::hash::Hash;
use loopx::id::{EvidenceId, ExperimentId, GateId, HypothesisId, Label, PromotionId, TodoId, TrialId};
use loopx::text::Text;

use super::tick::word;

// `lineage …`
#[derive(Debug, Subcommand)]
pub enum Lineage {
    /// Define a metric
    Metric {
        /// Its name
        metric: Label,
        /// maximize or minimize
        #[arg(long, value_name = "DIRECTION", value_parser = direction)]
        direction: Direction,
        /// Its unit
        #[arg(long, value_name = "UNIT")]
        unit: Label,
        /// What it is and how it is computed
        #[arg(long, value_name = "TEXT")]
        title: Text,
    },
    /// Register a version of a data set
    Dataset(Dataset),
    /// Propose a hypothesis
    Hypothesis {
        /// The claim
        text: Text,
        /// Hypothesis that it refines (repeat)
        #[arg(long, value_name = "H1")]
        refines: Vec<HypothesisId>,
        /// Todo under which it is tested
        #[arg(long, value_name = "T7")]
        todo: Option<TodoId>,
    },
    /// Register an experiment
    Experiment {
        /// Hypothesis that it tests
        #[arg(long, value_name = "H1")]
        tests: HypothesisId,
        /// Its configuration
        #[arg(long, value_name = "TEXT")]
        config: Text,
        /// Data set that it uses (repeat)
        #[arg(long, value_name = "NAME", required = true)]
        dataset: Vec<Label>,
        /// Promotion that it starts from
        #[arg(long, value_name = "P1")]
        starts_from: Option<PromotionId>,
    },
    /// Start or end a trial
    #[command(subcommand)]
    Trial(Trial),
    /// Record a measured value of a trial
    Evidence(Row),
    /// Put an artifact into a slot, on an approved gate
    Promote(Promote),
    /// Say what a promotion rests on, and whether that still stands
    Why {
        /// The promotion
        promotion: PromotionId,
    },
    /// Write the graph for another program, in the form that --format names
    Export {
        /// File to write [default: standard output]
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Replace the file if it exists
        #[arg(long, requires = "output")]
        force: bool,
    },
}

// `lineage dataset`
#[derive(Debug, Args)]
pub struct Dataset {
    /// Its name
    pub dataset: Label,
    /// File whose content it is
    #[arg(long, value_name = "FILE", required_unless_present = "digest", conflicts_with = "digest")]
    pub file: Option<PathBuf>,
    /// BLAKE3 of its content
    #[arg(long, value_name = "HEX")]
    pub digest: Option<Hash>,
    /// How many rows it has
    #[arg(long, value_name = "N")]
    pub rows: u64,
    /// train, dev, holdout or serving
    #[arg(long, value_name = "SPLIT", value_parser = split)]
    pub split: Split,
    /// What it is and where it comes from
    #[arg(long, value_name = "TEXT")]
    pub title: Text,
}

// `lineage trial …`
#[derive(Debug, Subcommand)]
pub enum Trial {
    /// Start a trial
    Start {
        /// The experiment
        experiment: ExperimentId,
        /// The seed
        #[arg(long, value_name = "N")]
        seed: u64,
    },
    /// End a trial
    End {
        /// The trial
        trial: TrialId,
        /// ok, failed, stopped or lost
        #[arg(long, value_name = "END", default_value = "ok", value_parser = trial_end)]
        end: TrialEnd,
        /// What went wrong
        #[arg(long, value_name = "TEXT")]
        why: Option<Text>,
    },
}

// `lineage evidence`
#[derive(Debug, Args)]
pub struct Row {
    /// The trial that measured it
    #[arg(long, value_name = "R1")]
    pub trial: TrialId,
    /// The metric
    #[arg(long, value_name = "NAME")]
    pub metric: Label,
    /// The data set
    #[arg(long, value_name = "NAME")]
    pub dataset: Label,
    /// The value, as decimal text
    #[arg(long, value_name = "DECIMAL", allow_negative_numbers = true)]
    pub value: Decimal,
    /// The spread over folds or seeds
    #[arg(long, value_name = "DECIMAL")]
    pub spread: Option<Decimal>,
    /// How many observations stand behind it
    #[arg(long, value_name = "N")]
    pub n: Option<u64>,
    /// File with the raw result, whose content is kept
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// What it shows, in a line [default: the value]
    #[arg(long, value_name = "TEXT")]
    pub summary: Option<Text>,
}

// `lineage promote`
#[derive(Debug, Args)]
pub struct Promote {
    /// What it is
    pub title: Text,
    /// The slot
    #[arg(long, value_name = "NAME")]
    pub slot: Label,
    /// The approved gate
    #[arg(long, value_name = "G1")]
    pub gate: GateId,
    /// File that is promoted, whose content is kept
    #[arg(long, value_name = "FILE", required_unless_present = "artifact", conflicts_with = "artifact")]
    pub file: Option<PathBuf>,
    /// BLAKE3 of what is promoted
    #[arg(long, value_name = "HEX")]
    pub artifact: Option<Hash>,
    /// Row that speaks for it (repeat)
    #[arg(long, value_name = "E9", required = true)]
    pub cites: Vec<EvidenceId>,
    /// Baseline row (repeat)
    #[arg(long, value_name = "E9")]
    pub contrast: Vec<EvidenceId>,
    /// Promotion that it replaces, which must hold the slot
    #[arg(long, value_name = "P1")]
    pub replaces: Option<PromotionId>,
}

fn direction(text: &str) -> Result<Direction, String> {
    word(text, "maximize or minimize")
}

fn split(text: &str) -> Result<Split, String> {
    word(text, "train, dev, holdout or serving")
}

fn trial_end(text: &str) -> Result<TrialEnd, String> {
    word(text, "ok, failed, stopped or lost")
}
