//! Text that is measured before it is placed. Widths are those of the widest common faces (`DejaVu Sans`, its bold and
//! its monospaced face), so that text in any other face is narrower than the room it was given.

use crate::project::escape::is_unsafe;

/// A face.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Font {
    /// Running text.
    Sans,
    /// What matters most.
    Bold,
    /// Configurations and digests.
    Mono,
}

/// Advance widths of U+0020 to U+007E, in thousandths of the size.
const SANS: [u16; 95] = [
    318, 401, 460, 838, 637, 951, 780, 275, 391, 391, 500, 838, 318, 361, 318, 337, 637, 637, 637, 637, 637,
    637, 637, 637, 637, 637, 337, 337, 838, 838, 838, 531, 1000, 685, 687, 699, 771, 632, 576, 775, 752, 295,
    295, 656, 558, 863, 749, 788, 604, 788, 695, 635, 611, 732, 685, 989, 686, 611, 686, 391, 337, 391, 838,
    500, 500, 613, 635, 550, 635, 616, 353, 635, 634, 278, 278, 580, 278, 975, 634, 612, 635, 635, 412, 521,
    393, 634, 592, 818, 592, 592, 525, 637, 337, 637, 838,
];

/// The same for the bold face.
const BOLD: [u16; 95] = [
    349, 457, 521, 838, 696, 1002, 873, 307, 458, 458, 523, 838, 380, 416, 380, 366, 696, 696, 696, 696, 696,
    696, 696, 696, 696, 696, 400, 400, 838, 838, 838, 581, 1000, 774, 763, 734, 831, 684, 684, 821, 837, 373,
    373, 775, 638, 996, 837, 851, 733, 851, 771, 721, 683, 813, 774, 1104, 771, 725, 726, 458, 366, 458, 838,
    500, 500, 675, 716, 593, 716, 679, 436, 716, 712, 343, 343, 666, 343, 1042, 712, 688, 716, 716, 494, 596,
    479, 712, 652, 924, 646, 652, 583, 712, 366, 712, 838,
];

/// Width of a character in thousandths of the size.
fn advance(c: char, font: Font) -> i32 {
    let ascii = u32::from(c).checked_sub(0x20).and_then(|place| usize::try_from(place).ok());
    let table = match font {
        Font::Sans => &SANS,
        Font::Bold => &BOLD,
        Font::Mono => &[603; 95],
    };
    if let Some(width) = ascii.and_then(|place| table.get(place)) {
        return i32::from(*width);
    }
    match c {
        '\u{300}'..='\u{36f}' => 0,
        '±' | '×' | '–' | '·' => 838,
        '…' => 1_000,
        // Chinese, Japanese and Korean are set on a square.
        '\u{3000}'..='\u{30ff}'
        | '\u{3400}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{ff00}'..='\u{ff60}' => 1_050,
        '\u{a0}'..='\u{52f}' if font == Font::Mono => 700,
        _ => 1_500,
    }
}

/// Width of a text in pixels, rounded up.
pub(super) fn width(text: &str, font: Font, size: i32) -> i32 {
    let thousandths = text.chars().fold(0_i32, |sum, c| sum.saturating_add(advance(c, font)));
    thousandths.saturating_mul(size).saturating_add(999) / 1_000
}

/// Text as it may be drawn: one line, single spaces, nothing invisible, no pile of accents, and none of the few
/// characters that are many times wider than a letter.
pub(super) fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut accents = 0;
    for c in text.chars() {
        accents = if matches!(c, '\u{300}'..='\u{36f}') { accents + 1 } else { 0 };
        match c {
            c if c.is_whitespace() || is_unsafe(c) => {
                if !out.is_empty() && !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            '\u{fffe}' | '\u{ffff}' => {}
            '\u{fdfa}'..='\u{fdfd}' | '\u{12000}'..='\u{1254f}' | '\u{2e3a}' | '\u{2e3b}' => out.push('□'),
            _ if accents > 2 => {}
            c => out.push(c),
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// The text, or as much of its beginning as fits, with an ellipsis.
pub(super) fn fit(text: &str, font: Font, size: i32, room: i32) -> String {
    let text = clean(text);
    if width(&text, font, size) <= room {
        return text;
    }
    let room = room - width("…", font, size);
    let mut out = head(&text, font, size, room).trim_end().to_owned();
    out.push('…');
    out
}

/// The longest beginning that fits.
fn head(text: &str, font: Font, size: i32, room: i32) -> &str {
    let mut used = 0_i32;
    let fits = |c: char, used: &mut i32| {
        *used += advance(c, font);
        i64::from(*used) * i64::from(size) <= i64::from(room.max(0)) * 1_000
    };
    let end = text.char_indices().find(|(_, c)| !fits(*c, &mut used)).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or_default()
}

/// The text in at most `most` lines that fit, broken at spaces where possible; an ellipsis if it is longer.
pub(super) fn wrap(text: &str, font: Font, size: i32, room: i32, most: usize) -> Vec<String> {
    let text = clean(text);
    let mut rest = text.as_str();
    let mut lines = Vec::new();
    while !rest.is_empty() {
        if lines.len() + 1 >= most {
            lines.push(fit(rest, font, size, room));
            break;
        }
        let whole = head(rest, font, size, room);
        let breaks_here =
            rest.get(whole.len()..).is_none_or(|after| after.is_empty() || after.starts_with(' '));
        let at = if breaks_here { whole.len() } else { whole.rfind(' ').unwrap_or(whole.len()) };
        let at = if at == 0 { rest.chars().next().map_or(1, char::len_utf8) } else { at };
        let (line, after) = rest.split_at(at.min(rest.len()));
        lines.push(line.trim_end().to_owned());
        rest = after.trim_start();
    }
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_breaks_at_spaces_and_ends_in_an_ellipsis() {
        let lines = wrap("k=5 metric=manhattan scaling=standard", Font::Mono, 10, 162, 2);
        assert_eq!(lines, ["k=5 metric=manhattan", "scaling=standard"]);
        assert_eq!(wrap("aaaa bbbb cccc", Font::Mono, 10, 31, 2), ["aaaa", "bbb…"]);
        assert_eq!(clean(" a\n\tb\u{202e}c\u{1b} "), "a b c");
    }

    proptest! {
        #[test]
        fn whatever_the_text_each_line_fits(text in any::<String>(), room in 30_i32..300, most in 1_usize..4) {
            for font in [Font::Sans, Font::Bold, Font::Mono] {
                let lines = wrap(&text, font, 12, room, most);
                prop_assert!(lines.len() <= most);
                prop_assert!(lines.iter().all(|line| width(line, font, 12) <= room), "{lines:?}");
            }
        }
    }
}
