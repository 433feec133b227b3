//! kube-controller-manager and kube-scheduler on our plane complain about nothing that they do not on stock's.
//!
//! The full count, with kubelets, is `cargo xtask components`.

use std::time::Duration;

use roost_tests::components::{self, Nodes};
use roost_tests::ours;
use roost_tests::stock::{self, Controllers, Durability};

/// A complaint counts when it is made again on fresh planes: who is faster than whom differs from run to run.
const RUNS: usize = 3;

#[tokio::test(flavor = "multi_thread")]
async fn controllers_and_scheduler_find_what_they_find_on_stock() {
    let mut only_ours = complaints().await;
    for _ in 1..RUNS {
        if only_ours.is_empty() {
            return;
        }
        eprintln!("looked at again: {only_ours:#?}");
        let again = complaints().await;
        only_ours.retain(|complaint| again.contains(complaint));
    }
    assert!(only_ours.is_empty(), "complaints on our plane only: {only_ours:#?}");
}

/// What is complained about on our plane and not on stock's.
async fn complaints() -> Vec<String> {
    let binary = ours::binary().unwrap_or_else(|error| panic!("{error}"));
    let (ours, stock) = tokio::join!(ours::start(&binary), stock::start(Durability::Fast, Controllers::None));
    let ours = ours.unwrap_or_else(|error| panic!("{error}"));
    let stock = stock.unwrap_or_else(|error| panic!("{error}"));
    let comparison = components::compare(&ours, &stock, Nodes::Pretended, Duration::from_secs(20))
        .await
        .unwrap_or_else(|error| panic!("{error}"));
    comparison.only_ours.into_iter().map(|(complaint, _)| complaint).collect()
}
