//! Views: plain structs computed from events, for people and programs to read. Nothing here writes, and nothing here
//! reads a clock, a file or the environment.

pub mod escape;
pub mod lineage;
