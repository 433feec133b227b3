//! InfraEnv: where the image is that its hosts boot, and until when the links to it are good.

mod links;
pub(crate) mod network;
mod status;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use roost_api::agent_install::names::{finalizer, label};
use roost_image_server::Contents;
use roost_runtime::Runtime;
use serde_json::{Value, json};

use links::Image;
pub(crate) use links::{architecture, image_type, is_boot_order_controlled, kernel_arguments, revision};

use crate::context::{Context, Next, ReconcileError, words};
use crate::discovery::{Discovery, Published, TOKEN_ROTATION, files};
use crate::images::{Endpoints, image_spec};
use crate::object::{Kind, Reference, has_finalizer, is_deleting, with_finalizer};
use network::Networks;
use status::{Outcome, Reachable};

/// How soon an InfraEnv that waits for something is looked at again.
const WAIT: Duration = Duration::from_secs(2);
/// How soon an InfraEnv without an image is looked at again.
const MISSING: Duration = Duration::from_secs(5);
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
            context.image_listener.close(discovery).await?;
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
    let endpoints = context.image_listener.ensure(discovery, context.front, now).await?;
    let (Some(published), Some(endpoints)) = (published, endpoints) else { return Ok(Next::After(WAIT)) };
    let secret = environment["spec"]["pullSecretRef"]["name"].as_str().unwrap_or_default();
    let has_pull_secret = objects.find(Kind::Secret, namespace, secret).await?.is_some();
    let networks = network::read(objects, &environment).await?;
    let revision = networks.as_ref().map(Networks::revision).unwrap_or_default();
    let token = token(&environment, &revision, &published, now);
    let reachable = Reachable { published: &published, token: &token };
    let version = discovery.images.version(&environment);
    let valid = validate(&environment, has_pull_secret).and(networks);
    let outcome = match (valid, version.as_deref()) {
        (Err(problem), _) => Outcome::Refused(problem),
        (Ok(_), None) => Outcome::NoImage(reachable, NO_IMAGES.to_owned()),
        (Ok(networks), Some(version)) => {
            match make_image(discovery, &environment, &networks, &reachable, &endpoints, version, now).await? {
                Ok(contents) => Outcome::Available(reachable, Image { endpoints: &endpoints, version, contents }),
                Err(problem) => Outcome::NoImage(reachable, problem),
            }
        }
    };
    let status = status::status(&environment, &outcome, now);
    if status != environment["status"] {
        objects.set_status(&reference, &status).await?;
    }
    Ok(match outcome {
        Outcome::Available(..) => Next::After(LOOK_AGAIN),
        // A download goes on, and a Secret that comes later is seen then.
        Outcome::NoImage(..) | Outcome::Refused(_) => Next::After(MISSING),
    })
}

/// What to do when there is nothing that hosts could boot.
const NO_IMAGES: &str = "there is no live image; build ours with `cargo xtask image` and start hcp with --images DIRECTORY, \
    or name some in spec.osImages of the AgentServiceConfig agent. Running hosts need none: hcp-agent discover shows them";

/// The token that is shown already, while that is good for long enough and of the same image; else another one.
fn token(environment: &Value, networks: &str, published: &Published, now: Timestamp) -> String {
    let revision = revision(environment) + networks;
    let is_good = |token: &&str| {
        published
            .read(token, now)
            .is_some_and(|claims| claims.revision == revision && now.duration_since(claims.issued) < TOKEN_ROTATION)
    };
    let id = environment["metadata"]["uid"].as_str().unwrap_or_default();
    links::shown_token(environment)
        .filter(is_good)
        .map(str::to_owned)
        .or_else(|| published.token(id, &revision, now).map(roost_pki::Secret::into_exposed))
        .unwrap_or_default()
}

/// Says to the server of images what belongs to an InfraEnv; a problem is why there is no image now.
async fn make_image(
    discovery: &Discovery,
    environment: &Value,
    networks: &Networks,
    reachable: &Reachable<'_>,
    endpoints: &Endpoints,
    version: &str,
    now: Timestamp,
) -> Result<Result<Contents, String>, ReconcileError> {
    let Reachable { published, token } = reachable;
    let config = files::discovery_ignition(&discovery.objects, published, environment, token).await;
    let config = config.map_err(|refusal| ReconcileError::Refused(refusal.to_string()))?;
    let created = environment["status"]["createdTime"].as_str().and_then(|time| time.parse().ok());
    let spec = image_spec(environment, version, published, endpoints, token, &config, created.unwrap_or(now));
    let mut spec = spec.map_err(|error| ReconcileError::Refused(error.to_string()))?;
    networks.pack(&mut spec.archive).map_err(|error| ReconcileError::Refused(error.to_string()))?;
    let id = environment["metadata"]["uid"].as_str().unwrap_or_default();
    Ok(discovery.images.images.ensure(id, spec).map_err(|error| words(&error)))
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
    context.discovery.images.images.remove(environment["metadata"]["uid"].as_str().unwrap_or_default());
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
