//! Room for an answer: agents pay for every word of `next`, and schedulers read `quota should-run` every few minutes.

use loopx::project::brief::{fit_bytes, fit_tokens, tokens};
use loopx::project::escape::terminal;
use serde_json::{Map, Value};

/// Most tokens of the answer of `next`, beside options that its caller typed and that its commands repeat.
pub const NEXT_TOKENS: usize = 120;

/// Most bytes of the document of `quota should-run`.
pub const SHOULD_RUN_BYTES: usize = 2_048;

/// What every document has beside its own keys: schema, `ok`, head, and the end of the line.
const ENVELOPE_BYTES: usize = 180;

/// How much of each free text and of each list has room.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    words: usize,
    items: usize,
}

/// From everything down to next to nothing.
const ROOMS: [Room; 10] = [
    Room { words: usize::MAX, items: 8 },
    Room { words: 60, items: 5 },
    Room { words: 40, items: 3 },
    Room { words: 30, items: 2 },
    Room { words: 24, items: 1 },
    Room { words: 16, items: 1 },
    Room { words: 12, items: 1 },
    Room { words: 11, items: 1 },
    Room { words: 6, items: 1 },
    Room { words: 3, items: 1 },
];

impl Room {
    /// What someone wrote, escaped, as far as there is room.
    pub fn text(self, text: &str) -> String {
        fit_tokens(&terminal(text), self.words)
    }

    /// How many entries of a list have room.
    pub const fn items(self) -> usize {
        self.items
    }

    /// Whether there is room for names only, beside one text.
    pub const fn is_bare(self) -> bool {
        self.words < 12
    }

    /// Names, with how many more there are.
    pub fn list<T: ToString>(self, names: &[T]) -> String {
        let shown: Vec<String> =
            names.iter().take(self.items).map(|name| self.text(&name.to_string())).collect();
        let left = names.len().saturating_sub(self.items);
        let more = if left == 0 { String::new() } else { format!(" + {left} more") };
        format!("{}{more}", shown.join(", "))
    }
}

/// The fullest of an answer's forms that costs at most [`NEXT_TOKENS`]; the barest if none does.
pub fn within(render: impl Fn(Room) -> String) -> String {
    let mut answer = String::new();
    for room in ROOMS {
        answer = render(room);
        if tokens(&answer) <= NEXT_TOKENS {
            break;
        }
    }
    answer
}

/// Texts that people wrote, by their keys; they are cut first. Any other may be cut down to [`NAME_BYTES`].
const TEXTS: [&str; 9] =
    ["title", "done_when", "reason", "question", "target", "repair", "check", "facts", "write"];

/// What is never cut: commands, of which a part is none, and what programs compare.
const KEPT: [&str; 6] =
    ["primary_action", "next_cli_actions", "next_commands", "hash", "reset_token", "cadence_minutes"];

/// No name and no word of a closed set is longer.
const NAME_BYTES: usize = 64;

/// Longest text in bytes, and longest list.
const CUTS: [(usize, usize); 7] = [(usize::MAX, 20), (300, 8), (160, 4), (100, 3), (60, 2), (32, 1), (16, 1)];

/// Where texts are cut this short, what the todo is beside its title is left out.
const BARE_BYTES: usize = 60;

/// Cuts long texts and lists of a document so that it has at most [`SHOULD_RUN_BYTES`]. `shortened` then says of each
/// how long it really is: lists in entries, texts in bytes, objects in fields.
pub fn bound(keys: &mut Map<String, Value>) {
    for (bytes, items) in CUTS {
        let mut cut = Cut { bytes, items, shortened: Map::new() };
        let mut shorter = Value::Object(keys.clone());
        cut.visit("", &mut shorter);
        let Value::Object(mut shorter) = shorter else { return };
        // `selected_todo` says which one it is.
        if bytes <= BARE_BYTES
            && let Some(Value::Object(todo)) = shorter.remove("todo")
        {
            cut.shortened.insert("todo".to_owned(), todo.len().into());
        }
        if !cut.shortened.is_empty() {
            shorter.insert("shortened".to_owned(), Value::Object(cut.shortened));
        }
        let last = CUTS.last() == Some(&(bytes, items));
        if size(&shorter) <= SHOULD_RUN_BYTES - ENVELOPE_BYTES || last {
            *keys = shorter;
            return;
        }
    }
}

/// Cuts only lists, at 20 entries.
pub fn bound_lists(keys: &mut Map<String, Value>) {
    let mut cut = Cut { bytes: usize::MAX, items: 20, shortened: Map::new() };
    keys.iter_mut().for_each(|(key, value)| cut.visit(key, value));
    if !cut.shortened.is_empty() {
        keys.insert("shortened".to_owned(), Value::Object(cut.shortened));
    }
}

/// Bytes of a document as it is printed: what could move a cursor takes up to twelve.
fn size(keys: &Map<String, Value>) -> usize {
    let text = Value::Object(keys.clone()).to_string();
    let unsafe_chars = text.chars().filter(|c| loopx::project::escape::is_unsafe(*c)).count();
    text.len() + unsafe_chars * 10
}

struct Cut {
    bytes: usize,
    items: usize,
    shortened: Map<String, Value>,
}

impl Cut {
    fn visit(&mut self, key: &str, value: &mut Value) {
        match value {
            Value::String(text) => {
                let limit = if TEXTS.contains(&key) { self.bytes } else { self.bytes.max(NAME_BYTES) };
                if text.len() > limit && !KEPT.contains(&key) {
                    self.shortened.entry(key.to_owned()).or_insert_with(|| text.len().into());
                    *text = fit_bytes(text, limit);
                }
            }
            Value::Array(list) => {
                if list.len() > self.items && key != "cadence_minutes" {
                    self.shortened.insert(key.to_owned(), list.len().into());
                    list.truncate(self.items);
                }
                list.iter_mut().for_each(|value| self.visit(key, value));
            }
            Value::Object(fields) => fields.iter_mut().for_each(|(key, value)| self.visit(key, value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_takes_the_fullest_form_that_has_room() {
        let long = "word ".repeat(500);
        let said = within(|room| format!("RUN T1  {}  {}", room.text(&long), room.list(&[1, 2, 3, 4])));
        assert_eq!(said, format!("RUN T1  {}…  1, 2, 3, 4", "word ".repeat(59).trim_end()));
        let many = [0; 7];
        let said = within(|room| format!("{}  {}  {}", room.text(&long), room.text(&long), room.list(&many)));
        assert_eq!(said, format!("{0}…  {0}…  0, 0, 0 + 4 more", "word ".repeat(39).trim_end()));
        assert_eq!(within(|room| format!("DONE {}", room.text("short"))), "DONE short");
    }

    #[test]
    fn a_document_says_how_long_what_was_cut_really_is() {
        let ids: Vec<String> = (0..500).map(|number| format!("T{number}")).collect();
        let mut keys = Map::new();
        keys.insert("todo".to_owned(), json!({"title": "é".repeat(4_000), "id": "T1"}));
        keys.insert("wake".to_owned(), json!({"on": ids}));
        keys.insert("new_in_a_later_version".to_owned(), json!({"said": "x".repeat(4_000)}));
        keys.insert("next_cli_actions".to_owned(), json!(["x".repeat(700)]));
        bound(&mut keys);
        assert!(size(&keys) <= SHOULD_RUN_BYTES - ENVELOPE_BYTES);
        assert_eq!(keys["shortened"], json!({"on": 500, "said": 4_000, "title": 8_000}));
        assert_eq!(keys["wake"]["on"], json!(ids[..8]));
        assert!(keys["todo"]["title"].as_str().unwrap().ends_with('…'));
        assert_eq!(keys["next_cli_actions"][0].as_str().unwrap().len(), 700, "a command is never cut");
    }
}
