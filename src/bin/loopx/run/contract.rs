//! The call shapes of LoopX that differ from this program's own: what they ask for, and what they answer.

use std::collections::BTreeSet;

use loopx::decide::command as c;
use loopx::decide::{Closing, Command, Hindrance, Refusal};
use loopx::event::GateOutcome;
use loopx::id::{Actor, AgentId, TodoId};
use loopx::ledger::{Committed, Ledger};
use loopx::project::lease::LastLease;
use loopx::state::State;
use loopx::text::Text;
use loopx::time::Timestamp;
use serde_json::{Value, json};

use super::Session;
use super::evidence::close_on_text;
use crate::cli::{self, Closable, DecisionOutcome, TaskLease, Top};
use crate::failure::Failure;
use crate::render::Output;

/// `task-lease …` as a request; none for a look.
pub fn task_lease(args: &TaskLease) -> Result<Option<Command>, Failure> {
    let ms = |seconds: &Option<u64>| seconds.map(|seconds| seconds.saturating_mul(1_000));
    let Some(on) = args.keyed() else { return Ok(None) };
    let (todo, key, version) = (on.todo_id, Some(on.idempotency_key.clone()), on.expected_version);
    Ok(Some(match args {
        TaskLease::Acquire { ttl_seconds, write_scope, .. } => {
            let write = (!write_scope.is_empty()).then(|| write_scope.clone());
            c::TodoClaim { todo, ttl_ms: ms(ttl_seconds), key, version, write }.into()
        }
        TaskLease::Renew { ttl_seconds, .. } => {
            let on = loopx::event::LeaseTarget::Todo(todo);
            c::LeaseRenew { on, epoch: None, key, version, ttl_ms: ms(ttl_seconds) }.into()
        }
        TaskLease::Transfer { new_owner, new_idempotency_key, ttl_seconds, .. } => c::TodoHandOver {
            todo,
            to: new_owner.clone(),
            epoch: None,
            key,
            version,
            new_key: Some(new_idempotency_key.clone()),
            ttl_ms: ms(ttl_seconds),
            why: words("lease transferred")?,
        }
        .into(),
        TaskLease::Release(_) => {
            c::TodoRelease { todo, epoch: None, key, version, why: words("lease released")? }.into()
        }
        TaskLease::Inspect { .. } => return Ok(None),
    }))
}

fn words(text: &str) -> Result<Text, Failure> {
    text.parse().map_err(|error| Failure::usage(format!("{error}")))
}

/// `todo complete --todo-id …`: a todo is completed, a gate is decided.
pub fn complete(args: &cli::TodoComplete) -> Result<Command, Failure> {
    let outcome = args.decision_outcome;
    match args.todo_id {
        None => Err(Failure::usage("which todo? give T7 or --todo-id T7")),
        Some(Closable::Todo(todo)) => match outcome {
            None | Some(DecisionOutcome::Approve) => {
                Ok(c::TodoComplete { todo, close: close_on_text(&args.closing)? }.into())
            }
            Some(_) => Err(Failure::usage(
                "a todo is completed or not; only a gate is rejected, deferred or cancelled",
            )
            .hint(format!("loopx todo cancel {todo} --why \"...\""))),
        },
        Some(Closable::Gate(gate)) => {
            let why = args.closing.evidence.first().map(|text| text.parse::<Text>());
            let why = why.transpose().map_err(|error| Failure::usage(format!("--evidence: {error}")))?;
            let why = why.ok_or_else(|| Failure::usage("--evidence is the rationale of a decision"))?;
            let outcome = match outcome {
                None => return Err(Failure::usage("a gate is completed with --decision-outcome")),
                Some(DecisionOutcome::Cancel) => return Ok(c::GateWithdraw { gate, why }.into()),
                Some(DecisionOutcome::Approve) => GateOutcome::Approve,
                Some(DecisionOutcome::Reject) => GateOutcome::Reject,
                Some(DecisionOutcome::Defer) => GateOutcome::Defer,
            };
            Ok(c::GateDecide { gate, outcome, rests_on: Vec::new(), valid_until: None, why }.into())
        }
    }
}

/// Whether a command is one of LoopX's shapes.
const fn is_loopx(top: &Top) -> bool {
    match top {
        Top::TaskLease(_) | Top::RegisterAgent(_) | Top::RefreshState(_) => true,
        Top::Quota(cli::Quota::SpendSlot(_)) => true,
        Top::Todo(cli::Todo::Claim(args)) => args.todo_id.is_some(),
        Top::Todo(cli::Todo::Complete(args)) => args.todo_id.is_some(),
        _ => false,
    }
}

/// What LoopX's shapes say besides, when a record was made or had been made.
pub fn told(
    top: &Top,
    ledger: &mut Ledger,
    output: Output,
    committed: &Committed,
) -> Result<Output, Failure> {
    let fresh = !committed.receipt.duplicate;
    let output = if fresh || !is_loopx(top) {
        output
    } else {
        output.with("original_receipt", crate::render::value(&committed.receipt))
    };
    Ok(match top {
        Top::TaskLease(args) => {
            let Some(on) = args.keyed() else { return Ok(output) };
            let last = last_lease(ledger, on.todo_id, committed.receipt.seq)?;
            let lease = last.map(|last| lease_json(&committed.state, on.todo_id, &last, committed.at.ts));
            let (action, past) = verb(args);
            output.with("action", action).with(past, fresh).with("lease", lease)
        }
        Top::RegisterAgent(_) => output.with("changed", fresh),
        Top::Todo(cli::Todo::Claim(args)) if args.todo_id.is_some() => output.with("changed", fresh),
        Top::Todo(cli::Todo::Complete(args)) if args.todo_id.is_some() => {
            output.with("completed", true).with("changed", fresh)
        }
        Top::RefreshState(_) | Top::Quota(cli::Quota::SpendSlot(_)) => output.with("appended", fresh),
        _ => output,
    })
}

/// What a refusal comes to: for a few shapes that scripts repeat, an answer that nothing changed; else the failure,
/// with the code that LoopX has for it.
pub fn settled(
    session: &Session<'_>,
    top: &Top,
    ledger: &mut Ledger,
    refusal: Refusal,
) -> Result<Output, Failure> {
    let head = *ledger.head();
    let same = |text: String| {
        let output = Output::text(format!("{text}; nothing changed\n")).at(head.seq, head.hash);
        output.with("status", "no_change").with("changed", false).with("idempotent_replay", false)
    };
    let output = match (top, &refusal) {
        (Top::RegisterAgent(_), Refusal::Exists { what: "agent", name }) if name != loopx::id::LOCAL => {
            same(format!("agent {name} is registered"))
        }
        (Top::Todo(cli::Todo::Claim(args)), Refusal::TurnOpen { turn, todo })
            if args.todo_id == Some(*todo) && args.task_lease_idempotency_key.is_none() =>
        {
            same(format!("{todo} is yours, in turn {turn}"))
        }
        (Top::Todo(cli::Todo::Complete(args)), Refusal::TodoNotOpen { closed: Some(closed), todo })
            if args.todo_id.is_some()
                && closed.how == Closing::Completed
                && session.global.owner.is_none()
                && Actor::Agent(session.caller()?.agent.unwrap_or_else(AgentId::local)) == closed.by =>
        {
            same(format!("{todo} was {closed}"))
                .with("completed", true)
                .with("idempotent_replay", true)
                .with("original_receipt", json!({"seq": closed.seq}))
        }
        (
            Top::TaskLease(TaskLease::Release(on)),
            Refusal::LeaseNotActive { .. } | Refusal::TodoNotOpen { .. },
        ) => {
            let last = last_lease(ledger, on.todo_id, head.seq)?;
            let lease = last.map(|last| lease_json(ledger.state(), on.todo_id, &last, session.now(ledger)));
            same(format!("no lease on {} lasts", on.todo_id))
                .with("action", "release")
                .with("released", false)
                .with("missing", true)
                .with("lease", lease)
        }
        _ => return Err(coded(top, refusal)),
    };
    Ok(output)
}

/// The failure of a refusal, with the code that LoopX's `task-lease` has for it.
fn coded(top: &Top, refusal: Refusal) -> Failure {
    let code = match &refusal {
        Refusal::HeldBy { .. } | Refusal::NotRunnable { hindrance: Hindrance::HeldBy { .. }, .. } => {
            "owner_conflicts_with_claim"
        }
        Refusal::NotRunnable { hindrance: Hindrance::Overlap { .. }, .. } => "write_scope_conflict",
        Refusal::HeldAlready { .. } => "todo_lease_conflict",
        Refusal::OutOfRange { field: "ttl_ms", .. } => "invalid_ttl",
        other => other.code(),
    };
    let reason = refusal.code();
    let mut failure = Failure::from(refusal);
    if matches!(top, Top::TaskLease(_)) {
        code.clone_into(&mut failure.code);
    }
    failure.reason = is_loopx(top).then(|| reason.to_owned());
    failure
}

const fn verb(args: &TaskLease) -> (&'static str, &'static str) {
    match args {
        TaskLease::Acquire { .. } => ("acquire", "acquired"),
        TaskLease::Renew { .. } => ("renew", "renewed"),
        TaskLease::Transfer { .. } => ("transfer", "transferred"),
        TaskLease::Release(_) => ("release", "released"),
        TaskLease::Inspect { .. } => ("inspect", "active"),
    }
}

/// `task-lease inspect`: the last lease on a todo, also when it has ended or the todo is closed.
pub fn inspect(session: &Session<'_>, args: &TaskLease) -> Result<Output, Failure> {
    let TaskLease::Inspect { todo_id: id } = args else { return Err(Failure::usage("nothing to inspect")) };
    let mut ledger = session.open()?;
    let head = *ledger.head();
    if id.0 == 0 || id.0 > ledger.state().minted.todos {
        return Err(Refusal::Unknown { what: "todo", name: id.to_string() }.into());
    }
    let last = last_lease(&mut ledger, *id, head.seq)?;
    let lease = last.map(|last| lease_json(ledger.state(), *id, &last, session.now(&ledger)));
    let status = lease.as_ref().and_then(|lease| lease.get("status")?.as_str()).unwrap_or("none").to_owned();
    let mut text = format!("{id}  lease {status}\n");
    for (name, value) in lease.iter().filter_map(Value::as_object).flatten() {
        let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if !value.is_null() && name != "status" && name != "todo_id" {
            text.push_str(&format!("  {name:<16} {}\n", loopx::project::escape::terminal(&shown)));
        }
    }
    let output = Output::text(text).with("action", "inspect").with("todo_id", id.to_string());
    Ok(output.with("active", status == "active").with("lease", lease).at(head.seq, head.hash))
}

/// The last lease on a todo, as of a record.
fn last_lease(ledger: &mut Ledger, id: TodoId, to: loopx::id::Seq) -> Result<Option<LastLease>, Failure> {
    let mut last = None;
    let named = BTreeSet::from([id.to_string()]);
    for (seq, past) in ledger.gather(named, &mut |_| BTreeSet::new())? {
        if seq <= to {
            LastLease::record(&mut last, id, &past.at, &past.events);
        }
    }
    Ok(last)
}

fn lease_json(state: &State, id: TodoId, last: &LastLease, now: Timestamp) -> Value {
    let todo = state.todos.get(&id);
    let held =
        todo.and_then(|todo| todo.claim.as_ref()?.lease.as_ref()).filter(|lease| lease.token == last.token);
    let status = match held {
        None => "released",
        Some(lease) if lease.until <= now => "expired",
        Some(_) => "active",
    };
    json!({
        "todo_id": id,
        "owner": last.holder.actor.name(),
        "session": last.holder.session,
        "idempotency_key": last.key,
        "epoch": last.epoch,
        "version": last.version,
        "token": last.token,
        "write_scopes": todo.map(|todo| &todo.spec.write),
        "acquired_at": last.acquired,
        "updated_at": last.updated,
        "expires_at": last.until,
        "status": status,
    })
}
