//! InfraEnv: where the image is that its hosts boot, and until when the links to it are good.

mod links;
mod status;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use roost_api::agent_install::names::{finalizer, label};
use roost_runtime::Runtime;
use serde_json::{Value, json};

pub(crate) use links::{Links, appended_arguments, architecture, image_type, revision};

use crate::context::{Context, Next, ReconcileError};
use crate::object::{Kind, Reference, has_finalizer, is_deleting, with_finalizer};
use status::Outcome;

/// How soon an InfraEnv that waits for something is looked at again.
const WAIT: Duration = Duration::from_secs(2);
/// How long a link is shown before it is looked at whether it has to be replaced.
const LOOK_AGAIN: Duration = Duration::from_hours(6);

/// Brings one InfraEnv nearer to what is wanted.
pub(crate) async fn reconcile<R: Runtime>(
    context: &Arc<Context<R>>,
    namespace: &str,
    name: &str,
) -> Result<Next, ReconcileError> {
    let objects = &context.objects;
    let discovery = &context.discovery;
    let Some(mut environment) = objects.find(Kind::InfraEnv, namespace, name).await? else {
        discovery.environments.remove(namespace, name);
        if discovery.environments.is_empty() {
            context.discovery_listener.close(discovery).await?;
        }
        return Ok(Next::Settled);
    };
    let reference = Reference::new(Kind::InfraEnv, namespace, name);
    if is_deleting(&environment) {
        return release(context, &environment).await;
    }
    if let Some(finalizers) = with_finalizer(&environment, finalizer::INFRA_ENV) {
        let version = &environment["metadata"]["resourceVersion"];
        let change = json!({"metadata": {"finalizers": finalizers, "resourceVersion": version}});
        environment = objects.merge(&reference, &change).await?;
    }
    let now = Timestamp::now();
    let id = environment["metadata"]["uid"].as_str().unwrap_or_default();
    discovery.environments.put(id, namespace, name);
    let published = context.discovery_listener.ensure(discovery, context.front, now).await?;
    let secret = environment["spec"]["pullSecretRef"]["name"].as_str().unwrap_or_default();
    let has_pull_secret = objects.find(Kind::Secret, namespace, secret).await?.is_some();
    let outcome = match (published, validate(&environment, has_pull_secret)) {
        (_, Err(problem)) => Outcome::Refused(problem),
        (None, _) => return Ok(Next::After(WAIT)),
        (Some(published), Ok(())) => Outcome::Available(published),
    };
    let status = status::status(&environment, &outcome, &discovery.os_version(), now);
    if status != environment["status"] {
        objects.set_status(&reference, &status).await?;
    }
    Ok(match outcome {
        // A Secret that comes later is seen then.
        Outcome::Refused(_) => Next::After(Duration::from_secs(15)),
        Outcome::Available(_) => Next::After(LOOK_AGAIN),
    })
}

/// Why there can be no image.
fn validate(environment: &Value, has_pull_secret: bool) -> Result<(), String> {
    let spec = &environment["spec"];
    let text = |name: &str| spec[name].as_str().unwrap_or_default();
    if !has_pull_secret {
        let secret = spec["pullSecretRef"]["name"].as_str().unwrap_or_default();
        return Err(format!(
            "the Secret {secret:?} that spec.pullSecretRef names is not in this namespace; make it with the key .dockerconfigjson"
        ));
    }
    let is_set = |name: &str| spec[name].as_array().is_some_and(|list| !list.is_empty());
    if is_set("ntpSources") && is_set("additionalNTPSources") {
        return Err("spec.ntpSources and spec.additionalNTPSources cannot both be set".to_owned());
    }
    if let Some(argument) = spec["kernelArguments"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|argument| argument["operation"].as_str().is_some_and(|operation| operation != "append"))
    {
        return Err(format!(
            "spec.kernelArguments: the operation {} is not possible, only append is",
            argument["operation"]
        ));
    }
    if !text("ignitionConfigOverride").trim().is_empty()
        && let Err(error) = roost_ignition::Config::parse(text("ignitionConfigOverride").as_bytes())
    {
        return Err(format!("spec.ignitionConfigOverride: {error}"));
    }
    if text("additionalTrustBundle").len() > MAX_TRUST_BUNDLE {
        return Err(format!("spec.additionalTrustBundle is longer than {MAX_TRUST_BUNDLE} bytes"));
    }
    Ok(())
}

/// What fits beside the rest of a discovery configuration. Upstream's value.
const MAX_TRUST_BUNDLE: usize = 64 << 10;

/// Lets an InfraEnv go once no host of it belongs to a cluster.
async fn release<R: Runtime>(context: &Arc<Context<R>>, environment: &Value) -> Result<Next, ReconcileError> {
    if !has_finalizer(environment, finalizer::INFRA_ENV) {
        return Ok(Next::Settled);
    }
    let objects = &context.objects;
    let reference = Reference::of(environment);
    let selector = format!("{}={}", label::INFRA_ENV, reference.name);
    let agents = objects.list_labelled(Kind::Agent, &reference.namespace, &selector).await?;
    let bound = |agent: &&Value| agent["spec"]["clusterDeploymentName"]["name"].is_string();
    let held: Vec<&str> =
        agents.iter().filter(bound).filter_map(|agent| agent["metadata"]["name"].as_str()).take(5).collect();
    if !held.is_empty() {
        let status = status::waiting(environment, &held, Timestamp::now());
        if status != environment["status"] {
            objects.set_status(&reference, &status).await?;
        }
        return Ok(Next::After(WAIT));
    }
    for agent in agents.iter().filter(|agent| !is_deleting(agent)) {
        objects.delete(&Reference::of(agent)).await?;
    }
    context.discovery.environments.remove(&reference.namespace, &reference.name);
    Ok(Next::after_release(objects.release(environment, finalizer::INFRA_ENV).await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_infra_env_that_cannot_be_says_why() {
        let environment = |spec: Value| json!({"metadata": {"name": "e"}, "spec": spec});
        let good = environment(json!({"pullSecretRef": {"name": "p"}, "ignitionConfigOverride":
            "{\"ignition\":{\"version\":\"3.1.0\"}}"}));
        assert_eq!(validate(&good, true), Ok(()));
        assert!(validate(&good, false).is_err_and(|problem| problem.contains("\"p\"")));
        for (spec, word) in [
            (json!({"ntpSources": ["a"], "additionalNTPSources": ["b"]}), "ntpSources"),
            (json!({"kernelArguments": [{"operation": "delete", "value": "quiet"}]}), "append"),
            (json!({"ignitionConfigOverride": "{"}), "ignitionConfigOverride"),
            (json!({"additionalTrustBundle": "x".repeat(MAX_TRUST_BUNDLE + 1)}), "additionalTrustBundle"),
        ] {
            assert!(validate(&environment(spec), true).is_err_and(|problem| problem.contains(word)), "{word}");
        }
    }
}
