//! What the service wants measured: the way to other hosts, the names that this host needs, and its disk.

mod disk;
mod echo;
mod names;
mod peers;

pub(super) use disk::{DiskError, disk};
pub(super) use names::names;
pub(super) use peers::peers;
