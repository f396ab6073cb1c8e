//! Use cases: what a host asks of a ledger. The only floor that appends; everything from outside comes in as data.

pub mod blob;
pub mod bulk;
pub mod check;
pub mod known;
pub mod place;

use std::path::Path;

use crate::decide::command::CheckResult;
use crate::ledger::{Answer, Env, Ledger, LedgerError, Submission, SubmitError};
use crate::log::{FileLog, FileSystems, LogError, Wait};

pub use check::CheckRunner;

/// What a submission may need besides the ledger.
#[derive(Clone, Copy)]
pub struct Host<'a> {
    /// Time and ids.
    pub env: Env<'a>,
    /// How long to wait for other writers, and what they are told of this one.
    pub wait: Wait<'a>,
    /// How checks are run.
    pub checks: &'a CheckRunner,
}

/// Submits one request and returns once it is durable. If it closes a todo that has a check, the check is run first,
/// outside the lock.
///
/// # Errors
/// [`SubmitError`].
pub fn submit(
    ledger: &mut Ledger,
    host: &Host<'_>,
    mut submission: Submission,
) -> Result<Answer, SubmitError> {
    attach_check(ledger, host, &mut submission)?;
    ledger.submit(&host.env, &host.wait, &submission)
}

/// As [`submit`], without waiting for the disk: [`Ledger::make_durable`] has to follow before anyone is told.
///
/// # Errors
/// [`SubmitError`].
pub fn append(
    ledger: &mut Ledger,
    host: &Host<'_>,
    mut submission: Submission,
) -> Result<Answer, SubmitError> {
    attach_check(ledger, host, &mut submission)?;
    ledger.append(&host.env, &host.wait, &submission)
}

fn attach_check(
    ledger: &mut Ledger,
    host: &Host<'_>,
    submission: &mut Submission,
) -> Result<(), SubmitError> {
    let Some((todo, _)) = submission.command.close() else { return Ok(()) };
    if let Some(request) = &submission.request
        && ledger.find_request(request)?.is_some()
    {
        return Ok(());
    }
    let argv = ledger.state().todos.get(&todo).map(|todo| todo.spec.check.clone()).unwrap_or_default();
    if argv.is_empty() {
        return Ok(());
    }
    let Some(root) = ledger.root().map(Path::to_owned) else { return Ok(()) };
    FileLog::open(&root)?.check_writable()?;
    let outcome = host.checks.run(&argv, root.parent().unwrap_or(&root));
    let digest = blob::put(&root, &outcome.output)?;
    let bytes = u64::try_from(outcome.output.len()).unwrap_or(u64::MAX);
    let result = CheckResult { argv, exit: outcome.exit, digest, bytes, tail: outcome.tail() };
    if let Some(close) = submission.command.close_mut() {
        close.check = Some(result);
    }
    Ok(())
}

/// Copies a file into the blob store of a ledger that can be read and written.
///
/// # Errors
/// [`LogError`], naming the file.
pub fn keep_file(root: &Path, file: &Path) -> Result<(crate::hash::Hash, u64), LedgerError> {
    let content = blob::read_bounded(file)?;
    // A blob that no record could name is not left behind.
    Ledger::open(root)?;
    FileLog::open(root)?.check_writable()?;
    let digest = blob::put(root, &content)?;
    Ok((digest, u64::try_from(content.len()).unwrap_or(u64::MAX)))
}

/// Creates a ledger in `dir` unless one is there.
///
/// # Errors
/// [`LogError::AlreadyExists`] if one is, [`LogError::WrongType`] if something else has its name.
pub fn init(
    file_systems: FileSystems,
    dir: &Path,
    env: &Env<'_>,
    track: bool,
) -> Result<Ledger, LedgerError> {
    let root = dir.join(place::DIRECTORY);
    if root.exists() && !root.is_dir() {
        return Err(LogError::WrongType { path: root }.into());
    }
    if root.exists() && matches!(FileLog::open(&root), Err(LogError::NotALedger { .. })) {
        return Err(LogError::WrongType { path: root }.into());
    }
    if root.exists() {
        return Err(LogError::AlreadyExists { path: root }.into());
    }
    Ledger::create_in(file_systems, &root, env, track)
}
