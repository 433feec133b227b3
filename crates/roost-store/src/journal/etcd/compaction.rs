//! Owns replacing batches in etcd by a snapshot, while later batches are written.

use std::sync::Arc;

use etcd_client::{Client, Compare, DeleteOptions, Txn, TxnOp};
use parking_lot::Mutex;
use tokio::task::JoinHandle;

use super::connection::Connection;
use super::load::{encode_base, part_key};
use super::{Inventory, SALT};
use crate::journal::frame::{FrameBuilder, FrameKind};
use crate::journal::{Completion, Snapshot, unix_milliseconds};
use crate::{Revision, StorageError};

/// A part of a snapshot is one request, which etcd takes up to 1.5 MiB.
const PART_BYTES: usize = 1 << 20;

/// The keys that a compaction touches, worked out before it goes aside.
struct Keys {
    base: String,
    /// Everything of older snapshots is before this.
    snapshots: String,
    /// What the parts of this one begin with.
    parts: String,
    log: String,
    /// The oldest batch that is still needed.
    kept_batch: Option<String>,
}

/// What goes wrong, in words.
type Failure = String;

pub(super) fn start(
    connection: &Connection,
    inventory: Arc<Mutex<Inventory>>,
    snapshot: Snapshot,
    done: Completion,
) -> Option<JoinHandle<()>> {
    let mark = snapshot.revision();
    let (covered, kept) = {
        let inventory = inventory.lock();
        let covered = inventory.covered(mark);
        (covered, inventory.log.get(covered).map(|(first, _)| *first))
    };
    let keys = Keys {
        base: connection.key("base"),
        snapshots: connection.key("snapshot/"),
        parts: connection.snapshot_parts(mark),
        log: connection.key("log/"),
        kept_batch: kept.map(|first| connection.log_key(first)),
    };
    let (client, fence) = (connection.client(), connection.fence());
    let work = async move {
        let result = replace(client, fence, keys, snapshot).await;
        if let Ok(bytes) = &result {
            let mut inventory = inventory.lock();
            inventory.log.drain(..covered);
            inventory.snapshot_bytes = *bytes;
        }
        let failed = |failure: Failure| StorageError::new(format!("cannot write a snapshot to etcd: {failure}"));
        done(result.map(drop).map_err(failed));
    };
    connection.spawn(work)
}

/// Writes the parts, then names them as what counts, then deletes what they replace.
async fn replace(mut client: Client, fence: Compare, keys: Keys, snapshot: Snapshot) -> Result<u64, Failure> {
    let mark = snapshot.revision();
    let mut parts = 0_u32;
    let mut bytes = 0;
    let mut frame = FrameBuilder::new(Vec::new());
    for collection in snapshot {
        frame.collection(collection.collection.as_str(), collection.modified);
        for entry in collection.entries {
            if frame.payload_bytes() + entry.value.len() > PART_BYTES {
                bytes += write_part(&mut client, &fence, &keys.parts, parts, frame, mark).await?;
                parts += 1;
                frame = FrameBuilder::new(Vec::new());
            }
            frame.object(&entry.name, entry.created, entry.modified, &entry.value);
        }
    }
    bytes += write_part(&mut client, &fence, &keys.parts, parts, frame, mark).await?;
    parts += 1;
    put(&mut client, &fence, keys.base, encode_base(mark, parts).into_bytes()).await?;
    let older_snapshots = DeleteOptions::new().with_range(keys.parts);
    let deleted = client.delete(keys.snapshots, Some(older_snapshots)).await;
    deleted.map_err(|error| error.to_string())?;
    if let Some(kept) = keys.kept_batch {
        let deleted = client.delete(keys.log, Some(DeleteOptions::new().with_range(kept))).await;
        deleted.map_err(|error| error.to_string())?;
    }
    Ok(bytes)
}

async fn write_part(
    client: &mut Client,
    fence: &Compare,
    prefix: &str,
    part: u32,
    frame: FrameBuilder,
    mark: Revision,
) -> Result<u64, Failure> {
    let frame = frame.finish(FrameKind::Objects, mark, unix_milliseconds(), SALT);
    let bytes = frame.len() as u64;
    put(client, fence, part_key(prefix, part), frame).await?;
    Ok(bytes)
}

async fn put(client: &mut Client, fence: &Compare, key: String, value: Vec<u8>) -> Result<(), Failure> {
    let transaction = Txn::new().when([fence.clone()]).and_then([TxnOp::put(key, value, None)]);
    let answer = client.txn(transaction).await.map_err(|error| error.to_string())?;
    if answer.succeeded() { Ok(()) } else { Err("this process is no longer the writer".into()) }
}
