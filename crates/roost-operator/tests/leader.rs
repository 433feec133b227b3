//! Several operators on one management plane: one works, and another takes over.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, Patch, PatchParams};
use roost_apiserver::{Cluster, ClusterConfig, Engine, Identity};
use roost_operator::{Candidate, lead};
use roost_store::{Options, Store};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Long enough that a busy machine does not lose a Lease by being late.
const DURATION: Duration = Duration::from_secs(3);
/// A machine that does other things as well.
const PATIENCE: Duration = Duration::from_secs(30);

async fn plane() -> kube::Client {
    let config = ClusterConfig::default();
    let identity = Identity::generate(Timestamp::now(), "https://kubernetes.default.svc").expect("keys");
    let store = Store::memory(Options::default());
    let cluster = Cluster::new("management", store.clone(), config, identity);
    cluster.bootstrap().await.expect("its own objects");
    let engine = Engine::new(store);
    engine.add(Arc::clone(&cluster));
    tokio::spawn(engine.run());
    cluster.client()
}

/// How many work now, and how many ever began.
#[derive(Clone, Default)]
struct Work {
    now: Arc<AtomicUsize>,
    begun: Arc<AtomicUsize>,
}

/// Counts one out when its future is dropped.
struct Worker(Work);

impl Drop for Worker {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Work {
    fn start(&self, client: &kube::Client, identity: &str) -> (JoinHandle<Option<()>>, watch::Sender<bool>) {
        let (stop, stopping) = watch::channel(false);
        let work = self.clone();
        let candidate = Candidate::replica(identity).with_duration(DURATION);
        let leading = lead(client.clone(), candidate, stopping, move || {
            let work = work.clone();
            async move {
                assert_eq!(work.now.fetch_add(1, Ordering::SeqCst), 0, "two lead");
                work.begun.fetch_add(1, Ordering::SeqCst);
                let _worker = Worker(work);
                std::future::pending::<()>().await;
            }
        });
        (tokio::spawn(leading), stop)
    }

    async fn until_begun(&self, count: usize) -> Duration {
        let start = Instant::now();
        while self.begun.load(Ordering::SeqCst) < count {
            assert!(start.elapsed() < PATIENCE, "nobody took over");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        start.elapsed()
    }
}

async fn holder(client: &kube::Client) -> String {
    let leases: Api<Lease> = Api::namespaced(client.clone(), "hypershift");
    let lease = leases.get("roost-operator").await.expect("a Lease");
    lease.spec.and_then(|spec| spec.holder_identity).expect("a holder, if only an empty one")
}

#[tokio::test(flavor = "multi_thread")]
async fn another_takes_over_after_a_crash_and_not_before_the_lease_has_run_out() {
    let (client, work) = (plane().await, Work::default());
    let (one, _stop_one) = work.start(&client, "one");
    work.until_begun(1).await;
    let (_two, _stop_two) = work.start(&client, "two");
    // Longer than a Lease that nobody renews would last.
    tokio::time::sleep(DURATION * 2).await;
    assert_eq!(work.begun.load(Ordering::SeqCst), 1, "the one that waits has begun");
    assert_eq!(holder(&client).await, "one");
    one.abort();
    let took = work.until_begun(2).await;
    assert!(took > DURATION / 2, "taken over after {took:?}, while the other might still have worked");
    assert_eq!(holder(&client).await, "two");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_is_given_back_at_the_end() {
    let (client, work) = (plane().await, Work::default());
    let (one, stop_one) = work.start(&client, "one");
    work.until_begun(1).await;
    stop_one.send(true).unwrap();
    assert_eq!(one.await.unwrap(), None);
    assert_eq!((holder(&client).await, work.now.load(Ordering::SeqCst)), (String::new(), 0));
    let (_two, _stop_two) = work.start(&client, "two");
    work.until_begun(2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_lost_the_lease_stops() {
    let (client, work) = (plane().await, Work::default());
    let (_one, _stop_one) = work.start(&client, "one");
    work.until_begun(1).await;
    let leases: Api<Lease> = Api::namespaced(client.clone(), "hypershift");
    let other = serde_json::json!({"spec": {"holderIdentity": "somebody else"}});
    leases.patch("roost-operator", &PatchParams::default(), &Patch::Merge(other)).await.unwrap();
    let start = Instant::now();
    while work.now.load(Ordering::SeqCst) > 0 {
        assert!(start.elapsed() < PATIENCE, "it still works");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // Nobody renews that one either, so it is taken back.
    work.until_begun(2).await;
}
