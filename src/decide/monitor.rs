//! Monitors: looked at when due, by whoever may, without claim, turn or spend.

use super::command::MonitorPoll;
use super::frontier::{Hindrance, hindrances};
use super::todo::open_todo;
use super::{Context, Decided, Refusal, bounded};
use crate::event::{MonitorPolled, TodoAdded, TodoSpec};
use crate::hash::Hash;
use crate::state::GoalStatus;
use crate::text::Text;

/// Records one look. What is seen for the first time is where changes are counted from; a later difference is material and
/// makes a successor, unless the caller says why none follows. Nothing new before the monitor is due is refused: it would
/// only be noise.
pub(super) fn poll(context: &Context<'_>, command: &MonitorPoll) -> Result<Decided, Refusal> {
    let caller = context.anyone()?;
    let id = command.todo;
    let todo = open_todo(context, id)?;
    let (Some(watch), Some(monitor)) = (&todo.watch, &todo.spec.monitor) else {
        return Err(Refusal::NotAMonitor { todo: id });
    };
    let goal = context.state.goals.get(&todo.goal);
    if let Some(goal) = goal.filter(|goal| goal.status != GoalStatus::Active) {
        return Err(Refusal::GoalNotActive { goal: todo.goal.clone(), status: goal.status });
    }
    bounded("next", &command.next)?;
    if command.no_follow_up.is_some() && !command.next.is_empty() {
        return Err(Refusal::ContinuationAmbiguous { todo: id });
    }
    let digest = Hash::blob(command.result.as_str().as_bytes());
    let changed = watch.digest != Some(digest);
    let capabilities = context.capabilities(&caller);
    let lane = context.lane(&todo.goal, &caller, &capabilities);
    let early = |found: &Hindrance| matches!(found, Hindrance::NotDue { .. }) && changed;
    match hindrances(context.state, &lane, id, todo).into_iter().find(|found| !early(found)) {
        Some(Hindrance::NotDue { at }) => return Err(Refusal::MonitorNotDue { todo: id, at }),
        Some(hindrance) => return Err(Refusal::NotRunnable { todo: id, hindrance }),
        None => {}
    }
    let mut draft = context.draft();
    let due = context.now.plus_ms(monitor.every_ms);
    let result = changed.then(|| command.result.clone());
    draft.push(MonitorPolled { digest, due, id, result });
    let material = changed && watch.polled.is_some();
    let mut titles = command.next.clone();
    if titles.is_empty() && material && command.no_follow_up.is_none() {
        let title = format!("Look into what changed: {}", todo.spec.title).parse();
        titles.push(title.unwrap_or_else(|_| Text::own("Look into what changed")));
    }
    for title in titles {
        let spec = TodoSpec {
            priority: todo.spec.priority,
            serves: todo.spec.serves.clone(),
            ..TodoSpec::titled(title)
        };
        let id = draft.mint_todo();
        draft.push(TodoAdded { goal: todo.goal.clone(), id, spec });
    }
    draft.by(caller.actor)
}
