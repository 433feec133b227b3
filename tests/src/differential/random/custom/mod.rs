//! Random custom resources on both servers: definitions, right and wrong, and the objects of those that stock takes.
//!
//! A round draws a definition that stock takes and creates it with schemas that refuse nothing, so that there are objects
//! which the schemas it has later would refuse: updates of those are let through or not by what they change.

mod alteration;
mod case;
mod definition;
mod drawer;
mod faults;
mod formats;
mod round;
mod rules;
mod schema;

use std::time::{Duration, Instant};

use http::Method;
use serde_json::{Value, json};

use self::case::Case;
pub(super) use self::case::TITLE;
use self::definition::{Definition, PROBE};
use self::round::{Base, Round};
use super::Findings;
use super::schema::NAMESPACE;
use super::trial::Question as _;
use crate::client::{Call, Client};
use crate::differential::substitution::Variables;
use crate::differential::suite::{self, Servers, SuiteError, execute};
use crate::differential::table::Until;

/// How many definitions are drawn until stock takes one.
const MOST_DEFINITIONS: u64 = 40;

/// How many definitions of a round have something wrong, and how many changes of the one that exists.
const WRONG_DEFINITIONS: u64 = 16;

/// How many objects of a round are created while the schemas refuse nothing, and how many later.
const CREATED: u64 = 12;

/// How many objects of a round are there to be updated.
const BASES: usize = 3;

/// How many objects are drawn for that, because some do not even have the shape.
const MOST_BASES: u64 = 12;

/// How many updates of each way an object gets.
const UPDATES: u64 = 5;

/// How long a definition may take to go away, with its objects.
const GONE_TIMEOUT: Duration = Duration::from_mins(1);

/// Plays a round.
pub(super) async fn run(servers: &Servers, seed: u64, findings: &mut Findings) -> Result<(), SuiteError> {
    for (name, client) in [("stock", &servers.stock), ("ours", &servers.ours)] {
        suite::prepare_namespace(client, name, NAMESPACE).await?;
    }
    let round = Round { seed };
    let group = format!("s{seed}.random.example.com");
    let Some(definition) = accepted_definition(servers, round, &group, findings).await? else { return Ok(()) };
    remove(servers, &definition).await?;
    findings.add(servers, (0..WRONG_DEFINITIONS).map(|number| round.wrong_definition(&definition, number))).await?;

    let loose = definition.loosened();
    for client in [&servers.stock, &servers.ours] {
        client.send(Call::new(Method::POST, definition::DEFINITIONS).json(&loose.object)).await?;
    }
    let at_most_one = format!("{PROBE} in body should be less than or equal to 1");
    wait(servers, &definition, |until| until.text = Some(at_most_one.clone())).await?;
    findings.add(servers, (0..CREATED).map(|number| round.created(&loose, number))).await?;
    let bases = create(servers, round, &definition).await?;

    for client in [&servers.stock, &servers.ours] {
        let mut object = definition.object.clone();
        let stored = client.send(Call::get(definition.path())).await?.json();
        object["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"].clone();
        client.send(Call::new(Method::PUT, definition.path()).json(&object)).await?;
    }
    wait(servers, &definition, |until| until.without = Some(at_most_one.clone())).await?;
    let mut cases: Vec<Case> = (CREATED..3 * CREATED).map(|number| round.created(&definition, number)).collect();
    cases.extend((0..WRONG_DEFINITIONS).map(|number| round.changed_definition(&definition, number)));
    for base in &bases {
        cases.extend((0..UPDATES).flat_map(|number| round.updated(base, number)));
        cases.extend(round.scaled(&definition, base));
    }
    cases.extend(round.read(&definition, &bases));
    findings.add(servers, cases.into_iter()).await?;
    remove(servers, &definition).await
}

/// The first of the drawn definitions that stock takes, also with loose schemas; all of them are compared.
async fn accepted_definition(
    servers: &Servers,
    round: Round,
    group: &str,
    findings: &mut Findings,
) -> Result<Option<Definition>, SuiteError> {
    for number in 0..MOST_DEFINITIONS {
        let definition = Definition::draw(round.random("definition", number), group);
        let before = findings.accepted;
        findings
            .add(servers, [&definition, &definition.loosened()].map(|drawn| round.definition(drawn)).into_iter())
            .await?;
        if findings.accepted == before + 2 {
            return Ok(Some(definition));
        }
    }
    Ok(None)
}

/// Waits until both servers serve a state of the definition, which shows by what is said of the probe.
async fn wait(servers: &Servers, definition: &Definition, which: impl Fn(&mut Until)) -> Result<(), SuiteError> {
    let mut until = Until { status: None, at: None, is: None, text: None, without: None };
    which(&mut until);
    let (version, _) = definition.versions().swap_remove(0);
    let body = json!({
        "apiVersion": format!("{}/{version}", definition.group), "kind": "Thing", "metadata": {"name": PROBE}, PROBE: 2,
    });
    let case = Case {
        request: format!("POST {}?dryRun=All", definition.collection(&version)),
        content: body,
        until: Some(until),
        ..Case::default()
    };
    let sequence = case.sequence();
    for (name, client) in [("stock", &servers.stock), ("ours", &servers.ours)] {
        let exchanges = execute(&sequence, client, name, "", Variables::default()).await?;
        if exchanges.iter().any(|(_, exchange)| exchange.is_fault()) {
            return Err(SuiteError::Broken(format!("{name} does not serve {}", definition.path())));
        }
    }
    Ok(())
}

/// Creates the objects that updates start from, and has somebody apply a part of each.
async fn create(servers: &Servers, round: Round, definition: &Definition) -> Result<Vec<Base>, SuiteError> {
    let mut bases = Vec::new();
    for number in 0..MOST_BASES {
        if bases.len() == BASES {
            break;
        }
        let name = format!("base{number}");
        let (version, mut object, schema) = round.object(definition, &name, number);
        if let Some(metadata) = object["metadata"].as_object_mut() {
            // Nobody would take them away at the end.
            metadata.remove("finalizers");
        }
        let collection = definition.collection(&version);
        let path = format!("{collection}/{name}");
        for client in [&servers.stock, &servers.ours] {
            let target = format!("{collection}?fieldManager=creator");
            client.send(Call::new(Method::POST, target).json(&object)).await?;
        }
        let Some(object) = fetch(&servers.stock, &path).await? else { continue };
        let base = Base { path, object, schema };
        let intent = round.first_applied(&base, number);
        for client in [&servers.stock, &servers.ours] {
            let target = format!("{}?fieldManager=first&force=true", base.path);
            let mut call = Call::new(Method::PATCH, target).json(&intent);
            let kind = http::HeaderValue::from_static("application/apply-patch+yaml");
            call.headers.insert(http::header::CONTENT_TYPE, kind);
            client.send(call).await?;
        }
        bases.push(base);
    }
    Ok(bases)
}

/// An object as stock has it, without what each server writes itself.
async fn fetch(stock: &Client, path: &str) -> Result<Option<Value>, SuiteError> {
    let answer = stock.send(Call::get(path)).await?;
    let mut object = answer.json();
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata
            .retain(|name, _| matches!(name.as_str(), "name" | "namespace" | "labels" | "annotations" | "finalizers"));
    }
    Ok(answer.status.is_success().then_some(object))
}

/// Removes a definition from both and waits until it is gone.
async fn remove(servers: &Servers, definition: &Definition) -> Result<(), SuiteError> {
    for (name, client) in [("stock", &servers.stock), ("ours", &servers.ours)] {
        client.send(Call::new(Method::DELETE, definition.path())).await?;
        let start = Instant::now();
        while client.send(Call::get(definition.path())).await?.status.is_success() {
            if start.elapsed() > GONE_TIMEOUT {
                return Err(SuiteError::Broken(format!("{} does not go away from {name}", definition.path())));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    Ok(())
}
