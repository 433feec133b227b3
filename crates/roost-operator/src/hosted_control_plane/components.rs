//! The parts of a control plane, as `ControlPlaneComponent` objects tell of them.

use jiff::Timestamp;
use roost_runtime::{Component, Health};
use serde_json::{Value, json};

use crate::condition::{self, Condition};
use crate::names::CLUSTER;
use crate::object::{Kind, ObjectError, Objects, Reference};

/// Makes the components' objects say how they are.
pub(crate) async fn report(
    objects: &Objects,
    plane: &Value,
    live: &[Value],
    components: &[Component],
    health: &Health,
    version: &str,
    now: Timestamp,
) -> Result<(), ObjectError> {
    for component in components {
        let found = live.iter().find(|object| object["metadata"]["name"] == component.name);
        let object = match found {
            Some(object) => object.clone(),
            None => objects.apply(&document(plane, component)).await?,
        };
        let status = status(&object, component, health, version, now);
        if status != object["status"] {
            objects.set_status(&Reference::of(&object), &status).await?;
        }
    }
    Ok(())
}

fn document(plane: &Value, component: &Component) -> Value {
    json!({
        "apiVersion": Kind::ControlPlaneComponent.api_version(), "kind": Kind::ControlPlaneComponent.name(),
        "metadata": {
            "name": component.name,
            "namespace": plane["metadata"]["namespace"],
            "annotations": {(CLUSTER): plane["metadata"]["annotations"][CLUSTER]},
        },
        "spec": {},
    })
}

fn status(object: &Value, component: &Component, health: &Health, version: &str, now: Timestamp) -> Value {
    let (available, rolled_out) = match health {
        Health::Ready => (
            Condition::good("Available", format!("{} is available: {}", component.name, component.role)),
            Condition::good("RolloutComplete", "the wanted version runs"),
        ),
        Health::Parked => (
            Condition::good("Available", format!("{} sleeps and wakes at the first request", component.name)),
            Condition::good("RolloutComplete", "the wanted version runs when it wakes"),
        ),
        Health::Failing(problem) => (
            Condition::bad("Available", "Failing", problem.clone()),
            Condition::bad("RolloutComplete", "WaitingForAvailable", problem.clone()),
        ),
        Health::Absent => {
            let waiting = if component.needs.is_empty() {
                "it is being started".to_owned()
            } else {
                format!("it starts after {}", component.needs.join(", "))
            };
            (
                Condition::bad("Available", "NotFound", waiting.clone()),
                Condition::bad("RolloutComplete", "WaitingForDependencies", waiting),
            )
        }
    };
    let generation = object["metadata"]["generation"].as_i64().unwrap_or_default();
    let conditions = condition::merge(&object["status"]["conditions"], now, generation, &[available, rolled_out]);
    json!({"conditions": conditions, "version": version})
}
