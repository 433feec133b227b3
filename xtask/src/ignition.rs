//! `cargo xtask ignition`: the real Ignition fetches and applies what our server hands out.

use roost_tests::ignition;

use crate::task::TaskError;

/// Runs it; the program has to be there.
pub(crate) async fn run() -> Result<(), TaskError> {
    let report = ignition::run().await?;
    println!(
        "the real Ignition found {} configs valid and refused the same {} that ours refuses; {} machines were \
         provisioned over TLS, {} files compared, the last in {:.2} s",
        report.validated,
        report.refused,
        report.machines,
        report.files,
        report.provisioned_in.as_secs_f64()
    );
    Ok(())
}

/// Runs it where it can be run, and says so where it cannot.
pub(crate) async fn run_if_available() -> Result<(), TaskError> {
    match ignition::available() {
        Ok(()) => run().await,
        Err(reason) => {
            eprintln!("{reason}: payloads were not applied by it (apt-get install ignition, as root)");
            Ok(())
        }
    }
}
