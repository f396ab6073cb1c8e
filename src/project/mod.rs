//! Views: pure readers of states and events that give plain structs. Rendering is done elsewhere.

pub mod brief;
pub mod escape;
pub mod evidence;
pub mod handoff;
pub mod history;
pub mod lease;
pub mod lineage;
pub mod packet;
pub mod plan;
pub mod ruling;
pub mod status;
