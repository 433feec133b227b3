//! The keys of a control plane over time: made, renewed, rotated, lost and found.

#![expect(clippy::unwrap_used, reason = "a panic with its place is what a test wants")]

mod adoption;
mod crashes;
mod creation;
mod rotation;
mod simulation;
mod world;
