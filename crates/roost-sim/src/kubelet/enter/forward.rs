//! Ports of pods that run nothing: who connects is greeted, over HTTP.

use std::collections::HashMap;
use std::io;

use tokio::io::{AsyncRead, AsyncWrite};

use super::spdy::{Connection, Event};

/// The protocol of the streams.
pub(super) const PROTOCOL: &str = "portforward.k8s.io";
/// Connections at the same time, each of which is two streams.
const MAX_STREAMS: usize = 128;
/// What is read of a request before it is answered all the same.
const MAX_REQUEST_BYTES: usize = 64 * 1024;

/// Where the pod is, for the greeting.
pub(super) struct Place {
    pub(super) namespace: String,
    pub(super) pod: String,
    pub(super) node: String,
}

/// One of the two streams of a connection.
struct Stream {
    request: String,
    port: String,
    /// Whether it carries data rather than errors.
    data: bool,
    received: Vec<u8>,
}

/// Answers all who connect, until the other side hangs up.
pub(super) async fn serve<S>(stream: S, place: &Place) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut connection = Connection::new(stream);
    let mut streams: HashMap<u32, Stream> = HashMap::new();
    while let Some(event) = connection.next().await? {
        match event {
            Event::Opened { stream, mut headers } => {
                let mut take = |name: &str| headers.remove(name).unwrap_or_default();
                let (request, port, data) = (take("requestid"), take("port"), take("streamtype") == "data");
                if streams.len() >= MAX_STREAMS {
                    return Err(io::Error::new(io::ErrorKind::QuotaExceeded, "too many connections"));
                }
                streams.insert(stream, Stream { request, port, data, received: Vec::new() });
            }
            Event::Said { stream, bytes, last } => {
                let Some(found) = streams.get_mut(&stream) else { continue };
                found.received.extend(bytes);
                let whole = last || ends_head(&found.received) || found.received.len() > MAX_REQUEST_BYTES;
                if !found.data || !whole {
                    continue;
                }
                let Some(done) = streams.remove(&stream) else { continue };
                connection.say(stream, greeting(place, &done.port).as_bytes(), true).await?;
                let error = streams.iter().find(|(_, other)| !other.data && other.request == done.request);
                if let Some(error) = error.map(|(error, _)| *error) {
                    streams.remove(&error);
                    connection.say(error, &[], true).await?;
                }
            }
            Event::Dropped(stream) => {
                streams.remove(&stream);
            }
        }
    }
    Ok(())
}

fn ends_head(received: &[u8]) -> bool {
    received.windows(4).any(|window| window == b"\r\n\r\n")
}

fn greeting(place: &Place, port: &str) -> String {
    let Place { namespace, pod, node } = place;
    let words = format!("hello from port {port} of the simulated pod {namespace}/{pod} on node {node}\n");
    let length = words.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{words}"
    )
}
