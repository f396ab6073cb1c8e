//! One history: processes take turns, faults happen, crashes come; after each of them everything has to hold.

use std::path::Path;
use std::sync::{Arc, Mutex};

use generator::{Generator, Gn};

use super::calls::SimulatedDisk;
use super::check::{Crashed, check};
use super::dice::Dice;
use super::image::{Image, Mode};
use super::model::{Model, Shared, model};
use super::world::{Call, Failure, Machine, Mutant, Trouble, World, world};
use super::writer::{Process, ROOT, draft};
use crate::id::{Actor, LedgerId, Seq};
use crate::log::head::Head;
use crate::log::{Cursor, FileLog};

/// Stack of a process.
const STACK_WORDS: usize = 32 << 10;

/// What a history is made of.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Plan {
    /// Whether calls fail.
    pub faults: bool,
    /// A mistake that the checks must find.
    pub mutant: Option<Mutant>,
}

/// What a history came to.
#[derive(Debug, Default)]
pub(super) struct History {
    /// How many states after a crash were checked.
    pub states: u64,
    /// What its processes were told, and how often.
    pub outcomes: std::collections::BTreeMap<&'static str, u64>,
}

struct Run {
    machine: Machine,
    model: Shared,
    dice: Dice,
    plan: Plan,
    states: u64,
    processes: u64,
    /// The processes that are running, each with its id.
    running: Vec<(u64, Generator<'static, (), ()>)>,
}

/// Plays one history.
pub(super) fn play(seed: u64, plan: Plan) -> Result<History, String> {
    let mut dice = Dice::new(seed);
    let mode = dice.pick(&[Mode::Ordered, Mode::Worst]);
    let boot = (!dice.once_in(12)).then_some(1);
    let mut state = World::new(Image::new(mode), dice.fork(), boot);
    state.mutant = plan.mutant;
    let mut run = Run {
        machine: Arc::new(Mutex::new(state)),
        model: Arc::new(Mutex::new(Model::default())),
        dice,
        plan,
        states: 0,
        processes: 0,
        running: Vec::new(),
    };
    let played = run.live();
    run.end_all();
    let outcomes = model(&run.model).outcomes.clone();
    played.map(|()| History { states: run.states, outcomes }).map_err(|what| format!("seed {seed}: {what}"))
}

impl Run {
    fn live(&mut self) -> Result<(), String> {
        self.create()?;
        for _ in 0..3 + self.dice.roll(3) {
            self.round()?;
            // A ledger whose creation nobody was told of may be gone.
            if !self.exists() {
                break;
            }
        }
        Ok(())
    }

    fn exists(&self) -> bool {
        world(&self.machine).image.find(Path::new(ROOT)).is_some()
    }

    fn spawn(&mut self, body: impl FnOnce(Process) + Send + 'static) {
        self.processes += 1;
        let (machine, model) = (self.machine.clone(), self.model.clone());
        let process = Process { machine, model, id: self.processes, dice: self.dice.fork() };
        self.running.push((self.processes, Gn::new_opt(STACK_WORDS, move || body(process))));
    }

    fn spawn_writer(&mut self) {
        let commands = 1 + self.dice.roll(8);
        self.spawn(move |mut process| process.run(commands));
    }

    /// Lets one process make one call. False if it has come to its end.
    fn step(&mut self, index: usize) -> Result<bool, String> {
        let (_, process) = &mut self.running[index];
        let gone = process.resume().is_none() || process.is_done();
        if gone {
            drop(self.running.swap_remove(index));
        }
        match model(&self.model).violations.first() {
            Some(violation) => Err(violation.clone()),
            None => Ok(!gone),
        }
    }

    /// Kills everybody, and lets their code run out without effect.
    fn end_all(&mut self) {
        for (id, _) in &self.running {
            world(&self.machine).kill(*id);
        }
        for (_, mut process) in self.running.drain(..) {
            while !process.is_done() {
                process.resume();
            }
        }
    }

    /// The ledger comes into being, or not.
    fn create(&mut self) -> Result<(), String> {
        loop {
            self.spawn(|process| {
                let genesis = draft(&Cursor::START, Seq::ZERO, &Actor::System, "init", 10);
                model(&process.model).offered.insert(genesis[..genesis.len() - 1].to_vec());
                let disk = Arc::new(SimulatedDisk { machine: process.machine.clone(), process: process.id });
                let id: LedgerId = format!("01J5ZK00000000000000000{:03}", process.id).parse().unwrap();
                if let Ok(log) = FileLog::create_on(disk, Path::new(ROOT), id, &genesis, false) {
                    let records = super::writer::read_all(&log, &Cursor::START);
                    let alive = !world(&process.machine).dead.contains(&process.id);
                    if let (Ok(records), true) = (records, alive) {
                        model(&process.model).acknowledge(&records[0].0);
                    }
                }
            });
            world(&self.machine).scheduled = true;
            self.make_trouble();
            let calls = if self.dice.once_in(4) { self.dice.roll(50) } else { 200 };
            for _ in 0..calls {
                if self.running.is_empty() || !self.step(0)? {
                    break;
                }
                if self.dice.once_in(12) {
                    self.look()?;
                }
            }
            let power = self.dice.once_in(3);
            self.crash(power)?;
            if self.exists() {
                return Ok(());
            }
        }
    }

    /// Some processes at work, until a crash.
    fn round(&mut self) -> Result<(), String> {
        let writers = 2 + self.dice.roll(3);
        let calls = 50 + self.dice.roll(1_000);
        let stay = 1 + self.dice.roll(12);
        self.make_trouble();
        let mut index = 0;
        for _ in 0..calls {
            while self.running.len() < writers {
                self.spawn_writer();
            }
            if index >= self.running.len() || self.dice.once_in(stay) {
                index = self.dice.roll(self.running.len());
            }
            if self.dice.once_in(120) {
                let id = self.running[index].0;
                world(&self.machine).dying.insert(id);
            }
            if self.dice.once_in(150) {
                self.evict();
            }
            self.step(index)?;
            if self.dice.once_in(15) {
                self.look()?;
            }
        }
        let power = !self.dice.once_in(3);
        self.crash(power)
    }

    fn make_trouble(&mut self) {
        let (plan, dice) = (self.plan, &mut self.dice);
        let mut world = world(&self.machine);
        world.trouble = None;
        if !plan.faults || dice.once_in(4) {
            return;
        }
        let (call, failures): (Call, &[Failure]) = dice.pick(&[
            (Call::Open, &[Failure::Broken][..]),
            (Call::Create, &[Failure::Broken, Failure::Full]),
            (Call::List, &[Failure::Broken]),
            (Call::Directory, &[Failure::Broken, Failure::Full]),
            (Call::SyncDir, &[Failure::Broken]),
            (Call::Rename, &[Failure::Broken, Failure::Full]),
            (Call::Remove, &[Failure::Broken]),
            (Call::Length, &[Failure::Broken]),
            (Call::Read, &[Failure::Broken, Failure::Interrupted, Failure::Short]),
            (Call::Write, &[Failure::Broken, Failure::Full, Failure::Interrupted, Failure::Short]),
            (Call::Append, &[Failure::Broken, Failure::Full, Failure::Interrupted, Failure::Short]),
            (Call::Append, &[Failure::Full, Failure::Short]),
            (Call::Truncate, &[Failure::Broken]),
            (Call::Sync, &[Failure::Broken]),
            (Call::Sync, &[Failure::Broken, Failure::Full]),
            (Call::Reserve, &[Failure::Full]),
            (Call::Lock, &[Failure::Broken]),
        ]);
        let failure = dice.pick(failures);
        world.trouble = Some(Trouble { call, failure, after: dice.roll(40), forever: dice.once_in(4) });
    }

    fn evict(&mut self) {
        let mut world = world(&self.machine);
        let mut dropped = false;
        for node in world.image.files_mut() {
            dropped |= node.evict();
        }
        world.evicted |= dropped;
    }

    /// What would be found if the crash came now.
    fn crashed(&mut self, power: bool) -> Crashed {
        let world = world(&self.machine);
        let path = Path::new(ROOT).join("log/HEAD");
        let head = world.image.file_at(&path).map(|node| Head::parse(&node.cached));
        let claimed = head.and_then(|head| head.sync).map_or(0, |sync| sync.spot.seq.0);
        let (evicted, mutant) = (world.evicted, world.mutant);
        if power {
            let image = world.image.crash(&mut self.dice);
            let boot = world.boot.map(|boot| boot + 1);
            Crashed { image, boot, claimed, evicted: false, mutant }
        } else {
            Crashed { image: world.image.clone(), boot: world.boot, claimed, evicted, mutant }
        }
    }

    fn look(&mut self) -> Result<(), String> {
        for power in [true, false] {
            if power || self.dice.once_in(3) {
                let crashed = self.crashed(power);
                let model = model(&self.model);
                self.states += check(&crashed, &model, &mut self.dice, 2)?;
            }
        }
        Ok(())
    }

    /// The crash itself: checked, and then history goes on from it.
    fn crash(&mut self, power: bool) -> Result<(), String> {
        self.end_all();
        let crashed = self.crashed(power);
        self.states += check(&crashed, &model(&self.model), &mut self.dice, 2)?;
        let mut world = world(&self.machine);
        world.trouble = None;
        world.image = crashed.image;
        world.boot = crashed.boot;
        if power {
            (world.faulted, world.evicted) = (false, false);
        }
        Ok(())
    }
}
