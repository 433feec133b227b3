//! How much hostile clients slow down the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use http::header::{CONTENT_TYPE, HeaderValue};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{Latency, collection, object};
use crate::client::{Call, Client, ClientError};
use crate::hostile::{Outsider, Raw};
use crate::plane::{Plane, PlaneError};

/// How often the others ask, in a second; few enough that they never queue behind each other.
const REQUESTS_PER_SECOND: u32 = 200;

/// Hostile clients of each kind that send at once.
const ATTACKERS: usize = 4;

/// Connections on which nothing ever comes to an end.
const STALLED: usize = 200;

/// What was found.
#[derive(Debug, Clone, Copy)]
pub struct Hostility {
    /// The others' latency when they are alone.
    pub alone: Latency,
    /// The same beside hostile clients.
    pub beside: Latency,
    /// How many hostile requests were answered meanwhile.
    pub attacks: u64,
}

/// Measures reads and writes of somebody well behaved, alone and beside hostile clients.
pub async fn hostility(plane: &Plane, period: Duration) -> Result<Hostility, PlaneError> {
    let client = plane.administrator()?;
    let namespace = json!({"metadata": {"name": super::NAMESPACE}});
    client.send(Call::new(Method::POST, "/api/v1/namespaces").json(&namespace)).await?;
    client.send(Call::new(Method::POST, collection()).json(&object("victim", "x"))).await?;
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]);
    let outsider = Outsider::with_rules(plane, super::NAMESPACE, "attacker", &rules).await?;
    behave(&client, period / 4).await?;
    let alone = behave(&client, period).await?;
    let mut stalled = Vec::new();
    for _ in 0..STALLED {
        let mut raw = Raw::connect(plane, "http/1.1").await?;
        raw.write(b"POST /api/v1/namespaces HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{").await;
        stalled.push(raw);
    }
    let stop = Arc::new(AtomicBool::new(false));
    let attacks = Arc::new(AtomicU64::new(0));
    let mut attackers = JoinSet::new();
    for call in attacking_calls() {
        for _ in 0..ATTACKERS {
            let (outsider, call) = (outsider.with_own_connections(), call.clone());
            let (stop, attacks) = (Arc::clone(&stop), Arc::clone(&attacks));
            attackers.spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    // Whatever is answered, only the others' latency counts here.
                    let _ = outsider.send(call.clone()).await;
                    attacks.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            });
        }
    }
    let beside = behave(&client, period).await?;
    stop.store(true, Ordering::Relaxed);
    while attackers.join_next().await.is_some() {}
    drop(stalled);
    Ok(Hostility { alone, beside, attacks: attacks.load(Ordering::Relaxed) })
}

/// Reads, and writes now and then, at a steady pace.
async fn behave(client: &Client, period: Duration) -> Result<Latency, ClientError> {
    let mut timer = tokio::time::interval(Duration::from_secs(1) / REQUESTS_PER_SECOND);
    let start = Instant::now();
    let mut durations = Vec::new();
    while start.elapsed() < period {
        timer.tick().await;
        let target = format!("{}/victim", collection());
        let call = match durations.len() % 4 {
            0 => Call::new(Method::PUT, target).json(&object("victim", &durations.len().to_string())),
            _ => Call::get(target),
        };
        let begin = Instant::now();
        client.send(call).await?;
        durations.push(begin.elapsed());
    }
    Ok(Latency::of(durations))
}

fn attacking_calls() -> Vec<Call> {
    let of = |method: Method, target: String, kind: &'static str, body: Bytes| {
        let mut call = Call::new(method, target);
        call.headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        call.body = body;
        call
    };
    let named = format!("{}/bomb", collection());
    let operations: Vec<Value> =
        (0..10_001).map(|_| json!({"op": "copy", "from": "/data", "path": "/data/again"})).collect();
    let fields: serde_json::Map<String, Value> =
        (0..100_000).map(|number| (format!("k{number}"), json!("v"))).collect();
    vec![
        of(Method::POST, collection(), "application/json", Bytes::from("[".repeat(1_000_000))),
        of(Method::POST, collection(), "application/yaml", Bytes::from("- ".repeat(1_000_000))),
        of(Method::POST, collection(), "application/json", Bytes::from(vec![b' '; 10_000_000])),
        of(
            Method::PATCH,
            named.clone(),
            "application/json-patch+json",
            Bytes::from(Value::from(operations).to_string()),
        ),
        of(Method::POST, collection(), "application/json", Bytes::from(json!({"data": fields}).to_string())),
        Call::get(format!("{}?labelSelector=a+in+({})", collection(), "b,".repeat(2000))),
        Call::get(format!("{named}{}", "%2f..".repeat(1000))),
    ]
}
