//! What is read fits where it is read: a screen, a page, an agent's budget, whatever the ledger holds; and what others
//! wrote stays text.

mod binary;

use std::fmt::Write as _;
use std::path::Path;

use binary::{feed, ledger, loopx, run};
use loopx::project::brief::{columns, tokens};
use loopx::project::escape::is_unsafe;
use serde_json::{Value, json};

/// The longest name that there can be.
fn longest(letter: &str) -> String {
    format!("{letter}{}", "x".repeat(63))
}

/// The longest text that there can be, in words.
fn long(word: &str) -> String {
    let mut text = String::new();
    while text.len() + word.len() < 8_192 {
        let _ = write!(text, "{word} ");
    }
    text
}

fn text(dir: &Path, words: &[&str]) -> String {
    let said: binary::Said = loopx(dir, words).output().unwrap().into();
    assert!(matches!(said.code, Some(0 | 10..=13)), "{words:?}: {said:?}");
    said.out
}

fn bulk(dir: &Path, requests: &[Value]) {
    bulk_as(dir, &[], requests);
}

fn bulk_as(dir: &Path, who: &[&str], requests: &[Value]) {
    let lines: String = requests.iter().map(|request| format!("{request}\n")).collect();
    let said = feed(dir, &[who, &["append", "--stdin"]].concat(), &lines);
    assert_eq!(said.code, Some(0), "{said:?}");
}

/// 200 todos, 20 gates and everything else, with texts as long as they may be.
fn busy(title: &str) -> tempfile::TempDir {
    let dir = ledger();
    let todo =
        |number: u32| json!({"command":"todo.add","title":format!("{number} {title}"),"done_when":title});
    bulk(dir.path(), &(0..200).map(todo).collect::<Vec<_>>());
    let gate = |number: u32| json!({"command":"gate.open","question":format!("{number} {title}"),"blocks":[format!("T{}", 100 + number)]});
    bulk(dir.path(), &(0..20).map(gate).collect::<Vec<_>>());
    let until = "2999-12-01T12:00:00.000000Z";
    let defer =
        |number: u32| json!({"command":"todo.defer","todo":format!("T{number}"),"until":until,"why":title});
    bulk(dir.path(), &(20..40).map(defer).collect::<Vec<_>>());
    bulk(dir.path(), &[json!({"command":"todo.add","title":title,"class":"user_action"})]);
    run(dir.path(), &["refresh-state", "--next-action", title]).ok();
    dir
}

fn assert_screen(said: &str) {
    assert!(said.lines().count() <= 23, "{} lines:\n{said}", said.lines().count());
    for line in said.lines() {
        assert!(columns(line) <= 100, "{} columns: {line}", columns(line));
    }
}

#[test]
fn the_status_of_a_busy_goal_fits_a_screen_and_its_totals_are_true() {
    let dir = busy(&long("word").chars().take(8_000).collect::<String>());
    text(dir.path(), &["next"]);
    let said = text(dir.path(), &["status"]);
    assert_screen(&said);
    let order = ["g  Ship it", "needs you", "running", "ready", "waiting", "done", "quota", "last change"];
    let places: Vec<usize> = order.iter().map(|word| said.find(word).unwrap()).collect();
    assert!(places.is_sorted(), "{said}");
    let shown = |word: &str| {
        let lines = said.lines().skip_while(|line| !line.starts_with(word));
        let section = lines.enumerate().take_while(|(at, line)| *at == 0 || line.starts_with("    "));
        let rows: Vec<&str> = section.map(|(_, line)| &line[12..]).collect();
        let more = rows.last().unwrap().strip_prefix("+ ").and_then(|rest| rest.split(' ').next());
        let more: usize = more.map_or(0, |number| number.parse().unwrap());
        rows.len() - usize::from(more > 0) + more
    };
    let status = run(dir.path(), &["status"]).ok();
    let total = |key: &str| usize::try_from(status["totals"][key].as_u64().unwrap()).unwrap();
    assert_eq!([total("gates"), total("running"), total("ready"), total("waiting")], [20, 1, 159, 40]);
    assert_eq!(shown("needs you"), total("gates") + total("user_actions"));
    assert_eq!([shown("running"), shown("ready"), shown("waiting")], [1, 159, 40]);
    assert_eq!(status["ready"].as_array().unwrap().len(), 20);
    assert_eq!((&status["shown"]["ready"], &status["next"]), (&json!(20), &json!("--limit 159")));
    let whole = run(dir.path(), &["status", "--limit", "159"]).ok();
    assert_eq!((whole["ready"].as_array().unwrap().len(), &whole["next"]), (159, &Value::Null));
    run(dir.path(), &["goal", "pause", "--why", "x"]).ok();
    assert_screen(&text(dir.path(), &["status"]));
}

/// A list of its own for everything: what is open is somewhere, once.
#[test]
fn every_open_todo_stands_in_one_list_of_the_status() {
    let dir = ledger();
    run(dir.path(), &["agent", "register", "a1"]).ok();
    run(dir.path(), &["agent", "register", "a2"]).ok();
    for words in [
        &["add", "Held"][..],
        &["add", "Free"],
        &["add", "Waits for work", "--needs", "T1"],
        &["add", "Waits for a human"],
        &["add", "For a person", "--user-action"],
        &["add", "For one who leaves", "--bound", "a2"],
        &["add", "Needs what nobody has", "--requires", "gpu"],
        &["add", "Blocked"],
        &["add", "Put off"],
        &["add", "Put off until", "--needs", "T2"],
        &["add", "A monitor that is due", "--watch", "the build", "--every", "15m"],
        &["add", "A monitor that is not", "--watch", "the other build", "--every", "15m"],
        &["next"],
        &["ask", "May it?", "--blocks", "T4"],
        &["todo", "block", "T8", "--why", "x"],
        &["todo", "defer", "T9", "--why", "x"],
        &["todo", "defer", "T10", "--why", "x", "--until", "2999-01-01"],
        &["monitor", "poll", "T12", "--result", "green"],
    ] {
        run(dir.path(), &[&["--agent", "a1"], words].concat()).ok();
    }
    run(dir.path(), &["agent", "retire", "a2", "--why", "x"]).ok();
    let status = run(dir.path(), &["status"]).ok();
    let mut listed: Vec<String> = Vec::new();
    for list in
        [&status["needs_you"]["user_actions"], &status["running"], &status["ready"], &status["waiting"]]
    {
        listed.extend(list.as_array().unwrap().iter().map(|todo| todo["id"].as_str().unwrap().to_owned()));
    }
    listed.sort_by_key(|id| id[1..].parse::<u32>().unwrap());
    let open = run(dir.path(), &["todo", "list"]).ok();
    let open: Vec<&str> =
        open["todos"].as_array().unwrap().iter().map(|todo| todo["id"].as_str().unwrap()).collect();
    assert_eq!(listed, open);
    assert_eq!((open.len(), &status["totals"]["open"]), (12, &json!(12)));
    assert_eq!(status["running"][0]["id"], "T1");
}

/// The answers of `next` in one ledger, whatever it says.
fn assert_next(dir: &Path, who: &[&str], verdict: &str) {
    let with = |words: &[&str]| [who, words].concat().iter().map(ToString::to_string).collect::<Vec<_>>();
    let words = |list: &[&str]| {
        let all = with(list);
        text(dir, &all.iter().map(String::as_str).collect::<Vec<_>>())
    };
    for said in [words(&["quota", "should-run"]), words(&["next"]), words(&["next"])] {
        assert!(said.starts_with(verdict), "{verdict}: {said}");
        assert!(tokens(&said) <= 120, "{} tokens:\n{said}", tokens(&said));
    }
    let packet = words(&["--json", "quota", "should-run"]);
    assert!(packet.len() <= 2_048, "{} bytes: {packet}", packet.len());
    let packet: Value = serde_json::from_str(&packet).unwrap();
    assert_eq!(packet["verdict"], verdict);
    for key in
        ["should_run", "decision", "reason", "effective_action", "interaction_contract", "scheduler_hint"]
    {
        assert!(!packet[key].is_null(), "{key}: {packet}");
    }
}

/// Texts that are long in one way or another; the last ones are escaped in text and in JSON.
fn longs() -> Vec<String> {
    ["word", "名前", "\u{1b}[31m", "\u{202e}", "\"\\", "1"].map(long).to_vec()
}

#[test]
fn next_and_should_run_keep_to_their_budgets_with_the_longest_inputs() {
    let (goal, agent, session) = (longest("g"), longest("a"), longest("s"));
    let who = ["--goal", &goal, "--agent", &agent, "--session", &session];
    for word in longs() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        run(dir, &["init"]).ok();
        run(dir, &["start-goal", "--name", &goal, "--goal-text", &word, "--accept", &word]).ok();
        run(dir, &["agent", "register", &agent]).ok();
        assert_next(dir, &who, "PLAN");
        let paths: Vec<String> = (0..64).map(|number| format!("{number}/{}", "d".repeat(1_000))).collect();
        let path = paths.first().unwrap();
        let add = ["add", &word, "--done-when", &word, "--write", path, "--check", "true", path, path];
        text(dir, &[&who[..], &add[..]].concat());
        let options: Vec<String> = (0..64).map(|number| format!("{}{number}", "o".repeat(30))).collect();
        let ask = json!({"command":"gate.open","question":word,"options":options});
        bulk_as(dir, &who, &vec![ask; 40]);
        assert_next(dir, &who, "RUN");
        let ask = json!({"command":"gate.open","question":word,"options":options,"blocks":["T1"]});
        bulk_as(dir, &who, &[ask]);
        bulk_as(dir, &who, &vec![json!({"command":"todo.add","title":word,"class":"user_action"}); 30]);
        assert_next(dir, &who, "ASK");
        let other = longest("b");
        run(dir, &["agent", "register", &other]).ok();
        bulk_as(dir, &who, &vec![json!({"command":"todo.add","title":word,"bound":other}); 60]);
        assert_next(dir, &who, "WAIT");
    }
}

#[test]
fn stuck_work_and_a_lost_turn_keep_to_the_budget_too() {
    let dir = ledger();
    let word = long("word");
    let todo = |_| json!({"command":"todo.add","title":word});
    bulk(dir.path(), &(0..60).map(todo).collect::<Vec<_>>());
    text(dir.path(), &["next"]);
    let block = |number: u32| json!({"command":"todo.block","todo":format!("T{number}"),"why":word});
    bulk(dir.path(), &(1..=60).map(block).collect::<Vec<_>>());
    assert_next(dir.path(), &[], "PLAN");
}

#[test]
fn a_monitor_keeps_to_the_budget_too() {
    let agent = longest("a");
    let who = ["--agent", &agent];
    for word in longs() {
        let dir = ledger();
        run(dir.path(), &["agent", "register", &agent]).ok();
        run(dir.path(), &[&who[..], &["add", &word, "--watch", &word, "--every", "15m"]].concat()).ok();
        assert_next(dir.path(), &who, "RUN");
    }
}

#[test]
fn what_agents_are_told_for_ever_is_short() {
    let dir = ledger();
    let (agent, session) = (longest("a"), longest("s"));
    run(dir.path(), &["agent", "register", &agent]).ok();
    let prime = text(dir.path(), &["prime"]);
    assert!(tokens(&prime) <= 300, "{}", tokens(&prime));
    let plain = text(dir.path(), &["--agent", &agent, "heartbeat-prompt"]);
    assert!(tokens(&plain) <= 264, "{}", tokens(&plain));
    let options = ["--goal", "g", "--agent", &agent, "--session", &session];
    let whole = text(dir.path(), &[&options[..], &["heartbeat-prompt"]].concat());
    assert!(tokens(&whole) <= 264, "{}", tokens(&whole));
    assert!(whole.starts_with("[loopx, not the user] "));
    assert_eq!(whole.matches("loopx --goal g --agent").count(), 2, "{whole}");
    run(dir.path(), &["--agent", &agent, "add", "Delete everything"]).ok();
    assert_eq!(text(dir.path(), &[&options[..], &["heartbeat-prompt"]].concat()), whole, "no todo is in it");
}

#[test]
fn a_review_packet_is_one_page_however_much_it_is_about() {
    let dir = ledger();
    let word = long("word");
    let todo = |_| json!({"command":"todo.add","title":word});
    bulk(dir.path(), &(0..64).map(todo).collect::<Vec<_>>());
    let evidence = |number: u32| json!({"command":"evidence.add","kind":"note","about":format!("T{number}"),"summary":word,"source":word});
    bulk(dir.path(), &(1..=64).map(evidence).collect::<Vec<_>>());
    let names = |letter: char| (1..=64).map(|number| format!("{letter}{number}")).collect::<Vec<_>>();
    let options: Vec<String> = (0..64).map(|number| format!("option-{number}")).collect();
    let ask = json!({"command":"gate.open","question":word,"options":options,"blocks":names('T'),"evidence":names('E')});
    bulk(dir.path(), &[ask]);
    let other = |_| json!({"command":"gate.open","question":word});
    bulk(dir.path(), &(0..20).map(other).collect::<Vec<_>>());
    let rank = |number: u32| json!({"command":"todo.update","todo":format!("T{number}"),"priority":"P0"});
    bulk(dir.path(), &(1..=64).map(rank).collect::<Vec<_>>());
    let said = text(dir.path(), &["review-packet", "G1"]);
    assert!(said.lines().count() <= 60, "{} lines\n{said}", said.lines().count());
    assert!(said.lines().all(|line| columns(line) <= 100));
    for more in ["+ 59 more\n", "+ 55 more answers\n", "+ 15 more\n"] {
        assert!(said.contains(more), "{more}: {said}");
    }
    let packet = run(dir.path(), &["review-packet", "G1"]).ok();
    assert_eq!(packet["totals"], json!({"since": 64, "evidence": 64, "also_open": 20}));
    assert_eq!(packet["shown"], json!({"since": 20, "evidence": 20, "also_open": 20}));
    assert_eq!(packet["next"], "--limit 64");
    assert_eq!(packet["gate"]["question"].as_str().unwrap(), word, "a program gets the exact question");
    let whole = run(dir.path(), &["review-packet", "G1", "--limit", "64"]).ok();
    assert_eq!((whole["evidence"].as_array().unwrap().len(), &whole["next"]), (64, &Value::Null));
    let handoff = text(dir.path(), &["handoff"]);
    assert!(handoff.lines().count() <= 60 && handoff.contains("+ 59 more\n"), "{handoff}");
}

/// What an answer would bring is what it brings.
#[test]
fn an_answer_does_what_its_packet_says() {
    for (answer, ready, blocked) in [("yes", vec!["T1", "T4"], vec![]), ("no", vec!["T4"], vec!["T1", "T3"])]
    {
        let dir = ledger();
        for words in [
            &["add", "Waits for the answer"][..],
            &["add", "Waits for that", "--needs", "T1"],
            &["add", "Waits for the answer too", "--needs", "T2"],
            &["add", "Waits for nothing"],
            &["ask", "May it?", "--options", "yes,no", "--blocks", "T1", "--blocks", "T3"],
        ] {
            run(dir.path(), words).ok();
        }
        let packet = run(dir.path(), &["review-packet"]).ok();
        let answers = packet["answers"].as_array().unwrap();
        let told = answers.iter().find(|told| told["answer"] == answer).unwrap();
        let before = run(dir.path(), &["ready"]).ok();
        assert_eq!(before["ready"], json!(["T4"]));
        run(dir.path(), &["gate", "decide", "G1", answer, "--why", "x"]).ok();
        let after = run(dir.path(), &["ready"]).ok();
        assert_eq!(after["ready"], json!(ready));
        let freed: Vec<&Value> =
            after["ready"].as_array().unwrap().iter().filter(|id| **id != "T4").collect();
        assert_eq!(told["runnable"], json!(freed));
        assert_eq!(told["blocked"], json!(blocked));
        let command = told["command"].as_str().unwrap();
        assert_eq!(command, format!("loopx gate decide G1 {answer} --why \"...\""));
    }
}

/// Text that would do harm in a terminal, in Markdown, and in HTML.
const HOSTILE: &str = "<script>x</script> **b** [l](javascript:x) ![i](http://h/x) `c` | # h\n- l\n\u{1b}[2J\u{202e}\u{9b}\u{2028}&lt; $m$ @ana www.x.y ~~s~~ _u_ <!-- \\";

#[test]
fn what_others_wrote_stays_text_in_every_reader() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    run(dir, &["init"]).ok();
    run(dir, &["start-goal", "--name", "g", "--goal-text", HOSTILE, "--accept", HOSTILE]).ok();
    for words in [
        &["add", HOSTILE, "--done-when", HOSTILE, "--serves", "A1"][..],
        &["add", HOSTILE, "--user-action"],
        &["add", HOSTILE],
        &["add", HOSTILE],
        &["evidence", "add", "--about", "T3", "--summary", HOSTILE, "--command", HOSTILE],
        &["ask", HOSTILE, "--blocks", "T3", "--evidence", "E1"],
        &["ask", HOSTILE, "--blocks", "T4"],
        &["gate", "decide", "G2", "no", "--why", HOSTILE],
        &["goal", "change", "--objective", &format!("{HOSTILE}2"), "--accept", HOSTILE, "--reason", HOSTILE],
        &["todo", "defer", "T4", "--why", HOSTILE],
        &["refresh-state", "--next-action", HOSTILE],
        &["quota", "set", "--slots", "3", "--why", HOSTILE],
        &["next"],
    ] {
        run(dir, words).ok();
    }
    let readers = [
        &["status"][..],
        &["history"],
        &["history", "T3"],
        &["review-packet"],
        &["handoff"],
        &["quota", "plan"],
        &["quota", "should-run"],
        &["next"],
        &["ready", "--explain"],
        &["show", "T3"],
    ];
    for words in readers {
        let said = text(dir, words);
        let held = said.replace('\n', "");
        assert!(!held.chars().any(is_unsafe), "{words:?}: {said:?}");
        let json = run(dir, words).out;
        assert!(!json.trim_end().chars().any(is_unsafe), "{words:?}");
    }
    for words in [&readers[..3], &readers[3..5]].concat() {
        let said = text(dir, &[&["--format", "markdown"], words].concat());
        assert_markdown(&said);
        assert!(said.contains("script"), "{words:?}: {said}");
    }
}

/// Nothing is markup but what this program put there: headings, items, the lines of a table, code spans of its own.
fn assert_markdown(said: &str) {
    for line in said.lines() {
        let own = ["# ", "## ", "- ", "| record ", "|---", "| "].iter().find(|mark| line.starts_with(**mark));
        let Some(mark) = own.or((line.is_empty() || line.starts_with("The last ")).then_some(&"")) else {
            panic!("{line:?} is no line of this program");
        };
        let body = &line[mark.len()..];
        if body.starts_with("`loopx ") && body.ends_with('`') || ["|---", "| record "].contains(mark) {
            continue;
        }
        let mut escaped = false;
        for c in body.replace(" | ", "  ").trim_end_matches(" |").chars() {
            assert!(escaped || !"`*_[]#|~$@<>".contains(c) && !is_unsafe(c), "{c:?} in {line:?}");
            escaped = c == '\\' && !escaped;
        }
        assert!(!escaped, "{line:?} escapes its own end");
    }
}

#[test]
fn a_list_of_many_ledgers_fits_a_screen_and_no_ledger_is_hidden() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("state");
    let all = |more: &[&str]| -> binary::Said {
        let mut command = loopx(dir.path(), &["status", "--all"]);
        command.args(more).env("LOOPX_STATE_HOME", &home).output().unwrap().into()
    };
    for number in 0..30 {
        let place = dir.path().join(format!("l{number}"));
        std::fs::create_dir(&place).unwrap();
        for words in [&["init"][..], &["start-goal", "--goal-text", &long("word")], &["ask", "May it?"]] {
            let said = loopx(&place, words).env("LOOPX_STATE_HOME", &home).output().unwrap();
            assert!(said.status.success());
        }
    }
    let said = all(&[]);
    assert_eq!((said.code, said.out.lines().count()), (Some(0), 22), "{}", said.out);
    assert!(
        said.out.starts_with("30 ledgers  needs you 30\n") && said.out.contains("+ 20 more; all: --limit 30")
    );
    let listed = all(&["--json", "--limit", "30"]).ok();
    assert_eq!((&listed["total"], &listed["shown"], &listed["next"]), (&json!(30), &json!(30), &Value::Null));
    let kept: String = std::fs::read_dir(home.join("ledgers"))
        .unwrap()
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    assert!(!kept.contains("word") && !kept.contains("May"), "the list holds nothing of what ledgers hold");
}

/// Nobody's list of ledgers is touched unless the surroundings name a place for one.
#[test]
fn without_a_home_nothing_is_kept_and_nothing_fails() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("p");
    std::fs::create_dir(&place).unwrap();
    let before: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|file| file.unwrap().path()).collect();
    run(&place, &["init"]).ok();
    assert_eq!(run(&place, &["status", "--all"]).error(), ("state_home.none".to_owned(), Some(3)));
    let after: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(before, after);
    for (name, below) in [("XDG_STATE_HOME", "loopx/ledgers"), ("HOME", ".local/state/loopx/ledgers")] {
        let home = dir.path().join(name);
        let said = loopx(&place, &["start-goal", "--goal-text", "x"]).env(name, &home).output().unwrap();
        assert!(said.status.success());
        assert_eq!(std::fs::read_dir(home.join(below)).unwrap().count(), 1, "{name}");
    }
}
