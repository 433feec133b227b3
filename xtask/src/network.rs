//! `cargo xtask network`: pods of two real hosts find each other, and one host is cut off and comes back.

use std::time::Instant;

use roost_tests::hosts::{self, Journey};

use crate::task::TaskError;

/// Builds both binaries and takes two hosts through everything.
pub(crate) fn run() -> Result<(), TaskError> {
    let journey: Journey = crate::hosts::journey(2, 0, &[])?;
    let begin = Instant::now();
    hosts::run_network(&journey, &|words| println!("{:>4} s  {words}", begin.elapsed().as_secs()))?;
    println!("the pods of two hosts had one network, over an outage and until they left");
    Ok(())
}
