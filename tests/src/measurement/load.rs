//! Creates, updates, gets and lists, sent by many clients at once.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Method;
use tokio::task::JoinSet;

use super::{Measure, OBJECT_BYTES, collection, object, separate};
use crate::client::{Call, Client, ClientError};

/// Lists that are measured.
const LISTS: usize = 15;

pub(super) async fn creates(client: &Client, period: Duration, clients: usize) -> Result<Measure, ClientError> {
    let filling = "x".repeat(OBJECT_BYTES);
    many(client, period, clients, &format!("creates, {clients} at once"), move |client, worker, count| {
        let body = object(&format!("made-{clients}-{worker}-{count}"), &filling);
        async move { expect_success(&client.send(Call::new(Method::POST, collection()).json(&body)).await?) }
    })
    .await
}

pub(super) async fn updates(client: &Client, period: Duration, clients: usize) -> Result<Measure, ClientError> {
    let filling = "y".repeat(OBJECT_BYTES);
    many(client, period, clients, &format!("updates, {clients} at once"), move |client, worker, count| {
        let name = format!("made-{clients}-{worker}-1");
        let body = object(&name, &format!("{count}{filling}"));
        async move {
            let target = format!("{}/{name}", collection());
            expect_success(&client.send(Call::new(Method::PUT, target).json(&body)).await?)
        }
    })
    .await
}

pub(super) async fn gets(client: &Client, period: Duration, clients: usize) -> Result<Measure, ClientError> {
    many(client, period, clients, &format!("gets, {clients} at once"), move |client, worker, _| async move {
        expect_success(&client.send(Call::get(format!("{}/made-{clients}-{worker}-1", collection()))).await?)
    })
    .await
}

/// Creates objects until there are at least as many as wanted.
pub(super) async fn fill(client: &Client, clients: usize, wanted: usize) -> Result<(), ClientError> {
    let mut tasks = JoinSet::new();
    for worker in 0..clients {
        let client = separate(client);
        tasks.spawn(async move {
            let filling = "z".repeat(OBJECT_BYTES);
            for count in (worker..wanted).step_by(clients) {
                let body = object(&format!("listed-{count}"), &filling);
                client.send(Call::new(Method::POST, collection()).json(&body)).await?;
            }
            Ok(())
        });
    }
    all(tasks).await.map(drop)
}

pub(super) async fn lists(client: &Client, objects: usize) -> Result<Measure, ClientError> {
    let start = Instant::now();
    let mut durations = Vec::new();
    for _ in 0..LISTS {
        let begin = Instant::now();
        expect_success(&client.send(Call::get(format!("{}?limit={objects}", collection()))).await?)?;
        durations.push(begin.elapsed());
    }
    let rate = LISTS as f64 / start.elapsed().as_secs_f64();
    Ok(Measure::new(format!("lists of {objects}"), rate, durations))
}

fn expect_success(answer: &crate::client::Answer) -> Result<(), ClientError> {
    if answer.status.is_success() {
        Ok(())
    } else {
        Err(ClientError::Exchange(format!("{}: {}", answer.status, String::from_utf8_lossy(&answer.body))))
    }
}

/// What came of all tasks, or the first failure.
async fn all<T: Send + 'static>(mut tasks: JoinSet<Result<T, ClientError>>) -> Result<Vec<T>, ClientError> {
    let mut found = Vec::new();
    while let Some(result) = tasks.join_next().await {
        found.push(result.map_err(|error| ClientError::Exchange(error.to_string()))??);
    }
    Ok(found)
}

/// Sends requests with many clients for a while. All are connected before the first one begins: a handshake costs more than
/// all that is measured here, and is no request.
async fn many<Send, Answered>(
    client: &Client,
    period: Duration,
    clients: usize,
    name: &str,
    send: Send,
) -> Result<Measure, ClientError>
where
    Send: Fn(Client, usize, usize) -> Answered + std::marker::Send + Sync + 'static,
    Answered: Future<Output = Result<(), ClientError>> + std::marker::Send,
{
    let send = Arc::new(send);
    let mut connected = JoinSet::new();
    for _ in 0..clients {
        let client = separate(client);
        connected.spawn(async move { client.send(Call::get("/version")).await.map(|_| client) });
    }
    let connected = all(connected).await?;
    let start = Instant::now();
    let mut tasks = JoinSet::new();
    for (worker, client) in connected.into_iter().enumerate() {
        let send = send.clone();
        tasks.spawn(async move {
            let mut durations: Vec<Duration> = Vec::new();
            while start.elapsed() < period {
                let begin = Instant::now();
                send(client.clone(), worker, durations.len() + 1).await?;
                durations.push(begin.elapsed());
            }
            Ok(durations)
        });
    }
    let durations: Vec<Duration> = all(tasks).await?.into_iter().flatten().collect();
    let rate = durations.len() as f64 / start.elapsed().as_secs_f64();
    Ok(Measure::new(name.to_owned(), rate, durations))
}
