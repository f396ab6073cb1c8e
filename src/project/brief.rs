//! Keeping an answer within bounds: what a text costs its reader, and how it is shortened so that this is seen.

/// The sign that something was left out.
pub const CUT: char = '…';

/// The tokens that a language model is likely to read a text as, by a rule of thumb: six letters or three digits each
/// begun, and every other character that is no white space. Plain English and command lines come out a little high.
#[must_use]
pub fn tokens(text: &str) -> usize {
    let mut count = 0;
    let (mut letters, mut digits) = (0_usize, 0_usize);
    for c in text.chars().chain([' ']) {
        if !c.is_ascii_alphabetic() {
            count += letters.div_ceil(6);
            letters = 0;
        }
        if !c.is_ascii_digit() {
            count += digits.div_ceil(3);
            digits = 0;
        }
        match c {
            c if c.is_ascii_alphabetic() => letters += 1,
            c if c.is_ascii_digit() => digits += 1,
            c if c.is_whitespace() => {}
            _ => count += 1,
        }
    }
    count
}

/// Columns of a character on a terminal, never fewer than it takes: two for everything from the scripts on that have
/// wide characters.
fn width(c: char) -> usize {
    if u32::from(c) < 0x1100 || ('\u{2010}'..='\u{2026}').contains(&c) { 1 } else { 2 }
}

/// Columns of one line on a terminal.
#[must_use]
pub fn columns(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// One line of at most `limit` columns, with [`CUT`] at its end if it was longer.
#[must_use]
pub fn fit(text: &str, limit: usize) -> String {
    shorten(text, |text| columns(text) <= limit)
}

/// A text of at most `limit` tokens, with [`CUT`] at its end if it had more.
#[must_use]
pub fn fit_tokens(text: &str, limit: usize) -> String {
    shorten(text, |text| tokens(text) <= limit)
}

/// A text of at most `limit` bytes, with [`CUT`] at its end if it had more.
#[must_use]
pub fn fit_bytes(text: &str, limit: usize) -> String {
    shorten(text, |text| text.len() <= limit)
}

/// The longest head of a text that fits with [`CUT`] behind it; the text itself if it fits, nothing if [`CUT`] alone
/// does not.
fn shorten(text: &str, fits: impl Fn(&str) -> bool) -> String {
    if fits(text) {
        return text.to_owned();
    }
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let head = |end: &usize| format!("{}{CUT}", text.get(..*end).unwrap_or_default().trim_end());
    let longest = ends.partition_point(|end| fits(&head(end)));
    longest.checked_sub(1).and_then(|last| ends.get(last)).map(head).unwrap_or_default()
}

/// How `rows` rows are given to lists of these lengths: one each in turn, first list first, until all is shown or no
/// row is left. A list that is cut needs one of its rows to say so.
#[must_use]
pub fn share<const N: usize>(rows: usize, lengths: [usize; N]) -> [usize; N] {
    let mut given = [0; N];
    let mut left = rows;
    while left > 0 {
        let before = left;
        for (given, length) in given.iter_mut().zip(lengths) {
            if *given < length && left > 0 {
                *given += 1;
                left -= 1;
            }
        }
        if left == before {
            break;
        }
    }
    given
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tokens_count_words_numbers_and_signs() {
        assert_eq!(tokens(""), 0);
        assert_eq!(tokens("do it"), 2);
        assert_eq!(tokens("acceptance 1234 --goal x"), 2 + 2 + 2 + 1 + 1);
        assert_eq!(tokens("名前"), 2);
        assert_eq!(tokens("a1b22\n"), 4);
    }

    #[test]
    fn a_cut_is_seen_and_falls_between_characters() {
        assert_eq!(fit("short", 5), "short");
        assert_eq!(fit("shorter", 5), "shor…");
        assert_eq!(fit("名前です", 5), "名前…");
        assert_eq!(fit("a bcdef", 3), "a…");
        assert_eq!(fit_tokens("one two three", 2), "one…");
        assert_eq!(fit_bytes("ééé", 5), "é…");
        assert_eq!(fit("xyz", 0), "");
    }

    #[test]
    fn rows_are_shared_so_that_no_list_starves() {
        assert_eq!(share(10, [200, 1, 0, 200]), [5, 1, 0, 4]);
        assert_eq!(share(10, [2, 1, 0, 3]), [2, 1, 0, 3]);
        assert_eq!(share(1, [5, 5]), [1, 0]);
    }

    proptest! {
        #[test]
        fn a_shortened_text_fits_and_is_a_head_of_it(text in any::<String>(), limit in 1_usize..80) {
            let by_columns = (fit(&text, limit), columns as fn(&str) -> usize);
            let by_tokens = (fit_tokens(&text, limit), tokens as fn(&str) -> usize);
            let by_bytes = (fit_bytes(&text, limit), str::len as fn(&str) -> usize);
            for (short, size) in [by_columns, by_tokens, by_bytes] {
                prop_assert!(size(&short) <= limit, "{short:?} is {} of {limit}", size(&short));
                prop_assert_eq!(short == text, size(&text) <= limit);
                let head = short.strip_suffix(CUT).filter(|_| short != text).unwrap_or(&short);
                prop_assert!(text.starts_with(head));
            }
        }
    }
}
