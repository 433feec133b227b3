//! One writer: changes objects that nobody else changes, and knows at any time what they must be.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{NAMESPACE, Shared};
use crate::client::Call;
use crate::random::Random;

/// Objects of one writer.
const OBJECTS: u64 = 5;

/// What an object holds: its value, or nothing when there is none.
type Content = Option<String>;

/// What is known about one object.
#[derive(Debug, Clone)]
struct Object {
    name: String,
    /// What it was when it was last certain.
    certain: Content,
    /// What it may be instead, because a write was not answered.
    possible: Option<Content>,
}

/// Writes until it is told to stop.
pub(super) async fn write(shared: Arc<Shared>, number: usize, seed: u64) {
    let mut random = Random::new(seed.wrapping_add(number as u64 + 1));
    let mut objects: Vec<Object> = (0..OBJECTS)
        .map(|index| Object { name: format!("writer-{number}-{index}"), certain: None, possible: None })
        .collect();
    let mut counter = 0_u64;
    let mut life = shared.life.load(Ordering::SeqCst);
    while !shared.stop.load(Ordering::SeqCst) {
        let now = shared.life.load(Ordering::SeqCst);
        if now != life || objects.iter().any(|object| object.possible.is_some()) {
            if !settle(&shared, &mut objects).await {
                tokio::time::sleep(Duration::from_millis(5)).await;
                continue;
            }
            life = now;
        }
        counter += 1;
        let index = random.below(OBJECTS) as usize;
        let deletes = random.below(10) == 0;
        change(&shared, &mut objects[index], format!("{number}-{counter}"), deletes).await;
    }
    // The last look sees what every acknowledged write left behind.
    while !settle(&shared, &mut objects).await {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Reads all objects and compares them with what they may be; false when the server did not answer.
async fn settle(shared: &Shared, objects: &mut [Object]) -> bool {
    for object in objects {
        let target = format!("/api/v1/namespaces/{NAMESPACE}/configmaps/{}", object.name);
        let Ok(answer) = shared.client.send(Call::get(target)).await else { return false };
        let found = match answer.status {
            StatusCode::OK => answer.json().pointer("/data/value").and_then(Value::as_str).map(str::to_owned),
            StatusCode::NOT_FOUND => None,
            _ => return false,
        };
        let fits = found == object.certain || object.possible.as_ref().is_some_and(|possible| *possible == found);
        if !fits {
            shared.history.violation(format!(
                "{} was acknowledged as {:?} (perhaps {:?}) and is {found:?}",
                object.name, object.certain, object.possible
            ));
        }
        object.certain = found;
        object.possible = None;
    }
    true
}

async fn change(shared: &Shared, object: &mut Object, value: String, deletes: bool) {
    let collection = format!("/api/v1/namespaces/{NAMESPACE}/configmaps");
    let named = format!("{collection}/{}", object.name);
    let body = json!({"metadata": {"name": object.name}, "data": {"value": value}});
    let (call, target) = match (&object.certain, deletes) {
        (None, _) => (Call::new(Method::POST, collection).json(&body), Some(value.clone())),
        (Some(_), false) => (Call::new(Method::PUT, named).json(&body), Some(value.clone())),
        (Some(_), true) => (Call::new(Method::DELETE, named), None),
    };
    let life = shared.life.load(Ordering::SeqCst);
    match shared.client.send_once(call).await {
        Ok(answer) if answer.status.is_success() => {
            object.certain.clone_from(&target);
            let document = answer.json();
            let version = document.pointer("/metadata/resourceVersion").and_then(Value::as_str);
            if let (Some(version), Some(value)) = (version.and_then(|version| version.parse().ok()), target) {
                shared.newest.fetch_max(version, Ordering::SeqCst);
                shared.history.acknowledge(life, version, &object.name, &value);
            }
        }
        // Whatever else was answered or not answered: the next look tells what became of it.
        _ => object.possible = Some(target),
    }
}
