//! Logs of containers: what they have said, and what they say from now on.

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream;
use http::{Response, StatusCode};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

use super::answer::{Body, streamed, text};
use crate::clock::Clock;
use crate::pods::{Line, View};

/// What is wanted of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Options {
    follow: bool,
    timestamps: bool,
    tail: Option<usize>,
    limit: Option<usize>,
    since: Option<Timestamp>,
}

impl Options {
    fn read(query: &str, now: Timestamp) -> Option<Self> {
        let mut options = Self::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            match key {
                "follow" => options.follow = value == "true",
                "timestamps" => options.timestamps = value == "true",
                "tailLines" => options.tail = Some(value.parse().ok()?),
                "limitBytes" => options.limit = Some(value.parse().ok()?),
                "sinceSeconds" => {
                    let seconds = SignedDuration::from_secs(value.parse().ok()?);
                    options.since = now.checked_sub(seconds).ok();
                }
                "sinceTime" => options.since = value.replace("%3A", ":").replace("%3a", ":").parse().ok(),
                _ => {}
            }
        }
        Some(options)
    }

    /// The lines that are wanted, as they are sent.
    fn select(&self, lines: &[Line]) -> String {
        let wanted: Vec<&Line> =
            lines.iter().filter(|(time, _)| self.since.is_none_or(|since| *time >= since)).collect();
        let first = self.tail.map_or(0, |tail| wanted.len().saturating_sub(tail));
        let mut text = String::new();
        for (time, words) in &wanted[first..] {
            if self.timestamps {
                text.push_str(&time.strftime("%Y-%m-%dT%H:%M:%S.%9fZ ").to_string());
            }
            text.push_str(words);
            text.push('\n');
        }
        if let Some(limit) = self.limit {
            text.truncate(text.floor_char_boundary(limit));
        }
        text
    }
}

/// Answers a request for a container's log.
pub(super) fn answer(
    view: &View,
    clock: Clock,
    (namespace, pod, container): (&str, &str, &str),
    query: &str,
) -> Response<Body> {
    let Some(options) = Options::read(query, clock.now()) else {
        return text(StatusCode::BAD_REQUEST, "the options make no sense");
    };
    let changes = view.changes();
    let Some(seen) = view.pod(namespace, pod) else {
        return text(StatusCode::NOT_FOUND, format!("pod \"{pod}\" does not exist"));
    };
    let Some(found) = seen.container(container) else {
        return text(StatusCode::NOT_FOUND, format!("container \"{container}\" not found in pod \"{pod}\""));
    };
    let first = options.select(&found.lines);
    if !options.follow {
        return text(StatusCode::OK, first);
    }
    let follower = Follower {
        view: view.clone(),
        changes,
        place: (namespace.to_owned(), pod.to_owned(), container.to_owned()),
        uid: seen.uid.clone(),
        last: found.lines.last().cloned(),
        options: Options { tail: None, since: None, limit: None, ..options },
    };
    let rest = stream::unfold(follower, |mut follower| async move {
        let text = follower.next().await?;
        Some((Bytes::from(text), follower))
    });
    streamed(stream::once(async move { Bytes::from(first) }).chain(rest).boxed())
}

/// Somebody who reads on.
struct Follower {
    view: View,
    changes: watch::Receiver<()>,
    place: (String, String, String),
    uid: String,
    last: Option<Line>,
    options: Options,
}

impl Follower {
    /// What was said since; none when there will be nothing more.
    async fn next(&mut self) -> Option<String> {
        loop {
            let (namespace, name, container) = &self.place;
            let pod = self.view.pod(namespace, name).filter(|pod| pod.uid == self.uid)?;
            let found = pod.container(container)?;
            let known = self.last.as_ref().and_then(|last| found.lines.iter().rposition(|line| line == last));
            let new = &found.lines[known.map_or(0, |place| place + 1)..];
            if !new.is_empty() {
                let text = self.options.select(new);
                self.last = new.last().cloned();
                return Some(text);
            }
            if found.over {
                return None;
            }
            self.changes.changed().await.ok()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::Options;

    #[test]
    fn options_narrow_a_log_down() {
        let now = Timestamp::from_second(100).unwrap();
        let lines: Vec<_> =
            (0..5).map(|second| (Timestamp::from_second(95 + second).unwrap(), format!("ä{second}"))).collect();
        let select = |query: &str| Options::read(query, now).unwrap().select(&lines);
        assert_eq!(select("tailLines=2"), "ä3\nä4\n");
        assert_eq!(select("sinceSeconds=3&follow=true"), "ä2\nä3\nä4\n");
        assert_eq!(select("limitBytes=5"), "ä0\n");
        assert_eq!(select("sinceTime=1970-01-01T00%3A01%3A39Z"), "ä4\n");
        assert!(select("timestamps=true&tailLines=1").starts_with("1970-01-01T00:01:39.000000000Z ä4"));
        assert_eq!(Options::read("tailLines=x", now), None);
    }
}
