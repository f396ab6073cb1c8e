//! A ledger in memory with a clock that tests turn by hand. Callers and commands are written as text, in the form
//! that `append --stdin` reads.
#![expect(dead_code, reason = "each test file uses its own part")]

pub mod chaos;

use std::cell::Cell;
use std::path::Path;

use loopx::decide::{self, Caller, Command, Context, Decision, History, Refusal, Verdict};
use loopx::event::Event;
use loopx::id::{LedgerId, RequestId, Seq, TodoId};
use loopx::ledger::{Answer, Committed, Env, Ledger, Submission, SubmitError, genesis};
use loopx::log::{Cursor, Log, MemoryLog, Wait};
use loopx::state::State;
use loopx::time::Timestamp;
use serde_json::Value;
use ulid::Ulid;

pub const WAIT: Wait<'_> = Wait { holder: "test", wait_ms: 30_000 };
pub const MINUTE: u64 = 60_000;
pub const HOUR: u64 = 60 * MINUTE;
/// 2026-12-01T12:34:56Z.
pub const START: i64 = 1_796_128_496_000_000;

/// A clock and a counter in the place of the system's.
pub struct Ticks {
    pub now: Cell<Timestamp>,
    ulids: Cell<u128>,
}

impl Ticks {
    pub fn new(first_ulid: u128) -> Self {
        Self { now: Cell::new(Timestamp::from_micros(START)), ulids: Cell::new(first_ulid) }
    }

    pub fn with<T>(&self, act: impl FnOnce(&Env<'_>) -> T) -> T {
        let now = || self.now.get();
        let ulid = || {
            self.ulids.set(self.ulids.get() + 1);
            Ulid(self.ulids.get())
        };
        act(&Env { now: &now, ulid: &ulid })
    }
}

pub struct World {
    pub ledger: Ledger,
    pub ticks: Ticks,
    pub log: MemoryLog,
}

/// A memory log that holds a first record.
pub fn fresh_log(ticks: &Ticks) -> MemoryLog {
    let log = MemoryLog::new();
    let line = ticks.with(|env| genesis(LedgerId(Ulid(7)), env)).unwrap();
    log.transaction(&WAIT).unwrap().append(&Cursor::START, &line).unwrap();
    log
}

impl World {
    /// A ledger with its first record and nothing else.
    pub fn empty() -> Self {
        let ticks = Ticks::new(1_000);
        let log = fresh_log(&ticks);
        let ledger = Ledger::start(Box::new(log.clone()), None).unwrap();
        Self { ledger, ticks, log }
    }

    /// With owner ana, goal iris, and the agents a, b and c.
    pub fn new() -> Self {
        let mut world = Self::empty();
        world.by("", r#"{"command":"owner.register","owner":"ana"}"#);
        world.by("@ana", r#"{"command":"goal.start","name":"iris","objective":"sort the flowers"}"#);
        for agent in ["a", "b", "c"] {
            world.by("@ana", format!(r#"{{"command":"agent.register","agent":"{agent}"}}"#));
        }
        world
    }

    /// The same, with todos of these titles.
    pub fn with_todos(titles: &[&str]) -> Self {
        let mut world = Self::new();
        for title in titles {
            world.add(title, "");
        }
        world
    }

    pub fn state(&self) -> &State {
        self.ledger.state()
    }

    pub fn head(&self) -> Seq {
        self.ledger.head().seq
    }

    pub fn now(&self) -> Timestamp {
        self.ticks.now.get().max(self.state().now)
    }

    pub fn pass(&self, ms: u64) {
        self.ticks.now.set(self.ticks.now.get().plus_ms(ms));
    }

    pub fn submit(
        &mut self,
        who: &str,
        command: Command,
        request: Option<&str>,
    ) -> Result<Answer, SubmitError> {
        self.submit_as(caller(who), command, request)
    }

    pub fn submit_as(
        &mut self,
        caller: Caller,
        command: Command,
        request: Option<&str>,
    ) -> Result<Answer, SubmitError> {
        let request: Option<RequestId> = request.map(|id| id.parse().unwrap());
        let submission = Submission { caller, command, request };
        let Self { ledger, ticks, .. } = self;
        ticks.with(|env| ledger.submit(env, &WAIT, &submission))
    }

    /// What must land.
    pub fn by(&mut self, who: &str, json: impl AsRef<str>) -> Committed {
        self.by_command(who, command(json.as_ref()))
    }

    pub fn by_command(&mut self, who: &str, command: Command) -> Committed {
        let name = command.name();
        match self.submit(who, command, None) {
            Ok(Answer::Committed(committed)) => *committed,
            Ok(Answer::Quiet(decision)) => panic!("{who} {name}: quiet {:?}", decision.verdict),
            Err(error) => panic!("{who} {name}: {error}"),
        }
    }

    /// What must be refused by a rule, with nothing appended and nothing changed.
    pub fn refused(&mut self, who: &str, json: impl AsRef<str>) -> Refusal {
        self.refused_command(who, command(json.as_ref()))
    }

    pub fn refused_command(&mut self, who: &str, command: Command) -> Refusal {
        let before = self.state().clone();
        let name = command.name();
        let refusal = match self.submit(who, command, None) {
            Err(SubmitError::Refused(refusal)) => refusal,
            Err(error) => panic!("{who} {name}: failed instead of being refused: {error}"),
            Ok(Answer::Quiet(decision)) => panic!("{who} {name}: quiet {:?}", decision.verdict),
            Ok(Answer::Committed(committed)) => panic!("{who} {name}: landed as {:?}", committed.events),
        };
        assert_eq!(*self.state(), before, "a refusal changes nothing");
        refusal
    }

    /// What is decided without appending: `next` that may not run.
    pub fn quiet(&mut self, who: &str) -> Decision {
        let before = self.head();
        match self.submit(who, command(r#"{"command":"next"}"#), None) {
            Ok(Answer::Quiet(decision)) => {
                assert_eq!(self.head(), before);
                *decision
            }
            other => panic!("{who} next: {other:?}"),
        }
    }

    pub fn should_run(&self, who: &str) -> Result<Decision, Refusal> {
        self.should_run_as(&caller(who))
    }

    pub fn should_run_as(&self, caller: &Caller) -> Result<Decision, Refusal> {
        let history = History::default();
        let context = Context { state: self.state(), history: &history, caller, now: self.now() };
        decide::should_run(&context)
    }

    pub fn decision(&self, who: &str) -> Decision {
        self.should_run(who).unwrap()
    }

    /// `RUN T1`, `WAIT` …, and the row that decided.
    pub fn answer(&self, who: &str) -> (String, u8) {
        let decision = self.decision(who);
        let last = decision.trace.last().unwrap();
        assert!(last.passed, "the last rule tried is the one that decided");
        let rows: Vec<u8> = decision.trace.iter().map(|tried| tried.row).collect();
        assert!(rows.is_sorted_by(|a, b| a < b), "rules are tried in the order of the table: {rows:?}");
        assert!(
            decision.trace.iter().rev().skip(1).all(|tried| !tried.passed),
            "no rule after the one that decides"
        );
        (spell(&decision.verdict), last.row)
    }

    /// Adds a todo; `more` is further JSON fields, such as `"priority":"P0"`.
    pub fn add(&mut self, title: &str, more: &str) -> TodoId {
        let comma = if more.is_empty() { "" } else { "," };
        self.by("@ana", format!(r#"{{"command":"todo.add","title":"{title}"{comma}{more}}}"#));
        TodoId(self.state().minted.todos)
    }

    /// `next` that must run; the todo taken.
    pub fn next(&mut self, who: &str) -> TodoId {
        let committed = self.by(who, r#"{"command":"next"}"#);
        let opened = committed.events.iter().find_map(|event| match event {
            Event::TurnOpened(turn) => Some(turn.todo),
            _ => None,
        });
        opened.unwrap_or_else(|| panic!("no turn in {:?}", committed.events))
    }

    pub fn claim(&mut self, who: &str, todo: &str) -> Committed {
        self.by(who, format!(r#"{{"command":"todo.claim","todo":"{todo}"}}"#))
    }

    /// Closes the todo of the open turn with a note and nothing that follows.
    pub fn done(&mut self, who: &str, todo: &str) -> Committed {
        self.by(who, done(todo))
    }
}

pub fn done(todo: &str) -> String {
    format!(
        r#"{{"command":"done","todo":"{todo}","close":{{"proof":[{{"kind":"note","summary":"seen"}}],"no_follow_up":"all there is"}}}}"#
    )
}

pub fn complete(todo: &str) -> String {
    done(todo).replace(r#""command":"done""#, r#""command":"todo.complete""#)
}

pub fn spell(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Run { todo, .. } => format!("RUN {todo}"),
        Verdict::Poll { todo } => format!("POLL {todo}"),
        other => other.word().to_owned(),
    }
}

/// `a` is an agent, `a+s1` an agent in a session, `@ana` an owner, nothing is nobody in particular; ` goal` may follow.
pub fn caller(who: &str) -> Caller {
    let (who, goal) = who.split_once(' ').unwrap_or((who, ""));
    let mut caller = Caller { goal: (!goal.is_empty()).then(|| goal.parse().unwrap()), ..Caller::default() };
    if let Some(owner) = who.strip_prefix('@') {
        caller.owner = Some(owner.parse().unwrap());
    } else if !who.is_empty() {
        let (agent, session) = who.split_once('+').unwrap_or((who, ""));
        caller.agent = Some(agent.parse().unwrap());
        caller.session = (!session.is_empty()).then(|| session.parse().unwrap());
    }
    caller
}

pub fn command(json: &str) -> Command {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"))
}

pub fn value(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

/// A directory for a ledger in files.
pub fn in_files(root: &Path, ticks: &Ticks) -> Ledger {
    ticks.with(|env| Ledger::create(root, env, false)).unwrap()
}
