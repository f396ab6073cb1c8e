//! Leases, and what a command shows of the lease under which it acts.

use clap::{Args, Subcommand};
use loopx::event::LeaseTarget;
use loopx::id::{AgentId, LeaseKey, ResourceId, TodoId};
use loopx::scope::PathScope;
use loopx::time::DurationMs;

use super::nouns::List;
use super::tick::Because;

// What a command shows of the lease under which it acts.
#[derive(Debug, Clone, Args)]
pub struct Fence {
    /// Epoch under which it is held
    #[arg(long, value_name = "N")]
    pub epoch: Option<u64>,
    /// Key of its lease, if it has one
    #[arg(long, value_name = "KEY")]
    pub task_lease_idempotency_key: Option<LeaseKey>,
    /// Version that its lease must have
    #[arg(long, value_name = "N")]
    pub task_lease_expected_version: Option<u64>,
}

// A held todo.
#[derive(Debug, Args)]
pub struct Held {
    /// What and why.
    #[command(flatten)]
    pub because: Because,
    /// What it shows of its lease.
    #[command(flatten)]
    pub fence: Fence,
}

// `lease …`
#[derive(Debug, Subcommand)]
pub enum Lease {
    /// Lease a named resource
    Acquire {
        /// The resource
        resource: ResourceId,
        /// Length of the lease [default: 45m]
        #[arg(long, value_name = "DURATION")]
        ttl: Option<DurationMs>,
    },
    /// Prolong a lease from now
    Renew {
        /// A todo T7 or resource/NAME
        on: LeaseTarget,
        /// What it shows of the lease.
        #[command(flatten)]
        fence: Fence,
        /// Length from now [default: 45m]
        #[arg(long, value_name = "DURATION")]
        ttl: Option<DurationMs>,
    },
    /// Give a resource back
    Release {
        /// The resource
        resource: ResourceId,
        /// Epoch of the lease
        #[arg(long, value_name = "N")]
        epoch: Option<u64>,
    },
    /// Pass the lease and claim of a todo on
    Transfer {
        /// What.
        #[command(flatten)]
        held: Held,
        /// To whom
        #[arg(long, value_name = "AGENT")]
        to: AgentId,
    },
    /// List leases
    List(List),
    /// Show a lease
    Show {
        /// A todo T7 or resource/NAME
        on: LeaseTarget,
    },
}

// `task-lease …`: leases on todos, as LoopX spells them
#[derive(Debug, Subcommand)]
pub enum TaskLease {
    /// Take a todo, its lease under a key, and a turn
    Acquire {
        /// Which.
        #[command(flatten)]
        on: Keyed,
        /// Length of the lease, 1 to 86400 [default: 2700]
        #[arg(long, value_name = "N")]
        ttl_seconds: Option<u64>,
        /// Path that the todo may write from now on (repeat) [default: as before]
        #[arg(long, value_name = "PATH")]
        write_scope: Vec<PathScope>,
    },
    /// Prolong the lease from now
    Renew {
        /// Which.
        #[command(flatten)]
        on: Keyed,
        /// Length from now, 1 to 86400 [default: 2700]
        #[arg(long, value_name = "N")]
        ttl_seconds: Option<u64>,
    },
    /// Pass todo and lease on
    Transfer {
        /// Which.
        #[command(flatten)]
        on: Keyed,
        /// To whom
        #[arg(long, value_name = "AGENT")]
        new_owner: AgentId,
        /// Key of the new owner's lease
        #[arg(long, value_name = "KEY")]
        new_idempotency_key: LeaseKey,
        /// Length of the new owner's lease, 1 to 86400 [default: 2700]
        #[arg(long, value_name = "N")]
        ttl_seconds: Option<u64>,
    },
    /// Give todo and lease back
    Release(Keyed),
    /// Show the last lease on a todo, also when it has ended
    Inspect {
        /// The todo
        #[arg(long, value_name = "T7")]
        todo_id: TodoId,
    },
}

// A lease with a key.
#[derive(Debug, Clone, Args)]
pub struct Keyed {
    /// The todo
    #[arg(long, value_name = "T7")]
    pub todo_id: TodoId,
    /// The agent that acts
    #[arg(id = "lease_owner", long = "owner", value_name = "AGENT")]
    pub owner: AgentId,
    /// The key
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: LeaseKey,
    /// Version that the lease must have
    #[arg(long, value_name = "N")]
    pub expected_version: Option<u64>,
}

impl TaskLease {
    /// What the lease is on and who acts; none for a look.
    pub const fn keyed(&self) -> Option<&Keyed> {
        match self {
            Self::Acquire { on, .. } | Self::Renew { on, .. } | Self::Transfer { on, .. } => Some(on),
            Self::Release(on) => Some(on),
            Self::Inspect { .. } => None,
        }
    }
}
