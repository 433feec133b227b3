//! `cargo xtask hosted`: hosted clusters from creation to removal, on both kinds of management plane.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use roost_tests::hosted::{self, Management};
use roost_tests::random::Random;
use roost_tests::stock::{self, Controllers, Durability};

use crate::command_line::Hosted;
use crate::task::TaskError;

/// Runs the journey on both planes, then destroys clusters with something broken.
pub(crate) async fn run(arguments: &Hosted) -> Result<(), TaskError> {
    journey("our engine", &Management::embedded().await.map_err(failed)?).await?;
    if !arguments.no_stock {
        let plane = stock::start(Durability::Fast, Controllers::Inside).await?;
        journey("a stock kube-apiserver", &Management::on(&plane.kubeconfig).await.map_err(failed)?).await?;
    }
    let seed = arguments
        .seed
        .unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |elapsed| elapsed.as_secs()));
    let mut random = Random::new(seed);
    let mut management = Management::embedded().await.map_err(failed)?;
    println!("certificate authorities");
    hosted::rotate_under_load(&management, &mut |step| println!("  {step}")).await.map_err(failed)?;
    println!("two operators on one plane");
    hosted::two_operators(&mut management, &mut |step| println!("  {step}")).await.map_err(failed)?;
    println!("rollouts of node pools");
    hosted::roll_out(&management, &mut |step| println!("  {step}")).await.map_err(failed)?;
    println!("hosts that replace others");
    hosted::replace(&management, &mut |step| println!("  {step}")).await.map_err(failed)?;
    let mut slowest = (Duration::ZERO, Vec::new());
    for number in 0..arguments.runs {
        let outcome = hosted::destroy_at_random(&mut management, number, &mut random).await;
        let outcome = outcome.map_err(|error| TaskError::Found(format!("run {number} of seed {seed}: {error}")))?;
        if outcome.took > slowest.0 {
            slowest = (outcome.took, outcome.broken);
        }
    }
    println!("{} passed, 0 failed", arguments.runs);
    let (took, broken) = slowest;
    println!("{} clusters destroyed, the slowest in {} ms (seed {seed})", arguments.runs, took.as_millis());
    println!(
        "what had happened to that one: {}",
        if broken.is_empty() { "nothing".to_owned() } else { broken.join(", ") }
    );
    Ok(())
}

async fn journey(name: &str, management: &Management) -> Result<(), TaskError> {
    println!("hosted clusters on {name}");
    hosted::run(management, &mut |step| println!("  {step}"))
        .await
        .map_err(|error| TaskError::Found(format!("hosted clusters on {name}: {}", words(&error))))?;
    hosted::run_nodes(management, &mut |step| println!("  {step}"))
        .await
        .map_err(|error| TaskError::Found(format!("nodes on {name}: {}", words(&error))))?;
    hosted::run_metal(management, &mut |step| println!("  {step}"))
        .await
        .map_err(|error| TaskError::Found(format!("discovered hosts on {name}: {}", words(&error))))
}

fn failed(error: impl Into<hosted::HostedError>) -> TaskError {
    TaskError::Found(words(&error.into()))
}

fn words(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
