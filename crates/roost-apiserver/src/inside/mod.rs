//! The controllers inside: one reader of the store's log for all tenants.

use std::sync::Arc;

use crate::engine::Engine;

/// Follows the log and keeps what follows from it in order.
pub(crate) async fn run(engine: Arc<Engine>) {
    let _ = engine.clusters();
    std::future::pending::<()>().await;
}
