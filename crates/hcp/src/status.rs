//! `hcp status`: what runs, and where.

use std::fs;

use crate::arguments::{Output, Status};
use crate::instance::{self, Instance, InstanceError};

pub(crate) fn run(arguments: &Status) -> Result<(), InstanceError> {
    let mut instances = instance::running()?;
    if let Some(data_dir) = &arguments.data_dir {
        let wanted = fs::canonicalize(data_dir).unwrap_or_else(|_| data_dir.clone());
        instances.retain(|instance| instance.data_dir == wanted);
        if instances.is_empty() {
            return Err(InstanceError::NotRunningOn(wanted));
        }
    }
    match arguments.output {
        Output::Table | Output::Kubeconfig if instances.is_empty() => return Err(InstanceError::NoneRunning),
        Output::Json => println!("{}", serde_json::to_string_pretty(&instances).unwrap_or_default()),
        Output::Kubeconfig => instances.iter().for_each(|instance| println!("{}", instance.kubeconfig.display())),
        Output::Table => print_table(&instances),
    }
    Ok(())
}

fn print_table(instances: &[Instance]) {
    let rows: Vec<[String; 5]> = instances
        .iter()
        .map(|instance| {
            [
                instance.server.clone(),
                instance.version.clone(),
                instance.pid.to_string(),
                instance.started.clone(),
                instance.data_dir.display().to_string(),
            ]
        })
        .collect();
    let heads = ["SERVER", "VERSION", "PID", "STARTED", "DATA"].map(str::to_owned);
    let width = |column: usize| rows.iter().chain([&heads]).map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    for row in [&heads].into_iter().chain(&rows) {
        let line: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        println!("{}", line.join("   ").trim_end());
    }
}
