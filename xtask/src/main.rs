//! The one door for developers: `cargo xtask <command>`.

mod agent;
mod bench;
mod cli_reference;
mod command_line;
mod components;
mod conformance;
mod crash;
mod dependencies;
mod differential;
mod faults;
mod fuzz;
mod generate;
mod hosted;
mod hosts;
mod ignition;
mod image;
mod joins;
mod kube_fetch;
mod kube_up;
mod kubectl;
mod metal;
mod network;
mod parity;
mod planes;
mod redfish;
mod remote;
mod source_rules;
mod task;
mod test;
mod tidy;
mod workloads;

use std::process::ExitCode;

use clap::Parser as _;

use command_line::{CommandLine, KubeCommand, Task};

#[tokio::main]
async fn main() -> ExitCode {
    let result = match CommandLine::parse().task {
        Task::Kube { command: KubeCommand::Fetch(arguments) } => kube_fetch::run(&arguments),
        Task::Kube { command: KubeCommand::Up(arguments) } => kube_up::run(&arguments).await,
        Task::Agent(arguments) => agent::run(&arguments),
        Task::Tidy => tidy::run(),
        Task::Test => test::run().await,
        Task::Gen(arguments) => generate::run(&arguments).await,
        Task::Bench { benchmark } => bench::run(&benchmark).await,
        Task::Crash(arguments) => crash::run(&arguments).await,
        Task::Fuzz(arguments) => tokio::task::block_in_place(|| fuzz::run(&arguments)),
        Task::Hosted(arguments) => hosted::run(&arguments).await,
        Task::Joins(arguments) => joins::run(&arguments).await,
        Task::Faults(arguments) => faults::run(&arguments).await,
        Task::Remote(arguments) => remote::run(&arguments),
        Task::Ignition => ignition::run().await,
        Task::Components(arguments) => components::run(&arguments).await,
        Task::Hosts(arguments) => hosts::run(&arguments),
        Task::Network => network::run(),
        Task::Image(arguments) => tokio::task::block_in_place(|| image::run(&arguments)),
        Task::Redfish => redfish::run().await,
        Task::Metal(arguments) => metal::run(&arguments),
        Task::Workloads(arguments) => workloads::run(&arguments).await,
        Task::WorkloadsPlane(arguments) => workloads::serve(&arguments).await,
        Task::Conformance(arguments) => conformance::run(&arguments).await,
        Task::Kubectl(arguments) => kubectl::run(&arguments).await,
        Task::Differential(arguments) => differential::run(&arguments).await,
        Task::Parity(arguments) => parity::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            let mut source = std::error::Error::source(&error);
            while let Some(cause) = source {
                eprintln!("  because: {cause}");
                source = cause.source();
            }
            ExitCode::FAILURE
        }
    }
}
