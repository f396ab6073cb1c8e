//! Reading what is so.

use loopx::decide::{self, Context};
use loopx::id::{GoalId, Seq};
use loopx::ledger::{Entry, Ledger};
use loopx::project::escape::terminal;
use loopx::project::history::{Line, thread};
use loopx::project::status;
use loopx::state::{Quota, Spends, State};
use loopx::time::Timestamp;
use serde_json::{Value, json};

use super::{Session, judge};
use crate::cli::{self, AsOf, Top};
use crate::failure::{Failure, when};
use crate::render::judgment::Moment;
use crate::render::page::Page;
use crate::render::{Output, count, decision, packet, status as render, thing, value};

/// Says at which record an answer was made.
pub fn headed(output: Output, ledger: &Ledger) -> Output {
    output.at(ledger.head().seq, ledger.head().hash)
}

/// `ready`
pub fn ready(session: &Session<'_>, args: &cli::Ready) -> Result<Output, Failure> {
    let ledger = session.open()?;
    let (_, frontier) = session.ask(&ledger, decide::ready)?;
    let state = ledger.state();
    let title = |id: &loopx::id::TodoId| {
        state.todos.get(id).map(|todo| terminal(todo.spec.title.as_str())).unwrap_or_default()
    };
    // What could run by itself may still be stopped as a whole: by a pause, a gate on everything, a quota.
    let decided = session.ask(&ledger, decide::should_run)?;
    let mut text = String::new();
    if decided.mode != decide::Mode::BoundedDelivery && !frontier.runnable.is_empty() {
        text.push_str(&decision::quiet(&session.voice, state, &decided, &[]).text);
    }
    let mine = |id: &loopx::id::TodoId| {
        state
            .todos
            .get(id)
            .is_some_and(|todo| todo.claim.as_ref().is_some_and(|claim| claim.holder == decided.holder))
    };
    for id in &frontier.runnable {
        let mark = if mine(id) { "  yours already" } else { "" };
        text.push_str(&format!("{id}  {}{mark}\n", title(id)));
    }
    for id in &frontier.due {
        text.push_str(&format!("{id}  {}  a monitor that is due\n", title(id)));
    }
    if frontier.runnable.is_empty() && frontier.due.is_empty() {
        text.push_str("nothing is ready\n");
    }
    if args.explain {
        for (id, found) in &frontier.waiting {
            let why: Vec<String> = found.iter().map(|found| terminal(&found.to_string())).collect();
            text.push_str(&format!("{id}  {}  not ready: {}\n", title(id), why.join("; ")));
        }
    } else if !frontier.waiting.is_empty() {
        let explain = session.voice.command("ready --explain");
        text.push_str(&format!("{} not ready: {explain}\n", frontier.waiting.len()));
    }
    let waiting: Vec<Value> = frontier
        .waiting
        .iter()
        .map(|(id, found)| {
            let why: Vec<String> = found.iter().map(ToString::to_string).collect();
            json!({"id": id, "why": why})
        })
        .collect();
    let output = Output::text(text)
        .with("ready", value(&frontier.runnable))
        .with("due", value(&frontier.due))
        .with("waiting", waiting)
        .with("verdict", decided.verdict.word())
        .with("mode", decided.mode.word());
    Ok(headed(output, &ledger))
}

/// `quota should-run`
pub fn should_run(session: &Session<'_>, args: &cli::ShouldRun) -> Result<Output, Failure> {
    let ledger = session.open()?;
    let decided = session.ask(&ledger, decide::should_run)?;
    let output = packet::should_run(&session.voice, ledger.state(), &decided, args.include_detail);
    Ok(headed(output, &ledger).warned(session.clock_warning(&ledger)))
}

/// The goal that a reader means: the one named, or the one that a decision would be about.
pub fn goal_of(session: &Session<'_>, state: &State) -> Result<GoalId, Failure> {
    let caller = session.caller()?;
    let history = decide::History::default();
    let context = Context { state, history: &history, caller: &caller, now: state.now };
    Ok(decide::goal_of(&context)?)
}

/// `quota status`
pub fn quota_status(session: &Session<'_>) -> Result<Output, Failure> {
    let ledger = session.open()?;
    let (state, now) = (session.present(&ledger), session.now(&ledger));
    let goal = goal_of(session, &state)?;
    let quota = state.quotas.get(&goal);
    let numbers = packet::quota_keys(quota, now);
    let spends = quota.map(|quota| quota.groups.as_slice()).unwrap_or_default();
    let counted: Vec<Seq> =
        quota.map(|quota| quota.counted(now).map(|group| group.seq).collect()).unwrap_or_default();
    let used = quota.map_or(0, |quota| quota.spent_slots(now));
    let mut text =
        match (quota.and_then(|quota| quota.setting.as_ref()), quota.and_then(Quota::allowed_slots)) {
            (None, _) => format!("{goal}  {} spent, no quota set\n", count(used, "slot")),
            (Some(set), None) => {
                format!("{goal}  {} spent, unlimited since #{}\n", count(used, "slot"), set.seq)
            }
            (Some(set), Some(allowed)) => {
                format!("{goal}  {used} of {allowed} slots spent, limit set by #{}\n", set.seq)
            }
        };
    for group in spends {
        text.push_str(&spent_line(group, counted.contains(&group.seq), now));
    }
    let free_at = quota.and_then(|quota| quota.free_at(1, now, &[]));
    let output = Output::text(text)
        .with("quota", numbers)
        .with("spends", value(&spends))
        .with("counted", value(&counted))
        .with("set_by", value(&quota.and_then(|quota| quota.setting.as_ref()).map(|setting| setting.seq)))
        .with("free_at", value(&free_at))
        .with("goal", goal.to_string());
    Ok(headed(output, &ledger))
}

/// One spend, or neighbouring ones that leave the window together.
fn spent_line(group: &Spends, counts: bool, now: Timestamp) -> String {
    let (seq, slots) = (group.seq, count(group.slots, "slot"));
    let mark = match (group.spends, counts) {
        (0, _) => "voided",
        (_, true) => "counts",
        (_, false) => "out of the window",
    };
    let when = when(group.ts, now);
    if group.first_seq == seq {
        format!("  #{seq}  {}  {slots}  {mark}, {when}\n", group.turn)
    } else {
        let spends = count(group.spends, "spend");
        format!("  #{} to #{seq}  {spends}  {slots}  {mark}, the last {when}\n", group.first_seq)
    }
}

/// `status`
pub fn status(session: &Session<'_>, args: &cli::Status) -> Result<Output, Failure> {
    let ledger = session.open()?;
    let now = session.now(&ledger);
    let last = ledger.state().now;
    let age = loopx::time::DurationMs(now.ms_since(last));
    let mut page = Page::default();
    page.section("last change");
    page.say(format!("#{}, {age} ago", ledger.head().seq));
    if let Some(pending) = ledger.tail().and_then(|tail| tail.pending) {
        let bytes = pending.bytes;
        page.say(format!("{bytes} bytes after it are in progress or torn; the next write settles it"));
    }
    let output = status_of(session, &session.present(&ledger), now, args.limit, &page)?;
    Ok(headed(output.warned(session.clock_warning(&ledger)), &ledger))
}

/// The status of a state, live or replayed, with a last word.
pub fn status_of(
    session: &Session<'_>,
    state: &State,
    now: Timestamp,
    limit: Option<usize>,
    last: &Page,
) -> Result<Output, Failure> {
    let name = goal_of(session, state)?;
    let Some(goal) = state.goals.get(&name) else { return Err(Failure::usage(format!("no goal {name}"))) };
    let read = status::status(state, &name, goal, now);
    let mut output = render::page(&session.voice, &read, now, limit).followed_by(last).output();
    if let Value::Object(keys) = render::json(&read, now, limit) {
        output.keys.extend(keys);
    }
    Ok(output)
}

/// The record that a person's word for a place means, in this ledger.
pub fn seq_at(ledger: &Ledger, as_of: AsOf) -> Result<Seq, Failure> {
    match as_of {
        AsOf::Seq(seq) if seq > ledger.head().seq || seq == Seq::ZERO => {
            let last = ledger.head().seq;
            Err(Failure::usage(format!("#{seq} is not in the log, which holds #1 to #{last}")))
        }
        AsOf::Seq(seq) => Ok(seq),
        AsOf::Time(at) => {
            let mut last = Seq::ZERO;
            ledger.records(&loopx::log::Cursor::START, &mut |record, _| {
                if record.ts() > at {
                    return std::ops::ControlFlow::Break(());
                }
                last = record.seq();
                std::ops::ControlFlow::Continue(())
            })?;
            if last == Seq::ZERO {
                Err(Failure::usage(format!("the log begins after {at}")))
            } else {
                Ok(last)
            }
        }
    }
}

/// `history`
pub fn history(session: &Session<'_>, args: &cli::History) -> Result<Output, Failure> {
    let mut ledger = session.open()?;
    let about = args.about.clone().or_else(|| args.todo.map(|todo| todo.to_string()));
    let mut lines = match &about {
        None => all(&ledger)?,
        Some(id) => thread(&mut ledger, id)?,
    };
    match args.since {
        None => {}
        Some(AsOf::Time(at)) => lines.retain(|line| line.ts > at),
        Some(AsOf::Seq(seq)) => lines.retain(|line| line.seq > seq),
    }
    if lines.is_empty() && about.is_some() {
        let name = about.unwrap_or_default();
        return Err(Failure::new(
            "not_found",
            crate::failure::exit::REFUSED,
            format!("nothing is known of {name}"),
        ));
    }
    let from = lines.len().saturating_sub(args.limit);
    let shown = lines.get(from..).unwrap_or_default();
    let mut text = String::new();
    if from > 0 {
        text.push_str(&format!("… {from} earlier of {}; all: --limit {}\n", lines.len(), lines.len()));
    }
    shown.iter().for_each(|line| text.push_str(&thing::history_line(line)));
    let judged = match &about {
        Some(id) => judge::read(&mut ledger, id)?,
        None => None,
    };
    let at = Moment { state: ledger.state(), seq: ledger.head().seq, now: session.now(&ledger) };
    judged.iter().for_each(|judged| text.push_str(&judged.lines(at)));
    let records: Vec<Value> = shown.iter().map(thing::history_json).collect();
    let next = (from > 0).then(|| format!("--limit {}", lines.len()));
    let mut output = Output::text(text);
    output.markdown = Some(thing::history_markdown(about.as_deref(), shown, lines.len()));
    let output = output
        .with("total", lines.len())
        .with("shown", shown.len())
        .with("next", next)
        .with("records", records);
    let output = match judged {
        Some(judged) => judged.keyed(output, at),
        None => output,
    };
    Ok(headed(output, &ledger))
}

/// The history of all.
fn all(ledger: &Ledger) -> Result<Vec<Line>, Failure> {
    let mut lines = Vec::new();
    ledger.replay(ledger.head().seq, &mut |_, entry: &Entry<'_>| lines.push(Line::whole(entry)))?;
    Ok(lines)
}

/// `show`: the thing as it is, or as it last was, and its history.
pub fn show(session: &Session<'_>, id: &str, as_of: Option<AsOf>) -> Result<Output, Failure> {
    let mut ledger = session.open()?;
    if let Some(seq) = id.strip_prefix('#') {
        return record(&ledger, seq.parse()?);
    }
    let to = as_of.map_or(Ok(ledger.head().seq), |as_of| seq_at(&ledger, as_of))?;
    let mut lines = thread(&mut ledger, id)?;
    lines.retain(|line| line.seq <= to);
    let judged = judge::read(&mut ledger, id)?;
    let then = as_of.map(|_| ledger.state_at(to, &mut |_| {})).transpose()?;
    let at = match &then {
        None => Moment { state: ledger.state(), seq: to, now: session.now(&ledger) },
        Some(state) => Moment { state, seq: to, now: state.now },
    };
    let now = thing::find(at.state, id);
    let open = now.is_some();
    if lines.is_empty() && !open {
        let text = format!("nothing is known of {id}");
        return Err(Failure::new("not_found", crate::failure::exit::REFUSED, text));
    }
    let mut object = match now {
        Some(now) => Some(now),
        None => last(&ledger, id, &lines)?.map(|object| thing::ended(id, object, &lines)),
    };
    if let (Some(judged), Some(object)) = (&judged, &mut object) {
        judged.correct(object, at);
    }
    let mut text =
        format!("{}{}\n", terminal(id), if open || object.is_none() { "" } else { "  as it last was" });
    object.iter().for_each(|object| text.push_str(&thing::object_lines(object)));
    judged.iter().for_each(|judged| text.push_str(&judged.lines(at)));
    lines.iter().for_each(|line| text.push_str(&thing::history_line(line)));
    let records: Vec<Value> = lines.iter().map(thing::history_json).collect();
    let mut output = Output::text(text).with("open", open).with("object", object).with("records", records);
    if let Some(judged) = judged {
        output = judged.keyed(output, at);
    }
    Ok(headed(output, &ledger).with("as_of", to.0))
}

/// The thing as it was just before the last record that touched it while it was there.
fn last(ledger: &Ledger, id: &str, lines: &[Line]) -> Result<Option<Value>, Failure> {
    if !thing::leaves(id) {
        return Ok(None);
    }
    for line in lines.iter().rev() {
        let before = ledger.state_at(Seq(line.seq.0.saturating_sub(1)), &mut |_| {})?;
        if let Some(object) = thing::find(&before, id) {
            return Ok(Some(object));
        }
    }
    Ok(None)
}

/// `show '#118'`: one record.
fn record(ledger: &Ledger, seq: Seq) -> Result<Output, Failure> {
    let seq = seq_at(ledger, AsOf::Seq(seq))?;
    let Some(past) = ledger.record(seq)? else {
        return Err(Failure::usage(format!("#{seq} holds no event")));
    };
    let line = Line::from(past);
    let text = format!("{}  hash {}  request {}\n", thing::history_line(&line), line.hash, line.request);
    Ok(headed(Output::text(text).with("record", thing::history_json(&line)), ledger))
}

/// Open gates, and then the approvals that cover something, each cut at `limit`.
fn gates(state: &State, now: Timestamp, limit: usize) -> Output {
    let mut output = thing::list("gates", thing::gates(state), limit);
    let approvals = thing::approvals(state, now);
    output.keys.insert("approvals_total".to_owned(), approvals.len().into());
    let listed = thing::list("approvals", approvals, limit);
    if listed.keys.get("total") != Some(&0.into()) {
        output.text.push_str(&listed.text);
    }
    output.with("approvals", listed.keys.get("approvals").cloned().unwrap_or_default())
}

/// The `list` and `show` of every noun.
pub fn noun(session: &Session<'_>, top: &Top) -> Result<Output, Failure> {
    let shown = match top {
        Top::Goal(cli::Goal::Show { goal: Some(goal) }) => Some(goal.to_string()),
        Top::Todo(cli::Todo::Show { todo }) => Some(todo.to_string()),
        Top::Gate(cli::Gate::Show { gate }) => Some(gate.to_string()),
        Top::Lease(cli::Lease::Show { on }) => {
            Some(on.to_string().trim_start_matches("resource/").to_owned())
        }
        Top::Evidence(cli::Evidence::Show { evidence }) => Some(evidence.to_string()),
        Top::Agent(cli::Agent::Show { name }) => Some(name.to_string()),
        _ => None,
    };
    if let Some(id) = shown {
        return show(session, &id, None);
    }
    let ledger = session.open()?;
    let state = ledger.state();
    let output = match top {
        Top::Goal(cli::Goal::List(args)) => thing::list("goals", thing::goals(state), args.limit),
        Top::Goal(_) => return show(session, goal_of(session, state)?.as_str(), None),
        Top::Todo(cli::Todo::List(args)) => {
            let goal = session.caller()?.goal;
            thing::list("todos", thing::todos(state, goal.as_ref()), args.limit)
        }
        Top::Monitor(cli::Monitor::List(args)) => thing::list("monitors", thing::monitors(state), args.limit),
        Top::Gate(cli::Gate::List(args)) => gates(state, session.now(&ledger), args.limit),
        Top::Lease(cli::Lease::List(args)) => thing::list("leases", thing::leases(state), args.limit),
        Top::Evidence(cli::Evidence::List(args)) => {
            thing::list("evidence", thing::evidence(state, session.now(&ledger)), args.limit)
        }
        Top::Agent(cli::Agent::List(args)) => thing::list("agents", thing::agents(state), args.limit),
        Top::Owner(cli::Owner::List(args)) => thing::list("owners", thing::owners(state), args.limit),
        other => return Err(Failure::usage(format!("{other:?} is not a command that reads"))),
    };
    Ok(headed(output, &ledger))
}
