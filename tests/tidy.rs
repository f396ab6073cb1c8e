//! The house rules that a machine can hold: which floor may use which, how long a file may be, what is not called.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A module and the modules of this crate that it may use, lowest floor first. `main.rs` of the binary may use all.
const FLOORS: &[(&str, &[&str])] = &[
    // Floor 0: words.
    ("limits", &[]),
    ("spelling", &[]),
    ("hash", &["spelling"]),
    ("time", &["spelling"]),
    ("id", &["limits", "spelling"]),
    ("text", &["limits", "spelling"]),
    ("decimal", &["id", "spelling"]),
    ("scope", &["id", "limits", "spelling"]),
    ("decision_scope", &["id", "spelling"]),
    ("json", &["limits"]),
    ("secret", &[]),
    // Floor 1: record. It knows no event.
    ("record", &["hash", "id", "limits", "time"]),
    // Floor 2: event. It knows no record.
    (
        "event",
        &["decimal", "decision_scope", "hash", "id", "json", "limits", "scope", "spelling", "text", "time"],
    ),
    // Floor 3: state.
    ("state", &["decision_scope", "event", "hash", "id", "limits", "scope", "text", "time"]),
    // Floor 4: pure readers of state.
    (
        "decide",
        &[
            "decimal",
            "decision_scope",
            "event",
            "hash",
            "id",
            "limits",
            "scope",
            "secret",
            "state",
            "text",
            "time",
        ],
    ),
    (
        "project",
        &[
            "decide",
            "decimal",
            "decision_scope",
            "event",
            "hash",
            "id",
            "ledger",
            "scope",
            "state",
            "text",
            "time",
        ],
    ),
    // Side column: I/O. A log knows records, not events.
    ("scratch", &[]),
    ("log", &["hash", "id", "limits", "record", "time"]),
    ("snapshot", &["hash", "id", "log", "scratch", "state"]),
    ("index", &["hash", "id", "log", "scratch", "time"]),
    // Floor 5: the only module that sees both records and events.
    (
        "ledger",
        &[
            "decide", "event", "hash", "id", "index", "limits", "log", "record", "snapshot", "state", "text",
            "time",
        ],
    ),
    // Floor 6: use cases.
    ("app", &["decide", "hash", "id", "ledger", "limits", "log", "scratch", "secret", "text"]),
];

/// The spine does no I/O and reads no clock, environment or random source.
const SPINE: &[&str] = &["record", "event", "state", "decide", "project"];
const BANNED_IN_SPINE: &[&str] = &[
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "SystemTime",
    "Instant",
    "Utc::now",
    "Ulid::new",
    "println!",
    "eprintln!",
];

/// Lines of a file before it needs a reason here.
const LINES: usize = 400;

/// Longer files, each with its reason.
const LONG: &[(&str, &str)] = &[
    ("src/decide/command.rs", "one table: every command with its fields and their meaning"),
    ("src/decide/next.rs", "the one decision function, row by row in the order of its table"),
    ("src/bin/loopx/cli/nouns.rs", "one table: the help text of every noun"),
    ("src/decide/refusal.rs", "one table: every refusal with its message and code"),
    ("src/id.rs", "every identifier and its one parser"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(below: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut left = vec![root().join(below)];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path.strip_prefix(root()).unwrap().to_owned(), text));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty());
    found
}

/// The code of a file without its tests and comments.
fn code(text: &str) -> String {
    let body = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    body.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The top-level module of the library that a file belongs to.
fn module(path: &Path) -> Option<String> {
    let below = path.strip_prefix("src").ok()?;
    let first = below.components().next()?.as_os_str().to_str()?;
    (first != "bin" && first != "lib.rs").then(|| first.trim_end_matches(".rs").to_owned())
}

fn is_test_file(path: &Path) -> bool {
    path.file_stem()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.contains("test") || name == "sample")
}

#[test]
fn every_floor_uses_only_the_floors_it_may() {
    let floors: BTreeMap<&str, &[&str]> = FLOORS.iter().copied().collect();
    for (path, text) in rust_files("src") {
        let Some(module) = module(&path) else { continue };
        let allowed = floors.get(module.as_str()).unwrap_or_else(|| panic!("{module} stands on no floor"));
        if is_test_file(&path) {
            continue;
        }
        for used in code(&text).split("crate::").skip(1) {
            let used: String = used.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            let fine = used == module || allowed.contains(&used.as_str());
            assert!(fine, "{}: {module} may not use {used}", path.display());
        }
    }
}

#[test]
fn the_modules_of_the_library_stand_in_the_table() {
    let lib = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let mut modules: Vec<&str> = lib
        .lines()
        .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'))
        .collect();
    let mut table: Vec<&str> = FLOORS.iter().map(|(module, _)| *module).collect();
    modules.sort_unstable();
    table.sort_unstable();
    assert_eq!(modules, table);
}

#[test]
fn the_spine_does_no_io_and_reads_no_clock() {
    for (path, text) in rust_files("src") {
        if !module(&path).is_some_and(|module| SPINE.contains(&module.as_str())) || is_test_file(&path) {
            continue;
        }
        for banned in BANNED_IN_SPINE {
            assert!(!code(&text).contains(banned), "{} uses {banned}", path.display());
        }
    }
}

#[test]
fn only_app_appends_and_only_ledger_sees_records_and_events() {
    for (path, text) in rust_files("src") {
        let Some(module) = module(&path) else { continue };
        let code = code(&text);
        let submits = code.contains(".submit(") || code.contains("ledger.append(");
        assert!(!submits || matches!(module.as_str(), "app" | "ledger"), "{} appends", path.display());
        let both = code.contains("crate::record") && code.contains("crate::event");
        assert!(
            !both || module == "ledger" || is_test_file(&path),
            "{} sees records and events",
            path.display()
        );
    }
    for (path, text) in rust_files("src/bin") {
        let code = code(&text);
        assert!(
            !code.contains("ledger.submit(") && !code.contains("ledger.append("),
            "{} appends",
            path.display()
        );
    }
}

/// The lint makes a new event break the build in every transition and in every decision about events.
#[test]
fn no_new_event_can_be_overlooked_where_someone_has_to_think() {
    for module in ["src/event/mod.rs", "src/state/mod.rs"] {
        let text = fs::read_to_string(root().join(module)).unwrap();
        assert!(text.contains("#![deny(clippy::wildcard_enum_match_arm)]"), "{module}");
    }
}

#[test]
fn files_are_short_or_say_why() {
    for (path, text) in rust_files("src") {
        let lines = text.lines().count();
        let name = path.to_str().unwrap();
        let reason = LONG.iter().any(|(long, reason)| *long == name && !reason.is_empty());
        assert!(lines <= LINES || reason || is_test_file(&path), "{name} has {lines} lines");
        assert!(lines > LINES || !reason, "{name} is short now: drop its reason");
    }
}

#[test]
fn functions_are_short() {
    for (path, text) in rust_files("src") {
        if is_test_file(&path) {
            continue;
        }
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let mut start = None;
        for (number, line) in code.lines().enumerate() {
            let indent = line.len() - line.trim_start().len();
            let opens = line
                .trim_start()
                .trim_start_matches("pub ")
                .trim_start_matches("pub(super) ")
                .trim_start_matches("pub(crate) ");
            if (opens.starts_with("fn ") || opens.starts_with("const fn ")) && start.is_none() {
                start = Some((number, indent));
            }
            if let Some((first, depth)) = start
                && indent == depth
                && line.trim_end().ends_with('}')
            {
                let length = number - first + 1;
                // Tables of events and commands are one arm a line and read like one.
                let table = code.lines().skip(first).take(length).filter(|line| line.contains("=>")).count()
                    * 2
                    > length;
                assert!(
                    length <= 70 || table,
                    "{}:{} is a function of {length} lines",
                    path.display(),
                    first + 1
                );
                start = None;
            }
        }
    }
}

#[test]
fn no_test_is_ignored_and_nothing_is_left_undone() {
    for (path, text) in rust_files("src").into_iter().chain(rust_files("tests")).chain(rust_files("benches"))
    {
        if path.ends_with("tests/tidy.rs") {
            continue;
        }
        for mark in ["#[ignore", "todo!(", "unimplemented!(", "FIXME", "XXX", "dbg!("] {
            assert!(!text.contains(mark), "{} contains {mark}", path.display());
        }
    }
}
