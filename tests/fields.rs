//! Every field of every event survives being written and read; whatever is not exactly an event is refused.

mod schema;

use loopx::event::Event;
use loopx::event::codec::{CodecError, decode, encode};
use loopx::hash::Hash;
use loopx::limits::RECORD_EVENTS_MAX;
use schema::{HOSTILE, Step, at, expected, places};
use serde_json::{Value, json};

/// Each kind with every optional field present; where a payload has variants, each of them.
fn examples() -> Vec<(&'static str, Value)> {
    let hash = Hash::blob(b"one").to_string();
    let (early, late) = ("2026-12-01T12:34:56.000000Z", "2026-12-02T00:00:00.000001Z");
    let holder = json!({"actor":"agent/a","session":"s1"});
    let other = json!({"actor":"owner/ana","session":"s2"});
    let spec = json!({
        "action":"edit","bound":"a","buildable":["kit"],"check":["make","test"],"class":"user_action","done_when":"it passes",
        "excluded":["b"],"granted":["prod"],"monitor":{"every_ms":60000,"target":"ci","until":late},"needs":["T1"],"priority":"P1","requires":["gpu"],"requires_decision":["production:goal:deploy"],"resources":["gpu0"],"serves":["A1"],
        "title":"do it","write":["src/a"],
    });
    let mut all = vec![
        (
            "ledger.created",
            json!({"ledger":"01J5ZK0000000000000000000A","nonce":"01J5ZK0000000000000000000B","program":"loopx 0.1.0"}),
        ),
        ("ledger.recovered", json!({"cut_bytes":17,"offset_bytes":900,"quarantine":"tail-1","segment":1})),
        ("ledger.clock_jumped", json!({"by_ms":86_400_000,"clock":early,"direction":"back"})),
        ("ledger.sealed", json!({"segment":1})),
        ("secret.allowed", json!({"kind":"a private key","place":"title","why":"an example"})),
        ("agent.registered", json!({"agent":"a","capabilities":["gpu"]})),
        ("agent.changed", json!({"agent":"a","capabilities":["gpu"],"granted":["prod"],"why":"built"})),
        ("agent.retired", json!({"agent":"a","why":"gone"})),
        ("owner.registered", json!({"owner":"ana"})),
        ("owner.revoked", json!({"owner":"ana","why":"gone"})),
        (
            "goal.started",
            json!({"criteria":["shown"],"goal":"iris","objective":"sort","read":["data"],"write":["src"]}),
        ),
        (
            "goal.changed",
            json!({"changes":[
            {"field":"objective","new":"sort well","old":"sort"},
            {"field":"criterion","id":"A1","new":"shown twice","old":"shown"},
            {"field":"write","new":["docs"],"old":["src"]},
        ],"goal":"iris","reason":"learned"}),
        ),
        ("todo.added", json!({"goal":"iris","id":"T1","spec":spec})),
        (
            "todo.changed",
            json!({"changes":[
            {"field":"title","new":"do it well","old":"do it"},
            {"field":"priority","new":"P0","old":"P1"},
            {"field":"done_when","new":"it shines","old":"it passes"},
            {"field":"write","new":["docs"],"old":["src/a"]},
        ],"id":"T1"}),
        ),
        ("todo.blocked", json!({"id":"T1","why":"no data"})),
        ("todo.deferred", json!({"id":"T1","until":late,"when":"G1","why":"later"})),
        ("todo.deferred", json!({"id":"T1","until":early,"when":"T2","why":"later"})),
        (
            "todo.reopened",
            json!({"closed":{"completed":true,"epoch":3,"goal":"iris","spec":spec,"version":5},"id":"T1","why":"not done"}),
        ),
        ("todo.superseded", json!({"by":"T2","id":"T1","why":"better"})),
        ("todo.cancelled", json!({"id":"T1","why":"no"})),
        (
            "gate.opened",
            json!({"blocks":{"agents":["a"],"all":true,"todos":["T1"]},"evidence":["E1"],"goal":"iris","id":"G1","options":["ship"],"question":"Ship?","scope":"production:goal:deploy"}),
        ),
        ("gate.withdrawn", json!({"id":"G1","why":"no longer"})),
        ("gate.revoked", json!({"id":"G1","why":"not any more"})),
        ("claim.taken", json!({"epoch":1,"holder":holder,"todo":"T1"})),
        ("claim.released", json!({"epoch":1,"todo":"T1","why":"enough"})),
        (
            "claim.handed_over",
            json!({"epoch":2,"from":holder,"key":"k2","to":other,"todo":"T1","until":early,"why":"yours"}),
        ),
        (
            "claim.delegated",
            json!({"actions":["update","complete","release"],"epoch":1,"to":"b","todo":"T1","why":"night shift"}),
        ),
        ("lease.granted", json!({"epoch":1,"holder":holder,"key":"k1","on":"T1","until":early})),
        ("lease.granted", json!({"epoch":1,"holder":holder,"key":"k1","on":"resource/gpu0","until":early})),
        ("lease.renewed", json!({"epoch":1,"key":"k1","on":"T1","until":late})),
        ("lease.released", json!({"epoch":1,"on":"resource/gpu0"})),
        (
            "lease.taken_over",
            json!({"epoch":2,"expired":early,"from":holder,"key":"k2","on":"T1","to":other,"until":late}),
        ),
        (
            "evidence.recorded",
            json!({
                "about":"R1","bytes":6,"digest":hash,"exit":0,"goal":"iris","id":"E1","kind":"metric",
                "metric":{"dataset":"iris-v1","metric":"acc","n":150,"spread":"0.01","trial":"R1","value":"0.95"},
                "revision":1,"source":"make eval","summary":"0.95","valid_until":late,
            }),
        ),
        (
            "evidence.recorded",
            json!({"about":"goal/iris","goal":"iris","id":"E1","kind":"note","revision":1,"summary":"s"}),
        ),
        ("evidence.invalidated", json!({"cause":"leak","id":"E1","why":"test data"})),
        ("evidence.superseded", json!({"by":"E2","id":"E1","why":"newer"})),
        ("acceptance.met", json!({"criterion":"A1","evidence":"E1","goal":"iris"})),
        ("acceptance.reopened", json!({"criterion":"A1","goal":"iris","why":"not so"})),
        (
            "turn.opened",
            json!({
                "by_name":true,"capabilities":["kit"],"decided_at":9,"epoch":1,"goal":"iris","holder":holder,"id":"U1",
                "repairs":true,"todo":"T1",
            }),
        ),
        ("turn.closed", json!({"end":"done","id":"U1","outcome":"outcome_progress","why":"w"})),
        (
            "quota.budgeted",
            json!({"agent":"a","budget":{"cost_micro":1,"tokens":0,"wall_ms":2},"goal":"iris","why":"enough"}),
        ),
        (
            "quota.spent",
            json!({"agent":"a","cost_micro":5,"goal":"iris","slots":1,"todo":"T1","tokens":1000,"turn":"U1","wall_ms":60000}),
        ),
        (
            "quota.voided",
            json!({"agent":"a","cost_micro":3,"goal":"iris","slots":1,"spend":12,"tokens":2,"turn":"U7","wall_ms":60000,"why":"mistake"}),
        ),
        ("monitor.polled", json!({"digest":hash,"due":late,"id":"T1","result":"red"})),
        (
            "state.refreshed",
            json!({"classification":"progress","goal":"iris","next_action":"go on","outcome":"outcome_gap","todo":"T1","turn":"U1"}),
        ),
        ("metric.defined", json!({"direction":"maximize","metric":"acc","title":"accuracy","unit":"ratio"})),
        (
            "dataset.registered",
            json!({"bytes":6,"dataset":"iris-v1","digest":hash,"rows":150,"split":"dev","title":"flowers"}),
        ),
        ("hypothesis.proposed", json!({"goal":"iris","id":"H1","refines":["H2"],"text":"k=5","todo":"T1"})),
        (
            "experiment.registered",
            json!({"config":"k=5","datasets":["iris-v1"],"goal":"iris","id":"X1","starts_from":"P1","tests":"H1"}),
        ),
        ("trial.started", json!({"experiment":"X1","id":"R1","seed":7})),
        ("trial.ended", json!({"end":"failed","id":"R1","why":"no memory"})),
        (
            "promotion.recorded",
            json!({"artifact":hash,"bytes":6,"cites":["E1"],"contrast":["E2"],"gate":"G1","goal":"iris","id":"P2","replaces":"P1","slot":"best","title":"k=5"}),
        ),
    ];
    for kind in ["goal.paused", "goal.resumed", "goal.completed", "goal.abandoned"] {
        all.push((kind, json!({"goal":"iris","why":"w"})));
    }
    for allowance in
        [json!({"kind":"unlimited"}), json!({"kind":"share","milli":500}), json!({"kind":"slots","slots":3})]
    {
        all.push((
            "quota.set",
            json!({"allowance":allowance,"goal":"iris","slot_ms":60000,"why":"w","window_ms":86400000}),
        ));
    }
    for outcome in [
        json!({"is":"approve"}),
        json!({"is":"reject"}),
        json!({"is":"defer"}),
        json!({"is":"choice","option":"ship"}),
    ] {
        all.push((
            "gate.decided",
            json!({"id":"G1","outcome":outcome,"rests_on":["E1"],"valid_until":late,"why":"w"}),
        ));
    }
    for then in [
        json!({"then":"successors","todos":["T2"]}),
        json!({"agent":"b","then":"hand_over","todo":"T2"}),
        json!({"then":"wait_for_todo","todo":"T2"}),
        json!({"gate":"G1","then":"wait_for_gate"}),
        json!({"at":early,"then":"wait_until"}),
        json!({"then":"no_follow_up","why":"w"}),
    ] {
        all.push((
            "todo.completed",
            json!({"approvals":["G1"],"continuation":then,"epoch":1,"evidence":["E1"],"id":"T1"}),
        ));
    }
    all
}

fn bytes(kind: &str, body: &Value) -> Vec<u8> {
    format!(r#"{{"k":"{kind}","kv":1,"b":{body}}}"#).into_bytes()
}

fn read(kind: &str, body: &Value) -> Result<Event, CodecError> {
    decode(&bytes(kind, body)).map(|mut events| {
        assert_eq!(events.len(), 1);
        events.remove(0)
    })
}

/// Values of every type and enumeration that a payload uses, to try in the place of another.
fn others(value: &Value) -> Vec<Value> {
    match value {
        Value::Number(number) => vec![json!(number.as_i64().unwrap() + 1)],
        Value::Bool(on) => vec![json!(!on)],
        Value::Array(list) => {
            let longer: Vec<&Value> = list.iter().chain(list.iter()).collect();
            vec![json!(list[1..]), json!(longer)]
        }
        Value::String(_) => {
            let hash = Hash::blob(b"another").to_string();
            let words = [
                "another",
                "T91",
                "G91",
                "E91",
                "U91",
                "A91",
                "H91",
                "X91",
                "R91",
                "P91",
                "agent/zed",
                "2031-01-01T00:00:00.000000Z",
                "01J5ZK0000000000000000000Z",
                &hash,
                "0.125",
                "P4",
                "advancement",
                "surface_only",
                "abandoned",
                "file",
                "contamination",
                "minimize",
                "holdout",
                "lost",
                "release",
                "complete",
                "defer",
                "approve",
                "ahead",
                "resource:lane:gpu",
            ];
            words.iter().map(|word| json!(word)).collect()
        }
        Value::Null | Value::Object(_) => Vec::new(),
    }
}

/// The tag of a variant decides which fields stand beside it, so it cannot be changed alone.
fn is_tag(kind: &str, place: &[Step]) -> bool {
    match place.last() {
        Some(Step::Key(key)) => {
            matches!(key.as_str(), "then" | "field" | "is") || kind == "quota.set" && key == "kind"
        }
        Some(Step::Index(_)) | None => false,
    }
}

#[test]
fn there_is_an_example_of_every_kind() {
    for kind in Event::KINDS {
        assert!(examples().iter().any(|(example, _)| example == kind), "{kind}");
    }
    for (kind, body) in examples() {
        assert!(Event::KINDS.contains(&kind));
        assert_eq!(read(kind, &body).unwrap().kind(), kind);
    }
}

#[test]
fn every_event_is_written_canonically_and_read_back_equal() {
    for (kind, body) in examples() {
        let event = read(kind, &body).unwrap();
        assert_eq!(
            String::from_utf8(encode(&[event]).unwrap()),
            String::from_utf8(bytes(kind, &body)),
            "{kind}"
        );
    }
    let all: Vec<Event> = examples().iter().map(|(kind, body)| read(kind, body).unwrap()).collect();
    assert_eq!(decode(&encode(&all).unwrap()).unwrap(), all);
}

#[test]
fn the_examples_have_every_field_that_the_schema_has() {
    let mut objects = 0;
    for (kind, body) in examples() {
        if kind == "evidence.recorded" && body["kind"] == "note" {
            continue;
        }
        for place in places(&body) {
            let mut probed = body.clone();
            let Value::Object(map) = at(&mut probed, &place) else { continue };
            let mut known: Vec<String> = map.keys().cloned().collect();
            map.insert("zz".to_owned(), json!(1));
            let error = read(kind, &probed).unwrap_err().to_string();
            assert!(error.contains("unknown field `zz`"), "{kind} {place:?}: {error}");
            known.retain(|key| {
                let tag = place.iter().cloned().chain([Step::Key(key.clone())]).collect::<Vec<_>>();
                !is_tag(kind, &tag)
            });
            // A variant without fields has no list.
            let mut fields = if error.contains("expected") { expected(&error) } else { Vec::new() };
            fields.sort_unstable();
            assert_eq!(known, fields, "{kind} {place:?}");
            objects += 1;
        }
    }
    assert!(objects > 80, "{objects}");
}

#[test]
fn every_field_that_changes_changes_the_event() {
    let mut changed = 0;
    for (kind, body) in examples() {
        let event = read(kind, &body).unwrap();
        for place in places(&body).iter().filter(|place| !place.is_empty() && !is_tag(kind, place)) {
            let value = at(&mut body.clone(), place).clone();
            if value.is_object() {
                continue;
            }
            let survives = others(&value).into_iter().filter(|other| *other != value).any(|other| {
                let mut body = body.clone();
                *at(&mut body, place) = other;
                read(kind, &body).is_ok_and(|read| read != event)
            });
            assert!(survives, "{kind} {place:?}: no other value than {value} is told apart");
            changed += 1;
        }
    }
    assert!(changed > 250, "{changed}");
}

#[test]
fn a_field_left_out_is_an_error_or_another_event() {
    for (kind, body) in examples() {
        let event = read(kind, &body).unwrap();
        for place in places(&body) {
            let Some((Step::Key(key), parent)) = place.split_last() else { continue };
            let mut without = body.clone();
            at(&mut without, parent).as_object_mut().unwrap().remove(key);
            match read(kind, &without) {
                Ok(other) => assert_ne!(other, event, "{kind} {place:?}"),
                Err(CodecError::Malformed { index: 0, .. }) => {}
                Err(error) => panic!("{kind} {place:?}: {error}"),
            }
        }
    }
}

#[test]
fn any_text_survives_in_every_field_that_takes_text() {
    let mut fields = 0;
    for (kind, body) in examples() {
        for place in places(&body) {
            for text in HOSTILE {
                let mut hostile = body.clone();
                let value = at(&mut hostile, &place);
                if !value.is_string() {
                    continue;
                }
                *value = json!(text);
                let Ok(event) = read(kind, &hostile) else { continue };
                let written = encode(&[event]).unwrap();
                assert_eq!(written, bytes(kind, &hostile), "{kind} {place:?}");
                fields += 1;
            }
        }
    }
    assert!(fields > 45 * HOSTILE.len(), "{fields}");
}

#[test]
fn what_is_not_exactly_an_event_is_refused() {
    let malformed = |text: &str, what: &str| match decode(text.as_bytes()) {
        Err(CodecError::Malformed { what: found, .. }) => assert!(found.contains(what), "{text}: {found}"),
        other => panic!("{text}: {other:?}"),
    };
    malformed(r#"{"k":"todo.blocked","kv":1,"b":{"id":"T1","why":"w","zz":1}}"#, "unknown field `zz`");
    malformed(r#"{"k":"todo.blocked","kv":1,"b":{"id":"T1"}}"#, "missing field `why`");
    malformed(r#"{"k":"todo.blocked","kv":1,"b":{"id":"T1","id":"T1","why":"w"}}"#, "keys rise");
    malformed(r#"{"k":"todo.blocked","kv":1,"b":{"why":"w","id":"T1"}}"#, "keys rise");
    malformed(r#"{"k":"todo.blocked","kv":1,"b":{"id":"T1","why":" "}}"#, "blank");
    malformed(r#"{"k":"todo.blocked","kv":1,"b":{"id":"t1","why":"w"}}"#, "todo id");
    malformed(r#"{"k":"todo.blocked","kv":1,"b":{"id": "T1","why":"w"}}"#, "compact");
    malformed(r#"{"k":"todo.blocked","kv":1,"b":[]}"#, "");
    malformed(
        r#"{"k":"todo.deferred","kv":1,"b":{"id":"T1","until":null,"why":"w","x":1}}"#,
        "unknown field",
    );
    malformed(r#"{"k":"trial.started","kv":1,"b":{"experiment":"X1","id":"R1","seed":1.0}}"#, "integer");
    malformed(r#"{"k":"trial.started","kv":1,"b":{"experiment":"X1","id":"R1","seed":1e3}}"#, "integer");
    malformed(
        r#"{"k":"trial.started","kv":1,"b":{"experiment":"X1","id":"R1","seed":9007199254740992}}"#,
        "2^53",
    );
    malformed(r#"{"k":"trial.started","kv":1,"b":{"experiment":"X1","id":"R1","seed":-1}}"#, "");
    for text in [
        "",
        " ",
        "[]",
        "{}",
        r#"{"k":"ledger.sealed","kv":01,"b":{"segment":1}}"#,
        r#"{"k":"ledger.sealed","kv":1,"b":{"segment":1}},"#,
        r#"{"k":"ledger.sealed","kv":1,"b":{"segment":1}} "#,
        r#"{"k":"ledger.sealed","kv":1,"b":{"segment":1},"x":1}"#,
        r#"{"kv":1,"k":"ledger.sealed","b":{"segment":1}}"#,
        r#" {"k":"ledger.sealed","kv":1,"b":{"segment":1}}"#,
    ] {
        assert!(matches!(decode(text.as_bytes()), Err(CodecError::Malformed { .. })), "{text}");
    }
    for (text, kind, version) in [
        (r#"{"k":"ledger.sealed","kv":2,"b":{"segment":1}}"#, "ledger.sealed", 2),
        (r#"{"k":"notice.sent","kv":1,"b":{}}"#, "notice.sent", 1),
        (r#"{"k":"ledger.sealed","kv":2,"b":{"anything":["new"]}}"#, "ledger.sealed", 2),
    ] {
        let newer = CodecError::Newer { index: 0, kind: kind.to_owned(), version };
        assert_eq!(decode(text.as_bytes()), Err(newer), "{text}");
    }
    let good = r#"{"k":"ledger.sealed","kv":1,"b":{"segment":1}}"#;
    let second = format!("{good},{}", r#"{"k":"ledger.sealed","kv":9,"b":{"segment":1}}"#);
    assert!(matches!(decode(second.as_bytes()), Err(CodecError::Newer { index: 1, version: 9, .. })));
}

#[test]
fn a_record_that_would_be_too_large_is_refused_on_both_sides() {
    let event = read("ledger.sealed", &json!({"segment":1})).unwrap();
    let most = vec![event.clone(); RECORD_EVENTS_MAX];
    assert_eq!(decode(&encode(&most).unwrap()).unwrap().len(), RECORD_EVENTS_MAX);
    let more = vec![event; RECORD_EVENTS_MAX + 1];
    assert!(matches!(encode(&more), Err(CodecError::TooLarge { index: RECORD_EVENTS_MAX, .. })));
    let one = r#"{"k":"ledger.sealed","kv":1,"b":{"segment":1}}"#;
    let text = vec![one; RECORD_EVENTS_MAX + 1].join(",");
    assert!(matches!(decode(text.as_bytes()), Err(CodecError::TooLarge { index: RECORD_EVENTS_MAX, .. })));
    let criteria = vec!["x".repeat(8_192); 9];
    let body = json!({"criteria":criteria,"goal":"iris","objective":"o"});
    assert!(matches!(read("goal.started", &body), Err(CodecError::TooLarge { index: 0, .. })));
    let number = r#"{"k":"trial.started","kv":1,"b":{"experiment":"X1","id":"R1","seed":1}}"#;
    let Ok([Event::TrialStarted(trial)]) = <[Event; 1]>::try_from(decode(number.as_bytes()).unwrap()) else {
        panic!()
    };
    let beyond = loopx::event::TrialStarted { seed: u64::MAX, ..trial };
    assert!(matches!(encode(&[beyond.into()]), Err(CodecError::Malformed { .. })));
}
