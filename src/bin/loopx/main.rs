//! The command line of `loopx`: arguments in, one answer out, an exit code that scripts rely on.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod cli;
mod demo;
mod environment;
mod failure;
mod render;
mod run;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};

use crate::cli::{Cli, Format};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::render::{Output, failure_document};

fn main() -> ExitCode {
    let environment = Environment::read();
    let words: Vec<OsString> = std::env::args_os().collect();
    let (cli, verb) = match parse(&words) {
        Ok(parsed) => parsed,
        Err(early) => return early.report(&words),
    };
    let json = cli.global.json || cli.global.format == Some(Format::Json);
    let schema = format!("loopx.{verb}/1");
    match run::run(&cli, &environment) {
        Ok(output) => answer(&output, &schema, json, cli.global.quiet),
        Err(failure) => fail(&failure, &schema, json),
    }
}

/// What ends before there is a command: help, the version, or words that are none.
enum Early {
    Text(String),
    Usage(Failure),
}

impl Early {
    fn report(&self, words: &[OsString]) -> ExitCode {
        match self {
            Self::Text(text) => {
                print(text);
                ExitCode::SUCCESS
            }
            Self::Usage(failure) => {
                let json = words
                    .iter()
                    .take_while(|word| *word != "--")
                    .any(|word| word == "--json" || word == "--format=json");
                fail(failure, "loopx.usage/1", json)
            }
        }
    }
}

/// The parsed command line, and the verb that names the schema of its answer.
fn parse(words: &[OsString]) -> Result<(Cli, String), Early> {
    let matches = Cli::command().try_get_matches_from(words).map_err(|error| early(&error))?;
    let cli = Cli::from_arg_matches(&matches).map_err(|error| early(&error))?;
    let mut verb = Vec::new();
    let mut level = &matches;
    while let Some((name, below)) = level.subcommand() {
        verb.push(name.to_owned());
        level = below;
    }
    Ok((cli, verb.join(".")))
}

fn early(error: &clap::Error) -> Early {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return Early::Text(error.to_string());
    }
    let text = error.to_string();
    let cause: Vec<&str> = text.lines().take_while(|line| !line.starts_with("Usage:")).collect();
    let cause = cause.join(" ");
    let cause = cause.trim().trim_start_matches("error: ").to_owned();
    let missing = matches!(error.kind(), ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand);
    let message = if missing || cause.is_empty() { "a command is missing".to_owned() } else { cause };
    let words: Vec<&str> = text
        .lines()
        .find_map(|line| line.strip_prefix("Usage: "))
        .map(|usage| usage.split(' ').collect())
        .unwrap_or_default();
    let command: Vec<&str> =
        words.into_iter().take_while(|word| !word.starts_with(['[', '<', '-'])).collect();
    let command = if command.is_empty() { "loopx".to_owned() } else { command.join(" ") };
    Early::Usage(Failure::usage(squeeze(&message)).hint(format!("{command} --help")))
}

/// One line, single spaces.
fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn answer(output: &Output, schema: &str, json: bool, quiet: bool) -> ExitCode {
    let streamed = output.text.is_empty() && output.keys.is_empty();
    if json && !streamed {
        print(&format!("{}\n", output.document(schema)));
    } else if !quiet {
        print(&output.text);
    }
    ExitCode::from(output.exit)
}

fn fail(failure: &Failure, schema: &str, json: bool) -> ExitCode {
    if json && !failure.printed {
        print(&format!("{}\n", failure_document(schema, failure)));
    }
    if !json || failure.printed {
        let _ = std::io::stderr().write_all(failure.text().as_bytes());
    }
    ExitCode::from(failure.exit)
}

/// A reader that has gone away is no error.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
