//! A page: rows under words in the margin, once as lines for a terminal and once as Markdown. Everything is escaped
//! here, at the edge; a row holds text as it was written.

use loopx::project::brief::{columns, fit};
use loopx::project::escape::{markdown, markdown_code, terminal};

use super::Output;

/// Columns of a terminal that a page keeps to.
pub const WIDTH: usize = 100;

/// Columns of the words in the margin.
const MARGIN: usize = 12;

/// Longest row of a page in Markdown, in columns: it wraps where it is shown.
const MARKDOWN_WIDTH: usize = 600;

/// One row.
#[derive(Debug, Clone)]
enum Row {
    /// The first line: a name, what it is about, and more.
    Title(Line),
    /// A line under a word of the margin, or under the same word as the one before.
    Item(&'static str, Line),
    /// A text of several lines under a word.
    Words(&'static str, String, usize),
    /// A command to type.
    Command(&'static str, String),
}

/// A row's parts. What others wrote may be long; of what this program says only the tail may be.
#[derive(Debug, Clone, Default)]
struct Line {
    head: String,
    theirs: String,
    tail: String,
}

impl Line {
    fn within(&self, width: usize) -> String {
        let (head, theirs, tail) = (terminal(&self.head), terminal(&self.theirs), terminal(&self.tail));
        let gaps =
            [&head, &theirs, &tail].iter().filter(|part| !part.is_empty()).count().saturating_sub(1) * 2;
        let free = width.saturating_sub(columns(&head) + gaps);
        let wanted = free.saturating_sub(columns(&tail)).max(free / 2);
        let theirs = fit(&theirs, wanted);
        let tail = fit(&tail, free.saturating_sub(columns(&theirs)));
        let parts = [head, theirs, tail];
        parts.iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join("  ")
    }
}

/// A page in the making.
#[derive(Debug, Clone, Default)]
pub struct Page {
    rows: Vec<Row>,
    word: &'static str,
}

impl Page {
    /// The first line: `theirs` is what someone wrote.
    pub fn title(&mut self, head: impl Into<String>, theirs: &str, tail: impl Into<String>) {
        self.rows.push(Row::Title(Line { head: head.into(), theirs: theirs.to_owned(), tail: tail.into() }));
    }

    /// The rows that follow stand under this word.
    pub fn section(&mut self, word: &'static str) {
        self.word = word;
    }

    /// A row: an id or the like, what someone wrote, and what is so.
    pub fn row(&mut self, head: impl Into<String>, theirs: &str, tail: impl Into<String>) {
        let word = std::mem::take(&mut self.word);
        let line = Line { head: head.into(), theirs: theirs.to_owned(), tail: tail.into() };
        self.rows.push(Row::Item(word, line));
    }

    /// A row of this program's own words.
    pub fn say(&mut self, text: impl Into<String>) {
        self.row("", "", text);
    }

    /// What someone wrote, over as many as `lines` lines.
    pub fn words(&mut self, text: &str, lines: usize) {
        let word = std::mem::take(&mut self.word);
        self.rows.push(Row::Words(word, text.to_owned(), lines));
    }

    /// A command, under the word if no row is yet.
    pub fn command(&mut self, command: impl Into<String>) {
        let word = std::mem::take(&mut self.word);
        self.rows.push(Row::Command(word, command.into()));
    }

    /// This page and then that one.
    #[must_use]
    pub fn followed_by(mut self, other: &Self) -> Self {
        self.rows.extend(other.rows.iter().cloned());
        self
    }

    /// Lines for a terminal of [`WIDTH`] columns. Only a command may be longer: one that is cut is none.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for row in &self.rows {
            match row {
                Row::Title(line) => out.push_str(&format!("{}\n", line.within(WIDTH))),
                Row::Item(word, line) => {
                    out.push_str(format!("{word:<MARGIN$}{}", line.within(WIDTH - MARGIN)).trim_end());
                    out.push('\n');
                }
                Row::Words(word, text, lines) => {
                    let mut word = *word;
                    for line in wrapped(&terminal(text), WIDTH - MARGIN, *lines) {
                        out.push_str(&format!("{word:<MARGIN$}{line}\n"));
                        word = "";
                    }
                }
                Row::Command(word, command) => {
                    out.push_str(&format!("{word:<MARGIN$}{}\n", terminal(command)));
                }
            }
        }
        out
    }

    /// The same in Markdown: the title as a heading, a heading for each word, a list item for each row.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        let heading = |word: &str| {
            let mut letters = word.chars();
            let first: String = letters.next().iter().flat_map(|c| c.to_uppercase()).collect();
            if word.is_empty() { String::new() } else { format!("\n## {first}{}\n\n", letters.as_str()) }
        };
        for row in &self.rows {
            match row {
                Row::Title(line) => out.push_str(&format!("# {}\n", markdown(&line.within(MARKDOWN_WIDTH)))),
                Row::Item(word, line) => {
                    out.push_str(&heading(word));
                    out.push_str(&format!("- {}\n", markdown(&line.within(MARKDOWN_WIDTH))));
                }
                Row::Words(word, text, lines) => {
                    out.push_str(&heading(word));
                    let text = fit(&terminal(text), lines * (WIDTH - MARGIN));
                    out.push_str(&format!("- {}\n", markdown(&text)));
                }
                Row::Command(word, command) => {
                    out.push_str(&heading(word));
                    out.push_str(&format!("- {}\n", markdown_code(command)));
                }
            }
        }
        out
    }

    /// The answer in both forms.
    pub fn output(&self) -> Output {
        Output { markdown: Some(self.markdown()), ..Output::text(self.text()) }
    }
}

/// A text broken between words, at most `lines` lines of `width` columns; the last one says if there was more.
fn wrapped(text: &str, width: usize, lines: usize) -> Vec<String> {
    let mut out: Vec<String> = vec![String::new()];
    let mut rest = text;
    while !rest.is_empty() {
        let last = out.len() == lines;
        if last {
            out.pop();
            out.push(fit(rest, width));
            break;
        }
        let (line, more) = break_at(rest, width);
        if let Some(open) = out.last_mut() {
            line.clone_into(open);
        }
        rest = more;
        if !rest.is_empty() {
            out.push(String::new());
        }
    }
    out
}

/// The first line of a text, and what follows it: broken at a space if there is one, else within a word.
fn break_at(text: &str, width: usize) -> (&str, &str) {
    if columns(text) <= width {
        return (text, "");
    }
    let mut taken = 0;
    let mut end = 0;
    for (at, c) in text.char_indices() {
        taken += columns(c.encode_utf8(&mut [0; 4]));
        if taken > width {
            break;
        }
        end = at + c.len_utf8();
    }
    let (head, after) = text.split_at(end);
    let space = if after.starts_with(' ') { None } else { head.rfind(' ').filter(|at| *at > 0) };
    let (line, rest) = text.split_at(space.unwrap_or(end));
    (line, rest.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "**bold** [x](http://y) <img src=x> `code` \u{1b}[31m | \n# heading";

    fn page() -> Page {
        let mut page = Page::default();
        page.title("iris", HOSTILE, "day 1");
        page.section("needs you");
        page.row("G1", &HOSTILE.repeat(20), "blocks T1");
        page.words(&"word ".repeat(200), 3);
        page.command("loopx gate decide G1 yes --why \"...\"");
        page
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_each_cut_is_seen() {
        let text = page().text();
        assert!(text.lines().all(|line| columns(line) <= WIDTH), "{text}");
        assert_eq!(text.lines().count(), 6);
        let row = text.lines().nth(1).unwrap();
        assert!(row.starts_with("needs you   G1  **bold**") && row.ends_with("…  blocks T1"), "{row}");
        assert!(text.lines().nth(4).unwrap().ends_with('…'));
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn markdown_has_one_title_one_heading_and_items_only() {
        let text = page().markdown();
        let kinds: Vec<char> = text.lines().filter_map(|line| line.chars().next()).collect();
        assert_eq!(kinds, ['#', '#', '-', '-', '-']);
        assert!(text.contains("## Needs you"));
        assert!(text.contains("\\*\\*bold\\*\\*") && !text.contains("<img"));
        assert!(text.contains("- `loopx gate decide G1 yes --why \"...\"`"));
    }

    #[test]
    fn words_break_between_words() {
        assert_eq!(wrapped("one two three", 7, 4), ["one two", "three"]);
        assert_eq!(wrapped("abcdefghij", 4, 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrapped("one two three", 7, 1), ["one tw…"]);
        assert_eq!(wrapped("ééé é", 3, 4), ["ééé", "é"]);
    }
}
