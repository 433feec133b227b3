//! One connection: requests one after the other, answers in between.

use std::io;
use std::sync::Arc;

use bytes::BytesMut;
use jiff::Timestamp;
use roost_image::Segment;
use tokio::time::timeout;

use crate::answer::{Answer, Body, answer};
use crate::request::{Head, take_head};
use crate::server::{Exposure, Server};
use crate::wire::Wire;

/// Serves a connection to its end.
pub(crate) async fn run(server: Arc<Server>, mut wire: Wire, exposure: Exposure) {
    // A client that goes away in the middle is no event: BMCs and resumed downloads do it all the time.
    if let Err(error) = serve(&server, &mut wire, exposure).await {
        tracing::debug!(%error, "a connection ended early");
    }
    wire.close().await;
}

async fn serve(server: &Server, wire: &mut Wire, exposure: Exposure) -> io::Result<()> {
    let mut buffer = BytesMut::new();
    loop {
        let request = loop {
            match take_head(&mut buffer) {
                Head::Complete(request) => break request,
                Head::Malformed => return last_words(server, wire, Answer::words(400, "Bad Request")).await,
                Head::TooLarge => {
                    return last_words(server, wire, Answer::words(431, "Request Header Fields Too Large")).await;
                }
                Head::Incomplete => {
                    let patience = if buffer.is_empty() { server.limits.idle } else { server.limits.head };
                    if timeout(patience, wire.read(&mut buffer)).await?? == 0 {
                        return Ok(());
                    }
                }
            }
        };
        let answer = answer(&request, exposure, &server.images, server.gate.as_ref(), &server.metrics);
        send(server, wire, answer, request.keep_alive).await?;
        if !request.keep_alive {
            return Ok(());
        }
    }
}

async fn last_words(server: &Server, wire: &mut Wire, answer: Answer) -> io::Result<()> {
    send(server, wire, answer, false).await
}

async fn send(server: &Server, wire: &mut Wire, answer: Answer, keep_alive: bool) -> io::Result<()> {
    server.metrics.answered(answer.status);
    let head = answer.head(keep_alive, Timestamp::now());
    match answer.body {
        Body::Nothing => wire.write(head.as_bytes(), &server.limits).await?,
        Body::Bytes(bytes) => wire.write(&[head.as_bytes(), &bytes].concat(), &server.limits).await?,
        Body::Image(image, range) => {
            wire.write(head.as_bytes(), &server.limits).await?;
            for segment in image.layout.range(range) {
                match &segment {
                    Segment::Bytes(bytes) => wire.write(bytes, &server.limits).await?,
                    Segment::File { file, offset, length } => {
                        wire.send(file, *offset, *length, &server.readers, &server.limits).await?;
                    }
                }
                server.metrics.sent(segment.length());
            }
        }
    }
    wire.flush(&server.limits).await
}
