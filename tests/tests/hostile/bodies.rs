//! Bodies that are too large, too deep or too clever.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use http::header::{CONTENT_TYPE, HeaderValue};
use roost_tests::client::{Call, Client};
use roost_tests::hostile::{self, Raw};
use roost_tests::plane::Plane;

/// Longer than any of these refusals takes, on a busy machine too.
const SOON: Duration = Duration::from_secs(20);

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn call(method: Method, target: &str, content_type: &'static str, body: impl Into<Bytes>) -> Call {
    let mut call = Call::new(method, target);
    call.headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    call.body = body.into();
    call
}

async fn refused(client: &Client, call: Call, code: u16) -> serde_json::Value {
    let (method, target, length) = (call.method.clone(), call.target.clone(), call.body.len());
    let start = Instant::now();
    let answer = client.send(call).await.expect("the server answers");
    assert_eq!(
        answer.status.as_u16(),
        code,
        "{method} {target} with {length} bytes: {}",
        String::from_utf8_lossy(&answer.body[..answer.body.len().min(500)])
    );
    assert!(start.elapsed() < SOON, "{method} {target} took {:?}", start.elapsed());
    let status = answer.json();
    assert_eq!(status["kind"], "Status");
    assert!(answer.body.len() < 64 * 1024 + 2 * length, "a refusal has {} bytes", answer.body.len());
    status
}

#[tokio::test]
async fn a_hundred_megabytes_are_refused_and_the_refusal_can_be_read() {
    let plane = hostile::start().await.expect("a server");
    let chunk = vec![b' '; 1_000_000];
    let head = format!("POST {CONFIG_MAPS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n");
    for chunked in [false, true] {
        let mut raw = Raw::connect(&plane, "http/1.1").await.expect("a connection");
        let length = if chunked { "Transfer-Encoding: chunked\r\n\r\n" } else { "Content-Length: 100000000\r\n\r\n" };
        assert!(raw.write(format!("{head}{length}").as_bytes()).await);
        for number in 0..100 {
            if chunked {
                assert!(raw.write(b"f4240\r\n").await, "broken after {number} MB");
            }
            assert!(raw.write(&chunk).await, "broken after {number} MB");
            if chunked {
                assert!(raw.write(b"\r\n").await, "broken after {number} MB");
            }
        }
        let answer = raw.read().await;
        assert_eq!(answer.code(), 413, "{}", answer.text);
        assert!(answer.text.contains("\"reason\":\"RequestEntityTooLarge\""), "{}", answer.text);
        assert!(answer.text.contains("limit is 3145728"), "{}", answer.text);
        assert!(answer.text.to_ascii_lowercase().contains("\r\nconnection: close\r\n"), "{}", answer.text);
    }
    let client = plane.administrator().expect("a client");
    assert!(client.send(Call::get("/readyz")).await.expect("an answer").status.is_success());
}

/// The most memory that the server has had so far, in bytes.
fn peak_memory(plane: &Plane) -> usize {
    let server = plane.processes().first().expect("a server of our own").id();
    let status = std::fs::read_to_string(format!("/proc/{server}/status")).expect("a running server");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    peak.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") * 1024
}

#[tokio::test]
async fn a_body_of_single_bytes_costs_little_memory() {
    const LENGTH: usize = 1_000_000;
    let plane = hostile::start().await.expect("a server");
    let before = peak_memory(&plane);
    let mut raw = Raw::connect(&plane, "http/1.1").await.expect("a connection");
    let head =
        format!("POST {CONFIG_MAPS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nConnection: close\r\n");
    assert!(raw.write(format!("{head}Transfer-Encoding: chunked\r\n\r\n").as_bytes()).await);
    let pieces = "1\r\nx\r\n".repeat(1000);
    for _ in 0..LENGTH / 1000 {
        assert!(raw.write(pieces.as_bytes()).await);
    }
    assert!(raw.write(b"0\r\n\r\n").await);
    let answer = raw.read().await;
    assert_eq!(answer.code(), 415, "{}", answer.text);
    let more = peak_memory(&plane).saturating_sub(before);
    assert!(more < 20 * LENGTH, "{more} bytes more for {LENGTH}");
}

#[tokio::test]
async fn depth_is_refused() {
    let plane = hostile::start().await.expect("a server");
    let client = plane.administrator().expect("a client");
    let made = Call::new(Method::POST, CONFIG_MAPS).json(&serde_json::json!({"metadata": {"name": "a"}}));
    assert!(client.send(made).await.expect("an answer").status.is_success());
    let named = format!("{CONFIG_MAPS}/a");
    let arrays = "[".repeat(1_000_000);
    let objects = "{\"data\":".repeat(300_000);
    let inner = format!("{{\"metadata\":{{\"name\":\"b\"}},\"data\":{}", "{\"a\":".repeat(500_000));
    let flow_yaml = "[".repeat(1_000_000);
    let block_yaml = "- ".repeat(1_000_000);
    for body in [&arrays, &objects, &inner] {
        refused(&client, call(Method::POST, CONFIG_MAPS, "application/json", body.clone()), 400).await;
        refused(&client, call(Method::PUT, &named, "application/json", body.clone()), 400).await;
        for kind in ["application/merge-patch+json", "application/strategic-merge-patch+json"] {
            refused(&client, call(Method::PATCH, &named, kind, body.clone()), 400).await;
        }
    }
    refused(&client, call(Method::PATCH, &named, "application/json-patch+json", arrays.clone()), 400).await;
    for body in [&flow_yaml, &block_yaml] {
        refused(&client, call(Method::POST, CONFIG_MAPS, "application/yaml", body.clone()), 400).await;
        let target = format!("{named}?fieldManager=test");
        refused(&client, call(Method::PATCH, &target, "application/apply-patch+yaml", body.clone()), 400).await;
    }
    refused(&client, call(Method::DELETE, &named, "application/json", arrays), 400).await;
    assert!(client.send(Call::get(named)).await.expect("an answer").status.is_success());
}

#[tokio::test]
async fn a_billion_laughs_are_refused() {
    let plane = hostile::start().await.expect("a server");
    let client = plane.administrator().expect("a client");
    let mut laughs =
        String::from("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\nx0: &x0 [lol, lol, lol, lol]\n");
    for level in 1..12 {
        let before = format!("*x{}", level - 1);
        writeln!(laughs, "x{level}: &x{level} [{}]", [before.as_str(); 9].join(", ")).expect("text can be added");
    }
    refused(&client, call(Method::POST, CONFIG_MAPS, "application/yaml", laughs.clone()), 400).await;
    let target = format!("{CONFIG_MAPS}/a?fieldManager=test");
    refused(&client, call(Method::PATCH, &target, "application/apply-patch+yaml", laughs), 400).await;
}

#[tokio::test]
async fn odd_bytes_are_refused() {
    let plane = hostile::start().await.expect("a server");
    let client = plane.administrator().expect("a client");
    let digits = "9".repeat(1_000_000);
    let bodies: Vec<(&'static str, Bytes)> = vec![
        ("application/json", Bytes::from_static(b"\xff\xfe\x00")),
        ("application/json", Bytes::from_static(b"{\"metadata\":{\"name\":\"a\"},\"data\":{\"a\":1e999999999}}")),
        ("application/json", format!("{{\"metadata\":{{\"name\":\"a\",\"generation\":{digits}}}}}").into()),
        ("application/yaml", Bytes::from_static(b"\x00\x01\x02")),
        ("application/vnd.kubernetes.protobuf", Bytes::from_static(b"k8s\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")),
        ("application/vnd.kubernetes.protobuf", Bytes::from_static(b"k8s\x00\x0a\xff\xff\xff\xff\x0f")),
    ];
    for (kind, body) in bodies {
        refused(&client, call(Method::POST, CONFIG_MAPS, kind, body), 400).await;
    }
    // A protobuf message may hold messages of its own kind: a schema in a schema in a schema.
    let mut nested = Vec::new();
    for _ in 0..200_000 {
        nested.extend_from_slice(b"\x0a\x7f");
    }
    let mut body = b"k8s\x00".to_vec();
    body.extend_from_slice(&nested);
    let target = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    refused(&client, call(Method::POST, target, "application/vnd.kubernetes.protobuf", body), 400).await;
}
