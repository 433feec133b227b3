//! What it costs a server to read bodies.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use http::header::{CONTENT_TYPE, HeaderValue};

use super::{measure_processor, prepare};
use crate::client::{Call, Client, ClientError};
use crate::hostile::Raw;
use crate::measurement::{collection, object};
use crate::plane::{Plane, PlaneError};

/// Nearly the largest body that is read.
const LARGE: usize = 3_000_000;

/// Data of a large object, nearly the most that one may have.
const OBJECT: usize = 1_000_000;

/// Bytes that come one by one in a body, and how many of them in one write.
const SINGLE: usize = 1_000_000;
const TOGETHER: usize = 2000;

/// How much of one processor the server needs to read bodies.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// Bytes of bodies in a second of processor time that are read whole and looked at by nobody.
    pub unseen: f64,
    /// Bytes of valid objects in a second of processor time, from the first byte to the answer, without the write.
    pub objects: f64,
    /// What a byte costs that is sent as a piece of its own.
    pub piece: Duration,
}

/// Measures it, for so long each.
pub async fn reading(plane: &Plane, period: Duration) -> Result<Reading, PlaneError> {
    let client = plane.administrator()?;
    prepare(&client).await?;
    let mut unseen = Call::new(Method::POST, collection());
    unseen.headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    unseen.body = Bytes::from(vec![b' '; LARGE]);
    let objects = Call::new(Method::POST, format!("{}?dryRun=All", collection()));
    let objects = objects.json(&object("large", &"x".repeat(OBJECT)));
    Ok(Reading {
        unseen: bytes_per_second(plane, &client, &unseen, 415, period).await?,
        objects: bytes_per_second(plane, &client, &objects, 201, period).await?,
        piece: single_bytes(plane).await?,
    })
}

/// Sends a call again and again, and says how much of its body a second of processor time is enough for.
async fn bytes_per_second(
    plane: &Plane,
    client: &Client,
    call: &Call,
    code: u16,
    period: Duration,
) -> Result<f64, PlaneError> {
    let (spent, sent) = measure_processor(plane, async {
        let (start, mut sent) = (Instant::now(), 0);
        while start.elapsed() < period {
            let answer = client.send(call.clone()).await?;
            if answer.status.as_u16() != code {
                return Err(ClientError::Exchange(format!("{} instead of {code}", answer.status)));
            }
            sent += call.body.len();
        }
        Ok(sent)
    })
    .await;
    Ok(sent? as f64 / spent.as_secs_f64().max(f64::EPSILON))
}

async fn single_bytes(plane: &Plane) -> Result<Duration, PlaneError> {
    let mut raw = Raw::connect(plane, "http/1.1").await?;
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n",
        collection()
    );
    let pieces = "1\r\n \r\n".repeat(TOGETHER);
    let (spent, code) = measure_processor(plane, async {
        raw.write(head.as_bytes()).await;
        for _ in 0..SINGLE / TOGETHER {
            raw.write(pieces.as_bytes()).await;
        }
        raw.write(b"0\r\n\r\n").await;
        raw.read().await.code()
    })
    .await;
    match code {
        415 => Ok(spent / u32::try_from(SINGLE).unwrap_or(u32::MAX)),
        other => Err(ClientError::Exchange(format!("{other} instead of 415")).into()),
    }
}
