//! How fast pods are placed and rolled, and what clusters cost that run something or nothing, beside stock.

use std::time::{Duration, Instant};

use futures::{StreamExt as _, TryStreamExt as _};
use http::Method;
use serde_json::{Value, json};

use super::WorkloadsError;
use super::api::Api;
use super::follow::{self, Followers};
use super::pretend;
use super::serve::Served;
use crate::measurement::{processor_seconds, resident_mebibytes};
use crate::stock::{self, Controllers, Durability};

/// How many requests are under way at a time.
const TOGETHER: usize = 32;
/// How long any part may take.
const PATIENCE: Duration = Duration::from_mins(20);
/// How often nodes say that they are alive: stock gives them up after forty seconds.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How often something is looked for.
const INTERVAL: Duration = Duration::from_millis(50);
/// How long idle clusters are watched, and how long they have before.
const IDLE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(10));

/// How much is done.
#[derive(Clone, Copy, Debug)]
pub struct BenchEffort {
    /// Nodes.
    pub nodes: usize,
    /// Pods that are placed on them.
    pub pods: usize,
    /// Replicas of the Deployment that is rolled.
    pub replicas: usize,
    /// Clusters with one Deployment each, and idle ones.
    pub clusters: usize,
}

/// What a plane did.
#[derive(Clone, Copy, Debug)]
pub struct PlaneFigures {
    /// Pods placed in a second.
    pub rate: f64,
    /// From the request that makes a pod until it is seen on a node: half of them.
    pub median: Duration,
    /// The slowest one in a hundred.
    pub slow: Duration,
    /// The memory of all processes then, in MiB.
    pub memory: f64,
    /// How long the rollout took.
    pub rollout: Duration,
}

/// What many clusters cost in one process.
#[derive(Clone, Copy, Debug)]
pub struct ClusterFigures {
    /// How long it took until the Deployments of all were available.
    pub available: Duration,
    /// Memory with one Deployment each, in MiB.
    pub memory: f64,
    /// Memory and share of a processor in percent, idle, with the controllers and without.
    pub idle: [(f64, f64); 2],
}

/// All figures.
#[derive(Clone, Copy, Debug)]
pub struct BenchFigures {
    /// Ours.
    pub ours: PlaneFigures,
    /// Stock's.
    pub stock: PlaneFigures,
    /// Many clusters of ours.
    pub clusters: ClusterFigures,
}

/// Measures both planes, one after the other. `engine` is how this program is called to be an engine, with a number of
/// clusters and with or without controllers.
pub async fn bench(
    engine: impl Fn(usize, bool) -> Vec<String>,
    effort: BenchEffort,
) -> Result<BenchFigures, WorkloadsError> {
    let start = async |clusters: usize, workloads: bool| {
        let arguments = engine(clusters, workloads);
        Served::start(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).await
    };
    let ours = {
        let served = start(1, true).await?;
        measure(&Api::process(served.remote(0)), effort, || resident_mebibytes(served.id())).await?
    };
    let stock = {
        let mut plane = stock::start(Durability::Fast, Controllers::All).await?;
        stock::start_scheduler(&mut plane)?;
        let api = Api::stock(plane.administrator()?);
        let memory = || plane.processes().iter().map(|process| resident_mebibytes(process.id())).sum();
        measure(&api, effort, memory).await?
    };
    let (available, memory) = deployments(&start(effort.clusters, true).await?, effort.clusters).await?;
    let with = idle(&start(effort.clusters, true).await?).await;
    let without = idle(&start(effort.clusters, false).await?).await;
    let clusters = ClusterFigures { available, memory, idle: [with, without] };
    Ok(BenchFigures { ours, stock, clusters })
}

async fn measure(api: &Api, effort: BenchEffort, memory: impl Fn() -> f64) -> Result<PlaneFigures, WorkloadsError> {
    each(effort.nodes, |number| pretend::make_node(api, number)).await?;
    each(effort.nodes, |number| pretend::beat_one(api, number)).await?;
    each(effort.nodes, |number| pretend::free_node(api, number)).await?;
    let account = "/api/v1/namespaces/default/serviceaccounts/default";
    until(api, account, |account| account["metadata"].is_object()).await?;
    let heart = tokio::spawn({
        let api = api.clone();
        async move {
            loop {
                tokio::time::sleep(HEARTBEAT).await;
                let _ = each(effort.nodes, |number| pretend::beat_one(&api, number)).await;
            }
        }
    });
    let followers = follow::follow(api);
    let (rate, mut waits) = place(api, &followers, effort.pods).await?;
    waits.sort_unstable();
    let at =
        |percent: usize| waits.get((waits.len() * percent / 100).min(waits.len() - 1)).copied().unwrap_or_default();
    let memory = memory();
    let rollout = roll(api, effort.replicas).await?;
    heart.abort();
    Ok(PlaneFigures { rate, median: at(50), slow: at(99), memory, rollout })
}

/// Makes pods and waits until all have a node.
async fn place(api: &Api, followers: &Followers, pods: usize) -> Result<(f64, Vec<Duration>), WorkloadsError> {
    let start = Instant::now();
    let made: Vec<(String, Instant)> = futures::stream::iter(0..pods)
        .map(|number| async move {
            let name = format!("pod-{number}");
            let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [
                {"name": "c", "image": "a", "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}}}]}});
            let begun = Instant::now();
            create(api, "/api/v1/namespaces/default/pods", &pod).await?;
            Ok::<_, WorkloadsError>((name, begun))
        })
        .buffer_unordered(TOGETHER)
        .try_collect()
        .await?;
    loop {
        let placed = followers.placed.lock().len();
        if placed >= pods {
            break;
        }
        if start.elapsed() > PATIENCE {
            return Err(missed("all pods on nodes", placed.to_string()));
        }
        tokio::time::sleep(INTERVAL).await;
    }
    let placed = followers.placed.lock();
    let last = placed.values().max().copied().unwrap_or(start);
    let waits = made.iter().filter_map(|(name, begun)| Some(placed.get(name)?.duration_since(*begun))).collect();
    Ok((pods as f64 / last.duration_since(start).as_secs_f64(), waits))
}

/// Rolls a Deployment from one image to another.
async fn roll(api: &Api, replicas: usize) -> Result<Duration, WorkloadsError> {
    let path = "/apis/apps/v1/namespaces/default/deployments";
    create(api, path, &deployment(replicas)).await?;
    let own = format!("{path}/web");
    let is_through = |found: &Value| {
        found["status"]["observedGeneration"] == found["metadata"]["generation"]
            && ["replicas", "updatedReplicas", "availableReplicas"].iter().all(|name| found["status"][name] == replicas)
    };
    until(api, &own, is_through).await?;
    let start = Instant::now();
    let patch = json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "b"}]}}}});
    api.send(Method::PATCH, &own, Some(&patch)).await?;
    until(api, &own, is_through).await?;
    Ok(start.elapsed())
}

fn deployment(replicas: usize) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": replicas,
        "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "a"}]}}}})
}

/// Runs a Deployment in each of many clusters.
async fn deployments(served: &Served, clusters: usize) -> Result<(Duration, f64), WorkloadsError> {
    let start = Instant::now();
    each(clusters, |number| async move {
        let api = Api::process(served.remote(number));
        let account = "/api/v1/namespaces/default/serviceaccounts/default";
        until(&api, account, |account| account["metadata"].is_object()).await?;
        pretend::make_node(&api, 0).await?;
        pretend::beat_one(&api, 0).await?;
        pretend::free_node(&api, 0).await?;
        let path = "/apis/apps/v1/namespaces/default/deployments";
        create(&api, path, &deployment(1)).await?;
        loop {
            let (_, pods) = api.send(Method::GET, "/api/v1/namespaces/default/pods", None).await?;
            for pod in pods["items"].as_array().into_iter().flatten() {
                pretend::step(&api, pod, pretend::Addresses::Same).await?;
            }
            let (_, found) = api.send(Method::GET, &format!("{path}/web"), None).await?;
            if found["status"]["availableReplicas"] == 1 {
                return Ok(());
            }
            if start.elapsed() > PATIENCE {
                return Err(missed("the Deployment of every cluster", found["status"].to_string()));
            }
            tokio::time::sleep(INTERVAL).await;
        }
    })
    .await?;
    Ok((start.elapsed(), resident_mebibytes(served.id())))
}

/// What a process needs that has nothing to do.
async fn idle(served: &Served) -> (f64, f64) {
    tokio::time::sleep(IDLE.0).await;
    let before = processor_seconds(served.id());
    tokio::time::sleep(IDLE.1).await;
    let share = (processor_seconds(served.id()) - before) / IDLE.1.as_secs_f64() * 100.0;
    (resident_mebibytes(served.id()), share)
}

async fn each<F>(count: usize, work: impl Fn(usize) -> F) -> Result<(), WorkloadsError>
where
    F: Future<Output = Result<(), WorkloadsError>>,
{
    futures::stream::iter((0..count).map(work)).buffer_unordered(TOGETHER).try_collect::<Vec<()>>().await.map(drop)
}

async fn create(api: &Api, path: &str, object: &Value) -> Result<(), WorkloadsError> {
    let (code, answer) = api.send(Method::POST, path, Some(object)).await?;
    if code < 300 {
        return Ok(());
    }
    Err(WorkloadsError::Refused { plane: api.name(), what: path.to_owned(), answer: answer.to_string() })
}

async fn until(api: &Api, path: &str, holds: impl Fn(&Value) -> bool) -> Result<(), WorkloadsError> {
    let start = Instant::now();
    loop {
        let (_, found) = api.send(Method::GET, path, None).await?;
        if holds(&found) {
            return Ok(());
        }
        if start.elapsed() > PATIENCE {
            return Err(missed(path, found["status"].to_string()));
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

fn missed(what: &str, seen: String) -> WorkloadsError {
    WorkloadsError::Missed { plane: "a plane", what: what.to_owned(), seen }
}
