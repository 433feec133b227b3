//! `cargo xtask test`: everything that CI runs, in the order in which failures are cheapest to find.

use std::time::Instant;

use crate::command_line::{Crash, Differential, Faults, Hosted, Joins, Kubectl, Parity, PlaneChoice, Workloads};
use crate::task::{self, TaskError};
use crate::{crash, differential, faults, hosted, ignition, joins, kube_fetch, kubectl, parity, tidy, workloads};

/// Rounds of random objects in a test run, always the same; `cargo xtask differential --random N --seed S` draws others.
const RANDOM_ROUNDS: u64 = 4;

/// Kills of the engine in a test run; the full count is `cargo xtask crash`.
const CRASHES: usize = 25;

/// Hosted clusters destroyed with something broken; the full count is `cargo xtask hosted`.
const DESTROYED: usize = 20;

/// Joins that are cut short in a test run; the full count is `cargo xtask joins`.
const JOINS: usize = 15;

/// Kills of the service of discovered hosts in a test run; the full count is `cargo xtask faults`.
const SERVICE_KILLS: usize = 10;

/// Of so many scenarios of workloads one is played; all of them are `cargo xtask workloads`.
const ONE_SCENARIO_IN: usize = 6;

/// How often the engine is killed while it rolls workloads out; `cargo xtask workloads --kills 500` does it more often.
const KILLS_IN_ROLLOUTS: usize = 20;

/// Where proptest reads its seed.
const PROPERTY_SEED: &str = "PROPTEST_RNG_SEED";

/// Runs every check. The first failure ends it, so nothing that was left out can look like success.
pub(crate) async fn run() -> Result<(), TaskError> {
    let mut report = Report::default();
    report.step("tidy", tidy::run)?;
    report.step("parity of the definitions", parity_of_definitions)?;
    report.step("stock binaries", || kube_fetch::fetch_missing(kube_fetch::NEEDED_BY_TESTS))?;
    report.step("build", || task::run(task::cargo().args(["build", "--package", "hcp", "--locked", "--quiet"])))?;
    report.step("unit and integration tests", unit_tests)?;
    report.step("store on etcd", store_on_etcd)?;

    let start = Instant::now();
    let choice = || PlaneChoice { ours: "hcp".to_owned(), stock: None };
    let table =
        Differential { planes: choice(), filter: None, verbose: 0, summary: false, random: None, seed: 1, kind: None };
    differential::run(&table).await?;
    report.note("differential", start);

    let start = Instant::now();
    differential::run(&Differential { planes: choice(), random: Some(RANDOM_ROUNDS), ..table }).await?;
    report.note("random objects", start);

    let start = Instant::now();
    kubectl::run(&Kubectl { planes: choice(), filter: None, verbose: false }).await?;
    report.note("kubectl and Python journeys", start);

    let start = Instant::now();
    ignition::run_if_available().await?;
    report.note("the real Ignition", start);

    let start = Instant::now();
    crash::run(&Crash { times: CRASHES, seed: None }).await?;
    report.note("crashes", start);
    let start = Instant::now();
    hosted::run(&Hosted { runs: DESTROYED, seed: None, no_stock: false }).await?;
    report.note("hosted clusters", start);
    let start = Instant::now();
    joins::run(&Joins { runs: JOINS, seed: None }).await?;
    report.note("joins", start);
    let start = Instant::now();
    faults::run(&Faults { times: SERVICE_KILLS, processes: 0, seed: None }).await?;
    report.note("faults of hosts", start);
    let start = Instant::now();
    workloads::run(&Workloads { filter: None, one_in: ONE_SCENARIO_IN, kills: None, seed: 1 }).await?;
    workloads::run(&Workloads { filter: None, one_in: 1, kills: Some(KILLS_IN_ROLLOUTS), seed: 1 }).await?;
    report.note("workloads", start);
    report.print();
    Ok(())
}

/// The same commit gets the same answer: property tests draw from one seed here. To look further, run them with
/// another `PROPTEST_RNG_SEED` and a higher `PROPTEST_CASES`.
fn unit_tests() -> Result<(), TaskError> {
    let mut command = task::cargo();
    command.args(["test", "--workspace", "--locked", "--quiet"]);
    if std::env::var_os(PROPERTY_SEED).is_none() {
        command.env(PROPERTY_SEED, "20260101");
    }
    task::run(&mut command)
}

/// The upstream definitions are no part of the repository; where they do not lie beside it, the comparison is left out,
/// and said so.
fn parity_of_definitions() -> Result<(), TaskError> {
    let Some(reference) = parity::usual_reference() else {
        eprintln!("there are no upstream definitions beside the repository: ours were not compared with them");
        return Ok(());
    };
    parity::run(&Parity { reference, kind: None, summary: false, explained: false })
}

/// The etcd back end is a feature that needs protoc; where that is missing, only its test is left out, and said so.
fn store_on_etcd() -> Result<(), TaskError> {
    if task::command("protoc").arg("--version").output().is_err() {
        eprintln!("protoc is not installed: the etcd back end was not tested");
        return Ok(());
    }
    let etcd = roost_tests::assets::binary("etcd")?;
    let mut command = task::cargo();
    command.args(["test", "--package", "roost-store", "--features", "etcd", "--test", "etcd", "--locked", "--quiet"]);
    task::run(command.env("ROOST_ETCD", etcd))
}

/// What ran, and how long it took.
#[derive(Default)]
struct Report {
    lines: Vec<(String, u64)>,
}

impl Report {
    fn step(&mut self, name: &str, action: impl FnOnce() -> Result<(), TaskError>) -> Result<(), TaskError> {
        let start = Instant::now();
        eprintln!("== {name}");
        action()?;
        self.note(name, start);
        Ok(())
    }

    fn note(&mut self, name: &str, start: Instant) {
        self.lines.push((name.to_owned(), start.elapsed().as_secs()));
    }

    fn print(&self) {
        for (name, seconds) in &self.lines {
            println!("{seconds:>5} s  {name}");
        }
        println!("all checks passed");
    }
}
