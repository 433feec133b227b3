//! Owns the handle that everybody holds.

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use crate::desk::{Desk, Item, Order, Reply};
use crate::engine::Engine;
use crate::journal::file::{FileJournal, FileOptions};
use crate::journal::{Journal, OpenError, Replay};
use crate::plan::Plan;
use crate::state::State;
use crate::writer::{self, Writer};
use crate::{
    Collection, CollectionState, CommitError, Compacted, Cursor, Entry, Event, ListError, ListQuery, Options, Page,
    Revision, Size, StorageError, Write,
};

/// How commits come to be.
#[derive(Clone)]
enum Commits {
    /// On the caller's thread, because nothing has to be waited for.
    Inline,
    /// By the writer's threads.
    Queued(Arc<WriterThreads>),
}

/// Ends the writer's threads when the last handle goes, and waits for them, so that the journal can be opened again.
struct WriterThreads {
    writer: Arc<Writer>,
    threads: Vec<JoinHandle<()>>,
}

impl Drop for WriterThreads {
    fn drop(&mut self) {
        self.writer.desk.close(None);
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a writer of the store panicked");
            }
        }
    }
}

/// A store of revisioned objects. A cheap handle: clones are the same store, which is closed when the last one goes. Cursors
/// do not keep it open.
#[derive(Clone)]
pub struct Store {
    engine: Arc<Engine>,
    commits: Commits,
}

impl Store {
    /// A store that lives in memory only, for tests. Commits happen on the caller's thread.
    pub fn memory(options: Options) -> Self {
        Self { engine: Arc::new(Engine::new(State::new(), options)), commits: Commits::Inline }
    }

    /// A durable store in a directory, which is made if it does not exist.
    pub fn open_file(directory: &Path, options: Options) -> Result<Self, OpenError> {
        Self::open(FileJournal::open(directory, FileOptions::default())?, options)
    }

    /// A store on any journal.
    pub fn open(mut journal: impl Journal, options: Options) -> Result<Self, OpenError> {
        let mut replay = Replay::new(&options);
        journal.load(&mut replay)?;
        let engine = Arc::new(Engine::new(replay.into_state(), options));
        let desk = Arc::new(Desk::default());
        let started = writer::start(Arc::clone(&engine), Arc::clone(&desk), Box::new(journal));
        let (writer, threads) = started.map_err(OpenError::io("start the writer's threads for", "the store"))?;
        Ok(Self { engine, commits: Commits::Queued(Arc::new(WriterThreads { writer, threads })) })
    }

    /// The newest revision. It is durable, as everything that readers see.
    pub fn revision(&self) -> Revision {
        self.engine.state.read().revision
    }

    /// One object as it stands.
    pub fn get(&self, collection: &Collection, name: &str) -> Option<Entry> {
        self.engine.state.read().contents(collection)?.index.get(name).cloned()
    }

    /// A part of a collection at one revision.
    pub fn list(&self, collection: &Collection, query: ListQuery<'_>) -> Result<Page, ListError> {
        crate::list::list(&self.engine.state, collection, query)
    }

    /// What a cache of the collection's content can be keyed by. Constant time.
    pub fn state(&self, collection: &Collection) -> CollectionState {
        self.engine.state.read().collection_state(collection)
    }

    /// Applies all writes, which are of one tenant, or none. They get consecutive revisions, of which the last is returned, after they are durable.
    ///
    /// A caller that stops waiting does not stop the commit.
    pub async fn commit(&self, writes: Vec<Write>) -> Result<Revision, CommitError> {
        Write::check(&writes).map_err(CommitError::Storage)?;
        match &self.commits {
            Commits::Queued(threads) => {
                let tenant = writes.first().map_or_else(String::new, |write| write.collection.tenant().into());
                ask(|reply| threads.writer.take_in(&tenant, Item::Commit { writes, reply })).await
            }
            Commits::Inline => self.commit_inline(writes),
        }
    }

    fn commit_inline(&self, writes: Vec<Write>) -> Result<Revision, CommitError> {
        let mut state = self.engine.state.write();
        let mut plan = Plan::new(&state, state.revision);
        let revision = plan.add(writes)?;
        let events = plan.into_events();
        let removed = self.engine.publish(&mut state, &events);
        drop(state);
        drop(removed);
        self.engine.wakeups.wake(&events);
        Ok(revision)
    }

    /// Follows one collection from the first event after a revision on.
    pub fn watch(&self, collection: &Collection, after: Revision) -> Result<Cursor, Compacted> {
        Cursor::new(Arc::clone(&self.engine), Some(collection), after)
    }

    /// Follows every collection of every tenant, in the order of revisions.
    pub fn watch_all(&self, after: Revision) -> Result<Cursor, Compacted> {
        Cursor::new(Arc::clone(&self.engine), None, after)
    }

    /// The collections of a tenant that hold objects, sorted.
    pub fn collections(&self, tenant: &str) -> Vec<Collection> {
        self.engine.state.read().collections(tenant)
    }

    /// The tenants that hold objects, sorted.
    pub fn tenants(&self) -> Vec<String> {
        self.engine.state.read().tenants()
    }

    /// Removes everything of a tenant at one revision. A tenant that holds nothing is fine.
    pub async fn drop_tenant(&self, tenant: &str) -> Result<(), CommitError> {
        match &self.commits {
            Commits::Queued(threads) => ask(|reply| threads.writer.desk.push(tenant, Item::Drop { reply })).await,
            Commits::Inline => {
                let mut state = self.engine.state.write();
                if state.holds_tenant(tenant) {
                    let events = [Arc::new(Event::tenant_dropped(state.revision + 1, tenant))];
                    let removed = self.engine.publish(&mut state, &events);
                    drop(state);
                    drop(removed);
                    self.engine.wakeups.wake(&events);
                }
                Ok(())
            }
        }
    }

    /// Drops history up to a revision: reading at that revision still works, reading before it does not. The journal is
    /// compacted too before this returns. A store does all this by itself as its options say.
    pub async fn compact(&self, before: Revision) -> Result<(), CommitError> {
        match &self.commits {
            Commits::Queued(threads) => ask(|reply| threads.writer.desk.order(Order::Compact { before, reply })).await,
            Commits::Inline => {
                self.engine.trim_to(before);
                Ok(())
            }
        }
    }

    /// How much the store holds, for metrics.
    pub fn size(&self) -> Size {
        self.engine.size()
    }

    /// Why the last commit could not be made durable; none while all is well. Reading works meanwhile, and every commit
    /// tries again.
    pub fn failure(&self) -> Option<StorageError> {
        self.engine.failure()
    }

    /// Finishes what is queued, closes the journal and releases its lock, though handles remain. Later commits fail with
    /// [`CommitError::Closed`]; reading goes on.
    pub async fn close(&self) {
        if let Commits::Queued(threads) = &self.commits {
            let (closed, wait) = oneshot::channel();
            threads.writer.desk.close(Some(closed));
            let _ = wait.await;
        }
    }
}

/// Leaves a request and waits for its answer.
async fn ask<T>(leave: impl FnOnce(Reply<T>) -> Result<(), CommitError>) -> Result<T, CommitError> {
    let (reply, answer) = oneshot::channel();
    leave(reply)?;
    answer.await.unwrap_or(Err(CommitError::Closed))
}
