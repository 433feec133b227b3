//! Owns a journal on an etcd cluster: batches are keys, and only the holder of a lease writes.
//!
//! | key under the prefix | value |
//! | --- | --- |
//! | `writer` | who writes, bound to its lease |
//! | `log/<first revision>` | one frame: a batch |
//! | `snapshot/<revision>/<part>` | one frame: objects |
//! | `base` | revision and number of parts of the snapshot that counts |
//!
//! Frames are those of the store's own files. etcd keeps older versions of keys until it compacts itself, so the cluster should
//! run with automatic compaction.

mod compaction;
mod connection;
mod load;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use etcd_client::{Compare, CompareOp, GetOptions, Txn, TxnOp, TxnOpResponse};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use etcd_client::{Certificate, ConnectOptions, Identity, TlsOptions};

use self::connection::Connection;
use super::frame::{FrameBuilder, FrameKind};
use super::{Batch, Completion, Journal, OpenError, Replay, Snapshot, SyncWork};
use crate::{Revision, StorageError};

/// etcd refuses requests above 1.5 MiB, so a batch that is not a single commit stays well below.
const BATCH_BYTES: usize = 1 << 20;

/// A snapshot is written when batches of this size together are no longer needed for history. etcd's space is precious: it
/// stops at 2 GiB unless told otherwise, and keeps older versions for a while.
const COMPACT_BYTES: u64 = 64 << 20;

/// Frames in etcd need no salt: a value is one frame, and nothing is searched for in it.
const SALT: u32 = 0;

/// Where the journal is.
#[derive(Clone, Debug, Default)]
pub struct EtcdOptions {
    /// Addresses such as `https://10.0.0.1:2379`.
    pub endpoints: Vec<String>,
    /// What the keys begin with, such as `/roost`. Every store needs its own.
    pub prefix: String,
    /// Certificates, user and timeouts.
    pub connect: Option<ConnectOptions>,
}

/// What the prefix holds.
#[derive(Default)]
struct Inventory {
    /// First revision and size of every batch, in order.
    log: VecDeque<(Revision, u64)>,
    snapshot_bytes: u64,
}

impl Inventory {
    /// How many batches end at or before a mark.
    fn covered(&self, mark: Revision) -> usize {
        self.log.partition_point(|(first, _)| *first <= mark + 1).saturating_sub(1)
    }
}

/// A journal on an etcd cluster.
pub struct EtcdJournal {
    connection: Connection,
    inventory: Arc<Mutex<Inventory>>,
    /// An append ended in a way that tells nothing about whether etcd applied it.
    uncertain: bool,
    compaction: Option<JoinHandle<()>>,
}

impl EtcdJournal {
    /// Connects and becomes the only writer. [`OpenError::Locked`] says who is; it frees the place within seconds after
    /// it has ended, so a standby tries again.
    pub fn open(options: EtcdOptions) -> Result<Self, OpenError> {
        let connection = Connection::open(options)?;
        Ok(Self { connection, inventory: Arc::default(), uncertain: false, compaction: None })
    }

    /// Turns true when this process is no longer the writer. What it reads is old from then on, so it should end.
    pub fn lost(&self) -> watch::Receiver<bool> {
        self.connection.lost()
    }

    fn write(&mut self, key: String, frame: Vec<u8>) -> Result<(), StorageError> {
        let fence = self.connection.fence();
        let writer = self.connection.key("writer");
        let uncertain = self.uncertain;
        // Until etcd has said yes or no, a late yes must be reckoned with.
        self.uncertain = true;
        let answer = self.connection.run(move |mut client| async move {
            let mut expected = 0;
            if uncertain {
                let found = client.get(key.as_str(), Some(GetOptions::new().with_keys_only())).await?;
                expected = found.kvs().first().map_or(0, etcd_client::KeyValue::mod_revision);
            }
            let unchanged = Compare::mod_revision(key.as_str(), CompareOp::Equal, expected);
            let transaction = Txn::new()
                .when([fence, unchanged])
                .and_then([TxnOp::put(key, frame, None)])
                .or_else([TxnOp::get(writer, None)]);
            client.txn(transaction).await
        });
        let answer = answer.map_err(|error| {
            StorageError::new(format!(
                "etcd did not take the commit: {error}; writing is tried again with every commit"
            ))
        })?;
        if answer.succeeded() {
            self.uncertain = false;
            return Ok(());
        }
        match answer.op_responses().first() {
            Some(TxnOpResponse::Get(writer)) if self.connection.is_mine(writer.kvs().first()) => Err(
                StorageError::new("an earlier commit arrived at etcd late; writing is tried again with every commit"),
            ),
            Some(TxnOpResponse::Get(writer)) => {
                let holder = writer.kvs().first().and_then(|pair| pair.value_str().ok()).unwrap_or("nobody");
                self.connection.give_up();
                Err(StorageError::new(format!(
                    "this process is no longer the writer of the store, {holder} is; restart it"
                )))
            }
            _ => Err(StorageError::new("etcd refused the commit without a reason")),
        }
    }
}

impl Journal for EtcdJournal {
    fn load(&mut self, replay: &mut Replay<'_>) -> Result<(), OpenError> {
        *self.inventory.lock() = load::load(&self.connection, replay)?;
        Ok(())
    }

    fn append(&mut self, batch: Batch<'_>) -> Result<Option<SyncWork>, StorageError> {
        let Some(first) = batch.events.first().map(|event| event.revision) else { return Ok(None) };
        let mut frame = FrameBuilder::new(Vec::new());
        for event in batch.events {
            frame.change(event);
        }
        let frame = frame.finish(FrameKind::Batch, first, batch.time, SALT);
        let bytes = frame.len() as u64;
        self.write(self.connection.log_key(first), frame)?;
        self.inventory.lock().log.push_back((first, bytes));
        Ok(None)
    }

    fn batch_bytes(&self) -> usize {
        BATCH_BYTES
    }

    fn worth_compacting(&self, mark: Revision) -> bool {
        let inventory = self.inventory.lock();
        let covered: u64 = inventory.log.iter().take(inventory.covered(mark)).map(|(_, bytes)| bytes).sum();
        covered >= COMPACT_BYTES.max(inventory.snapshot_bytes)
    }

    fn compact(&mut self, snapshot: Snapshot, done: Completion) {
        self.compaction = compaction::start(&self.connection, Arc::clone(&self.inventory), snapshot, done);
    }

    fn stored_bytes(&self) -> u64 {
        let inventory = self.inventory.lock();
        inventory.log.iter().map(|(_, bytes)| bytes).sum::<u64>() + inventory.snapshot_bytes
    }

    fn close(&mut self) {
        if let Some(compaction) = self.compaction.take() {
            compaction.abort();
        }
        self.connection.close();
    }
}

/// A key as the error for damage names it.
fn damaged(key: &str, problem: impl Into<String>) -> OpenError {
    OpenError::damaged(PathBuf::from(format!("etcd key {key}")), 0, problem)
}
