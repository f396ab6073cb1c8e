//! The story of the demo: who starts when, what the owner does, what is killed. What is decided, the ledger decides.

use std::path::Path;

use serde_json::Value;

use super::command::{Loopx, seq, text};
use super::knn::Evaluator;
use super::peer::Peer;
use super::screen::Screen;
use super::step::{Measured, Order, Report, Step};
use super::{failed, place};
use crate::failure::Failure;

/// The owner of the demo.
pub const OWNER: &str = "lead";

/// The lease of the agent that is killed: short, so that nobody watches long.
const SHORT_LEASE: &str = "2s";

/// A demo in progress.
pub struct Story {
    /// The command line, as nobody in particular.
    pub loopx: Loopx,
    /// What is seen.
    pub screen: Screen,
    /// What was measured, in the order of the todos.
    pub measured: Vec<Measured>,
    /// How often an agent was told that the quota is used.
    pub quota_waits: usize,
    lead: Loopx,
}

impl Story {
    /// Nothing has happened yet.
    pub fn new(loopx: Loopx, screen: Screen) -> Self {
        let lead = loopx.acting(&["--as", OWNER]);
        Self { loopx, screen, measured: Vec::new(), quota_waits: 0, lead }
    }

    /// Tells it from the first record to the last.
    ///
    /// # Errors
    /// A [`Failure`] with what was expected and what was found instead.
    pub fn tell(&mut self, dir: &Path) -> Result<(), Failure> {
        self.found(dir)?;
        let [mut a1, mut a2, a3] = self.start()?;
        self.turn(&mut a1, "RUN")?;
        self.two_at_once(&mut a1, &mut a2)?;
        self.a_death(&mut a1, &mut a2, a3)?;
        self.lead_does(
            "changes",
            "the objective: \"prefer the smaller k: a row of 120 is noise\"",
            &[
                "goal", "change", "--objective",
                "At least 0.90 on held-out wines, with the smallest k within one row of 120 of the best cross-validation",
                "--reason", "prefer the smaller k: a row of 120 is noise, and one neighbour can be shown to a person",
            ],
        )?;
        self.turn(&mut a1, "RUN")?;
        self.turn(&mut a2, "WAIT")?;
        self.lead_does(
            "raises",
            "the quota to 8 slots: holding out and promoting are worth two",
            &["quota", "set", "--slots", "8", "--why", "holding out and promoting are worth two more slots"],
        )?;
        self.turn(&mut a2, "RUN")?;
        self.turn(&mut a1, "ASK")?;
        let why = "54 of 58 against 38 of 58 on rows that no choice has seen; that the seeds agree only shows that it \
                   repeats";
        self.lead_does(
            "decides G1",
            "approve: 54 of 58 against 38 on rows that no choice has seen",
            &["gate", "decide", "G1", "approve", "--why", why],
        )?;
        self.turn(&mut a1, "RUN")?;
        self.turn(&mut a1, "DONE")?;
        self.turn(&mut a2, "DONE")?;
        a1.leave()?;
        a2.leave()
    }

    /// The ledger, the owner, the goal, the data and the first todo.
    fn found(&mut self, dir: &Path) -> Result<(), Failure> {
        self.loopx.run(&["init"])?;
        self.loopx.run(&["owner", "register", OWNER])?;
        self.lead_does(
            "starts",
            "goal wine: 0.90 on held-out wines, by the best cross-validation",
            &[
                "start-goal",
                "--name",
                "wine",
                "--goal-text",
                "At least 0.90 on held-out wines, by what cross-validates best",
                "--accept",
                "A promoted model answers at least 0.90 of the held-out rows rightly",
                "--accept",
                "Its cross-validation repeats: seeds 1 to 3 agree within one row of 120",
            ],
        )?;
        for name in ["a1", "a2", "a3"] {
            self.lead.run(&["agent", "register", name])?;
        }
        self.lead_does(
            "sets",
            "a quota of 6 slots in 24 hours, one for each turn",
            &[
                "quota",
                "set",
                "--slots",
                "6",
                "--window",
                "24h",
                "--why",
                "six turns a day until there is something to see",
            ],
        )?;
        self.data(dir)?;
        let title = "Measure a baseline: k=1 metric=euclidean scaling=none";
        self.lead_does(
            "adds T1",
            title,
            &[
                "add",
                title,
                "-p",
                "P1",
                "--action",
                "measure",
                "--done-when",
                "cross-validated with seeds 1 to 3",
            ],
        )?;
        let claim = "Raw measurements and one neighbour are a baseline to beat";
        self.lead.run(&["lineage", "hypothesis", claim, "--todo", "T1"]).map(|_| ())
    }

    /// Both parts of the data, each under its digest, and what is measured on them.
    fn data(&mut self, dir: &Path) -> Result<(), Failure> {
        let evaluator = Evaluator::wine().map_err(|error| failed(error.to_string()))?;
        let metric = |name: &str, title: &str| {
            let words =
                ["lineage", "metric", name, "--direction", "maximize", "--unit", "share", "--title", title];
            self.lead.run(&words)
        };
        metric("cv_accuracy", "Share of the tuning rows answered rightly in 5-fold cross-validation")?;
        metric("holdout_accuracy", "Share of the held-out rows answered rightly, fitted on all tuning rows")?;
        let mut last = 0;
        for (name, split, csv, title) in [
            ("wine-dev", "dev", evaluator.tuning_csv(), "UCI Wine, 120 rows to tune on"),
            (
                "wine-holdout",
                "holdout",
                evaluator.held_out_csv(),
                "UCI Wine, 58 rows held out, a third of each class",
            ),
        ] {
            let file = dir.join("data").join(format!("{name}.csv"));
            place::write(&file, csv.as_bytes())?;
            let (file, rows) = (file.to_string_lossy(), csv.lines().count().saturating_sub(1).to_string());
            let words = [
                "lineage", "dataset", name, "--split", split, "--rows", &rows, "--file", &file, "--title",
                title,
            ];
            last = seq(&self.lead.run(&words)?);
        }
        let words = "UCI Wine by digest: 120 rows to tune on, 58 held out";
        self.show(OWNER, "registers", words, last);
        Ok(())
    }

    fn start(&mut self) -> Result<[Peer; 3], Failure> {
        let peers = [
            Peer::start(&self.loopx, "a1")?,
            Peer::start(&self.loopx, "a2")?,
            Peer::start(&self.loopx, "a3")?,
        ];
        let pids: Vec<String> = peers.iter().map(|peer| format!("{} ({})", peer.name, peer.pid())).collect();
        self.show(OWNER, "runs", format!("each agent as a process: {}", pids.join(", ")), 0);
        Ok(peers)
    }

    /// Two todos are ready, two agents ask one after the other and work at the same time.
    fn two_at_once(&mut self, a1: &mut Peer, a2: &mut Peer) -> Result<(), Failure> {
        a1.order(&Order::default())?;
        self.see(a1, "RUN T2")?;
        a2.order(&Order::default())?;
        self.see(a2, "RUN T3")?;
        self.rest(a1, "RUN")?;
        self.rest(a2, "RUN")
    }

    /// One agent is killed while it holds a todo and another works; a peer takes over when the lease has expired.
    fn a_death(&mut self, a1: &mut Peer, a2: &mut Peer, mut a3: Peer) -> Result<(), Failure> {
        a2.order(&Order::default())?;
        self.see(a2, "RUN T5")?;
        a3.order(&Order { ttl: Some(SHORT_LEASE.to_owned()), hang: true })?;
        self.see(&a3, "RUN T4")?;
        self.see(&a3, "hangs")?;
        a3.kill()?;
        self.show("a3", "killed", "by SIGKILL in mid-turn, while it holds T4", 0);
        a1.order(&Order::default())?;
        self.rest(a2, "RUN")?;
        self.rest(a1, "RUN")
    }

    /// One turn of one agent, from the order to the verdict that it ends on.
    fn turn(&mut self, peer: &mut Peer, verdict: &str) -> Result<(), Failure> {
        peer.order(&Order::default())?;
        self.rest(peer, verdict)
    }

    /// Shows the next step of an agent, which has to be this one.
    fn see(&mut self, peer: &Peer, what: &str) -> Result<(), Failure> {
        let step = peer.expect(what)?;
        self.screen.step(&peer.name, &step);
        Ok(())
    }

    /// Shows what an agent does until its turn ends, which has to be on this verdict.
    fn rest(&mut self, peer: &Peer, expected: &str) -> Result<(), Failure> {
        loop {
            match peer.report()? {
                Report::Step(step) => {
                    self.screen.step(&peer.name, &step);
                    self.measured.extend(step.measured);
                }
                Report::End { verdict, mode } => {
                    self.quota_waits += usize::from(mode == "quota_throttled");
                    if verdict == expected {
                        return Ok(());
                    }
                    let name = &peer.name;
                    return Err(failed(format!("agent {name}: expected {expected}, found {verdict} {mode}")));
                }
            }
        }
    }

    fn lead_does(&mut self, what: &str, words: &str, command: &[&str]) -> Result<Value, Failure> {
        let answer = self.lead.run(command)?;
        text(&answer, "/status")?;
        self.show(OWNER, what, words, seq(&answer));
        Ok(answer)
    }

    fn show(&mut self, actor: &str, what: &str, words: impl Into<String>, seq: u64) {
        let step = Step { what: what.to_owned(), text: words.into(), seq, measured: None };
        self.screen.step(actor, &step);
    }
}
