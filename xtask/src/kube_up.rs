//! `cargo xtask kube up`: a stock plane to compare with by hand.

use roost_tests::stock::{self, Controllers, Durability};

use crate::command_line::KubeUp;
use crate::task::TaskError;

/// Runs a stock plane until it is interrupted.
pub(crate) async fn run(arguments: &KubeUp) -> Result<(), TaskError> {
    let controllers = match (arguments.all_controllers, arguments.no_controllers) {
        (true, _) => Controllers::All,
        (_, true) => Controllers::None,
        _ => Controllers::Inside,
    };
    let plane = stock::start(Durability::Fast, controllers).await?;
    println!("{}", plane.kubeconfig.display());
    eprintln!("stock Kubernetes runs; end it with Ctrl-C");
    // A failure to listen for the signal ends the plane as the signal would.
    let _ = tokio::signal::ctrl_c().await;
    Ok(())
}
