//! `quota should-run`: LoopX's packet, and the numbers of a quota.

use loopx::decide::{Decision, Mode, Verdict};
use loopx::event::Budget;
use loopx::state::{Quota, State};
use loopx::time::{DurationMs, Timestamp};
use serde_json::{Value, json};

use super::decision::{next_commands, quiet, trace_lines};
use super::room::bound;
use super::{Output, Voice, value};

/// What a scheduler compares: another token means that the cadence starts over.
fn reset_token(decision: &Decision, selected: &Value) -> String {
    let mut head = vec![json!(decision.mode.word()), selected.clone(), json!(decision.questions)];
    if !decision.unasked.is_empty() || !decision.findings.is_empty() {
        let scopes: Vec<String> = decision.unasked.iter().map(|(scope, _)| scope.to_string()).collect();
        let findings: Vec<String> = decision.findings.iter().map(ToString::to_string).collect();
        head.push(json!([scopes, findings]));
    }
    loopx::hash::Hash::blob(Value::Array(head).to_string().as_bytes()).short()
}

/// `quota should-run`: LoopX's packet, with our verdict beside it.
pub fn should_run(voice: &Voice, state: &State, decision: &Decision, detail: bool) -> Output {
    let mut output = quiet(voice, state, decision, &[]);
    let run = matches!(decision.verdict, Verdict::Run { .. } | Verdict::Poll { .. });
    let spends = matches!(decision.verdict, Verdict::Run { .. });
    let grants = matches!(&decision.verdict, Verdict::Ask { grants, .. } if !grants.is_empty());
    let asks = !decision.questions.is_empty() || !decision.unasked.is_empty();
    let action = asks || !decision.user_actions.is_empty() || grants;
    let selected = match &decision.verdict {
        Verdict::Run { todo, .. } | Verdict::Poll { todo } => {
            let title = state.todos.get(todo).map(|todo| &todo.spec.title);
            json!({"todo_id": todo, "title": title})
        }
        Verdict::Ask { .. } | Verdict::Plan { .. } | Verdict::Wait | Verdict::Done => Value::Null,
    };
    let mut quota = quota_keys(state.quotas.get(&decision.goal), decision.now);
    if decision.mode == Mode::QuotaThrottled {
        // Slots that open turns of others may still spend are used up too.
        quota.as_object_mut().and_then(|quota| quota.insert("state".to_owned(), "throttled".into()));
    }
    let commands = next_commands(voice, decision);
    let contract = json!({
        "mode": decision.mode.word(),
        "user_channel": {"action_required": action, "notify": action, "todos": decision.user_actions},
        "agent_channel": {
            "must_attempt": run, "delivery_allowed": run,
            "quiet_noop_allowed": matches!(decision.verdict, Verdict::Wait | Verdict::Done),
            "primary_action": commands.first(),
        },
        "cli_channel": {
            "next_cli_actions": commands, "spend_allowed_now": false, "spend_after_validation": spends,
            "spend_policy": "once per turn, with an accountable outcome",
        },
    });
    let cadence = decision.mode.cadence_minutes();
    let token = reset_token(decision, &selected);
    let keys = [
        ("should_run", json!(run)),
        ("decision", json!(decision.verdict.word().to_lowercase())),
        ("reason", json!(reason(decision))),
        ("effective_action", json!(decision.mode.word())),
        ("selected_todo", selected),
        ("interaction_contract", contract),
        (
            "scheduler_hint",
            json!({
                "action": if cadence.is_empty() { "stop" } else { "continue" },
                "cadence_class": decision.mode.word(), "cadence_minutes": cadence, "reset_token": token,
            }),
        ),
        ("quota", quota),
    ];
    for (key, value) in keys {
        output.keys.insert(key.to_owned(), value);
    }
    output.keys.remove("next_commands");
    if detail {
        output.keys.insert("trace".to_owned(), value(&decision.trace));
        output.text.push_str(&trace_lines(decision));
    } else {
        output.keys.remove("questions");
        let deciding = decision.trace.last();
        output.keys.insert("trace".to_owned(), value(&deciding));
        bound(&mut output.keys);
    }
    output
}

/// The fact that decided, in words.
pub fn reason(decision: &Decision) -> String {
    let Some(last) = decision.trace.last() else { return String::new() };
    if last.facts.is_empty() {
        last.rule.to_owned()
    } else {
        format!("{}: {}", last.rule, last.facts.join(", "))
    }
}

/// The numbers of a quota.
pub fn quota_keys(quota: Option<&Quota>, now: Timestamp) -> Value {
    let setting = quota.and_then(|quota| quota.setting.as_ref());
    let allowed = quota.and_then(Quota::allowed_slots);
    let spent = quota.map_or(0, |quota| quota.spent_slots(now));
    let state = match (setting, allowed) {
        (None, _) => "not_set",
        (Some(_), None) => "unlimited",
        (Some(_), Some(0)) => "zero",
        (Some(_), Some(allowed)) if spent >= allowed => "throttled",
        (Some(_), Some(_)) => "available",
    };
    let window_ms = quota.map_or(loopx::state::DEFAULT_WINDOW_MS, Quota::window_ms);
    let slot_ms = setting.map_or(loopx::state::DEFAULT_SLOT_MS, |setting| setting.slot_ms);
    let compute = setting.and_then(|setting| match setting.allowance {
        loopx::event::Allowance::Share { milli } => Some(format!("{}.{:03}", milli / 1_000, milli % 1_000)),
        loopx::event::Allowance::Unlimited | loopx::event::Allowance::Slots { .. } => None,
    });
    json!({
        "compute": compute, "window_hours": window_ms / 3_600_000, "window_ms": window_ms,
        "slot_minutes": slot_ms / 60_000, "slot_ms": slot_ms, "allowed_slots": allowed, "spent_slots": spent,
        "state": state, "total": value(&quota.map(|quota| quota.total).unwrap_or_default()),
        "budget": value(&quota.map(|quota| quota.budget).unwrap_or_default()),
    })
}

/// A budget in words.
pub fn budget(budget: &Budget) -> String {
    let tokens = budget.tokens.map(|tokens| format!("{tokens} tokens"));
    let cost = budget.cost_micro.map(|cost| format!("cost {}", money(cost)));
    let wall = budget.wall_ms.map(|wall| format!("{} of turns", DurationMs(wall)));
    let each: Vec<String> = tokens.into_iter().chain(cost).chain(wall).collect();
    if each.is_empty() { "not limited".to_owned() } else { each.join(", ") }
}

/// Millionths with as many digits after the point as they need, two at least.
pub fn money(micro: u64) -> String {
    let fraction = format!("{:06}", micro % 1_000_000);
    let digits = fraction.trim_end_matches('0').len().max(2);
    format!("{}.{}", micro / 1_000_000, fraction.get(..digits).unwrap_or(&fraction))
}
