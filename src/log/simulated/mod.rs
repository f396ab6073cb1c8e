//! A simulated machine that tries to break the log: the real code on a file system whose page cache forgets what was
//! not synced, with processes that take turns at every call and are killed anywhere.

mod calls;
mod check;
mod dice;
mod golden;
mod image;
mod model;
mod node;
mod schedule;
mod world;
mod writer;

mod tests;
