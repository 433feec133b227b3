//! `cargo xtask remote`: workers of a far site, behind a router and a bad line that is cut for a while.

use std::time::{Duration, Instant};

use roost_tests::hosts::{self, RemoteJourney};

use crate::command_line::Remote;
use crate::task::TaskError;

/// How soon a host has to be heard of, and nodes have to be Ready, after the line was mended.
const HEALED_WITHIN: Duration = Duration::from_secs(5);

/// Builds the server, unless the environment names another, and lets hosts join.
pub(crate) fn run(arguments: &Remote) -> Result<(), TaskError> {
    let hcp = crate::hosts::server()?;
    let journey = RemoteJourney { hcp: &hcp, hosts: arguments.hosts, cut: Duration::from_secs(arguments.cut) };
    let begin = Instant::now();
    let found = hosts::run_remote(journey, &|words| println!("{:>4} s  {words}", begin.elapsed().as_secs()))?;
    let seconds = |duration: Duration| format!("{:.1} s", duration.as_secs_f64());
    println!("round trip {} ms", found.round_trip.as_millis());
    println!("power-on to known, all hosts: {}", seconds(found.known));
    println!("approval to Ready, {} hosts: {}", arguments.hosts, seconds(found.joined));
    println!("line mended to a host that does what it is told: {}", seconds(found.heard));
    println!("line mended to all nodes Ready again: {}", seconds(found.healed));
    println!("line mended to one more Ready node: {}", seconds(found.ready));
    if found.heard.max(found.healed) > HEALED_WITHIN {
        return Err(TaskError::Found(format!("healing should take at most {} s", HEALED_WITHIN.as_secs())));
    }
    Ok(())
}
