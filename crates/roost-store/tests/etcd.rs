//! The store on a real etcd. The binary is `$ROOST_ETCD`, or the newest in the cache of stock binaries, or on the path.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bytes::Bytes;
use roost_store::journal::etcd::{EtcdJournal, EtcdOptions};
use roost_store::{Collection, CommitError, Expect, ListQuery, OpenError, Operation, Options, Store, Write};

struct Etcd {
    process: Child,
    options: EtcdOptions,
    _directory: tempfile::TempDir,
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("ROOST_ETCD") {
        return path.into();
    }
    let cache = PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache/roost/kube");
    let versions = std::fs::read_dir(cache).into_iter().flatten().flatten();
    versions.map(|version| version.path().join("etcd")).filter(|path| path.exists()).max().unwrap_or("etcd".into())
}

fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

fn start() -> Etcd {
    let directory = tempfile::tempdir().unwrap();
    let (client, peer) = (format!("http://127.0.0.1:{}", free_port()), format!("http://127.0.0.1:{}", free_port()));
    let process = Command::new(binary())
        .arg("--data-dir")
        .arg(directory.path())
        .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
        .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
        .args(["--initial-cluster", &format!("default={peer}"), "--log-level", "error"])
        .stderr(Stdio::null())
        .spawn()
        .expect("etcd can be started");
    let options = EtcdOptions { endpoints: vec![client], prefix: "/roost/test".into(), connect: None };
    Etcd { process, options, _directory: directory }
}

/// Opens the store as soon as etcd answers.
async fn open(etcd: &Etcd) -> Store {
    for _ in 0..100 {
        match EtcdJournal::open(etcd.options.clone()) {
            Ok(journal) => return Store::open(journal, Options::default()).unwrap(),
            Err(OpenError::Remote(_)) => tokio::time::sleep(Duration::from_millis(100)).await,
            Err(error) => panic!("{error}"),
        }
    }
    panic!("etcd did not come up");
}

fn pods() -> Collection {
    Collection::new("tenant", "", "pods")
}

fn put(name: &str, value: impl Into<Bytes>) -> Write {
    Write { collection: pods(), name: name.into(), expect: Expect::Anything, operation: Operation::Put(value.into()) }
}

fn names(store: &Store) -> Vec<String> {
    let page = store.list(&pods(), ListQuery::default()).unwrap();
    page.entries.iter().map(|entry| entry.name.to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_comes_back_and_only_one_writes() {
    let etcd = start();
    let store = open(&etcd).await;
    let commits = (0..200).map(|number| store.commit(vec![put(&format!("a/{number:03}"), "value")]));
    for result in futures::future::join_all(commits).await {
        result.unwrap();
    }
    let Err(OpenError::Locked { holder, .. }) = EtcdJournal::open(etcd.options.clone()) else { panic!("two writers") };
    assert!(holder.starts_with(&format!("process {} since ", std::process::id())), "{holder}");
    store.compact(150).await.unwrap();
    store.commit(vec![put("b", "after")]).await.unwrap();
    assert!(store.size().disk_bytes > 0);
    let events = format!("{:?}", store.watch(&pods(), 150).unwrap().try_next().unwrap());
    let before = names(&store);
    drop(store);

    let store = open(&etcd).await;
    assert_eq!(store.revision(), 202);
    assert_eq!(names(&store), before);
    assert_eq!(format!("{:?}", store.watch(&pods(), 150).unwrap().try_next().unwrap()), events);
    assert!(store.watch(&pods(), 149).is_err());
    store.drop_tenant("tenant").await.unwrap();
    store.compact(store.revision()).await.unwrap();
    store.close().await;
    let store = open(&etcd).await;
    assert_eq!((store.revision(), names(&store).len()), (203, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn large_objects_and_snapshots_of_many_parts() {
    let etcd = start();
    let store = open(&etcd).await;
    for number in 0..8 {
        store.commit(vec![put(&format!("large-{number}"), vec![b'x'; 1_300_000])]).await.unwrap();
    }
    let refused = store.commit(vec![put("too-large", vec![b'x'; 3_000_000])]).await;
    assert!(matches!(refused, Err(CommitError::Storage(_))), "{refused:?}");
    assert_eq!(store.commit(vec![put("small", "1")]).await.unwrap(), 10);
    store.compact(10).await.unwrap();
    store.close().await;
    let store = open(&etcd).await;
    assert_eq!(names(&store).len(), 9);
    assert_eq!(store.get(&pods(), "large-3").unwrap().value.len(), 1_300_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_lost_its_place_writes_no_more() {
    let etcd = start();
    drop(open(&etcd).await);
    let journal = EtcdJournal::open(etcd.options.clone()).unwrap();
    let mut lost = journal.lost();
    let first = Store::open(journal, Options::default()).unwrap();
    first.commit(vec![put("a", "first")]).await.unwrap();
    // As if the lease had run out while the process was stopped.
    let mut client = etcd_client::Client::connect(&etcd.options.endpoints, None).await.unwrap();
    client.delete("/roost/test/writer", None).await.unwrap();
    let second = open(&etcd).await;
    second.commit(vec![put("a", "second")]).await.unwrap();

    let refused = first.commit(vec![put("a", "first again")]).await;
    let Err(CommitError::Storage(error)) = refused else { panic!("{refused:?}") };
    assert!(error.to_string().contains("no longer the writer"), "{error}");
    tokio::time::timeout(Duration::from_secs(10), lost.wait_for(|lost| *lost)).await.unwrap().unwrap();
    first.close().await;
    second.close().await;
    let third = open(&etcd).await;
    assert_eq!(third.get(&pods(), "a").unwrap().value, "second");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_etcd_that_stops_fails_commits_and_takes_them_again() {
    let etcd = start();
    let store = open(&etcd).await;
    store.commit(vec![put("a", "1")]).await.unwrap();
    let process = etcd.process.id().to_string();
    let signal = |name: &str| assert!(Command::new("kill").args([name, &process]).status().unwrap().success());
    signal("-STOP");
    let refused = store.commit(vec![put("b", "lost or late")]).await;
    assert!(matches!(refused, Err(CommitError::Storage(_))), "{refused:?}");
    assert_eq!(names(&store), ["a"]);
    signal("-CONT");
    let written = async {
        while store.commit(vec![put("c", "1")]).await.is_err() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), written).await.unwrap();
    assert_eq!(store.revision(), 3);
    let before = names(&store);
    store.close().await;
    assert_eq!(names(&open(&etcd).await), before);
}
