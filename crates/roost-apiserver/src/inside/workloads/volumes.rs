//! Claims and volumes: what they look at, and what pods mean to them.

use roost_object::{Status, Value};
use roost_workloads::Pod;
use roost_workloads::scheduler::{Found, Volumes};
use roost_workloads::volume::{self, Classes};

use super::Desk;
use crate::write::metadata_text;

/// Says that claims without a class get this one.
const DEFAULT_CLASS: [&str; 2] =
    ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];

impl Desk<'_> {
    /// Takes a claim one step further, or lets it go.
    pub(super) async fn claim(self) -> Result<(), Status> {
        let (namespace, name) = (&self.work.namespace, &self.work.name);
        let Some(claim) = self.cluster.find("", "persistentvolumeclaims", namespace, name) else { return Ok(()) };
        let (mut in_use, mut waiting) = (false, Vec::new());
        self.ask(|index| {
            for pod in index.pods_in(namespace).filter(|pod| wants(pod, name)) {
                in_use |= !pod.spec.node_name.is_empty();
                if pod.spec.node_name.is_empty() && pod.is_active() {
                    waiting.push(pod.metadata.name.clone());
                }
            }
        });
        if let Some(action) = volume::release_claim(&claim, in_use) {
            return self.apply(vec![action]).await;
        }
        let default = self.default_class();
        let own = self.class_of(&claim);
        let classes = Classes { own: own.as_ref(), default: default.as_deref() };
        self.apply(volume::plan_claim(&claim, classes, &self.volumes(), &waiting)).await
    }

    /// Takes a volume one step further, or lets it go.
    pub(super) async fn volume(self) -> Result<(), Status> {
        let Some(volume) = self.cluster.find("", "persistentvolumes", "", &self.work.name) else { return Ok(()) };
        let reference = &volume["spec"]["claimRef"];
        let text = |field: &str| reference[field].as_str().unwrap_or_default();
        let claim = self.cluster.find("", "persistentvolumeclaims", text("namespace"), text("name"));
        let actions = volume::plan_volume(&volume, claim.as_ref().filter(|_| reference.is_object()));
        let release = actions.is_empty().then(|| volume::release_volume(&volume)).flatten();
        self.apply(actions.into_iter().chain(release).collect()).await
    }

    fn volumes(self) -> Vec<Value> {
        self.cluster.find_all("", "persistentvolumes", "")
    }

    fn class_of(self, claim: &Value) -> Option<Value> {
        let name = volume::class_of(claim);
        if name.is_empty() { None } else { self.cluster.find("storage.k8s.io", "storageclasses", "", name) }
    }

    /// The newest class that is for claims without one.
    fn default_class(self) -> Option<String> {
        let classes = self.cluster.find_all("storage.k8s.io", "storageclasses", "");
        let is_default = |class: &&Value| {
            let annotations = &class["metadata"]["annotations"];
            DEFAULT_CLASS.iter().any(|name| annotations.get(name).is_some_and(|value| value == "true"))
        };
        let newest = classes.iter().filter(is_default).max_by_key(|class| {
            (metadata_text(class, "creationTimestamp").to_owned(), std::cmp::Reverse(metadata_text(class, "name")))
        });
        newest.map(|class| metadata_text(class, "name").to_owned())
    }

    /// What the scheduler has to know of a pod's claims; none when it has none.
    pub(super) fn volumes_of(self, pod: &Pod) -> Option<Result<Volumes, String>> {
        let names: Vec<&str> = claims_of(pod).collect();
        if names.is_empty() {
            return None;
        }
        let find = |name: &str| {
            let claim = self.cluster.find("", "persistentvolumeclaims", &pod.metadata.namespace, name);
            let class = claim.as_ref().and_then(|claim| self.class_of(claim));
            Found { name: name.to_owned(), claim, class }
        };
        Some(Volumes::new(names.into_iter().map(find).collect(), self.volumes()))
    }
}

/// The claims that a pod names.
pub(super) fn claims_of(pod: &Pod) -> impl Iterator<Item = &str> {
    pod.spec.volumes.iter().filter_map(|volume| volume.persistent_volume_claim.as_ref()).map(|one| &*one.claim_name)
}

fn wants(pod: &Pod, claim: &str) -> bool {
    claims_of(pod).any(|name| name == claim)
}
