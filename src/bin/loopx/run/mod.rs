//! Running a command: arguments in, one answer out.

mod audit;
mod boundary;
mod bulk;
mod contract;
mod decisions;
mod evidence;
mod feed;
mod judge;
mod known;
mod lineage;
mod look;
mod packet;
mod peer;
mod plan;
mod progress;
mod request;
mod start;
mod topic;
mod write;

use std::borrow::Cow;
use std::mem::ManuallyDrop;
use std::path::PathBuf;

use loopx::app::{CheckRunner, Host, place};
use loopx::decide::{Caller, Context, History};
use loopx::ledger::{ClockNotice, Env, Ledger};
use loopx::log::{FileSystems, LogError, Wait};
use loopx::state::State;
use loopx::time::{DurationMs, Timestamp};

use crate::cli::{self, Cli, Global, Top};
use crate::environment::{self, Environment};
use crate::failure::Failure;
use crate::render::{Output, Voice};

/// How long a check may take.
const CHECK_TIMEOUT_MS: u64 = 600_000;

/// What a command works with.
pub struct Session<'a> {
    /// The options of every command.
    pub global: &'a Global,
    /// The process's surroundings.
    pub environment: &'a Environment,
    /// How to spell commands for the reader.
    pub voice: Voice,
    holder: String,
    checks: CheckRunner,
}

impl<'a> Session<'a> {
    fn new(global: &'a Global, environment: &'a Environment) -> Self {
        let holder = format!(
            "pid {} `loopx {}` since {}",
            std::process::id(),
            environment.command,
            environment::now()
        );
        let checks = CheckRunner {
            path: environment.path.clone(),
            home: environment.home.clone(),
            timeout_ms: CHECK_TIMEOUT_MS,
        };
        let voice = Voice::of(global);
        Self { global, environment, voice, holder: holder.replace(['\n', '\r'], " "), checks }
    }

    /// Time and ids.
    pub fn env(&self) -> Env<'static> {
        Env { now: &environment::now, ulid: &environment::ulid }
    }

    /// What a submission needs besides the ledger.
    pub fn host(&self) -> Host<'_> {
        Host { env: self.env(), wait: self.wait(), checks: &self.checks }
    }

    fn wait(&self) -> Wait<'_> {
        Wait { holder: &self.holder, wait_ms: self.global.lock_wait.0 }
    }

    /// Who asks: options first, then the environment.
    pub fn caller(&self) -> Result<Caller, Failure> {
        let environment = self.environment;
        Ok(Caller {
            agent: given(&self.global.agent, "LOOPX_AGENT", environment.agent.as_deref())?,
            owner: self.global.owner.clone(),
            session: given(&self.global.session, "LOOPX_SESSION", environment.session.as_deref())?,
            goal: given(&self.global.goal, "LOOPX_GOAL", environment.goal.as_deref())?,
            capabilities: self.global.available_capability.clone(),
            allow_secret: self.global.allow_secret.clone(),
        })
    }

    /// The directory that the command line or the environment names for the ledger, or the working directory.
    pub fn directory(&self) -> PathBuf {
        let named = self.global.dir.clone().or_else(|| self.environment.dir.clone());
        named.map_or_else(|| self.environment.cwd.clone(), |dir| self.environment.cwd.join(dir))
    }

    /// The `.loopx` directory that this command means.
    pub fn root(&self) -> Result<PathBuf, Failure> {
        let directory = self.directory();
        let named = self.global.dir.is_some() || self.environment.dir.is_some();
        if named {
            let inside = directory.file_name().is_some_and(|name| name == place::DIRECTORY);
            return Ok(if inside { directory } else { directory.join(place::DIRECTORY) });
        }
        place::find(&directory)?.ok_or_else(|| LogError::NotALedger { path: directory }.into())
    }

    /// Where a ledger may be written.
    pub fn file_systems(&self) -> FileSystems {
        let forced = self.global.force_filesystem || self.environment.force_filesystem;
        if forced { FileSystems::Any } else { FileSystems::Local }
    }

    /// Opens and folds the ledger. Its state is not taken apart again: that takes as long as a decision, and the process
    /// ends with the answer.
    pub fn open(&self) -> Result<ManuallyDrop<Ledger>, Failure> {
        let mut ledger = Ledger::open_in(self.file_systems(), &self.root()?)?;
        ledger.set_uptime(Box::new(environment::uptime));
        Ok(ManuallyDrop::new(ledger))
    }

    /// Where the list of this user's ledgers is kept, if anywhere.
    pub fn known_ledgers(&self) -> Option<PathBuf> {
        self.environment.state_home.as_ref().map(|home| home.join("ledgers"))
    }

    /// Takes note that this ledger is used here. Whatever fails is of no consequence.
    pub fn note(&self, ledger: &Ledger) {
        if let (Some(home), Some(root), Some(id)) =
            (self.known_ledgers(), ledger.root(), ledger.state().ledger)
        {
            drop(loopx::app::known::note(&home, root, id));
        }
    }

    /// Ledger time for a reader: now, or the last record's if that is later.
    pub fn now(&self, ledger: &Ledger) -> Timestamp {
        environment::now().max(ledger.state().now)
    }

    /// The state as a reader finds it now.
    pub fn present<'l>(&self, ledger: &'l Ledger) -> Cow<'l, State> {
        ledger.present(environment::now())
    }

    /// What a person should know of the clock, in one line.
    pub fn clock_warning(&self, ledger: &Ledger) -> Option<String> {
        ledger.clock_notice(environment::now()).map(clock_words)
    }

    /// Runs a pure reader of decisions.
    pub fn ask<T>(
        &self,
        ledger: &Ledger,
        reader: impl FnOnce(&Context<'_>) -> Result<T, loopx::decide::Refusal>,
    ) -> Result<T, Failure> {
        let caller = self.caller()?;
        let history = History::default();
        let state = self.present(ledger);
        let context = Context { state: &state, history: &history, caller: &caller, now: self.now(ledger) };
        Ok(reader(&context)?)
    }
}

/// What is so, and what to do.
fn clock_words(notice: ClockNotice) -> String {
    match notice {
        ClockNotice::Behind { clock, last } => format!(
            "the clock says {clock}, {} before the last record. Until it gets there ledger time stands still, and no lease or \
             quota window runs out. Set the clock right; if it is right, the last record came from a clock that was ahead: \
             an owner can release todos and set the quota meanwhile",
            DurationMs(last.ms_since(clock))
        ),
        ClockNotice::Ahead { clock, by_ms } => format!(
            "the clock says {clock}, {} further on than time has passed. Leases and spent quota were moved along, so none runs \
             out. If the clock is wrong, set it right before more is recorded: ledger time never goes back",
            DurationMs(by_ms)
        ),
    }
}

/// An option, or else the environment's word for it.
fn given<T>(option: &Option<T>, name: &str, text: Option<&str>) -> Result<Option<T>, Failure>
where
    T: Clone + std::str::FromStr<Err = loopx::id::BadId>,
{
    match (option, text) {
        (Some(value), _) => Ok(Some(value.clone())),
        (None, None) => Ok(None),
        (None, Some(text)) => {
            text.parse().map(Some).map_err(|error| Failure::usage(format!("{name}: {error}")))
        }
    }
}

/// Whether the answer has the form that was asked for.
fn has_form(cli: &Cli) -> Result<(), Failure> {
    let export = matches!(cli.command, Top::Lineage(cli::Lineage::Export { .. }));
    let report =
        matches!(cli.command, Top::Status(_) | Top::History(_) | Top::ReviewPacket(_) | Top::Handoff(_));
    match cli.global.format {
        Some(cli::Format::Dot | cli::Format::Svg) if !export => {
            Err(Failure::usage("--format dot and svg are for `lineage export`"))
        }
        Some(cli::Format::Markdown) if !report => {
            Err(Failure::usage("--format markdown is for status, history, review-packet and handoff"))
        }
        _ => Ok(()),
    }
}

/// Runs a command to its answer.
pub fn run(cli: &Cli, environment: &Environment) -> Result<Output, Failure> {
    let session = Session::new(&cli.global, environment);
    has_form(cli)?;
    if let Some(submission) = request::submission(&session, &cli.command)? {
        return write::run(&session, &cli.command, submission);
    }
    match &cli.command {
        Top::Init(init) => start::init(&session, init),
        Top::Connect => start::connect(&session),
        Top::Check => boundary::check(&session),
        Top::Doctor => start::doctor(&session),
        Top::Prime => Ok(start::prime()),
        Top::Demo(demo) => crate::demo::run(&session, demo),
        Top::Ready(ready) => look::ready(&session, ready),
        Top::Quota(cli::Quota::ShouldRun(args)) => look::should_run(&session, args),
        Top::Quota(cli::Quota::Status) => look::quota_status(&session),
        Top::Quota(cli::Quota::Plan(args)) => plan::plan(&session, args.limit),
        Top::Status(args) if args.all => known::status(&session, args),
        Top::Status(args) => look::status(&session, args),
        Top::ReviewPacket(args) => packet::packet(&session, args),
        Top::Handoff(args) => peer::handoff(&session, args),
        Top::HeartbeatPrompt => peer::heartbeat_prompt(&session),
        Top::Help(args) => topic::help(args),
        Top::History(args) => look::history(&session, args),
        Top::Show(args) => look::show(&session, &args.id, args.as_of),
        Top::Log(args) => audit::log(&session, args),
        Top::Replay(args) => audit::replay(&session, args),
        Top::Verify(args) => audit::verify(&session, args),
        Top::Append(_) => bulk::run(&session),
        Top::TaskLease(args) => contract::inspect(&session, args),
        Top::Lineage(args) => lineage::run(&session, args),
        noun => look::noun(&session, noun),
    }
}
