//! The smallest parts of a line: fixed text, numbers, digests, names.

use super::frame::{FrameError, FrameFault};
use crate::hash::Hash;
use crate::limits::{ACTOR_MAX_BYTES, REQUEST_MAX_BYTES, SEQ_MAX, SLUG_MAX_BYTES};

/// Length of a digest in hex.
const HEX_BYTES: usize = 64;

/// The characters of a slug; which names are reserved is not a matter of the record.
pub(super) fn is_actor(text: &[u8]) -> bool {
    let Some(name) = text.strip_prefix(b"agent/").or_else(|| text.strip_prefix(b"owner/")) else {
        return text == b"system";
    };
    name.len() <= SLUG_MAX_BYTES
        && name.first().is_some_and(u8::is_ascii_alphanumeric)
        && name.last().is_some_and(|last| *last != b'.')
        && name.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

pub(super) fn is_request(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_alphanumeric)
        && text.iter().fold(true, |all, b| all & may_request(*b))
}

/// Whether a request id may hold this byte, told without a branch: there are a few dozen of them in every record.
fn may_request(byte: u8) -> bool {
    #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
    const MAY: [bool; 256] = {
        let mut may = [false; 256];
        let mut byte = 0_u8;
        while byte < 128 {
            may[byte as usize] = byte.is_ascii_alphanumeric()
                || matches!(byte, b'.' | b'_' | b'-' | b':' | b'/' | b'@' | b'+' | b'=');
            byte += 1;
        }
        may
    };
    MAY.get(usize::from(byte)).copied().unwrap_or(false)
}

/// [`Hash::from_hex`] without a branch per digit, in steps that the compiler turns into operations on many digits at
/// once: three digests a record are a good part of the cost of parsing it.
fn unhex(digits: &[u8]) -> Option<Hash> {
    let digits: &[u8; HEX_BYTES] = digits.try_into().ok()?;
    let mut values = [0_u8; HEX_BYTES];
    let mut bad = 0_u8;
    for (value, digit) in values.iter_mut().zip(digits) {
        let (decimal, letter) = (digit.wrapping_sub(b'0'), digit.wrapping_sub(b'a'));
        *value = if decimal < 10 { decimal } else { letter.wrapping_add(10) };
        bad |= u8::from((decimal >= 10) & (letter >= 6));
    }
    let mut out = [0; 32];
    for (byte, pair) in out.iter_mut().zip(values.chunks_exact(2)) {
        let [high, low] = *pair else { return None };
        *byte = high << 4 | low;
    }
    (bad == 0).then_some(Hash(out))
}

/// A line, and how far it has been read.
pub(super) struct Lexer<'a> {
    line: &'a [u8],
    /// The offset of the next byte.
    pub at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) const fn new(line: &'a [u8]) -> Self {
        Self { line, at: 0 }
    }

    fn rest(&self) -> &'a [u8] {
        self.line.get(self.at..).unwrap_or_default()
    }

    pub(super) fn literal(&mut self, text: &'static str) -> Result<(), FrameError> {
        if !self.rest().starts_with(text.as_bytes()) {
            return Err(FrameError { offset: self.at, fault: FrameFault::Spelling(text) });
        }
        self.at += text.len();
        Ok(())
    }

    pub(super) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.rest().get(..count)?;
        self.at += count;
        Some(taken)
    }

    pub(super) fn number(&mut self, name: &'static str) -> Result<u64, FrameError> {
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

    pub(super) fn hex(&mut self, name: &'static str) -> Result<Hash, FrameError> {
        let error = FrameError { offset: self.at, fault: FrameFault::Hex(name) };
        self.bytes(HEX_BYTES).and_then(unhex).ok_or(error)
    }

    /// The text up to the next quote, at most 128 bytes, if `accepts` it.
    pub(super) fn text(
        &mut self,
        accepts: fn(&[u8]) -> bool,
        fault: FrameFault,
    ) -> Result<&'a str, FrameError> {
        const LONGEST: usize =
            if ACTOR_MAX_BYTES > REQUEST_MAX_BYTES { ACTOR_MAX_BYTES } else { REQUEST_MAX_BYTES };
        let error = FrameError { offset: self.at, fault };
        let length = self.rest().iter().take(LONGEST + 1).position(|byte| *byte == b'"').ok_or(error)?;
        let text = self.bytes(length).filter(|text| accepts(text)).ok_or(error)?;
        std::str::from_utf8(text).map_err(|_| error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_at_every_place_of_a_digest_is_told_as_the_plain_reader_tells_it() {
        let text = Hash::blob(b"abc").to_hex().into_bytes();
        for at in 0..HEX_BYTES {
            for byte in 0..=255 {
                let mut other = text.clone();
                other[at] = byte;
                assert_eq!(unhex(&other), Hash::from_hex(&other), "{byte} at {at}");
            }
        }
        assert_eq!((unhex(&text[1..]), unhex(b"")), (None, None));
    }

    #[test]
    fn every_byte_of_a_request_id_is_told_as_its_own_parser_tells_it() {
        for byte in 0..=255_u8 {
            let text = [b'a', byte, b'z'];
            let parsed = std::str::from_utf8(&text).ok().map(str::parse::<crate::id::RequestId>);
            assert_eq!(is_request(&text), parsed.is_some_and(|parsed| parsed.is_ok()), "{byte}");
            let first = [byte, b'z'];
            let parsed = std::str::from_utf8(&first).ok().map(str::parse::<crate::id::RequestId>);
            assert_eq!(is_request(&first), parsed.is_some_and(|parsed| parsed.is_ok()), "{byte} first");
        }
        assert!(!is_request(b""));
    }
}
