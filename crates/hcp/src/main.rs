//! Hosted control planes: the command line and the server.

mod arguments;
mod commands;
mod conditions;
mod day_two;
mod down;
mod flavour;
mod high;
mod instance;
mod manifests;
mod operator;
mod plane;
mod progress;
mod status;
mod up;

use std::error::Error;
use std::process::ExitCode;

use arguments::{Arguments, Command};
use flavour::Flavour;

/// With the system's allocator an update by 64 clients took a quarter more of the processor, and this one gives memory
/// back while nothing happens (`docs/performance.md`). Its settings are in `.cargo/config.toml`.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let flavour = Flavour::of(std::env::args_os().next().as_deref());
    let outcome: Result<(), Box<dyn Error>> = match Arguments::read().command {
        Command::Up(up) => up::run(&up).map_err(Into::into),
        Command::Operator(operator) => operator::run(&operator).map_err(Into::into),
        Command::Down(down) => down::run(&down).map_err(Into::into),
        Command::Status(status) => status::run(&status).map_err(Into::into),
        command => match commands::run(command, flavour) {
            Ok(()) => Ok(()),
            Err(error) => {
                explain(&error);
                if let Some(hint) = error.hint() {
                    eprintln!("hint: {hint}");
                }
                return ExitCode::from(error.exit_code());
            }
        },
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            explain(error.as_ref());
            ExitCode::FAILURE
        }
    }
}

/// Says what failed, and what that came from.
pub(crate) fn explain(error: &dyn Error) {
    eprintln!("error: {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        eprintln!("  because: {cause}");
        source = cause.source();
    }
}
