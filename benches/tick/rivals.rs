//! Other ways to keep a record: the command lines of SQLite and git, each in a directory of its own.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A SQLite database in WAL mode.
pub struct Sqlite {
    directory: PathBuf,
    next: usize,
}

impl Sqlite {
    /// A table of `rows` rows with an index; none if there is no `sqlite3`.
    pub fn new(directory: &Path, rows: usize) -> Option<Self> {
        fs::create_dir_all(directory).ok()?;
        let sqlite = Self { directory: directory.to_owned(), next: rows };
        let mut shell = sqlite.shell().stdin(Stdio::piped()).stdout(Stdio::null()).spawn().ok()?;
        let script = format!(
            "PRAGMA journal_mode=WAL;\n\
             CREATE TABLE record(seq INTEGER PRIMARY KEY, name TEXT NOT NULL, body TEXT NOT NULL);\n\
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})\n\
             INSERT INTO record SELECT i, 'T' || i, printf('%.600c', 'x') FROM n;\n\
             CREATE INDEX by_name ON record(name);\n"
        );
        shell.stdin.take()?.write_all(script.as_bytes()).ok()?;
        assert!(shell.wait().ok()?.success(), "there is sqlite3, and it fails");
        Some(sqlite)
    }

    /// One indexed select.
    pub fn select(&self) -> Command {
        let mut shell = self.shell();
        shell.arg(format!("SELECT seq, body FROM record WHERE name = 'T{}'", self.next / 2));
        shell
    }

    /// One durable insert. Without `checkpoint` the shell leaves the WAL as it is at its end, which saves two syncs.
    pub fn insert(&mut self, checkpoint: bool) -> Command {
        self.next += 1;
        let mut shell = self.shell();
        if !checkpoint {
            shell.args(["-cmd", ".dbconfig no_ckpt_on_close on"]);
        }
        let next = self.next;
        shell.arg(format!(
            "PRAGMA synchronous=FULL; INSERT INTO record VALUES({next}, 'T{next}', printf('%.600c', 'x'))"
        ));
        shell
    }

    fn shell(&self) -> Command {
        let mut shell = Command::new("sqlite3");
        // No start-up file of the user.
        shell.env("HOME", &self.directory).args(["-batch", "-bail"]).arg(self.directory.join("db"));
        shell
    }
}

/// A git repository with one small file.
pub struct Git {
    directory: PathBuf,
    next: usize,
}

impl Git {
    /// A repository; none if there is no `git`.
    pub fn new(directory: &Path) -> Option<Self> {
        fs::create_dir_all(directory).ok()?;
        let mut git = Self { directory: directory.to_owned(), next: 0 };
        let file = git.change();
        for words in [&["init", "-q"][..], &["add", file], &["commit", "-qm", "first"]] {
            assert!(git.git().args(words).status().ok()?.success(), "there is git, and it fails");
        }
        Some(git)
    }

    /// Changes the file, then gives the command that commits it.
    pub fn commit(&mut self) -> Command {
        self.change();
        let mut git = self.git();
        git.args(["commit", "-qam", "next"]);
        git
    }

    fn change(&mut self) -> &'static str {
        self.next += 1;
        // A file that could not be written makes the commit fail, which is noticed.
        let _ = fs::write(self.directory.join("file"), format!("{}\n", self.next));
        "file"
    }

    fn git(&self) -> Command {
        let mut git = Command::new("git");
        git.current_dir(&self.directory).env("HOME", &self.directory).env("GIT_CONFIG_NOSYSTEM", "1");
        git.args(["-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"]);
        git
    }
}
