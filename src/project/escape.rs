//! Making text safe to show. Text is stored as it was given and escaped where it is shown.

use std::fmt::Write;

/// Text for a terminal: one line, with control characters, bidirectional overrides and invisible separators spelled
/// out, so that no text can move the cursor, change colours or reorder what stands around it.
#[must_use]
pub fn terminal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if is_hazard(c) => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out
}

fn is_hazard(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{61c}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_comes_through() {
        assert_eq!(terminal("\u{1b}[31mred\u{7}"), "\\u{1b}[31mred\\u{7}");
        assert_eq!(terminal("a\nb\tc\u{9b}31m"), "a\\nb\\tc\\u{9b}31m");
        assert_eq!(terminal("\u{202e}evil\u{2028}"), "\\u{202e}evil\\u{2028}");
        assert_eq!(terminal("名前 🙂 é"), "名前 🙂 é");
    }
}
