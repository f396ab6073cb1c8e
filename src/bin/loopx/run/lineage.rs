//! Lineage: the graph of what was tried and promoted, from the same log.

use std::path::Path;

use loopx::ledger::Ledger;
use loopx::log::LogError;
use loopx::project::lineage::{self as graph, Graph, Standing};

use super::Session;
use super::look::headed;
use crate::cli::{Format, Lineage};
use crate::failure::{Failure, exit};
use crate::render::{Output, value};

/// `lineage why` and `lineage export`; what appends is handled before.
pub fn run(session: &Session<'_>, args: &Lineage) -> Result<Output, Failure> {
    let ledger = session.open()?;
    let read = read(&ledger)?;
    match args {
        Lineage::Why { promotion } => {
            let missing =
                || Failure::new("not_found", exit::REFUSED, format!("promotion {promotion} does not exist"));
            let why = graph::why(&read, *promotion).ok_or_else(missing)?;
            let mut output = Output::text(graph::render(&why)).with("why", value(&why));
            output.exit = if why.standing == Standing::Valid { exit::DONE } else { exit::FINDINGS };
            Ok(headed(output, &ledger))
        }
        Lineage::Export { output, force } => {
            let text = match session.global.format {
                Some(Format::Json) => graph::json(&read),
                Some(Format::Dot) => graph::dot(&read),
                Some(Format::Svg) => graph::svg(&read),
                Some(Format::Text | Format::Markdown) | None => {
                    return Err(Failure::usage("an export needs its form: --format json, dot or svg"));
                }
            };
            export(session, &ledger, &text, output.as_deref(), *force)
        }
        _ => Err(Failure::usage("not a command that reads")),
    }
}

/// The graph of the whole log.
fn read(ledger: &Ledger) -> Result<Graph, Failure> {
    let mut read = Graph::default();
    let mut failure = None;
    ledger.replay(ledger.head().seq, &mut |_, entry| {
        if failure.is_none() {
            failure = read.record(&entry.at, &entry.hash, &entry.events).err();
        }
    })?;
    match failure {
        Some(error) => {
            Err(Failure::new("lineage.inconsistent", exit::DAMAGED, error.to_string()).hint("loopx verify"))
        }
        None => Ok(read),
    }
}

/// Writes the file whole or not at all; without a file the export is the answer.
fn export(
    session: &Session<'_>,
    ledger: &Ledger,
    text: &str,
    output: Option<&Path>,
    force: bool,
) -> Result<Output, Failure> {
    let Some(output) = output else { return Ok(headed(Output::text(text).with("export", text), ledger)) };
    let path = session.environment.cwd.join(output);
    refuse_to_overwrite(session, &path, force)?;
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let written = std::fs::write(&temporary, text).and_then(|()| std::fs::rename(&temporary, &path));
    if let Err(error) = written {
        let _ = std::fs::remove_file(&temporary);
        return Err(LogError::writing_blob(&path, error).into());
    }
    let message = format!(
        "{} bytes written to {}\n",
        text.len(),
        loopx::project::escape::terminal(&output.display().to_string())
    );
    let output = Output::text(message).with("file", output.display().to_string()).with("bytes", text.len());
    Ok(headed(output, ledger))
}

/// An export never touches the ledger, and replaces another file only if it is told to.
fn refuse_to_overwrite(session: &Session<'_>, path: &Path, force: bool) -> Result<(), Failure> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let parent = path.parent().map(real).unwrap_or_default();
    let root = real(&session.root()?);
    if parent.starts_with(&root) || real(path).starts_with(&root) {
        return Err(Failure::new(
            "export.inside_ledger",
            exit::REFUSED,
            "an export is not written into the ledger",
        ));
    }
    if !force && path.symlink_metadata().is_ok() {
        let message = format!("{} exists; --force replaces it", path.display());
        return Err(Failure::new("export.exists", exit::REFUSED, message));
    }
    Ok(())
}
