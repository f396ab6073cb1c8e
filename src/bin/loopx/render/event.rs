//! One event as a short sentence.

use loopx::event::{
    Allowance, ClockDirection, ClockJumped, Continuation, Event, GateOutcome, GoalChange, LedgerRecovered,
    TodoChange,
};
use loopx::project::escape::terminal;
use loopx::text::Text;
use loopx::time::DurationMs;

use super::{count, event_word as word};

fn quoted(text: &Text) -> String {
    format!("\"{}\"", terminal(text.as_str()))
}

fn list<T: ToString>(ids: &[T]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The sentence. User text in it is escaped for a terminal.
pub fn sentence(event: &Event) -> String {
    match event {
        Event::LedgerCreated(e) => format!("ledger {} created by {}", e.ledger, terminal(e.program.as_str())),
        Event::LedgerRecovered(e) => recovered(e),
        Event::ClockJumped(e) => clock(e),
        Event::LedgerSealed(e) => format!("segment {} sealed", e.segment),
        Event::SecretAllowed(_)
        | Event::AgentRegistered(_)
        | Event::AgentChanged(_)
        | Event::AgentRetired(_)
        | Event::OwnerRegistered(_)
        | Event::OwnerRevoked(_) => people(event),
        Event::GoalStarted(e) => format!("goal {} started: {}", e.goal, quoted(&e.objective)),
        Event::GoalChanged(e) => {
            let changes: Vec<String> = e.changes.iter().map(goal_change).collect();
            format!("goal {} changed: {}; reason {}", e.goal, changes.join("; "), quoted(&e.reason))
        }
        Event::GoalPaused(e) => format!("goal {} paused: {}", e.goal, quoted(&e.why)),
        Event::GoalResumed(e) => format!("goal {} resumed: {}", e.goal, quoted(&e.why)),
        Event::GoalCompleted(e) => format!("goal {} completed: {}", e.goal, quoted(&e.why)),
        Event::GoalAbandoned(e) => format!("goal {} abandoned: {}", e.goal, quoted(&e.why)),
        Event::AcceptanceMet(e) => format!("{} met on {}", e.criterion, e.evidence),
        Event::AcceptanceReopened(e) => format!("{} open again: {}", e.criterion, quoted(&e.why)),
        Event::MonitorPolled(e) => match &e.result {
            Some(result) => format!("{} saw {}; due {}", e.id, quoted(result), e.due),
            None => format!("{} saw nothing new; due {}", e.id, e.due),
        },
        Event::StateRefreshed(e) => format!("note for the next turn: {}", quoted(&e.next_action)),
        Event::TodoAdded(_)
        | Event::TodoChanged(_)
        | Event::TodoBlocked(_)
        | Event::TodoDeferred(_)
        | Event::TodoReopened(_)
        | Event::TodoCompleted(_)
        | Event::TodoSuperseded(_)
        | Event::TodoCancelled(_) => todo(event),
        Event::GateOpened(_) | Event::GateDecided(_) | Event::GateWithdrawn(_) | Event::GateRevoked(_) => {
            gate(event)
        }
        Event::ClaimTaken(_)
        | Event::ClaimReleased(_)
        | Event::ClaimHandedOver(_)
        | Event::ClaimDelegated(_)
        | Event::LeaseGranted(_)
        | Event::LeaseRenewed(_)
        | Event::LeaseReleased(_)
        | Event::LeaseTakenOver(_)
        | Event::TurnOpened(_)
        | Event::TurnClosed(_) => hold(event),
        Event::EvidenceRecorded(_)
        | Event::EvidenceInvalidated(_)
        | Event::EvidenceSuperseded(_)
        | Event::QuotaSet(_)
        | Event::QuotaBudgeted(_)
        | Event::QuotaSpent(_)
        | Event::QuotaVoided(_) => account(event),
        Event::MetricDefined(_)
        | Event::DatasetRegistered(_)
        | Event::HypothesisProposed(_)
        | Event::ExperimentRegistered(_)
        | Event::TrialStarted(_)
        | Event::TrialEnded(_)
        | Event::PromotionRecorded(_) => lineage(event),
    }
}

fn recovered(tail: &LedgerRecovered) -> String {
    let (bytes, name) = (tail.cut_bytes, terminal(tail.quarantine.as_str()));
    format!("recovered: {bytes} torn bytes moved to quarantine/{name}")
}

fn clock(jump: &ClockJumped) -> String {
    let (clock, by) = (jump.clock, DurationMs(jump.by_ms));
    match jump.direction {
        ClockDirection::Back => format!("the clock went back: it said {clock}, {by} before the last record"),
        ClockDirection::Ahead => {
            format!("the clock jumped ahead: it said {clock}, {by} further on than time has passed")
        }
    }
}

fn people(event: &Event) -> String {
    match event {
        Event::SecretAllowed(e) => {
            let (kind, place) = (terminal(&e.kind), terminal(&e.place));
            format!("{kind} in {place} recorded on purpose: {}", quoted(&e.why))
        }
        Event::AgentRegistered(e) => format!("agent {} registered", e.agent),
        Event::AgentChanged(e) => {
            let or_none = |list: String| if list.is_empty() { "none".to_owned() } else { list };
            let (can, granted) = (or_none(list(&e.capabilities)), or_none(list(&e.granted)));
            format!("agent {} has capabilities {can}, grants {granted}: {}", e.agent, quoted(&e.why))
        }
        Event::AgentRetired(e) => format!("agent {} retired: {}", e.agent, quoted(&e.why)),
        Event::OwnerRegistered(e) => format!("owner {} registered", e.owner),
        Event::OwnerRevoked(e) => format!("owner {} revoked: {}", e.owner, quoted(&e.why)),
        _ => event.kind().to_owned(),
    }
}

fn goal_change(change: &GoalChange) -> String {
    match change {
        GoalChange::Objective { old, new } => format!("objective {} -> {}", quoted(old), quoted(new)),
        GoalChange::Criterion { id, old: None, new: Some(new) } => format!("{id} added {}", quoted(new)),
        GoalChange::Criterion { id, .. } => format!("{id} dropped"),
        GoalChange::Write { old, new } => format!("write scope [{}] -> [{}]", list(old), list(new)),
    }
}

fn todo(event: &Event) -> String {
    match event {
        Event::TodoAdded(e) => format!("{} added {}", e.id, quoted(&e.spec.title)),
        Event::TodoChanged(e) => {
            let changes: Vec<String> = e.changes.iter().map(todo_change).collect();
            format!("{} changed: {}", e.id, changes.join("; "))
        }
        Event::TodoBlocked(e) => format!("{} blocked: {}", e.id, quoted(&e.why)),
        Event::TodoDeferred(e) => {
            let until = match (e.until, e.when) {
                (Some(at), _) => format!("until {at}"),
                (None, Some(when)) => format!("until {when} is closed"),
                (None, None) => "until it is reopened".to_owned(),
            };
            format!("{} deferred {until}: {}", e.id, quoted(&e.why))
        }
        Event::TodoReopened(e) => format!("{} reopened: {}", e.id, quoted(&e.why)),
        Event::TodoCompleted(e) => {
            let approved = if e.approvals.is_empty() {
                String::new()
            } else {
                format!(", as approved by {}", list(&e.approvals))
            };
            let then = continuation(&e.continuation);
            format!("{} completed on {}{approved}; {then}", e.id, list(&e.evidence))
        }
        Event::TodoSuperseded(e) => format!("{} superseded by {}: {}", e.id, e.by, quoted(&e.why)),
        Event::TodoCancelled(e) => format!("{} cancelled: {}", e.id, quoted(&e.why)),
        _ => event.kind().to_owned(),
    }
}

fn todo_change(change: &TodoChange) -> String {
    match change {
        TodoChange::Title { old, new } => format!("title {} -> {}", quoted(old), quoted(new)),
        TodoChange::Priority { old, new } => format!("priority {} -> {}", word(old), word(new)),
        TodoChange::Needs { old, new } => format!("needs [{}] -> [{}]", list(old), list(new)),
        TodoChange::Write { old, new } => format!("writes [{}] -> [{}]", list(old), list(new)),
        TodoChange::DoneWhen { new, .. } => format!("done when {}", quoted(new)),
    }
}

fn continuation(then: &Continuation) -> String {
    match then {
        Continuation::Successors { todos } => format!("next {}", list(todos)),
        Continuation::HandOver { agent, todo } => format!("handed over to {agent} as {todo}"),
        Continuation::WaitForTodo { todo } => format!("waits for {todo}"),
        Continuation::WaitForGate { gate } => format!("waits for {gate}"),
        Continuation::WaitUntil { at } => format!("waits until {at}"),
        Continuation::NoFollowUp { why } => format!("no follow-up: {}", quoted(why)),
    }
}

fn gate(event: &Event) -> String {
    match event {
        Event::GateOpened(e) => {
            let blocks = match (&e.blocks.all, e.blocks.todos.is_empty(), e.blocks.agents.is_empty()) {
                (true, ..) => "; blocks everything".to_owned(),
                (false, true, true) => String::new(),
                _ => format!("; blocks {}", [list(&e.blocks.todos), list(&e.blocks.agents)].join(" ").trim()),
            };
            let scope = e.scope.as_ref().map(|scope| format!("; asks for {scope}")).unwrap_or_default();
            format!("{} asked {}{scope}{blocks}", e.id, quoted(&e.question))
        }
        Event::GateDecided(e) => {
            let outcome = match &e.outcome {
                GateOutcome::Approve => "approved".to_owned(),
                GateOutcome::Reject => "rejected".to_owned(),
                GateOutcome::Defer => "deferred".to_owned(),
                GateOutcome::Choice { option } => format!("answered `{option}`"),
            };
            let until = e.valid_until.map(|at| format!(" until {at}")).unwrap_or_default();
            let rests = if e.rests_on.is_empty() {
                String::new()
            } else {
                format!(" while {} is current", list(&e.rests_on))
            };
            format!("{} {outcome}{until}{rests} (unsigned): {}", e.id, quoted(&e.why))
        }
        Event::GateRevoked(e) => format!("the approval of {} revoked (unsigned): {}", e.id, quoted(&e.why)),
        Event::GateWithdrawn(e) => format!("{} withdrawn: {}", e.id, quoted(&e.why)),
        _ => event.kind().to_owned(),
    }
}

/// The key that a lease has from now on.
fn under(key: Option<&loopx::id::LeaseKey>) -> String {
    key.map_or_else(String::new, |key| format!(", key {key}"))
}

fn hold(event: &Event) -> String {
    match event {
        Event::ClaimTaken(e) => format!("{} claimed by {}, epoch {}", e.todo, e.holder, e.epoch),
        Event::ClaimReleased(e) => format!("{} given back: {}", e.todo, quoted(&e.why)),
        Event::ClaimHandedOver(e) => {
            let (key, why) = (under(e.key.as_ref()), quoted(&e.why));
            format!("{} handed over from {} to {}, epoch {}{key}: {why}", e.todo, e.from, e.to, e.epoch)
        }
        Event::ClaimDelegated(e) => {
            let actions: Vec<String> = e.actions.iter().map(word).collect();
            format!("{} may {} {}: {}", e.to, actions.join(", "), e.todo, quoted(&e.why))
        }
        Event::LeaseGranted(e) => {
            format!("{} leased by {} until {}{}", e.on, e.holder, e.until, under(e.key.as_ref()))
        }
        Event::LeaseRenewed(e) => {
            format!("lease on {} renewed until {}{}", e.on, e.until, under(e.key.as_ref()))
        }
        Event::LeaseReleased(e) => format!("{} given back", e.on),
        Event::LeaseTakenOver(e) => {
            let key = under(e.key.as_ref());
            format!(
                "{} taken over by {} from {}, whose lease expired {}, epoch {}{key}",
                e.on, e.to, e.from, e.expired, e.epoch
            )
        }
        Event::TurnOpened(e) => format!("turn {} opened on {} by {}", e.id, e.todo, e.holder),
        Event::TurnClosed(e) => {
            let why = e.why.as_ref().map(|why| format!(": {}", quoted(why))).unwrap_or_default();
            format!("turn {} closed, {}{why}", e.id, word(&e.end))
        }
        _ => event.kind().to_owned(),
    }
}

fn account(event: &Event) -> String {
    match event {
        Event::EvidenceRecorded(e) => {
            let source = e
                .source
                .as_ref()
                .map(|source| format!("{} => ", terminal(source.as_str())))
                .unwrap_or_default();
            format!(
                "{} recorded about {} ({}): {source}{}{}",
                e.id,
                e.about,
                word(&e.kind),
                terminal(e.summary.as_str()),
                e.valid_until.map(|at| format!(", good until {at}")).unwrap_or_default()
            )
        }
        Event::EvidenceInvalidated(e) => {
            format!("{} invalidated, {}: {}", e.id, word(&e.cause), quoted(&e.why))
        }
        Event::EvidenceSuperseded(e) => format!("{} superseded by {}: {}", e.id, e.by, quoted(&e.why)),
        Event::QuotaSet(e) => {
            let allowance = match &e.allowance {
                Allowance::Unlimited => "unlimited".to_owned(),
                Allowance::Slots { slots } => count(*slots, "slot"),
                Allowance::Share { milli } => format!("share {}.{:03}", milli / 1_000, milli % 1_000),
            };
            {
                let window = DurationMs(e.window_ms);
                format!("quota of {} set to {allowance} in {window}: {}", e.goal, quoted(&e.why))
            }
        }
        Event::QuotaBudgeted(e) => {
            let goal = e.goal.iter().map(|goal| format!("goal {goal}"));
            let whose: Vec<String> =
                goal.chain(e.agent.iter().map(|agent| format!("agent {agent}"))).collect();
            format!(
                "budget of {}: {}; {}",
                whose.join(", "),
                super::packet::budget(&e.budget),
                quoted(&e.why)
            )
        }
        Event::QuotaSpent(e) => {
            format!("{} spent for {} on {}", count(e.slots, "slot"), e.turn, e.todo)
        }
        Event::QuotaVoided(e) => format!("spend #{} voided: {}", e.spend, quoted(&e.why)),
        _ => event.kind().to_owned(),
    }
}

fn lineage(event: &Event) -> String {
    match event {
        Event::MetricDefined(e) => {
            format!("metric {} defined, {}: {}", e.metric, word(&e.direction), quoted(&e.title))
        }
        Event::DatasetRegistered(e) => {
            format!(
                "data set {} registered, {}, {} rows: {}",
                e.dataset,
                word(&e.split),
                e.rows,
                quoted(&e.title)
            )
        }
        Event::HypothesisProposed(e) => format!("{} proposed: {}", e.id, quoted(&e.text)),
        Event::ExperimentRegistered(e) => {
            format!("{} registered, tests {}: {}", e.id, e.tests, quoted(&e.config))
        }
        Event::TrialStarted(e) => format!("{} started, {} with seed {}", e.id, e.experiment, e.seed),
        Event::TrialEnded(e) => format!("{} ended, {}", e.id, word(&e.end)),
        Event::PromotionRecorded(e) => {
            format!(
                "{} promoted into {} on {}, citing {}: {}",
                e.id,
                e.slot,
                e.gate,
                list(&e.cites),
                quoted(&e.title)
            )
        }
        _ => event.kind().to_owned(),
    }
}
