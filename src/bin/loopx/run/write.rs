//! Commands that append: arguments to a request, and the request's outcome to an answer.

use std::path::Path;

use loopx::app;
use loopx::decide::Command;
use loopx::decide::command as c;
use loopx::decide::command::{Close, NewEvidence, NewMetricRow, Spending, WaitFor};
use loopx::event::{Allowance, Event, EvidenceKind, GateOutcome, Subject, TodoClass};
use loopx::id::EvidenceId;
use loopx::ledger::{Answer, Committed, Submission};
use loopx::text::Text;
use loopx::time::Timestamp;
use serde_json::{Value, json};

use super::Session;
use crate::cli::{self, Top};
use crate::failure::Failure;
use crate::render::{Output, decision, event::sentence, value};

/// The request that a command line asks for; none if it only reads.
pub fn submission(session: &Session<'_>, top: &Top) -> Result<Option<Submission>, Failure> {
    let mut caller = session.caller()?;
    if let Top::Todo(cli::Todo::Claim(cli::Claim { claimed_by: Some(agent), .. })) = top {
        caller.agent = Some(agent.clone());
    }
    let command = match top {
        Top::RegisterAgent(args) => {
            let agent = caller.agent.clone().ok_or_else(|| Failure::usage("--agent-id is required"))?;
            Some(c::AgentRegister { agent, capabilities: args.capability.clone() }.into())
        }
        Top::StartGoal(args) => Some(start_goal(args)),
        Top::Next(args) => Some(c::Next { ttl_ms: args.ttl.map(|ttl| ttl.0) }.into()),
        Top::Done(args) => Some(done(session, args)?),
        Top::Yield(args) => Some(c::Yield { todo: args.todo, why: args.why.clone() }.into()),
        Top::Block(args) => Some(c::Block { todo: args.todo, why: args.why.clone() }.into()),
        Top::Ask(args) | Top::Gate(cli::Gate::Open(args)) => Some(ask(args)),
        Top::Add(args) | Top::Todo(cli::Todo::Add(args)) => Some(add(args)),
        Top::RefreshState(args) => Some(refresh(args)),
        Top::Quota(args) => quota(args),
        Top::Goal(args) => goal(args),
        Top::Todo(args) => todo(session, args)?,
        Top::Gate(args) => gate(args),
        Top::Lease(args) => lease(args),
        Top::Evidence(args) => evidence(session, args)?,
        Top::Agent(args) => agent(args),
        Top::Owner(args) => owner(args),
        Top::Lineage(args) => lineage(session, args)?,
        _ => None,
    };
    Ok(command.map(|command| Submission { caller, command, request: session.global.request.clone() }))
}

/// Submits and answers with the receipt.
pub fn run(session: &Session<'_>, top: &Top, submission: Submission) -> Result<Output, Failure> {
    let mut ledger = session.open()?;
    let answer = app::submit(&mut ledger, &session.host(), submission)?;
    let options = match top {
        Top::Next(args) => Some(args),
        _ => None,
    };
    match answer {
        Answer::Committed(committed) => Ok(match options {
            Some(_) => taken(session, &ledger, &committed)?,
            None => committed_output(&committed),
        }),
        Answer::Quiet(decided) => {
            let mut output = decision::quiet(&session.voice, ledger.state(), &decided);
            if options.is_some_and(|args| args.explain) {
                output.text.push_str(&decision::trace_lines(&decided));
                output = output.with("trace", value(&decided.trace));
            }
            if options.is_some_and(|args| args.exit_code) {
                output.exit = decision::exit_code(&decided.verdict);
            }
            Ok(output.at(ledger.head().seq, ledger.head().hash))
        }
    }
}

/// `next` appended something: the turn that was opened or goes on, or a turn that was lost and the decision after it.
fn taken(
    session: &Session<'_>,
    ledger: &loopx::ledger::Ledger,
    committed: &Committed,
) -> Result<Output, Failure> {
    let turn = committed.events.iter().find_map(|event| match event {
        Event::TurnOpened(e) => Some((e.todo, e.id)),
        _ => None,
    });
    let renewed = || {
        let agent = committed.at.actor.clone();
        let turn = committed.state.turns.iter().find(|(_, turn)| turn.holder.actor == agent);
        turn.map(|(id, turn)| (turn.todo, *id))
    };
    let mut output = match turn.or_else(renewed) {
        Some((todo, turn)) => decision::opened(&session.voice, committed, todo, turn),
        None => {
            let decided = session.ask(ledger, loopx::decide::should_run)?;
            decision::quiet(&session.voice, ledger.state(), &decided)
        }
    };
    for lost in committed.events.iter().filter(|event| matches!(event, Event::TurnClosed(_))) {
        output.text.push_str(&format!("  before that: {}\n", sentence(lost)));
    }
    Ok(with_receipt(output, committed))
}

/// What a record says happened, with its receipt.
pub fn committed_output(committed: &Committed) -> Output {
    let what: Vec<String> = committed.events.iter().map(sentence).collect();
    let mark = if committed.receipt.duplicate { " (recorded before)" } else { "" };
    let output = Output::text(format!("{}  #{}{mark}\n", what.join("; "), committed.receipt.seq));
    with_receipt(output, committed)
}

fn with_receipt(mut output: Output, committed: &Committed) -> Output {
    for (key, id) in committed.events.iter().filter_map(minted) {
        output.keys.entry(key).or_insert(json!({ "id": id }));
    }
    let events: Vec<Value> =
        committed.events.iter().map(|event| json!({"kind": event.kind(), "text": sentence(event)})).collect();
    let status = if committed.receipt.duplicate { "replayed" } else { "applied" };
    output
        .with("receipt", value(&committed.receipt))
        .with("events", events)
        .with("status", status)
        .with("idempotent_replay", committed.receipt.duplicate)
        .at(committed.receipt.seq, committed.receipt.hash)
}

/// The thing that an event brought into being, by kind and id.
fn minted(event: &Event) -> Option<(String, String)> {
    let (key, id) = match event {
        Event::GoalStarted(e) => ("goal", e.goal.to_string()),
        Event::TodoAdded(e) => ("todo", e.id.to_string()),
        Event::GateOpened(e) => ("gate", e.id.to_string()),
        Event::EvidenceRecorded(e) => ("evidence", e.id.to_string()),
        Event::TurnOpened(e) => ("turn", e.id.to_string()),
        Event::HypothesisProposed(e) => ("hypothesis", e.id.to_string()),
        Event::ExperimentRegistered(e) => ("experiment", e.id.to_string()),
        Event::TrialStarted(e) => ("trial", e.id.to_string()),
        Event::PromotionRecorded(e) => ("promotion", e.id.to_string()),
        _ => return None,
    };
    Some((key.to_owned(), id))
}

fn start_goal(args: &cli::StartGoal) -> Command {
    c::GoalStart {
        name: args.name.clone(),
        objective: args.goal_text.clone(),
        criteria: args.accept.clone(),
        write: args.scope_write.clone(),
        read: args.scope_read.clone(),
    }
    .into()
}

fn add(args: &cli::AddTodo) -> Command {
    c::TodoAdd {
        title: args.title.clone(),
        class: if args.user_action { TodoClass::UserAction } else { TodoClass::Advancement },
        priority: args.priority,
        action: args.action.clone(),
        done_when: args.done_when.clone(),
        needs: args.needs.clone(),
        write: args.write.clone(),
        resources: args.resource.clone(),
        requires: args.requires.clone(),
        excluded: args.excluded.clone(),
        bound: args.bound.clone(),
        check: args.check.clone(),
        serves: args.serves.clone(),
    }
    .into()
}

fn ask(args: &cli::Ask) -> Command {
    c::GateOpen {
        question: args.question.clone(),
        options: args.options.clone(),
        blocks: args.blocks.clone(),
        blocks_agents: args.blocks_agent.clone(),
        blocks_all: args.global,
        evidence: args.evidence.clone(),
    }
    .into()
}

fn refresh(args: &cli::RefreshState) -> Command {
    c::RefreshState {
        next_action: args.next_action.clone(),
        classification: args.classification.clone(),
        outcome: args.delivery_outcome,
        todo: args.todo_id,
        turn: args.turn_instance_id,
    }
    .into()
}

fn done(session: &Session<'_>, args: &cli::Done) -> Result<Command, Failure> {
    let close = close(session, &args.closing)?;
    Ok(c::Done { todo: args.todo, close, outcome: args.delivery_outcome, spend: spending(&args.cost) }.into())
}

const fn spending(cost: &cli::Cost) -> Spending {
    Spending { slots: cost.slots, tokens: cost.tokens, cost_micro: cost.cost }
}

/// What a close shows: ids of evidence recorded before, files kept now, and statements `CMD => RESULT`.
fn close(session: &Session<'_>, args: &cli::Closing) -> Result<Close, Failure> {
    let mut close = Close {
        meets: args.meets.clone(),
        next: args.next.clone(),
        successors: args.successor.clone(),
        hand_over: args.hand_over.clone(),
        wait_for: args.wait_for.as_deref().map(wait_for).transpose()?,
        no_follow_up: args.no_follow_up.clone(),
        epoch: args.epoch,
        ..Close::default()
    };
    for proof in &args.proof {
        close.proof.push(stated(proof)?);
    }
    for named in &args.evidence {
        match named.parse::<EvidenceId>() {
            Ok(id) => close.evidence.push(id),
            Err(_) => close.proof.push(kept(session, Path::new(named), None)?),
        }
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
    Ok(NewEvidence { kind, summary, source, exit: None, digest: None, bytes: None })
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
    })
}

fn keep(session: &Session<'_>, file: &Path) -> Result<(loopx::hash::Hash, u64), Failure> {
    let path = session.environment.cwd.join(file);
    app::keep_file(&session.root()?, &path).map_err(|error| match error {
        loopx::ledger::LedgerError::Log(loopx::log::LogError::Io { source, .. })
            if source.kind() == std::io::ErrorKind::NotFound =>
        {
            Failure::usage(format!("no file {}", file.display()))
        }
        other => other.into(),
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

fn quota(args: &cli::Quota) -> Option<Command> {
    Some(match args {
        cli::Quota::ShouldRun(_) | cli::Quota::Status => return None,
        cli::Quota::SpendSlot(args) => {
            c::QuotaSpendSlot { spend: spending(&args.cost), turn: args.turn_instance_id, todo: args.todo_id }
                .into()
        }
        cli::Quota::VoidSlot { seq, why } => c::QuotaVoidSlot { spend: *seq, why: why.clone() }.into(),
        cli::Quota::Set(args) => {
            let allowance = match (args.share, args.slots) {
                (Some(milli), _) => Allowance::Share { milli },
                (None, Some(slots)) => Allowance::Slots { slots },
                (None, None) => Allowance::Unlimited,
            };
            c::QuotaSetRequest {
                allowance,
                slot_ms: args.slot.map(|slot| slot.0),
                window_ms: args.window.map(|window| window.0),
                why: args.why.clone(),
            }
            .into()
        }
    })
}

fn goal(args: &cli::Goal) -> Option<Command> {
    Some(match args {
        cli::Goal::List(_) | cli::Goal::Show { .. } => return None,
        cli::Goal::Change(args) => c::GoalChangeRequest {
            objective: args.objective.clone(),
            add_criteria: args.accept.clone(),
            drop_criteria: args.drop_accept.clone(),
            write: (!args.scope_write.is_empty()).then(|| args.scope_write.clone()),
            reason: args.reason.clone(),
        }
        .into(),
        cli::Goal::Pause(args) => c::GoalPause { why: args.why.clone() }.into(),
        cli::Goal::Resume(args) => c::GoalResume { why: args.why.clone() }.into(),
        cli::Goal::Complete(args) => c::GoalComplete { why: args.why.clone() }.into(),
        cli::Goal::Abandon(args) => c::GoalAbandon { why: args.why.clone() }.into(),
        cli::Goal::Accept { criterion, evidence } => {
            c::GoalAccept { criterion: *criterion, evidence: *evidence }.into()
        }
        cli::Goal::Reject { criterion, why } => {
            c::GoalReject { criterion: *criterion, why: why.clone() }.into()
        }
    })
}

fn todo(session: &Session<'_>, args: &cli::Todo) -> Result<Option<Command>, Failure> {
    let missing = || Failure::usage("which todo? give T7 or --todo-id T7");
    Ok(Some(match args {
        cli::Todo::List(_) | cli::Todo::Show { .. } | cli::Todo::Add(_) => return Ok(None),
        cli::Todo::Claim(args) => {
            let todo = args.todo.or(args.todo_id).ok_or_else(missing)?;
            c::TodoClaim { todo, ttl_ms: args.ttl.map(|ttl| ttl.0) }.into()
        }
        cli::Todo::Release(cli::Held { because, epoch }) => {
            c::TodoRelease { todo: because.todo, epoch: *epoch, why: because.why.clone() }.into()
        }
        cli::Todo::HandOver { held, to } => hand_over(held, to),
        cli::Todo::Update(args) => c::TodoUpdate {
            todo: args.todo,
            title: args.title.clone(),
            priority: args.priority,
            done_when: args.done_when.clone(),
            epoch: args.epoch,
        }
        .into(),
        cli::Todo::Complete(args) => {
            let todo = args.todo.or(args.todo_id).ok_or_else(missing)?;
            c::TodoComplete { todo, close: close(session, &args.closing)? }.into()
        }
        cli::Todo::Block(args) => c::TodoBlock { todo: args.todo, why: args.why.clone() }.into(),
        cli::Todo::Defer { because, until } => {
            c::TodoDefer { todo: because.todo, until: *until, why: because.why.clone() }.into()
        }
        cli::Todo::Reopen(args) => c::TodoReopen { todo: args.todo, why: args.why.clone() }.into(),
        cli::Todo::Supersede { because, by } => {
            c::TodoSupersede { todo: because.todo, by: *by, why: because.why.clone() }.into()
        }
        cli::Todo::Cancel(args) => c::TodoCancel { todo: args.todo, why: args.why.clone() }.into(),
    }))
}

fn hand_over(held: &cli::Held, to: &loopx::id::AgentId) -> Command {
    let cli::Held { because, epoch } = held;
    c::TodoHandOver { todo: because.todo, to: to.clone(), epoch: *epoch, why: because.why.clone() }.into()
}

/// `no` is a rejection whatever the options are: nobody who answers it means that the work may go on.
fn gate(args: &cli::Gate) -> Option<Command> {
    Some(match args {
        cli::Gate::Open(_) | cli::Gate::List(_) | cli::Gate::Show { .. } => return None,
        cli::Gate::Decide { gate, answer, why } => {
            let outcome = match answer.as_str() {
                "approve" => GateOutcome::Approve,
                "reject" | "no" => GateOutcome::Reject,
                "defer" => GateOutcome::Defer,
                _ => GateOutcome::Choice { option: answer.clone() },
            };
            c::GateDecide { gate: *gate, outcome, why: why.clone() }.into()
        }
        cli::Gate::Withdraw { gate, why } => c::GateWithdraw { gate: *gate, why: why.clone() }.into(),
    })
}

fn lease(args: &cli::Lease) -> Option<Command> {
    Some(match args {
        cli::Lease::List(_) | cli::Lease::Show { .. } => return None,
        cli::Lease::Acquire { resource, ttl } => {
            c::LeaseAcquire { resource: resource.clone(), ttl_ms: ttl.map(|ttl| ttl.0) }.into()
        }
        cli::Lease::Renew { on, epoch, ttl } => {
            c::LeaseRenew { on: on.clone(), epoch: *epoch, ttl_ms: ttl.map(|ttl| ttl.0) }.into()
        }
        cli::Lease::Release { resource, epoch } => {
            c::LeaseRelease { resource: resource.clone(), epoch: *epoch }.into()
        }
        cli::Lease::Transfer { held, to } => hand_over(held, to),
    })
}

fn evidence(session: &Session<'_>, args: &cli::Evidence) -> Result<Option<Command>, Failure> {
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
                    }
                }
            };
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

fn agent(args: &cli::Agent) -> Option<Command> {
    Some(match args {
        cli::Agent::List(_) | cli::Agent::Show { .. } => return None,
        cli::Agent::Register { name, capability } => {
            c::AgentRegister { agent: name.clone(), capabilities: capability.clone() }.into()
        }
        cli::Agent::Retire { name, why } => c::AgentRetire { agent: name.clone(), why: why.clone() }.into(),
    })
}

fn owner(args: &cli::Owner) -> Option<Command> {
    Some(match args {
        cli::Owner::List(_) => return None,
        cli::Owner::Register { name } => c::OwnerRegister { owner: name.clone() }.into(),
        cli::Owner::Revoke { name, why } => c::OwnerRevoke { owner: name.clone(), why: why.clone() }.into(),
    })
}

fn lineage(session: &Session<'_>, args: &cli::Lineage) -> Result<Option<Command>, Failure> {
    Ok(Some(match args {
        cli::Lineage::Why { .. } | cli::Lineage::Export { .. } => return Ok(None),
        cli::Lineage::Metric { metric, direction, unit, title } => c::LineageMetric {
            metric: metric.clone(),
            direction: *direction,
            unit: unit.clone(),
            title: title.clone(),
        }
        .into(),
        cli::Lineage::Dataset(args) => c::LineageDataset {
            dataset: args.dataset.clone(),
            digest: content(session, args.file.as_deref(), args.digest)?,
            rows: args.rows,
            split: args.split,
            title: args.title.clone(),
        }
        .into(),
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
        cli::Lineage::Promote(args) => c::LineagePromote {
            slot: args.slot.clone(),
            gate: args.gate,
            artifact: content(session, args.file.as_deref(), args.artifact)?,
            title: args.title.clone(),
            cites: args.cites.clone(),
            contrast: args.contrast.clone(),
            replaces: args.replaces,
        }
        .into(),
    }))
}

/// The digest of a file whose content is kept, or the digest given.
fn content(
    session: &Session<'_>,
    file: Option<&Path>,
    digest: Option<loopx::hash::Hash>,
) -> Result<loopx::hash::Hash, Failure> {
    match (file, digest) {
        (Some(file), _) => Ok(keep(session, file)?.0),
        (None, Some(digest)) => Ok(digest),
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
