//! Hosted control planes: the command line and the server.

mod arguments;
mod down;
mod instance;
mod status;
mod up;

use std::process::ExitCode;

use clap::Parser as _;

use arguments::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome: Result<(), Box<dyn std::error::Error>> = match arguments.command {
        Command::Up(up) => up::run(&up).map_err(Into::into),
        Command::Down(down) => down::run(&down).map_err(Into::into),
        Command::Status(status) => status::run(&status).map_err(Into::into),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            let mut source = error.source();
            while let Some(cause) = source {
                eprintln!("  because: {cause}");
                source = cause.source();
            }
            ExitCode::FAILURE
        }
    }
}
