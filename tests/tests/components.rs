//! kube-controller-manager and kube-scheduler on our plane complain about nothing that they do not on stock's.
//!
//! The full count, with kubelets, is `cargo xtask components`.

use std::time::Duration;

use roost_tests::components::{self, Nodes};
use roost_tests::ours;
use roost_tests::stock::{self, Controllers, Durability};

#[tokio::test(flavor = "multi_thread")]
async fn controllers_and_scheduler_find_what_they_find_on_stock() {
    let binary = ours::binary().unwrap_or_else(|error| panic!("{error}"));
    let (ours, stock) = tokio::join!(ours::start(&binary), stock::start(Durability::Fast, Controllers::None));
    let ours = ours.unwrap_or_else(|error| panic!("{error}"));
    let stock = stock.unwrap_or_else(|error| panic!("{error}"));
    let comparison = components::compare(&ours, &stock, Nodes::Pretended, Duration::from_secs(20))
        .await
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(comparison.only_ours.is_empty(), "complaints on our plane only: {:#?}", comparison.only_ours);
}
