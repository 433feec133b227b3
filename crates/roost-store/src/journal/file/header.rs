//! Owns what every file of a store begins with. `docs/formats/store.md` describes it for people.
//!
//! All numbers are little-endian.

use crate::Revision;
use crate::journal::frame::array;

/// The first bytes of a segment of the log.
pub(super) const LOG_MAGIC: [u8; 8] = *b"ROOSTLOG";
/// The first bytes of a snapshot.
pub(super) const SNAPSHOT_MAGIC: [u8; 8] = *b"ROOSTSNP";
/// Raised when a program that knows only the older one would misread the files.
pub(super) const FORMAT_VERSION: u32 = 1;
/// A file header fills a cache line, with room for what later versions need.
pub(super) const FILE_HEADER_BYTES: usize = 64;

/// What every file begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileHeader {
    pub(super) magic: [u8; 8],
    pub(super) version: u32,
    /// The same in all files of one store, so that files of two stores cannot be mixed.
    pub(super) store: [u8; 16],
    /// The first revision of a segment, or the revision of a snapshot.
    pub(super) revision: Revision,
    /// Random per file and part of every checksum in it, so that neither blocks of an older file nor bytes that somebody
    /// stored can pass for a frame.
    pub(super) salt: u32,
}

impl FileHeader {
    pub(super) fn encode(&self) -> [u8; FILE_HEADER_BYTES] {
        let mut bytes = [0; FILE_HEADER_BYTES];
        bytes[..8].copy_from_slice(&self.magic);
        bytes[8..12].copy_from_slice(&self.version.to_le_bytes());
        bytes[12..28].copy_from_slice(&self.store);
        bytes[28..36].copy_from_slice(&self.revision.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.salt.to_le_bytes());
        let checksum = crc32c::crc32c(&bytes[..60]);
        bytes[60..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// None when the checksum does not fit.
    pub(super) fn decode(bytes: &[u8; FILE_HEADER_BYTES]) -> Option<Self> {
        let header = Self {
            magic: array(bytes, 0),
            version: u32::from_le_bytes(array(bytes, 8)),
            store: array(bytes, 12),
            revision: u64::from_le_bytes(array(bytes, 28)),
            salt: u32::from_le_bytes(array(bytes, 36)),
        };
        (crc32c::crc32c(&bytes[..60]) == u32::from_le_bytes(array(bytes, 60))).then_some(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_survives_and_notices_every_flipped_bit() {
        let header = FileHeader { magic: LOG_MAGIC, version: 1, store: [7; 16], revision: 42, salt: 99 };
        let bytes = header.encode();
        assert_eq!(FileHeader::decode(&bytes), Some(header));
        for bit in 0..FILE_HEADER_BYTES * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(FileHeader::decode(&flipped), None, "bit {bit}");
        }
    }
}
