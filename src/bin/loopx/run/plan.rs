//! `quota plan`: which goals would run, best first, and the numbers behind it.

use loopx::decide::{Context, History, Verdict};
use loopx::id::Seq;
use loopx::project::plan::{self, Planned};
use loopx::state::{Quota, State};
use loopx::time::Timestamp;
use serde_json::{Value, json};

use super::Session;
use super::look::headed;
use crate::failure::{Failure, when};
use crate::render::page::Page;
use crate::render::{Output, count, packet, value};

/// Records that explain one number, before the rest is only counted.
const EXPLAINED: usize = 4;

/// `quota plan`
pub fn plan(session: &Session<'_>, limit: usize) -> Result<Output, Failure> {
    let ledger = session.open()?;
    let (state, now) = (ledger.state(), session.now(&ledger));
    let caller = session.caller()?;
    let context = Context { state, history: &History::default(), caller: &caller, now };
    let planned = plan::plan(&context)?;
    let mut page = Page::default();
    page.title(count(planned.len(), "open goal"), "", format!("best first, at #{}", ledger.head().seq));
    for (place, one) in planned.iter().enumerate().take(limit) {
        let (theirs, why) = verdict(state, one, now);
        page.title(format!("{}. {}", place + 1, one.id), &theirs, why);
        page.section("slots");
        page.say(numbers(one, now));
    }
    let total = planned.len();
    let next = (total > limit).then(|| format!("--limit {total}"));
    if let Some(next) = &next {
        page.say(format!("+ {} more; all: {next}", total - limit));
    }
    let goals: Vec<Value> =
        planned.iter().enumerate().take(limit).map(|(at, one)| object(at, one, now)).collect();
    let output = page.output().with("total", total).with("shown", goals.len()).with("next", next);
    Ok(headed(output.with("goals", goals), &ledger))
}

/// What would happen: the title of the todo, and the verdict with the fact that decided.
fn verdict(state: &State, one: &Planned<'_>, now: Timestamp) -> (String, String) {
    let decision = match &one.decision {
        Ok(decision) => decision,
        Err(turn) => return (String::new(), format!("WAIT turn {turn} is open in another goal")),
    };
    let word = decision.verdict.word();
    let title = |id| state.todos.get(id).map(|todo| todo.spec.title.to_string()).unwrap_or_default();
    match &decision.verdict {
        Verdict::Run { todo, turn, .. } => {
            let turn = turn.map(|turn| format!(", turn {turn} goes on")).unwrap_or_default();
            (title(todo), format!("{word} {todo}{turn}"))
        }
        Verdict::Poll { todo } => (title(todo), format!("{word} {todo}, a monitor that is due")),
        Verdict::Ask { .. } | Verdict::Plan { .. } | Verdict::Wait | Verdict::Done => {
            let until = decision.wake.at.filter(|at| *at > now);
            let rule = decision.trace.last().map(|last| last.rule).unwrap_or_default();
            let why = match until {
                Some(at) => format!("{rule} until {}", when(at, now)),
                None => packet::reason(decision),
            };
            (String::new(), format!("{word} {why}"))
        }
    }
}

/// `24 allowed (#12), 17 spent (#118 #120), 1 kept for U12 (#240), 6 left`
fn numbers(one: &Planned<'_>, now: Timestamp) -> String {
    let allowed = one.quota.and_then(Quota::allowed_slots);
    let set = one.quota.and_then(|quota| quota.setting.as_ref()).map(|setting| setting.seq);
    let spent = one.quota.map_or(0, |quota| quota.spent_slots(now));
    let mut facts = vec![match (set, allowed) {
        (None, _) => "no limit is set".to_owned(),
        (Some(seq), None) => format!("unlimited (#{seq})"),
        (Some(seq), Some(allowed)) => format!("{allowed} allowed (#{seq})"),
    }];
    let by: Vec<String> = spends(one, now)
        .into_iter()
        .map(|(first, last)| if first == last { format!("#{last}") } else { format!("#{first} to #{last}") })
        .collect();
    facts.push(format!("{spent} spent{}", explained(&by)));
    let kept: Vec<String> = one.kept.iter().map(|(turn, seq, _)| format!("{turn} #{seq}")).collect();
    if !kept.is_empty() {
        facts.push(format!("{} kept for open turns{}", kept.len(), explained(&kept)));
    }
    if let Some(allowed) = allowed {
        facts.push(format!("{} left", allowed.saturating_sub(spent + one.kept.len() as u64)));
    }
    facts.join(", ")
}

/// The records whose spends count, by their first and last; several where neighbours were put together.
fn spends(one: &Planned<'_>, now: Timestamp) -> Vec<(Seq, Seq)> {
    let counted = one.quota.map(|quota| quota.counted(now).map(|group| (group.first_seq, group.seq)));
    counted.into_iter().flatten().collect()
}

fn explained(by: &[String]) -> String {
    let shown: Vec<&str> = by.iter().rev().take(EXPLAINED).rev().map(String::as_str).collect();
    let more = by.len() - shown.len();
    let more = if more == 0 { String::new() } else { format!("{more} more, ") };
    if by.is_empty() { String::new() } else { format!(" ({more}{})", shown.join(", ")) }
}

fn object(at: usize, one: &Planned<'_>, now: Timestamp) -> Value {
    let decision = one.decision.as_ref().ok();
    let run = decision.and_then(|decision| match &decision.verdict {
        Verdict::Run { todo, .. } | Verdict::Poll { todo } => Some(*todo),
        Verdict::Ask { .. } | Verdict::Plan { .. } | Verdict::Wait | Verdict::Done => None,
    });
    let spends: Vec<Value> =
        spends(one, now).into_iter().map(|(first, last)| json!({"first_seq": first, "seq": last})).collect();
    json!({
        "rank": at + 1, "goal": one.id, "objective": one.goal.objective,
        "verdict": decision.map_or("WAIT", |decision| decision.verdict.word()),
        "mode": decision.map(|decision| decision.mode.word()),
        "reason": decision.map(packet::reason),
        "todo": run,
        "wake": value(&decision.map(|decision| &decision.wake)),
        "turn_elsewhere": one.decision.as_ref().err(),
        "quota": packet::quota_keys(one.quota, now),
        "explained_by": {
            "set": one.quota.and_then(|quota| quota.setting.as_ref()).map(|setting| setting.seq),
            "spends": spends,
            "kept": one.kept.iter().map(|(turn, seq, until)| {
                json!({"turn": turn, "seq": seq, "until": until})
            }).collect::<Vec<_>>(),
        },
    })
}
