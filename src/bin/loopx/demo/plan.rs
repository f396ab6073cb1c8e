//! What the agents think of: hypotheses, what follows a result, and when the goal is reached.

use super::agent::Agent;
use super::command::{seq, text};
use super::failed;
use super::step::Measured;
use super::work::{Brief, complete};
use crate::failure::Failure;

/// An idea, and how to find out.
struct Idea {
    claim: &'static str,
    title: &'static str,
    config: &'static str,
    priority: &'static str,
    /// The place in the list, from 1, of the idea that it builds on; 0 for what was just measured.
    builds_on: usize,
}

/// What comes to mind once the baseline is known.
const FIRST_IDEAS: [Idea; 4] = [
    Idea {
        claim: "Five neighbours outvote the noise of one",
        title: "Ask five neighbours",
        config: "k=5 metric=euclidean scaling=none",
        priority: "P1",
        builds_on: 0,
    },
    Idea {
        claim: "Features with large numbers drown the others: scale them",
        title: "Scale every feature",
        config: "k=1 metric=euclidean scaling=standard",
        priority: "P1",
        builds_on: 0,
    },
    Idea {
        claim: "The largest scaled difference alone tells wines apart",
        title: "Try the largest difference",
        config: "k=1 metric=chebyshev scaling=standard",
        priority: "P2",
        builds_on: 2,
    },
    Idea {
        claim: "On scaled features a large vote is better than one neighbour",
        title: "Ask 21 neighbours",
        config: "k=21 metric=euclidean scaling=standard",
        priority: "P1",
        builds_on: 2,
    },
];

/// What comes to mind when the smaller k is preferred.
const SMALLER_K: Idea = Idea {
    claim: "With summed differences one neighbour does as well as the best",
    title: "Try summed differences",
    config: "k=1 metric=manhattan scaling=standard",
    priority: "P1",
    builds_on: 0,
};

/// Adds a todo for an idea and the hypothesis that it tests; answers both.
fn propose(agent: &Agent, idea: &Idea, needs: &str, refines: &str) -> Result<(String, String), Failure> {
    let title = format!("{}: {}", idea.title, idea.config);
    let done_when = "cross-validated with seeds 1 to 3, compared seed by seed";
    let added = agent.loopx.run(&[
        "add",
        &title,
        "-p",
        idea.priority,
        "--action",
        "measure",
        "--needs",
        needs,
        "--done-when",
        done_when,
    ])?;
    let todo = text(&added, "/todo/id")?;
    let proposed =
        agent.loopx.run(&["lineage", "hypothesis", idea.claim, "--todo", &todo, "--refines", refines])?;
    let hypothesis = text(&proposed, "/hypothesis/id")?;
    agent.say(format!("adds {todo}"), format!("{hypothesis} {}", idea.claim), seq(&proposed))?;
    Ok((todo, hypothesis))
}

/// Completes what was measured. A baseline is followed by ideas, a candidate by the held-out rows, the rest by
/// nothing.
///
/// # Errors
/// A [`Failure`] if a command fails that has to succeed.
pub fn follow_up(agent: &Agent, brief: &Brief, measured: &Measured) -> Result<(), Failure> {
    let mut follows = Vec::new();
    if brief.needs.is_empty() {
        let mut made = vec![(measured.todo.clone(), measured.hypothesis.clone())];
        for idea in &FIRST_IDEAS {
            let base = made.get(idea.builds_on).cloned().ok_or_else(|| failed("an idea built on nothing"))?;
            made.push(propose(agent, idea, &base.0, &base.1)?);
        }
        follows.extend(made.into_iter().skip(1).flat_map(|(todo, _)| ["--successor".to_owned(), todo]));
    } else if measured.judgement.contains("within one row") {
        let title = format!("Hold out T1 and {}, once, and ask for the promotion", brief.todo);
        let added = agent.loopx.run(&[
            "add",
            &title,
            "-p",
            "P1",
            "--action",
            "hold_out",
            "--needs",
            "T1",
            "--needs",
            &brief.todo,
            "--serves",
            "A1",
        ])?;
        let todo = text(&added, "/todo/id")?;
        agent.say(format!("adds {todo}"), title, seq(&added))?;
        follows.extend(["--successor".to_owned(), todo]);
    } else {
        let why = format!("{}: whoever plans next weighs it", measured.judgement);
        follows.extend(["--no-follow-up".to_owned(), why]);
    }
    complete(agent, measured.clone(), &follows)
}

/// Nothing is open and the goal is not reached: the objective says what to look for.
///
/// # Errors
/// A [`Failure`] if a command fails, or if the objective gives no idea.
pub fn replan(agent: &Agent) -> Result<(), Failure> {
    let goal = agent.loopx.run(&["goal", "show", "wine"])?;
    let objective = text(&goal, "/object/objective")?;
    if !objective.contains("smallest k") {
        return Err(failed(format!("no idea what to try for: {objective}")));
    }
    agent.say("PLAN", "nothing is open, A1 and A2 are not met: reads the new objective", 0)?;
    let best = Brief::read(agent, "T5")?;
    let scaled = Brief::read(agent, "T3")?;
    propose(agent, &SMALLER_K, &best.todo, &scaled.hypothesis.unwrap_or_default()).map(|_| ())
}

/// Opens the gate that the promotion waits at, and completes the todo that led there.
///
/// # Errors
/// A [`Failure`] if a command fails that has to succeed.
pub fn ask(agent: &Agent, brief: &Brief, candidate: &Brief, rows: [&Measured; 2]) -> Result<(), Failure> {
    let title = format!("Promote {}", candidate.config);
    let needs: Vec<&str> =
        brief.needs.iter().chain([&brief.todo]).flat_map(|id| ["--needs", id.as_str()]).collect();
    let words = ["add", &title, "-p", "P1", "--action", "promote", "--serves", "A1", "--serves", "A2"];
    let added = agent.loopx.run(&[&words[..], &needs].concat())?;
    let todo = text(&added, "/todo/id")?;
    let score = |row: &Measured| {
        let right = row.correct.first().copied().unwrap_or_default();
        format!("{right} of {} ({})", row.total, row.values.first().cloned().unwrap_or_default())
    };
    let [base, new] = rows.map(score);
    let question = format!(
        "Promote {}? Held out {new}, baseline {base}. The seeds deal the same 120 rows to other folds: that they agree \
         shows that it repeats, not that it was found independently.",
        candidate.config
    );
    let evidence: Vec<&str> = candidate
        .evidence
        .iter()
        .chain(rows.iter().flat_map(|row| &row.evidence))
        .map(String::as_str)
        .collect();
    let evidence: Vec<&str> = evidence.into_iter().flat_map(|id| ["--evidence", id]).collect();
    let asked = agent.loopx.run(&[&["ask", &question, "--blocks", &todo][..], &evidence].concat())?;
    let gate = text(&asked, "/gate/id")?;
    agent.say(
        format!("ASK {gate}"),
        format!("promote {}? held out {new}, baseline {base}", candidate.todo),
        seq(&asked),
    )?;
    let mut done = vec!["done", brief.todo.as_str(), "--successor", &todo];
    done.extend(rows.iter().flat_map(|row| &row.evidence).flat_map(|id| ["--evidence", id.as_str()]));
    let done = agent.loopx.run(&done)?;
    agent.say(format!("DONE {}", brief.todo), format!("{todo} waits for {gate}"), seq(&done))
}

/// Every criterion is met and nothing is open.
///
/// # Errors
/// A [`Failure`] if a command fails that has to succeed.
pub fn close(agent: &Agent) -> Result<(), Failure> {
    let goal = agent.loopx.run(&["goal", "show", "wine"])?;
    let met = goal
        .pointer("/object/criteria")
        .and_then(serde_json::Value::as_object)
        .map_or(0, serde_json::Map::len);
    let why = format!("{met} of {met} criteria are met, nothing is open");
    let done = agent.loopx.run(&["goal", "complete", "--why", &why])?;
    agent.say("completes", format!("goal wine: {why}"), seq(&done))
}
