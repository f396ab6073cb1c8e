//! Text that others wrote, made safe for the place where it is shown.

use std::fmt::Write;

/// Whether a character could move the cursor, hide or reorder text, or break a line, and so is never shown as it is.
#[must_use]
pub fn is_unsafe(c: char) -> bool {
    matches!(u32::from(c), 0..=0x1f | 0x7f..=0x9f)
        || matches!(
            c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' // marks of direction
            | '\u{2028}' | '\u{2029}' // line and paragraph separator
            | '\u{202a}'..='\u{202e}' // embeddings and overrides
            | '\u{2066}'..='\u{2069}' // isolates
            | '\u{206a}'..='\u{206f}' // deprecated format characters
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}' // invisible tags
        )
}

/// One line for a terminal: every control character, bidirectional override and line separator becomes a visible
/// escape. A backslash stays as it is, so this is for showing, not for reading back.
#[must_use]
pub fn terminal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_unsafe(c) => {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// Text for XML, in an element or between double quotes: unsafe characters and what XML 1.0 forbids are dropped, white
/// space becomes a space, markup is escaped.
#[must_use]
pub fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\r' | '\t' => out.push(' '),
            '\u{fffe}' | '\u{ffff}' => {}
            c if is_unsafe(c) => {}
            c => out.push(c),
        }
    }
    out
}

/// Text between double quotes in DOT. Graphviz reads escapes and character entities in labels, so backslash and
/// ampersand are escaped too.
#[must_use]
pub fn dot(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in terminal(text).chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '&' => out.push_str("&amp;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_could_deceive_a_reader_becomes_visible() {
        assert_eq!(terminal("a\u{1b}[31mb\nc\td\u{7}"), "a\\u{1b}[31mb\\nc\\td\\u{7}");
        assert_eq!(terminal("x\u{202e}y\u{2028}z\u{9b}"), "x\\u{202e}y\\u{2028}z\\u{9b}");
        assert_eq!(terminal("naïve 名前 🙂 C:\\dir"), "naïve 名前 🙂 C:\\dir");
    }

    #[test]
    fn markup_is_text_in_xml() {
        assert_eq!(xml("<b a=\"1\">'&\u{0}\u{1b}\n\u{202e}\u{ffff}"), "&lt;b a=&quot;1&quot;&gt;&#39;&amp; ");
    }

    #[test]
    fn a_dot_label_cannot_end_its_string() {
        assert_eq!(dot("a\"b\\N\n&lt;"), "a\\\"b\\\\N\\\\n&amp;lt;");
    }

    proptest! {
        #[test]
        fn no_unsafe_character_survives(text in any::<String>()) {
            prop_assert!(!terminal(&text).chars().any(is_unsafe));
            prop_assert!(!xml(&text).chars().any(|c| is_unsafe(c) || c == '<' || c == '"'));
            prop_assert!(!dot(&text).chars().any(is_unsafe));
        }
    }
}
