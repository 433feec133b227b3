//! A process or machine that ends in the middle of a write.

use std::fs;
use std::path::{Path, PathBuf};

use roost_store::Store;

use crate::scene::{contents, delete, nodes, open, pods, put};

/// The only segment of a small store.
pub(crate) fn segment(directory: &Path) -> PathBuf {
    directory.join("log-00000000000000000002")
}

/// After each commit: how long the log is, and what the store holds.
type Milestones = Vec<(u64, u64, Vec<(String, String)>)>;

/// Writes a few commits, and leaves the directory as a killed process would.
async fn write_some(directory: &Path) -> Milestones {
    let store = open(directory);
    let mut milestones = vec![(64, store.revision(), Vec::new())];
    for number in 0..6_u32 {
        let writes = match number {
            3 => vec![delete(&pods(), "a/1"), put(&pods(), "a/2", "changed")],
            _ => vec![put(&pods(), &format!("a/{number}"), &"x".repeat(20)), put(&nodes(), "n", &number.to_string())],
        };
        store.commit(writes).await.unwrap();
        milestones.push((store.size().disk_bytes, store.revision(), contents(&store, &pods())));
    }
    fs::copy(segment(directory), directory.join("as-killed")).unwrap();
    store.close().await;
    fs::rename(directory.join("as-killed"), segment(directory)).unwrap();
    milestones
}

fn expect_state(store: &Store, milestones: &Milestones, length: u64, context: &str) {
    let (_, revision, objects) = milestones.iter().rev().find(|(end, _, _)| *end <= length).unwrap();
    assert_eq!(store.revision(), *revision, "{context}");
    assert_eq!(contents(store, &pods()), *objects, "{context}");
}

#[tokio::test]
async fn a_log_cut_at_any_byte_keeps_every_whole_commit() {
    let directory = tempfile::tempdir().unwrap();
    let milestones = write_some(directory.path()).await;
    let log = fs::read(segment(directory.path())).unwrap();
    let end = milestones[milestones.len() - 1].0;
    for length in 64..=end {
        let copy = tempfile::tempdir().unwrap();
        fs::write(segment(copy.path()), &log[..length as usize]).unwrap();
        let store = open(copy.path());
        expect_state(&store, &milestones, length, &format!("cut at {length}"));
        // The store goes on from there as if the torn commit had never been.
        let revision = store.revision();
        assert_eq!(store.commit(vec![put(&pods(), "next", "1")]).await.unwrap(), revision + 1);
        drop(store);
        assert_eq!(open(copy.path()).revision(), revision + 1);
    }
}

#[tokio::test]
async fn a_log_zeroed_from_any_byte_keeps_every_whole_commit() {
    let directory = tempfile::tempdir().unwrap();
    let milestones = write_some(directory.path()).await;
    let log = fs::read(segment(directory.path())).unwrap();
    let end = milestones[milestones.len() - 1].0;
    for length in (64..=end).step_by(3) {
        let copy = tempfile::tempdir().unwrap();
        let mut zeroed = log.clone();
        zeroed.truncate(end as usize + 5000);
        zeroed[length as usize..].fill(0);
        fs::write(segment(copy.path()), &zeroed).unwrap();
        // A frame may end in zeros of its own, so it may be whole a little earlier than its last byte.
        let store = open(copy.path());
        let at_least = milestones.iter().rev().find(|(end, _, _)| *end <= length).unwrap().1;
        assert!(store.revision() >= at_least, "zeroed from {length}");
        let whole = milestones.iter().find(|(_, revision, _)| *revision == store.revision());
        assert_eq!(contents(&store, &pods()), whole.expect("only whole commits are there").2);
    }
}

#[tokio::test]
async fn stored_bytes_that_look_like_a_frame_do_not_stop_a_torn_log_from_opening() {
    let first = tempfile::tempdir().unwrap();
    write_some(first.path()).await;
    let frames = fs::read(segment(first.path())).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    store.commit(vec![put(&pods(), "kept", "1")]).await.unwrap();
    let kept = store.size().disk_bytes;
    let mut write = put(&pods(), "lost", "");
    write.operation = roost_store::Operation::Put(frames[64..2000].to_vec().into());
    store.commit(vec![write]).await.unwrap();
    let log = fs::read(segment(directory.path())).unwrap();
    store.close().await;
    fs::write(segment(directory.path()), &log[..kept as usize + 1500]).unwrap();
    assert_eq!(contents(&open(directory.path()), &pods()), [("kept".into(), "1".into())]);
}
