//! Large files by their digest: whole, in parts, and not at all.

use std::sync::Arc;

use roost_ignition_server::{Artifacts, ServerSettings};

use crate::harness::{Echo, Reply, Running, settings, start};

/// More than one piece on the way, and all of it text.
const LENGTH: usize = 300_000;

fn contents() -> String {
    (0..LENGTH).map(|place| char::from(b'a' + u8::try_from(place % 23).unwrap_or_default())).collect()
}

async fn serving(folder: &std::path::Path) -> (Running, String) {
    let place = folder.join("artifacts/any/amd64/usr/local/bin");
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("kubelet"), contents()).unwrap();
    let artifacts = Artifacts::open(&folder.join("artifacts"), &folder.join("index.json")).unwrap();
    let digest = artifacts.for_node("1.36.3", "amd64")[0].digest.clone();
    let server = start(ServerSettings { artifacts: Arc::new(artifacts), ..settings() }, Echo::default()).await;
    (server, digest)
}

async fn ask(server: &Running, method: &str, path: &str, headers: &str) -> Reply {
    let request = format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n");
    server.exchange(request.as_bytes(), 1, method == "HEAD").await.pop().expect("an answer")
}

#[tokio::test]
async fn files_are_handed_out_by_digest_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (server, digest) = serving(folder.path()).await;
    let (path, text) = (format!("/artifacts/{digest}"), contents());

    let whole = ask(&server, "GET", &path, "").await;
    assert_eq!((whole.status, whole.body == text), (200, true));
    assert_eq!(whole.header("content-type"), Some("application/octet-stream"));
    assert_eq!(whole.header("accept-ranges"), Some("bytes"));
    let tag = whole.header("etag").unwrap().to_owned();
    assert_eq!(tag, format!("\"{digest}\""));

    let head = ask(&server, "HEAD", &path, "Range: bytes=0-1\r\n").await;
    assert_eq!((head.status, head.header("content-length"), head.body.as_str()), (200, Some("300000"), ""));

    for (range, part) in [
        ("bytes=0-0", &text[..1]),
        ("bytes=131071-131073", &text[131_071..131_074]),
        ("bytes=299990-", &text[299_990..]),
        ("bytes=-5", &text[299_995..]),
    ] {
        let reply = ask(&server, "GET", &path, &format!("Range: {range}\r\n")).await;
        assert_eq!((reply.status, reply.body.as_str()), (206, part), "{range}");
        let said = reply.header("content-range").unwrap_or_default();
        assert!(said.starts_with("bytes ") && said.ends_with("/300000"), "{range}: {said}");
    }
    let beyond = ask(&server, "GET", &path, "Range: bytes=300000-\r\n").await;
    assert_eq!((beyond.status, beyond.header("content-range")), (416, Some("bytes */300000")));
    let other = ask(&server, "GET", &path, "Range: bytes=0-0\r\nIf-Range: \"other\"\r\n").await;
    assert_eq!((other.status, other.body.len()), (200, LENGTH), "a part of something else is no use");
    let same = ask(&server, "GET", &path, &format!("Range: bytes=0-0\r\nIf-Range: {tag}\r\n")).await;
    assert_eq!(same.status, 206);
    assert_eq!(ask(&server, "GET", &path, &format!("If-None-Match: {tag}\r\n")).await.status, 304);
    assert_eq!(ask(&server, "PUT", &path, "").await.status, 405);
    assert_eq!(server.authority.fetches.load(std::sync::atomic::Ordering::SeqCst), 0, "nobody was asked");
}

#[tokio::test]
async fn nothing_else_is_handed_out() {
    let folder = tempfile::tempdir().unwrap();
    let (server, digest) = serving(folder.path()).await;
    let unknown = format!("/artifacts/sha512-{}", "0".repeat(128));
    let tricks = [
        unknown.as_str(),
        "/artifacts",
        "/artifacts/",
        "/artifacts/any/amd64/usr/local/bin/kubelet",
        "/artifacts/../index.json",
        "/artifacts/%2e%2e/index.json",
        "/artifacts/sha512-..%2f..%2findex.json",
    ];
    for path in tricks {
        let reply = ask(&server, "GET", path, "").await;
        assert_eq!((reply.status, reply.body.as_str()), (404, "404 page not found\n"), "{path}");
    }
    // A file that became another one is not what its digest says.
    std::fs::write(folder.path().join("artifacts/any/amd64/usr/local/bin/kubelet"), "x").unwrap();
    assert_eq!(ask(&server, "GET", &format!("/artifacts/{digest}"), "").await.status, 404);
}
