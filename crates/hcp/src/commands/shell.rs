//! Completion scripts and manual pages, both made from the commands themselves.

use std::fs;

use crate::arguments::{Arguments, Completion, Man};
use crate::flavour::Flavour;

use super::error::CommandError;
use super::printed;

pub(super) fn completion(arguments: &Completion, flavour: Flavour) -> Result<(), CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell(), &mut Arguments::complete_command(), flavour.name(), &mut script);
    Ok(printed::print(&String::from_utf8_lossy(&script))?)
}

pub(super) fn manual(arguments: &Man) -> Result<(), CommandError> {
    let directory = &arguments.directory;
    let failed = |source| CommandError::Write { path: directory.clone(), source };
    fs::create_dir_all(directory).map_err(failed)?;
    clap_mangen::generate_to(Arguments::complete_command(), directory).map_err(failed)?;
    eprintln!("wrote the manual pages to {}", directory.display());
    Ok(())
}
