//! The demo: agents as processes that do a small piece of research by public commands, with an owner, a crash, a
//! quota that runs out and a change of mind; then everything is read back, and a copy is tampered with.

mod agent;
mod command;
pub mod knn;
mod peer;
mod place;
mod plan;
mod proof;
mod screen;
mod step;
mod story;
mod work;

use std::path::Path;

use loopx::project::escape::terminal;
use serde_json::json;

use crate::cli::{self, Format};
use crate::failure::{Failure, exit};
use crate::render::voice::quoted;
use crate::render::{Output, count};
use crate::run::Session;
use command::Loopx;
use proof::Proof;
use screen::Screen;
use story::Story;

/// The demo did not go as it has to.
fn failed(message: impl Into<String>) -> Failure {
    Failure::new("demo.failed", exit::IO, message)
}

/// `demo`
///
/// # Errors
/// A [`Failure`] if the directory cannot be used, or with what was expected and what happened instead.
pub fn run(session: &Session<'_>, args: &cli::Demo) -> Result<Output, Failure> {
    if let Some(name) = &args.role {
        agent::play(name, &session.directory())?;
        return Ok(Output::default());
    }
    if session.global.dir.is_some() {
        let message = "the demo makes a ledger of its own: leave --dir out, or name --keep DIR";
        return Err(Failure::usage(message));
    }
    let dir = place::make(args.keep.as_deref(), &session.environment.cwd)?;
    let json = session.global.json || session.global.format == Some(Format::Json);
    let screen = Screen::new(!json && !session.global.quiet);
    screen.line(&format!(
        "loopx demo: three agents tune a k-nearest-neighbour classifier on UCI Wine, in {}",
        dir.display()
    ));
    let told = tell(&dir, screen);
    told.map_err(|failure| {
        let message = format!("{} (in {})", failure.message, dir.display());
        Failure { message, ..failure }
            .hint(format!("loopx --dir {} history", quoted(&dir.display().to_string())))
    })
}

fn tell(dir: &Path, screen: Screen) -> Result<Output, Failure> {
    let mut story = Story::new(Loopx::new(dir)?, screen);
    story.tell(dir)?;
    story.measured.sort_by_key(|found| (found.dataset.clone(), number(&found.todo)));
    proof::numbers(&story.measured)?;
    if story.quota_waits != 1 {
        return Err(failed(format!("expected one WAIT on the quota, found {}", story.quota_waits)));
    }
    let proof = proof::check(&story.loopx, dir)?;
    let picture = dir.join("lineage.svg");
    story.loopx.run_plain(&["lineage", "export", "--format", "svg", "-o", &picture.to_string_lossy()])?;
    if std::fs::metadata(&picture).map_or(0, |picture| picture.len()) == 0 {
        return Err(failed(format!("expected a picture at {}, found none", picture.display())));
    }
    Ok(summary(&story, &proof, dir, &picture))
}

/// The number of a todo, for its place in the table.
fn number(todo: &str) -> u32 {
    todo.trim_start_matches('T').parse().unwrap_or(0)
}

fn summary(story: &Story, proof: &Proof, dir: &Path, picture: &Path) -> Output {
    let seconds = story.screen.seconds();
    let shown = dir.display();
    let mut text = String::from("\n");
    for found in &story.measured {
        let right: Vec<String> = found.correct.iter().map(ToString::to_string).collect();
        text.push_str(&format!(
            "  {:<3} {:<3} {:<38}  {:<12}  {:>11} of {:<3}  {}  {}\n",
            found.todo,
            found.hypothesis,
            found.config,
            found.dataset,
            right.join(" "),
            found.total,
            found.values.first().map(String::as_str).unwrap_or_default(),
            found.judgement.trim_start_matches(&found.hypothesis).trim_start(),
        ));
    }
    let (middle, said) = &proof.tampered;
    let place = quoted(&shown.to_string());
    let commands = ["status", "history", "lineage why P1"].map(|verb| format!("loopx --dir {place} {verb}"));
    text.push_str(&format!(
        "\nran       {}, {}, {} in {seconds:.1} s; P1 promoted, 54 of 58 held out, on G1\n",
        count(proof.agents, "agent"),
        count(proof.turns, "turn"),
        count(proof.records, "record"),
    ));
    text.push_str(&format!(
        "replay    {}, state digest {} = live\n",
        count(proof.records, "record"),
        head(&proof.digest)
    ));
    text.push_str(&format!("verify    ok, chain head {}, {} files kept\n", head(&proof.head), proof.blobs));
    let found = said.split(';').next().unwrap_or_default();
    text.push_str(&format!(
        "tampered  one digit of a value in #{middle} of a copy; verify, exit 5: {}\n",
        terminal(found)
    ));
    text.push_str(&format!("ledger    {shown}/.loopx\n"));
    text.push_str(&commands.iter().map(|command| format!("          {command}\n")).collect::<String>());
    text.push_str(&format!("picture   {}\n", picture.display()));
    Output::text(text)
        .with("dir", shown.to_string())
        .with("ledger", dir.join(".loopx").display().to_string())
        .with("picture", picture.display().to_string())
        .with("steps", story.screen.steps())
        .with("measured", crate::render::value(&story.measured))
        .with(
            "promotion",
            json!({"id": "P1", "gate": "G1", "config": "k=1 metric=manhattan scaling=standard"}),
        )
        .with("agents", proof.agents)
        .with("turns", proof.turns)
        .with("records", proof.records)
        .with("quota_waits", story.quota_waits)
        .with("replay", json!({"check": true, "digest": proof.digest}))
        .with("verify", json!({"sound": true, "chain_head": proof.head, "blobs": proof.blobs}))
        .with("tampered", json!({"seq": middle, "verify": said, "exit": exit::DAMAGED}))
        .with("elapsed_seconds", format!("{seconds:.3}"))
        .with("next_commands", commands.to_vec())
}

/// The first digits of a hash.
fn head(hash: &str) -> String {
    hash.chars().take(8).collect()
}
