//! Runs the sequences of the table, several at a time, on both servers at once.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::execution::{ENDED, Exchange, Execution};
use super::report::{Summary, Verdict};
use super::substitution::Variables;
use super::table::{self, Explanation, Sequence, Table, TableError};
use crate::assets::repository;
use crate::client::{Call, Client, ClientError};
use crate::pki::{PkiError, signing_request};

/// Sequences that run at once. More only make a machine of two processors slower.
const CONCURRENCY: usize = 12;

/// More sequences that differ are not races but something broken, and a second look would only take time.
const MOST_RACES: usize = 5;

/// How often a sequence that differs is run again: an order that stock draws from a map of two comes out as ours every
/// second time.
const FURTHER_TRIES: usize = 3;

/// How long the controllers may take to fill a new namespace.
const NAMESPACE_TIMEOUT: Duration = Duration::from_mins(1);

/// Why the suite did not run.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// The table is broken.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A server cannot be reached.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A signing request could not be made.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// A filter that fits nothing must not look like success.
    #[error("no sequence fits {0}")]
    NothingToRun(String),
    /// A namespace did not get its service account.
    #[error("{server} did not prepare the namespace {namespace} in time")]
    Namespace {
        /// The server.
        server: String,
        /// The namespace.
        namespace: String,
    },
    /// Stock does not take an object that updates start from.
    #[error("stock does not have the valid object {name}: {answer}")]
    Valid {
        /// Kind and name.
        name: String,
        /// What stock said.
        answer: String,
    },
    /// A task of the suite itself died.
    #[error("the suite broke: {0}")]
    Broken(String),
}

/// How much of what was equal is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Detail {
    /// Nothing.
    #[default]
    Differences,
    /// A line for each exchange.
    Lines,
    /// All that was compared.
    Bodies,
}

/// What to run.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Only sequences whose name or area contains this.
    pub filter: Option<String>,
    /// Appended to every namespace, so that a server that ran the suite before can run it again.
    pub suffix: String,
    /// How much of what was equal is printed.
    pub detail: Detail,
}

/// The two servers.
#[derive(Clone)]
pub struct Servers {
    /// The one that is right.
    pub stock: Client,
    /// The one that is compared with it.
    pub ours: Client,
}

/// The directory of the table.
pub fn directory() -> PathBuf {
    repository().join("tests").join("differential")
}

/// Runs all sequences that fit and compares.
pub async fn run(servers: Servers, options: Options) -> Result<Summary, SuiteError> {
    let Table { mut sequences, explanations, open } = table::read(&directory())?;
    if let Some(filter) = &options.filter {
        sequences.retain(|sequence| {
            filter.split(',').any(|part| sequence.name.contains(part) || sequence.area.contains(part))
        });
        if sequences.is_empty() {
            return Err(SuiteError::NothingToRun(filter.clone()));
        }
    }
    let context = Arc::new(Context { servers, options, explanations });
    let all = sequences.clone();
    let (alone, together): (Vec<_>, Vec<_>) = sequences.into_iter().partition(|sequence| sequence.alone);
    let mut verdicts = Vec::new();
    for sequence in alone {
        verdicts.push(context.judge(&sequence, "").await?);
    }
    let permits = Arc::new(Semaphore::new(CONCURRENCY));
    let mut tasks = JoinSet::new();
    for (index, sequence) in together.into_iter().enumerate() {
        let (context, permits) = (context.clone(), permits.clone());
        tasks.spawn(async move {
            let _permit = permits.acquire_owned().await.map_err(|error| SuiteError::Broken(error.to_string()))?;
            Ok::<_, SuiteError>((index, context.judge(&sequence, "").await?))
        });
    }
    let mut judged = Vec::new();
    while let Some(result) = tasks.join_next().await {
        judged.push(result.map_err(|error| SuiteError::Broken(error.to_string()))??);
    }
    judged.sort_by_key(|(index, _)| *index);
    verdicts.extend(judged.into_iter().map(|(_, verdict)| verdict));
    let mut summary = Summary { verdicts, open };
    try_again(&context, &all, &mut summary).await?;
    Ok(summary)
}

/// Runs what differs again in other namespaces. Stock's caches and controllers race with requests, so a difference that
/// does not come back is nobody's fault; the summary counts it all the same.
async fn try_again(context: &Context, sequences: &[Sequence], summary: &mut Summary) -> Result<(), SuiteError> {
    let names: Vec<String> = summary.unexpected().map(|verdict| verdict.name.clone()).collect();
    if names.len() > MOST_RACES {
        return Ok(());
    }
    for sequence in sequences.iter().filter(|sequence| names.contains(&sequence.name)) {
        for number in 1..=FURTHER_TRIES {
            let verdict = context.judge(sequence, &format!("-again{number}")).await?;
            if verdict.differences.is_empty() {
                summary.replace(verdict);
                break;
            }
        }
    }
    Ok(())
}

struct Context {
    servers: Servers,
    options: Options,
    explanations: Vec<Explanation>,
}

impl Context {
    async fn judge(&self, sequence: &Sequence, again: &str) -> Result<Verdict, SuiteError> {
        let start = Instant::now();
        let suffix = format!("{}{again}", self.options.suffix);
        let variables = Self::variables(sequence, &suffix)?;
        let (stock, ours) = tokio::join!(
            execute(sequence, &self.servers.stock, "stock", &suffix, variables.clone()),
            execute(sequence, &self.servers.ours, "ours", &suffix, variables),
        );
        let mut verdict = Verdict::new(sequence);
        let (stock, ours) = (stock?, ours?);
        for index in 0..stock.len().max(ours.len()) {
            let (left, right) = (stock.get(index), ours.get(index));
            let Some((step, known)) = left.or(right) else { continue };
            verdict.compared += 1;
            let answer = |side: Option<&(usize, Exchange)>| side.map(|(_, exchange)| exchange.answer.clone());
            let is_fault = left.is_some_and(|(_, exchange)| exchange.is_fault());
            let (left, right) = (answer(left), answer(right));
            if left != right || is_fault {
                verdict.add(
                    *step,
                    &known.request,
                    &readable(left.as_ref()),
                    &readable(right.as_ref()),
                    &self.explanations,
                );
            } else if self.options.detail != Detail::Differences {
                println!("{} step {step}: {}: {}", sequence.name, known.request, outline(left.as_ref()));
                if self.options.detail == Detail::Bodies {
                    println!("{}", readable(left.as_ref()));
                }
            }
        }
        if self.options.detail != Detail::Differences {
            println!("{}: {} ms", sequence.name, start.elapsed().as_millis());
        }
        Ok(verdict)
    }

    fn variables(sequence: &Sequence, suffix: &str) -> Result<Variables, SuiteError> {
        let mut variables = Variables::default();
        for (name, text) in &sequence.variables {
            variables.set(name, text.clone());
        }
        let namespace = format!("{}{suffix}", sequence.name);
        variables.set("ns", namespace.clone());
        variables.set("id", namespace);
        for (name, request) in &sequence.requests {
            let borrowed = |list: &[String]| {
                list.iter().map(|text| variables.expand(text).unwrap_or_default()).collect::<Vec<_>>()
            };
            let (groups, names) = (borrowed(&request.groups), borrowed(&request.names));
            let user = variables.expand(&request.user).unwrap_or_default();
            let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let (pem, key) = signing_request(&user, &groups, &names)?;
            variables.set(name, STANDARD.encode(pem));
            variables.set(&format!("{name}.key"), key);
        }
        Ok(variables)
    }
}

/// Runs a sequence on one server. A step that cannot be run ends the sequence, as an answer of its own.
pub(super) async fn execute(
    sequence: &Sequence,
    client: &Client,
    server: &str,
    suffix: &str,
    variables: Variables,
) -> Result<Vec<(usize, Exchange)>, SuiteError> {
    if needs_namespace(sequence) {
        let namespace = format!("{}{suffix}", sequence.name);
        prepare_namespace(client, server, &namespace).await?;
    }
    let mut execution = Execution::new(sequence, client.clone(), variables)?;
    let mut exchanges = Vec::new();
    for (index, step) in sequence.steps.iter().enumerate() {
        match execution.step(step).await {
            Ok(answers) => exchanges.extend(answers.into_iter().map(|answer| (index + 1, answer))),
            Err(error) => {
                let request = step.request.clone().unwrap_or_else(|| "collect".to_owned());
                let answer = json!({ENDED: format!("{server}: {error}")});
                exchanges.push((index + 1, Exchange { request, answer }));
                break;
            }
        }
    }
    Ok(exchanges)
}

pub(super) fn readable(answer: Option<&Value>) -> String {
    match answer {
        Some(answer) => format!("{answer:#}"),
        None => "nothing".to_owned(),
    }
}

/// The status code and the message of an answer, in one line.
fn outline(answer: Option<&Value>) -> String {
    let Some(answer) = answer else { return String::new() };
    let status = answer.get("status").or_else(|| answer.get("/status")).map(Value::to_string).unwrap_or_default();
    let message = answer.pointer("/body/message").and_then(Value::as_str).unwrap_or_default();
    let plain = answer.get("body").and_then(Value::as_str).and_then(|text| text.lines().next()).unwrap_or_default();
    let warnings = answer.pointer("/headers/warning").map(Value::to_string).unwrap_or_default();
    let events = answer.get("events").and_then(Value::as_array).map(|events| format!("{} events", events.len()));
    format!("{status} {message}{plain}{warnings}{}", events.unwrap_or_default())
}

fn needs_namespace(sequence: &Sequence) -> bool {
    let in_variables =
        sequence.variables.iter().filter(|(_, text)| text.contains("${ns}")).map(|(name, _)| format!("${{{name}}}"));
    let marks: Vec<String> = in_variables.chain(["${ns}".to_owned()]).collect();
    let mentions = |text: &str| marks.iter().any(|mark| text.contains(mark.as_str()));
    sequence.steps.iter().any(|step| {
        step.request.as_deref().is_some_and(mentions)
            || step.body.as_ref().is_some_and(|body| mentions(&body.to_string()))
    })
}

/// Makes a namespace and waits for what the controllers put into it, because pods cannot be created before.
pub(super) async fn prepare_namespace(client: &Client, server: &str, namespace: &str) -> Result<(), SuiteError> {
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    client.send(Call::new(http::Method::POST, "/api/v1/namespaces").json(&body)).await?;
    let start = Instant::now();
    for path in ["serviceaccounts/default", "configmaps/kube-root-ca.crt"] {
        let target = format!("/api/v1/namespaces/{namespace}/{path}");
        while !client.send(Call::get(target.clone())).await?.status.is_success() {
            if start.elapsed() > NAMESPACE_TIMEOUT {
                return Err(SuiteError::Namespace { server: server.to_owned(), namespace: namespace.to_owned() });
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    Ok(())
}
