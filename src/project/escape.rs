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

/// One line of Markdown that a reader sees as this text: unsafe characters become visible, and whatever could begin
/// markup, an entity, HTML, a link or a list is escaped.
#[must_use]
pub fn markdown(text: &str) -> String {
    let text = terminal(text);
    let text = text.trim();
    let mut out = String::with_capacity(text.len());
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    for (at, c) in text.char_indices() {
        let before = out.chars().next_back();
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' | '$' | '@' => {
                out.push('\\');
                out.push(c);
            }
            // An address would become a link.
            ':' if text.get(at + 1..).is_some_and(|rest| rest.starts_with('/')) => out.push_str("\\:"),
            // At the beginning of a line these begin a list, or make a heading of the line above.
            '-' | '+' | '=' if at == 0 => {
                out.push('\\');
                out.push(c);
            }
            '.' if at == digits && digits > 0 => out.push_str("\\."),
            // `www.` alone makes a link.
            '.' if before.is_some_and(|c| c.eq_ignore_ascii_case(&'w')) => out.push_str("\\."),
            c => out.push(c),
        }
    }
    out
}

/// A command as a code span of Markdown, whatever it holds: its fence is longer than any row of backticks in it.
#[must_use]
pub fn markdown_code(text: &str) -> String {
    let text = terminal(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
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

    #[test]
    fn markup_is_text_in_markdown() {
        for (text, escaped) in [
            ("**b** [x](javascript:y) <i>&amp;", "\\*\\*b\\*\\* \\[x\\](javascript:y) &lt;i&gt;&amp;amp;"),
            ("a | b ~~c~~ `d` # e\n- f", "a \\| b \\~\\~c\\~\\~ \\`d\\` \\# e\\\\n- f"),
            ("https://x.y www.x.y @ana", "https\\://x.y www\\.x.y \\@ana"),
            ("accuracy >= 0.95", "accuracy &gt;= 0.95"),
            ("- a", "\\- a"),
            ("1. a", "1\\. a"),
            ("===", "\\==="),
            ("    x", "x"),
            ("![i](y) $x^2$ {#id}", "!\\[i\\](y) \\$x^2\\$ {\\#id}"),
        ] {
            assert_eq!(markdown(text), escaped, "{text}");
        }
    }

    #[test]
    fn a_code_span_cannot_be_left_from_inside() {
        assert_eq!(markdown_code("loopx next"), "`loopx next`");
        assert_eq!(markdown_code("a ``b"), "```a ``b```");
        assert_eq!(markdown_code("`"), "`` ` ``");
    }

    proptest! {
        #[test]
        fn nothing_of_a_text_is_markup_in_markdown(text in any::<String>()) {
            let out = markdown(&text);
            prop_assert!(!out.chars().any(is_unsafe) && !out.contains('\n'));
            let mut escaped = false;
            for c in out.chars() {
                prop_assert!(escaped || !"`*_[]#|~$@<>".contains(c), "{out}");
                escaped = c == '\\' && !escaped;
            }
            prop_assert!(!escaped, "the last character escapes what follows: {out}");
        }

        #[test]
        fn no_unsafe_character_survives(text in any::<String>()) {
            prop_assert!(!terminal(&text).chars().any(is_unsafe));
            prop_assert!(!xml(&text).chars().any(|c| is_unsafe(c) || c == '<' || c == '"'));
            prop_assert!(!dot(&text).chars().any(is_unsafe));
        }
    }
}
