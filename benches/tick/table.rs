//! The table that a run ends with: what was measured against what, the aim, and what came out.

use std::time::Duration;

use crate::measure::{Contestant, Times};

/// A contestant that takes its own time.
pub fn timed<'a>(name: String, run: impl FnMut() -> Duration + 'a) -> Contestant<'a> {
    Contestant { name, run: Box::new(run) }
}

/// Prints median and least time of each contestant, in milliseconds.
pub fn print(times: &Times) {
    println!("\n{:<44}{:>10}{:>10}", "milliseconds", "median", "least");
    for (name, middle, least) in times.rows() {
        println!("{name:<44}{:>10.3}{:>10.3}", middle * 1e3, least * 1e3);
    }
}

/// What a figure should be.
#[derive(Clone, Copy)]
pub enum Aim {
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
    /// Shown for comparison.
    None,
}

impl Aim {
    fn text(self) -> String {
        match self {
            Self::AtMost(most) => format!("<= {most}"),
            Self::AtLeast(least) => format!(">= {least}"),
            Self::None => String::new(),
        }
    }

    fn is_met(self, figure: f64) -> bool {
        match self {
            Self::AtMost(most) => figure <= most,
            Self::AtLeast(least) => figure >= least,
            Self::None => true,
        }
    }
}

struct Row {
    what: String,
    against: String,
    aim: Aim,
    figures: Vec<Option<f64>>,
}

/// Rows in the order in which they were measured, with a figure for each build of the program.
pub struct Table {
    builds: Vec<String>,
    rows: Vec<Row>,
}

impl Table {
    pub fn new(builds: Vec<String>) -> Self {
        Self { builds, rows: Vec::new() }
    }

    /// Adds the figure of one build. A row is told by what it says.
    pub fn put(&mut self, build: usize, what: &str, against: &str, aim: Aim, figure: Option<f64>) {
        let found = self.rows.iter().position(|row| row.what == what && row.against == against);
        let at = found.unwrap_or_else(|| {
            let figures = vec![None; self.builds.len()];
            self.rows.push(Row { what: what.to_owned(), against: against.to_owned(), aim, figures });
            self.rows.len() - 1
        });
        self.rows[at].figures[build] = figure;
    }

    /// Prints it as Markdown. A figure that misses its aim is marked.
    pub fn print(&self) {
        println!("\n| what | against | aim | {} |", self.builds.join(" | "));
        println!("|---|---|---|{}", "---|".repeat(self.builds.len()));
        for row in &self.rows {
            let figure = |figure: &Option<f64>| match figure {
                Some(figure) if row.aim.is_met(*figure) => format!("{figure:.2}"),
                Some(figure) => format!("{figure:.2} (missed)"),
                None => String::new(),
            };
            let figures: Vec<String> = row.figures.iter().map(figure).collect();
            println!("| {} | {} | {} | {} |", row.what, row.against, row.aim.text(), figures.join(" | "));
        }
    }
}
