//! Reading a watch: events, one a line, of bounded length.

use bytes::BytesMut;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde::Deserialize;
use serde_json::Value;

use crate::client::ClientError;

/// The longest line that is read: no object that the API stores is longer.
const MAX_LINE_BYTES: usize = 4 << 20;

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Change {
    Added,
    Modified,
    Deleted,
    Bookmark,
    Error,
}

/// One line of a watch.
#[derive(Debug, Deserialize)]
pub(crate) struct Event {
    #[serde(rename = "type")]
    pub(crate) change: Change,
    pub(crate) object: Value,
}

/// The lines of a watch as they come.
#[derive(Debug)]
pub(crate) struct Watch {
    body: Incoming,
    unread: BytesMut,
}

impl Watch {
    pub(crate) fn new(body: Incoming) -> Self {
        Self { body, unread: BytesMut::new() }
    }

    /// The next event; none when the server has ended the watch.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, ClientError> {
        let mut searched = 0;
        loop {
            if let Some(end) = self.unread[searched..].iter().position(|byte| *byte == b'\n') {
                let line = self.unread.split_to(searched + end + 1);
                if self.unread.is_empty() {
                    // Most of the time there is nothing: then there is no buffer either.
                    self.unread = BytesMut::new();
                }
                let event: Event =
                    serde_json::from_slice(&line).map_err(|error| ClientError::Answer(error.to_string()))?;
                return expired(event).map(Some);
            }
            searched = self.unread.len();
            if searched > MAX_LINE_BYTES {
                return Err(ClientError::Answer("a line of a watch does not end".to_owned()));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Some(data) = frame.data_ref() {
                        self.unread.extend_from_slice(data);
                    }
                }
                Some(Err(error)) => return Err(ClientError::Broken(crate::client::words(&error))),
                None => return Ok(None),
            }
        }
    }
}

/// An event that is an error is one.
fn expired(event: Event) -> Result<Event, ClientError> {
    if event.change != Change::Error {
        return Ok(event);
    }
    let code = event.object["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(500);
    Err(ClientError::Refused {
        code: http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR),
        message: event.object["message"].as_str().unwrap_or("the watch failed").to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Change, Event, expired};

    #[test]
    fn an_event_that_is_an_error_is_one() {
        let gone = json!({"type": "ERROR", "object": {"code": 410, "message": "too old"}});
        assert!(expired(serde_json::from_value(gone).unwrap()).unwrap_err().is_expired());
        let event: Event = serde_json::from_value(json!({"type": "BOOKMARK", "object": {}})).unwrap();
        assert_eq!(expired(event).unwrap().change, Change::Bookmark);
    }
}
