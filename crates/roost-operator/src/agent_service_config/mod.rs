//! AgentServiceConfig: what users of upstream's operator configure, as far as it means something here.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use roost_api::agent_install::AGENT_SERVICE_CONFIG_NAME;
use roost_api::agent_install::condition::agent_service_config::{DEPLOYMENTS_HEALTHY, RECONCILE_COMPLETED, reason};
use roost_api::agent_install::names::annotation as names;
use roost_host::validation::checks;
use roost_runtime::Runtime;
use serde_json::json;

use crate::condition::{self, Condition, Truth};
use crate::context::{Context, Next, ReconcileError};
use crate::event::{self, Tone};
use crate::images;
use crate::install::NAMESPACE;
use crate::object::{Kind, Reference, annotation};

/// The waivers in upstream's ConfigMap.
const DISABLED_VALIDATIONS: &str = "DISABLED_HOST_VALIDATIONS";
/// How soon a configuration that names what is not there is looked at again.
const WAIT: Duration = Duration::from_secs(15);

/// Takes over one AgentServiceConfig.
pub(crate) async fn reconcile<R: Runtime>(
    context: &Arc<Context<R>>,
    _: &str,
    name: &str,
) -> Result<Next, ReconcileError> {
    let objects = &context.objects;
    let found = objects.find(Kind::AgentServiceConfig, "", name).await?;
    let Some(config) = found else {
        if name == AGENT_SERVICE_CONFIG_NAME {
            context.discovery.configure(std::collections::BTreeSet::new(), Vec::new());
        }
        return Ok(Next::Settled);
    };
    let reference = Reference::new(Kind::AgentServiceConfig, "", name);
    if name != AGENT_SERVICE_CONFIG_NAME {
        let uid = config["metadata"]["uid"].as_str().unwrap_or_default();
        let message = format!("only the AgentServiceConfig named {AGENT_SERVICE_CONFIG_NAME} is used");
        event::record(objects, &reference, uid, Tone::Warning, "AgentServiceConfigNameInvalid", &message).await;
        return Ok(Next::Settled);
    }
    let map = annotation(&config, names::SERVICE_CONFIG_MAP);
    let settings = if map.is_empty() { None } else { objects.find(Kind::ConfigMap, NAMESPACE, map).await? };
    let problem = (!map.is_empty() && settings.is_none()).then(|| {
        format!("the ConfigMap {map} that an annotation names is not in the namespace {NAMESPACE}; make it there")
    });
    let disabled = settings.as_ref().and_then(|settings| settings["data"][DISABLED_VALIDATIONS].as_str());
    context.discovery.configure(checks(disabled.unwrap_or_default()), images::configured(&config));
    let mut status = if config["status"].is_object() { config["status"].clone() } else { json!({}) };
    let conditions = conditions(problem.as_deref());
    status["conditions"] = condition::merge_plain(&config["status"]["conditions"], Timestamp::now(), &conditions);
    if status != config["status"] {
        objects.set_status(&reference, &status).await?;
    }
    Ok(if problem.is_some() { Next::After(WAIT) } else { Next::Settled })
}

fn conditions(problem: Option<&str>) -> [Condition; 2] {
    let completed = match problem {
        Some(problem) => Condition::bad(RECONCILE_COMPLETED, reason::CONFIG_FAILURE, problem),
        None => Condition::new(
            RECONCILE_COMPLETED,
            Truth::True,
            reason::RECONCILE_SUCCEEDED,
            "AgentServiceConfig reconcile completed without error.",
        ),
    };
    let healthy = Condition::new(
        DEPLOYMENTS_HEALTHY,
        Truth::True,
        reason::DEPLOYMENT_SUCCEEDED,
        "The discovery service runs inside the operator; storage, ingress and database settings have no meaning here.",
    );
    [completed, healthy]
}
