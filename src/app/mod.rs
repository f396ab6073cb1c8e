//! Use cases: what a host asks of a ledger. The only floor that appends; everything from outside comes in as data.

pub mod blob;
pub mod bulk;
pub mod check;
pub mod place;

use std::path::Path;

use crate::decide::Refusal;
use crate::decide::command::CheckResult;
use crate::ledger::{Answer, Batch, Env, Ledger, LedgerError, Submission, SubmitError};
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

/// Submits the first of these requests, and as many after it as one transaction takes, without waiting for the disk:
/// [`Ledger::make_durable`] has to follow before anyone is told. A check is run outside the lock, so a request that closes
/// a todo that has one is the first of its batch.
pub fn append_many(ledger: &mut Ledger, host: &Host<'_>, submissions: &mut [Submission]) -> Batch {
    let attached = submissions.first_mut().map(|first| attach_check(ledger, host, first));
    if let Some(Err(error)) = attached {
        return Batch { failure: Some(error), ..Batch::default() };
    }
    ledger.append_many(&host.env, &host.wait, submissions, &|state, submission| {
        let closed = submission.command.close().and_then(|(todo, _)| state.todos.get(&todo));
        closed.is_some_and(|todo| !todo.spec.check.is_empty())
    })
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
    if submission.caller.allow_secret.is_none()
        && let Some(kind) = secret_in(&outcome.output)
    {
        let place = "output of the check".to_owned();
        return Err(Refusal::SecretFound { place, kind }.into());
    }
    let digest = blob::put(&root, &outcome.output)?;
    let bytes = u64::try_from(outcome.output.len()).unwrap_or(u64::MAX);
    let result = CheckResult { argv, exit: outcome.exit, digest, bytes, tail: outcome.tail() };
    if let Some(close) = submission.command.close_mut() {
        close.check = Some(result);
    }
    Ok(())
}

/// What the content looks like, if it is text with a secret in it.
fn secret_in(content: &[u8]) -> Option<crate::secret::Kind> {
    std::str::from_utf8(content).ok().and_then(crate::secret::find).map(|(kind, _)| kind)
}

/// A file that is not kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeepError {
    /// It holds what looks like a secret.
    #[error("{name} holds what looks like {kind}; --allow-secret WHY keeps it all the same")]
    Secret {
        /// Its name.
        name: String,
        /// What it looks like.
        kind: crate::secret::Kind,
    },
    /// It or the ledger could not be read or written.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl From<LogError> for KeepError {
    fn from(error: LogError) -> Self {
        Self::Ledger(error.into())
    }
}

/// Copies a file into the blob store of a ledger that can be read and written. Text in it that looks like a secret is
/// refused unless it is allowed.
///
/// # Errors
/// [`KeepError`], naming the file.
pub fn keep_file(
    root: &Path,
    file: &Path,
    allow_secret: bool,
) -> Result<(crate::hash::Hash, u64), KeepError> {
    let content = blob::read_bounded(file)?;
    if let Some(kind) = secret_in(&content).filter(|_| !allow_secret) {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        return Err(KeepError::Secret { name, kind });
    }
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
