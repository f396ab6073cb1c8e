//! Free text: any Unicode, bounded, never parsed. Titles, objectives, reasons and questions are opaque to the engine.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::limits::TEXT_MAX_BYTES;

/// A piece of free text: not blank, at most [`TEXT_MAX_BYTES`] bytes, stored exactly as given.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(String);

/// A text was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadText {
    /// Nothing but white space.
    #[error("a text must not be blank")]
    Blank,
    /// Longer than the limit.
    #[error(
        "a text has at most {TEXT_MAX_BYTES} bytes, this one has {bytes}; attach a document as evidence instead"
    )]
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
}

impl Text {
    /// A text of this program's own, such as the reason for something that it does by itself.
    pub(crate) fn own(text: &'static str) -> Self {
        debug_assert!(text.parse::<Self>().is_ok());
        Self(text.to_owned())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Text {
    type Err = BadText;

    fn from_str(text: &str) -> Result<Self, BadText> {
        if text.trim().is_empty() {
            return Err(BadText::Blank);
        }
        if text.len() > TEXT_MAX_BYTES {
            return Err(BadText::TooLong { bytes: text.len() });
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::spelling::read(deserializer, str::parse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_unicode_is_kept_and_only_blank_or_oversized_text_is_refused() {
        for text in ["a\nb", "a\u{2028}b", "\u{1b}[31mred", "```", "# heading", "\u{0}", "名前", "🙂"] {
            assert_eq!(text.parse::<Text>().unwrap().as_str(), text);
        }
        assert_eq!(" \n\t".parse::<Text>(), Err(BadText::Blank));
        let long = "é".repeat(TEXT_MAX_BYTES / 2 + 1);
        assert_eq!(long.parse::<Text>(), Err(BadText::TooLong { bytes: TEXT_MAX_BYTES + 2 }));
        assert!("é".repeat(TEXT_MAX_BYTES / 2).parse::<Text>().is_ok());
    }
}
