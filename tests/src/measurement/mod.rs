//! Measures a plane: writes, reads, lists and watches, and what the processes need for it.
//!
//! Two planes are measured one after the other with the same load, so that the numbers compare even on a busy machine.

mod agents;
mod disturbance;
mod hosts;
mod latency;
mod load;
mod nodes;
mod planes;
mod processes;
mod readiness;
mod watchers;

use std::future::Future;
use std::time::Duration;

use serde_json::json;

use crate::client::{Call, Client, ClientError};
use crate::plane::{Plane, PlaneError};

pub use agents::{Agents, agents};
pub use disturbance::{
    Disturbance, Disturbed, Reading, Spent, Waits, beside_a_busy_cluster, beside_another, disturb, reading,
};
pub use hosts::{Hosts, hosts};
pub use latency::Latency;
pub(crate) use nodes::management;
pub use nodes::{Effort as NodesEffort, Nodes, NodesError, nodes};
pub use planes::{Effort as PlanesEffort, Planes, PlanesError, Restart, Rounds, planes};
pub use processes::{Usage, processor};
pub(crate) use processes::{processor_seconds, resident_mebibytes};
pub use readiness::{Readiness, readiness};

/// The namespace of all objects.
const NAMESPACE: &str = "bench";

/// Bytes of data in each object; most objects of a cluster are about as large.
const OBJECT_BYTES: usize = 1024;

/// Objects of the lists that are measured.
const LISTED_OBJECTS: usize = 10_000;

/// Clients that make the objects that are listed.
const FILLING_CLIENTS: usize = 32;

/// How hard a plane is tried.
#[derive(Debug, Clone)]
pub struct Effort {
    /// How long each kind of request is sent.
    pub period: Duration,
    /// The numbers of clients that send at once to try.
    pub clients: Vec<usize>,
    /// The numbers of watchers to try.
    pub watchers: Vec<usize>,
    /// How long the plane is looked at while nothing is asked of it.
    pub idle_period: Duration,
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
    /// Processor time of all processes of the plane for each, in microseconds. Other work on the machine makes
    /// everything slower, but changes this little.
    pub processor: f64,
    /// Resident memory of all processes afterwards, in MiB.
    pub memory: f64,
    count: usize,
}

impl Measure {
    fn new(name: String, rate: f64, durations: Vec<Duration>) -> Self {
        let count = durations.len();
        Self { name, rate, latency: Latency::of(durations), processor: 0.0, memory: 0.0, count }
    }
}

/// What was found about one plane.
#[derive(Debug, Clone)]
pub struct Measured {
    /// What it needs when nothing is asked of it.
    pub idle: Usage,
    /// What it needs when it holds the objects that are listed.
    pub filled: Usage,
    /// The load, step by step.
    pub measures: Vec<Measure>,
}

/// Measures a plane that nobody else uses.
pub async fn measure(plane: &Plane, effort: &Effort) -> Result<Measured, PlaneError> {
    let client = plane.administrator()?;
    let namespace = json!({"metadata": {"name": NAMESPACE}});
    client.send(Call::new(http::Method::POST, "/api/v1/namespaces").json(&namespace)).await?;
    let idle = processes::usage_over(plane, effort.idle_period).await;
    load::fill(&client, FILLING_CLIENTS, LISTED_OBJECTS).await?;
    let filled = processes::usage_over(plane, effort.idle_period).await;
    let mut notes = Notes { plane, measures: Vec::new() };
    notes.take(load::lists(&client, LISTED_OBJECTS)).await?;
    for &clients in &effort.clients {
        notes.take(load::creates(&client, effort.period, clients)).await?;
        notes.take(load::updates(&client, effort.period, clients)).await?;
        notes.take(load::gets(&client, effort.period, clients)).await?;
    }
    for &watchers in &effort.watchers {
        notes.take(watchers::deliveries(&client, watchers, effort.period)).await?;
    }
    Ok(Measured { idle, filled, measures: notes.measures })
}

/// The measures so far.
struct Notes<'a> {
    plane: &'a Plane,
    measures: Vec<Measure>,
}

impl Notes<'_> {
    /// Measures, and adds what the plane needed for it.
    async fn take(&mut self, measure: impl Future<Output = Result<Measure, ClientError>>) -> Result<(), ClientError> {
        let before = processes::processor(self.plane);
        let mut measure = measure.await?;
        measure.processor = (processes::processor(self.plane) - before) * 1e6 / measure.count.max(1) as f64;
        measure.memory = processes::memory(self.plane);
        self.measures.push(measure);
        Ok(())
    }
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
