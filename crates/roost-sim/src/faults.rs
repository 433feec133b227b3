//! How a simulated node misbehaves.

use std::time::Duration;

use jiff::SignedDuration;

use crate::progress::Stage;

/// What is wrong with a node; nothing unless told. A cloned host needs no fault: it is a second node with the same host
/// identity, or with another's name.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Every request waits this long before it is sent.
    pub delay: Duration,
    /// How far its clock is from the true time.
    pub clock_offset: SignedDuration,
    /// It dies as soon as it has come this far.
    pub dies_at: Option<Stage>,
    /// What goes wrong when it changes its configuration in place.
    pub update: Option<UpdateFault>,
}

/// What goes wrong when a node changes its configuration in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateFault {
    /// It cannot take it, goes back to the one before, and says so.
    GoesBack,
    /// It does not come back.
    Dies,
}
