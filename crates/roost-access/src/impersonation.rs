//! Acting as someone else: what the headers ask for, and who may.
//!
//! There are several modes, tried from the narrowest to the widest. The narrow ones need one permission for the user who
//! is wanted and one for what is then done; the oldest needs only the first.

mod check;
mod headers;

pub use check::{Impersonated, Mode, impersonate};
pub use headers::{is_impersonation_header, wanted_user};
