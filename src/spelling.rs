//! Values that JSON spells as text: ids, digests, instants.

use std::fmt;

use serde::Deserializer;
use serde::de::{Error, Visitor};

/// Reads a value that is spelled as a text, without a copy of that text: a state is full of short ids.
///
/// # Errors
/// What `parse` says, or that there is no text.
pub(crate) fn read<'de, D: Deserializer<'de>, T, E: fmt::Display>(
    deserializer: D,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, D::Error> {
    deserializer.deserialize_str(Spelled(parse))
}

struct Spelled<P>(P);

impl<T, E: fmt::Display, P: FnOnce(&str) -> Result<T, E>> Visitor<'_> for Spelled<P> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<F: Error>(self, text: &str) -> Result<T, F> {
        self.0(text).map_err(F::custom)
    }
}
