//! Owns the names of a store's files, and making changes of the directory durable.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::Revision;
use crate::journal::OpenError;

const SEGMENT_PREFIX: &str = "log-";
const SNAPSHOT_PREFIX: &str = "snapshot-";
/// Files under construction; whatever has this ending was never part of the store.
const UNFINISHED_SUFFIX: &str = ".new";

/// Objects contain secrets, so what a store makes is for its owner only.
const DIRECTORY_MODE: u32 = 0o700;
pub(super) const FILE_MODE: u32 = 0o600;

/// The files of a store, sorted by revision.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) segments: Vec<(Revision, PathBuf)>,
    pub(super) snapshots: Vec<(Revision, PathBuf)>,
    pub(super) unfinished: Vec<PathBuf>,
}

impl Listing {
    pub(super) fn read(directory: &Path) -> Result<Self, OpenError> {
        let mut listing = Self::default();
        for entry in fs::read_dir(directory).map_err(OpenError::io("list", directory))? {
            let path = entry.map_err(OpenError::io("list", directory))?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            let ours = name.starts_with(SEGMENT_PREFIX) || name.starts_with(SNAPSHOT_PREFIX);
            if ours && name.ends_with(UNFINISHED_SUFFIX) {
                listing.unfinished.push(path);
            } else if let Some(revision) = revision_in(name, SEGMENT_PREFIX) {
                listing.segments.push((revision, path));
            } else if let Some(revision) = revision_in(name, SNAPSHOT_PREFIX) {
                listing.snapshots.push((revision, path));
            }
        }
        listing.segments.sort_unstable();
        listing.snapshots.sort_unstable();
        Ok(listing)
    }
}

/// Makes a directory and those above it as far as they are missing, durably: what is acknowledged in it must be found again.
pub(super) fn make(directory: &Path) -> io::Result<()> {
    let missing: Vec<_> = directory.ancestors().take_while(|ancestor| !is_there(ancestor)).collect();
    DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(directory)?;
    missing.iter().filter_map(|made| made.parent()).try_for_each(sync_directory)
}

fn is_there(directory: &Path) -> bool {
    directory.as_os_str().is_empty() || directory.exists()
}

fn revision_in(name: &str, prefix: &str) -> Option<Revision> {
    name.strip_prefix(prefix)?.parse().ok()
}

/// Padded, so that a plain listing shows the order.
pub(super) fn segment_path(directory: &Path, first: Revision) -> PathBuf {
    directory.join(format!("{SEGMENT_PREFIX}{first:020}"))
}

/// Where the next segment is prepared before its first revision is known.
pub(super) fn spare_path(directory: &Path) -> PathBuf {
    directory.join(format!("{SEGMENT_PREFIX}spare{UNFINISHED_SUFFIX}"))
}

pub(super) fn snapshot_path(directory: &Path, revision: Revision) -> PathBuf {
    directory.join(format!("{SNAPSHOT_PREFIX}{revision:020}"))
}

/// Where a file is written before it gets its name.
pub(super) fn unfinished_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(UNFINISHED_SUFFIX);
    name.into()
}

/// Gives a file that is already durable its name, durably. It replaces a file that has that name.
pub(super) fn finish(unfinished: &Path, path: &Path) -> io::Result<()> {
    fs::rename(unfinished, path)?;
    sync_directory(path.parent().unwrap_or(Path::new("")))
}

pub(super) fn sync_directory(directory: &Path) -> io::Result<()> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    File::open(directory)?.sync_all()
}
