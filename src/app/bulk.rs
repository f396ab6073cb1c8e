//! Requests as lines of JSON: `{"command":"todo.add","request":"r1","title":"…"}`. The same commands and rules as the
//! command line; each line is decided and recorded as a whole; one sync serves a batch.

use serde_json::{Map, Value};

use crate::decide::{Caller, Command};
use crate::id::{AgentId, GoalId, OwnerId, RequestId, SessionId};
use crate::ledger::Submission;
use crate::limits::RECORD_MAX_BYTES;
use crate::text::Text;

/// A line that is no request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadLine {
    /// Longer than any record.
    #[error("the line has {bytes} bytes; a request has at most {RECORD_MAX_BYTES}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// Not a JSON object, or a field of it that does not fit the command.
    #[error("{what}")]
    Malformed {
        /// What is wrong.
        what: String,
    },
}

/// Reads one line. `request`, `agent_id`, `as`, `session`, `goal_id` and `allow_secret` stand beside the command's own fields and take
/// precedence over `caller`.
///
/// # Errors
/// [`BadLine`].
pub fn parse(line: &[u8], caller: &Caller) -> Result<Submission, BadLine> {
    if line.len() > RECORD_MAX_BYTES {
        return Err(BadLine::TooLong { bytes: line.len() });
    }
    let malformed = |what: String| BadLine::Malformed { what };
    let mut fields: Map<String, Value> =
        serde_json::from_slice(line).map_err(|error| malformed(error.to_string()))?;
    let request = take::<RequestId>(&mut fields, "request")?;
    let caller = Caller {
        agent: take::<AgentId>(&mut fields, "agent_id")?.or_else(|| caller.agent.clone()),
        owner: take::<OwnerId>(&mut fields, "as")?.or_else(|| caller.owner.clone()),
        session: take::<SessionId>(&mut fields, "session")?.or_else(|| caller.session.clone()),
        goal: take::<GoalId>(&mut fields, "goal_id")?.or_else(|| caller.goal.clone()),
        capabilities: caller.capabilities.clone(),
        allow_secret: take::<Text>(&mut fields, "allow_secret")?.or_else(|| caller.allow_secret.clone()),
    };
    let command: Command =
        serde_json::from_value(Value::Object(fields)).map_err(|error| malformed(error.to_string()))?;
    Ok(Submission { caller, command, request })
}

fn take<T: serde::de::DeserializeOwned>(
    fields: &mut Map<String, Value>,
    name: &str,
) -> Result<Option<T>, BadLine> {
    let Some(value) = fields.remove(name) else { return Ok(None) };
    let read = serde_json::from_value(value);
    read.map(Some).map_err(|error| BadLine::Malformed { what: format!("{name}: {error}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_lines_are_requests() {
        let caller = Caller::default();
        for line in [
            r#"{"command":"todo.add","request":"r1","title":"a","priority":"P1"}"#,
            r#"{"command":"evidence.add","request":"r2","kind":"note","about":"T1","summary":"b"}"#,
        ] {
            assert!(parse(line.as_bytes(), &caller).is_ok(), "{line}");
        }
    }

    #[test]
    fn what_is_no_request_says_why() {
        let caller = Caller::default();
        for (line, why) in [
            ("", "EOF"),
            ("[]", "invalid type"),
            (r#"{"command":"todo.add"}"#, "missing field `title`"),
            (r#"{"command":"todo.add","title":"a","titel":"b"}"#, "unknown field `titel`"),
            (r#"{"command":"todo.add","title":"a","request":"no spaces"}"#, "request"),
            (r#"{"command":"todo.eat","title":"a"}"#, "unknown variant"),
            (
                r#"{"command":"evidence.add","kind":"note","about":"T1","summary":"b","x":1}"#,
                "unknown field `x`",
            ),
        ] {
            let error = parse(line.as_bytes(), &caller).unwrap_err().to_string();
            assert!(error.contains(why), "{line}: {error}");
        }
    }
}
