//! Evidence that open things rest on.

use serde::{Deserialize, Serialize};

use super::{At, Fold, State, entry, mint};
use crate::event::{EvidenceInvalidated, EvidenceKind, EvidenceRecorded, EvidenceSuperseded, Subject};
use crate::id::{EvidenceId, GoalId, Seq, TodoId};
use crate::text::Text;

/// Whether evidence counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It counts.
    Current,
    /// Newer evidence stands in its place.
    Superseded,
    /// It was found wrong.
    Invalidated,
}

impl Standing {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Superseded => "superseded",
            Self::Invalidated => "invalidated",
        }
    }
}

/// A piece of evidence, as far as decisions need it; its content is in the log and the blob store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// The goal.
    pub goal: GoalId,
    /// What it is about.
    pub about: Subject,
    /// Its form.
    pub kind: EvidenceKind,
    /// What it shows.
    pub summary: Text,
    /// Exit code, if a command was run.
    pub exit: Option<i32>,
    /// Whether it is a measured value, which promotions may cite.
    pub is_row: bool,
    /// The record.
    pub seq: Seq,
    /// Whether it counts.
    pub standing: Standing,
}

impl State {
    pub(super) fn evidence_recorded(&mut self, at: &At, event: &EvidenceRecorded) -> Fold {
        mint(&mut self.minted.evidence, event.id.0, EvidenceId::LETTER)?;
        let evidence = Evidence {
            goal: event.goal.clone(),
            about: event.about.clone(),
            kind: event.kind,
            summary: event.summary.clone(),
            exit: event.exit,
            is_row: event.metric.is_some(),
            seq: at.seq,
            standing: Standing::Current,
        };
        self.evidence.insert(event.id, evidence);
        Ok(())
    }

    pub(super) fn evidence_invalidated(&mut self, event: &EvidenceInvalidated) -> Fold {
        self.withdraw_evidence(event.id, Standing::Invalidated)
    }

    pub(super) fn evidence_superseded(&mut self, event: &EvidenceSuperseded) -> Fold {
        entry(&mut self.evidence, &event.by, "known evidence")?;
        self.withdraw_evidence(event.id, Standing::Superseded)
    }

    /// Evidence stops counting. What rested on it is reopened by events of its own. Evidence of finished work may have
    /// left the state, which changes nothing here.
    fn withdraw_evidence(&mut self, id: EvidenceId, standing: Standing) -> Fold {
        if id.0 > self.minted.evidence {
            return Err(format!("{id} does not exist"));
        }
        if let Some(evidence) = self.evidence.get_mut(&id) {
            evidence.standing = standing;
        }
        Ok(())
    }

    /// Evidence about a todo that was closed stays only as far as a criterion or lineage rests on it.
    pub(super) fn forget_evidence_about(&mut self, todo: TodoId) {
        let Self { evidence, goals, .. } = self;
        let rested_on = |id: &EvidenceId| {
            goals.values().flat_map(|goal| goal.criteria.values()).any(|c| c.met_by == Some(*id))
        };
        evidence
            .retain(|id, evidence| evidence.about != Subject::Todo(todo) || evidence.is_row || rested_on(id));
    }
}
