//! `PodSecurity`: the Pod Security Standards, by level and version, as a namespace's labels ask for them.

mod baseline;
mod capabilities;
mod evaluate;
mod host;
mod policy;
mod profiles;
mod restricted;
mod user;

use roost_object::Value;

pub use evaluate::{Verdict, evaluate, existing_pods};
pub use policy::{Level, LevelVersion, Policy, Version};

/// A pod, or the template of one.
#[derive(Clone, Copy)]
pub struct Pod<'a> {
    /// Its metadata, for the annotations of old.
    pub metadata: &'a Value,
    /// Its spec.
    pub spec: &'a Value,
}

/// What a check has against a pod.
#[derive(Debug, PartialEq, Eq)]
struct Violation {
    reason: &'static str,
    detail: String,
}

impl<'a> Pod<'a> {
    /// The pod itself.
    pub fn of(pod: &'a Value) -> Self {
        Self { metadata: &pod["metadata"], spec: &pod["spec"] }
    }

    /// The pod that an object of a workload kind will make; none where it has no template.
    pub fn of_workload(plural: &str, object: &'a Value) -> Option<Self> {
        let template = match plural {
            "podtemplates" => &object["template"],
            "cronjobs" => &object["spec"]["jobTemplate"]["spec"]["template"],
            _ => &object["spec"]["template"],
        };
        (template.is_object() || plural != "replicationcontrollers").then(|| Self::of(template))
    }

    /// Init containers, containers, ephemeral containers.
    fn containers(self) -> impl Iterator<Item = &'a Value> {
        ["initContainers", "containers", "ephemeralContainers"]
            .into_iter()
            .flat_map(move |list| self.spec[list].as_array().into_iter().flatten())
    }

    fn volumes(self) -> impl Iterator<Item = &'a Value> {
        self.spec["volumes"].as_array().into_iter().flatten()
    }

    fn is_windows(self) -> bool {
        self.spec["os"]["name"] == "windows"
    }

    /// Whether root in the pod is not root on the host.
    fn has_user_namespace(self) -> bool {
        self.spec["hostUsers"] == false
    }
}

/// Whether an update changes something that the standards look at.
pub fn is_significant_update(pod: &Value, old: &Value) -> bool {
    let list = |pod: &'_ Value, name: &str| pod["spec"][name].as_array().cloned().unwrap_or_default();
    for name in ["containers", "initContainers"] {
        let (new, old) = (list(pod, name), list(old, name));
        if new.len() != old.len() || new.iter().zip(&old).any(|(new, old)| new["image"] != old["image"]) {
            return true;
        }
    }
    let before = list(old, "ephemeralContainers");
    list(pod, "ephemeralContainers").iter().any(|container| {
        before.iter().find(|old| old["name"] == container["name"]).is_none_or(|old| old["image"] != container["image"])
    })
}

fn name(value: &Value) -> &str {
    value["name"].as_str().unwrap_or_default()
}

/// `container "a"` or `containers "a", "b"`.
fn containers(names: &[&str]) -> String {
    format!("{} {}", plural("container", "containers", names.len()), quoted(names))
}

/// The pod, its containers, or both, that set something.
fn setters(pod: bool, names: &[&str]) -> Option<String> {
    match (pod, names.is_empty()) {
        (false, true) => None,
        (true, true) => Some("pod".to_owned()),
        (false, false) => Some(containers(names)),
        (true, false) => Some(format!("pod and {}", containers(names))),
    }
}

fn plural(one: &'static str, many: &'static str, count: usize) -> &'static str {
    if count == 1 { one } else { many }
}

fn quoted<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| format!("\"{}\"", item.as_ref())).collect();
    items.join(", ")
}
