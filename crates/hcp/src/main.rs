//! Hosted control planes: the command line and the server.
fn main() {}
