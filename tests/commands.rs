//! Commands as lines of JSON: every one reads, writes and refuses alike.

mod kernel;
mod schema;

use std::collections::BTreeSet;

use kernel::World;
use loopx::decide::Command;
use loopx::hash::Hash;
use schema::{HOSTILE, Step, at, expected, places};
use serde_json::{Value, json};

/// Each command twice: as little as it takes, and everything it takes.
fn examples() -> Vec<(Value, Value)> {
    let hash = Hash::blob(b"one").to_string();
    let at = "2026-12-01T12:34:56.000000Z";
    let proof = json!({"bytes":6,"digest":hash,"exit":0,"kind":"command","source":"make","summary":"s","valid_for_ms":60000});
    let close = json!({
        "epoch":1,"evidence":["E1"],"hand_over":"b","key":"k1","version":2,"meets":["A1"],"next":["go on"],"no_follow_up":"n",
        "proof":[proof],"successors":["T2"],"wait_for":{"until":at},
    });
    let why = |name: &str| (json!({"command":name,"why":"w"}), json!({"command":name,"why":"w"}));
    let todo_why = |name: &str| {
        let full = json!({"command":name,"todo":"T1","why":"w"});
        (full.clone(), full)
    };
    let mut all: Vec<(Value, Value)> =
        ["goal.pause", "goal.resume", "goal.complete", "goal.abandon"].map(why).into();
    all.extend(["todo.block", "todo.reopen", "todo.cancel", "yield", "block"].map(todo_why));
    let mut both = |minimal: Value, more: Value| {
        let mut full = minimal.clone();
        full.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all.push((minimal, full));
    };
    both(json!({"command":"agent.register","agent":"a"}), json!({"capabilities":["gpu"]}));
    both(json!({"command":"agent.update","agent":"a","why":"w"}), json!({"add":["kit"],"drop":["gpu"]}));
    both(json!({"command":"agent.grant","agent":"a","capabilities":["prod"],"why":"w"}), json!({}));
    both(json!({"command":"agent.revoke","agent":"a","capabilities":["prod"],"why":"w"}), json!({}));
    both(
        json!({"command":"monitor.poll","todo":"T1","result":"red"}),
        json!({"next":["look"],"no_follow_up":"n"}),
    );
    both(json!({"command":"agent.retire","agent":"a","why":"w"}), json!({}));
    both(json!({"command":"owner.register","owner":"ana"}), json!({}));
    both(json!({"command":"owner.revoke","owner":"ana","why":"w"}), json!({}));
    both(
        json!({"command":"goal.start","objective":"o"}),
        json!({"name":"iris","criteria":["c"],"write":["src"],"read":["data"]}),
    );
    both(
        json!({"command":"goal.change","reason":"r"}),
        json!({"objective":"o","add_criteria":["c"],"drop_criteria":["A1"],"write":["src"]}),
    );
    both(json!({"command":"goal.accept","criterion":"A1","evidence":"E1"}), json!({}));
    both(json!({"command":"goal.reject","criterion":"A1","why":"w"}), json!({}));
    both(
        json!({"command":"todo.add","title":"x"}),
        json!({
            "buildable":["kit"],"granted":["prod"],"watch":"ci","every_ms":60000,"until":at,
            "class":"user_action","priority":"P0","action":"edit","done_when":"d","needs":["T1"],"write":["src"],
            "resources":["gpu0"],"requires":["gpu"],"requires_decision":["production:goal:deploy"],"excluded":["b"],"bound":"a","check":["make"],"serves":["A1"],
        }),
    );
    both(
        json!({"command":"todo.claim","todo":"T1"}),
        json!({"ttl_ms":60000,"key":"k1","version":2,"write":["src"]}),
    );
    both(json!({"command":"todo.release","todo":"T1","why":"w"}), json!({"epoch":1,"key":"k1","version":2}));
    both(
        json!({"command":"todo.hand_over","todo":"T1","to":"b","why":"w"}),
        json!({"epoch":1,"key":"k1","version":2,"new_key":"k2","ttl_ms":60000}),
    );
    both(
        json!({"command":"todo.delegate","todo":"T1","to":"b","actions":["update"],"why":"w"}),
        json!({"actions":["update","complete","release"],"epoch":1,"key":"k1","version":2}),
    );
    both(
        json!({"command":"todo.update","todo":"T1"}),
        json!({"title":"t","priority":"P0","done_when":"d","drop_needs":["T2"],"write":["src"],"epoch":1,"key":"k1","version":2}),
    );
    both(json!({"command":"todo.complete","todo":"T1","close":{}}), json!({"close":close}));
    both(json!({"command":"todo.defer","todo":"T1","why":"w"}), json!({"until":at,"when":"T2"}));
    both(json!({"command":"todo.supersede","todo":"T1","by":"T2","why":"w"}), json!({}));
    both(
        json!({"command":"gate.open","question":"q"}),
        json!({"options":["ship"],"blocks":["T1"],"blocks_agents":["a"],"blocks_all":true,"evidence":["E1"],"scope":"production:goal:*"}),
    );
    both(
        json!({"command":"gate.decide","gate":"G1","outcome":{"is":"approve"},"why":"w"}),
        json!({"outcome":{"is":"choice","option":"ship"},"valid_until":at,"rests_on":["E1"]}),
    );
    both(json!({"command":"gate.withdraw","gate":"G1","why":"w"}), json!({}));
    both(json!({"command":"gate.revoke","gate":"G1","why":"w"}), json!({}));
    both(json!({"command":"lease.acquire","resource":"gpu0"}), json!({"ttl_ms":60000}));
    both(
        json!({"command":"lease.renew","on":"T1"}),
        json!({"epoch":1,"key":"k1","version":2,"ttl_ms":60000}),
    );
    both(json!({"command":"lease.release","resource":"gpu0"}), json!({"epoch":1}));
    both(
        json!({"command":"evidence.add","about":"T1","kind":"note","summary":"s"}),
        json!({
            "kind":"metric","source":"x","exit":0,"digest":hash,"bytes":6,"valid_for_ms":60000,
            "metric":{"trial":"R1","metric":"acc","dataset":"iris-v1","value":"0.95","spread":"0.01","n":150},
        }),
    );
    both(json!({"command":"evidence.invalidate","evidence":"E1","cause":"leak","why":"w"}), json!({}));
    both(json!({"command":"evidence.supersede","evidence":"E1","by":"E2","why":"w"}), json!({}));
    both(json!({"command":"next"}), json!({"ttl_ms":60000}));
    both(
        json!({"command":"done","todo":"T1","close":{}}),
        json!({"close":close,"outcome":"outcome_progress","spend":{"slots":1,"tokens":2,"cost_micro":3}}),
    );
    both(
        json!({"command":"refresh-state","next_action":"n"}),
        json!({"classification":"progress","outcome":"outcome_gap","todo":"T1","turn":"U1"}),
    );
    both(
        json!({"command":"quota.set","allowance":{"kind":"slots","slots":3},"why":"w"}),
        json!({"slot_ms":60000,"window_ms":3600000}),
    );
    both(
        json!({"command":"quota.spend-slot"}),
        json!({"slots":1,"tokens":2,"cost_micro":3,"turn":"U1","todo":"T1"}),
    );
    both(
        json!({"command":"quota.budget","why":"w"}),
        json!({"on_agent":"a","tokens":1,"cost_micro":2,"wall_ms":3}),
    );
    both(json!({"command":"quota.void-slot","spend":7,"why":"w"}), json!({}));
    both(
        json!({"command":"lineage.metric","metric":"acc","direction":"maximize","unit":"ratio","title":"t"}),
        json!({}),
    );
    both(
        json!({"command":"lineage.dataset","dataset":"d","digest":hash,"rows":1,"split":"dev","title":"t"}),
        json!({"bytes":6}),
    );
    both(json!({"command":"lineage.hypothesis","text":"t"}), json!({"refines":["H1"],"todo":"T1"}));
    both(
        json!({"command":"lineage.experiment","tests":"H1","config":"c","datasets":["d"]}),
        json!({"starts_from":"P1"}),
    );
    both(json!({"command":"lineage.trial-start","experiment":"X1","seed":1}), json!({}));
    both(json!({"command":"lineage.trial-end","trial":"R1","end":"ok"}), json!({"why":"w"}));
    both(
        json!({"command":"lineage.promote","slot":"s","gate":"G1","artifact":hash,"title":"t","cites":["E1"]}),
        json!({"bytes":6,"contrast":["E2"],"replaces":"P1"}),
    );
    all
}

fn read(json: &Value) -> Result<Command, String> {
    serde_json::from_str(&json.to_string()).map_err(|error| error.to_string())
}

/// Commands whose fields are partly those of another struct: serde has no list of them.
const FLATTENED: [&str; 2] = ["evidence.add", "quota.spend-slot"];

#[test]
fn there_is_an_example_of_every_command() {
    let error = read(&json!({"command":"zz"})).unwrap_err();
    let known: BTreeSet<String> = expected(&error).into_iter().collect();
    let tried: BTreeSet<String> =
        examples().iter().map(|(minimal, _)| minimal["command"].as_str().unwrap().to_owned()).collect();
    assert_eq!(known, tried);
}

#[test]
fn every_command_is_read_and_written_the_same() {
    for (minimal, full) in examples() {
        for json in [&minimal, &full] {
            let command = read(json).unwrap_or_else(|error| panic!("{json}: {error}"));
            assert_eq!(command.name(), json["command"].as_str().unwrap());
            let written = serde_json::to_value(&command).unwrap();
            assert_eq!(read(&written).unwrap(), command);
            for (key, value) in json.as_object().unwrap() {
                if key != "close" {
                    assert_eq!(written[key], *value, "{} {key}", command.name());
                }
            }
            if let (Some((_, close)), Some(given)) = (command.close(), json.get("close")) {
                let written = serde_json::to_value(close).unwrap();
                for (key, value) in given.as_object().unwrap() {
                    assert_eq!(written[key], *value, "{} {key}", command.name());
                }
            }
        }
    }
}

#[test]
fn the_examples_have_every_field_and_an_unknown_one_is_refused_wherever_it_stands() {
    for (_, full) in examples() {
        let name = full["command"].as_str().unwrap();
        for place in places(&full) {
            let mut probed = full.clone();
            let Value::Object(map) = at(&mut probed, &place) else { continue };
            let known: BTreeSet<String> = map.keys().cloned().collect();
            map.insert("zz".to_owned(), json!(1));
            let error = read(&probed).unwrap_err();
            // One key says what it is; two are refused as two.
            let either = |key: &str| place.last() == Some(&Step::Key(key.to_owned()));
            if either("wait_for") {
                assert!(error.contains("single key"), "{name} {place:?}: {error}");
                continue;
            }
            assert!(error.contains("unknown field `zz`"), "{name} {place:?}: {error}");
            if place.is_empty() && FLATTENED.contains(&name) || !error.contains("expected") {
                continue;
            }
            let known: BTreeSet<String> =
                known.into_iter().filter(|key| !matches!(key.as_str(), "command" | "is")).collect();
            let known =
                if name == "quota.set" { known.into_iter().filter(|k| k != "kind").collect() } else { known };
            assert_eq!(expected(&error).into_iter().collect::<BTreeSet<_>>(), known, "{name} {place:?}");
        }
    }
}

#[test]
fn a_repeated_field_and_a_field_of_the_wrong_type_are_refused() {
    for (_, full) in examples() {
        let text = full.to_string();
        for (key, value) in full.as_object().unwrap() {
            let twice = text.replacen('{', &format!("{{\"{key}\":{value},"), 1);
            assert!(serde_json::from_str::<Command>(&twice).is_err(), "{twice}");
            for wrong in [json!({"x":1}), json!([[1]]), json!(1.5), json!(-1), json!("\u{1b}/")] {
                let mut changed = full.clone();
                changed[key.as_str()] = wrong.clone();
                // An exit code may be negative.
                let takes_any_text = wrong.is_string() && read(&changed).is_ok() || key == "exit";
                assert!(takes_any_text || read(&changed).is_err(), "{changed}");
            }
        }
    }
}

#[test]
fn any_text_survives_in_every_field_of_every_command_that_takes_text() {
    let mut fields = 0;
    for (_, full) in examples() {
        for place in places(&full) {
            for text in HOSTILE {
                let mut hostile = full.clone();
                let value = at(&mut hostile, &place);
                if !value.is_string() {
                    continue;
                }
                *value = json!(text);
                let Ok(command) = read(&hostile) else { continue };
                let mut written = serde_json::to_value(&command).unwrap();
                assert_eq!(*at(&mut written, &place), json!(text), "{} {place:?}", command.name());
                fields += 1;
            }
        }
    }
    assert!(fields > 35 * HOSTILE.len(), "{fields}");
}

#[test]
fn any_text_survives_the_ledger() {
    let mut world = World::new();
    for (number, text) in HOSTILE.iter().enumerate() {
        let number = number + 1;
        let send = |world: &mut World, who: &str, json: Value| world.by(who, json.to_string());
        send(
            &mut world,
            "@ana",
            json!({"command":"goal.change","objective":text,"add_criteria":[text],"reason":text}),
        );
        send(
            &mut world,
            "a",
            json!({"command":"todo.add","title":text,"done_when":text,"check":["echo", text]}),
        );
        send(&mut world, "a", json!({"command":"gate.open","question":text,"blocks":[format!("T{number}")]}));
        send(
            &mut world,
            "a",
            json!({"command":"evidence.add","about":format!("T{number}"),"kind":"note","summary":text,"source":text}),
        );
        send(&mut world, "a", json!({"command":"refresh-state","next_action":text}));
        send(
            &mut world,
            "@ana",
            json!({"command":"gate.decide","gate":format!("G{number}"),"outcome":{"is":"reject"},"why":text}),
        );
    }
    let state = world.ledger.replay(world.head(), &mut |_, _| {}).unwrap();
    assert_eq!(&state, world.state());
    let goal = state.goals.values().next().unwrap();
    assert_eq!(goal.objective.as_str(), HOSTILE[HOSTILE.len() - 1]);
    let criteria: Vec<&str> = goal.criteria.values().map(|criterion| criterion.text.as_str()).collect();
    let titles: Vec<&str> = state.todos.values().map(|todo| todo.spec.title.as_str()).collect();
    let checks: Vec<&str> = state.todos.values().map(|todo| todo.spec.check[1].as_str()).collect();
    let summaries: Vec<&str> = state.evidence.values().map(|evidence| evidence.summary.as_str()).collect();
    for found in [criteria, titles, checks, summaries] {
        assert_eq!(found, HOSTILE);
    }
}
