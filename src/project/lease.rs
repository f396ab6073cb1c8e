//! The last lease on a todo, from the records that name the todo: what is left of it once it has ended.

use crate::event::{Event, Holder, LeaseTarget};
use crate::id::{LeaseKey, Seq, TodoId};
use crate::state::At;
use crate::time::Timestamp;

/// A lease on a todo, whether it lasts or has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastLease {
    /// Who had it.
    pub holder: Holder,
    /// Its key, if it had one.
    pub key: Option<LeaseKey>,
    /// Its epoch.
    pub epoch: u64,
    /// How often the todo's lease was taken, prolonged or passed on by then.
    pub version: u64,
    /// The record that granted it.
    pub token: Seq,
    /// When.
    pub acquired: Timestamp,
    /// When it was last prolonged.
    pub updated: Timestamp,
    /// When it expires, or would have.
    pub until: Timestamp,
}

impl LastLease {
    /// Reads the next record that names the todo.
    pub fn record(found: &mut Option<Self>, id: TodoId, at: &At, events: &[Event]) {
        for event in events {
            let version = found.as_ref().map_or(0, |lease| lease.version) + 1;
            let (holder, key, epoch, until) = match event {
                Event::LeaseGranted(e) if e.on == LeaseTarget::Todo(id) => {
                    (&e.holder, &e.key, e.epoch, e.until)
                }
                Event::LeaseTakenOver(e) if e.on == LeaseTarget::Todo(id) => {
                    (&e.to, &e.key, e.epoch, e.until)
                }
                Event::ClaimHandedOver(e) if e.todo == id => {
                    let Some(until) = e.until else { continue };
                    (&e.to, &e.key, e.epoch, until)
                }
                Event::LeaseRenewed(e) if e.on == LeaseTarget::Todo(id) => {
                    if let Some(lease) = found {
                        let kept = lease.key.take().filter(|_| lease.until > at.ts);
                        lease.key = e.key.clone().or(kept);
                        (lease.version, lease.updated, lease.until) = (version, at.ts, e.until);
                    }
                    continue;
                }
                _ => continue,
            };
            let (holder, key) = (holder.clone(), key.clone());
            let (token, acquired, updated) = (at.seq, at.ts, at.ts);
            *found = Some(Self { holder, key, epoch, version, token, acquired, updated, until });
        }
    }
}
