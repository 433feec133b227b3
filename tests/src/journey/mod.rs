//! Journeys: command lines of real clients (kubectl, Python) run against two planes, and what differs in their output.
//!
//! The command lines are data (`tests/kubectl/*.yaml`); docs/testing.md describes the format.

mod output;
mod preparation;
mod table;

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::process::Command;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::plane::Plane;
use crate::text_difference;

pub use output::Cleaner;
pub use preparation::{JourneyError, Workplace, python};
pub use table::{Journey, Step, directory, read};

/// Journeys that run at once on each plane; every command is a process that reads all of discovery first.
const CONCURRENCY: usize = 3;

/// A command that is still running then has hung.
const COMMAND_LIMIT: Duration = Duration::from_secs(90);

/// What stands under an output that was not what an `until` waited for.
const NEVER_SAID: &str = "--- never said";

/// How long an `until` is waited for.
const UNTIL_LIMIT: Duration = Duration::from_secs(30);

/// What a journey found.
#[derive(Debug)]
pub struct Verdict {
    /// The journey.
    pub name: String,
    /// How many commands were compared.
    pub compared: usize,
    /// The commands whose output differs, with the difference: stock's with `-`, ours with `+`.
    pub differences: Vec<(String, String)>,
    /// What was equal, for those who want to see it.
    pub transcript: String,
}

/// Runs all journeys that fit a filter on both planes.
pub async fn run(
    stock: &Plane,
    ours: &Plane,
    filter: Option<&str>,
    suffix: &str,
) -> Result<Vec<Verdict>, JourneyError> {
    let mut journeys = read(&directory())?;
    journeys.retain(|journey| filter.is_none_or(|filter| filter.split(',').any(|part| journey.name.contains(part))));
    if journeys.is_empty() {
        return Err(JourneyError::NothingToRun);
    }
    if journeys.iter().any(|journey| journey.steps.iter().any(|step| step.command().contains("$PYTHON"))) {
        python().await?;
    }
    let permits = Arc::new(Semaphore::new(CONCURRENCY));
    let mut tasks = JoinSet::new();
    for (index, journey) in journeys.into_iter().enumerate() {
        let permits = permits.clone();
        let namespace = format!("{}{suffix}", journey.name);
        let stock = Workplace::prepare(stock, &journey, &namespace)?;
        let ours = Workplace::prepare(ours, &journey, &namespace)?;
        tasks.spawn(async move {
            let _permit = permits.acquire_owned().await.map_err(|error| JourneyError::Broken(error.to_string()))?;
            let (stock, ours) = tokio::join!(travel(&journey, &stock), travel(&journey, &ours));
            Ok::<_, JourneyError>((index, compare(&journey, &stock?, &ours?)))
        });
    }
    let mut verdicts = Vec::new();
    while let Some(result) = tasks.join_next().await {
        verdicts.push(result.map_err(|error| JourneyError::Broken(error.to_string()))??);
    }
    verdicts.sort_by_key(|(index, _)| *index);
    Ok(verdicts.into_iter().map(|(_, verdict)| verdict).collect())
}

fn compare(journey: &Journey, stock: &[String], ours: &[String]) -> Verdict {
    let mut verdict = Verdict {
        name: journey.name.clone(),
        compared: journey.steps.len(),
        differences: Vec::new(),
        transcript: String::new(),
    };
    for (index, step) in journey.steps.iter().enumerate() {
        let (left, right) = (&stock[index], &ours[index]);
        // What stock never says is a fault of the table, even if ours never says it either.
        if left.contains(NEVER_SAID) {
            verdict.differences.push((step.command().to_owned(), left.clone()));
        } else if left == right {
            verdict.transcript.extend(["$ ", step.command(), "\n", left.as_str(), "\n"]);
        } else {
            verdict.differences.push((step.command().to_owned(), text_difference::describe(left, right)));
        }
    }
    verdict
}

/// Runs the commands of a journey one after the other and returns what each one wrote.
async fn travel(journey: &Journey, workplace: &Workplace) -> Result<Vec<String>, JourneyError> {
    workplace.make_namespace().await?;
    let mut cleaner = Cleaner::new(workplace);
    let mut outputs = Vec::new();
    for step in &journey.steps {
        let start = Instant::now();
        let text = loop {
            let text = execute(step.command(), workplace).await?;
            match step.until() {
                Some(wanted) if !text.contains(wanted) && start.elapsed() < UNTIL_LIMIT => {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                Some(wanted) if !text.contains(wanted) => break format!("{text}\n{NEVER_SAID} {wanted}"),
                _ => break text,
            }
        };
        outputs.push(cleaner.clean(&text, step));
    }
    Ok(outputs)
}

async fn execute(line: &str, workplace: &Workplace) -> Result<String, JourneyError> {
    let mut command = shell(line, workplace.directory(), workplace);
    let output = match tokio::time::timeout(COMMAND_LIMIT, command.output()).await {
        Err(_) => return Ok("the command hung".to_owned()),
        Ok(output) => output.map_err(JourneyError::Run)?,
    };
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.stderr.is_empty() {
        text.push_str("--- on the error stream\n");
        text.push_str(&String::from_utf8_lossy(&output.stderr));
    }
    if !output.status.success() {
        text.extend(["--- ", output.status.to_string().as_str(), "\n"]);
    }
    Ok(text)
}

fn shell(line: &str, directory: &Path, workplace: &Workplace) -> Command {
    let mut command = Command::new("bash");
    command
        .args(["-c", line])
        .current_dir(directory)
        .envs(workplace.environment())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}
