//! A disk that can be full.

pub(super) mod live_image;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use roost_operator::{BaseImages, Supplies};
use roost_store::journal::file::{FileJournal, FileOptions};
use roost_store::journal::{Batch, Completion, Journal, Replay, Snapshot, SyncWork};
use roost_store::{OpenError, Options, Revision, StorageError, Store};
use tempfile::TempDir;

use super::ManagementError;

/// The disk of one management plane; its files go with it.
pub(super) struct Disk {
    full: Arc<AtomicBool>,
    _directory: TempDir,
    _images: TempDir,
    supplies: Supplies,
}

impl Disk {
    /// An empty disk and the store on it.
    pub(super) fn with_store() -> Result<(Disk, Store), ManagementError> {
        let directory = tempfile::tempdir()?;
        let full = Arc::new(AtomicBool::new(false));
        let inner = FileJournal::open(directory.path(), FileOptions::default())?;
        let store = Store::open(Limited { inner, full: Arc::clone(&full) }, Options::default())?;
        let images = tempfile::tempdir()?;
        live_image::write(images.path())?;
        let given = roost_image_server::given(images.path())?;
        let base = BaseImages { given, directory: images.path().join("fetched") };
        let host_logs = images.path().join("host-logs");
        let supplies = Supplies { images: base, host_logs, ..Supplies::default() };
        Ok((Disk { full, _directory: directory, _images: images, supplies }, store))
    }

    /// What hosts are given.
    pub(super) fn supplies(&self) -> Supplies {
        self.supplies.clone()
    }

    /// From now on nothing can be written, or everything again.
    pub(super) fn set_full(&self, full: bool) {
        self.full.store(full, Ordering::SeqCst);
    }
}

/// A journal in files that takes nothing more while the disk is full.
struct Limited {
    inner: FileJournal,
    full: Arc<AtomicBool>,
}

impl Limited {
    fn room(&self) -> Result<(), StorageError> {
        if self.full.load(Ordering::SeqCst) { Err(StorageError::new("no space left on device")) } else { Ok(()) }
    }
}

impl Journal for Limited {
    fn load(&mut self, replay: &mut Replay<'_>) -> Result<(), OpenError> {
        self.inner.load(replay)
    }

    fn append(&mut self, batch: Batch<'_>) -> Result<Option<SyncWork>, StorageError> {
        self.room()?;
        self.inner.append(batch)
    }

    fn must_settle(&self) -> bool {
        self.inner.must_settle()
    }

    fn take_back(&mut self, first: Revision) {
        self.inner.take_back(first);
    }

    fn worth_compacting(&self, mark: Revision) -> bool {
        self.inner.worth_compacting(mark)
    }

    fn compact(&mut self, snapshot: Snapshot, done: Completion) {
        match self.room() {
            Ok(()) => self.inner.compact(snapshot, done),
            Err(error) => done(Err(error)),
        }
    }

    fn stored_bytes(&self) -> u64 {
        self.inner.stored_bytes()
    }

    fn close(&mut self) {
        self.inner.close();
    }
}

#[cfg(test)]
mod tests {
    use kube::api::{DynamicObject, PostParams};

    use super::super::objects::api;
    use crate::hosted::Management;

    #[tokio::test]
    async fn a_full_disk_is_told_and_heals() {
        let management = Management::embedded().await.expect("a plane");
        let spaces = api(&management.client, "v1", "Namespace", "namespaces", "");
        let ready = async || {
            let request = http::Request::get("/readyz").body(Vec::new()).expect("a request");
            management.client.request_text(request).await
        };
        let space = |name: &str| DynamicObject {
            types: None,
            metadata: kube::api::ObjectMeta { name: Some(name.to_owned()), ..Default::default() },
            data: serde_json::json!({}),
        };
        assert_eq!(ready().await.expect("an answer"), "ok");
        management.disk.set_full(true);
        let refused = spaces.create(&PostParams::default(), &space("one")).await.expect_err("there is no room");
        assert!(refused.to_string().contains("nothing was changed; the server's log says why"), "{refused}");
        let unwell = ready().await.expect_err("it is not ready").to_string();
        assert!(unwell.contains("[-]etcd failed: reason withheld"), "{unwell}");
        management.disk.set_full(false);
        spaces.create(&PostParams::default(), &space("one")).await.expect("there is room again");
        assert_eq!(ready().await.expect("an answer"), "ok");
    }
}
