//! What looks like a secret is not recorded: a log keeps what it is told for ever, and is shown to others.

use super::{Caller, Command, Decided, Refusal};
use crate::event::SecretAllowed;
use crate::secret;

/// Passes a decided command on. One that holds what looks like a secret is refused, unless the caller says why it is none;
/// that is recorded with it.
pub(super) fn passed(
    caller: &Caller,
    command: &Command,
    decide: impl FnOnce() -> Result<Decided, Refusal>,
) -> Result<Decided, Refusal> {
    let (place, kind) = match (first(command), &caller.allow_secret) {
        (Some((place, kind)), None) => return Err(Refusal::SecretFound { place, kind }),
        (Some((place, kind)), Some(_)) => (place, kind.to_string()),
        // Content that is kept beside the log was looked at when it was kept.
        (None, Some(_)) if command.keeps_content() => {
            ("content".to_owned(), "what may hold a secret".to_owned())
        }
        (None, _) => return decide(),
    };
    let Some(why) = &caller.allow_secret else { return decide() };
    let mut decided = decide()?;
    if let Decided::Append { events, .. } = &mut decided {
        let why = why.clone();
        events.push(SecretAllowed { kind, place, why }.into());
    }
    Ok(decided)
}

/// The first text of a command that looks like a secret, by the place where it stands.
fn first(command: &Command) -> Option<(String, secret::Kind)> {
    let json = serde_json::to_value(command).ok()?;
    let mut found = None;
    secret::texts(&json, &mut |place, text| {
        if found.is_none() {
            found = secret::find(text).map(|(kind, _)| (place.to_owned(), kind));
        }
    });
    found
}
