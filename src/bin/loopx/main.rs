//! The command line of `loopx`.
fn main() {}
