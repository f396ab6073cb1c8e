//! Snapshots and the index are hints: deleting, cutting or garbling any of their files changes no answer, only time.

mod binary;

use std::fs;
use std::path::{Path, PathBuf};

use binary::{feed, ledger, loopx, root, run};
use loopx::ledger::Ledger;
use loopx::snapshot;

/// Turns, so that there are a few runs of the index and a snapshot that is kept.
const TURNS: usize = 1_500;

/// Answers that are compared.
const ALL: usize = 10;

/// A ledger with much finished work, and a little that is open.
fn worked() -> tempfile::TempDir {
    let dir = ledger();
    let mut lines = String::new();
    for n in 1..=TURNS {
        lines.push_str(&format!(
            "{{\"command\":\"todo.add\",\"title\":\"t{n}\",\"request\":\"add-{n}\"}}\n\
             {{\"command\":\"next\"}}\n\
             {{\"command\":\"done\",\"todo\":\"T{n}\",\"close\":{{\"proof\":[{{\"kind\":\"note\",\"summary\":\"s\"}}],\
             \"no_follow_up\":\"n\"}}}}\n"
        ));
    }
    lines.push_str("{\"command\":\"todo.add\",\"title\":\"open\"}\n{\"command\":\"gate.open\",\"question\":\"q\",\"blocks_all\":true}\n");
    // In portions: a snapshot and a run of the index are written once a batch.
    let lines: Vec<&str> = lines.split_inclusive('\n').collect();
    for portion in lines.chunks(100) {
        let said = feed(dir.path(), &["append", "--stdin"], &portion.concat());
        assert_eq!(said.code, Some(0), "{}", said.err);
    }
    dir
}

/// What must stay the same, without how long it took. The last two read everything and take their time.
fn answers(dir: &Path, most: usize) -> Vec<String> {
    let asked: [&[&str]; ALL] = [
        &["status"],
        &["quota", "should-run", "--json"],
        &["history", "T7"],
        &["show", "T700"],
        &["show", "G1"],
        &["show", "#118"],
        &["history", "E1399", "--json"],
        &["add", "t40", "--request", "add-40", "--json"],
        &["replay", "--check", "--json"],
        &["verify", "--json"],
    ];
    let answer = |arguments: &&[&str]| {
        // Years ahead, and standing still: nothing is as old as the test is slow.
        let output = loopx(dir, arguments).env("LOOPX_TEST_NOW", "2100-01-01").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let kept = text.lines().filter(|line| !line.starts_with("last change"));
        format!("{arguments:?} {:?}\n{}", output.status.code(), kept.collect::<Vec<_>>().join("\n"))
    };
    asked.iter().take(most).map(answer).collect()
}

fn derived(dir: &Path) -> Vec<PathBuf> {
    let files = ["snap", "idx"].map(|name| fs::read_dir(root(dir).join(name)).unwrap());
    let mut files: Vec<PathBuf> = files.into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some());
    files.sort();
    files
}

#[test]
fn no_answer_depends_on_a_derived_file() {
    let dir = worked();
    let want = answers(dir.path(), ALL);
    for (answer, part) in want.iter().zip(["", "", "T7 completed", "as it last was", "blocks everything"]) {
        assert!(answer.contains("Some(0)") && answer.contains(part), "{answer}");
    }
    assert!(want[7].contains("\"duplicate\":true"), "{}", want[7]);
    let files = derived(dir.path());
    assert!(files.len() >= 6, "{files:?}");
    for (number, path) in files.iter().enumerate() {
        let sound = fs::read(path).unwrap();
        let flipped = |at: usize| {
            let mut bytes = sound.clone();
            bytes[at] ^= 0x10;
            Some(bytes)
        };
        let middle = sound.len() / 2;
        // A file that is gone, cut, or garbled: at its beginning, in its middle or at its end, by turns.
        let at = [40, middle, sound.len() - 3][number % 3];
        let garbled = [None, Some(sound[..middle].to_vec()), flipped(at)];
        for bytes in garbled {
            match &bytes {
                None => fs::remove_file(path).unwrap(),
                Some(bytes) => fs::write(path, bytes).unwrap(),
            }
            let most = if bytes.is_none() { ALL } else { ALL - 2 };
            assert_eq!(answers(dir.path(), most), want[..most], "{}", path.display());
            fs::write(path, &sound).unwrap();
        }
    }
    for name in ["snap", "idx"] {
        fs::remove_dir_all(root(dir.path()).join(name)).unwrap();
        assert_eq!(answers(dir.path(), ALL), want);
    }
}

#[test]
fn the_state_from_genesis_is_the_state_of_and_from_every_snapshot() {
    let dir = worked();
    let root = root(dir.path());
    let ledger = Ledger::open(&root).unwrap();
    let kept = snapshot::kept(&root);
    assert!(!kept.is_empty());
    let mut places: Vec<_> = kept.iter().map(|(seq, _)| *seq).collect();
    places.push(snapshot::load(&root).unwrap().0.seq);
    for seq in places {
        let (cursor, state) = snapshot::load_before(&root, seq).unwrap();
        assert_eq!(cursor.seq, seq);
        assert_eq!(state, ledger.replay(seq, &mut |_, _| {}).unwrap());
        let later = loopx::id::Seq(seq.0 + 5).min(ledger.head().seq);
        assert_eq!(
            ledger.state_at(later, &mut |_| {}).unwrap(),
            ledger.replay(later, &mut |_, _| {}).unwrap()
        );
    }
    assert_eq!(*ledger.state(), ledger.replay(ledger.head().seq, &mut |_, _| {}).unwrap());
}

#[test]
fn what_was_derived_from_another_history_is_not_used() {
    let dir = worked();
    let other = ledger();
    for name in ["snap", "idx"] {
        let to = root(other.path()).join(name);
        fs::create_dir_all(&to).unwrap();
        for entry in fs::read_dir(root(dir.path()).join(name)).unwrap().flatten() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
    let added = run(other.path(), &["add", "mine", "--request", "add-1"]).ok();
    assert_eq!(added["receipt"]["duplicate"], false);
    let shown = loopx(other.path(), &["history", "T1"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&shown.stdout).lines().count(), 1);
    assert_eq!(loopx(other.path(), &["history", "T2"]).output().unwrap().status.code(), Some(3));
    Ledger::open(&root(other.path())).unwrap().build_index();
    let mut ledger = Ledger::open(&root(other.path())).unwrap();
    assert!(ledger.find_request(&"add-1".parse().unwrap()).unwrap().is_some());
    assert!(ledger.find_request(&"add-2".parse().unwrap()).unwrap().is_none());
}

/// A loss of power may take records that were never synced and leave the index that was built over them. When the log has
/// grown to the same length again, the same number is another record.
#[test]
fn an_index_over_records_that_were_lost_is_not_believed_once_the_log_is_as_long_again() {
    let dir = ledger();
    let root = root(dir.path());
    let segment = root.join("log/00000000000000000001.jsonl");
    let before = fs::read(&segment).unwrap();
    run(dir.path(), &["add", "lost", "--request", "lost-1"]).ok();
    Ledger::open(&root).unwrap().build_index();
    fs::write(&segment, before).unwrap();
    fs::remove_file(root.join("log/HEAD")).unwrap();
    run(dir.path(), &["add", "found", "--request", "found-1"]).ok();
    let again = run(dir.path(), &["add", "found", "--request", "found-1"]).ok();
    assert_eq!(again["receipt"]["duplicate"], true, "one request, one record: {again}");
    let mut ledger = Ledger::open(&root).unwrap();
    assert!(ledger.find_request(&"lost-1".parse().unwrap()).unwrap().is_none());
    assert!(ledger.find_request(&"found-1".parse().unwrap()).unwrap().is_some());
}

#[test]
fn of_many_writers_that_have_come_as_far_one_writes_the_snapshot() {
    let dir = ledger();
    let root = root(dir.path());
    let add = |count: usize| {
        let lines = "{\"command\":\"todo.add\",\"title\":\"t\"}\n".repeat(count);
        assert_eq!(feed(dir.path(), &["append", "--stdin"], &lines).code, Some(0));
    };
    let [mut one, mut other] = [(); 2].map(|()| Ledger::open(&root).unwrap());
    add(100);
    let first = snapshot::newest(&root).unwrap();
    add(10);
    one.refresh().unwrap();
    one.save_snapshot_if_due();
    assert_eq!(snapshot::newest(&root), Some(first), "another one wrote it 10 records ago");
    // A snapshot of a history that is not this one keeps nobody from writing a sound one.
    let path = root.join("snap/state.json");
    let claimed = fs::read_to_string(&path).unwrap().replacen(&format!("\"seq\":{first}"), "\"seq\":9999", 1);
    fs::write(&path, claimed).unwrap();
    other.refresh().unwrap();
    other.save_snapshot_if_due();
    assert_eq!(snapshot::newest(&root), Some(other.head().seq));
}
