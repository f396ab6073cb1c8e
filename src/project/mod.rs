//! Views: pure readers of states and events that give plain structs. Rendering is done elsewhere.

pub mod escape;
pub mod evidence;
pub mod history;
pub mod lineage;
pub mod ruling;
pub mod status;
