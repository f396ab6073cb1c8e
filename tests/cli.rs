//! Scripts of the command line with the answers they must give, in `tests/cli/*.txt`.
//!
//! A script is hermetic: an empty directory, a fixed clock, no environment. In a script
//! - `$ COMMAND` is run by `sh`; the lines below it are what it prints, both streams; `[3]` is a status that is not 0;
//! - `@ INSTANT` sets the clock;
//! - `##` starts a remark.
//!
//! Every command that a script prints as a hint or a next step is run too, on a copy: it has to parse, and may not end
//! in an internal error. `LOOPX_BLESS=1 cargo test --test cli` rewrites the scripts.
#![expect(clippy::disallowed_methods, reason = "LOOPX_BLESS is an order to this test")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const START: &str = "2026-12-01T12:00:00.000000Z";

struct Run {
    dir: tempfile::TempDir,
    now: String,
    problems: Vec<String>,
}

impl Run {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("project")).unwrap();
        Self { dir, now: START.to_owned(), problems: Vec::new() }
    }

    fn project(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    /// Where the list of the ledgers is that the script has; those of the copies are not among them.
    fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    fn shell(&self, script: &str, directory: &Path) -> (String, i32) {
        let bin = Path::new(env!("CARGO_BIN_EXE_loopx")).parent().unwrap();
        let copied = !directory.starts_with(self.project());
        let output = Command::new("sh")
            .arg("-c")
            .arg(format!("exec 2>&1\n{script}"))
            .current_dir(directory)
            .env_clear()
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()))
            .env("LOOPX_TEST_NOW", &self.now)
            .env("HOME", self.dir.path())
            .env("LOOPX_STATE_HOME", if copied { PathBuf::from("nowhere") } else { self.state() })
            .stdin(Stdio::null())
            .output()
            .unwrap();
        (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code().unwrap_or(-1))
    }

    fn command(&mut self, script: &str) -> String {
        let (printed, status) = self.shell(script, &self.project());
        self.follow(script, &printed);
        let mut out = self.normalise(&printed);
        if status != 0 {
            let _ = writeln!(out, "[{status}]");
        }
        out
    }

    /// Runs every command that was printed for the reader, each on a copy of the project.
    fn follow(&mut self, script: &str, printed: &str) {
        for command in next_commands(printed) {
            let copy = self.dir.path().join("copy");
            let _ = fs::remove_dir_all(&copy);
            let status = Command::new("cp").arg("-r").arg(self.project()).arg(&copy).status().unwrap();
            assert!(status.success());
            let (said, code) = self.shell(&command, &copy);
            // A command that leaves something to be said is understood as far as that.
            if said.contains("stands for words of your own") {
                continue;
            }
            if matches!(code, 1 | 2) || !(0..=13).contains(&code) {
                self.problems.push(format!("`{script}` says `{command}`, which ends with {code}: {said}"));
            }
        }
    }

    /// Takes out what no two runs share: ids, hashes, paths, durations of this very run.
    fn normalise(&self, text: &str) -> String {
        let text = text.replace(&self.project().display().to_string(), "DIR");
        let text = text.replace(&self.state().display().to_string(), "STATE");
        let mut out = String::new();
        let mut word = String::new();
        for c in text.chars().chain(['\n']) {
            if c.is_ascii_alphanumeric() {
                word.push(c);
                continue;
            }
            out.push_str(match word.as_str() {
                w if w.len() == 64 && is_hex(w) => "HASH",
                // The only numbers of eight digits in these scripts are limits of a lease.
                w if w.len() == 8 && is_hex(w) && !["86400000", "90000000"].contains(&w) => "HASH8",
                w if w.len() == 26 && w.starts_with("01") => "ULID",
                w => w,
            });
            word.clear();
            out.push(c);
        }
        out.pop();
        let took = |line: &str| match line.rsplit_once("  ") {
            Some((head, tail)) if tail.ends_with(" ms") && tail.contains('.') => format!("{head}  TOOK"),
            _ => line.to_owned(),
        };
        out.lines().map(|line| took(line) + "\n").collect()
    }
}

fn is_hex(word: &str) -> bool {
    word.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// The commands in `hint: …`, `then …` and `loopx …` lines; alternatives are separated by ` | `.
fn next_commands(printed: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in printed.lines() {
        let line = line.trim();
        let told = [
            "hint: ",
            "then  ",
            "or    ",
            "resumes it: ",
            "sets it: ",
            "Only an owner can answer: ",
            "repair     ",
            "whole text  ",
        ];
        let told = told.iter().find_map(|mark| line.split_once(mark).map(|(_, rest)| rest));
        let told = told.or_else(|| line.starts_with("loopx ").then_some(line));
        let Some(told) = told else { continue };
        let mut base = String::new();
        for part in told.split(" | ") {
            if part.starts_with("loopx ") {
                base = part.to_owned();
                found.push(part.to_owned());
            } else if part.starts_with("--") {
                // An alternative to the last option of the command before it.
                let head = base.rsplit_once(" --").map_or(base.as_str(), |(head, _)| head);
                found.push(format!("{head} {part}"));
            }
        }
    }
    found
}

/// Runs a script; returns it with the answers that were given.
fn run(script: &str) -> (String, Vec<String>) {
    let mut run = Run::new();
    let mut out = String::new();
    for line in script.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            out.push_str(&format!("$ {command}\n"));
            out.push_str(&run.command(command));
        } else if let Some(now) = line.strip_prefix("@ ") {
            out.push_str(&format!("@ {now}\n"));
            run.now = now.to_owned();
        } else if line.starts_with("## ") {
            out.push_str(&format!("{line}\n"));
        }
    }
    (out, run.problems)
}

fn check(path: &Path) {
    let script = fs::read_to_string(path).unwrap();
    let (got, problems) = run(&script);
    assert!(problems.is_empty(), "{}:\n{}", path.display(), problems.join("\n"));
    if std::env::var_os("LOOPX_BLESS").is_some() {
        fs::write(path, &got).unwrap();
        return;
    }
    if got != script {
        for (number, (want, have)) in script.lines().zip(got.lines()).enumerate() {
            assert_eq!(want, have, "{} line {}\nwhole answer:\n{got}", path.display(), number + 1);
        }
        panic!("{}: one answer is longer than the other\n{got}", path.display());
    }
}

/// The console blocks of a document, as one script.
fn console(document: &str) -> String {
    let mut script = String::new();
    let mut inside = false;
    for line in document.lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            line if inside => script.push_str(&format!("{line}\n")),
            _ => {}
        }
    }
    script
}

/// Documents show what is printed. `LOOPX_BLESS=1` writes it into their blocks.
fn shows_real_output(document: &str, commands: usize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(document);
    let document = fs::read_to_string(&path).unwrap();
    let mut run = Run::new();
    if std::env::var_os("LOOPX_BLESS").is_some() {
        let mut out = String::new();
        let mut inside = false;
        for line in document.lines() {
            inside = line == "```console" || (inside && line != "```");
            if !inside || line == "```console" {
                out.push_str(&format!("{line}\n"));
            } else if let Some(command) = line.strip_prefix("$ ") {
                let (printed, _) = run.shell(command, &run.project());
                let printed = printed.replace(&run.project().display().to_string(), "/home/ana/iris");
                out.push_str(&format!("$ {command}\n{printed}"));
            }
        }
        fs::write(&path, out).unwrap();
        return;
    }
    let script = console(&document);
    assert!(script.lines().filter(|line| line.starts_with("$ ")).count() >= commands);
    let mut got = String::new();
    for command in script.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let (printed, _) = run.shell(command, &run.project());
        run.follow(command, &printed);
        got.push_str(&format!("$ {command}\n{}", run.normalise(&printed)));
    }
    assert!(run.problems.is_empty(), "{}", run.problems.join("\n"));
    assert_eq!(run.normalise(&script.replace("/home/ana/iris", "DIR")), got);
}

#[test]
fn readme_shows_real_output() {
    shows_real_output("README.md", 11);
}

#[test]
fn concepts_show_real_output() {
    shows_real_output("docs/concepts.md", 25);
}

/// At 220 words a minute, with everything that is printed.
#[test]
fn concepts_are_read_in_ten_minutes_and_each_has_a_command() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/concepts.md");
    let document = fs::read_to_string(path).unwrap();
    assert!(document.split_whitespace().count() <= 2_200);
    let sections = document.split("\n## ").skip(1);
    let bare: Vec<&str> = sections.filter(|section| !section.contains("\n$ loopx ")).collect();
    assert!(bare.is_empty(), "{bare:?}");
}

#[test]
fn every_call_of_the_mapping_from_loopx_is_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mapping = fs::read_to_string(root.join("docs/loopx-mapping.md")).unwrap();
    let script = fs::read_to_string(root.join("tests/cli/loopx.txt")).unwrap();
    let run: Vec<&str> = script.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    let calls = mapping.split("## Calls").nth(1).unwrap().split("## Answers").next().unwrap();
    let mut checked = 0;
    for row in calls.lines() {
        // The first cell of a row of calls, and the line that spells the calls on leases.
        let cell = if row.starts_with('|') { row.split(" | ").next().unwrap() } else { row };
        for code in cell.split('`').skip(1).step_by(2).filter(|code| code.contains('-')) {
            for word in code.split([' ', '[', ']', '(', ')']).filter(|word| word.starts_with("--")) {
                let used = |line: &&&str| line.split_whitespace().any(|one| one == word);
                assert!(run.iter().any(|line| used(&line)), "{word} of `{code}` is run by no line");
                checked += 1;
            }
        }
    }
    assert!(checked > 35, "{checked}");
    for code in mapping.split("`error_code` of").nth(1).unwrap().lines().skip(2) {
        let Some(code) = code.split('`').nth(1).filter(|_| code.starts_with("| `")) else { continue };
        assert!(script.contains(&format!("error[{code}]")), "{code} is answered to no line");
    }
}

macro_rules! scripts {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            check(&Path::new(env!("CARGO_MANIFEST_DIR")).join(concat!("tests/cli/", stringify!($name), ".txt")));
        })*

        #[test]
        fn every_script_is_run() {
            let mut named = vec![$(concat!(stringify!($name), ".txt")),*];
            named.sort_unstable();
            let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli");
            let mut found: Vec<String> =
                fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
            found.sort_unstable();
            assert_eq!(found, named);
        }
    };
}

scripts! {
    monitors
    boundary
    newcomer
    by_hand
    loopx
    gates
    refusals
    bad_input
    audit
    places
    bulk
    json
    holding
    quota
    goals
    lineage
    checks
    review
    handoff
    plan
    known
    screen
    topics
    markdown
    clock
    decisions
    evidence
}

/// The help of a command begins with what the command does, in words; nowhere with its own name in code marks.
#[test]
fn every_help_says_what_the_command_does() {
    let run = Run::new();
    let mut left = vec![String::new()];
    let mut seen = 0;
    while let Some(path) = left.pop() {
        let (help, code) = run.shell(&format!("loopx{path} --help"), &run.project());
        assert_eq!(code, 0, "{path}");
        let about = help.lines().next().unwrap();
        assert!(
            about.contains(' ')
                || about == "Todos"
                || about == "Goals"
                || about == "Agents"
                || about == "Evidence",
            "{path}: {about}"
        );
        assert!(!about.starts_with('`'), "{path}: {about}");
        let listed =
            help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
        let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        left.extend(
            names.filter(|name| !name.is_empty() && *name != "help").map(|name| format!("{path} {name}")),
        );
        seen += 1;
    }
    assert!(seen > 60, "{seen}");
}
