//! Who is let in, how a connection is served, and when it ends: for every listener that hosts talk to.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use crate::patience::Patient;

/// The head of a request in bytes and in headers: a host sends some hundred bytes.
const MAX_HEAD: usize = 16 << 10;
const MAX_HEADERS: usize = 64;
/// How long open requests may take after the listener was asked to stop.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// How long somebody at the other end may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For the head of a request.
    pub read: Duration,
    /// To read a piece of an answer.
    pub write: Duration,
}

/// Accepts connections, so many at a time, until `stop` becomes true; then lets open ones finish. `welcome` says what is done
/// with one, or turns it away.
pub async fn receive<Visit: Future<Output = ()> + Send + 'static>(
    listener: TcpListener,
    connections: usize,
    mut stop: watch::Receiver<bool>,
    mut welcome: impl FnMut(TcpStream, SocketAddr) -> Option<Visit>,
) {
    let most = connections.min(Semaphore::MAX_PERMITS);
    let places = Arc::new(Semaphore::new(most));
    loop {
        let place = tokio::select! {
            place = Arc::clone(&places).acquire_owned() => place,
            _ = stop.wait_for(|stopping| *stopping) => break,
        };
        let Ok(place) = place else { break };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|stopping| *stopping) => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                let _ = stream.set_nodelay(true);
                if let Some(visit) = welcome(stream, peer) {
                    tokio::spawn(async move {
                        visit.await;
                        drop(place);
                    });
                }
            }
            Err(error) => {
                // Out of file descriptors or a connection that died early: others must still be served.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
    drop(listener);
    // Every connection has a place, and gives it back when it ends.
    let all = u32::try_from(most).unwrap_or(u32::MAX);
    if tokio::time::timeout(DRAIN_TIMEOUT, places.acquire_many(all)).await.is_err() {
        tracing::warn!("some requests did not end in time and were cut off");
    }
}

/// Answers the requests of one connection until it ends, or until `stop` becomes true and the open one is answered.
pub async fn converse<S, B, Answering>(
    stream: S,
    patience: Patience,
    mut stop: watch::Receiver<bool>,
    answer: impl Fn(Request<Incoming>) -> Answering,
) where
    S: AsyncRead + AsyncWrite + Unpin,
    B: Body + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    Answering: Future<Output = Response<B>>,
{
    let service = service_fn(|request| {
        let answering = answer(request);
        async move { Ok::<_, Infallible>(answering.await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience.read)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(Patient::new(stream, patience.write)), service);
    tokio::pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stop.wait_for(|stopping| *stopping) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, connection).await;
}
