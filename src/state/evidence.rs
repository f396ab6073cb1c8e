//! Evidence that open things rest on, and until when it counts.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{At, Fold, Goal, GoalStatus, State, entry, mint};
use crate::event::{EvidenceInvalidated, EvidenceKind, EvidenceRecorded, EvidenceSuperseded, Subject};
use crate::id::{CriterionId, EvidenceId, GoalId, Seq, TodoId};
use crate::text::Text;
use crate::time::Timestamp;

/// What was last recorded about whether evidence counts. It may also have become too old, which nothing records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It counts.
    Current,
    /// What it was taken for has changed since: the objective of its goal, or what shows its todo done.
    Stale,
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
            Self::Stale => "stale",
            Self::Superseded => "superseded",
            Self::Invalidated => "invalidated",
        }
    }
}

/// Why evidence no longer counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It was said to be good until then.
    Expired(Timestamp),
    /// What it was taken for changed in that record.
    Outdated(Seq),
    /// That record put newer evidence in its place.
    Superseded(Seq),
    /// That record found it wrong.
    Invalidated(Seq),
}

impl Ended {
    /// The word for what it is now.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Expired(_) | Self::Outdated(_) => Standing::Stale.word(),
            Self::Superseded(_) => Standing::Superseded.word(),
            Self::Invalidated(_) => Standing::Invalidated.word(),
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expired(at) => write!(f, "is stale: it was good until {at}"),
            Self::Outdated(seq) => write!(f, "is stale: what it was taken for changed in #{seq}"),
            Self::Superseded(seq) => write!(f, "was superseded in #{seq}"),
            Self::Invalidated(seq) => write!(f, "was invalidated in #{seq}"),
        }
    }
}

/// A criterion that no current evidence shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenCriterion {
    /// Which.
    pub id: CriterionId,
    /// What it rested on that has ended, and how; nothing if it is known no more.
    pub rested: Option<(EvidenceId, Option<Ended>)>,
    /// The record that opened it again.
    pub reopened: Option<Seq>,
}

impl fmt::Display for OpenCriterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id;
        match (&self.rested, self.reopened) {
            (Some((by, Some(ended))), _) => write!(f, "{id} rests on {by}, which {ended}"),
            (Some((by, None)), _) => write!(f, "{id} rests on {by}, which is gone"),
            (None, Some(seq)) => write!(f, "{id} is open again since #{seq}"),
            (None, None) => write!(f, "{id} is open"),
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
    /// What was last recorded about whether it counts.
    pub standing: Standing,
    /// The record that said so, unless it is current.
    pub since: Option<Seq>,
    /// When it is too old to show anything.
    pub valid_until: Option<Timestamp>,
}

impl Evidence {
    /// Why it does not count at this instant; none if it does.
    #[must_use]
    pub fn ended(&self, now: Timestamp) -> Option<Ended> {
        let since = self.since.unwrap_or(self.seq);
        match self.standing {
            Standing::Invalidated => Some(Ended::Invalidated(since)),
            Standing::Superseded => Some(Ended::Superseded(since)),
            Standing::Stale => Some(Ended::Outdated(since)),
            Standing::Current => self.valid_until.filter(|until| *until <= now).map(Ended::Expired),
        }
    }
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
            since: None,
            valid_until: event.valid_until,
        };
        self.evidence.insert(event.id, evidence);
        Ok(())
    }

    pub(super) fn evidence_invalidated(&mut self, at: &At, event: &EvidenceInvalidated) -> Fold {
        self.withdraw_evidence(at, event.id, Standing::Invalidated)
    }

    pub(super) fn evidence_superseded(&mut self, at: &At, event: &EvidenceSuperseded) -> Fold {
        entry(&mut self.evidence, &event.by, "known evidence")?;
        self.withdraw_evidence(at, event.id, Standing::Superseded)
    }

    /// Evidence stops counting. What rested on it is reopened by events of its own. Evidence of finished work may have
    /// left the state, which changes nothing here.
    fn withdraw_evidence(&mut self, at: &At, id: EvidenceId, standing: Standing) -> Fold {
        if id.0 > self.minted.evidence {
            return Err(format!("{id} does not exist"));
        }
        if let Some(evidence) = self.evidence.get_mut(&id) {
            evidence.standing = standing;
            evidence.since = Some(at.seq);
        }
        Ok(())
    }

    /// What was taken for something else than is wanted now becomes stale. A measured value stays what it is: what it
    /// was taken for is its trial.
    pub(super) fn outdate(&mut self, at: &At, taken_for: &Subject) {
        let of = |evidence: &Evidence| match taken_for {
            Subject::Goal(goal) => evidence.goal == *goal,
            Subject::Todo(_) | Subject::Gate(_) | Subject::Trial(_) => evidence.about == *taken_for,
        };
        for evidence in self.evidence.values_mut().filter(|evidence| !evidence.is_row && of(evidence)) {
            if evidence.standing == Standing::Current {
                evidence.standing = Standing::Stale;
                evidence.since = Some(at.seq);
            }
        }
    }

    /// Criteria of a goal that no current evidence shows at this instant.
    #[must_use]
    pub fn open_criteria(&self, goal: &Goal, now: Timestamp) -> Vec<OpenCriterion> {
        let open = goal.criteria.iter().filter_map(|(id, criterion)| {
            let rested = match criterion.met_by {
                Some(by) => match self.evidence.get(&by) {
                    Some(evidence) => Some((by, Some(evidence.ended(now)?))),
                    None => Some((by, None)),
                },
                None => None,
            };
            Some(OpenCriterion { id: *id, rested, reopened: criterion.reopened })
        });
        open.collect()
    }

    /// What a completed goal no longer shows.
    #[must_use]
    pub fn findings(&self, goal: &Goal, now: Timestamp) -> Vec<OpenCriterion> {
        if goal.status == GoalStatus::Completed { self.open_criteria(goal, now) } else { Vec::new() }
    }

    /// Whether a goal has criteria and current evidence shows each.
    #[must_use]
    pub fn is_accepted(&self, goal: &Goal, now: Timestamp) -> bool {
        !goal.criteria.is_empty() && self.open_criteria(goal, now).is_empty()
    }

    /// What criteria and approvals rest on. It stays in the state, whatever becomes of what it is about.
    pub(super) fn rested_on(&self) -> BTreeSet<EvidenceId> {
        let criteria = self.goals.values().flat_map(|goal| goal.criteria.values()).filter_map(|c| c.met_by);
        criteria
            .chain(self.approvals.values().flat_map(|approval| approval.rests_on.iter().copied()))
            .collect()
    }

    /// Evidence about a todo that was closed stays only as far as a criterion, an approval or lineage rests on it.
    pub(super) fn forget_evidence_about(&mut self, todo: TodoId) {
        let about = Subject::Todo(todo);
        if self.evidence.values().any(|evidence| evidence.about == about) {
            let kept = self.rested_on();
            self.evidence
                .retain(|id, evidence| evidence.about != about || evidence.is_row || kept.contains(id));
        }
    }
}
