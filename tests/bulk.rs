//! `append --stdin`, and the commands that read everything, as processes: interrupted, unread, beside others, watched.
#![cfg(unix)]

mod binary;

use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use binary::{
    Receipt, Said, assert_recorded, assert_sound, feed, ledger, loopx, receipt, records, root, run, signal,
};

const NOTE: &str = "{\"command\":\"refresh-state\",\"next_action\":\"on and on\"}\n";

const SIGINT: i32 = 2;

/// The program, ended by an interrupt whatever these tests were started from: a job in the background of a script ignores
/// it, and so would its children.
fn interruptible(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("/usr/bin/env");
    command.arg("--default-signal=INT").arg(env!("CARGO_BIN_EXE_loopx")).args(arguments);
    command.current_dir(dir).env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn bulk(dir: &Path) -> Child {
    interruptible(dir, &["append", "--stdin"]).stdin(Stdio::piped()).spawn().unwrap()
}

/// Feeds lines without end, until nobody takes them.
fn feed_for_ever(child: &mut Child) -> std::thread::JoinHandle<()> {
    let mut stdin = child.stdin.take().unwrap();
    std::thread::spawn(move || while stdin.write_all(NOTE.repeat(100).as_bytes()).is_ok() {})
}

/// The receipts in whole lines of output.
fn receipts(printed: &str) -> Vec<Receipt> {
    let whole = printed.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.filter_map(|line| receipt(&serde_json::from_str(line).unwrap())).collect()
}

#[test]
fn whoever_feeds_a_line_and_waits_gets_its_receipt() {
    let dir = ledger();
    let mut child = bulk(dir.path());
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for seq in 3..6 {
        stdin.write_all(NOTE.as_bytes()).unwrap();
        let answer = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(receipt(&answer).unwrap().seq, seq);
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert!(lines.next().is_none());
}

#[test]
fn an_interrupted_bulk_has_recorded_what_it_acknowledged() {
    let dir = ledger();
    let dir = dir.path();
    for least in [1, 3_000] {
        let mut child = bulk(dir);
        let feeder = feed_for_ever(&mut child);
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut printed = String::new();
        for _ in 0..least {
            out.read_line(&mut printed).unwrap();
        }
        signal(&child, "INT");
        out.read_to_string(&mut printed).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(SIGINT));
        feeder.join().unwrap();
        let receipts = receipts(&printed);
        assert!(receipts.len() >= least);
        assert_recorded(&records(dir), &receipts);
        run(dir, &["add", "Goes on"]).ok();
        assert_sound(dir);
    }
}

#[test]
fn a_bulk_whose_receipts_nobody_reads_stops_and_says_what_it_recorded() {
    let dir = ledger();
    let dir = dir.path();
    let before = records(dir).len();
    let (reader, writer) = std::io::pipe().unwrap();
    let mut child = loopx(dir, &["append", "--stdin"]).stdin(Stdio::piped()).stdout(writer).spawn().unwrap();
    let feeder = feed_for_ever(&mut child);
    let mut out = BufReader::new(reader);
    let mut printed = String::new();
    out.read_line(&mut printed).unwrap();
    drop(out);
    let said: Said = child.wait_with_output().unwrap().into();
    feeder.join().unwrap();
    assert_eq!(said.code, Some(1), "{said:?}");
    let recorded = records(dir).len() - before;
    let expected = format!(
        "error[output]: nobody reads the receipts any more; {recorded} requests are recorded, the rest was not looked at\n"
    );
    assert_eq!(said.err, expected);
    assert_recorded(&records(dir), &receipts(&printed));
    assert_sound(dir);
}

#[test]
fn other_writers_come_in_between_the_batches() {
    let dir = ledger();
    let dir = dir.path();
    let mut child = bulk(dir);
    let feeder = feed_for_ever(&mut child);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    let reader = std::thread::spawn(move || {
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        rest
    });
    let others: Vec<u64> =
        (0..3).map(|n| receipt(&run(dir, &["add", &format!("beside {n}")]).ok()).unwrap().seq).collect();
    signal(&child, "INT");
    child.wait().unwrap();
    feeder.join().unwrap();
    let all = receipts(&(first + &reader.join().unwrap()));
    assert!(all.iter().all(|receipt| !others.contains(&receipt.seq)));
    assert!(others.iter().all(|seq| *seq > all[0].seq));
    assert_recorded(&records(dir), &all);
    assert_sound(dir);
}

#[test]
fn a_check_in_the_middle_of_a_batch_is_run_while_others_may_write() {
    let dir = ledger();
    let dir = dir.path();
    let check = [env!("CARGO_BIN_EXE_loopx"), "add", "by the check", "--lock-wait", "5s"];
    let todo = serde_json::json!({"command": "todo.add", "title": "checked", "check": check});
    let claim = r#"{"command":"todo.claim","todo":"T1"}"#;
    let close = r#"{"command":"todo.complete","todo":"T1","close":{"proof":[{"kind":"note","summary":"s"}],"no_follow_up":"n"}}"#;
    let said = feed(dir, &["append", "--stdin"], &format!("{todo}\n{claim}\n{close}\n{NOTE}"));
    assert_eq!(said.code, Some(0), "{said:?}");
    let said = receipts(&said.out);
    assert_eq!(
        said.iter().map(|receipt| receipt.seq).collect::<Vec<_>>(),
        [3, 4, 6, 7],
        "#5 is the check's own"
    );
    assert_recorded(&records(dir), &said);
}

/// Many lines in several batches, some of which come again with their ids.
#[test]
fn a_bulk_fed_twice_is_recorded_once() {
    let dir = ledger();
    let dir = dir.path();
    let lines: String = (0..6_000)
        .map(|n| format!("{{\"command\":\"refresh-state\",\"next_action\":\"n{n}\",\"request\":\"r{n}\"}}\n"))
        .collect();
    let first = feed(dir, &["append", "--stdin"], &lines);
    let again = feed(dir, &["append", "--stdin"], &lines);
    assert_eq!((first.code, again.code), (Some(0), Some(0)), "{} {}", first.err, again.err);
    let (first, again) = (receipts(&first.out), receipts(&again.out));
    assert_eq!(first.len(), 6_000);
    assert!(first.iter().all(|receipt| !receipt.duplicate));
    let known = |receipt: Receipt| Receipt { duplicate: true, ..receipt };
    assert_eq!(again, first.iter().cloned().map(known).collect::<Vec<_>>());
    assert_eq!(records(dir).len(), 6_002);
    let half = lines.lines().take(4_500).collect::<Vec<_>>().join("\n");
    let other =
        format!("{half}\n{{\"command\":\"refresh-state\",\"next_action\":\"other\",\"request\":\"r7\"}}\n");
    let said = feed(dir, &["append", "--stdin"], &other);
    assert_eq!(said.code, Some(3));
    assert!(said.err.starts_with("error[request.reused]: line 4501: "), "{}", said.err);
    assert!(said.err.contains("; 4500 before it are recorded"), "{}", said.err);
    assert_eq!(records(dir).len(), 6_002);
}

/// Stops a command before it has come to its end, interrupts it and lets it go on.
fn interrupted(dir: &Path, arguments: &[&str]) -> Option<Said> {
    for _ in 0..50 {
        let child = interruptible(dir, arguments).spawn().unwrap();
        let name = format!("/proc/{}/comm", child.id());
        let begun = Instant::now();
        while fs::read_to_string(&name).is_ok_and(|name| name.trim() == "env")
            && begun.elapsed().as_secs() < 5
        {}
        signal(&child, "STOP");
        let stat = format!("/proc/{}/stat", child.id());
        let since = Instant::now();
        while since.elapsed() < Duration::from_secs(5) {
            let state = fs::read_to_string(&stat).unwrap();
            if state.contains(") T ") || state.contains(") Z ") {
                break;
            }
        }
        signal(&child, "INT");
        signal(&child, "CONT");
        let output = child.wait_with_output().unwrap();
        if output.status.signal() == Some(SIGINT) {
            return Some(output.into());
        }
    }
    None
}

#[test]
fn verify_and_replay_end_at_once_when_interrupted_and_leave_nothing_half_done() {
    let dir = ledger();
    let dir = dir.path();
    assert_eq!(feed(dir, &["append", "--stdin"], &NOTE.repeat(5_000)).code, Some(0));
    let before = records(dir).len();
    for arguments in [&["verify"][..], &["verify", "--segments"], &["replay"], &["replay", "--check"]] {
        let said = interrupted(dir, arguments).unwrap_or_else(|| panic!("{arguments:?} ignores the signal"));
        assert!(said.out.is_empty() && said.err.is_empty(), "{arguments:?}: {said:?}");
    }
    assert_eq!(records(dir).len(), before);
    let left = fs::read_dir(root(dir).join("snap")).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.into_iter().all(|name| name.to_string_lossy().ends_with(".json")));
    assert_sound(dir);
}

/// What a shell command shows on a terminal; nothing if there is no `script` to give it one.
fn on_terminal(dir: &Path, command: &str) -> Option<String> {
    let shell =
        format!("PATH={}:$PATH; {command}", Path::new(env!("CARGO_BIN_EXE_loopx")).parent()?.display());
    let output = Command::new("script")
        .args(["-q", "-e", "-c", &shell, "/dev/null"])
        .current_dir(dir)
        .env("SHELL", "/bin/sh")
        .stdin(Stdio::null())
        .output();
    match output {
        Ok(output) => {
            assert!(output.status.success(), "{output:?}");
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Err(_) => {
            println!("skipped: there is no `script`");
            None
        }
    }
}

/// Asserts that the terminal showed such a line, and that nothing of it was left at the end.
#[track_caller]
fn assert_shown(screen: &str, parts: &[&str]) {
    let mut lines = screen.split('\r').filter(|line| line.contains("records, "));
    assert!(
        lines.any(|line| parts.iter().all(|part| line.contains(part)) && line.contains("/s\u{1b}[K")),
        "{screen:?}"
    );
    let last = screen.rfind("/s\u{1b}[K").unwrap();
    assert!(screen[last..].contains("\r\u{1b}[K"), "{screen:?}");
}

#[test]
fn progress_is_shown_to_a_terminal_and_to_nobody_else() {
    let dir = ledger();
    let dir = dir.path();
    fs::write(dir.join("lines"), NOTE.repeat(300)).unwrap();
    // Time passes between two batches, however fast the machine is.
    let slowly = "(for i in 1 2 3; do cat lines; sleep 0.15; done)";
    let Some(screen) = on_terminal(dir, &format!("{slowly} | loopx append --stdin > receipts")) else {
        return;
    };
    assert_shown(&screen, &["00 records, "]);
    for quiet in ["--quiet", "--json"] {
        let screen =
            on_terminal(dir, &format!("{slowly} | loopx append --stdin {quiet} > receipts")).unwrap();
        assert_eq!(screen, "", "{quiet}");
    }
    // A debug build takes longer than a tenth of a second for so much, and a fast one is seldom tested.
    fs::write(dir.join("lines"), NOTE.repeat(30_000)).unwrap();
    on_terminal(dir, "loopx append --stdin < lines > receipts");
    for command in ["verify", "replay"] {
        let screen = on_terminal(dir, &format!("loopx {command}")).unwrap();
        if cfg!(debug_assertions) {
            assert_shown(&screen, &[" %, "]);
        }
        let screen = on_terminal(dir, &format!("loopx {command} --quiet")).unwrap();
        assert_eq!(screen, "", "{command}");
        let screen = on_terminal(dir, &format!("loopx {command} --json")).unwrap();
        assert_eq!(screen.lines().count(), 1, "{screen:?}");
    }
}
