//! `cargo xtask components`: stock's own components on our plane, beside the same on stock's.

use std::time::Duration;

use roost_tests::components::{self, Nodes};
use roost_tests::stock::{self, Controllers, Durability};

use crate::command_line::Components;
use crate::planes;
use crate::task::TaskError;

/// Runs the components and prints what they complain about on our plane only.
pub(crate) async fn run(arguments: &Components) -> Result<(), TaskError> {
    let nodes = if arguments.no_kubelet { Nodes::Pretended } else { Nodes::Kubelet };
    let duration = Duration::from_secs(arguments.minutes.saturating_mul(60));
    let stock = async { stock::start(Durability::Fast, Controllers::None).await.map_err(TaskError::from) };
    let (ours, stock) = tokio::try_join!(planes::ours(), stock)?;
    let outcome = components::compare(&ours, &stock, nodes, duration).await?;
    for (complaint, count) in &outcome.only_ours {
        println!("{count:>5} x {complaint}");
    }
    println!(
        "{} minutes: {} complaints on our plane only, {} on both, {} on stock's only",
        arguments.minutes,
        outcome.only_ours.len(),
        outcome.on_both,
        outcome.only_stock,
    );
    if outcome.only_ours.is_empty() {
        Ok(())
    } else {
        Err(TaskError::Found("stock's components complain about our plane".to_owned()))
    }
}
