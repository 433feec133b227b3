//! Files that are not what was written: never opened as if nothing were wrong.

use std::fs;
use std::path::{Path, PathBuf};

use roost_store::{OpenError, Options};

use crate::scene::{contents, open, open_tiny, pods, put, refusal};
use crate::torn::segment;

async fn write_five(directory: &Path) {
    let store = open(directory);
    for number in 0..5 {
        store.commit(vec![put(&pods(), &format!("a/{number}"), "some value")]).await.unwrap();
    }
    store.close().await;
}

fn files(directory: &Path, prefix: &str) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.file_name().unwrap().to_str().unwrap().starts_with(prefix));
    files.sort();
    files
}

/// Many segments, a snapshot, and objects in both.
async fn write_many(directory: &Path) {
    let store = open_tiny(directory, Options::default());
    for number in 0..10 {
        store.commit(vec![put(&pods(), &format!("a/{number}"), &"x".repeat(200))]).await.unwrap();
    }
    store.compact(7).await.unwrap();
    for number in 10..20 {
        store.commit(vec![put(&pods(), &format!("a/{number}"), &"x".repeat(200))]).await.unwrap();
    }
    store.close().await;
}

#[tokio::test]
async fn a_flipped_bit_anywhere_before_the_end_is_an_error_that_names_the_place() {
    let directory = tempfile::tempdir().unwrap();
    write_five(directory.path()).await;
    let path = segment(directory.path());
    let log = fs::read(&path).unwrap();
    let closed = log.len() - 40;
    for byte in 0..closed {
        let mut damaged = log.clone();
        damaged[byte] ^= 0x10;
        fs::write(&path, &damaged).unwrap();
        match refusal(directory.path()) {
            OpenError::Damaged { file, offset, problem } => {
                assert_eq!(file, path);
                assert!(offset <= byte as u64, "byte {byte}, told {offset}: {problem}");
                assert!(byte < 64 || offset >= 64, "byte {byte}, told {offset}: {problem}");
            }
            OpenError::UnknownFormat { .. } => assert!((8..12).contains(&byte), "byte {byte}"),
            error => panic!("byte {byte}: {error}"),
        }
        assert_eq!(fs::read(&path).unwrap(), damaged, "nothing may be changed by a failed opening");
    }
    fs::write(&path, &log).unwrap();
    assert_eq!(contents(&open(directory.path()), &pods()).len(), 5);
}

#[tokio::test]
async fn a_flipped_bit_in_a_snapshot_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    write_many(directory.path()).await;
    let path = files(directory.path(), "snapshot-").pop().unwrap();
    let snapshot = fs::read(&path).unwrap();
    for byte in (0..snapshot.len()).step_by(7) {
        let mut damaged = snapshot.clone();
        damaged[byte] ^= 0x10;
        fs::write(&path, &damaged).unwrap();
        match refusal(directory.path()) {
            OpenError::Damaged { file, .. } | OpenError::UnknownFormat { file, .. } => assert_eq!(file, path),
            error => panic!("byte {byte}: {error}"),
        }
    }
    for length in [0, 63, 64, snapshot.len() / 2, snapshot.len() - 1] {
        fs::write(&path, &snapshot[..length]).unwrap();
        assert!(matches!(refusal(directory.path()), OpenError::Damaged { .. }), "cut at {length}");
    }
}

#[tokio::test]
async fn every_missing_file_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    write_many(directory.path()).await;
    let segments = files(directory.path(), "log-");
    assert!(segments.len() >= 4, "{segments:?}");
    for path in segments.iter().chain(&files(directory.path(), "snapshot-")) {
        let content = fs::read(path).unwrap();
        fs::remove_file(path).unwrap();
        let error = refusal(directory.path());
        assert!(matches!(error, OpenError::Damaged { .. }), "without {}: {error}", path.display());
        fs::write(path, content).unwrap();
    }
    assert_eq!(contents(&open(directory.path()), &pods()).len(), 20);
}

#[tokio::test]
async fn a_segment_cut_before_its_successor_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    write_many(directory.path()).await;
    let segments = files(directory.path(), "log-");
    let path = &segments[1];
    let content = fs::read(path).unwrap();
    fs::write(path, &content[..content.len() / 2]).unwrap();
    let OpenError::Damaged { file, problem, .. } = refusal(directory.path()) else { panic!() };
    assert_eq!(file, *path);
    assert!(problem.contains("missing"), "{problem}");
}

#[tokio::test]
async fn a_file_of_another_store_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    write_many(directory.path()).await;
    write_many(other.path()).await;
    let segments = files(directory.path(), "log-");
    fs::copy(other.path().join(segments[1].file_name().unwrap()), &segments[1]).unwrap();
    let error = refusal(directory.path()).to_string();
    assert!(error.contains("another store"), "{error}");
}

#[tokio::test]
async fn a_newer_format_is_named_as_such() {
    let directory = tempfile::tempdir().unwrap();
    write_five(directory.path()).await;
    let path = segment(directory.path());
    let mut log = fs::read(&path).unwrap();
    log[8] = 9;
    fs::write(&path, &log).unwrap();
    let error = refusal(directory.path());
    assert!(matches!(error, OpenError::UnknownFormat { found: 9, known: 1, .. }));
    let words = error.to_string();
    assert!(words.contains("log-00000000000000000002 has format version 9"), "{words}");
}

#[tokio::test]
async fn a_second_opener_learns_who_holds_the_store() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let words = refusal(directory.path()).to_string();
    assert!(words.contains(&format!("in use by process {} since ", std::process::id())), "{words}");
    drop(store);
    open(directory.path());
}
