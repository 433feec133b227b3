//! Owns the bytes of frames and records, which every journal of ours is made of. `docs/formats/store.md` describes them for
//! people.
//!
//! All numbers are little-endian.

use std::sync::Arc;

use bytes::Bytes;

use super::{Record, Replay};
use crate::{Collection, Entry, Event, Revision};

const NONSENSE: &str = "a record makes no sense although its checksum fits";

/// The first byte cannot occur in UTF-8, so stored text is never mistaken for the start of a frame.
const FRAME_MAGIC: [u8; 4] = [0xF5, b'r', b's', b't'];
pub(crate) const FRAME_HEADER_BYTES: usize = 40;

/// A frame of the log holds one batch. It is bounded so that a damaged length cannot ask for all memory; the writer splits
/// batches far below this, so only one huge commit can come near.
pub(crate) const FRAME_MAX_BYTES: usize = 256 << 20;

/// What three bytes hold. A frame with more before it makes a torn end look like damage, which is no loss.
const UNSETTLED_MAX: u32 = (1 << 24) - 1;

const RECORD_PUT: u8 = 1;
const RECORD_DELETE: u8 = 2;
const RECORD_DROP_TENANT: u8 = 3;
const RECORD_COLLECTION: u8 = 4;
const RECORD_OBJECT: u8 = 5;

/// What a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    /// A batch of changes.
    Batch = 1,
    /// The log goes on in the next segment, which exists.
    Sealed = 2,
    /// The store was closed orderly here.
    Closed = 3,
    /// Collections and objects of a snapshot.
    Objects = 4,
    /// The snapshot is complete.
    End = 5,
}

impl FrameKind {
    fn parse(byte: u8) -> Option<Self> {
        [Self::Batch, Self::Sealed, Self::Closed, Self::Objects, Self::End].into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// What every frame begins with. It has a checksum of its own, so that a length can be trusted before the payload is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub(crate) payload_checksum: u32,
    pub(crate) length: u32,
    /// The revision of the first record.
    pub(crate) revision: Revision,
    /// Milliseconds since 1970.
    pub(crate) time: u64,
    pub(crate) count: u32,
    pub(crate) kind: FrameKind,
    /// How many revisions right before this one were not yet known to be durable when the frame was written.
    pub(crate) unsettled: u32,
}

impl FrameHeader {
    /// The newest revision that was known to be durable when the frame was written.
    pub(crate) fn durable(&self) -> Revision {
        self.revision.saturating_sub(1 + u64::from(self.unsettled))
    }

    pub(crate) fn encode(&self, salt: u32) -> [u8; FRAME_HEADER_BYTES] {
        let mut bytes = [0; FRAME_HEADER_BYTES];
        bytes[..4].copy_from_slice(&FRAME_MAGIC);
        bytes[8..12].copy_from_slice(&self.payload_checksum.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.length.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.revision.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.time.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.count.to_le_bytes());
        bytes[36] = self.kind as u8;
        bytes[37..].copy_from_slice(&self.unsettled.min(UNSETTLED_MAX).to_le_bytes()[..3]);
        let checksum = crc32c::crc32c_append(salt, &bytes[8..]);
        bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// None when this is no frame of the file with this salt.
    pub(crate) fn decode(bytes: &[u8; FRAME_HEADER_BYTES], salt: u32) -> Option<Self> {
        if bytes[..4] != FRAME_MAGIC || crc32c::crc32c_append(salt, &bytes[8..]) != u32::from_le_bytes(array(bytes, 4))
        {
            return None;
        }
        Some(Self {
            payload_checksum: u32::from_le_bytes(array(bytes, 8)),
            length: u32::from_le_bytes(array(bytes, 12)),
            revision: u64::from_le_bytes(array(bytes, 16)),
            time: u64::from_le_bytes(array(bytes, 24)),
            count: u32::from_le_bytes(array(bytes, 32)),
            kind: FrameKind::parse(bytes[36])?,
            unsettled: u32::from_le_bytes([bytes[37], bytes[38], bytes[39], 0]),
        })
    }
}

/// The headers of frames in these bytes, with their places.
pub(crate) fn find_frames(bytes: &[u8], salt: u32) -> impl Iterator<Item = (usize, FrameHeader)> {
    bytes
        .windows(FRAME_HEADER_BYTES)
        .enumerate()
        .filter(|(_, window)| window[0] == FRAME_MAGIC[0])
        .filter_map(move |(place, window)| Some((place, FrameHeader::decode(window.try_into().ok()?, salt)?)))
}

/// Builds one frame: begin, records, finish.
pub(crate) struct FrameBuilder {
    bytes: Vec<u8>,
    start: usize,
    count: u32,
}

impl FrameBuilder {
    /// Appends a frame to these bytes.
    pub(crate) fn new(mut bytes: Vec<u8>) -> Self {
        let start = bytes.len();
        bytes.resize(start + FRAME_HEADER_BYTES, 0);
        Self { bytes, start, count: 0 }
    }

    pub(crate) fn payload_bytes(&self) -> usize {
        self.bytes.len() - self.start - FRAME_HEADER_BYTES
    }

    pub(crate) fn change(&mut self, event: &Event) {
        match Record::from(event) {
            Record::Put { collection, name, value } => self.record(RECORD_PUT, collection, name, value),
            Record::Delete { collection, name } => self.record(RECORD_DELETE, collection, name, &[]),
            Record::DropTenant { tenant } => self.record(RECORD_DROP_TENANT, tenant, "", &[]),
        }
    }

    pub(crate) fn collection(&mut self, collection: &str, modified: Revision) {
        self.record(RECORD_COLLECTION, collection, "", &modified.to_le_bytes());
    }

    pub(crate) fn object(&mut self, name: &str, created: Revision, modified: Revision, value: &[u8]) {
        self.begin_record(RECORD_OBJECT, "", name, value.len() + 16);
        self.bytes.extend_from_slice(&created.to_le_bytes());
        self.bytes.extend_from_slice(&modified.to_le_bytes());
        self.bytes.extend_from_slice(value);
    }

    fn record(&mut self, kind: u8, collection: &str, name: &str, value: &[u8]) {
        self.begin_record(kind, collection, name, value.len());
        self.bytes.extend_from_slice(value);
    }

    fn begin_record(&mut self, kind: u8, collection: &str, name: &str, value_length: usize) {
        self.count += 1;
        self.bytes.push(kind);
        self.bytes.extend_from_slice(&(collection.len() as u16).to_le_bytes());
        self.bytes.extend_from_slice(&(name.len() as u16).to_le_bytes());
        self.bytes.extend_from_slice(&(value_length as u32).to_le_bytes());
        self.bytes.extend_from_slice(collection.as_bytes());
        self.bytes.extend_from_slice(name.as_bytes());
    }

    pub(crate) fn finish(self, kind: FrameKind, revision: Revision, time: u64, salt: u32) -> Vec<u8> {
        self.finish_unsettled(kind, revision, time, salt, 0)
    }

    /// A frame that was written before those in front of it were known to be durable.
    pub(crate) fn finish_unsettled(
        mut self,
        kind: FrameKind,
        revision: Revision,
        time: u64,
        salt: u32,
        unsettled: u64,
    ) -> Vec<u8> {
        let payload = self.start + FRAME_HEADER_BYTES;
        let header = FrameHeader {
            payload_checksum: crc32c::crc32c_append(salt, &self.bytes[payload..]),
            length: (self.bytes.len() - payload) as u32,
            revision,
            time,
            count: self.count,
            kind,
            unsettled: u32::try_from(unsettled).unwrap_or(UNSETTLED_MAX),
        };
        self.bytes[self.start..payload].copy_from_slice(&header.encode(salt));
        self.bytes
    }
}

/// One record of a frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Item<'a> {
    Change(Record<'a>),
    Collection { collection: &'a str, modified: Revision },
    Object { name: &'a str, created: Revision, modified: Revision, value: &'a [u8] },
}

/// Reads the records of a frame's payload. Ends with `Some(None)` where the bytes make no sense.
pub(crate) struct Items<'a> {
    bytes: &'a [u8],
}

impl<'a> Items<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    fn read(&mut self) -> Option<Item<'a>> {
        let (kind, rest) = self.bytes.split_first()?;
        let (collection_length, rest) = rest.split_first_chunk()?;
        let (name_length, rest) = rest.split_first_chunk()?;
        let (value_length, rest) = rest.split_first_chunk()?;
        let (collection, rest) = rest.split_at_checked(u16::from_le_bytes(*collection_length).into())?;
        let (name, rest) = rest.split_at_checked(u16::from_le_bytes(*name_length).into())?;
        let (value, rest) = rest.split_at_checked(u32::from_le_bytes(*value_length) as usize)?;
        self.bytes = rest;
        let collection = std::str::from_utf8(collection).ok()?;
        let name = std::str::from_utf8(name).ok()?;
        Some(match *kind {
            RECORD_PUT => Item::Change(Record::Put { collection, name, value }),
            RECORD_DELETE => Item::Change(Record::Delete { collection, name }),
            RECORD_DROP_TENANT => Item::Change(Record::DropTenant { tenant: collection }),
            RECORD_COLLECTION => Item::Collection { collection, modified: u64::from_le_bytes(value.try_into().ok()?) },
            RECORD_OBJECT => {
                let (created, value) = value.split_first_chunk()?;
                let (modified, value) = value.split_first_chunk()?;
                let (created, modified) = (u64::from_le_bytes(*created), u64::from_le_bytes(*modified));
                Item::Object { name, created, modified, value }
            }
            _ => return None,
        })
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Option<Item<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.bytes.is_empty() {
            return None;
        }
        let item = self.read();
        if item.is_none() {
            self.bytes = &[];
        }
        Some(item)
    }
}

/// Takes in the records of a batch that are newer than what was taken in before; returns the next expected revision.
pub(crate) fn replay_batch(
    header: &FrameHeader,
    payload: &[u8],
    expected: Revision,
    replay: &mut Replay<'_>,
) -> Result<Revision, String> {
    if header.revision != expected {
        return Err(format!("revision {} stands where {expected} belongs", header.revision));
    }
    let mut revision = expected;
    for item in Items::new(payload) {
        let Some(Item::Change(record)) = item else { return Err(NONSENSE.into()) };
        if revision > replay.revision() {
            replay.record(revision, record, header.time).map_err(|error| error.to_string())?;
        }
        revision += 1;
    }
    if revision - expected != u64::from(header.count) {
        return Err(format!("{} records instead of {}", revision - expected, header.count));
    }
    replay.trim();
    Ok(revision)
}

/// Takes in the collections and objects of a frame of a snapshot; a collection goes on in the next frame.
pub(crate) fn replay_objects(
    payload: &[u8],
    collection: &mut Option<Collection>,
    replay: &mut Replay<'_>,
) -> Result<(), String> {
    for item in Items::new(payload) {
        match (item, &*collection) {
            (Some(Item::Collection { collection: text, modified }), _) => {
                *collection = Some(replay.collection(text, modified).map_err(|error| error.to_string())?);
            }
            (Some(Item::Object { name, created, modified, value }), Some(collection)) => {
                let entry = Entry { name: Arc::from(name), value: Bytes::copy_from_slice(value), created, modified };
                replay.object(collection, entry).map_err(|error| error.to_string())?;
            }
            _ => return Err(NONSENSE.into()),
        }
    }
    Ok(())
}

pub(crate) fn array<const N: usize>(bytes: &[u8], start: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[start..start + N]);
    array
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_header_survives_and_notices_every_flipped_bit() {
        let header = FrameHeader {
            payload_checksum: 5,
            length: 6,
            revision: 7,
            time: 8,
            count: 9,
            kind: FrameKind::Batch,
            unsettled: 10,
        };
        let bytes = header.encode(99);
        assert_eq!(FrameHeader::decode(&bytes, 99), Some(header));
        assert_eq!(FrameHeader::decode(&bytes, 98), None);
        for bit in 0..FRAME_HEADER_BYTES * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(FrameHeader::decode(&flipped, 99), None, "bit {bit}");
        }
    }

    #[test]
    fn a_frame_is_found_behind_garbage() {
        let mut builder = FrameBuilder::new(vec![0xF5; 77]);
        builder.collection("a//b", 3);
        let bytes = builder.finish(FrameKind::Objects, 1, 2, 4);
        assert_eq!(find_frames(&bytes, 4).map(|(place, _)| place).collect::<Vec<_>>(), [77]);
        assert_eq!(find_frames(&bytes, 5).count(), 0);
    }

    proptest! {
        #[test]
        fn any_payload_ends(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            prop_assert!(Items::new(&bytes).count() <= bytes.len());
        }
    }
}
