//! How long an event takes to reach many watchers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use http::Method;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use super::{Measure, collection};
use crate::client::{Call, Client, ClientError};

/// Writes in a second while the watchers watch; many enough to matter, few enough that nobody queues.
const WRITES_PER_SECOND: u64 = 20;

/// Connections that are opened at once; each costs a handshake.
const OPENED_AT_ONCE: usize = 20;

/// How long a late event is waited for.
const LATE: Duration = Duration::from_secs(10);

/// Opens watches, changes one object again and again, and measures how long each watcher waits for each change.
pub(super) async fn deliveries(client: &Client, watchers: usize, period: Duration) -> Result<Measure, ClientError> {
    let name = format!("watched-{watchers}");
    let body = json!({"metadata": {"name": name}, "data": {"count": "0"}});
    let made = client.send(Call::new(Method::POST, collection()).json(&body)).await?;
    let version = made.json().pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or("0").to_owned();
    let target =
        Arc::new(format!("{}?watch=true&resourceVersion={version}&fieldSelector=metadata.name%3D{name}", collection()));
    let (sender, mut arrivals) = unbounded_channel();
    let mut streams = JoinSet::new();
    let permits = Arc::new(tokio::sync::Semaphore::new(OPENED_AT_ONCE));
    let (ready, mut opened) = unbounded_channel();
    for _ in 0..watchers {
        let (client, target, sender) = (client.clone(), target.clone(), sender.clone());
        let (permits, ready) = (permits.clone(), ready.clone());
        streams.spawn(async move {
            let permit = permits.acquire_owned().await;
            let stream = client.stream(Call::get(target.as_str())).await?;
            drop(permit);
            let _ = ready.send(());
            follow(stream, &sender).await
        });
    }
    for _ in 0..watchers {
        opened.recv().await.ok_or_else(|| ClientError::Exchange("a watch was not opened".to_owned()))?;
    }

    let writes = (period.as_secs() * WRITES_PER_SECOND).max(1) as usize;
    let mut sent = Vec::new();
    let mut timer = tokio::time::interval(Duration::from_secs(1) / WRITES_PER_SECOND as u32);
    for count in 1..=writes {
        timer.tick().await;
        sent.push(Instant::now());
        let body = json!({"metadata": {"name": name}, "data": {"count": count.to_string()}});
        client.send(Call::new(Method::PUT, format!("{}/{name}", collection())).json(&body)).await?;
    }
    let mut durations = Vec::new();
    while durations.len() < writes * watchers {
        let Ok(Some((count, arrived))) = tokio::time::timeout(LATE, arrivals.recv()).await else {
            let missing = writes * watchers - durations.len();
            return Err(ClientError::Exchange(format!("{missing} events did not reach their watchers")));
        };
        durations.push(delay(&sent, count, arrived));
    }
    let rate = durations.len() as f64 / period.as_secs_f64();
    Ok(Measure::new(format!("events to {watchers} watchers"), rate, durations))
}

fn delay(sent: &[Instant], count: usize, arrived: Instant) -> Duration {
    sent.get(count - 1).map_or(Duration::ZERO, |sent| arrived.saturating_duration_since(*sent))
}

async fn follow(
    mut stream: crate::client::Stream,
    arrivals: &UnboundedSender<(usize, Instant)>,
) -> Result<(), ClientError> {
    let mut buffer = BytesMut::new();
    while let Some(data) = stream.next().await? {
        let arrived = Instant::now();
        buffer.extend_from_slice(&data);
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let line = buffer.split_to(end + 1);
            if let Some(count) = count_of(&line) {
                let _ = arrivals.send((count, arrived));
            }
        }
    }
    Ok(())
}

/// The count that an event carries, found without reading all of it: the measuring must not be the slow part.
fn count_of(line: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(line).ok()?;
    let after = text.split_once("\"count\":\"")?.1;
    after.split('"').next()?.parse().ok().filter(|count| *count > 0)
}

#[cfg(test)]
mod tests {
    use super::count_of;

    #[test]
    fn the_count_of_an_event() {
        assert_eq!(count_of(br#"{"type":"MODIFIED","object":{"data":{"count":"12"}}}"#), Some(12));
        assert_eq!(count_of(br#"{"type":"BOOKMARK","object":{}}"#), None);
    }
}
