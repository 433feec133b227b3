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
    let outcome = match Arguments::read().command {
        Command::Up(up) => up::run(&up).map_err(|error| Failure::new(error.hint(), error)),
        Command::Operator(operator) => operator::run(&operator).map_err(|error| Failure::new(error.hint(), error)),
        Command::Down(down) => down::run(&down).map_err(|error| Failure::new(None, error)),
        Command::Status(status) => status::run(&status).map_err(|error| Failure::new(None, error)),
        command => commands::run(command, flavour).map_err(|error| Failure {
            exit_code: error.exit_code().into(),
            hint: error.hint(),
            error: Box::new(error),
        }),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            explain(failure.error.as_ref());
            if let Some(hint) = failure.hint {
                eprintln!("hint: {hint}");
            }
            failure.exit_code
        }
    }
}

/// How a command ended that did not succeed.
struct Failure {
    error: Box<dyn Error>,
    hint: Option<String>,
    exit_code: ExitCode,
}

impl Failure {
    fn new(hint: Option<String>, error: impl Error + 'static) -> Self {
        Self { error: Box::new(error), hint, exit_code: ExitCode::FAILURE }
    }
}

/// Says what failed, and what that came from. Causes that the sentence before them has named already are left out.
pub(crate) fn explain(error: &dyn Error) {
    let mut said = error.to_string();
    eprintln!("error: {said}");
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !said.contains(&text) {
            eprintln!("  because: {text}");
            said = text;
        }
        source = cause.source();
    }
}
