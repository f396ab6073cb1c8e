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
use std::mem::ManuallyDrop;
use std::process::ExitCode;

use clap::error::{ContextKind, ErrorKind};
use clap::{CommandFactory, FromArgMatches};

use crate::cli::Cli;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::render::{Output, Voice, failure_document};

fn main() -> ExitCode {
    let environment = Environment::read();
    let words: Vec<OsString> = std::env::args_os().collect();
    let (cli, verb) = match parse(&words) {
        Ok(parsed) => parsed,
        Err(early) => return early.report(&words),
    };
    let json = cli.wants_json();
    let schema = format!("loopx.{verb}/1");
    match run::run(&cli, &environment) {
        Ok(output) => answer(&shaped(output, &cli), &schema, json, cli.global.quiet),
        Err(mut failure) => {
            failure.hint = failure.hint.map(|hint| Voice::of(&cli.global).complete(&hint));
            fail(&failure, &schema, json)
        }
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
            Self::Text(text) => match print(text) {
                Ok(()) => ExitCode::SUCCESS,
                Err(failure) => fail(&failure, "loopx.usage/1", false),
            },
            Self::Usage(failure) => {
                let words: Vec<&OsString> = words.iter().take_while(|word| *word != "--").collect();
                let named = words.iter().any(|word| *word == "--json" || *word == "--format=json");
                let json = named || words.windows(2).any(|pair| pair == ["--format", "json"]);
                fail(failure, "loopx.usage/1", json)
            }
        }
    }
}

/// The parsed command line, and the verb that names the schema of its answer.
fn parse(words: &[OsString]) -> Result<(Cli, String), Early> {
    // It is not taken apart again: the process ends with the answer.
    let mut command = ManuallyDrop::new(Cli::command());
    let matches = command.try_get_matches_from_mut(words).map_err(|error| early(&error, words))?;
    let cli = Cli::from_arg_matches(&matches).map_err(|error| early(&error, words))?;
    let mut verb = Vec::new();
    let mut level = &matches;
    while let Some((name, below)) = level.subcommand() {
        verb.push(name.to_owned());
        level = below;
    }
    let verb = match verb.join(".").strip_prefix("operator-gate") {
        None => verb.join("."),
        Some("") => "gate.decide".to_owned(),
        Some(rest) => format!("gate{rest}"),
    };
    Ok((cli.plain(), verb))
}

fn early(error: &clap::Error, words: &[OsString]) -> Early {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return Early::Text(error.to_string());
    }
    Early::Usage(Failure::usage(cause(error)).hint(format!("{} --help", named(words))))
}

/// What is wrong, in one line, with no more than the head of a value.
fn cause(error: &clap::Error) -> String {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return "a command is missing".to_owned();
    }
    let context = |kind| error.get(kind).map(ToString::to_string);
    if let (Some(field), Some(why)) = (context(ContextKind::InvalidArg), std::error::Error::source(error)) {
        let value = context(ContextKind::InvalidValue).unwrap_or_default();
        let head: String = value.chars().take(40).collect();
        let more = if head.len() < value.len() { "…" } else { "" };
        return format!("{field} is `{head}{more}`: {why}");
    }
    let text = error.to_string();
    let lines = text
        .lines()
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"));
    let line = lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
    line.trim_start_matches("error: ").to_owned()
}

/// The command that the words name, as far as they name one.
fn named(words: &[OsString]) -> String {
    let mut command = Cli::command();
    let mut path = "loopx".to_owned();
    for word in words.iter().skip(1).filter_map(|word| word.to_str()) {
        if let Some(below) = command.find_subcommand(word).cloned() {
            path.push_str(&format!(" {}", below.get_name()));
            command = below;
        }
    }
    path
}

/// The answer in the form that was asked for.
fn shaped(mut output: Output, cli: &Cli) -> Output {
    match output.markdown.take() {
        Some(markdown) if cli.global.format == Some(cli::Format::Markdown) => output.text = markdown,
        _ => {}
    }
    output
}

fn answer(output: &Output, schema: &str, json: bool, quiet: bool) -> ExitCode {
    let streamed = output.text.is_empty() && output.keys.is_empty();
    let printed = if json && !streamed {
        print(&document(&output.document(schema)))
    } else if quiet {
        Ok(())
    } else {
        print(&output.text)
    };
    if !json || streamed {
        for warning in &output.warnings {
            drop(writeln!(std::io::stderr(), "warning: {warning}"));
        }
    }
    match printed {
        Ok(()) => ExitCode::from(output.exit),
        Err(failure) => fail(&failure, schema, false),
    }
}

fn fail(failure: &Failure, schema: &str, json: bool) -> ExitCode {
    let printed = json && !failure.printed && print(&document(&failure_document(schema, failure))).is_ok();
    if !printed {
        // Where standard error is gone too, the exit code is all that can be said.
        drop(std::io::stderr().write_all(failure.text().as_bytes()));
    }
    ExitCode::from(failure.exit)
}

/// One line of JSON in which no character can move a cursor or reorder text.
fn document(value: &serde_json::Value) -> String {
    let mut out = String::new();
    for c in value.to_string().chars() {
        if c.is_ascii() && c != '\u{7f}' || !loopx::project::escape::is_unsafe(c) {
            out.push(c);
        } else {
            let mut units = [0; 2];
            out.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    out.push('\n');
    out
}

/// A reader that has gone away is no error; any other failure is, since what was asked for did not arrive.
fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::new("output", failure::exit::IO, format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}
