//! Events to canonical bytes and back. The bytes are what stands between `[` and `]` in a record.

use serde_json::value::RawValue;

use super::Event;
use crate::json::check_canonical;
use crate::limits::{EVENT_BODY_MAX_BYTES, RECORD_EVENTS_MAX};

/// The schema version of every event kind so far.
pub const KIND_VERSION: u32 = 1;

/// Bytes of a record's body that are not events of this version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// A kind or a kind version that this program does not know: written by a newer one.
    #[error("event {index}: `{kind}` version {version} is newer than this program")]
    Newer {
        /// Position in the record, from 0.
        index: usize,
        /// The kind.
        kind: String,
        /// Its version.
        version: u32,
    },
    /// Not the canonical spelling, or a payload that breaks its schema.
    #[error("event {index}: {what}")]
    Malformed {
        /// Position in the record, from 0.
        index: usize,
        /// What is wrong.
        what: String,
    },
    /// More or larger than a record may hold.
    #[error("event {index}: {what}")]
    TooLarge {
        /// Position in the record, from 0.
        index: usize,
        /// What is too large.
        what: &'static str,
    },
}

/// Writes events in canonical form: compact, keys of a body in byte order.
///
/// # Errors
/// [`CodecError::TooLarge`] if the events do not fit a record, [`CodecError::Malformed`] if they hold a number that no
/// reader would take.
///
/// # Source
/// ledger-format.md, "Events".
pub fn encode(events: &[Event]) -> Result<Vec<u8>, CodecError> {
    let mut out = Vec::with_capacity(256 * events.len());
    if events.len() > RECORD_EVENTS_MAX {
        return Err(CodecError::TooLarge {
            index: RECORD_EVENTS_MAX,
            what: "a record holds at most 256 events",
        });
    }
    for (index, event) in events.iter().enumerate() {
        let malformed = |error: serde_json::Error| CodecError::Malformed { index, what: error.to_string() };
        // A `Value` keeps its keys in byte order, which is what makes the body canonical.
        let body = event.body().and_then(|value| serde_json::to_vec(&value)).map_err(malformed)?;
        if body.len() > EVENT_BODY_MAX_BYTES {
            return Err(CodecError::TooLarge { index, what: "an event body has at most 64 KiB; use a blob" });
        }
        // What could not be read back is never written.
        check_canonical(&body)
            .map_err(|error| CodecError::Malformed { index, what: format!("{}: {error}", event.kind()) })?;
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(b"{\"k\":\"");
        out.extend_from_slice(event.kind().as_bytes());
        out.extend_from_slice(format!("\",\"kv\":{KIND_VERSION},\"b\":").as_bytes());
        out.extend_from_slice(&body);
        out.push(b'}');
    }
    Ok(out)
}

/// The body of an event as JSON; null only if its types could not be written, which they can.
#[must_use]
pub fn body(event: &Event) -> serde_json::Value {
    event.body().unwrap_or_default()
}

/// Reads the events of a record, strictly: canonical spelling, known kinds, known fields.
///
/// # Errors
/// [`CodecError`], with the position of the event.
///
/// # Source
/// ledger-format.md, "Events".
pub fn decode(bytes: &[u8]) -> Result<Vec<Event>, CodecError> {
    let mut events = Vec::new();
    let mut rest = bytes;
    loop {
        let index = events.len();
        if index == RECORD_EVENTS_MAX {
            return Err(CodecError::TooLarge { index, what: "a record holds at most 256 events" });
        }
        let malformed = |what: &str| CodecError::Malformed { index, what: what.to_owned() };
        let item = Item::split(rest).ok_or_else(|| malformed("expected {\"k\":\"…\",\"kv\":…,\"b\":{…}}"))?;
        events.push(item.event(index)?);
        rest = match item.rest {
            [] => return Ok(events),
            [b',', more @ ..] => more,
            _ => return Err(malformed("expected a comma or the end")),
        };
    }
}

/// One `{"k":…,"kv":…,"b":…}` of the body, taken apart.
struct Item<'a> {
    kind: &'a str,
    version: u32,
    body: &'a str,
    rest: &'a [u8],
}

impl<'a> Item<'a> {
    fn split(bytes: &'a [u8]) -> Option<Self> {
        let text = bytes.strip_prefix(b"{\"k\":\"")?;
        let quote = text.iter().position(|&byte| byte == b'"')?;
        let (kind, text) = text.split_at_checked(quote)?;
        let text = text.strip_prefix(b"\",\"kv\":")?;
        let comma = text.iter().position(|&byte| byte == b',')?;
        let (version, text) = text.split_at_checked(comma)?;
        let text = text.strip_prefix(b",\"b\":")?;
        let mut bodies = serde_json::Deserializer::from_slice(text).into_iter::<&RawValue>();
        let body = bodies.next()?.ok()?;
        let rest = text.get(bodies.byte_offset()..)?.strip_prefix(b"}")?;
        let version = std::str::from_utf8(version).ok()?;
        if version.starts_with('0') || !version.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        Some(Self {
            kind: std::str::from_utf8(kind).ok()?,
            version: version.parse().ok()?,
            body: body.get(),
            rest,
        })
    }

    fn event(&self, index: usize) -> Result<Event, CodecError> {
        if self.body.len() > EVENT_BODY_MAX_BYTES {
            return Err(CodecError::TooLarge { index, what: "an event body has at most 64 KiB" });
        }
        check_canonical(self.body.as_bytes())
            .map_err(|error| CodecError::Malformed { index, what: format!("{}: {error}", self.kind) })?;
        let newer = || CodecError::Newer { index, kind: self.kind.to_owned(), version: self.version };
        if self.version != KIND_VERSION {
            return Err(newer());
        }
        let decoded = Event::from_body(self.kind, self.body).ok_or_else(newer)?;
        decoded.map_err(|error| CodecError::Malformed { index, what: format!("{}: {error}", self.kind) })
    }
}
