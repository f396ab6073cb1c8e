//! Every limit of the ledger, with its unit in the name and its reason.
//!
//! A limit is refused on write and bounds what a reader is willing to hold. `ledger-format.md` carries the same
//! table and a test compares the two.

/// Longest record, line feed included. Large enough for 256 small events, small enough to read in one go.
pub const RECORD_MAX_BYTES: usize = 1 << 20;

/// Longest body of one event. Anything larger is evidence and belongs in a blob.
pub const EVENT_BODY_MAX_BYTES: usize = 64 << 10;

/// Most events in one record: one command is one record, and no command needs more.
pub const RECORD_EVENTS_MAX: usize = 256;

/// Deepest nesting of JSON inside an event body, so that a reader's stack is bounded.
pub const JSON_DEPTH_MAX: usize = 32;

/// Largest integer magnitude in a record: 2^53 - 1, the largest that every JSON reader keeps exact.
pub const INTEGER_MAX: u64 = (1 << 53) - 1;

/// Largest sequence number, for the same reason.
pub const SEQ_MAX: u64 = INTEGER_MAX;

/// Longest actor, as `kind/name`.
pub const ACTOR_MAX_BYTES: usize = 128;

/// Longest request id.
pub const REQUEST_MAX_BYTES: usize = 128;

/// Longest slug: the name of an agent, an owner, a goal, a session, a resource.
pub const SLUG_MAX_BYTES: usize = 64;

/// Longest event kind, such as `goal.changed`.
pub const KIND_MAX_BYTES: usize = 64;

/// A segment is sealed once it has grown past this.
pub const SEGMENT_TARGET_BYTES: u64 = 8 << 20;

/// No segment is longer than this: the target, one more record and the seal fit well below it.
pub const SEGMENT_MAX_BYTES: u64 = 16 << 20;

/// How long an append waits for another writer unless told otherwise.
pub const LOCK_WAIT_MS: u64 = 10_000;

/// Longest text field, in bytes of UTF-8. A title or an objective beyond this is a document: attach it as evidence.
pub const TEXT_MAX_BYTES: usize = 8 << 10;

/// Longest list in one command (needs, scopes, criteria, options).
pub const LIST_MAX_ITEMS: usize = 64;

/// Longest path of a scope or of an evidence file, in bytes.
pub const PATH_MAX_BYTES: usize = 1024;

/// Largest evidence file that is copied into the blob store.
pub const BLOB_MAX_BYTES: u64 = 64 << 20;

/// Longest time for which evidence may be said to be good: ten years.
pub const VALID_FOR_MAX_MS: u64 = 3_653 * 86_400_000;

/// Shortest lease.
pub const LEASE_MIN_MS: u64 = 1_000;

/// Longest lease: one day.
pub const LEASE_MAX_MS: u64 = 86_400_000;

/// Lease of a claim unless told otherwise: 45 minutes.
pub const LEASE_DEFAULT_MS: u64 = 2_700_000;

/// Shortest time from one look of a monitor to the next.
pub const MONITOR_MIN_MS: u64 = 60_000;

/// Longest time from one look of a monitor to the next.
pub const MONITOR_MAX_MS: u64 = 31 * 86_400_000;

/// A jump of the clock is recorded beyond this: one minute. A correction by a time service stays well below it, and no
/// lease worth having is so short that standing still for as long would matter.
pub const CLOCK_JUMP_MS: u64 = 60_000;

/// Most slots, tokens or micro-units in one spend.
pub const SPEND_MAX: u64 = 1_000_000_000_000;

const _: () = {
    assert!(EVENT_BODY_MAX_BYTES < RECORD_MAX_BYTES);
    assert!(TEXT_MAX_BYTES * 6 < EVENT_BODY_MAX_BYTES, "a text of control characters still fits a body");
    assert!(SEGMENT_TARGET_BYTES + 4 * RECORD_MAX_BYTES as u64 <= SEGMENT_MAX_BYTES);
    assert!(SLUG_MAX_BYTES + 8 <= ACTOR_MAX_BYTES);
    assert!(LEASE_MIN_MS <= LEASE_DEFAULT_MS && LEASE_DEFAULT_MS <= LEASE_MAX_MS);
    assert!(SPEND_MAX <= INTEGER_MAX);
};
