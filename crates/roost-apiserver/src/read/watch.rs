//! A stream of changes: complete from where it starts, or told that it cannot be.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use futures::stream;
use http::Response;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use roost_object::{Status, Value};
use roost_store::{Compacted, Cursor, Event, ListQuery, Revision};
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use super::decoded;
use super::list::{not_in_future, parse_watch_revision, served_by_webhook};
use super::selection::Selection;
use super::table::{Include, metadata_object, table};
use crate::call::Call;
use crate::cluster::Cluster;
use crate::conversion;
use crate::negotiate::{Encoding, Format, View};
use crate::options::ListOptions;
use crate::resource::Resource;
use crate::respond::{self, Body};

/// How long a watch lasts when the caller does not say: stock picks at random from half an hour up.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(30);

/// A second.
const NANOSECONDS: i64 = 1_000_000_000;
/// How often a quiet watch is told how far it is.
const BOOKMARK_INTERVAL: Duration = Duration::from_mins(1);
/// A bookmark is sent this long before the end, so that the next watch starts from there.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);

/// Answers with a stream of changes.
pub(crate) async fn watch(
    call: &Call,
    resource: &Arc<Resource>,
    namespace: &str,
    options: &ListOptions,
    format: &Format,
) -> Result<Response<Body>, Status> {
    if format.encoding == Encoding::Yaml {
        return Err(Status::not_acceptable(&[
            "application/json;stream=watch",
            "application/vnd.kubernetes.protobuf;stream=watch",
        ]));
    }
    let selection = Selection::parse(options, resource)?;
    let cluster = &call.cluster;
    let collection = resource.collection(&cluster.tenant);
    let mut watcher = Watcher {
        cluster: Arc::clone(cluster),
        resource: Arc::clone(resource),
        prefix: (resource.namespaced && !namespace.is_empty()).then(|| format!("{namespace}/")),
        selection,
        format: *format,
        include: if format.view == View::Table { Include::parse(call)? } else { Include::Metadata },
        headers_sent: false,
    };
    let mut pending = VecDeque::new();
    let after = match options.resource_version.as_str() {
        "" | "0" => None,
        text => Some(parse_watch_revision(text)?),
    };
    let from_state =
        options.send_initial_events == Some(true) || (after.is_none() && options.send_initial_events != Some(false));
    let start = if from_state {
        if let Some(wanted) = after {
            not_in_future(wanted, cluster.store.revision())?;
        }
        let query = ListQuery { prefix: watcher.prefix.as_deref(), ..ListQuery::default() };
        let mut page = cluster.store.list(&collection, query).map_err(|error| Status::expired(error.to_string()))?;
        page.entries.retain(|entry| watcher.selection.could_mean(&entry.name));
        let mut out = BytesMut::new();
        let mut converted = served_by_webhook(cluster, resource, &page.entries).await?.into_iter();
        for entry in &page.entries {
            let object = match converted.next() {
                Some(object) => object,
                None => cluster.decode_served(resource, entry)?,
            };
            if watcher.selection.matches(resource, &object) {
                watcher.write(&mut out, "ADDED", object);
            }
        }
        // Who asks for what is there in the old way is told as well when they have it all.
        if options.allow_bookmarks {
            watcher.bookmark(&mut out, page.revision, true);
        }
        if !out.is_empty() {
            pending.push_back(out.freeze());
        }
        page.revision
    } else {
        after.unwrap_or_else(|| cluster.store.revision())
    };
    let cursor = match cluster.store.watch(&collection, start) {
        Ok(cursor) => Some(cursor),
        Err(compacted) => {
            pending.push_back(watcher.expired(start, compacted));
            None
        }
    };
    let now = Instant::now();
    // Go's nanoseconds overflow; what became negative has passed before anything was sent.
    let timeout = match options.timeout_seconds.unwrap_or(0).wrapping_mul(NANOSECONDS) {
        0 => DEFAULT_TIMEOUT,
        nanoseconds => u64::try_from(nanoseconds).map_or(Duration::ZERO, Duration::from_nanos),
    };
    if timeout.is_zero() {
        pending.clear();
    }
    let state = Streaming {
        watcher,
        cursor,
        pending,
        deadline: now + timeout,
        bookmark: options.allow_bookmarks.then(|| next_bookmark(now, now + timeout)).flatten(),
        sent: start,
    };
    let frames = stream::unfold(state, |mut state| async move {
        let bytes = state.next().await?;
        Some((Ok::<_, std::convert::Infallible>(Frame::data(bytes)), state))
    });
    let media_type = match format.encoding {
        Encoding::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        _ => "application/json",
    };
    let mut response = respond::bytes(200, media_type, Bytes::new());
    *response.body_mut() = StreamBody::new(frames).boxed_unsync();
    Ok(response)
}

/// When the next bookmark is due: every now and then, and last shortly before the end.
fn next_bookmark(now: Instant, deadline: Instant) -> Option<Instant> {
    let last = deadline.checked_sub(BOOKMARK_BEFORE_END).filter(|last| *last > now)?;
    Some(last.min(now + BOOKMARK_INTERVAL))
}

/// A watch that is being sent.
struct Streaming {
    watcher: Watcher,
    cursor: Option<Cursor>,
    pending: VecDeque<Bytes>,
    deadline: Instant,
    bookmark: Option<Instant>,
    sent: Revision,
}

impl Streaming {
    /// The next bytes; none at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(bytes) = self.pending.pop_front() {
                return Some(bytes);
            }
            let cursor = self.cursor.as_mut()?;
            let closing = self.watcher.cluster.closing();
            tokio::select! {
                biased;
                batch = cursor.next() => match batch {
                    Ok(events) => {
                        let mut out = BytesMut::new();
                        for event in &events {
                            match self.watcher.convert(event).await {
                                Ok(objects) => self.watcher.event(&mut out, event, objects),
                                Err(status) => {
                                    self.watcher.failed(&mut out, &status);
                                    self.cursor = None;
                                    return Some(out.freeze());
                                }
                            }
                        }
                        self.sent = events.last().map_or(self.sent, |event| event.revision);
                        if !out.is_empty() {
                            return Some(out.freeze());
                        }
                    }
                    Err(compacted) => {
                        let bytes = self.watcher.expired(self.sent, compacted);
                        self.cursor = None;
                        return Some(bytes);
                    }
                },
                () = sleep_until(self.deadline) => return None,
                () = sleep_until(self.bookmark.unwrap_or(self.deadline)), if self.bookmark.is_some() => {
                    self.bookmark = next_bookmark(Instant::now(), self.deadline);
                    let mut out = BytesMut::new();
                    self.watcher.bookmark(&mut out, cursor.position().max(self.sent), false);
                    return Some(out.freeze());
                }
                () = closing => return None,
            }
        }
    }
}

/// What a change is to somebody who means the object as it is, as it was, or both.
fn kind_of(is_meant: [bool; 2]) -> Option<&'static str> {
    match is_meant {
        [true, false] => Some("ADDED"),
        [true, true] => Some("MODIFIED"),
        [false, true] => Some("DELETED"),
        [false, false] => None,
    }
}

/// How the changes of one watch are chosen and written.
struct Watcher {
    cluster: Arc<Cluster>,
    resource: Arc<Resource>,
    prefix: Option<String>,
    selection: Selection,
    format: Format,
    include: Include,
    headers_sent: bool,
}

impl Watcher {
    /// Writes one change, if it is meant.
    fn event(&mut self, out: &mut BytesMut, event: &Arc<Event>, converted: Option<[Option<Value>; 2]>) {
        if !self.could_mean(event) {
            return;
        }
        if self.selection.is_everything() && self.copies() {
            let is_meant = [event.value.is_some(), event.previous.is_some()];
            if let Some(kind) = kind_of(is_meant)
                && self.copy(out, event, kind)
            {
                return;
            }
        }
        let both = match converted {
            Some(objects) => Arc::new(objects),
            None => decoded::both(&self.cluster, &self.resource, event),
        };
        let meant = |object: &Option<Value>| {
            object.as_ref().is_some_and(|object| self.selection.matches(&self.resource, object))
        };
        let is_meant = [meant(&both[0]), meant(&both[1])];
        let Some(kind) = kind_of(is_meant) else { return };
        // What leaves a selection is told as it was, at the revision of the change.
        let is_as_it_is = is_meant[0] || event.value.is_none();
        if is_as_it_is && self.copies() && self.copy(out, event, kind) {
            return;
        }
        let object = if is_meant[0] { &both[0] } else { &both[1] };
        if let Some(object) = object {
            self.write(out, kind, object.clone());
        }
    }

    /// Whether a change can be meant, as far as the object's name tells.
    fn could_mean(&self, event: &Event) -> bool {
        self.prefix.as_deref().is_none_or(|prefix| event.name.starts_with(prefix))
            && self.selection.could_mean(&event.name)
    }

    /// Writes a change from the stored bytes; false when they are not what is served.
    fn copy(&self, out: &mut BytesMut, event: &Event, kind: &str) -> bool {
        let Some(value) = event.value.as_ref().or(event.previous.as_ref()) else { return false };
        let Ok(stored) = self.cluster.open_bytes(&self.resource, &event.name, value) else { return false };
        if !self.resource.is_current(&stored, event.revision) {
            return false;
        }
        out.put_slice(b"{\"type\":\"");
        out.put_slice(kind.as_bytes());
        out.put_slice(b"\",\"object\":");
        stored.write_json(out, &self.resource.api_version, &self.resource.kind, event.revision);
        out.put_slice(b"}\n");
        true
    }

    /// The object of a change as it is and as it was, as a webhook converts it; none where no webhook does.
    async fn convert(&self, event: &Event) -> Result<Option<[Option<Value>; 2]>, Status> {
        if self.resource.webhook().is_none() || !self.could_mean(event) {
            return Ok(None);
        }
        let mut objects = Vec::with_capacity(2);
        for value in [&event.value, &event.previous].into_iter().flatten() {
            let stored = self.cluster.open_bytes(&self.resource, &event.name, value)?;
            let api_version = self.resource.stored_api_version(&stored);
            let object = stored
                .decode(&api_version, &self.resource.kind, event.revision)
                .map_err(|error| Status::internal(error.to_string()))?;
            objects.push(object);
        }
        let mut objects = conversion::to_served(&self.cluster, &self.resource, objects).await?.into_iter();
        let new = event.value.as_ref().and_then(|_| objects.next());
        Ok(Some([new, objects.next()]))
    }

    /// Says why a watch cannot go on.
    fn failed(&self, out: &mut BytesMut, status: &Status) {
        let mut value = respond::status_value(status);
        value["apiVersion"] = "v1".into();
        value["kind"] = "Status".into();
        value["metadata"] = json!({});
        self.frame(out, "ERROR", &value);
    }

    /// Whether stored bytes can be sent as they are.
    fn copies(&self) -> bool {
        self.format.encoding == Encoding::Json
            && self.format.view == View::Object
            && self.resource.is_served_as_stored()
    }

    /// Writes an object in the agreed view.
    fn write(&mut self, out: &mut BytesMut, kind: &str, object: Value) {
        let view = match self.format.view {
            View::Object => object,
            View::Metadata | View::MetadataList => metadata_object(&self.format, &object),
            View::Table => {
                let meta = json!({"resourceVersion": object["metadata"]["resourceVersion"]});
                let headers = !std::mem::replace(&mut self.headers_sent, true);
                table(&self.resource, &self.format, self.include, &meta, &[object], headers)
            }
        };
        self.frame(out, kind, &view);
    }

    /// Says how far the watch is, and whether the initial objects are all there.
    fn bookmark(&mut self, out: &mut BytesMut, revision: Revision, initial_end: bool) {
        let mut metadata = json!({"resourceVersion": revision.to_string(), "creationTimestamp": Value::Null});
        if initial_end {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let object = json!({"apiVersion": self.resource.api_version, "kind": self.resource.kind, "metadata": metadata});
        let view = match self.format.view {
            View::Object if self.resource.as_custom().is_some() => object,
            View::Object => with_written_zeroes(self.resource.fill_required(object)),
            View::Metadata | View::MetadataList => metadata_object(&self.format, &object),
            View::Table => {
                let meta = json!({"resourceVersion": revision.to_string()});
                let headers = !std::mem::replace(&mut self.headers_sent, true);
                table(&self.resource, &self.format, self.include, &meta, &[object], headers)
            }
        };
        self.frame(out, "BOOKMARK", &view);
    }

    /// The end of a watch whose changes are compacted away.
    fn expired(&self, after: Revision, compacted: Compacted) -> Bytes {
        let status = Status::expired(format!("too old resource version: {after} ({})", compacted.oldest));
        let mut out = BytesMut::new();
        self.failed(&mut out, &status);
        out.freeze()
    }

    fn frame(&self, out: &mut BytesMut, kind: &str, object: &Value) {
        if self.format.encoding == Encoding::Protobuf {
            out.put_slice(&roost_kinds::protobuf::watch_frame(kind, &respond::encode(object, &self.format)));
            return;
        }
        out.put_slice(b"{\"type\":\"");
        out.put_slice(kind.as_bytes());
        out.put_slice(b"\",\"object\":");
        let text = respond::encode(object, &Format { pretty: false, ..self.format });
        out.put_slice(text.trim_ascii_end());
        out.put_slice(b"}\n");
    }
}

/// Stock's own types of these kinds have no absent numbers, so their bookmarks carry what no object without them would.
fn with_written_zeroes(mut object: Value) -> Value {
    match object["kind"].as_str() {
        Some("Deployment" | "ReplicaSet" | "StatefulSet") => object["spec"]["replicas"] = 0.into(),
        Some("DaemonSet") => {
            object["metadata"]["annotations"]["deprecated.daemonset.template.generation"] = "0".into();
        }
        _ => {}
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bookmark_comes_shortly_before_the_end() {
        let now = Instant::now();
        let after = |seconds| now + Duration::from_secs(seconds);
        assert_eq!(next_bookmark(now, after(300)), Some(after(60)));
        assert_eq!(next_bookmark(after(240), after(300)), Some(after(298)));
        assert_eq!(next_bookmark(after(298), after(300)), None);
        assert_eq!(next_bookmark(now, after(1)), None);
    }
}
