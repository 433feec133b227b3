//! What the installing agent leaves on a disk for the system that starts from it: in a partition of its own, without a file
//! system, behind its length and its digest.

use std::ops::Range;

/// The kind of partition that holds a record: data without a file system.
const KIND: u8 = 0xda;
const SECTOR: u64 = 512;
const MAGIC: &[u8] = b"roost-host-settings-1\n";
/// Magic, a length of eight bytes, a digest.
const HEAD: usize = MAGIC.len() + 8 + 32;
/// The largest record: user-data and a certificate have some kilobytes.
const LARGEST: usize = 1 << 20;

/// Why a record cannot be left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The disk has no partition for it.
    #[error("no partition of its table is for settings")]
    NoPlace,
    /// It is longer than that.
    #[error("the settings have {0} bytes, which is too much")]
    TooLong(usize),
}

/// Where a record goes on a disk that begins so, and its bytes.
pub(super) fn place(beginning: &[u8], content: &[u8]) -> Result<(u64, Vec<u8>), RecordError> {
    let partition = partition(beginning).ok_or(RecordError::NoPlace)?;
    let bytes = write(content);
    if bytes.len() as u64 > partition.end - partition.start || bytes.len() > LARGEST {
        return Err(RecordError::TooLong(content.len()));
    }
    Ok((partition.start, bytes))
}

/// The partition for settings, by the table in a disk's first sector.
fn partition(beginning: &[u8]) -> Option<Range<u64>> {
    let table = beginning.get(446..510).filter(|_| beginning.get(510..512) == Some(&[0x55, 0xaa]))?;
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    let entry = table.chunks_exact(16).find(|entry| entry[4] == KIND)?;
    let (start, length) = (number(&entry[8..12]) * SECTOR, number(&entry[12..16]) * SECTOR);
    (start > 0).then_some(start..start + length)
}

fn write(content: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&(content.len() as u64).to_be_bytes());
    bytes.extend_from_slice(digest(content).as_ref());
    bytes.extend_from_slice(content);
    bytes
}

fn digest(content: &[u8]) -> aws_lc_rs::digest::Digest {
    aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, content)
}

/// The content of a record; none where there is none, or not a whole one.
pub(super) fn read(partition: &[u8]) -> Option<Vec<u8>> {
    let head = partition.get(..HEAD).filter(|head| head.starts_with(MAGIC))?;
    let length = u64::from_be_bytes(head[MAGIC.len()..MAGIC.len() + 8].try_into().ok()?);
    let length = usize::try_from(length).ok().filter(|length| *length <= LARGEST)?;
    let content = partition.get(HEAD..HEAD.checked_add(length)?)?;
    (digest(content).as_ref() == &head[MAGIC.len() + 8..]).then(|| content.to_vec())
}

/// How much of a partition has to be read.
pub(super) const MOST: u64 = LARGEST as u64;

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(in super::super) const TABLE: [u8; 512] = [0; 512];

    /// The first sector of a disk with a partition for settings in its second mebibyte.
    pub(in super::super) fn table() -> [u8; 512] {
        let mut table = TABLE;
        (table[446 + 4], table[446 + 9], table[446 + 13]) = (KIND, 8, 8);
        (table[510], table[511]) = (0x55, 0xaa);
        table
    }

    #[test]
    fn a_record_is_what_was_left() {
        let (offset, bytes) = place(&table(), b"words").unwrap();
        assert_eq!(offset, 1 << 20);
        assert_eq!(read(&bytes).as_deref(), Some(b"words".as_slice()));
        assert_eq!(place(&table(), &vec![0; 1 << 20]), Err(RecordError::TooLong(1 << 20)));
        assert_eq!(place(&TABLE, b"words"), Err(RecordError::NoPlace));
        assert_eq!(place(b"", b"words"), Err(RecordError::NoPlace));
    }

    proptest! {
        #[test]
        fn what_was_changed_is_no_record(content: Vec<u8>, place in any::<prop::sample::Index>(), bit in 0_u32..8) {
            let mut bytes = write(&content);
            prop_assert_eq!(read(&bytes), Some(content.clone()));
            let place = place.index(bytes.len());
            bytes[place] ^= 1 << bit;
            prop_assert_eq!(read(&bytes), None);
            prop_assert_eq!(read(&write(&content)[..place]), None);
        }
    }
}
