//! Where time and ids come from.

use loopx::time::Timestamp;
use ulid::Ulid;

/// The time now.
#[expect(clippy::disallowed_methods, reason = "a benchmark is a host: this is its clock")]
pub fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock");
    Timestamp::from_micros(i64::try_from(since.as_micros()).expect("this century"))
}

/// A fresh ULID.
#[expect(clippy::disallowed_methods, reason = "a benchmark is a host: this is its source of ids")]
pub fn ulid() -> Ulid {
    Ulid::new()
}
