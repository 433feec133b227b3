//! Owns reading a store back from etcd.

use etcd_client::{GetOptions, KeyValue, SortOrder, SortTarget};

use super::connection::Connection;
use super::{Inventory, SALT, damaged};
use crate::Revision;
use crate::journal::frame::{FRAME_HEADER_BYTES, FrameHeader, FrameKind, replay_batch, replay_objects};
use crate::journal::{OpenError, Replay};

/// So many keys are read at once. They may be 1.5 MiB each.
const PAGE_KEYS: i64 = 64;

/// Reads everything into `replay`.
pub(super) fn load(connection: &Connection, replay: &mut Replay<'_>) -> Result<Inventory, OpenError> {
    let mut inventory = Inventory::default();
    if let Some((revision, parts)) = read_base(connection)? {
        inventory.snapshot_bytes = load_snapshot(connection, revision, parts, replay)?;
    }
    let mut next = connection.key("log/");
    let end = connection.key("log0");
    loop {
        let page = read_page(connection, next, end.clone())?;
        let Some(last) = page.last() else { break };
        next = format!("{}\0", text(last));
        for pair in page {
            let key = text(&pair);
            let first = parse_first(&key).ok_or_else(|| damaged(&key, "its name is not a revision"))?;
            load_batch(&key, first, pair.value(), replay)?;
            inventory.log.push_back((first, pair.value().len() as u64));
        }
    }
    Ok(inventory)
}

/// Revision and number of parts, as `base` holds them.
pub(super) fn encode_base(revision: Revision, parts: u32) -> String {
    format!("{revision} {parts}")
}

/// A part of a snapshot, numbered so that it sorts.
pub(super) fn part_key(parts: &str, part: u32) -> String {
    format!("{parts}{part:06}")
}

fn read_base(connection: &Connection) -> Result<Option<(Revision, u32)>, OpenError> {
    let key = connection.key("base");
    let found = connection.run({
        let key = key.clone();
        move |mut client| async move { client.get(key, None).await }
    });
    let found = found.map_err(|error| unreadable(&error))?;
    let Some(pair) = found.kvs().first() else { return Ok(None) };
    let parsed = pair.value_str().ok().and_then(|value| {
        let (revision, parts) = value.split_once(' ')?;
        Some((revision.parse().ok()?, parts.parse().ok()?))
    });
    parsed.map(Some).ok_or_else(|| damaged(&key, "it is not a revision and a number of parts"))
}

fn load_snapshot(
    connection: &Connection,
    revision: Revision,
    parts: u32,
    replay: &mut Replay<'_>,
) -> Result<u64, OpenError> {
    replay.begin_snapshot(revision);
    let mut collection = None;
    let mut bytes = 0;
    for part in 0..parts {
        let key = part_key(&connection.snapshot_parts(revision), part);
        let found = connection.run({
            let key = key.clone();
            move |client| async move { client.kv_client().max_decoding_message_size(usize::MAX).get(key, None).await }
        });
        let found = found.map_err(|error| unreadable(&error))?;
        let pair = found.kvs().first().ok_or_else(|| damaged(&key, "it is missing"))?;
        let (_, payload) = decode(&key, pair.value(), FrameKind::Objects)?;
        replay_objects(payload, &mut collection, replay).map_err(|problem| damaged(&key, problem))?;
        bytes += pair.value().len() as u64;
    }
    Ok(bytes)
}

fn load_batch(key: &str, first: Revision, value: &[u8], replay: &mut Replay<'_>) -> Result<(), OpenError> {
    let expected = replay.revision() + 1;
    if first > expected {
        return Err(damaged(key, format!("revision {expected} was not found in any key before it")));
    }
    let (header, payload) = decode(key, value, FrameKind::Batch)?;
    replay_batch(&header, payload, first, replay).map_err(|problem| damaged(key, problem))?;
    Ok(())
}

fn decode<'a>(key: &str, value: &'a [u8], kind: FrameKind) -> Result<(FrameHeader, &'a [u8]), OpenError> {
    let decoded = value.split_first_chunk::<FRAME_HEADER_BYTES>().and_then(|(header, payload)| {
        let header = FrameHeader::decode(header, SALT)?;
        let fits = header.length as usize == payload.len()
            && crc32c::crc32c_append(SALT, payload) == header.payload_checksum
            && header.kind == kind;
        fits.then_some((header, payload))
    });
    decoded.ok_or_else(|| damaged(key, "its checksum does not fit"))
}

fn read_page(connection: &Connection, start: String, end: String) -> Result<Vec<KeyValue>, OpenError> {
    let found = connection.run(move |client| async move {
        let options =
            GetOptions::new().with_range(end).with_limit(PAGE_KEYS).with_sort(SortTarget::Key, SortOrder::Ascend);
        client.kv_client().max_decoding_message_size(usize::MAX).get(start, Some(options)).await
    });
    Ok(found.map_err(|error| unreadable(&error))?.take_kvs())
}

fn unreadable(error: &super::connection::RequestError) -> OpenError {
    OpenError::Remote(format!("cannot read the store from etcd: {error}"))
}

fn text(pair: &KeyValue) -> String {
    String::from_utf8_lossy(pair.key()).into_owned()
}

fn parse_first(key: &str) -> Option<Revision> {
    key.rsplit('/').next()?.parse().ok()
}
