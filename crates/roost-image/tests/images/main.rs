//! Images as a whole: a small live image is written, read again, and changed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod embedding;
mod fixture;
mod hostile;
mod minimal;
mod reading;
