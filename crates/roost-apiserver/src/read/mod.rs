//! Reads: one object, a page of a list, or a stream of changes.

mod continuation;
mod decoded;
mod get;
mod list;
mod selection;
mod table;
mod watch;

pub(crate) use get::{get, written};
pub(crate) use list::{ListMeta, list, parse_unsigned, select};
pub(crate) use table::{Include, present, present_list, table};
pub(crate) use watch::watch;
