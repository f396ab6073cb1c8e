//! The demo, as anyone may run it: what it claims stands in its ledger, and it tells the same story every time.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn loopx(directory: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_loopx"))
        .args(words)
        .current_dir(directory)
        .env_clear()
        .env("HOME", directory.join("home"))
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn answer(directory: &Path, words: &[&str]) -> Value {
    let output = loopx(directory, &[words, &["--json"]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Runs the demo in `name` below `directory`; answers what it printed.
fn demo(directory: &Path, name: &str) -> String {
    let output = loopx(directory, &["demo", "--keep", name]);
    let printed = String::from_utf8(output.stdout).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), said.as_ref()), (Some(0), ""), "{printed}");
    printed
}

fn bodies(history: &Value, kind: &str) -> Vec<Value> {
    let records = history["records"].as_array().unwrap().iter();
    let events = records.flat_map(|record| record["events"].as_array().unwrap());
    events.filter(|event| event["kind"] == kind).map(|event| event["body"].clone()).collect()
}

/// A transcript without what no two runs share: times, records, trials, processes, hashes, bytes.
fn normalised(printed: &str, name: &str) -> Vec<String> {
    let word = |word: &str| {
        let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '#' && c != '(');
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let hash = bare.len() == 8 && bare.bytes().all(|b| b.is_ascii_hexdigit());
        let seconds = bare.strip_suffix('s').is_some_and(|text| text.parse::<f64>().is_ok());
        let seq = bare.strip_prefix('#').is_some_and(digits) || bare.strip_prefix('R').is_some_and(digits);
        let pid = bare.strip_prefix('(').is_some_and(digits);
        if hash || seconds || seq || pid { "…".to_owned() } else { word.replace(name, "NAME") }
    };
    let line = |line: &str| {
        let line: Vec<String> = line.split_whitespace().map(word).collect();
        let line = line.join(" ");
        // The numbers of this very run: how long it took, and where the altered record lies in the file.
        match (line.split_once(" in ").filter(|_| line.starts_with("ran ")), line.starts_with("tampered ")) {
            (Some((what, _)), _) => what.to_owned(),
            (None, true) => line.split(',').take(2).collect(),
            (None, false) => line,
        }
    };
    printed.lines().map(line).collect()
}

#[test]
fn the_demo_does_what_it_says_and_its_ledger_bears_it_out() {
    let place = tempfile::tempdir().unwrap();
    demo(place.path(), "kept");
    let dir = place.path().join("kept");
    assert!(!place.path().join("home").exists(), "its ledgers are not among those that the user has");

    let taken = bodies(&answer(&dir, &["history", "T4"]), "lease.taken_over");
    let taken: Vec<_> = taken.iter().map(|body| (&body["epoch"], &body["from"]["actor"])).collect();
    assert_eq!(taken, [(&Value::from(2), &Value::from("agent/a3"))]);

    let goal = answer(&dir, &["history", "wine"]);
    let changes = bodies(&goal, "goal.changed");
    assert_eq!(changes.len(), 1);
    assert!(changes[0]["reason"].as_str().unwrap().starts_with("prefer the smaller k"));
    assert_eq!(bodies(&goal, "goal.completed").len(), 1);

    let promotion = &bodies(&answer(&dir, &["history", "P1"]), "promotion.recorded")[0];
    assert_eq!((&promotion["id"], &promotion["gate"]), (&Value::from("P1"), &Value::from("G1")));
    let cited = promotion["cites"].as_array().unwrap().iter().map(|row| {
        let row = row.as_str().unwrap();
        let recorded = bodies(&answer(&dir, &["history", row]), "evidence.recorded");
        recorded[0]["metric"]["value"].as_str().unwrap().to_owned()
    });
    assert_eq!(cited.collect::<Vec<_>>(), ["0.9750", "0.9750", "0.9750", "0.9310"]);

    let quota = bodies(&answer(&dir, &["history", "--limit", "1000"]), "quota.set");
    let slots: Vec<_> = quota.iter().map(|body| body["allowance"].clone()).collect();
    assert_eq!(slots.len(), 2, "{slots:?}");

    assert_eq!(answer(&dir, &["replay", "--check"])["check"], true);
    let verified = answer(&dir, &["verify"]);
    assert_eq!(verified["blobs"]["sound"], 23, "20 reports, 2 data sets, 1 artifact");
    let altered = loopx(&dir.join("tampered"), &["verify"]);
    assert_eq!(altered.status.code(), Some(5));
    assert!(fs::read_to_string(dir.join("lineage.svg")).unwrap().contains("<svg"));
}

#[test]
fn the_demo_tells_the_same_story_every_time() {
    let place = tempfile::tempdir().unwrap();
    let first = normalised(&demo(place.path(), "first"), "first");
    let second = normalised(&demo(place.path(), "second"), "second");
    assert_eq!(first, second);
    let waits = first.iter().filter(|line| line.contains("WAIT quota")).count();
    assert_eq!(waits, 1, "{first:#?}");
    let took = first.iter().filter(|line| line.contains("taken over from a3, epoch 2")).count();
    assert_eq!(took, 1, "{first:#?}");
}

#[test]
fn the_demo_answers_one_document_with_the_same_facts() {
    let place = tempfile::tempdir().unwrap();
    let document = answer(place.path(), &["demo", "--keep", "a place"]);
    assert_eq!((&document["schema"], &document["ok"]), (&Value::from("loopx.demo/1"), &Value::from(true)));
    assert_eq!((&document["quota_waits"], &document["turns"]), (&Value::from(1), &Value::from(9)));
    assert_eq!(document["measured"].as_array().unwrap().len(), 8);
    for command in document["next_commands"].as_array().unwrap() {
        let bin = Path::new(env!("CARGO_BIN_EXE_loopx")).parent().unwrap();
        let shell = Command::new("/bin/sh")
            .args(["-c", command.as_str().unwrap()])
            .env_clear()
            .env("PATH", bin)
            .current_dir(place.path())
            .output()
            .unwrap();
        assert!(shell.status.success(), "{command}: {}", String::from_utf8_lossy(&shell.stderr));
    }
}

#[test]
fn a_directory_that_holds_something_is_refused_and_left_alone() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("mine")).unwrap();
    fs::write(place.path().join("mine/note"), "kept").unwrap();
    for name in ["mine", "mine/note", "mine/note/below"] {
        let output = loopx(place.path(), &["demo", "--keep", name]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.starts_with("error[demo.not_empty]"), "{said}");
        assert!(output.stdout.is_empty());
    }
    assert_eq!(fs::read_to_string(place.path().join("mine/note")).unwrap(), "kept");
    assert_eq!(fs::read_dir(place.path().join("mine")).unwrap().count(), 1);
}
