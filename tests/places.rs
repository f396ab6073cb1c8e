//! Ledgers in places that cannot be read or written: each has its own error, nothing is changed, and no reader shows
//! less than there is.
//!
//! As root the program is run as another user, by `setpriv`. A full and a read-only file system are small ones in
//! memory, mounted in a name space of their own by `unshare`; where that is not possible the test prints SKIPPED and
//! why. `LOOPX_REQUIRE_ROOT=1` makes a skipped test a failed one.
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "LOOPX_REQUIRE_ROOT is an order to this test")]

mod binary;

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use binary::{Said, assert_sound, feed, receipt, records, root, run};
use loopx::hash::Hash;

/// The user `nobody`: the one that the program is run as when the tests are run as root.
const NOBODY: u32 = 65_534;

/// A third user, who only owns files.
const SOMEONE: u32 = 4_321;

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Says that a test could not be run.
fn skip(why: &str) {
    // Past the harness, which would keep it to itself.
    drop(std::io::stderr().write_all(format!("SKIPPED: {why}\n").as_bytes()));
    assert!(std::env::var_os("LOOPX_REQUIRE_ROOT").is_none(), "LOOPX_REQUIRE_ROOT is set, and {why}");
}

/// A project with a ledger, and a user for whom modes of files mean something.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let place = Self { dir };
        if is_root() {
            // The user may not reach the original. Copied by a process of its own: a program that another thread's
            // child still holds open for writing cannot be run.
            let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_loopx")).arg(place.dir.path()).status();
            assert!(copied.unwrap().success());
        }
        fs::create_dir(place.project()).unwrap();
        fs::set_permissions(place.dir.path(), Permissions::from_mode(0o755)).unwrap();
        if is_root() {
            chown(place.project(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        place.run(&["init"]).ok();
        place.run(&["start-goal", "--name", "g", "--goal-text", "Ship it", "--accept", "it runs"]).ok();
        place.run(&["add", "One"]).ok();
        fs::write(place.project().join("result.txt"), "41 of 42\n").unwrap();
        place.run(&["evidence", "add", "--about", "T1", "--summary", "a file", "--file", "result.txt"]).ok();
        fs::write(place.project().join("other.txt"), "42 of 42\n").unwrap();
        place
    }

    fn project(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    fn path(&self, below: &str) -> PathBuf {
        root(&self.project()).join(below)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
            command.arg(self.dir.path().join("loopx"));
            command
        } else {
            Command::new(env!("CARGO_BIN_EXE_loopx"))
        };
        command.args(arguments).current_dir(self.project()).env_clear();
        command.env("PATH", "/usr/bin:/bin").stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Said {
        self.command(arguments).arg("--json").output().unwrap().into()
    }

    /// An export answers with the graph itself, in no envelope.
    fn export(&self) -> Said {
        self.command(&["lineage", "export", "--format", "json"]).output().unwrap().into()
    }

    /// With the mode of `below` set to `mode`, runs `body`; nothing may have changed by it.
    fn with_mode(&self, below: &str, mode: u32, body: impl FnOnce()) {
        let path = self.path(below);
        let before = content(&self.project());
        let was = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        body();
        fs::set_permissions(&path, was).unwrap();
        assert_eq!(content(&self.project()), before, "{below} {mode:o}");
    }
}

/// Every file below a directory with its digest, except those that only say who holds a lock. Directories without a
/// file do not count.
fn content(dir: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut left = vec![dir.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                left.push(entry.path());
            } else if !matches!(entry.file_name().to_str(), Some("lock" | "sync.lock")) {
                found.insert(entry.path(), Hash::blob(&fs::read(entry.path()).unwrap()).to_hex());
            }
        }
    }
    found
}

const READS: [&[&str]; 21] = [
    &["status"],
    &["connect"],
    &["ready"],
    &["quota", "should-run"],
    &["quota", "status"],
    &["goal", "list"],
    &["goal", "show"],
    &["todo", "list"],
    &["todo", "show", "T1"],
    &["gate", "list"],
    &["lease", "list"],
    &["evidence", "list"],
    &["agent", "list"],
    &["owner", "list"],
    &["history"],
    &["show", "T1"],
    &["log"],
    &["log", "--raw"],
    &["replay", "--check"],
    &["verify"],
    &["lineage", "why", "P1"],
];

const WRITES: [&[&str]; 7] = [
    &["add", "Two"],
    &["next"],
    &["ask", "May it?", "--global"],
    &["evidence", "add", "--about", "T1", "--summary", "a note"],
    &["evidence", "add", "--about", "T1", "--summary", "a file", "--file", "other.txt"],
    &["refresh-state", "--next-action", "go on"],
    // Last: from then on a caller has to have a name.
    &["agent", "register", "a1"],
];

#[track_caller]
fn refuses(place: &Place, commands: &[&[&str]], code: &str, exit: i32) {
    for arguments in commands {
        let said = place.run(arguments);
        assert_eq!(said.error(), (code.to_owned(), Some(exit)), "{arguments:?}: {said:?}");
    }
}

#[track_caller]
fn answers(place: &Place) {
    for arguments in READS.iter().filter(|arguments| arguments[1..] != ["why", "P1"]) {
        let said = place.run(arguments);
        assert_eq!(said.code, Some(0), "{arguments:?}: {said:?}");
    }
}

#[test]
fn what_may_not_be_read_fails_every_command_and_is_never_taken_to_be_empty() {
    let place = Place::new();
    answers(&place);
    for below in ["log/00000000000000000001.jsonl", "log", "log/FORMAT", "log/HEAD", ""] {
        place.with_mode(below, 0o000, || {
            refuses(&place, &READS, "ledger.unreadable", 1);
            refuses(&place, &WRITES, "ledger.unreadable", 1);
            let doctor = place.run(&["doctor"]);
            assert_eq!(doctor.code, Some(6), "{below}: {doctor:?}");
            let export = place.export();
            assert!(export.code == Some(1) && export.out.is_empty(), "{below}: {export:?}");
        });
    }
    answers(&place);
}

#[test]
fn a_ledger_that_may_not_be_looked_into_hides_neither_itself_nor_one_above_it() {
    let place = Place::new();
    let inner = place.project().join("inner");
    fs::create_dir(&inner).unwrap();
    let before = content(&place.project());
    fs::create_dir_all(inner.join(".loopx/log")).unwrap();
    fs::set_permissions(inner.join(".loopx"), Permissions::from_mode(0o000)).unwrap();
    for arguments in [&["status"][..], &["add", "For whom?"], &["init"]] {
        let said: Said = place.command(arguments).current_dir(&inner).output().unwrap().into();
        assert_ne!(said.code, Some(0), "{arguments:?} went to another ledger: {said:?}");
    }
    fs::set_permissions(inner.join(".loopx"), Permissions::from_mode(0o755)).unwrap();
    assert_eq!(content(&place.project()), before);
}

#[test]
fn hints_that_may_not_be_read_change_no_answer_and_evidence_that_may_not_be_read_is_not_called_missing() {
    let place = Place::new();
    let lines = "{\"command\":\"refresh-state\",\"next_action\":\"on\"}\n".repeat(300);
    let mut child =
        place.command(&["append", "--stdin"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    let list = |place: &Place| place.run(&["todo", "list"]).ok();
    let before = list(&place);
    for below in ["snap", "snap/state.json"] {
        place.with_mode(below, 0o000, || {
            assert_eq!(list(&place), before);
            answers(&place);
        });
    }
    place.with_mode("blobs", 0o000, || {
        let said = place.run(&["verify"]);
        assert_eq!(said.error(), ("ledger.unreadable".to_owned(), Some(1)), "{said:?}");
        place.run(&["verify", "--no-blobs"]).ok();
    });
    let quarantine = place.path("quarantine");
    fs::create_dir(&quarantine).unwrap();
    fs::write(quarantine.join("00000000000000000001-00000000.torn"), "{").unwrap();
    place.with_mode("quarantine", 0o000, || {
        let said = place.run(&["doctor"]);
        assert_eq!(said.code, Some(6), "files that cannot be counted are not none: {said:?}");
    });
}

#[test]
fn a_read_only_ledger_is_read_and_not_written() {
    let place = Place::new();
    let before = content(&place.project());
    let mut was = Vec::new();
    let mut left = vec![place.path("")];
    while let Some(path) = left.pop() {
        let metadata = fs::metadata(&path).unwrap();
        if metadata.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let mode = metadata.permissions().mode();
        fs::set_permissions(&path, Permissions::from_mode(mode & !0o222)).unwrap();
        was.push((path, mode));
    }
    answers(&place);
    refuses(&place, &WRITES, "ledger.not_writable", 1);
    for (path, mode) in was {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    }
    assert_eq!(content(&place.project()), before);
    place.with_mode("log/lock", 0o444, || {
        answers(&place);
        refuses(&place, &WRITES, "ledger.not_writable", 1);
    });
    place.run(&["add", "Two"]).ok();
}

#[test]
fn a_directory_where_a_file_should_be_is_said_to_be_one() {
    for below in ["log/00000000000000000001.jsonl", "log/FORMAT", "log/HEAD", "log/lock"] {
        let place = Place::new();
        let path = place.path(below);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let before = content(&place.project());
        if below == "log/lock" {
            answers(&place);
        } else {
            refuses(&place, &READS, "file.wrong_type", 1);
        }
        refuses(&place, &WRITES, "file.wrong_type", 1);
        assert_eq!(content(&place.project()), before, "{below}");
    }
}

#[test]
fn no_ledger_is_no_empty_ledger() {
    let place = Place::new();
    fs::rename(place.path(""), place.project().join("elsewhere")).unwrap();
    let before = content(&place.project());
    let named = |arguments: &[&'static str]| [&["--dir", "."], arguments].concat();
    for arguments in READS.iter().chain(&WRITES) {
        let said = place.run(&named(arguments));
        assert_eq!(said.error(), ("ledger.not_found".to_owned(), Some(1)), "{arguments:?}: {said:?}");
    }
    assert_eq!(content(&place.project()), before);
}

#[test]
fn the_ledger_of_another_user_is_read_and_not_written() {
    if !is_root() {
        return skip("only root can give a ledger to another user");
    }
    let place = Place::new();
    let mut left = vec![place.path("")];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        chown(&path, Some(SOMEONE), Some(SOMEONE)).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
    }
    let before = content(&place.project());
    answers(&place);
    refuses(&place, &WRITES, "ledger.foreign_owner", 1);
    for arguments in WRITES {
        let said = run(&place.project(), arguments);
        assert_eq!(said.error(), ("ledger.foreign_owner".to_owned(), Some(1)), "as root: {arguments:?}");
    }
    assert_eq!(content(&place.project()), before);
}

/// Runs `body` in a process of its own that may mount file systems; false if no such process can be had.
fn may_mount(test: &str) -> bool {
    if std::env::var_os("LOOPX_MAY_MOUNT").is_some() {
        return true;
    }
    let how = if is_root() { "-m" } else { "-rm" };
    let unshare = || {
        let mut command = Command::new("unshare");
        command.arg(how);
        command
    };
    let dir = tempfile::tempdir().unwrap();
    let probe = unshare().args(["mount", "-t", "tmpfs", "tmpfs"]).arg(dir.path()).output();
    match probe {
        Ok(output) if output.status.success() => {
            let this = std::env::current_exe().unwrap();
            let output = unshare()
                .arg(this)
                .args([test, "--exact", "--nocapture"])
                .env("LOOPX_MAY_MOUNT", "1")
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && text.contains("1 passed"), "{text}\n{errors}");
        }
        Ok(output) => skip(&format!("no mount: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => skip(&format!("no unshare: {error}")),
    }
    false
}

/// A file system of `kib` KiB, gone with this process.
fn small_disk(kib: u32) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    mount(&["-t", "tmpfs", "-o", &format!("size={kib}k"), "tmpfs"], dir.path());
    dir
}

fn mount(arguments: &[&str], on: &Path) {
    let output = Command::new("mount").args(arguments).arg(on).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Takes all the space that is left.
fn fill(dir: &Path) -> PathBuf {
    let path = dir.join("ballast");
    let mut file = OpenOptions::new().append(true).create(true).open(&path).unwrap();
    while file.write(&[7; 4096]).is_ok_and(|count| count > 0) {}
    path
}

#[track_caller]
fn is_full(said: &Said) {
    assert_eq!(said.error(), ("disk.full".to_owned(), Some(1)), "{said:?}");
}

/// A ledger on a small disk whose next snapshot is due and whose segment has a little room in its last page.
fn ledger_on(dir: &Path) {
    run(dir, &["init"]).ok();
    run(dir, &["start-goal", "--name", "g", "--goal-text", "Ship it"]).ok();
    run(dir, &["add", "One"]).ok();
    let line = "{\"command\":\"refresh-state\",\"next_action\":\"on\"}\n";
    assert_eq!(feed(dir, &["append", "--stdin"], &line.repeat(252)).code, Some(0));
    fs::remove_dir_all(root(dir).join("snap")).ok();
    let segment = root(dir).join("log/00000000000000000001.jsonl");
    while fs::metadata(&segment).unwrap().len() % 4096 > 1_500 {
        run(dir, &["refresh-state", "--next-action", "on"]).ok();
        fs::remove_dir_all(root(dir).join("snap")).ok();
    }
}

#[test]
fn a_full_disk_loses_nothing_and_fakes_nothing() {
    if !may_mount("a_full_disk_loses_nothing_and_fakes_nothing") {
        return;
    }
    let disk = small_disk(600);
    let dir = disk.path();
    ledger_on(dir);
    let ballast = fill(dir);

    // There is room for a record in the last page, and none for the snapshot that is due.
    let mut fitted = 0;
    let refused = loop {
        let said = run(dir, &["add", "While it fits", "--request", &format!("r{fitted}")]);
        if said.code != Some(0) {
            break said;
        }
        assert!(receipt(&said.json()).is_some());
        fitted += 1;
    };
    is_full(&refused);
    assert!((1..10).contains(&fitted), "{fitted} records went into one page");
    // No record that is asked for below is smaller than this one.
    let mut small = 0;
    while run(dir, &["refresh-state", "--next-action", "x", "--request", &format!("s{small}")]).code
        == Some(0)
    {
        small += 1;
    }
    assert!(!root(dir).join("snap/state.json").exists());

    let before = content(dir);
    for arguments in WRITES.iter().filter(|arguments| !arguments.contains(&"--file")) {
        is_full(&run(dir, arguments));
    }
    is_full(&run(dir, &["evidence", "add", "--about", "T1", "--summary", "s", "--file", "ballast"]));
    let line = "{\"command\":\"todo.add\",\"title\":\"Two\",\"request\":\"bulk\"}\n";
    let said = feed(dir, &["append", "--stdin"], line);
    assert!(said.code == Some(1) && said.out.contains("disk.full"), "{said:?}");
    is_full(&run(dir, &["--dir", "second", "init"]));
    assert_eq!(content(dir), before);
    assert!(!dir.join("second/.loopx").exists());
    assert_sound(dir);
    assert_eq!(run(dir, &["status"]).code, Some(0));

    // A torn tail cannot be set aside now, so no writer goes on; it is set aside once there is room.
    let segment = root(dir).join("log/00000000000000000001.jsonl");
    let torn = b"{\"v\":1,";
    OpenOptions::new().append(true).open(&segment).unwrap().write_all(torn).unwrap();
    let length = fs::metadata(&segment).unwrap().len();
    is_full(&run(dir, &["add", "Behind a torn tail"]));
    assert_eq!(fs::metadata(&segment).unwrap().len(), length, "nothing is cut before it is kept");
    assert_sound(dir);

    fs::remove_file(ballast).unwrap();
    let again = ["add", "While it fits", "--request", &format!("r{fitted}")];
    assert!(!receipt(&run(dir, &again).ok()).unwrap().duplicate);
    assert!(receipt(&run(dir, &again).ok()).unwrap().duplicate);
    assert_eq!(records(dir).iter().filter(|record| record.kinds == ["ledger.recovered"]).count(), 1);
    fs::write(dir.join("other.txt"), "42 of 42\n").unwrap();
    for arguments in WRITES {
        run(dir, arguments).ok();
    }
    assert!(root(dir).join("snap/state.json").exists(), "a snapshot is written once there is room");
    assert_sound(dir);
    let halves: Vec<PathBuf> =
        content(dir).into_keys().filter(|p| p.to_string_lossy().ends_with("tmp")).collect();
    assert!(halves.is_empty(), "{halves:?}");
}

#[test]
fn a_read_only_file_system_is_read() {
    if !may_mount("a_read_only_file_system_is_read") {
        return;
    }
    let disk = small_disk(2_048);
    let dir = disk.path();
    ledger_on(dir);
    fs::write(dir.join("other.txt"), "42 of 42\n").unwrap();
    mount(&["-o", "remount,bind,ro"], dir);
    let before = content(dir);
    for arguments in READS.iter().filter(|arguments| arguments[1..] != ["why", "P1"]) {
        let said = run(dir, arguments);
        assert_eq!(said.code, Some(0), "{arguments:?}: {said:?}");
    }
    for arguments in WRITES {
        let said = run(dir, arguments);
        assert_eq!(said.error(), ("ledger.not_writable".to_owned(), Some(1)), "{arguments:?}: {said:?}");
    }
    let said = run(dir, &["--dir", "second", "init"]);
    assert_eq!(said.error(), ("ledger.not_writable".to_owned(), Some(1)), "{said:?}");
    assert_eq!(content(dir), before);
    mount(&["-o", "remount,bind,rw"], dir);
    run(dir, &["add", "Two"]).ok();
    assert_sound(dir);
}
