//! Views to text and JSON. Nothing here decides anything.

pub mod asking;
pub mod decision;
pub mod event;
pub mod judgment;
pub mod packet;
pub mod page;
pub mod room;
pub mod status;
pub mod thing;
pub mod voice;

use loopx::hash::Hash;
use loopx::id::Seq;
use serde_json::{Map, Value, json};

use crate::failure::Failure;

pub use voice::{Voice, quoted};

/// An answer, ready to be printed in either form.
#[derive(Debug, Clone, Default)]
pub struct Output {
    /// The answer's own keys.
    pub keys: Map<String, Value>,
    /// Lines for people, each ending with a line feed.
    pub text: String,
    /// The same in Markdown, where there is such a form.
    pub markdown: Option<String>,
    /// What a person should know besides, a line each.
    pub warnings: Vec<String>,
    /// The exit code.
    pub exit: u8,
    /// The record that the answer was made at.
    pub head: Option<(Seq, Hash)>,
}

impl Output {
    /// An answer of lines.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Adds a key.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.keys.insert(key.to_owned(), value.into());
        self
    }

    /// Says at which record it was made.
    #[must_use]
    pub fn at(mut self, seq: Seq, hash: Hash) -> Self {
        self.head = Some((seq, hash));
        self
    }

    /// Says what a person should know besides.
    #[must_use]
    pub fn warned(mut self, warning: Option<String>) -> Self {
        self.warnings.extend(warning);
        self
    }

    /// The one JSON document, in the envelope that every command has.
    pub fn document(&self, schema: &str) -> Value {
        let mut document = self.keys.clone();
        document.insert("schema".to_owned(), schema.into());
        document.insert("ok".to_owned(), true.into());
        if !self.warnings.is_empty() {
            document.insert("warnings".to_owned(), json!(self.warnings));
        }
        if let Some((seq, hash)) = self.head {
            document.insert("head".to_owned(), json!({"seq": seq, "hash": hash}));
        }
        Value::Object(document)
    }
}

/// The JSON document of a failure.
pub fn failure_document(schema: &str, failure: &Failure) -> Value {
    let mut document = json!({
        "schema": schema,
        "ok": false,
        "error": {
            "code": failure.code,
            "message": failure.message,
            "retryable": failure.retryable,
            "hint": failure.hint,
        },
        "error_code": failure.code,
    });
    if let (Some(keys), Some(reason)) = (document.as_object_mut(), &failure.reason) {
        keys.insert("reason_code".to_owned(), json!(reason));
    }
    document
}

/// A serialisable value as JSON; what cannot be written, which no type of this program is, becomes null.
pub fn value<T: serde::Serialize>(thing: &T) -> Value {
    serde_json::to_value(thing).unwrap_or(Value::Null)
}

/// A word of a closed set, spelled as in the log.
pub fn event_word<T: serde::Serialize>(thing: &T) -> String {
    match value(thing) {
        Value::String(word) => word,
        other => other.to_string(),
    }
}

/// `1 todo`, `3 todos`.
pub fn count(number: impl TryInto<u64>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// A list cut at `limit`, with the number that it really has.
pub fn cut<T>(list: &[T], limit: usize) -> (&[T], Option<String>) {
    match list.get(..limit) {
        Some(head) if head.len() < list.len() => {
            (head, Some(format!("… and {} more of {}", list.len() - head.len(), list.len())))
        }
        _ => (list, None),
    }
}
