//! `cargo xtask kubectl`: the same command lines of real clients on our plane and on stock's.

use roost_tests::journey;

use crate::command_line::Kubectl;
use crate::planes;
use crate::task::TaskError;

/// Runs the journeys, prints every difference and a summary, and fails when there is a difference.
pub(crate) async fn run(arguments: &Kubectl) -> Result<(), TaskError> {
    let planes = planes::start(&arguments.planes).await?;
    let suffix = planes.suffix();
    let verdicts = journey::run(&planes.stock, &planes.ours, arguments.filter.as_deref(), &suffix).await?;
    for verdict in &verdicts {
        if arguments.verbose {
            println!("== {}\n{}", verdict.name, verdict.transcript);
        }
        for (command, difference) in &verdict.differences {
            println!("{}: {}", verdict.name, command.trim_end());
            for line in difference.lines() {
                println!("    {line}");
            }
        }
    }
    let failed = verdicts.iter().filter(|verdict| !verdict.differences.is_empty()).count();
    let commands: usize = verdicts.iter().map(|verdict| verdict.compared).sum();
    println!("{} passed, {failed} failed ({commands} commands)", verdicts.len() - failed);
    if failed == 0 { Ok(()) } else { Err(TaskError::Found(format!("{failed} journeys differ from stock"))) }
}
