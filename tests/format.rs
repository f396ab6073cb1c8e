//! ledger-format.md, executed: its tables are the constants, its vectors decode and encode, and a verifier written
//! from it alone agrees with ours on golden logs and on all their mutants.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::*;
use loopx::hash::Hash;
use loopx::id::{Actor, RequestId, Seq};
use loopx::json::check_canonical;
use loopx::limits;
use loopx::log::{FileLog, VerifyOptions, verify};
use loopx::record::{Draft, Verdict, frame};

const FORMAT: &str = include_str!("../ledger-format.md");

macro_rules! constants {
    ($($name:ident)*) => { BTreeMap::from([$((stringify!($name), limits::$name as u64)),*]) };
}

#[test]
fn the_limits_table_is_the_limits_file() {
    let constants = constants!(
        RECORD_MAX_BYTES EVENT_BODY_MAX_BYTES RECORD_EVENTS_MAX JSON_DEPTH_MAX INTEGER_MAX SEQ_MAX ACTOR_MAX_BYTES
        REQUEST_MAX_BYTES SLUG_MAX_BYTES KIND_MAX_BYTES SEGMENT_TARGET_BYTES SEGMENT_MAX_BYTES LOCK_WAIT_MS
        TEXT_MAX_BYTES LIST_MAX_ITEMS PATH_MAX_BYTES BLOB_MAX_BYTES VALID_FOR_MAX_MS LEASE_MIN_MS LEASE_MAX_MS LEASE_DEFAULT_MS
        SPEND_MAX MONITOR_MIN_MS MONITOR_MAX_MS CLOCK_JUMP_MS
    );
    let source: Vec<&str> = include_str!("../src/limits.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("pub const ")?.split(':').next())
        .collect();
    assert_eq!(source.len(), constants.len(), "a new limit belongs into this list and into ledger-format.md");
    let (_, table) = FORMAT.split_once("## Limits").unwrap();
    let rows: BTreeMap<&str, u64> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |")?.split_once("` | "))
        .map(|(name, value)| (name, value.parse().unwrap()))
        .collect();
    assert_eq!(rows, constants);
}

fn vectors() -> Vec<&'static str> {
    let (_, rest) = FORMAT.split_once("```record\n").unwrap();
    rest.split_once("```").unwrap().0.lines().collect()
}

/// Decodes a line and encodes it again.
fn again(line: &[u8]) -> Vec<u8> {
    let record = frame::parse(line).unwrap().verify().unwrap();
    let actor: Actor = record.actor().parse().unwrap();
    let request: RequestId = record.request().parse().unwrap();
    let draft = Draft {
        seq: record.seq(),
        prev: record.prev(),
        dur: record.dur(),
        ts: record.ts(),
        actor: &actor,
        request: &request,
        digest: record.digest(),
        events: record.events(),
    };
    let mut out = Vec::new();
    assert_eq!(draft.write(&mut out).unwrap(), record.hash());
    out
}

#[test]
fn the_vectors_decode_and_encode_byte_for_byte() {
    assert!(FORMAT.contains(&format!("The hash of an empty preimage is `{}`.", Hash::record(b""))));
    let golden = fs::read_to_string(segment(&fixture("golden"), 1)).unwrap();
    assert_eq!(vectors(), golden.lines().take(2).collect::<Vec<_>>());
    for line in vectors() {
        assert_eq!(again(line.as_bytes()), format!("{line}\n").as_bytes());
    }
}

#[test]
fn the_suffix_and_the_context_are_the_ones_that_the_text_names() {
    assert!(FORMAT.contains(&format!("without the last {} bytes", frame::SUFFIX_BYTES)));
    assert!(FORMAT.contains(&format!("context `{}`", loopx::hash::RECORD_CONTEXT)));
    assert!(FORMAT.contains(&format!("head -c -{}", frame::SUFFIX_BYTES)));
    let line = vectors()[1].as_bytes();
    let (preimage, suffix) = line.split_at(line.len() - frame::SUFFIX_BYTES);
    assert_eq!(suffix, format!(",\"hash\":\"{}\"}}", Hash::record(preimage)).as_bytes());
}

#[test]
fn every_verdict_is_a_row_of_the_recovery_table() {
    let (_, table) = FORMAT.split_once("## Recovery").unwrap();
    let rows: Vec<&str> =
        table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let verdicts = [
        Verdict::Clean,
        Verdict::Adopt,
        Verdict::Torn { seq: Seq(1), offset: 0, bytes: 0 },
        Verdict::Rollback { have: Seq(1), expected: Seq(2) },
        Verdict::Rewritten { seq: Seq(1), expected: Hash::ZERO, found: Hash::ZERO },
        Verdict::FinishRotation,
        Verdict::Newer { seq: Seq(1), version: 2 },
        Verdict::SyncUnknown,
        Verdict::Fork { seq: Seq(1), offset: 0 },
    ];
    for verdict in verdicts {
        assert!(rows.contains(&verdict.name()), "{}", verdict.name());
    }
    assert!(rows.contains(&"damaged"));
}

#[test]
fn event_bodies_of_the_golden_ledger_are_canonical() {
    for first in [1, 4] {
        for line in fs::read(segment(&fixture("golden"), first)).unwrap().split(|byte| *byte == b'\n') {
            if line.is_empty() {
                continue;
            }
            assert_eq!(again(line), [line, b"\n"].concat());
            let events = frame::parse(line).unwrap().verify().unwrap().events().to_vec();
            let text = format!("[{}]", String::from_utf8(events).unwrap());
            let values: Vec<BTreeMap<&str, &serde_json::value::RawValue>> =
                serde_json::from_str(&text).unwrap();
            for event in values {
                assert_eq!(check_canonical(event["b"].get().as_bytes()), Ok(()));
            }
        }
    }
}

#[test]
fn the_marks_have_the_lengths_that_the_text_names() {
    let head = fs::read_to_string(head_path(&fixture("golden"))).unwrap();
    let lengths: Vec<usize> = head.split_inclusive('\n').map(str::len).collect();
    assert_eq!(lengths, [189, 212]);
    assert!(FORMAT.contains("| append mark | 0 | 189 |") && FORMAT.contains("| sync mark | 189 | 212 |"));
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join(".loopx");
    create(&root);
    assert_eq!(fs::read(head_path(&root)).unwrap().len(), 189 + 212);
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/v1").join(name)
}

/// The verdict as `tests/verify.py` prints it.
fn verdict(root: &Path) -> String {
    let report = verify(root, &VerifyOptions::default(), &mut |_, _| ControlFlow::Continue(())).unwrap();
    let seq = match report.verdict {
        Verdict::Torn { seq, .. }
        | Verdict::Damaged { seq, .. }
        | Verdict::Newer { seq, .. }
        | Verdict::Rewritten { seq, .. }
        | Verdict::Fork { seq, .. } => seq,
        _ => report.head.seq,
    };
    format!("{} {seq}", report.verdict.name())
}

#[test]
fn every_fixture_has_its_verdict_for_ever() {
    for name in ["golden", "torn", "damaged"] {
        let expected = fs::read_to_string(fixture(name).join("VERDICT")).unwrap();
        assert_eq!(verdict(&fixture(name)), expected.trim_end(), "{name}");
    }
}

/// A segment's bytes altered in every small way, at every `step`th byte.
fn mutants(bytes: &[u8], step: usize) -> Vec<Vec<u8>> {
    let mut mutants = Vec::new();
    for at in (0..bytes.len()).step_by(step) {
        let mut flipped = bytes.to_vec();
        flipped[at] ^= 1 << (at % 8);
        mutants.push(flipped);
        if at % 5 == 0 {
            mutants.push(bytes[..at].to_vec());
            let mut removed = bytes.to_vec();
            removed.remove(at);
            mutants.push(removed);
        }
    }
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    for at in 0..lines.len() {
        let without: Vec<&[u8]> = [&lines[..at], &lines[at + 1..]].concat();
        mutants.push(without.concat());
        let twice: Vec<&[u8]> = [&lines[..=at], &lines[at..]].concat();
        mutants.push(twice.concat());
        mutants.push([&lines.concat()[..], lines[at]].concat());
        for other in 0..at {
            let mut swapped = lines.clone();
            swapped.swap(at, other);
            mutants.push(swapped.concat());
        }
    }
    let newer = b"{\"v\":2,\"what\":\"later\"";
    mutants.push([bytes, newer, format!(",\"hash\":\"{}\"}}\n", Hash::record(newer)).as_bytes()].concat());
    mutants.push([bytes, &[0; 5_000]].concat());
    mutants
}

/// Golden ledgers: the fixture of two segments, and a fresh one with records that nobody waited for.
/// With each: the segment to alter, and how closely.
fn goldens(dir: &Path) -> Vec<(PathBuf, u64, usize)> {
    let fresh = dir.join("fresh");
    let log = create(&fresh);
    append_durably(&log, "two");
    append(&log, "three");
    append(&log, "four");
    let sealed = dir.join("sealed");
    create(&sealed);
    append(&FileLog::open(&sealed).unwrap(), "two");
    rotate(&FileLog::open(&sealed).unwrap());
    fs::remove_file(segment(&sealed, 4)).unwrap();
    let rewritten = dir.join("rewritten");
    let head = read_all(&create(&rewritten))[0].0;
    append_durably(&FileLog::open(&rewritten).unwrap(), "two");
    let forged = line(&head, Seq(1), "agent/w7", "r2", &note("another two"));
    fs::write(segment(&rewritten, 1), [genesis(), forged].concat()).unwrap();
    let poisoned = dir.join("poisoned");
    append(&create(&poisoned), "two");
    poison_head(&poisoned);
    vec![
        (fixture("golden"), 1, 1),
        (fixture("golden"), 4, 2),
        (fresh, 1, 3),
        (sealed, 1, 9),
        (rewritten, 1, 9),
        (poisoned, 1, 9),
    ]
}

/// Python with `blake3`: the one named by `LOOPX_PYTHON`, else `python3`. `None` skips the test with a word about it.
#[expect(clippy::disallowed_methods, reason = "a test is a host: it reads its environment")]
fn python() -> Option<String> {
    let python = std::env::var("LOOPX_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let able = Command::new(&python).args(["-c", "import blake3"]).stderr(Stdio::null()).status();
    if able.is_ok_and(|status| status.success()) {
        return Some(python);
    }
    let word = format!("{python} cannot import blake3 (pip install blake3)");
    assert!(std::env::var("LOOPX_REQUIRE_PYTHON").as_deref() != Ok("1"), "{word}");
    // Not `println`, which the harness keeps to itself when a test passes.
    let word = format!("SKIPPED: {word}; LOOPX_REQUIRE_PYTHON=1 makes this a failure\n");
    std::io::stderr().write_all(word.as_bytes()).unwrap();
    None
}

#[test]
fn a_verifier_that_shares_no_code_agrees_on_golden_logs_and_all_their_mutants() {
    let Some(python) = python() else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut cases = Vec::new();
    let mut add = |golden: &Path, first: u64, bytes: Option<&[u8]>, head: bool| {
        let root = dir.path().join(format!("case-{}", cases.len()));
        copy_dir(&golden.join("log"), &root.join("log"));
        if let Some(bytes) = bytes {
            fs::write(segment(&root, first), bytes).unwrap();
        }
        if !head {
            fs::remove_file(head_path(&root)).unwrap();
        }
        cases.push(root);
    };
    for (golden, first, step) in goldens(dir.path()) {
        let bytes = fs::read(segment(&golden, first)).unwrap();
        for head in [true, false] {
            add(&golden, first, None, head);
            for (count, mutant) in mutants(&bytes, step).iter().enumerate() {
                if head || count % 4 == 0 {
                    add(&golden, first, Some(mutant), head);
                }
            }
        }
    }
    for name in ["golden", "torn", "damaged"] {
        add(&fixture(name), 1, None, true);
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify.py");
    let piped = Command::new(python).arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut process = piped.unwrap();
    let mut input = process.stdin.take().unwrap();
    let names: String = cases.iter().map(|root| format!("{}\n", root.display())).collect();
    let writer = std::thread::spawn(move || input.write_all(names.as_bytes()).unwrap());
    let output = process.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    let theirs = String::from_utf8(output.stdout).unwrap();
    assert_eq!(theirs.lines().count(), cases.len());
    let mut seen = BTreeMap::<&str, u32>::new();
    for (root, theirs) in cases.iter().zip(theirs.lines()) {
        assert_eq!(verdict(root), theirs, "{}", root.display());
        *seen.entry(theirs.split(' ').next().unwrap()).or_default() += 1;
    }
    assert_eq!(seen.len(), 10, "{} cases cover the table: {seen:?}", cases.len());
}

#[test]
fn the_verifier_stays_short() {
    assert!(include_str!("verify.py").lines().count() <= 80);
}

/// The members of every event's body, as the decoder itself names them when it meets one that it does not know.
fn members(kind: &str) -> Vec<String> {
    let item = format!("{{\"k\":\"{kind}\",\"kv\":1,\"b\":{{\"~\":1}}}}");
    let error = loopx::event::codec::decode(item.as_bytes()).unwrap_err().to_string();
    let (_, named) = error.split_once("expected ").unwrap_or_else(|| panic!("{kind}: {error}"));
    let quoted = named.split('`').skip(1).step_by(2);
    let mut names: Vec<String> = quoted.map(str::to_owned).collect();
    names.sort_unstable();
    names
}

#[test]
fn the_table_of_events_names_every_kind_and_every_member() {
    let mut rows = Vec::new();
    for line in
        FORMAT.lines().skip_while(|line| *line != "### Kinds").take_while(|line| *line != "### Values")
    {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if let [_, kind, fields, _, ..] = cells.as_slice()
            && kind.contains('.')
        {
            let names =
                |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
            rows.push((names(kind).remove(0), names(fields)));
        }
    }
    let decoder: Vec<(String, Vec<String>)> =
        loopx::event::Event::KINDS.iter().map(|kind| ((*kind).to_owned(), members(kind))).collect();
    assert_eq!(rows, decoder);
}
