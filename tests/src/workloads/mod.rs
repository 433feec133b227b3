//! Scenarios of workloads, played to our controllers and scheduler and to stock's, and how each ends.

mod api;
mod bench;
mod follow;
mod kills;
mod normalise;
mod play;
mod pretend;
mod scenario;
mod serve;

use std::time::{Duration, Instant};

use futures::StreamExt as _;

use crate::client::Client;
use crate::plane::PlaneError;
use crate::stock::{self, Controllers, Durability};
use crate::text_difference;

use api::Api;
pub use bench::{BenchEffort, BenchFigures, ClusterFigures, PlaneFigures, bench};
pub use kills::{Kills, kill};
use pretend::Addresses;
pub use pretend::Kubelets;
use scenario::Scenario;
pub use serve::{Serving, serve};

/// Scenarios that are played at a time: they mostly wait.
const TOGETHER: usize = 6;
/// How long the two ends may take to become the same.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often they are looked at.
const INTERVAL: Duration = Duration::from_millis(250);

/// Why scenarios could not be played.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadsError {
    /// A plane is of no use.
    #[error(transparent)]
    Plane(#[from] PlaneError),
    /// Our own plane did not start.
    #[error("our plane did not start: {0}")]
    Ours(String),
    /// A table cannot be read.
    #[error("the table {file} cannot be read: {why}")]
    Table {
        /// The table.
        file: String,
        /// What is wrong.
        why: String,
    },
    /// A plane refused what a scenario needs.
    #[error("{plane}: {what}: {answer}")]
    Refused {
        /// The plane.
        plane: &'static str,
        /// What was asked for.
        what: String,
        /// What it said.
        answer: String,
    },
    /// A state did not come about.
    #[error("{plane}: {what} did not come to be; it is {seen}")]
    Missed {
        /// The plane.
        plane: &'static str,
        /// What was waited for.
        what: String,
        /// What was there instead.
        seen: String,
    },
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// How many scenarios were played.
    pub played: usize,
    /// Where the ends differ.
    pub differences: Vec<String>,
    /// How long it took.
    pub seconds: u64,
}

/// Gives a plane nodes that pretend to run pods.
pub async fn pretend_nodes(client: Client) -> Result<Kubelets, WorkloadsError> {
    pretend::start(&Api::stock(client), Addresses::Own).await
}

/// Plays scenarios on both planes and compares how they end.
pub async fn compare(filter: Option<&str>, one_in: usize) -> Result<Outcome, WorkloadsError> {
    let start = Instant::now();
    let scenarios: Vec<Scenario> = scenario::load()?
        .into_iter()
        .filter(|scenario| filter.is_none_or(|filter| scenario.name.contains(filter)))
        .step_by(one_in.max(1))
        .collect();
    let mut plane = stock::start(Durability::Fast, Controllers::All).await?;
    stock::start_scheduler(&mut plane)?;
    let stock = Api::stock(plane.administrator()?);
    let (ours, _engine) = Api::ours().await?;
    let _kubelets = [pretend::start(&stock, Addresses::Same).await?, pretend::start(&ours, Addresses::Same).await?];
    let (stock, ours) = (&stock, &ours);
    let played = scenarios.len();
    let results: Vec<Option<String>> = futures::stream::iter(scenarios.iter().enumerate())
        .map(|(number, scenario)| one(stock, ours, number, scenario))
        .buffer_unordered(TOGETHER)
        .collect()
        .await;
    let mut differences: Vec<String> = results.into_iter().flatten().collect();
    differences.sort();
    Ok(Outcome { played, differences, seconds: start.elapsed().as_secs() })
}

/// Plays one scenario; none when both ends are the same.
async fn one(stock: &Api, ours: &Api, number: usize, scenario: &Scenario) -> Option<String> {
    let namespace = format!("scenario-{number}");
    let (stock_end, our_end) =
        futures::join!(play::play(stock, &namespace, scenario), play::play(ours, &namespace, scenario));
    if let Err(error) = stock_end.and(our_end) {
        return Some(format!("{}: {error}", scenario.name));
    }
    let end = Instant::now() + PATIENCE;
    loop {
        let (theirs, mine) = futures::join!(
            normalise::snapshot(stock, &namespace, scenario),
            normalise::snapshot(ours, &namespace, scenario)
        );
        match (theirs, mine) {
            (Ok(theirs), Ok(mine)) if theirs == mine => return None,
            (Ok(theirs), Ok(mine)) if Instant::now() > end => {
                let difference = text_difference::describe(&theirs, &mine);
                return Some(format!("{}:\n{difference}", scenario.name));
            }
            (Err(error), _) | (_, Err(error)) => return Some(format!("{}: {error}", scenario.name)),
            _ => tokio::time::sleep(INTERVAL).await,
        }
    }
}
