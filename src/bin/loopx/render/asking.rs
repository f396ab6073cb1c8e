//! What is asked of people: gates, actions, grants, decisions that nobody has asked for.

use loopx::decide::Decision;
use loopx::decision_scope::DecisionScope;
use loopx::id::{CapabilityId, GateId, TodoId};
use loopx::state::State;
use loopx::time::DurationMs;

use super::Voice;
use super::room::Room;
use super::voice::quoted;

/// The open gates that have to be answered.
pub fn gate_lines(voice: &Voice, state: &State, decision: &Decision, gates: &[GateId], room: Room) -> String {
    let mut out = String::new();
    for id in gates.iter().take(room.items()) {
        let Some(gate) = state.gates.get(id) else { continue };
        let options =
            if gate.options.is_empty() { "approve, reject".to_owned() } else { room.list(&gate.options) };
        let blocks = if gate.blocks.all { "everything".to_owned() } else { room.list(&gate.blocks.todos) };
        let blocks = if blocks.is_empty() { String::new() } else { format!("blocks {blocks}; ") };
        let answer = gate.options.first().map_or_else(|| "approve".to_owned(), ToString::to_string);
        let question = room.text(gate.question.as_str());
        out.push_str(&format!("ASK {id}  {question}  {blocks}options {options}\n"));
        out.push_str(&format!(
            "  asked {} ago by {}. Only an owner can answer: {}\n",
            DurationMs(decision.now.ms_since(gate.asked)),
            room.text(gate.by.name()),
            voice.owner(&format!("gate decide {id} {answer} --why \"...\"")),
        ));
    }
    out
}

/// What else only a person can do: act, grant, decide.
pub fn person_lines(
    voice: &Voice,
    state: &State,
    decision: &Decision,
    (user_actions, grants): (&[TodoId], &[(TodoId, CapabilityId)]),
    room: Room,
) -> String {
    let mut out = String::new();
    for id in user_actions.iter().take(room.items()) {
        let title = state.todos.get(id).map(|todo| room.text(todo.spec.title.as_str())).unwrap_or_default();
        out.push_str(&format!("ASK {id}  {title}  only a person can do it\n"));
    }
    for (id, capability) in grants.iter().take(room.items()) {
        let title = state.todos.get(id).map(|todo| room.text(todo.spec.title.as_str())).unwrap_or_default();
        let grant =
            format!("agent grant {} --capability {capability} --why \"...\"", decision.holder.actor.name());
        out.push_str(&format!(
            "ASK {id}  {title}  needs {}, which only an owner grants\n",
            room.text(capability.as_str())
        ));
        out.push_str(&format!("  {}\n", voice.owner(&grant)));
    }
    for (scope, todos) in decision.unasked.iter().take(ASKS.min(room.items())) {
        let (shown, more) = super::cut(todos, BLOCKED);
        let names: Vec<String> = shown.iter().map(ToString::to_string).collect();
        let more = more.map(|more| format!(" ({more})")).unwrap_or_default();
        out.push_str(&format!("ASK {}{more}  a decision on {scope} is required\n", names.join(", ")));
        out.push_str(&format!("  nobody has been asked: {}\n", ask(voice, scope, todos)));
    }
    if decision.unasked.len() > ASKS {
        out.push_str(&format!(
            "  … {} more: {}\n",
            decision.unasked.len() - ASKS,
            voice.command("ready --explain")
        ));
    }
    out
}

/// Most decisions that are asked for in one answer, and most todos in one question: the rest comes with the next answer.
pub const ASKS: usize = 3;
const BLOCKED: usize = 8;

/// The command that puts the question for a decision that todos require.
pub fn ask(voice: &Voice, scope: &DecisionScope, todos: &[TodoId]) -> String {
    let blocks: String = todos.iter().take(BLOCKED).map(|id| format!(" --blocks {id}")).collect();
    voice.command(&format!("ask \"...\" --scope {}{blocks}", quoted(&scope.to_string())))
}
