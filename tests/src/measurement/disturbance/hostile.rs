//! Clients that mean harm: large and deep bodies, bombs of patches, and connections that stall.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http::header::{CONTENT_TYPE, HeaderValue};
use serde_json::{Value, json};

use super::Disturber;
use crate::client::Call;
use crate::hostile::{Outsider, Raw};
use crate::measurement::{NAMESPACE, collection};
use crate::plane::{Plane, PlaneError};

/// Clients of each kind that send at once.
const ATTACKERS: usize = 4;

/// Connections on which nothing ever comes to an end.
const STALLED: usize = 200;

/// How long each waits before it sends again.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) async fn attack(plane: &Plane, disturber: &mut Disturber) -> Result<(), PlaneError> {
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]);
    let outsider = Outsider::with_rules(plane, NAMESPACE, "attacker", &rules).await?;
    let mut stalled = Vec::new();
    for _ in 0..STALLED {
        let mut raw = Raw::connect(plane, "http/1.1").await?;
        raw.write(b"POST /api/v1/namespaces HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{").await;
        stalled.push(raw);
    }
    disturber.clients.spawn(hold(stalled, std::sync::Arc::clone(&disturber.stopping)));
    for call in attacking_calls() {
        for _ in 0..ATTACKERS {
            let (outsider, call) = (outsider.with_own_connections(), call.clone());
            disturber.add(PAUSE, move |_| {
                let (outsider, call) = (outsider.clone(), call.clone());
                async move { outsider.send(call).await }
            });
        }
    }
    Ok(())
}

/// Keeps connections open until the end.
async fn hold(stalled: Vec<Raw>, stopping: std::sync::Arc<std::sync::atomic::AtomicBool>) {
    while !stopping.load(std::sync::atomic::Ordering::Relaxed) {
        tokio::time::sleep(PAUSE).await;
    }
    drop(stalled);
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
