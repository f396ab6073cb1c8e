//! The line: one record in its one spelling, written and parsed by hand because it runs over every record.

use std::io::Write;

use super::lexer::{Lexer, is_actor, is_request};
use crate::hash::Hash;
use crate::id::{Actor, RequestId, Seq};
use crate::limits::{RECORD_MAX_BYTES, SEQ_MAX};
use crate::time::{TIMESTAMP_BYTES, Timestamp};

/// The version of the envelope that this program writes.
pub const VERSION: u64 = 1;

/// Length of the end of a line that its hash leaves out: `,"hash":"`, 64 hex digits, `"}`.
pub const SUFFIX_BYTES: usize = 75;

const HASH_KEY: &[u8] = b",\"hash\":\"";

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
    let mut lexer = Lexer::new(line);
    lexer.literal("{\"v\":")?;
    match lexer.number("v")? {
        VERSION => {}
        0 => return Err(FrameError { offset: 5, fault: FrameFault::Number("v") }),
        newer => return Err(FrameError { offset: 5, fault: FrameFault::Newer(newer) }),
    }
    lexer.literal(",\"seq\":")?;
    let at = lexer.at;
    let seq = Seq(lexer.number("seq")?);
    if seq == Seq::ZERO {
        return Err(FrameError { offset: at, fault: FrameFault::Number("seq") });
    }
    lexer.literal(",\"prev\":\"")?;
    let prev = lexer.hex("prev")?;
    lexer.literal("\",\"dur\":")?;
    let at = lexer.at;
    let dur = Seq(lexer.number("dur")?);
    if dur >= seq {
        return Err(FrameError { offset: at, fault: FrameFault::Number("dur") });
    }
    lexer.literal(",\"ts\":\"")?;
    let at = lexer.at;
    let ts = lexer
        .bytes(TIMESTAMP_BYTES)
        .and_then(Timestamp::parse_fixed)
        .ok_or(FrameError { offset: at, fault: FrameFault::Time })?;
    lexer.literal("\",\"actor\":\"")?;
    let actor = lexer.text(is_actor, FrameFault::Actor)?;
    lexer.literal("\",\"req\":\"")?;
    let request = lexer.text(is_request, FrameFault::Request)?;
    lexer.literal("\",\"digest\":\"")?;
    let digest = lexer.hex("digest")?;
    lexer.literal("\",\"ev\":[")?;
    let start = lexer.at;
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
    let mut lexer = Lexer::new(suffix);
    let parsed = lexer.literal(",\"hash\":\"").and_then(|()| lexer.hex("hash"));
    let hash = parsed.and_then(|hash| lexer.literal("\"}").map(|()| hash));
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
    /// The sequence number that the line carries, true or not: good for finding a line, not for believing it.
    #[must_use]
    pub const fn claimed_seq(self) -> Seq {
        self.record.seq
    }

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
#[error("the hash is {}, the bytes have {}", stored.short(), computed.short())]
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
            && self.request.strip_prefix(SEAL_PREFIX).is_some_and(|first| first == segment.to_string())
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
