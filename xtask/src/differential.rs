//! `cargo xtask differential`: the same requests to our engine and to stock.

use roost_tests::differential::{Detail, Options, Servers, run as run_suite};

use crate::command_line::Differential;
use crate::planes;
use crate::task::TaskError;

/// Runs the suite, prints every difference and a summary, and fails when a difference has no reason.
pub(crate) async fn run(arguments: &Differential) -> Result<(), TaskError> {
    let planes = planes::start(&arguments.planes).await?;
    let servers = Servers { stock: planes.stock.administrator()?, ours: planes.ours.administrator()? };
    let suffix = planes.suffix();
    let detail = match arguments.verbose {
        0 => Detail::Differences,
        1 => Detail::Lines,
        _ => Detail::Bodies,
    };
    let options = Options { filter: arguments.filter.clone(), suffix, detail };
    let start = std::time::Instant::now();
    let summary = run_suite(servers, options).await?;
    if !arguments.summary {
        for verdict in &summary.verdicts {
            print!("{verdict}");
        }
    }
    // Two stock planes never differ, which says nothing about what is open on ours.
    if arguments.planes.ours != "stock" {
        for name in summary.closed() {
            println!("note: {name} does not differ any more; take it out of tests/differential/open.yaml");
        }
    }
    println!("{}", summary.by_area());
    println!("{summary} in {:.1} s", start.elapsed().as_secs_f32());
    if summary.failed() == 0 {
        Ok(())
    } else {
        Err(TaskError::Found(format!("{} sequences differ from stock", summary.failed())))
    }
}
