//! The line: one record in its one spelling, written and parsed by hand because it runs over every record.

use std::io::Write;

use crate::hash::Hash;
use crate::id::{Actor, RequestId, Seq};
use crate::limits::{ACTOR_MAX_BYTES, RECORD_MAX_BYTES, REQUEST_MAX_BYTES, SEQ_MAX, SLUG_MAX_BYTES};
use crate::time::{TIMESTAMP_BYTES, Timestamp};

/// The version of the envelope that this program writes.
pub const VERSION: u64 = 1;

/// Length of the end of a line that its hash leaves out: `,"hash":"`, 64 hex digits, `"}`.
pub const SUFFIX_BYTES: usize = 75;

const HASH_KEY: &[u8] = b",\"hash\":\"";
const HEX_BYTES: usize = 64;

/// A record about to be written.
#[derive(Debug, Clone, Copy)]
pub struct Draft<'a> {
    /// Its sequence number: the head's plus one.
    pub seq: Seq,
    /// The head's hash.
    pub prev: Hash,
    /// The highest sequence number that its writer knows to be durable.
    pub dur: Seq,
    /// Ledger time: not before the head's.
    pub ts: Timestamp,
    /// Who caused it.
    pub actor: &'a Actor,
    /// The request that caused it.
    pub request: &'a RequestId,
    /// The digest of that request, so that a repeat is told from a reuse of its id.
    pub digest: Hash,
    /// The events: canonical JSON objects with commas between, without the enclosing brackets.
    pub events: &'a [u8],
}

impl Draft<'_> {
    /// Appends the line, line feed included, to `out`, and returns the record's hash.
    ///
    /// # Errors
    /// [`FrameError`] if the record breaks a limit or holds a control character; `out` is then as it was.
    ///
    /// # Source
    /// ledger-format.md, "Record".
    pub fn write(&self, out: &mut Vec<u8>) -> Result<Hash, FrameError> {
        let start = out.len();
        let written = self.write_checked(out, start);
        if written.is_err() {
            out.truncate(start);
        }
        written
    }

    fn write_checked(&self, out: &mut Vec<u8>, start: usize) -> Result<Hash, FrameError> {
        if self.seq == Seq::ZERO || self.seq.0 > SEQ_MAX {
            return Err(FrameError { offset: 0, fault: FrameFault::Number("seq") });
        }
        if self.dur >= self.seq {
            return Err(FrameError { offset: 0, fault: FrameFault::Number("dur") });
        }
        let head = write!(
            out,
            "{{\"v\":{VERSION},\"seq\":{},\"prev\":\"{}\",\"dur\":{},\"ts\":\"{}\",\"actor\":\"{}\",\"req\":\"{}\",\"digest\":\"{}\",\"ev\":[",
            self.seq, self.prev, self.dur, self.ts, self.actor, self.request, self.digest
        );
        let events = out.len() - start;
        if head.is_err() || self.events.is_empty() {
            return Err(FrameError { offset: events, fault: FrameFault::Events });
        }
        if let Some(at) = self.events.iter().position(|byte| *byte < b' ') {
            return Err(FrameError { offset: events + at, fault: FrameFault::Events });
        }
        out.extend_from_slice(self.events);
        out.push(b']');
        let hash = Hash::record(out.get(start..).unwrap_or_default());
        out.extend_from_slice(HASH_KEY);
        out.extend_from_slice(hash.to_hex().as_bytes());
        out.extend_from_slice(b"\"}\n");
        if out.len() - start > RECORD_MAX_BYTES {
            return Err(FrameError { offset: RECORD_MAX_BYTES, fault: FrameFault::TooLong });
        }
        Ok(hash)
    }
}

/// A line that is not a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}: {fault}")]
pub struct FrameError {
    /// Offset of the fault, from the start of the line.
    pub offset: usize,
    /// What is wrong there.
    pub fault: FrameFault,
}

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameFault {
    /// Longer than [`RECORD_MAX_BYTES`].
    #[error("longer than 1048576 bytes")]
    TooLong,
    /// A fixed part of the envelope is spelled otherwise.
    #[error("`{0}` is due here")]
    Spelling(&'static str),
    /// A number is out of its range, or not in its one spelling.
    #[error("`{0}` is not a number in its range")]
    Number(&'static str),
    /// A digest is not 64 lower-case hex digits.
    #[error("`{0}` is not 64 lower-case hex digits")]
    Hex(&'static str),
    /// The time is not in the fixed form.
    #[error("`ts` is not a time in the fixed form")]
    Time,
    /// The actor is not `system`, `agent/NAME` or `owner/NAME`.
    #[error("`actor` is not `system`, `agent/NAME` or `owner/NAME`")]
    Actor,
    /// The request id holds another character, or is too long.
    #[error("`req` is not a request id")]
    Request,
    /// No event, or a control character among them.
    #[error("`ev` is empty or holds a control character")]
    Events,
    /// The record is of a version that this program does not know.
    #[error("the record is of version {0}, this program knows version 1")]
    Newer(u64),
}

/// Parses one line, given without its line feed. Proves its spelling, not yet its hash.
///
/// # Errors
/// [`FrameError`] with the offset of the first fault. [`FrameFault::Newer`] says no more than what the line claims:
/// check it with [`suffix_holds`].
pub fn parse(line: &[u8]) -> Result<Unverified<'_>, FrameError> {
    if line.len() >= RECORD_MAX_BYTES {
        return Err(FrameError { offset: RECORD_MAX_BYTES, fault: FrameFault::TooLong });
    }
    let mut cursor = Cursor { line, at: 0 };
    cursor.literal("{\"v\":")?;
    match cursor.number("v")? {
        VERSION => {}
        0 => return Err(FrameError { offset: 5, fault: FrameFault::Number("v") }),
        newer => return Err(FrameError { offset: 5, fault: FrameFault::Newer(newer) }),
    }
    cursor.literal(",\"seq\":")?;
    let at = cursor.at;
    let seq = Seq(cursor.number("seq")?);
    if seq == Seq::ZERO {
        return Err(FrameError { offset: at, fault: FrameFault::Number("seq") });
    }
    cursor.literal(",\"prev\":\"")?;
    let prev = cursor.hex("prev")?;
    cursor.literal("\",\"dur\":")?;
    let at = cursor.at;
    let dur = Seq(cursor.number("dur")?);
    if dur >= seq {
        return Err(FrameError { offset: at, fault: FrameFault::Number("dur") });
    }
    cursor.literal(",\"ts\":\"")?;
    let at = cursor.at;
    let ts = cursor
        .bytes(TIMESTAMP_BYTES)
        .and_then(Timestamp::parse_fixed)
        .ok_or(FrameError { offset: at, fault: FrameFault::Time })?;
    cursor.literal("\",\"actor\":\"")?;
    let actor = cursor.text(is_actor, FrameFault::Actor)?;
    cursor.literal("\",\"req\":\"")?;
    let request = cursor.text(is_request, FrameFault::Request)?;
    cursor.literal("\",\"digest\":\"")?;
    let digest = cursor.hex("digest")?;
    cursor.literal("\",\"ev\":[")?;
    let start = cursor.at;
    let (preimage, hash) = split(line)?;
    let events = preimage
        .get(start..)
        .and_then(|rest| rest.strip_suffix(b"]"))
        .filter(|events| !events.is_empty())
        .ok_or(FrameError { offset: start, fault: FrameFault::Events })?;
    let record = Record { seq, prev, dur, ts, actor, request, digest, events, hash, line };
    Ok(Unverified { record, preimage })
}

/// Whether the hash at the end of `line` holds, whatever the version of its envelope.
#[must_use]
pub fn suffix_holds(line: &[u8]) -> bool {
    split(line).is_ok_and(|(preimage, hash)| Hash::record(preimage) == hash)
}

/// Splits a line into what its hash covers and the hash that it carries.
fn split(line: &[u8]) -> Result<(&[u8], Hash), FrameError> {
    let at = line.len().saturating_sub(SUFFIX_BYTES);
    let (preimage, suffix) = line.split_at_checked(at).unwrap_or_default();
    let mut cursor = Cursor { line: suffix, at: 0 };
    let parsed = cursor.literal(",\"hash\":\"").and_then(|()| cursor.hex("hash"));
    let hash = parsed.and_then(|hash| cursor.literal("\"}").map(|()| hash));
    match hash {
        Ok(hash) => Ok((preimage, hash)),
        Err(error) => Err(FrameError { offset: at + error.offset, fault: error.fault }),
    }
}

/// A line with the spelling of a record, whose hash has not been checked.
#[derive(Debug, Clone, Copy)]
pub struct Unverified<'a> {
    record: Record<'a>,
    preimage: &'a [u8],
}

impl<'a> Unverified<'a> {
    /// Checks the hash over the stored bytes.
    ///
    /// # Errors
    /// [`HashMismatch`] if the bytes are not the ones that were hashed.
    pub fn verify(self) -> Result<Record<'a>, HashMismatch> {
        let computed = Hash::record(self.preimage);
        if computed == self.record.hash {
            Ok(self.record)
        } else {
            Err(HashMismatch { seq: self.record.seq, stored: self.record.hash, computed })
        }
    }
}

/// A line whose bytes are not the ones that its hash was computed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("record {seq} carries the hash {}, its bytes have {}", stored.short(), computed.short())]
pub struct HashMismatch {
    /// The sequence number that it claims.
    pub seq: Seq,
    /// The hash at the end of the line.
    pub stored: Hash,
    /// The hash of the bytes before it.
    pub computed: Hash,
}

/// A record whose hash holds. It borrows its line, and comes only from [`Unverified::verify`].
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    seq: Seq,
    prev: Hash,
    dur: Seq,
    ts: Timestamp,
    actor: &'a str,
    request: &'a str,
    digest: Hash,
    events: &'a [u8],
    hash: Hash,
    line: &'a [u8],
}

impl<'a> Record<'a> {
    /// Its sequence number.
    #[must_use]
    pub const fn seq(&self) -> Seq {
        self.seq
    }

    /// The hash of its predecessor.
    #[must_use]
    pub const fn prev(&self) -> Hash {
        self.prev
    }

    /// The highest sequence number that its writer knew to be durable.
    #[must_use]
    pub const fn dur(&self) -> Seq {
        self.dur
    }

    /// Ledger time.
    #[must_use]
    pub const fn ts(&self) -> Timestamp {
        self.ts
    }

    /// Who caused it: the spelling of an [`Actor`], whose name may still be one that is reserved today.
    #[must_use]
    pub const fn actor(&self) -> &'a str {
        self.actor
    }

    /// The request that caused it: the spelling of a [`RequestId`].
    #[must_use]
    pub const fn request(&self) -> &'a str {
        self.request
    }

    /// The digest of that request.
    #[must_use]
    pub const fn digest(&self) -> Hash {
        self.digest
    }

    /// The stored bytes of its events, without the enclosing brackets.
    #[must_use]
    pub const fn events(&self) -> &'a [u8] {
        self.events
    }

    /// Its own hash.
    #[must_use]
    pub const fn hash(&self) -> Hash {
        self.hash
    }

    /// The whole line, without its line feed.
    #[must_use]
    pub const fn line(&self) -> &'a [u8] {
        self.line
    }

    /// Whether it seals the segment that starts at `segment`: by `system`, with that segment's [`seal_request`].
    #[must_use]
    pub fn seals(&self, segment: Seq) -> bool {
        self.actor == "system"
            && self.request.strip_prefix(SEAL_PREFIX).is_some_and(|first| first.parse() == Ok(segment.0))
    }
}

const SEAL_PREFIX: &str = "seal-";

/// The request id of the record that seals the segment starting at `segment`. No other record of the actor `system`
/// may carry it: this is how a log, which knows no event, tells a seal.
///
/// # Errors
/// None in practice; the id is parsed like any other.
pub fn seal_request(segment: Seq) -> Result<RequestId, crate::id::BadId> {
    format!("{SEAL_PREFIX}{segment}").parse()
}

/// The characters of a slug; which names are reserved is not a matter of the record.
fn is_actor(text: &[u8]) -> bool {
    let Some(name) = text.strip_prefix(b"agent/").or_else(|| text.strip_prefix(b"owner/")) else {
        return text == b"system";
    };
    name.len() <= SLUG_MAX_BYTES
        && name.first().is_some_and(u8::is_ascii_alphanumeric)
        && name.last().is_some_and(|last| *last != b'.')
        && name.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

fn is_request(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_alphanumeric)
        && text.iter().all(|b| {
            b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b':' | b'/' | b'@' | b'+' | b'=')
        })
}

/// [`Hash::from_hex`] without a branch per digit: three digests a record are a good part of the cost of parsing it.
fn unhex(digits: &[u8]) -> Option<Hash> {
    const BAD: u8 = 0xff;
    #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
    const VALUES: [u8; 256] = {
        let mut values = [BAD; 256];
        let mut value = 0_u8;
        while value < 16 {
            let digit = if value < 10 { b'0' + value } else { b'a' + value - 10 };
            values[digit as usize] = value;
            value += 1;
        }
        values
    };
    let value = |digit: u8| VALUES.get(usize::from(digit)).copied().unwrap_or(BAD);
    let digits: &[u8; HEX_BYTES] = digits.try_into().ok()?;
    let mut out = [0; 32];
    let mut seen = 0;
    for (byte, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = *pair else { return None };
        let (high, low) = (value(high), value(low));
        seen |= high | low;
        *byte = high << 4 | (low & 0xf);
    }
    (seen < 16).then_some(Hash(out))
}

struct Cursor<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a [u8] {
        self.line.get(self.at..).unwrap_or_default()
    }

    fn literal(&mut self, text: &'static str) -> Result<(), FrameError> {
        if !self.rest().starts_with(text.as_bytes()) {
            return Err(FrameError { offset: self.at, fault: FrameFault::Spelling(text) });
        }
        self.at += text.len();
        Ok(())
    }

    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.rest().get(..count)?;
        self.at += count;
        Some(taken)
    }

    fn number(&mut self, name: &'static str) -> Result<u64, FrameError> {
        let error = FrameError { offset: self.at, fault: FrameFault::Number(name) };
        let mut value = 0_u64;
        let mut digits = 0;
        for digit in self.rest().iter().take_while(|byte| byte.is_ascii_digit()).take(17) {
            value = value * 10 + u64::from(digit - b'0');
            digits += 1;
        }
        let padded = digits > 1 && self.rest().first() == Some(&b'0');
        if digits == 0 || padded || value > SEQ_MAX {
            return Err(error);
        }
        self.at += digits;
        Ok(value)
    }

    fn hex(&mut self, name: &'static str) -> Result<Hash, FrameError> {
        let error = FrameError { offset: self.at, fault: FrameFault::Hex(name) };
        self.bytes(HEX_BYTES).and_then(unhex).ok_or(error)
    }

    /// The text up to the next quote, at most 128 bytes, if `accepts` it.
    fn text(&mut self, accepts: fn(&[u8]) -> bool, fault: FrameFault) -> Result<&'a str, FrameError> {
        const LONGEST: usize =
            if ACTOR_MAX_BYTES > REQUEST_MAX_BYTES { ACTOR_MAX_BYTES } else { REQUEST_MAX_BYTES };
        let error = FrameError { offset: self.at, fault };
        let length = self.rest().iter().take(LONGEST + 1).position(|byte| *byte == b'"').ok_or(error)?;
        let text = self.bytes(length).filter(|text| accepts(text)).ok_or(error)?;
        std::str::from_utf8(text).map_err(|_| error)
    }
}
