//! What went wrong, for people and programs: a stable code, the first real cause, the next command, the exit code.

use loopx::app::bulk::BadLine;
use loopx::app::place::PlaceError;
use loopx::decide::{Hindrance, Refusal};
use loopx::event::LeaseTarget;
use loopx::event::codec::CodecError;
use loopx::id::{BadId, TodoId};
use loopx::ledger::{LedgerError, SubmitError};
use loopx::log::{Damage, LogError, Place};
use loopx::project::escape::terminal;
use loopx::state::Uncovered;
use loopx::time::Timestamp;

use crate::render::quoted;

/// Exit codes. The one table; README quotes it and a test compares.
pub mod exit {
    /// Done.
    pub const DONE: u8 = 0;
    /// An I/O or internal error.
    pub const IO: u8 = 1;
    /// Not a valid command line.
    pub const USAGE: u8 = 2;
    /// Refused by a rule.
    pub const REFUSED: u8 = 3;
    /// Busy or in conflict: try again.
    pub const BUSY: u8 = 4;
    /// The ledger is damaged, rolled back, forked or newer than this program.
    pub const DAMAGED: u8 = 5;
    /// The answer holds findings.
    pub const FINDINGS: u8 = 6;
    /// Whether a record is durable is not known.
    pub const UNKNOWN: u8 = 7;
    /// `next --exit-code`: WAIT.
    pub const WAIT: u8 = 10;
    /// `next --exit-code`: ASK.
    pub const ASK: u8 = 11;
    /// `next --exit-code`: PLAN.
    pub const PLAN: u8 = 12;
    /// `next --exit-code`: DONE.
    pub const GOAL_DONE: u8 = 13;
}

/// An answer that is an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The stable code.
    pub code: String,
    /// The first real cause.
    pub message: String,
    /// The exact next command.
    pub hint: Option<String>,
    /// The exit code.
    pub exit: u8,
    /// Whether the same command may succeed later without anything else changing.
    pub retryable: bool,
    /// Whether standard output holds the document of it already.
    pub printed: bool,
    /// The kernel's own code, for commands whose stable code may be one that LoopX's scripts know.
    pub reason: Option<String>,
}

impl Failure {
    /// A failure with everything said.
    pub fn new(code: impl Into<String>, exit: u8, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            hint: None,
            exit,
            retryable: exit == exit::BUSY,
            printed: false,
            reason: None,
        }
    }

    /// The same, with the next command.
    #[must_use]
    pub fn hint(mut self, command: impl Into<String>) -> Self {
        self.hint = Some(command.into());
        self
    }

    /// The same, when standard output holds the document of it already.
    #[must_use]
    pub fn already_printed(mut self) -> Self {
        self.printed = true;
        self
    }

    /// A command line that cannot be used.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new("usage", exit::USAGE, message)
    }

    /// The lines for a person.
    pub fn text(&self) -> String {
        let mut out = format!("error[{}]: {}\n", self.code, terminal(&self.message));
        if let Some(hint) = &self.hint {
            out.push_str(&format!("hint: {hint}\n"));
        }
        out
    }
}

impl From<BadId> for Failure {
    fn from(error: BadId) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<BadLine> for Failure {
    fn from(error: BadLine) -> Self {
        Self::new("request.malformed", exit::USAGE, error.to_string())
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let hint = next_step(&refusal);
        let later = matches!(&refusal, Refusal::QuotaExceeded { .. } | Refusal::HeldBy { .. });
        let mut failure = Self::new(refusal.code(), exit::REFUSED, refusal.to_string());
        failure.hint = hint;
        failure.retryable = later;
        failure
    }
}

/// The command that gets further. Each of these is parsed and run by a test.
fn next_step(refusal: &Refusal) -> Option<String> {
    let text = match refusal {
        Refusal::AgentUnknown { agent } | Refusal::AgentRetired { agent } => {
            format!("loopx agent register {agent}")
        }
        Refusal::AgentUnnamed => "loopx agent list".to_owned(),
        Refusal::OwnerOnly { .. } | Refusal::OwnerUnnamed | Refusal::OwnerUnknown { .. } => {
            "loopx owner list".to_owned()
        }
        Refusal::Unknown { what, .. } => match *what {
            "goal" => "loopx goal list".to_owned(),
            "gate" => "loopx gate list".to_owned(),
            "criterion" => "loopx goal show".to_owned(),
            "evidence" | "current evidence" => "loopx evidence list".to_owned(),
            _ => "loopx history".to_owned(),
        },
        Refusal::NothingToChange | Refusal::OutOfRange { .. } | Refusal::InPast { .. } => return None,
        Refusal::HeldAlready { on: LeaseTarget::Todo(todo), .. }
        | Refusal::KeyMismatch { todo, .. }
        | Refusal::StaleVersion { todo, .. }
        | Refusal::LeaseNotActive { todo, .. }
        | Refusal::KeyRequired { todo, .. } => format!("loopx task-lease inspect --todo-id {todo}"),
        Refusal::HeldAlready { on, .. } => format!("loopx lease renew {on}"),
        Refusal::KeyReused { seq, .. } => format!("loopx show '#{seq}'"),
        Refusal::KeyForAgents { todo } => format!("loopx todo claim {todo}"),
        Refusal::RowsNotShown { gate } => format!("loopx gate show {gate}"),
        Refusal::OwnBaseline { evidence } => format!("loopx history {evidence}"),
        Refusal::Exists { what: "goal", .. } | Refusal::GoalAmbiguous { .. } => "loopx goal list".to_owned(),
        Refusal::NoGoal => "loopx start-goal --goal-text \"...\"".to_owned(),
        Refusal::GoalNotActive { goal, status: loopx::state::GoalStatus::Paused } => {
            format!("loopx goal resume --goal {goal} --why \"...\"")
        }
        Refusal::GoalNotActive { goal, .. } => format!("loopx goal show {goal}"),
        Refusal::GoalNotAccepted { open, .. } => {
            let criterion = open.first().map_or_else(|| "A1".to_owned(), ToString::to_string);
            format!("loopx add \"...\" --serves {criterion}")
        }
        Refusal::GoalWithoutCriteria { goal } => {
            format!("loopx ask \"Is goal {goal} reached?\" --global")
        }
        Refusal::NotRunnable { todo, hindrance: Hindrance::Undecided(missing) } => ask_for(*todo, missing),
        Refusal::DecisionRequired { todo, missing } => ask_for(*todo, missing),
        Refusal::GoalHasOpenWork { .. } | Refusal::NotRunnable { .. } => "loopx ready --explain".to_owned(),
        Refusal::TodoNotOpen { .. } | Refusal::NoOpenTurn => "loopx next".to_owned(),
        Refusal::HeldBy { on: LeaseTarget::Todo(todo), .. } => format!("loopx history {todo}"),
        Refusal::NotHeld { on: LeaseTarget::Todo(todo) } | Refusal::NoTurn { todo } => {
            format!("loopx todo claim {todo}")
        }
        Refusal::StaleEpoch { on: LeaseTarget::Todo(todo), .. } => format!("loopx history {todo}"),
        Refusal::TurnOpen { todo, .. } => format!("loopx yield {todo} --why \"...\""),
        Refusal::TurnNotOpen { turn } => format!("loopx history {turn}"),
        Refusal::NotAccountable { turn } => format!(
            "loopx refresh-state --next-action \"...\" --delivery-outcome outcome_progress --turn-instance-id {turn}"
        ),
        Refusal::NotAMonitor { .. } => "loopx monitor list".to_owned(),
        Refusal::MonitorNotDue { todo, .. } | Refusal::NeedIsMonitor { todo } => format!("loopx show {todo}"),
        Refusal::MonitorSpec => "loopx add \"...\" --watch \"...\" --every 15m".to_owned(),
        Refusal::ResumeAmbiguous { todo } => format!("loopx todo defer {todo} --when T9 --why \"...\""),
        Refusal::SecretFound { .. } => "loopx check".to_owned(),
        Refusal::BudgetUsedUp { .. } | Refusal::QuotaExceeded { .. } | Refusal::SpendNotFound { .. } => {
            "loopx quota status".to_owned()
        }
        Refusal::EvidenceRequired { todo } => {
            format!("loopx done {todo} --proof \"CMD => RESULT\" --no-follow-up \"...\"")
        }
        Refusal::EvidenceNotCurrent { evidence, .. } | Refusal::EvidenceElsewhere { evidence, .. } => {
            format!("loopx history {evidence}")
        }
        Refusal::ContinuationRequired { todo }
        | Refusal::ContinuationAmbiguous { todo }
        | Refusal::HandOverNeedsNext { todo } => {
            format!("loopx done {todo} --proof \"CMD => RESULT\" --next \"...\"")
        }
        Refusal::CheckRequired { todo } | Refusal::CheckFailed { todo, .. } => format!("loopx show {todo}"),
        Refusal::GateNotAnswered { gate } | Refusal::OptionUnknown { gate, .. } => {
            format!("loopx gate show {gate}")
        }
        Refusal::GateNotOpen { gate }
        | Refusal::NotApproved { gate }
        | Refusal::ApprovalLapsed { gate, .. }
        | Refusal::NothingToEnd { gate } => format!("loopx history {gate}"),
        Refusal::ScopeNeedsTodos { scope } => {
            format!("loopx ask \"...\" --scope {} --blocks T1", quoted(&scope.to_string()))
        }
        Refusal::BlocksRequired => "loopx ask \"...\" --global".to_owned(),
        Refusal::SlotMoved { slot, .. } => format!("loopx history {slot}"),
        Refusal::OutsideScope { goal, .. } => format!("loopx goal show {goal}"),
        Refusal::NeedNotMet { need, .. } => format!("loopx history {need}"),
        _ => return None,
    };
    Some(text)
}

/// The gate that asks for a decision, or the command that opens one.
fn ask_for(todo: TodoId, missing: &Uncovered) -> String {
    match missing.asked {
        Some(gate) => format!("loopx gate show {gate}"),
        None => {
            let scope = quoted(&missing.scope.to_string());
            format!("loopx ask \"...\" --scope {scope} --blocks {todo}")
        }
    }
}

impl From<PlaceError> for Failure {
    fn from(error: PlaceError) -> Self {
        let message = error.to_string();
        match error {
            PlaceError::Two { nearer, .. } => {
                let directory = nearer.parent().unwrap_or(&nearer).display().to_string();
                Self::new("ledger.two", exit::REFUSED, message)
                    .hint(format!("loopx --dir {directory} connect"))
            }
            _ => Self::new("worktree.broken", exit::REFUSED, message).hint("git worktree repair"),
        }
    }
}

impl From<SubmitError> for Failure {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Refused(refusal) => refusal.into(),
            SubmitError::RequestReused { seq, .. } => {
                Self::new("request.reused", exit::REFUSED, error.to_string())
                    .hint(format!("loopx show '#{seq}'"))
            }
            SubmitError::Ledger(error) => error.into(),
            SubmitError::Unknown { .. } => {
                Self::new("ledger.durability_unknown", exit::UNKNOWN, error.to_string()).hint("loopx verify")
            }
            other => Self::new("internal", exit::IO, other.to_string()),
        }
    }
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Log(error) => error.into(),
            LedgerError::Event { error: CodecError::Newer { .. }, .. } => {
                Self::new("ledger.newer", exit::DAMAGED, error.to_string()).hint("loopx verify")
            }
            LedgerError::Event { error: CodecError::TooLarge { .. }, .. } => {
                Self::new("request.too_large", exit::REFUSED, error.to_string())
            }
            LedgerError::Event { .. } | LedgerError::Inconsistent(_) | LedgerError::Envelope { .. } => {
                Self::new("ledger.inconsistent", exit::DAMAGED, error.to_string()).hint("loopx verify")
            }
            LedgerError::Identity { .. } => Self::new("ledger.identity", exit::DAMAGED, error.to_string()),
            LedgerError::Frame(_) => Self::new("request.too_large", exit::REFUSED, error.to_string()),
            other => Self::new("internal", exit::IO, other.to_string()),
        }
    }
}

impl From<LogError> for Failure {
    fn from(error: LogError) -> Self {
        let message = match &error {
            LogError::Damaged(damage) => damaged(damage),
            other => other.to_string(),
        };
        let (code, exit, hint) = match &error {
            LogError::NotALedger { .. } => ("ledger.not_found", exit::IO, Some("loopx init")),
            LogError::FormatLost { .. } => ("ledger.damaged", exit::DAMAGED, Some("loopx doctor")),
            LogError::AlreadyExists { .. } => ("ledger.exists", exit::REFUSED, Some("loopx connect")),
            LogError::Newer { .. } => ("ledger.newer", exit::DAMAGED, Some("loopx --version")),
            LogError::Damaged(_) => ("ledger.damaged", exit::DAMAGED, Some("loopx verify")),
            LogError::RolledBack { .. } => ("ledger.rolled_back", exit::DAMAGED, Some("loopx verify")),
            LogError::Rewritten { .. } => ("ledger.rewritten", exit::DAMAGED, Some("loopx verify")),
            LogError::Forked { .. } => ("ledger.forked", exit::DAMAGED, Some("loopx verify")),
            LogError::Busy { .. } => ("ledger.busy", exit::BUSY, Some("loopx doctor")),
            LogError::Unreadable { .. } => ("ledger.unreadable", exit::IO, Some("loopx doctor")),
            LogError::NotWritable { .. } => ("ledger.not_writable", exit::IO, Some("loopx doctor")),
            LogError::Full { .. } => ("disk.full", exit::IO, Some("loopx doctor")),
            LogError::ForeignOwner { .. } => ("ledger.foreign_owner", exit::IO, Some("loopx doctor")),
            LogError::RefusedFileSystem { .. } => {
                ("ledger.file_system", exit::IO, Some("loopx init --dir PATH"))
            }
            LogError::WrongType { .. } => ("file.wrong_type", exit::IO, Some("loopx doctor")),
            LogError::DurabilityUnknown { .. } => {
                ("ledger.durability_unknown", exit::UNKNOWN, Some("loopx verify"))
            }
            LogError::LimitExceeded { .. } => ("limit.exceeded", exit::REFUSED, None),
            _ => ("io", exit::IO, None),
        };
        let mut failure = Self::new(code, exit, message);
        failure.hint = hint.map(str::to_owned);
        failure
    }
}

/// Where the damage is, what it is, and what is still sound after it. Nothing was changed.
fn damaged(damage: &Damage) -> String {
    let Place { seq, segment, offset } = &damage.place;
    let after = match &damage.sound_after {
        Some((first, last)) if first == last && first > seq => format!("; #{first} after it is sound"),
        Some((first, last)) if first > seq => {
            format!("; #{first} to #{last} after it are still chained to each other")
        }
        _ => "; nothing after it is sound".to_owned(),
    };
    format!(
        "record #{seq} (segment {segment}, byte {offset}): {}{after}; nothing was changed: restore the segment from a copy",
        damage.fault
    )
}

/// When something will be possible, for people: the time of day, with the day if it is another one.
pub fn when(at: Timestamp, now: Timestamp) -> String {
    let (at_text, now_text) = (at.to_string(), now.to_string());
    if at_text.get(..10) == now_text.get(..10) {
        at.clock()
    } else {
        at_text.get(..16).map_or(at_text.clone(), |text| text.replace('T', " "))
    }
}

#[cfg(test)]
mod tests {
    use super::exit;

    #[test]
    fn readme_names_every_exit_code() {
        let readme = include_str!("../../../README.md");
        let row = |code: u8, words: &str| {
            assert!(readme.contains(&format!("| {code} | {words}")), "{code} {words}");
        };
        row(exit::DONE, "done");
        row(exit::IO, "I/O or internal error");
        row(exit::USAGE, "usage");
        row(exit::REFUSED, "refused by a rule");
        row(exit::BUSY, "busy");
        row(exit::DAMAGED, "the ledger is damaged");
        row(exit::FINDINGS, "the answer holds findings");
        row(exit::UNKNOWN, "it is not known whether a record is durable");
        let verdicts =
            format!("| {}, {}, {}, {} | only with", exit::WAIT, exit::ASK, exit::PLAN, exit::GOAL_DONE);
        assert!(readme.contains(&verdicts));
    }
}
