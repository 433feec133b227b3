//! Runs one sequence against one server and records what came back, normalized.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, Method};
use serde_json::{Value, json};

use super::form;
use super::normalization::{Normalizer, describe_protobuf};
use super::substitution::{SubstitutionError, Variables, lay_over};
use super::table::{Actor, Sequence, Step, Until};
use super::watching::Watch;
use crate::client::{Answer, Call, Client, ClientError};
use crate::pki::Identity;

/// How long an `until` is waited for. Stock's slowest honest delay, a token's cache, is 10 s.
const UNTIL_TIMEOUT: Duration = Duration::from_secs(25);

/// What an answer says that was not what an `until` waited for.
const NOT_REACHED: &str = "not reached";

/// What an answer says that stands for all steps that could not be run.
pub const ENDED: &str = "the sequence ended";

/// How often an `until` is asked for.
const UNTIL_INTERVAL: Duration = Duration::from_millis(25);

/// The headers that are part of an answer's meaning.
const COMPARED_HEADERS: &[&str] = &[
    "content-type",
    "warning",
    "allow",
    "location",
    "www-authenticate",
    "retry-after",
    "cache-control",
    "x-content-type-options",
    "etag",
    "vary",
    "content-encoding",
    "x-kubernetes-pf-flowschema-uid",
    "x-kubernetes-pf-prioritylevel-uid",
];

/// Why a step could not be run; a fault of the table or of the connection.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// A variable is missing.
    #[error(transparent)]
    Substitution(#[from] SubstitutionError),
    /// The connection failed.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The table says something that means nothing.
    #[error("{0}")]
    Table(String),
}

/// One request as it was sent, and what came back.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// What was asked, in one line.
    pub request: String,
    /// What came back, normalized.
    pub answer: Value,
}

impl Exchange {
    /// Whether the step did not do what the table wants: a fault of the table when stock says so.
    pub fn is_fault(&self) -> bool {
        self.answer.get(ENDED).is_some() || self.answer.get("until").is_some_and(|until| until == NOT_REACHED)
    }
}

/// A sequence being run against one server.
pub struct Execution<'a> {
    sequence: &'a Sequence,
    administrator: Client,
    anonymous: Client,
    variables: Variables,
    normalizer: Normalizer,
    watches: HashMap<String, Watch>,
}

impl<'a> Execution<'a> {
    /// Prepares a run; `variables` are those that both servers share.
    pub fn new(sequence: &'a Sequence, administrator: Client, variables: Variables) -> Result<Self, ClientError> {
        let anonymous = administrator.with_identity(None)?;
        let normalizer = Normalizer::new(literals(sequence));
        Ok(Self { sequence, administrator, anonymous, variables, normalizer, watches: HashMap::new() })
    }

    /// Runs one step of the table, which may be several requests.
    pub async fn step(&mut self, step: &Step) -> Result<Vec<Exchange>, StepError> {
        if let Some(collect) = &step.collect {
            let watch = self.watches.remove(&collect.watch);
            let watch = watch.ok_or_else(|| StepError::Table(format!("no watch {} is open", collect.watch)))?;
            let mut answer = watch.collect(collect).await?;
            self.finish(step, &mut answer);
            return Ok(vec![Exchange { request: format!("events of the watch {}", collect.watch), answer }]);
        }
        let mut exchanges = Vec::new();
        for (case, over) in cases(step) {
            self.variables.set("case", case.to_owned());
            for count in 1..=step.repeat.unwrap_or(1) {
                self.variables.set("n", count.to_string());
                exchanges.push(self.request(step, case, over).await?);
            }
        }
        Ok(exchanges)
    }

    async fn request(&mut self, step: &Step, case: &str, over: Option<&Value>) -> Result<Exchange, StepError> {
        let call = self.call(step, over)?;
        let client = self.client(step)?;
        let mut request = format!("{} {}", call.method, call.target);
        if !case.is_empty() {
            request = format!("{request} [{case}]");
        }
        if let Some(name) = &step.watch {
            let stream = client.stream(call).await?;
            if stream.status.is_success() {
                let mut answer = record(stream.status.as_u16(), &stream.headers, &Value::Null);
                self.watches.insert(name.clone(), Watch::follow(stream));
                self.finish(step, &mut answer);
                return Ok(Exchange { request, answer });
            }
            let mut answer = described(&stream.rest().await?);
            self.finish(step, &mut answer);
            return Ok(Exchange { request, answer });
        }
        let (answer, reached) = send_until(&client, call, step.until.as_ref(), &self.variables).await?;
        self.capture(step, &answer)?;
        let mut described = described(&answer);
        self.finish(step, &mut described);
        if !reached {
            described["until"] = Value::from(NOT_REACHED);
        }
        Ok(Exchange { request, answer: described })
    }

    fn finish(&mut self, step: &Step, answer: &mut Value) {
        self.normalizer.value(answer);
        super::comparison::reduce(answer, step);
    }

    fn call(&self, step: &Step, over: Option<&Value>) -> Result<Call, StepError> {
        let line = self.variables.expand(step.request.as_deref().unwrap_or_default())?;
        let (method, target) =
            line.split_once(' ').ok_or_else(|| StepError::Table(format!("{line} is not METHOD /path")))?;
        let method: Method = method.parse().map_err(|_| StepError::Table(format!("{method} is not a method")))?;
        let body = self.body(step, over)?;
        let mut headers = HeaderMap::new();
        let mut set = |name: &str, value: &str| -> Result<(), StepError> {
            let wrong = || StepError::Table(format!("{name}: {value} is not a header"));
            let name: HeaderName = name.parse().map_err(|_| wrong())?;
            headers.append(name, HeaderValue::from_bytes(value.as_bytes()).map_err(|_| wrong())?);
            Ok(())
        };
        let content_type = match (&step.content_type, step.patch) {
            (Some(given), _) => Some(given.as_str()),
            (None, Some(patch)) => Some(patch.content_type()),
            (None, None) => (!body.is_empty()).then_some("application/json"),
        };
        if let Some(content_type) = content_type.filter(|content_type| !content_type.is_empty()) {
            set(CONTENT_TYPE.as_str(), &self.variables.expand(content_type)?)?;
        }
        let accept = step.accept.as_deref().unwrap_or("application/json");
        if !accept.is_empty() {
            set(ACCEPT.as_str(), &self.variables.expand(accept)?)?;
        }
        for (name, value) in self.actor_headers(step)? {
            set(&name, &value)?;
        }
        for (name, value) in &step.headers {
            set(name, &self.variables.expand(value)?)?;
        }
        Ok(Call { method, target: target.to_owned(), headers, body })
    }

    fn body(&self, step: &Step, over: Option<&Value>) -> Result<Bytes, StepError> {
        if let Some(variable) = &step.send {
            return Ok(self.variables.bytes(variable)?);
        }
        if let Some(text) = &step.text {
            return Ok(Bytes::from(self.variables.expand(text)?));
        }
        let mut body = match &step.base {
            Some(name) => {
                self.sequence.bodies.get(name).cloned().ok_or_else(|| StepError::Table(format!("no body {name}")))?
            }
            None => match (&step.body, over) {
                (None, None) => return Ok(Bytes::new()),
                (None, Some(over)) => over.clone(),
                (Some(body), _) => body.clone(),
            },
        };
        if step.base.is_some()
            && let Some(own) = &step.body
        {
            lay_over(&mut body, own);
        }
        if let Some(over) = over {
            lay_over(&mut body, over);
        }
        Ok(Bytes::from(self.variables.expand_value(&body)?.to_string()))
    }

    fn actor<'b>(&'b self, step: &'b Step) -> Option<&'b Actor> {
        step.actor.as_ref().or(self.sequence.actor.as_ref())
    }

    fn client(&self, step: &Step) -> Result<Client, StepError> {
        match self.actor(step) {
            Some(Actor::Token(_)) => Ok(self.anonymous.clone()),
            Some(Actor::Name(name)) if name == "anonymous" => Ok(self.anonymous.clone()),
            Some(Actor::Certificate(holder)) => {
                let encoded = self.variables.expand(&holder.certificate)?;
                let certificate = STANDARD.decode(encoded).map_err(|error| StepError::Table(error.to_string()))?;
                let certificate = String::from_utf8_lossy(&certificate).into_owned();
                let key = self.variables.expand(&holder.key)?;
                Ok(self.administrator.with_identity(Some(&Identity { certificate, key }))?)
            }
            _ => Ok(self.administrator.clone()),
        }
    }

    fn actor_headers(&self, step: &Step) -> Result<Vec<(String, String)>, StepError> {
        let mut headers = Vec::new();
        match self.actor(step) {
            Some(Actor::Name(name)) if name != "anonymous" && name != "admin" => {
                headers.push(("Impersonate-User".to_owned(), self.variables.expand(name)?));
            }
            Some(Actor::Impersonated(user)) => {
                headers.push(("Impersonate-User".to_owned(), self.variables.expand(&user.user)?));
                for group in &user.groups {
                    headers.push(("Impersonate-Group".to_owned(), self.variables.expand(group)?));
                }
                if let Some(uid) = &user.uid {
                    headers.push(("Impersonate-Uid".to_owned(), uid.clone()));
                }
                for (name, values) in &user.extra {
                    for value in values {
                        headers.push((format!("Impersonate-Extra-{name}"), self.variables.expand(value)?));
                    }
                }
            }
            Some(Actor::Token(holder)) => {
                let token = self.variables.expand(&holder.token)?;
                headers.push((AUTHORIZATION.as_str().to_owned(), format!("Bearer {token}")));
            }
            _ => {}
        }
        Ok(headers)
    }

    fn capture(&mut self, step: &Step, answer: &Answer) -> Result<(), StepError> {
        if step.capture.is_empty() {
            return Ok(());
        }
        let json = answer.json();
        for (name, pointer) in &step.capture {
            if pointer == "body" {
                self.variables.set(name, answer.body.clone());
                continue;
            }
            let found = json.pointer(pointer);
            let text = match found {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Null) | None => {
                    return Err(StepError::Table(format!(
                        "nothing at {pointer} of the answer {}",
                        String::from_utf8_lossy(&answer.body).chars().take(400).collect::<String>()
                    )));
                }
                Some(other) => other.to_string(),
            };
            self.variables.set(name, text);
        }
        Ok(())
    }
}

async fn send_until(
    client: &Client,
    call: Call,
    until: Option<&Until>,
    variables: &Variables,
) -> Result<(Answer, bool), StepError> {
    let start = Instant::now();
    loop {
        let answer = client.send(call.clone()).await?;
        if is_initializing(&answer) && start.elapsed() < UNTIL_TIMEOUT {
            tokio::time::sleep(UNTIL_INTERVAL).await;
            continue;
        }
        match until {
            Some(until) if !holds(until, &answer, variables)? => {
                if start.elapsed() > UNTIL_TIMEOUT {
                    return Ok((answer, false));
                }
                tokio::time::sleep(UNTIL_INTERVAL).await;
            }
            _ => return Ok((answer, true)),
        }
    }
}

/// Stock asks for patience while it replaces what serves a kind that was just changed; every client tries again.
fn is_initializing(answer: &Answer) -> bool {
    let text = String::from_utf8_lossy(&answer.body);
    match answer.status {
        http::StatusCode::TOO_MANY_REQUESTS => text.contains("storage is (re)initializing"),
        http::StatusCode::SERVICE_UNAVAILABLE => text.contains("apiserver is shutting down"),
        _ => false,
    }
}

fn holds(until: &Until, answer: &Answer, variables: &Variables) -> Result<bool, SubstitutionError> {
    if until.status.is_some_and(|status| status != answer.status.as_u16()) {
        return Ok(false);
    }
    if let Some(pointer) = &until.at {
        let json = answer.json();
        let found = json.pointer(pointer).unwrap_or(&Value::Null);
        let fits = match &until.is {
            Some(wanted) => *found == variables.expand_value(wanted)?,
            None => !found.is_null(),
        };
        if !fits {
            return Ok(false);
        }
    }
    let text = String::from_utf8_lossy(&answer.body);
    if let Some(wanted) = &until.text
        && !text.contains(&variables.expand(wanted)?)
    {
        return Ok(false);
    }
    if let Some(unwanted) = &until.without
        && text.contains(&variables.expand(unwanted)?)
    {
        return Ok(false);
    }
    Ok(true)
}

fn cases(step: &Step) -> Vec<(&str, Option<&Value>)> {
    if step.cases.is_empty() {
        vec![("", None)]
    } else {
        step.cases.iter().map(|(name, over)| (name.as_str(), Some(over))).collect()
    }
}

fn described(answer: &Answer) -> Value {
    let content_type = answer.headers.get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let body = match serde_json::from_slice::<Value>(&answer.body) {
        Ok(json) => json,
        Err(_) if content_type.is_some_and(|content_type| content_type.contains("protobuf")) => {
            describe_protobuf(&answer.body)
        }
        Err(_) => Value::from(String::from_utf8_lossy(&answer.body).into_owned()),
    };
    let mut described = record(answer.status.as_u16(), &answer.headers, &body);
    described["form"] = form::describe(&answer.body);
    described
}

fn record(status: u16, headers: &HeaderMap, body: &Value) -> Value {
    let mut compared: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for name in COMPARED_HEADERS {
        for value in headers.get_all(*name) {
            // An entity tag is whatever its server likes; that there is one is what clients rely on.
            let text = if *name == "etag" { "<tag>".into() } else { String::from_utf8_lossy(value.as_bytes()) };
            compared.entry(name).or_default().push(text.into_owned());
        }
    }
    json!({"status": status, "headers": compared, "body": body})
}

/// All that a sequence says, to tell what it says from what is random.
fn literals(sequence: &Sequence) -> String {
    let mut text = String::new();
    for step in &sequence.steps {
        for part in [&step.request, &step.text, &step.base].into_iter().flatten() {
            text.push_str(part);
            text.push('\n');
        }
        for value in step.body.iter().chain(step.cases.values()) {
            text.push_str(&value.to_string());
            text.push('\n');
        }
        if let Some(body) = step.base.as_ref().and_then(|name| sequence.bodies.get(name)) {
            text.push_str(&body.to_string());
            text.push('\n');
        }
    }
    text
}
