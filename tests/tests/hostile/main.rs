//! Hostile input: bounded, refused with the right `Status`, and nobody else is hurt.

mod bodies;
mod connections;
mod definitions;
mod patches;
mod paths;
mod secrets;
