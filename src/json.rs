//! Canonical JSON: the one spelling in which a value may be stored.
//!
//! Checked, not parsed: [`check_canonical`] runs over every event body at replay, so it makes one pass and
//! allocates nothing.

use crate::limits::{INTEGER_MAX, JSON_DEPTH_MAX};

/// Bytes that are not canonical JSON: where, and which rule they break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}: {rule}")]
pub struct CanonicalError {
    /// Offset of the first byte that breaks the rule, from the start of the value.
    pub offset: usize,
    /// The rule.
    pub rule: CanonicalRule,
}

/// The rules of canonical JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CanonicalRule {
    /// Text is UTF-8.
    #[error("text is UTF-8")]
    Utf8,
    /// A value ends where it should, with nothing missing and nothing after it.
    #[error("the value is cut short or followed by something else")]
    Extent,
    /// No white space outside strings, no unknown literal, no missing separator.
    #[error("compact JSON has no other byte here")]
    Syntax,
    /// Keys are printable ASCII without quote and backslash.
    #[error("a key is printable ASCII without quote and backslash")]
    Key,
    /// Keys rise strictly, so none is repeated.
    #[error("keys rise strictly in byte order")]
    KeyOrder,
    /// Numbers are integers without leading zero, negative zero, fraction or exponent.
    #[error("a number is an integer without leading zero, negative zero, fraction or exponent")]
    Integer,
    /// Integers lie within ±(2^53 - 1).
    #[error("an integer lies within 2^53 - 1")]
    Range,
    /// Strings escape the quote, the backslash and control characters, in one way, and nothing else.
    #[error("a string escapes quote, backslash and control characters in their one way, and nothing else")]
    Escape,
    /// Containers nest at most [`JSON_DEPTH_MAX`] deep.
    #[error("containers nest at most 32 deep")]
    Depth,
}

/// Accepts exactly one canonical JSON value.
///
/// # Errors
/// [`CanonicalError`] names the first offending byte; the caller refuses the value.
///
/// # Source
/// ledger-format.md, "Canonical JSON".
pub fn check_canonical(bytes: &[u8]) -> Result<(), CanonicalError> {
    if let Err(error) = std::str::from_utf8(bytes) {
        return Err(CanonicalError { offset: error.valid_up_to(), rule: CanonicalRule::Utf8 });
    }
    let mut check = Check { bytes, at: 0, open: [Frame::Array; JSON_DEPTH_MAX], depth: 0 };
    check.document()
}

/// An open container: an array, or an object with its latest key.
#[derive(Clone, Copy)]
enum Frame<'a> {
    Array,
    Object(&'a [u8]),
}

struct Check<'a> {
    bytes: &'a [u8],
    at: usize,
    open: [Frame<'a>; JSON_DEPTH_MAX],
    depth: usize,
}

impl<'a> Check<'a> {
    fn document(&mut self) -> Result<(), CanonicalError> {
        loop {
            let opened = self.value()?;
            if !opened && self.close()? {
                return if self.at == self.bytes.len() {
                    Ok(())
                } else {
                    Err(self.error(CanonicalRule::Extent))
                };
            }
        }
    }

    /// Reads a scalar or an empty container, or opens a container up to its first value (then true).
    fn value(&mut self) -> Result<bool, CanonicalError> {
        match self.peek() {
            Some(b'"') => self.string().map(|()| false),
            Some(b'{') => {
                self.enter(Frame::Object(b""))?;
                if self.take(b'}') {
                    self.depth -= 1;
                    return Ok(false);
                }
                self.key(None).map(|()| true)
            }
            Some(b'[') => {
                self.enter(Frame::Array)?;
                if self.take(b']') {
                    self.depth -= 1;
                    return Ok(false);
                }
                Ok(true)
            }
            Some(b'-' | b'0'..=b'9') => self.integer().map(|()| false),
            Some(b't') => self.literal(b"true").map(|()| false),
            Some(b'f') => self.literal(b"false").map(|()| false),
            Some(b'n') => self.literal(b"null").map(|()| false),
            Some(_) => Err(self.error(CanonicalRule::Syntax)),
            None => Err(self.error(CanonicalRule::Extent)),
        }
    }

    /// After a value: goes on to the next one (false), or closes containers until none is open (true).
    fn close(&mut self) -> Result<bool, CanonicalError> {
        loop {
            let Some(top) = self.depth.checked_sub(1).and_then(|top| self.open.get(top)).copied() else {
                return Ok(true);
            };
            let (end, key) = match top {
                Frame::Array => (b']', None),
                Frame::Object(key) => (b'}', Some(key)),
            };
            if self.take(end) {
                self.depth -= 1;
            } else if self.take(b',') {
                return if key.is_some() { self.key(key).map(|()| false) } else { Ok(false) };
            } else {
                let rule = if self.peek().is_none() { CanonicalRule::Extent } else { CanonicalRule::Syntax };
                return Err(self.error(rule));
            }
        }
    }

    fn enter(&mut self, frame: Frame<'a>) -> Result<(), CanonicalError> {
        let error = self.error(CanonicalRule::Depth);
        *self.open.get_mut(self.depth).ok_or(error)? = frame;
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    fn key(&mut self, previous: Option<&[u8]>) -> Result<(), CanonicalError> {
        if !self.take(b'"') {
            return Err(self.error(CanonicalRule::Syntax));
        }
        let start = self.at;
        while self.peek().is_some_and(|b| matches!(b, b' '..=b'~') && b != b'"' && b != b'\\') {
            self.at += 1;
        }
        let key = self.bytes.get(start..self.at).unwrap_or_default();
        if !self.take(b'"') {
            let rule = if self.peek().is_none() { CanonicalRule::Extent } else { CanonicalRule::Key };
            return Err(self.error(rule));
        }
        if previous.is_some_and(|previous| previous >= key) {
            return Err(CanonicalError { offset: start, rule: CanonicalRule::KeyOrder });
        }
        if let Some(frame) = self.depth.checked_sub(1).and_then(|top| self.open.get_mut(top)) {
            *frame = Frame::Object(key);
        }
        if self.take(b':') { Ok(()) } else { Err(self.error(CanonicalRule::Syntax)) }
    }

    fn string(&mut self) -> Result<(), CanonicalError> {
        self.at += 1;
        loop {
            while self.peek().is_some_and(|b| b >= b' ' && b != b'"' && b != b'\\') {
                self.at += 1;
            }
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.error(CanonicalRule::Escape)),
                None => return Err(self.error(CanonicalRule::Extent)),
            }
        }
    }

    fn escape(&mut self) -> Result<(), CanonicalError> {
        let rest = self.bytes.get(self.at + 1..).unwrap_or_default();
        self.at += match rest {
            [b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't', ..] => 2,
            [b'u', b'0', b'0', b'0', b'0'..=b'7' | b'b' | b'e' | b'f', ..] => 6,
            [b'u', b'0', b'0', b'1', b'0'..=b'9' | b'a'..=b'f', ..] => 6,
            _ => return Err(self.error(CanonicalRule::Escape)),
        };
        Ok(())
    }

    fn integer(&mut self) -> Result<(), CanonicalError> {
        let start = self.at;
        let negative = self.take(b'-');
        let first = self.at;
        let mut magnitude = 0_u64;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            magnitude = magnitude.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        let digits = self.at - first;
        let padded = self.bytes.get(first) == Some(&b'0') && (digits > 1 || negative);
        if digits == 0 || padded || matches!(self.peek(), Some(b'.' | b'e' | b'E')) {
            return Err(CanonicalError { offset: start, rule: CanonicalRule::Integer });
        }
        if magnitude > INTEGER_MAX {
            return Err(CanonicalError { offset: start, rule: CanonicalRule::Range });
        }
        Ok(())
    }

    fn literal(&mut self, word: &[u8]) -> Result<(), CanonicalError> {
        if !self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
            return Err(self.error(CanonicalRule::Syntax));
        }
        self.at += word.len();
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn error(&self, rule: CanonicalRule) -> CanonicalError {
        CanonicalError { offset: self.at, rule }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn rule(text: &str) -> Option<CanonicalRule> {
        check_canonical(text.as_bytes()).err().map(|error| error.rule)
    }

    #[test]
    fn each_rule_has_its_refusal() {
        use CanonicalRule as Rule;
        for (text, expected) in [
            ("", Rule::Extent),
            ("{", Rule::Syntax),
            ("[1", Rule::Extent),
            ("1 ", Rule::Extent),
            (" 1", Rule::Syntax),
            ("[1, 2]", Rule::Syntax),
            ("[1,]", Rule::Syntax),
            ("{\"a\":1,}", Rule::Syntax),
            ("{\"a\" :1}", Rule::Syntax),
            ("{\"b\":1,\"a\":2}", Rule::KeyOrder),
            ("{\"a\":1,\"a\":2}", Rule::KeyOrder),
            ("{\"é\":1}", Rule::Key),
            ("{\"\\n\":1}", Rule::Key),
            ("01", Rule::Integer),
            ("-0", Rule::Integer),
            ("-", Rule::Integer),
            ("1.0", Rule::Integer),
            ("1e3", Rule::Integer),
            ("9007199254740992", Rule::Range),
            ("-9007199254740992", Rule::Range),
            ("99999999999999999999999999", Rule::Range),
            ("\"\\/\"", Rule::Escape),
            ("\"\\u0041\"", Rule::Escape),
            ("\"\\u000a\"", Rule::Escape),
            ("\"\\u001F\"", Rule::Escape),
            ("\"\\u007f\"", Rule::Escape),
            ("\"\t\"", Rule::Escape),
            ("\"a", Rule::Extent),
            ("tru", Rule::Syntax),
            ("NaN", Rule::Syntax),
        ] {
            assert_eq!(rule(text), Some(expected), "{text}");
        }
        assert_eq!(check_canonical(b"\"\xff\"").err().map(|e| e.rule), Some(Rule::Utf8));
        for good in [
            "0",
            "-1",
            "9007199254740991",
            "{}",
            "[]",
            "[{},[]]",
            "{\"\":1,\"a\":{\"a\":null}}",
            "\"\u{7f}é\u{2028}\"",
        ] {
            assert_eq!(rule(good), None, "{good}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(rule(&nested(JSON_DEPTH_MAX)), None);
        assert_eq!(rule(&nested(JSON_DEPTH_MAX + 1)), Some(CanonicalRule::Depth));
        assert_eq!(rule(&"[".repeat(100_000)), Some(CanonicalRule::Depth));
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-(INTEGER_MAX as i64)..=INTEGER_MAX as i64).prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            proptest::collection::vec(0_u32..0x30, 0..8).prop_map(|codes| Value::from(
                codes.into_iter().filter_map(char::from_u32).collect::<String>()
            )),
        ];
        leaf.prop_recursive(5, 64, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::btree_map("[ !#-\\[\\]-~]{0,6}", inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_serde_json_writes_is_canonical(value in values()) {
            let text = serde_json::to_vec(&value).unwrap();
            prop_assert_eq!(check_canonical(&text), Ok(()));
        }

        #[test]
        fn an_accepted_mutant_is_the_one_spelling_of_its_value(value in values(), at in any::<prop::sample::Index>(), byte in any::<u8>(), how in 0..3) {
            let mut text = serde_json::to_vec(&value).unwrap();
            let at = at.index(text.len());
            match how {
                0 => text[at] = byte,
                1 => text.insert(at, byte),
                _ => drop(text.remove(at)),
            }
            if check_canonical(&text).is_ok() {
                let value: Value = serde_json::from_slice(&text).unwrap();
                prop_assert_eq!(serde_json::to_vec(&value).unwrap(), text);
            }
        }
    }
}
