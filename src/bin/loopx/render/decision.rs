//! A decision: in one line for an agent, and with its trace for whoever asks why.

use loopx::decide::{Decision, Mode, PlanCause, Verdict};
use loopx::decision_scope::DecisionScope;
use loopx::event::Event;
use loopx::id::{GateId, TodoId, TurnId};
use loopx::ledger::Committed;
use loopx::project::escape::terminal;
use loopx::state::{GoalStatus, State};
use loopx::time::{DurationMs, Timestamp};
use serde_json::{Map, Value, json};

use super::asking::{ASKS, ask, gate_lines, person_lines};
use super::room::{Room, bound_lists, within};
use super::{Output, Voice, value};
use crate::failure::{exit, when};

/// The exit code of `next --exit-code`.
pub const fn exit_code(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Run { .. } | Verdict::Poll { .. } => exit::DONE,
        Verdict::Wait => exit::WAIT,
        Verdict::Ask { .. } => exit::ASK,
        Verdict::Plan { .. } => exit::PLAN,
        Verdict::Done => exit::GOAL_DONE,
    }
}

/// The answer of `next` when a turn was opened: the todo, its limits, and the command that ends the turn. `after` holds
/// what else has to be said.
pub fn opened(voice: &Voice, committed: &Committed, todo: TodoId, turn: TurnId, after: &[String]) -> Output {
    let state = &committed.state;
    let taken = committed.events.iter().find_map(|event| match event {
        Event::LeaseTakenOver(e) => Some(&e.from),
        _ => None,
    });
    let text = within(|room| {
        let mut lines = run_lines(voice, state, (todo, Some(turn)), committed.at.ts, room);
        if let Some(from) = taken {
            lines.push_str(&format!(
                "  taken over from {}, whose lease expired\n",
                room.text(&from.to_string())
            ));
        }
        lines + &said(after, room)
    });
    let mut keys = run_keys(voice, state, todo, Some(turn));
    bound_lists(&mut keys);
    Output { keys, ..Output::text(text) }.with("verdict", "RUN")
}

/// Further lines of an answer.
fn said(lines: &[String], room: Room) -> String {
    lines.iter().map(|line| format!("  {}\n", room.text(line))).collect()
}

fn run_keys(voice: &Voice, state: &State, id: TodoId, turn: Option<TurnId>) -> Map<String, Value> {
    let mut keys = Map::new();
    let Some(todo) = state.todos.get(&id) else { return keys };
    let claim = todo.claim.as_ref();
    keys.insert(
        "todo".to_owned(),
        json!({
            "id": id, "title": todo.spec.title, "priority": value(&todo.spec.priority), "done_when": todo.spec.done_when,
            "write": todo.spec.write, "check": todo.spec.check, "goal": todo.goal, "epoch": todo.epoch,
            "action": todo.spec.action, "needs": todo.spec.needs, "serves": todo.spec.serves,
            "lease_until": claim.and_then(|claim| claim.lease.as_ref()).map(|lease| lease.until),
            "lease_token": claim.and_then(|claim| claim.lease.as_ref()).map(|lease| lease.token),
        }),
    );
    keys.insert("turn".to_owned(), json!({"id": turn}));
    keys.insert("next_commands".to_owned(), value(&[follow_up(voice, state, id)]));
    keys
}

/// The command that ends the turn; where the lease has a key, with what else it takes.
fn follow_up(voice: &Voice, state: &State, todo: TodoId) -> String {
    let found = state.todos.get(&todo);
    let lease = found.and_then(|found| found.claim.as_ref()?.lease.as_ref());
    let keyed = found.filter(|_| lease.is_some_and(|lease| lease.key.is_some()));
    let epoch = keyed.map_or_else(String::new, |todo| format!(" --epoch {}", todo.epoch));
    voice.command(&format!("done {todo}{epoch} --proof \"CMD => RESULT\" --next \"TEXT\""))
}

fn run_lines(
    voice: &Voice,
    state: &State,
    (id, turn): (TodoId, Option<TurnId>),
    now: Timestamp,
    room: Room,
) -> String {
    let Some(todo) = state.todos.get(&id) else { return format!("RUN {id}\n") };
    let lease = todo.claim.as_ref().and_then(|claim| claim.lease.as_ref());
    let mut facts = vec![super::event_word(&todo.spec.priority)];
    facts.extend(turn.map(|turn| format!("turn {turn}")));
    facts.extend(lease.map(|lease| format!("lease {}", DurationMs(lease.until.ms_since(now)))));
    let title = room.text(todo.spec.title.as_str());
    let mut bounds = Vec::new();
    bounds.extend(todo.spec.done_when.as_ref().map(|text| ("done when", text.to_string())));
    if !todo.spec.check.is_empty() {
        bounds.push(("check", todo.spec.check.join(" ")));
    }
    if !todo.spec.write.is_empty() {
        let scope: Vec<String> = todo.spec.write.iter().map(ToString::to_string).collect();
        bounds.push(("writes", scope.join(" ")));
    }
    let cut = |text: &str| room.text(text) != terminal(text);
    let shortened = cut(todo.spec.title.as_str()) || bounds.iter().any(|(_, text)| cut(text));
    if shortened && room.is_bare() {
        facts.push(format!("whole text: show {id}"));
    }
    let mut out = format!("RUN {id}  {title}  {}\n", facts.join(", "));
    for (word, text) in bounds.iter().filter(|_| !room.is_bare()) {
        out.push_str(&format!("  {word}  {}\n", room.text(text)));
    }
    if shortened && !room.is_bare() {
        out.push_str(&format!("  whole text  {}\n", voice.command(&format!("show {id}"))));
    }
    out.push_str(&format!("  then  {}\n", follow_up(voice, state, id)));
    out.push_str("        or, in place of --next,  --no-follow-up \"WHY\"\n");
    out
}

/// A decision that appended nothing. `after` holds what else has to be said.
pub fn quiet(voice: &Voice, state: &State, decision: &Decision, after: &[String]) -> Output {
    let text = within(|room| quiet_lines(voice, state, decision, room) + &said(after, room));
    let mut keys = match &decision.verdict {
        Verdict::Run { todo, turn, .. } => run_keys(voice, state, *todo, *turn),
        Verdict::Poll { .. } | Verdict::Ask { .. } | Verdict::Plan { .. } | Verdict::Wait | Verdict::Done => {
            Map::new()
        }
    };
    if let Verdict::Run { repair: Some(repair), .. } = &decision.verdict {
        keys.insert("repair".to_owned(), repair.to_string().into());
    }
    if let Verdict::Poll { todo } = &decision.verdict {
        let found = state.todos.get(todo);
        let monitor = found.and_then(|todo| todo.spec.monitor.as_ref());
        let title = found.map(|todo| &todo.spec.title);
        keys.insert("monitor".to_owned(), json!({"id": todo, "title": title, "watch": value(&monitor)}));
    }
    if let Verdict::Ask { grants, .. } = &decision.verdict {
        keys.insert("grants".to_owned(), value(grants));
    }
    keys.insert("verdict".to_owned(), decision.verdict.word().into());
    keys.insert("mode".to_owned(), decision.mode.word().into());
    keys.insert("wake".to_owned(), value(&decision.wake));
    keys.insert("questions".to_owned(), questions(state, &decision.questions));
    keys.insert("user_actions".to_owned(), value(&decision.user_actions));
    if !decision.unasked.is_empty() {
        let one = |(scope, todos): &(DecisionScope, Vec<TodoId>)| json!({"scope": scope, "todos": todos, "ask": ask(voice, scope, todos)});
        keys.insert("unasked".to_owned(), decision.unasked.iter().take(ASKS).map(one).collect());
    }
    if !decision.findings.is_empty() {
        let findings: Vec<String> = decision.findings.iter().map(ToString::to_string).collect();
        keys.insert("findings".to_owned(), value(&findings));
    }
    keys.entry("next_commands").or_insert_with(|| value(&next_commands(voice, decision)));
    bound_lists(&mut keys);
    Output { keys, ..Output::text(text) }
}

fn quiet_lines(voice: &Voice, state: &State, decision: &Decision, room: Room) -> String {
    let mut out = match &decision.verdict {
        Verdict::Run { todo, turn, repair, .. } => {
            let repair =
                repair.as_ref().map(|repair| format!("  first  {}\n", room.text(&repair.to_string())));
            run_lines(voice, state, (*todo, *turn), decision.now, room) + &repair.unwrap_or_default()
        }
        Verdict::Poll { todo } => poll_lines(voice, state, *todo, room),
        Verdict::Ask { gates, user_actions, grants } => {
            let asked = gate_lines(voice, state, decision, gates, room)
                + &person_lines(voice, state, decision, (user_actions, grants), room);
            let longest = [gates.len(), user_actions.len(), grants.len()];
            let left: usize = longest.iter().map(|length| length.saturating_sub(room.items())).sum();
            let more =
                if left > 0 { format!("  + {left} more that wait for a human\n") } else { String::new() };
            if asked.is_empty() { "ASK a person\n".to_owned() } else { asked + &more }
        }
        Verdict::Plan { cause } => plan_lines(voice, cause, room),
        Verdict::Wait => wait_line(voice, state, decision, room),
        Verdict::Done => done_lines(decision),
    };
    let asked: &[GateId] = match &decision.verdict {
        Verdict::Ask { gates, .. } => gates,
        Verdict::Run { .. } | Verdict::Poll { .. } | Verdict::Plan { .. } | Verdict::Wait | Verdict::Done => {
            &[]
        }
    };
    let open: Vec<GateId> = decision.questions.iter().filter(|gate| !asked.contains(gate)).copied().collect();
    if room.is_bare() && !open.is_empty() {
        out.push_str(&format!("  open questions {}\n", room.list(&open)));
        return out;
    }
    for gate in open.iter().take(room.items()) {
        out.push_str(&format!("  open question {gate}  {}\n", room.text(&question(state, *gate))));
    }
    if let Some(left) = open.get(room.items()..).filter(|left| !left.is_empty()) {
        out.push_str(&format!("  + {} more open questions\n", left.len()));
    }
    out
}

fn question(state: &State, gate: GateId) -> String {
    state.gates.get(&gate).map(|gate| gate.question.to_string()).unwrap_or_default()
}

fn questions(state: &State, gates: &[GateId]) -> Value {
    let one = |id: &GateId| {
        let gate = state.gates.get(id)?;
        Some(json!({
            "id": id, "question": gate.question, "options": gate.options, "asked": gate.asked, "by": gate.by,
            "blocks": value(&gate.blocks), "evidence": gate.evidence,
        }))
    };
    Value::Array(gates.iter().filter_map(one).collect())
}

fn poll_lines(voice: &Voice, state: &State, id: TodoId, room: Room) -> String {
    let Some(todo) = state.todos.get(&id) else { return format!("RUN {id}\n") };
    let target =
        todo.spec.monitor.as_ref().map(|monitor| room.text(monitor.target.as_str())).unwrap_or_default();
    format!(
        "RUN {id}  {}  monitor, look and change nothing\n  watch {target}\n  then  {}\n",
        room.text(todo.spec.title.as_str()),
        voice.command(&poll_command(id)),
    )
}

fn poll_command(id: TodoId) -> String {
    format!("monitor poll {id} --result \"TEXT\"")
}

/// A goal that is completed says what it no longer shows.
fn done_lines(decision: &Decision) -> String {
    let mut out = format!("DONE goal {} is finished\n", decision.goal);
    let (rows, more) = super::cut(&decision.findings, FINDINGS);
    rows.iter().for_each(|finding| out.push_str(&format!("  finding  {finding}\n")));
    more.iter().for_each(|more| out.push_str(&format!("  {more}\n")));
    out
}

/// Most findings in one answer.
const FINDINGS: usize = 6;

fn plan_lines(voice: &Voice, cause: &PlanCause, room: Room) -> String {
    let (what, then) = match cause {
        PlanCause::Accepted => (
            "every criterion is met and nothing is open".to_owned(),
            voice.command("goal complete --why \"...\""),
        ),
        PlanCause::Empty { unmet } => match unmet.first() {
            None => ("nothing is open".to_owned(), voice.command("add \"...\"")),
            Some(first) => {
                let then = voice.command(&format!("add \"...\" --serves {first}"));
                (format!("nothing is open and {} not met", room.list(unmet)), then)
            }
        },
        PlanCause::Stuck { todos } => {
            let first = todos.first().map(ToString::to_string).unwrap_or_default();
            let explain = voice.command("ready --explain");
            let reopen = voice.command(&format!("todo reopen {first} --why \"...\""));
            (format!("{} stuck", room.list(todos)), format!("{explain}\n  or    {reopen}"))
        }
        PlanCause::Resumable { todos } => {
            let first = todos.first().map(ToString::to_string).unwrap_or_default();
            let reopen = voice.command(&format!("todo reopen {first} --why \"...\""));
            let cancel = voice.command(&format!("todo cancel {first} --why \"...\""));
            (
                format!("what {} was put off for has happened", room.list(todos)),
                format!("{reopen}\n  or    {cancel}"),
            )
        }
        PlanCause::Fruitless { todo, times } => {
            let block = voice.command(&format!("todo block {todo} --why \"...\""));
            let what = format!(
                "{todo} was tried {times} times in a row and brought nothing new: plan it differently"
            );
            (what, format!("{}\n  or    {block}", voice.command("add \"...\"")))
        }
        PlanCause::OutcomeFloor { turns } => {
            let what = format!("{turns} turns in a row brought no progress: only recovery may run");
            (what, voice.command("add \"...\" --action recovery"))
        }
    };
    format!("PLAN {what}\n  then  {then}\n")
}

fn wait_line(voice: &Voice, state: &State, decision: &Decision, room: Room) -> String {
    let at = decision.wake.at.map(|at| format!(" until {}", when(at, decision.now))).unwrap_or_default();
    let others = room.list(&decision.wake.on);
    let paused = state.goals.get(&decision.goal).is_some_and(|goal| goal.status == GoalStatus::Paused);
    match decision.mode {
        Mode::Paused if paused => {
            format!(
                "WAIT goal {} is paused; an owner resumes it: {}\n",
                decision.goal,
                voice.owner("goal resume --why \"...\"")
            )
        }
        Mode::Paused => {
            format!(
                "WAIT the quota of {} is 0; an owner sets it: {}\n",
                decision.goal,
                voice.owner("quota set --slots 10 --why \"...\"")
            )
        }
        Mode::QuotaThrottled if decision.wake.on.iter().any(|on| on == "quota.budgeted") => {
            let spent = decision.trace.last().map(|tried| tried.facts.join(", ")).unwrap_or_default();
            let set = voice.owner("quota budget --why \"...\"");
            format!("WAIT a budget is used up, {}; an owner sets it: {set}\n", terminal(&spent))
        }
        Mode::QuotaThrottled if at.is_empty() => {
            "WAIT the quota is used up, and no slot becomes free by itself\n".to_owned()
        }
        Mode::QuotaThrottled => format!("WAIT the quota is used up{at}\n"),
        Mode::AgentScopeWait | Mode::ReassignmentRequired => {
            format!("WAIT the work left is others': {others}{at}\n")
        }
        _ if others.is_empty() => format!("WAIT nothing is due{at}\n"),
        _ => format!("WAIT nothing is due{at}: {others}\n"),
    }
}

/// The commands that make sense now, complete.
pub fn next_commands(voice: &Voice, decision: &Decision) -> Vec<String> {
    match &decision.verdict {
        Verdict::Run { .. } => vec![voice.command("next")],
        Verdict::Poll { todo } => vec![voice.command(&poll_command(*todo))],
        Verdict::Ask { gates, grants, .. } => {
            let show = gates.iter().map(|gate| voice.command(&format!("gate show {gate}")));
            let asks = decision.unasked.iter().take(ASKS).map(|(scope, todos)| ask(voice, scope, todos));
            let agent = decision.holder.actor.name();
            let grant = |capability| format!("agent grant {agent} --capability {capability} --why \"...\"");
            let grants = grants.iter().filter(|_| gates.is_empty());
            show.chain(asks).chain(grants.map(|(_, capability)| voice.owner(&grant(capability)))).collect()
        }
        Verdict::Plan { cause: PlanCause::Accepted } => vec![voice.command("goal complete --why \"...\"")],
        Verdict::Plan { cause: PlanCause::Empty { .. } } => vec![voice.command("add \"...\"")],
        Verdict::Plan { cause: PlanCause::Stuck { .. } | PlanCause::Resumable { .. } } => {
            vec![voice.command("ready --explain")]
        }
        Verdict::Plan { cause: PlanCause::Fruitless { .. } } => vec![voice.command("add \"...\"")],
        Verdict::Plan { cause: PlanCause::OutcomeFloor { .. } } => {
            vec![voice.command("add \"...\" --action recovery")]
        }
        Verdict::Wait | Verdict::Done => Vec::new(),
    }
}

/// The rules that were tried, one a line.
pub fn trace_lines(decision: &Decision) -> String {
    let line = |tried: &loopx::decide::decision::Tried| {
        let mark = if tried.passed { "yes" } else { "no " };
        format!("  {:>2} {mark} {}  {}\n", tried.row, tried.rule, terminal(&tried.facts.join(", ")))
    };
    decision.trace.iter().map(line).collect()
}
