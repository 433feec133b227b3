//! Measures a plane: writes, reads, lists and watches, and what the processes need for it.
//!
//! Two planes are measured one after the other with the same load, so that the numbers compare even on a busy machine.

mod latency;
mod load;
mod processes;
mod watchers;

use std::time::Duration;

use serde_json::json;

use crate::client::{Call, Client};
use crate::plane::{Plane, PlaneError};

pub use latency::Latency;
pub use processes::Usage;

/// The namespace of all objects.
const NAMESPACE: &str = "bench";

/// Bytes of data in each object; most objects of a cluster are about as large.
const OBJECT_BYTES: usize = 1024;

/// Objects of the lists that are measured.
const LISTED_OBJECTS: usize = 10_000;

/// How hard a plane is tried.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// How long each kind of request is sent.
    pub period: Duration,
    /// Clients that send at once.
    pub clients: usize,
    /// The numbers of watchers to try.
    pub watchers: [usize; 2],
}

/// One line of the result.
#[derive(Debug, Clone)]
pub struct Measure {
    /// What was done.
    pub name: String,
    /// How often in a second.
    pub rate: f64,
    /// How long it took.
    pub latency: Latency,
}

/// What was found about one plane.
#[derive(Debug, Clone)]
pub struct Measured {
    /// What it needs when nothing is asked of it.
    pub idle: Usage,
    /// The load, step by step.
    pub measures: Vec<Measure>,
    /// What it needs after the load.
    pub loaded: Usage,
}

/// Measures a plane that nobody else uses.
pub async fn measure(plane: &Plane, effort: Effort) -> Result<Measured, PlaneError> {
    let client = plane.administrator()?;
    let namespace = json!({"metadata": {"name": NAMESPACE}});
    client.send(Call::new(http::Method::POST, "/api/v1/namespaces").json(&namespace)).await?;
    let idle = processes::usage_over(plane, Duration::from_secs(5)).await;
    let mut measures = Vec::new();
    measures.push(load::creates(&client, effort).await?);
    measures.push(load::updates(&client, effort).await?);
    measures.push(load::gets(&client, effort).await?);
    load::fill(&client, effort.clients, LISTED_OBJECTS).await?;
    measures.push(load::lists(&client, LISTED_OBJECTS).await?);
    for watchers in effort.watchers {
        measures.push(watchers::deliveries(&client, watchers, effort.period).await?);
    }
    let loaded = processes::usage_over(plane, Duration::from_secs(1)).await;
    Ok(Measured { idle, measures, loaded })
}

/// The body of an object.
fn object(name: &str, filling: &str) -> serde_json::Value {
    json!({"metadata": {"name": name}, "data": {"value": filling}})
}

fn collection() -> String {
    format!("/api/v1/namespaces/{NAMESPACE}/configmaps")
}

/// A client of the same server with connections of its own.
fn separate(client: &Client) -> Client {
    client.with_own_connections()
}
