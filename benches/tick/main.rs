//! What one tick takes, and many at once, as ratios in one run: `cargo bench --bench tick`.
//!
//! - `--records N`: the length of the long histories; `--rounds N`; `--quick` for a short look
//! - `--only commands|writers|storm|footprint`: one part of it
//! - `--beside PATH`: another build of the program, measured in the same rounds
//!
//! The ledgers are made once by real commands and kept under `target/bench-ledgers`. Under `cargo test --benches` it
//! only tries itself on small ones.

mod author;
mod commands;
mod footprint;
mod host;
mod ledgers;
mod machine;
mod measure;
mod program;
mod rivals;
mod storm;
mod table;
mod writers;

use std::fs;
use std::path::{Path, PathBuf};

use crate::author::Plan;
use crate::program::Program;
use crate::table::Table;

/// What is measured, how often, and where.
struct Measured {
    /// Records of the long histories.
    records: usize,
    rounds: usize,
    /// Appends by each of many writers in a round.
    appends: usize,
    programs: Vec<Program>,
    /// A directory that is empty at the beginning and gone at the end.
    place: PathBuf,
    /// Kept ledgers, by name.
    ledgers: Vec<(&'static str, PathBuf)>,
}

impl Measured {
    /// The `.loopx` directory of a kept ledger.
    fn ledger(&self, name: &str) -> PathBuf {
        let found = self.ledgers.iter().find(|(found, _)| *found == name);
        found.expect("a ledger of that name").1.clone()
    }

    /// What the histories are called in the table, by the name of their ledger.
    fn histories(&self) -> [(&'static str, String); 3] {
        let count = |records: usize| match records {
            0..1_000 => format!("{records} records"),
            1_000..1_000_000 => format!("{} k records", records / 1_000),
            _ => format!("{} M records", records / 1_000_000),
        };
        let long = count(self.records);
        let busy = format!("{long}, {} turns in one day", self.records / 10);
        [("short", count(SHORT.min(self.records))), ("long", long), ("busy", busy)]
    }

    /// A copy of it in `directory`, to be written to; the directory is returned.
    fn copy_of(&self, name: &str, directory: &Path) -> PathBuf {
        ledgers::copy(&self.ledger(name), directory);
        directory.to_owned()
    }
}

/// The words after the name of the benchmark.
struct Words(Vec<String>);

impl Words {
    fn has(&self, word: &str) -> bool {
        self.0.iter().any(|found| found == word)
    }

    fn after(&self, word: &str) -> Option<&String> {
        self.0.get(self.0.iter().position(|found| found == word)? + 1)
    }

    fn number(&self, word: &str, otherwise: usize) -> usize {
        self.after(word).map_or(otherwise, |number| number.parse().expect("a number"))
    }
}

/// Measures something and fills the table.
type Part = fn(&Measured, &mut Table);

fn main() {
    let words = Words(std::env::args().skip(1).collect());
    if words.0.first().is_some_and(|word| word == writers::WRITER) {
        return writers::run(&words.0[1..]);
    }
    // `cargo bench` says so by `--bench`, `cargo test` does not.
    let (records, rounds, appends) = match (words.has("--bench"), words.has("--quick")) {
        (true, false) => (1_000_000, 100, 16),
        (true, true) => (20_000, 10, 8),
        (false, _) => (600, 1, 1),
    };
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target directory");
    let place = target.join("tmp/tick");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).expect("the target directory can be written");
    println!("{}", machine::describe(&place));
    let mut programs =
        vec![Program { name: "default".to_owned(), path: PathBuf::from(env!("CARGO_BIN_EXE_loopx")) }];
    programs.extend(
        words.after("--beside").map(|path| Program { name: "static".to_owned(), path: PathBuf::from(path) }),
    );
    let records = words.number("--records", records);
    let plan = |records: usize, busy_day| Plan { records, open: OPEN.min(records), busy_day };
    let kept = |plan| ledgers::kept(&target.join("bench-ledgers"), plan);
    let measured = Measured {
        records,
        rounds: words.number("--rounds", rounds),
        appends,
        programs,
        ledgers: vec![
            ("short", kept(plan(SHORT.min(records), false))),
            ("long", kept(plan(records, false))),
            ("busy", kept(plan(records, true))),
        ],
        place,
    };
    let builds = measured.programs.iter().map(|program| program.name.clone()).collect();
    println!("{records} records, {} rounds", measured.rounds);
    let mut table = Table::new(builds);
    let parts: [(&str, Part); 4] = [
        ("commands", commands::measure),
        ("writers", writers::measure),
        ("storm", storm::measure),
        ("footprint", footprint::measure),
    ];
    for (name, measure) in parts {
        if words.after("--only").is_none_or(|only| only == name) {
            measure(&measured, &mut table);
        }
    }
    table.print();
    let _ = fs::remove_dir_all(&measured.place);
}

/// Records of a short history.
const SHORT: usize = 1_000;

/// Todos that are open at the end of each history.
const OPEN: usize = 1_000;
