//! What an agent does with a todo, by the todo's kind of action: measure a configuration, hold out, promote.

use std::io::Read;
use std::path::PathBuf;

use serde_json::Value;

use super::agent::Agent;
use super::command::{bodies, seq, text, texts};
use super::knn::{Config, FOLDS, HOLDOUT_SEED};
use super::step::{Measured, Step};
use super::{failed, place, plan};
use crate::failure::Failure;

/// The seeds that every configuration is cross-validated with.
pub const SEEDS: [u32; 3] = [1, 2, 3];

/// Does the todo of the open turn, and closes it.
///
/// # Errors
/// A [`Failure`] if a command fails that has to succeed.
pub fn run(agent: &Agent, todo: &str) -> Result<(), Failure> {
    let brief = Brief::read(agent, todo)?;
    match brief.action.as_str() {
        "measure" => measure(agent, &brief),
        "hold_out" => hold_out(agent, &brief),
        "promote" => promote(agent, &brief),
        other => Err(failed(format!("{todo}: no idea how to {other}"))),
    }
}

/// What the ledger knows of a todo: enough to do it without having been there before.
#[derive(Debug, Clone)]
pub struct Brief {
    /// The todo.
    pub todo: String,
    /// What to do.
    pub action: String,
    /// The configuration that its title names, after the last colon.
    pub config: String,
    /// The todos that it builds on.
    pub needs: Vec<String>,
    /// The hypothesis that is tested under it; none if it tests nothing.
    pub hypothesis: Option<String>,
    /// The evidence that it was completed on.
    pub evidence: Vec<String>,
    /// Everything that was recorded of it.
    pub shown: Value,
}

impl Brief {
    /// Reads it.
    ///
    /// # Errors
    /// A [`Failure`] if there is no such todo.
    pub fn read(agent: &Agent, todo: &str) -> Result<Self, Failure> {
        let shown = agent.loopx.run(&["show", todo])?;
        let added = bodies(&shown, "todo.added").into_iter().find(|body| is(body, "/id", todo));
        let added = added.cloned().ok_or_else(|| failed(format!("{todo} was never added")))?;
        let title = text(&added, "/spec/title")?;
        let hypothesis = bodies(&shown, "hypothesis.proposed").first().map(|body| text(body, "/id"));
        let completed = bodies(&shown, "todo.completed").last().map(|body| texts(body, "/evidence"));
        Ok(Self {
            todo: todo.to_owned(),
            action: text(&added, "/spec/action")?,
            config: title.rsplit(": ").next().unwrap_or_default().to_owned(),
            needs: texts(&added, "/spec/needs"),
            hypothesis: hypothesis.transpose()?,
            evidence: completed.unwrap_or_default(),
            shown,
        })
    }

    /// What the todo at this place of its needs was.
    fn need(&self, agent: &Agent, place: usize) -> Result<Self, Failure> {
        let need = self.needs.get(place).ok_or_else(|| failed(format!("{} needs too little", self.todo)))?;
        Self::read(agent, need)
    }

    fn tests(&self) -> Result<&str, Failure> {
        self.hypothesis.as_deref().ok_or_else(|| failed(format!("{} tests no hypothesis", self.todo)))
    }

    fn parsed(&self) -> Result<Config, Failure> {
        self.config.parse().map_err(|error: super::knn::config::ConfigError| failed(error.to_string()))
    }
}

fn is(body: &Value, pointer: &str, text: &str) -> bool {
    body.pointer(pointer).and_then(Value::as_str) == Some(text)
}

/// Cross-validates the configuration with each seed, and says what that means for the hypothesis.
fn measure(agent: &Agent, brief: &Brief) -> Result<(), Failure> {
    let experiment = experiment(agent, brief)?;
    let config = brief.parsed()?;
    let (mut correct, mut total) = (Vec::new(), 0);
    let (mut values, mut evidence) = (Vec::new(), Vec::new());
    for seed in SEEDS {
        let trial = start(agent, &experiment, seed)?;
        let result = agent.evaluator.cross_validate(config, seed, FOLDS);
        let result = result.map_err(|error| failed(error.to_string()))?;
        let row = Row {
            name: format!("{}-seed-{seed}", brief.todo),
            metric: "cv_accuracy",
            dataset: "wine-dev",
            value: result.mean_text(),
            spread: Some(result.spread_text()),
            total: result.score.total,
            summary: format!("{config}, seed {seed}: {} of {}", result.score.correct, result.score.total),
            report: result.report(),
        };
        evidence.push(row.record(agent, &trial)?);
        total = result.score.total;
        correct.push(result.score.correct);
        values.push(result.mean_text());
    }
    let judgement = judge(agent, brief, &correct, total)?;
    let measured = Measured {
        todo: brief.todo.clone(),
        hypothesis: brief.tests()?.to_owned(),
        config: brief.config.clone(),
        dataset: "wine-dev".to_owned(),
        correct,
        total,
        values,
        evidence,
        judgement,
    };
    plan::follow_up(agent, brief, &measured)
}

/// Completes a todo that measured something, with what follows it.
pub fn complete(agent: &Agent, measured: Measured, follows: &[String]) -> Result<(), Failure> {
    let rows: Vec<String> = measured.correct.iter().map(ToString::to_string).collect();
    let words = format!("cv {} of {}: {}", rows.join(" "), measured.total, measured.judgement);
    let proof = format!("cross-validate {} => {words}", measured.config);
    let mut done = vec!["done", &measured.todo];
    done.extend(measured.evidence.iter().flat_map(|row| ["--evidence", row.as_str()]));
    done.extend(["--proof", &proof]);
    done.extend(follows.iter().map(String::as_str));
    let seq = seq(&agent.loopx.run(&done)?);
    agent.report(Step { what: format!("DONE {}", measured.todo), text: words, seq, measured: Some(measured) })
}

/// The experiment that tests the hypothesis: the one that is there already, its runaway trials ended, or a new one.
fn experiment(agent: &Agent, brief: &Brief) -> Result<String, Failure> {
    let hypothesis = brief.tests()?;
    let known = agent.loopx.run(&["history", hypothesis])?;
    let found =
        bodies(&known, "experiment.registered").into_iter().find(|body| is(body, "/tests", hypothesis));
    let Some(found) = found else {
        return register(agent, hypothesis, &brief.config, &["wine-dev"]);
    };
    let id = text(found, "/id")?;
    let history = agent.loopx.run(&["history", &id])?;
    for trial in bodies(&history, "trial.started") {
        let trial = text(trial, "/id")?;
        let ended = agent.loopx.run(&["history", &trial])?;
        if bodies(&ended, "trial.ended").is_empty() {
            let why = "its agent was lost while it ran";
            let ended =
                agent.loopx.run(&["lineage", "trial", "end", &trial, "--end", "lost", "--why", why])?;
            agent.say(
                "finds",
                format!("{trial} still running without its agent: ends it as lost"),
                seq(&ended),
            )?;
        }
    }
    Ok(id)
}

fn register(agent: &Agent, hypothesis: &str, config: &str, datasets: &[&str]) -> Result<String, Failure> {
    let mut words = vec!["lineage", "experiment", "--tests", hypothesis, "--config", config];
    words.extend(datasets.iter().flat_map(|dataset| ["--dataset", *dataset]));
    text(&agent.loopx.run(&words)?, "/experiment/id")
}

fn start(agent: &Agent, experiment: &str, seed: u32) -> Result<String, Failure> {
    let started = agent.loopx.run(&["lineage", "trial", "start", experiment, "--seed", &seed.to_string()])?;
    let trial = text(&started, "/trial/id")?;
    if agent.hang {
        agent.say("hangs", format!("in trial {trial}"), seq(&started))?;
        // Until the host is gone: nothing else ends this.
        let _ = std::io::stdin().lock().read_to_end(&mut Vec::new());
        return Err(failed("the host is gone"));
    }
    Ok(trial)
}

/// A measured value on its way into the ledger.
struct Row {
    name: String,
    metric: &'static str,
    dataset: &'static str,
    value: String,
    spread: Option<String>,
    total: u32,
    summary: String,
    report: Vec<u8>,
}

impl Row {
    /// Keeps the report, records the value, ends the trial; answers the evidence.
    fn record(&self, agent: &Agent, trial: &str) -> Result<String, Failure> {
        let file: PathBuf = agent.desk.join(format!("{}.json", self.name));
        place::write(&file, &self.report)?;
        let (file, total) = (file.to_string_lossy(), self.total.to_string());
        let mut words = vec!["lineage", "evidence", "--trial", trial, "--metric", self.metric];
        words.extend(["--dataset", self.dataset, "--value", &self.value, "--n", &total]);
        words.extend(["--file", &file, "--summary", &self.summary]);
        words.extend(self.spread.iter().flat_map(|spread| ["--spread", spread.as_str()]));
        let evidence = text(&agent.loopx.run(&words)?, "/evidence/id")?;
        agent.loopx.run(&["lineage", "trial", "end", trial])?;
        Ok(evidence)
    }
}

/// How the rows stand, seed by seed, to those of the todo that this one builds on.
fn judge(agent: &Agent, brief: &Brief, correct: &[u32], total: u32) -> Result<String, Failure> {
    if brief.needs.is_empty() {
        return Ok("the baseline".to_owned());
    }
    let before = brief.need(agent, 0)?;
    let mut gains = Vec::new();
    for (row, now) in before.evidence.iter().zip(correct) {
        gains.push(i64::from(*now) - i64::from(rows_right(&value_of(agent, row)?, total)?));
    }
    let listed: Vec<String> =
        gains.iter().map(|gain| if *gain == 0 { "0".to_owned() } else { format!("{gain:+}") }).collect();
    let word = match (gains.iter().min(), gains.iter().max()) {
        (Some(least), _) if *least > 1 => "supported",
        (_, Some(most)) if *most < -1 => "refuted",
        (Some(-1..), Some(..=1)) => "within one row",
        _ => "mixed",
    };
    Ok(format!("{} {word}, {} rows to {}", brief.tests()?, listed.join(" "), before.todo))
}

/// The value of a row, from the ledger.
fn value_of(agent: &Agent, row: &str) -> Result<String, Failure> {
    let history = agent.loopx.run(&["history", row])?;
    let recorded = bodies(&history, "evidence.recorded");
    let found = recorded.into_iter().find(|body| is(body, "/id", row));
    text(found.unwrap_or(&Value::Null), "/metric/value")
}

/// The rows right behind an accuracy of four decimals, of which there is one for every number of rows.
fn rows_right(value: &str, total: u32) -> Result<u32, Failure> {
    let digits: Option<u32> = value.replace('.', "").parse().ok();
    let parts = digits.ok_or_else(|| failed(format!("{value} is no accuracy")))?;
    Ok((parts * total + 5_000) / 10_000)
}

/// Looks at the held-out rows, once, for the baseline and the candidate, and asks an owner.
fn hold_out(agent: &Agent, brief: &Brief) -> Result<(), Failure> {
    let (baseline, candidate) = (brief.need(agent, 0)?, brief.need(agent, 1)?);
    let mut rows = Vec::new();
    for tested in [&baseline, &candidate] {
        let config = tested.parsed()?;
        let experiment = register(agent, tested.tests()?, &tested.config, &["wine-dev", "wine-holdout"])?;
        let trial = start(agent, &experiment, HOLDOUT_SEED)?;
        let result = agent.evaluator.holdout(config);
        let score = result.score;
        let row = Row {
            name: format!("{}-{}", brief.todo, tested.todo),
            metric: "holdout_accuracy",
            dataset: "wine-holdout",
            value: score.text(),
            spread: None,
            total: score.total,
            summary: format!("{config}, held out: {} of {}", score.correct, score.total),
            report: result.report(),
        };
        let evidence = row.record(agent, &trial)?;
        let words = format!("{} of {} held-out rows, {config}", score.correct, score.total);
        let measured = Measured {
            todo: brief.todo.clone(),
            hypothesis: tested.tests()?.to_owned(),
            config: tested.config.clone(),
            dataset: "wine-holdout".to_owned(),
            correct: vec![score.correct],
            total: score.total,
            values: vec![score.text()],
            evidence: vec![evidence],
            judgement: "held out".to_owned(),
        };
        agent.report(Step {
            what: "measures".to_owned(),
            text: words,
            seq: 0,
            measured: Some(measured.clone()),
        })?;
        rows.push(measured);
    }
    let [base, new] = rows.as_slice() else { return Err(failed("expected two held-out rows")) };
    plan::ask(agent, brief, &candidate, [base, new])
}

/// Puts the approved configuration into the slot and says which criteria that meets.
fn promote(agent: &Agent, brief: &Brief) -> Result<(), Failure> {
    let (baseline, candidate, held_out) =
        (brief.need(agent, 0)?, brief.need(agent, 1)?, brief.need(agent, 2)?);
    let gate = bodies(&brief.shown, "gate.opened").last().map(|body| text(body, "/id"));
    let gate = gate.ok_or_else(|| failed(format!("{} was never asked for", brief.todo)))??;
    let (baseline_rows, candidate_rows) =
        (measured_rows(agent, &baseline)?, measured_rows(agent, &candidate)?);
    let held_out = measured_rows(agent, &held_out)?;
    let [base_held_out, new_held_out] = held_out.as_slice() else {
        return Err(failed("expected two held-out rows"));
    };
    let model = agent.desk.join("model.txt");
    place::write(&model, format!("{} {}\n", super::knn::result::EVALUATOR, candidate.config).as_bytes())?;
    let (model, title) = (model.to_string_lossy(), &candidate.config);
    let mut words =
        vec!["lineage", "promote", title, "--slot", "wine-classifier", "--gate", &gate, "--file", &model];
    words.extend(candidate_rows.iter().chain([new_held_out]).flat_map(|row| ["--cites", row.as_str()]));
    words.extend(baseline_rows.iter().chain([base_held_out]).flat_map(|row| ["--contrast", row.as_str()]));
    let promoted = agent.loopx.run(&words)?;
    let promotion = text(&promoted, "/promotion/id")?;
    agent.say(
        format!("PROMOTE {promotion}"),
        format!("{title} on {gate}, citing {} rows", candidate_rows.len() + 1),
        seq(&promoted),
    )?;
    let repeatable = candidate_rows.first().ok_or_else(|| failed("the candidate was never measured"))?;
    agent.loopx.run(&["goal", "accept", "A2", "--evidence", repeatable])?;
    let proof = format!("loopx lineage promote => {promotion}");
    let words = ["done", &brief.todo, "--proof", &proof, "--evidence", new_held_out, "--meets", "A1"];
    let done = agent.loopx.run(&[&words[..], &["--no-follow-up", "the slot is filled"]].concat())?;
    agent.say(format!("DONE {}", brief.todo), "A1 and A2 are met", seq(&done))
}

/// The measured values among the evidence of a completed todo, in their order.
fn measured_rows(agent: &Agent, brief: &Brief) -> Result<Vec<String>, Failure> {
    let mut rows = Vec::new();
    for evidence in &brief.evidence {
        if value_of(agent, evidence).is_ok() {
            rows.push(evidence.clone());
        }
    }
    Ok(rows)
}
