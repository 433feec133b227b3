//! Pods placed and rolled, beside stock, and what clusters cost.

use std::time::Duration;

use roost_tests::workloads::{self, BenchEffort, PlaneFigures};

use super::ran_optimised;
use crate::command_line::BenchWorkloads;
use crate::task::TaskError;
use crate::workloads::PLANE;

/// Measures and prints.
pub(crate) async fn run(arguments: &BenchWorkloads) -> Result<(), TaskError> {
    if ran_optimised()? {
        return Ok(());
    }
    let effort = BenchEffort {
        nodes: arguments.nodes,
        pods: arguments.pods,
        replicas: arguments.replicas,
        clusters: arguments.clusters,
    };
    let engine = |clusters: usize, with_controllers: bool| {
        let mut words = vec![PLANE.to_owned(), "--clusters".to_owned(), clusters.to_string()];
        if !with_controllers {
            words.push("--without-controllers".to_owned());
        }
        words
    };
    let found = workloads::bench(engine, effort).await.map_err(|error| TaskError::Found(error.to_string()))?;
    let milliseconds = |duration: Duration| format!("{:.0} ms", duration.as_secs_f64() * 1e3);
    let seconds = |duration: Duration| format!("{:.1} s", duration.as_secs_f64());
    let BenchWorkloads { nodes, pods, replicas, clusters } = arguments;
    println!("{pods} pods on {nodes} nodes; a Deployment of {replicas} rolled");
    println!("{:<28} {:>12} {:>12} {:>8}   wanted", "", "ours", "stock", "ratio");
    let row = |what: &str, show: &dyn Fn(&PlaneFigures) -> String, ratio: f64, wanted: &str| {
        println!("{what:<28} {:>12} {:>12} {ratio:>8.2}   {wanted}", show(&found.ours), show(&found.stock));
    };
    let (ours, stock) = (&found.ours, &found.stock);
    let times = |one: Duration, other: Duration| one.as_secs_f64() / other.as_secs_f64().max(1e-9);
    row("pods placed in a second", &|plane| format!("{:.0}", plane.rate), ours.rate / stock.rate, "at least 3");
    row("create to bound, p50", &|plane| milliseconds(plane.median), times(stock.median, ours.median), "");
    row("create to bound, p99", &|plane| milliseconds(plane.slow), times(stock.slow, ours.slow), "at least 3");
    row("memory", &|plane| format!("{:.0} MiB", plane.memory), ours.memory / stock.memory, "at most 0.2");
    row("rollout", &|plane| seconds(plane.rollout), times(stock.rollout, ours.rollout), "");
    let [(memory, processor), (memory_without, processor_without)] = found.clusters.idle;
    println!("{clusters} clusters of ours in one process");
    println!("{:<28} {:>12}", "a Deployment each, available", seconds(found.clusters.available));
    println!("{:<28} {:>12}", "memory then", format!("{:.0} MiB", found.clusters.memory));
    println!("{:<28} {:>12}", "idle, without controllers", format!("{memory_without:.0} MiB"));
    println!("{:<28} {:>12}   at most 5 % more", "idle, with them", format!("{memory:.0} MiB"));
    println!("{:<28} {:>12}", "processor, without", format!("{processor_without:.1} %"));
    println!("{:<28} {:>12}", "processor, with", format!("{processor:.1} %"));
    Ok(())
}
