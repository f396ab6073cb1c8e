//! Whole processes, from start to exit, on a short and on long histories, against the shells of SQLite and git.

use std::path::{Path, PathBuf};

use crate::Measured;
use crate::measure::{Contestant, Times, interleave};
use crate::program::success;
use crate::rivals::{Git, Sqlite};
use crate::table::{Aim, Table, print, timed};

/// The history that others are compared with.
const SHORT: &str = "short";

/// A ledger that commands are run on, by its name in the table.
struct Ground {
    name: &'static str,
    directory: PathBuf,
}

/// Measures and fills the table. The ledgers are copies that may be written to.
pub fn measure(measured: &Measured, table: &mut Table) {
    let Measured { records, rounds, ref place, .. } = *measured;
    let grounds: Vec<Ground> = ["short", "long", "busy"]
        .map(|name| Ground { name, directory: measured.copy_of(name, &place.join("commands").join(name)) })
        .into();
    let mut rivals = Rivals::new(place, records);
    let mut contestants = Vec::new();
    for program in &measured.programs {
        let build = &program.name;
        contestants
            .push(timed(format!("{build} --version"), || success(program.words(place, &["--version"]))));
        for Ground { name, directory } in &grounds {
            contestants
                .push(timed(format!("{build} should-run {name}"), || success(program.should_run(directory))));
            contestants.push(timed(format!("{build} add {name}"), || success(program.add(directory))));
        }
    }
    rivals.take_part(&mut contestants);
    let times = interleave(rounds, &mut contestants);
    drop(contestants);
    print(&times);
    for (at, program) in measured.programs.iter().enumerate() {
        fill(table, at, &program.name, &measured.histories(), &times);
    }
}

fn fill(table: &mut Table, at: usize, build: &str, histories: &[(&str, String)], times: &Times) {
    let mut put = |what: &str, against: &str, aim: Aim, own: &str, base: &str| {
        table.put(at, what, against, aim, times.ratio(own, base));
    };
    for &(name, ref records) in histories {
        let (own, what) = (format!("{build} should-run {name}"), format!("`quota should-run`, {records}"));
        put(&what, "`--version`", Aim::AtMost(2.0), &own, &format!("{build} --version"));
        let select = if name == SHORT { "sqlite3 select short" } else { "sqlite3 select long" };
        put(&what, "`sqlite3`, indexed select on as many rows", Aim::AtMost(1.0), &own, select);
        if name != SHORT {
            let short = format!("{build} should-run {SHORT}");
            put(&what, "the same, short history", Aim::AtMost(1.5), &own, &short);
        }
    }
    for &(name, ref records) in histories {
        let (own, what) = (format!("{build} add {name}"), format!("`add`, durable, {records}"));
        put(&what, "`sqlite3`, insert (WAL, FULL)", Aim::AtMost(1.2), &own, "sqlite3 insert");
        put(&what, "the same, not checkpointed at exit", Aim::None, &own, "sqlite3 insert, WAL kept");
        put(&what, "`git commit`", Aim::AtMost(0.6), &own, "git commit");
        if name != SHORT {
            put(&what, "the same, short history", Aim::AtMost(1.5), &own, &format!("{build} add {SHORT}"));
        }
    }
}

/// Other ways to keep a record. Each is left out where its program is missing.
struct Rivals {
    select_short: Option<Sqlite>,
    select_long: Option<Sqlite>,
    insert: Option<Sqlite>,
    insert_wal: Option<Sqlite>,
    git: Option<Git>,
}

impl Rivals {
    fn new(place: &Path, records: usize) -> Self {
        let rivals = Self {
            select_short: Sqlite::new(&place.join("select-short"), records.min(1_000)),
            select_long: Sqlite::new(&place.join("select-long"), records),
            insert: Sqlite::new(&place.join("insert"), records),
            insert_wal: Sqlite::new(&place.join("insert-wal"), records),
            git: Git::new(&place.join("git")),
        };
        for (there, name) in [(rivals.insert.is_some(), "sqlite3"), (rivals.git.is_some(), "git")] {
            if !there {
                println!("there is no {name} here");
            }
        }
        rivals
    }

    fn take_part<'a>(&'a mut self, contestants: &mut Vec<Contestant<'a>>) {
        let selects = [("short", &self.select_short), ("long", &self.select_long)];
        for (name, sqlite) in selects {
            if let Some(sqlite) = sqlite {
                let select = || success(sqlite.select());
                contestants.push(timed(format!("sqlite3 select {name}"), select));
            }
        }
        if let Some(sqlite) = &mut self.insert {
            let insert = || success(sqlite.insert(true));
            contestants.push(timed("sqlite3 insert".to_owned(), insert));
        }
        if let Some(sqlite) = &mut self.insert_wal {
            let insert = || success(sqlite.insert(false));
            contestants.push(timed("sqlite3 insert, WAL kept".to_owned(), insert));
        }
        if let Some(git) = &mut self.git {
            contestants.push(timed("git commit".to_owned(), || success(git.commit())));
        }
    }
}
