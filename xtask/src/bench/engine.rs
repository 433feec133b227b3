//! The engine beside stock kube-apiserver with etcd: the same load, one after the other, both waiting for the disk.

use std::time::Duration;

use roost_tests::measurement::{self, Effort, Latency, Measured, Readiness};
use roost_tests::ours;
use roost_tests::stock::{self, Controllers, Durability};

use crate::command_line::BenchEngine;
use crate::task::TaskError;

use super::{engine_binary, ran_optimised};

/// How long a plane is looked at while nothing is asked of it.
const IDLE_PERIOD: Duration = Duration::from_secs(10);

/// Measures both, or only ours, and prints what was found.
pub(crate) async fn run(arguments: &BenchEngine) -> Result<(), TaskError> {
    if ran_optimised()? {
        return Ok(());
    }
    let binary = engine_binary()?;
    let effort = effort(arguments);
    let stock = if arguments.ours_only {
        None
    } else {
        let plane = stock::start(Durability::Durable, Controllers::None).await?;
        Some(measurement::measure(&plane, &effort).await?)
    };
    let plane = ours::start(&binary).await?;
    let ours = measurement::measure(&plane, &effort).await?;
    drop(plane);
    print(stock.as_ref(), &ours);
    if arguments.objects > 0 && !arguments.quick {
        print_readiness(&measurement::readiness(&binary, arguments.objects).await?);
    }
    Ok(())
}

fn effort(arguments: &BenchEngine) -> Effort {
    if arguments.quick {
        let second = Duration::from_secs(1);
        return Effort { period: 2 * second, clients: vec![16], watchers: vec![25], idle_period: 2 * second };
    }
    Effort {
        period: Duration::from_secs(arguments.seconds),
        clients: arguments.clients.clone(),
        watchers: arguments.watchers.clone(),
        idle_period: IDLE_PERIOD,
    }
}

fn print(stock: Option<&Measured>, ours: &Measured) {
    println!(
        "{:<26} {:>12} {:>12} {:>7}   {:>19} {:>19}   {:>10} {:>9} {:>7}   {:>9} {:>9}",
        "",
        "stock",
        "ours",
        "ratio",
        "stock p50 / p99",
        "ours p50 / p99",
        "stock µs",
        "ours µs",
        "ratio",
        "stock MiB",
        "ours MiB"
    );
    for (number, right) in ours.measures.iter().enumerate() {
        let left = stock.and_then(|stock| stock.measures.get(number));
        println!(
            "{:<26} {:>12} {:>10.1}/s {:>7}   {:>19} {:>19}   {:>10} {:>9.0} {:>7}   {:>9} {:>9.1}",
            right.name,
            left.map_or_else(String::new, |left| format!("{:.1}/s", left.rate)),
            right.rate,
            left.map_or_else(String::new, |left| format!("{:.1}x", right.rate / left.rate)),
            left.map_or_else(String::new, |left| times(left.latency)),
            times(right.latency),
            left.map_or_else(String::new, |left| format!("{:.0}", left.processor)),
            right.processor,
            left.map_or_else(String::new, |left| format!("{:.1}x", left.processor / right.processor)),
            left.map_or_else(String::new, |left| format!("{:.1}", left.memory)),
            right.memory,
        );
    }
    for (name, right, left) in [
        ("idle", ours.idle, stock.map(|stock| stock.idle)),
        ("10,000 objects of 1 KiB", ours.filled, stock.map(|stock| stock.filled)),
    ] {
        println!(
            "{:<32} {:>12} {:>8.1} MiB {:>7}   processor {} / {:.2} %",
            format!("memory, {name}"),
            left.map_or_else(String::new, |left| format!("{:.1} MiB", left.memory)),
            right.memory,
            left.map_or_else(String::new, |left| format!("{:.3}x", right.memory / left.memory)),
            left.map_or_else(|| "-".to_owned(), |left| format!("{:.2} %", left.processor)),
            right.processor,
        );
    }
}

fn times(latency: Latency) -> String {
    format!("{:.1} / {:.1} ms", latency.median.as_secs_f64() * 1e3, latency.slow.as_secs_f64() * 1e3)
}

fn print_readiness(found: &Readiness) {
    println!("{:<26} {:>12} {:>9} ms", "ready, empty", "", found.empty.as_millis());
    let name = format!("ready, {} objects", found.objects);
    println!("{name:<26} {:>12} {:>9} ms   {:.1} MiB", "", found.full.as_millis(), found.memory);
}
