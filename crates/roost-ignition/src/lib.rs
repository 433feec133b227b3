//! Ignition configs of spec 3.0 to 3.5: parse, merge, validate, translate, and render what a node gets.
//!
//! Nothing here reads a clock or a file, and the same input always gives the same bytes.

#[cfg(test)]
mod arbitrary;
mod config;
mod contents;
mod data_url;
mod finding;
pub mod hash;
mod merge;
pub mod payload;
#[cfg(test)]
mod properties;
mod read;
mod schema;
mod translate;
pub mod user_data;
mod validate;
mod version;

pub use config::Config;
pub use contents::{Directory, Dropin, File, Link, Owner, Unit, User};
pub use data_url::DataUrlError;
pub use finding::{ConfigError, Finding};
pub use read::{MAX_BYTES, MAX_DEPTH, MAX_VALUES};
pub use user_data::{Pointer, user_data};
pub use version::{InvalidVersion, SpecVersion};
