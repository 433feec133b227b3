//! Boot images as plans: which bytes of which file, and which bytes of our own, make the image of one host.
//!
//! Nothing here opens a file or a socket. A base image is read through [`Source`], what comes out is a [`Layout`]: a list
//! of segments that whoever serves it can cut to any range without having the whole anywhere.

mod archive;
mod base;
mod embed;
mod iso9660;
mod iso_writer;
mod kernel_arguments;
mod layout;
mod minimal;
mod script;
mod source;
mod tree;

pub use archive::{Archive, ArchiveError};
pub use base::{BaseError, BaseImage};
pub use embed::{EmbedAreas, EmbedError, KernelArgumentArea, KernelArgumentPlace};
pub use iso_writer::{WriteError, Written};
pub use iso9660::{Entry, Extent, IsoError, SECTOR, Volume};
pub use kernel_arguments::{ArgumentError, KernelArgument, Operation, apply};
pub use layout::{Layout, LayoutError, Segment};
pub use script::{BootScript, chain_by_address};
pub use source::Source;
pub use tree::{Boot, Content, Firmware, Tree};
