//! `cargo xtask differential`: the same requests to our engine and to stock.

use std::time::Instant;

use roost_tests::differential::random::{self, Draw, Drawn};
use roost_tests::differential::{Detail, Options, Servers, Summary, run as run_suite};

use crate::command_line::Differential;
use crate::planes;
use crate::task::TaskError;

/// Runs the suite, prints every difference and a summary, and fails when a difference has no reason.
pub(crate) async fn run(arguments: &Differential) -> Result<(), TaskError> {
    let planes = planes::start(&arguments.planes).await?;
    let servers = Servers { stock: planes.stock.administrator()?, ours: planes.ours.administrator()? };
    if let Some(rounds) = arguments.random {
        let draw = Draw { rounds, seed: arguments.seed, kind: arguments.kind.clone() };
        return run_random(&servers, &draw, arguments.summary).await;
    }
    let suffix = planes.suffix();
    let detail = match arguments.verbose {
        0 => Detail::Differences,
        1 => Detail::Lines,
        _ => Detail::Bodies,
    };
    let options = Options { filter: arguments.filter.clone(), suffix, detail };
    let start = Instant::now();
    let summary = run_suite(servers, options).await?;
    if !arguments.summary {
        print_differences(&summary);
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

/// The same with random objects.
async fn run_random(servers: &Servers, draw: &Draw, only_numbers: bool) -> Result<(), TaskError> {
    let start = Instant::now();
    let Drawn { summary, accepted, unanswered, places } = random::run(servers, draw).await?;
    if !only_numbers {
        print_differences(&summary);
    }
    for (place, count) in &places {
        println!("{count:>5}  {place}");
    }
    let seconds = start.elapsed().as_secs_f32();
    println!("seed {}: {summary}; stock accepted {accepted} and broke off {unanswered}; {seconds:.1} s", draw.seed);
    if summary.failed() == 0 {
        Ok(())
    } else {
        let (failed, places) = (summary.failed(), places.len());
        Err(TaskError::Found(format!("{failed} random objects differ from stock, in {places} places")))
    }
}

fn print_differences(summary: &Summary) {
    for verdict in &summary.verdicts {
        print!("{verdict}");
    }
}
