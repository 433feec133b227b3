//! Owns the connection to etcd, and being the only writer.

use std::future::Future;
use std::sync::mpsc;
use std::time::Duration;

use etcd_client::{Client, Compare, CompareOp, KeyValue, PutOptions, Txn, TxnOp, TxnOpResponse};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::EtcdOptions;
use crate::Revision;
use crate::journal::OpenError;

/// A writer that ended without a word is replaced after this. Shorter than a person waits, longer than a leader election of
/// etcd takes.
const LEASE_SECONDS: i64 = 10;

/// The lease is renewed so often: two renewals may fail.
const RENEW_INTERVAL: Duration = Duration::from_secs(3);

/// After this etcd is taken to have no quorum, or not to be reachable.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// An answer that did not come, or was an error.
#[derive(Debug, thiserror::Error)]
pub(super) enum RequestError {
    #[error("{0}")]
    Etcd(#[from] etcd_client::Error),
    #[error("no answer within {} seconds", REQUEST_TIMEOUT.as_secs())]
    TimedOut,
    #[error("this process is no longer the writer of the store; restart it")]
    Lost,
}

/// A connection that holds the lease.
pub(super) struct Connection {
    /// Of its own, because a journal is called from threads that may or may not belong to another one.
    runtime: Option<Runtime>,
    client: Client,
    prefix: String,
    lease: i64,
    /// The etcd revision at which this process became the writer.
    since: i64,
    lost: watch::Sender<bool>,
}

impl Connection {
    pub(super) fn open(options: EtcdOptions) -> Result<Self, OpenError> {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).thread_name("store-etcd").enable_all().build();
        let runtime = runtime.map_err(OpenError::io("start a runtime for", "etcd"))?;
        let prefix = options.prefix.trim_end_matches('/').to_string();
        let writer = format!("{prefix}/writer");
        let opened = wait(&runtime, async move {
            let client = Client::connect(&options.endpoints, options.connect).await?;
            let claimed = claim(client.clone(), writer).await?;
            Ok((client, claimed))
        });
        let (client, claimed) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                runtime.shutdown_background();
                return Err(OpenError::Remote(format!("cannot open the store in etcd: {error}")));
            }
        };
        match claimed {
            Claim::Mine { lease, since } => {
                let lost = watch::Sender::new(false);
                runtime.spawn(renew(client.clone(), lease, lost.clone()));
                Ok(Self { runtime: Some(runtime), client, prefix, lease, since, lost })
            }
            Claim::Taken { holder } => {
                runtime.shutdown_background();
                Err(OpenError::Locked { directory: prefix.into(), holder })
            }
        }
    }

    pub(super) fn lost(&self) -> watch::Receiver<bool> {
        self.lost.subscribe()
    }

    /// Holds only while this process is the writer.
    pub(super) fn fence(&self) -> Compare {
        Compare::create_revision(self.key("writer"), CompareOp::Equal, self.since)
    }

    pub(super) fn is_mine(&self, writer: Option<&KeyValue>) -> bool {
        writer.is_some_and(|writer| writer.create_revision() == self.since)
    }

    /// Never writes again.
    pub(super) fn give_up(&self) {
        self.lost.send_replace(true);
    }

    pub(super) fn key(&self, name: &str) -> String {
        format!("{}/{name}", self.prefix)
    }

    pub(super) fn log_key(&self, first: Revision) -> String {
        format!("{}/log/{first:020}", self.prefix)
    }

    /// What the parts of a snapshot begin with; their number follows.
    pub(super) fn snapshot_parts(&self, revision: Revision) -> String {
        format!("{}/snapshot/{revision:020}/", self.prefix)
    }

    pub(super) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Runs something aside. None after the connection has gone.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> Option<JoinHandle<()>> {
        self.runtime.as_ref().map(|runtime| runtime.spawn(work))
    }

    /// Asks etcd and blocks this thread until it answers.
    pub(super) fn run<T, F>(&self, request: impl FnOnce(Client) -> F) -> Result<T, RequestError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, etcd_client::Error>> + Send + 'static,
    {
        match &self.runtime {
            Some(runtime) if !*self.lost.borrow() => wait(runtime, request(self.client())),
            _ => Err(RequestError::Lost),
        }
    }

    /// Lets the next writer in at once.
    pub(super) fn close(&mut self) {
        let lease = self.lease;
        if let Err(error) = self.run(move |mut client| async move { client.lease_revoke(lease).await }) {
            tracing::warn!(%error, "cannot give the lease of the store back, it ends by itself");
        }
        self.give_up();
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A runtime cannot be waited for from inside another one.
            runtime.shutdown_background();
        }
    }
}

/// Blocks this thread, which may belong to another runtime, until a future is done.
fn wait<T, F>(runtime: &Runtime, future: F) -> Result<T, RequestError>
where
    T: Send + 'static,
    F: Future<Output = Result<T, etcd_client::Error>> + Send + 'static,
{
    let (sender, receiver) = mpsc::sync_channel(1);
    runtime.spawn(async move {
        let _ = sender.send(tokio::time::timeout(REQUEST_TIMEOUT, future).await);
    });
    match receiver.recv() {
        Ok(Ok(answer)) => Ok(answer?),
        Ok(Err(_)) | Err(_) => Err(RequestError::TimedOut),
    }
}

enum Claim {
    Mine { lease: i64, since: i64 },
    Taken { holder: String },
}

/// Becomes the writer, if nobody is.
async fn claim(mut client: Client, writer: String) -> Result<Claim, etcd_client::Error> {
    let lease = client.lease_grant(LEASE_SECONDS, None).await?.id();
    let words = format!("process {} since {:.0}", std::process::id(), jiff::Timestamp::now());
    let transaction = Txn::new()
        .when([Compare::create_revision(writer.as_str(), CompareOp::Equal, 0)])
        .and_then([TxnOp::put(writer.as_str(), words, Some(PutOptions::new().with_lease(lease)))])
        .or_else([TxnOp::get(writer, None)]);
    let answer = client.txn(transaction).await?;
    if answer.succeeded() {
        let since = answer.header().map_or(0, etcd_client::ResponseHeader::revision);
        return Ok(Claim::Mine { lease, since });
    }
    client.lease_revoke(lease).await?;
    let holder = match answer.op_responses().first() {
        Some(TxnOpResponse::Get(found)) => found.kvs().first().and_then(|pair| pair.value_str().ok()).map(String::from),
        _ => None,
    };
    Ok(Claim::Taken { holder: holder.unwrap_or_else(|| "a process that did not say its name".into()) })
}

/// Renews the lease until it is lost. Failures alone do not tell: only etcd knows whether the lease still runs, and every
/// commit asks it.
async fn renew(mut client: Client, lease: i64, lost: watch::Sender<bool>) {
    while !*lost.borrow() {
        tokio::time::sleep(RENEW_INTERVAL).await;
        match tokio::time::timeout(REQUEST_TIMEOUT, client.lease_time_to_live(lease, None)).await {
            // etcd answers with a negative time when it does not know the lease any more.
            Ok(Ok(answer)) if answer.ttl() <= 0 => {
                tracing::error!("the lease of the store is lost, another process may write now");
                lost.send_replace(true);
            }
            Ok(Ok(_)) => {
                if let Ok(Err(error)) = tokio::time::timeout(REQUEST_TIMEOUT, client.lease_keep_alive(lease)).await {
                    tracing::warn!(%error, "cannot renew the lease of the store");
                }
            }
            Ok(Err(error)) => tracing::warn!(%error, "cannot renew the lease of the store"),
            Err(_) => tracing::warn!("etcd does not answer, the lease of the store is not renewed"),
        }
    }
}
