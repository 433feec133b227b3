//! Management controllers of computers, over Redfish: what a computer is, whether it is on, what is in its virtual drive and
//! what it boots next.
//!
//! [`plan::next`] decides, from what was read and what is wanted, and is pure; [`Controller::carry_out`] does one step after
//! the other and believes a controller only what it can read back.

mod address;
mod carry_out;
mod computer;
mod connection;
mod error;
pub mod plan;
mod trust;

pub use address::{Address, AddressError};
pub use carry_out::Outcome;
pub use computer::{Boot, Computer, Drive, Hardware, Power};
pub use connection::{Controller, Credentials, Patience, Verification};
pub use error::RedfishError;
pub use plan::{Media, NextBoot, Step, Wanted};
