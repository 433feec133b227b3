//! The `newc` cpio archive that Linux takes as an additional initramfs: files that appear in the root of a booting host.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;

use bytes::Bytes;
use flate2::{Compression, GzBuilder};

/// Archives are padded so that others may follow them.
const ALIGNMENT: usize = 4;

const DIRECTORY_MODE: u32 = 0o040_755;
const FILE_TYPE: u32 = 0o100_000;
const LINK_MODE: u32 = 0o120_777;

/// Why something cannot be in an archive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    /// A path that leads elsewhere, or that nobody can have.
    #[error("{0:?} is not a path within a root")]
    Path(String),
    /// Something beyond what the format can say.
    #[error("{0:?} is too large for an archive")]
    TooLarge(String),
    /// A path is both a directory and a file.
    #[error("{0:?} is both a file and a directory")]
    Conflict(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Member {
    mode: u32,
    content: Bytes,
}

/// The files of an archive. The same files make the same bytes: no times, no users, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Archive {
    members: BTreeMap<String, Member>,
}

impl Archive {
    /// Puts a file in, with the permissions given, and its directories; a file of the same path is replaced.
    pub fn file(&mut self, path: &str, permissions: u32, content: Bytes) -> Result<&mut Self, ArchiveError> {
        self.put(path, Member { mode: FILE_TYPE | (permissions & 0o7777), content })
    }

    /// Puts a symbolic link in.
    pub fn link(&mut self, path: &str, target: &str) -> Result<&mut Self, ArchiveError> {
        self.put(path, Member { mode: LINK_MODE, content: Bytes::copy_from_slice(target.as_bytes()) })
    }

    /// Puts an empty directory in.
    pub fn directory(&mut self, path: &str) -> Result<&mut Self, ArchiveError> {
        self.put(path, Member { mode: DIRECTORY_MODE, content: Bytes::new() })
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    fn put(&mut self, path: &str, member: Member) -> Result<&mut Self, ArchiveError> {
        let path = path.strip_prefix('/').unwrap_or(path);
        let is_plain = |name: &str| !name.is_empty() && name != "." && name != ".." && !name.contains('\0');
        if !path.split('/').all(is_plain) || path.len() > 4096 {
            return Err(ArchiveError::Path(path.to_owned()));
        }
        if u32::try_from(member.content.len()).is_err() {
            return Err(ArchiveError::TooLarge(path.to_owned()));
        }
        for (end, _) in path.match_indices('/') {
            let parent = self
                .members
                .entry(path[..end].to_owned())
                .or_insert(Member { mode: DIRECTORY_MODE, content: Bytes::new() });
            if parent.mode != DIRECTORY_MODE {
                return Err(ArchiveError::Conflict(path[..end].to_owned()));
            }
        }
        let known = self.members.get(path).map(|known| known.mode == DIRECTORY_MODE);
        if known.is_some_and(|is_directory| is_directory != (member.mode == DIRECTORY_MODE)) {
            return Err(ArchiveError::Conflict(path.to_owned()));
        }
        self.members.insert(path.to_owned(), member);
        Ok(self)
    }

    /// The archive as it is unpacked.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (inode, (path, member)) in (1_u32..).zip(&self.members) {
            let links = if member.mode == DIRECTORY_MODE { 2 } else { 1 };
            write_member(&mut bytes, inode, member.mode, links, path, &member.content);
        }
        write_member(&mut bytes, 0, 0, 1, "TRAILER!!!", b"");
        bytes
    }

    /// The archive as a boot loader gets it: compressed by gzip, and padded so that another may follow.
    pub fn to_gzip(&self) -> Vec<u8> {
        let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
        let mut bytes = encoder
            .write_all(&self.to_bytes())
            .and_then(|()| encoder.finish())
            .expect("writing to memory does not fail");
        pad(&mut bytes);
        bytes
    }
}

fn write_member(bytes: &mut Vec<u8>, inode: u32, mode: u32, links: u32, path: &str, content: &[u8]) {
    let size = content.len() as u32;
    let name_size = path.len() as u32 + 1;
    let mut header = String::from("070701");
    // inode, mode, user, group, links, time, size, device (2), special device (2), name, checksum
    for number in [inode, mode, 0, 0, links, 0, size, 0, 0, 0, 0, name_size, 0] {
        let _ = write!(header, "{number:08X}");
    }
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(path.as_bytes());
    bytes.push(0);
    pad(bytes);
    bytes.extend_from_slice(content);
    pad(bytes);
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
}
