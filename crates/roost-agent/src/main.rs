//! The binary `hcp-agent`.

mod arguments;
mod commands;

use std::process::ExitCode;

use clap::Parser as _;

use arguments::{Command, CommandLine};

fn main() -> ExitCode {
    let result = match CommandLine::parse().command {
        Command::Preflight(arguments) => commands::preflight(&arguments),
        Command::Join(arguments) => commands::join(&arguments),
        Command::Status(arguments) => commands::status(&arguments),
        Command::Serve(arguments) => commands::serve(&arguments),
        Command::Upgrade(arguments) => commands::upgrade(&arguments),
        Command::Leave(arguments) => commands::leave(&arguments),
        Command::Discover(arguments) => commands::discover(&arguments),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {}", roost_agent::words::with_causes(error.as_ref()));
        ExitCode::FAILURE
    })
}
