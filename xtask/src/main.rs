//! The one door for developers.
fn main() {}
