//! The demo: a small real research loop, run through the public command line.
pub mod knn;
