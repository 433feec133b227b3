//! The Node object and what keeps it alive: registration, lease and status.

mod lease;
mod object;
mod register;
mod status;

pub(crate) use lease::keep as keep_lease;
pub(crate) use object::{CURRENT_CONFIG, Facts};
pub(crate) use register::register;
pub(crate) use status::keep as keep_status;
