//! The schema as serde tells it: which fields it knows, and every place in a value.

use serde_json::Value;

/// The names that an error about an unknown field or variant says were expected.
pub fn expected(error: &str) -> Vec<String> {
    let (_, list) = error.split_once("expected").unwrap_or_else(|| panic!("no list in {error}"));
    list.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// A step to a place in a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Key(String),
    Index(usize),
}

/// Every place in `value`, the outermost first.
pub fn places(value: &Value) -> Vec<Vec<Step>> {
    let mut found = vec![Vec::new()];
    let below: Vec<(Step, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, value)| (Step::Key(key.clone()), value)).collect(),
        Value::Array(list) => {
            list.iter().enumerate().map(|(index, value)| (Step::Index(index), value)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    for (step, value) in below {
        for mut rest in places(value) {
            rest.insert(0, step.clone());
            found.push(rest);
        }
    }
    found
}

/// What stands at a place.
pub fn at<'v>(value: &'v mut Value, place: &[Step]) -> &'v mut Value {
    place.iter().fold(value, |value, step| match step {
        Step::Key(key) => &mut value[key.as_str()],
        Step::Index(index) => &mut value[*index],
    })
}

/// Strings that break weak writers and renderers.
pub const HOSTILE: [&str; 9] = [
    "two\nlines",
    "line\u{2028}separator",
    "\u{1b}[31mred\u{1b}]0;title\u{7}",
    "nul\0inside",
    "🙂 名前 e\u{301}",
    "\u{202e}backwards",
    "``` # heading - [ ] todo",
    "{\"command\":\"goal.abandon\"}",
    "quote \" backslash \\ slash / tab\t del\u{7f}",
];
