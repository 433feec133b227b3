//! How much a pod takes of a node.

use std::collections::BTreeMap;

use roost_object::Quantity;
use serde_json::Value;

use super::{Pod, PodSpec};

/// What a container that says nothing is taken to need, in thousandths of a core.
const UNSAID_MILLI_CPU: i64 = 100;
/// What a container that says nothing is taken to need, in bytes.
const UNSAID_MEMORY: i64 = 200 * 1024 * 1024;

/// Amounts of resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Thousandths of a core.
    pub milli_cpu: i64,
    /// Bytes of memory.
    pub memory: i64,
    /// Bytes of the node's own storage.
    pub ephemeral_storage: i64,
    /// Everything else, by name.
    pub others: BTreeMap<String, i64>,
}

impl Resources {
    /// Reads amounts.
    pub fn read(amounts: &BTreeMap<String, Value>) -> Resources {
        let mut resources = Resources::default();
        for (name, value) in amounts {
            let Ok(quantity) = Quantity::from_value(value) else { continue };
            match name.as_str() {
                "cpu" => resources.milli_cpu = quantity.milli_value(),
                "memory" => resources.memory = quantity.value(),
                "ephemeral-storage" => resources.ephemeral_storage = quantity.value(),
                "pods" => {}
                _ => {
                    resources.others.insert(name.clone(), quantity.value());
                }
            }
        }
        resources
    }

    /// Adds other amounts.
    pub fn add(&mut self, other: &Resources) {
        self.milli_cpu += other.milli_cpu;
        self.memory += other.memory;
        self.ephemeral_storage += other.ephemeral_storage;
        for (name, amount) in &other.others {
            *self.others.entry(name.clone()).or_default() += amount;
        }
    }

    /// Takes other amounts away.
    pub fn subtract(&mut self, other: &Resources) {
        self.milli_cpu -= other.milli_cpu;
        self.memory -= other.memory;
        self.ephemeral_storage -= other.ephemeral_storage;
        for (name, amount) in &other.others {
            *self.others.entry(name.clone()).or_default() -= amount;
        }
    }

    /// Takes the larger amount of each.
    fn raise_to(&mut self, other: &Resources) {
        self.milli_cpu = self.milli_cpu.max(other.milli_cpu);
        self.memory = self.memory.max(other.memory);
        self.ephemeral_storage = self.ephemeral_storage.max(other.ephemeral_storage);
        for (name, amount) in &other.others {
            let own = self.others.entry(name.clone()).or_default();
            *own = (*own).max(*amount);
        }
    }

    /// Whether nothing is asked for.
    pub fn is_nothing(&self) -> bool {
        self.milli_cpu == 0 && self.memory == 0 && self.ephemeral_storage == 0 && self.others.is_empty()
    }
}

/// Adds up containers: those that run together are added, those that run one after the other need the most of any.
fn of_spec(spec: &PodSpec, of_container: impl Fn(&BTreeMap<String, Value>) -> Resources) -> Resources {
    let mut together = Resources::default();
    for container in &spec.containers {
        together.add(&of_container(&container.resources.requests));
    }
    let (mut beside, mut before) = (Resources::default(), Resources::default());
    for container in &spec.init_containers {
        let mut own = of_container(&container.resources.requests);
        if container.restart_policy == "Always" {
            together.add(&own);
            beside.add(&own);
            own = beside.clone();
        } else {
            own.add(&beside);
        }
        before.raise_to(&own);
    }
    together.raise_to(&before);
    if let Some(whole) = &spec.resources {
        let whole = Resources::read(&whole.requests);
        for (own, said) in [(&mut together.milli_cpu, whole.milli_cpu), (&mut together.memory, whole.memory)] {
            if said > 0 {
                *own = said;
            }
        }
    }
    together.add(&Resources::read(&spec.overhead));
    together
}

impl Pod {
    /// What the pod takes of its node.
    pub fn requests(&self) -> Resources {
        of_spec(&self.spec, Resources::read)
    }

    /// What the pod is taken to need when nodes are compared: a container that says nothing still needs something.
    pub fn likely_requests(&self) -> (i64, i64) {
        let sum = of_spec(&self.spec, |requests| {
            let mut resources = Resources::read(requests);
            if !requests.contains_key("cpu") {
                resources.milli_cpu = UNSAID_MILLI_CPU;
            }
            if !requests.contains_key("memory") {
                resources.memory = UNSAID_MEMORY;
            }
            resources
        });
        (sum.milli_cpu, sum.memory)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn containers_before_the_others_count_only_when_they_need_more() {
        let pod: Pod = serde_json::from_value(json!({"spec": {
            "containers": [
                {"resources": {"requests": {"cpu": "100m", "memory": "1Gi"}}},
                {"resources": {"requests": {"cpu": "200m"}}},
            ],
            "initContainers": [
                {"restartPolicy": "Always", "resources": {"requests": {"cpu": "50m"}}},
                {"resources": {"requests": {"cpu": "1", "memory": "1Mi"}}},
            ],
            "overhead": {"memory": "1Ki"},
        }}))
        .expect("a pod");
        let requests = pod.requests();
        assert_eq!((requests.milli_cpu, requests.memory), (1050, (1 << 30) + 1024));
        assert_eq!(Pod::default().requests(), Resources::default());
        let one: Pod = serde_json::from_value(json!({"spec": {"containers": [{"name": "a"}]}})).expect("a pod");
        assert_eq!(one.likely_requests(), (100, 200 << 20));
    }
}
