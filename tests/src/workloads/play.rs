//! Playing a scenario on one plane.

use std::time::{Duration, Instant};

use http::Method;
use serde_json::{Value, json};

use super::WorkloadsError;
use super::api::{Api, path};
use super::scenario::{Scenario, Step, Target, Until};

/// How long a state may take to come about.
const PATIENCE: Duration = Duration::from_mins(1);
/// How often it is looked for.
const INTERVAL: Duration = Duration::from_millis(100);

/// Plays all steps in a namespace.
pub(super) async fn play(api: &Api, namespace: &str, scenario: &Scenario) -> Result<(), WorkloadsError> {
    let own = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    accept(api, "the namespace", api.send(Method::POST, "/api/v1/namespaces", Some(&own)).await?)?;
    let account = format!("/api/v1/namespaces/{namespace}/serviceaccounts/default");
    wait(api, "the service account", || async {
        Ok(if api.send(Method::GET, &account, None).await?.0 == 200 { Ok(()) } else { Err("missing".to_owned()) })
    })
    .await?;
    for (number, step) in scenario.steps_in(namespace)?.iter().enumerate() {
        run(api, namespace, step, &format!("step {}", number + 1)).await?;
    }
    Ok(())
}

fn accept(api: &Api, what: &str, (code, answer): (u16, Value)) -> Result<Value, WorkloadsError> {
    if code < 300 {
        return Ok(answer);
    }
    Err(WorkloadsError::Refused { plane: api.name(), what: what.to_owned(), answer: answer.to_string() })
}

async fn run(api: &Api, namespace: &str, step: &Step, what: &str) -> Result<(), WorkloadsError> {
    if let Some(object) = &step.create {
        let kind = object["kind"].as_str().unwrap_or_default();
        let answer = api.send(Method::POST, &path(namespace, kind), Some(object)).await?;
        accept(api, what, answer)?;
    }
    if let Some(patch) = &step.patch {
        let target = locate(api, namespace, &patch.of).await?;
        accept(api, what, api.send(Method::PATCH, &target, Some(&patch.with)).await?)?;
    }
    if let Some(target) = &step.delete {
        let place = locate(api, namespace, target).await?;
        let options = target.propagation.as_ref().map(|way| json!({"propagationPolicy": way}));
        accept(api, what, api.send(Method::DELETE, &place, options.as_ref()).await?)?;
    }
    if let Some(until) = &step.until {
        wait(api, what, || look(api, namespace, until)).await?;
    }
    Ok(())
}

/// The path of an object.
async fn locate(api: &Api, namespace: &str, target: &Target) -> Result<String, WorkloadsError> {
    let name = if target.name.is_empty() {
        let all = api.list(namespace, &target.kind).await?;
        all.first().and_then(|object| object["metadata"]["name"].as_str()).unwrap_or("nothing").to_owned()
    } else {
        target.name.clone()
    };
    let place = format!("{}/{name}", path(namespace, &target.kind));
    Ok(if target.subresource.is_empty() { place } else { format!("{place}/{}", target.subresource) })
}

/// Whether a state has come about; else what is there.
async fn look(api: &Api, namespace: &str, until: &Until) -> Result<Result<(), String>, WorkloadsError> {
    if let Some(count) = until.count {
        let all = api.list(namespace, &until.of.kind).await?;
        let fitting = all.iter().filter(|object| until.has.as_ref().is_none_or(|has| contains(object, has))).count();
        return Ok(if fitting == count { Ok(()) } else { Err(format!("{fitting} of {}", all.len())) });
    }
    let (code, object) = api.send(Method::GET, &locate(api, namespace, &until.of).await?, None).await?;
    Ok(match (&until.has, code) {
        (None, 404) => Ok(()),
        (Some(has), 200) if contains(&object, has) && is_observed(&object) => Ok(()),
        _ => Err(object["status"].to_string()),
    })
}

/// Whether a status is of what is wanted now.
fn is_observed(object: &Value) -> bool {
    let seen = &object["status"]["observedGeneration"];
    seen.is_null() || *seen == object["metadata"]["generation"]
}

/// Whether an object has at least the given content. Of a list, every given element is somewhere in it.
fn contains(object: &Value, wanted: &Value) -> bool {
    match (object, wanted) {
        (Value::Object(object), Value::Object(wanted)) => {
            wanted.iter().all(|(name, wanted)| contains(object.get(name).unwrap_or(&Value::Null), wanted))
        }
        (Value::Array(object), Value::Array(wanted)) => {
            wanted.iter().all(|wanted| object.iter().any(|element| contains(element, wanted)))
        }
        (Value::Null, wanted) => *wanted == 0 || wanted.is_null(),
        _ => object == wanted,
    }
}

async fn wait<F>(api: &Api, what: &str, look: impl Fn() -> F) -> Result<(), WorkloadsError>
where
    F: Future<Output = Result<Result<(), String>, WorkloadsError>>,
{
    let end = Instant::now() + PATIENCE;
    loop {
        match look().await? {
            Ok(()) => return Ok(()),
            Err(seen) if Instant::now() > end => {
                return Err(WorkloadsError::Missed { plane: api.name(), what: what.to_owned(), seen });
            }
            Err(_) => tokio::time::sleep(INTERVAL).await,
        }
    }
}
