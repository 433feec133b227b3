//! Watches: an open stream that is read in the background until its events are collected.

use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;

use super::normalization::describe_protobuf;
use super::table::Collect;
use crate::client::{ClientError, Stream};

/// How long an event is waited for. Longer than stock takes when it is short of processor time.
const EVENT_TIMEOUT: Duration = Duration::from_secs(15);

/// How long a further event is waited for after those that were expected, to notice what should not come.
const QUIET_TIME: Duration = Duration::from_millis(150);

/// An open watch.
#[derive(Debug)]
pub struct Watch {
    events: UnboundedReceiver<Value>,
    reader: JoinHandle<()>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Watch {
    /// Reads a stream in the background.
    pub fn follow(mut stream: Stream) -> Self {
        let (sender, events) = unbounded_channel();
        let is_protobuf = stream
            .headers
            .get(CONTENT_TYPE)
            .is_some_and(|value| String::from_utf8_lossy(value.as_bytes()).contains("protobuf"));
        let reader = tokio::spawn(async move {
            let mut buffer = BytesMut::new();
            while let Ok(Some(data)) = stream.next().await {
                buffer.extend_from_slice(&data);
                let events = if is_protobuf { take_frames(&mut buffer) } else { take_lines(&mut buffer) };
                for event in events {
                    if sender.send(event).is_err() {
                        return;
                    }
                }
            }
            if !buffer.is_empty() {
                let _ = sender.send(json!({"unfinished": String::from_utf8_lossy(&buffer)}));
            }
        });
        Self { events, reader }
    }

    /// Waits for the events and describes them.
    pub async fn collect(mut self, collect: &Collect) -> Result<Value, ClientError> {
        let mut found = Vec::new();
        let mut ended = false;
        while !ended && collect.events.is_none_or(|wanted| found.len() < wanted) {
            match tokio::time::timeout(EVENT_TIMEOUT, self.events.recv()).await {
                Ok(Some(event)) => keep(event, collect, &mut found),
                Ok(None) => ended = true,
                Err(_) => {
                    found.push(Value::from("no further event in time"));
                    break;
                }
            }
        }
        if !ended && collect.events.is_some() {
            while let Ok(Some(event)) = tokio::time::timeout(QUIET_TIME, self.events.recv()).await {
                keep(event, collect, &mut found);
            }
        }
        Ok(json!({"events": found, "ended by the server": ended}))
    }
}

fn keep(event: Value, collect: &Collect, found: &mut Vec<Value>) {
    let ends_initial_events = event.pointer("/object/metadata/annotations/k8s.io~1initial-events-end").is_some();
    if event["type"] != "BOOKMARK" || collect.bookmarks && ends_initial_events {
        found.push(event);
    }
}

fn take_lines(buffer: &mut BytesMut) -> Vec<Value> {
    let mut events = Vec::new();
    while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
        let line = buffer.split_to(end + 1);
        if line.len() > 1 {
            events.push(
                serde_json::from_slice(&line)
                    .unwrap_or_else(|_| Value::from(String::from_utf8_lossy(&line).into_owned())),
            );
        }
    }
    events
}

fn take_frames(buffer: &mut BytesMut) -> Vec<Value> {
    let mut events = Vec::new();
    while let Some(length) = buffer.first_chunk::<4>().map(|length| u32::from_be_bytes(*length) as usize) {
        if buffer.len() < length + 4 {
            break;
        }
        buffer.advance(4);
        let frame: Bytes = buffer.split_to(length).freeze();
        events.push(describe_protobuf(&frame));
    }
    events
}
