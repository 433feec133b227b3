//! `hcp create kubeconfig`: the one of a cluster as it is, or all of them in one file.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::config::Kubeconfig;
use roost_object::yaml;
use serde_json::{Value, json};

use crate::arguments::CreateKubeconfig;
use crate::conditions::condition;
use crate::plane::{HOSTED_CLUSTERS, Plane, SECRETS};

use super::error::CommandError;

pub(super) async fn run(arguments: &CreateKubeconfig) -> Result<(), CommandError> {
    let plane = Plane::connect(arguments.plane.kubeconfig.as_deref()).await?;
    if arguments.port_forward {
        eprintln!(
            "note: --port-forward does nothing here: the kubeconfig names the address where the API is published, and nothing needs to be forwarded to reach it"
        );
    }
    let text = match arguments.name.as_deref().filter(|name| !name.is_empty()) {
        Some(name) => {
            let namespace = &arguments.plane.namespace;
            let name = super::change::checked_name(name)?;
            let cluster = plane.require(&HOSTED_CLUSTERS, namespace, name).await?;
            kubeconfig_of(&plane, &cluster).await?
        }
        None => all(&plane).await?.into_bytes(),
    };
    Ok(std::io::stdout().lock().write_all(&text)?)
}

fn names(cluster: &Value) -> (&str, &str) {
    let text = |field: &str| cluster["metadata"][field].as_str().unwrap_or_default();
    (text("namespace"), text("name"))
}

/// The kubeconfig of a cluster.
pub(crate) async fn kubeconfig_of(plane: &Plane, cluster: &Value) -> Result<Vec<u8>, CommandError> {
    let (namespace, name) = names(cluster);
    let missing =
        |cause: String| CommandError::NoKubeconfig { namespace: namespace.to_owned(), name: name.to_owned(), cause };
    let Some(secret) = cluster["status"]["kubeconfig"]["name"].as_str().filter(|name| !name.is_empty()) else {
        let cause = condition(cluster, "Available").map(|found| found.message).filter(|message| !message.is_empty());
        return Err(missing(cause.unwrap_or("its control plane has just begun to start").to_owned()));
    };
    let found = plane.get(&SECRETS, namespace, secret).await?;
    let encoded = found.as_ref().and_then(|secret| secret["data"]["kubeconfig"].as_str());
    let encoded = encoded.ok_or_else(|| missing(format!("the Secret {secret} is missing")))?;
    STANDARD.decode(encoded).map_err(|_| CommandError::BadKubeconfig(format!("{namespace}/{name}")))
}

/// The API of a cluster.
pub(super) async fn guest_of(plane: &Plane, cluster: &Value) -> Result<Plane, CommandError> {
    let (namespace, name) = names(cluster);
    let unreadable = || CommandError::BadKubeconfig(format!("{namespace}/{name}"));
    let bytes = kubeconfig_of(plane, cluster).await?;
    let kubeconfig = Kubeconfig::from_yaml(&String::from_utf8_lossy(&bytes)).map_err(|_| unreadable())?;
    Plane::of_cluster(kubeconfig).await.ok_or_else(unreadable)
}

/// All kubeconfigs in one; a cluster without one is said and left out.
async fn all(plane: &Plane) -> Result<String, CommandError> {
    let clusters = plane.list(&HOSTED_CLUSTERS, "", "").await?;
    let mut merged = Merged::default();
    for cluster in &clusters {
        let (namespace, name) = names(cluster);
        match kubeconfig_of(plane, cluster).await {
            Ok(bytes) => merged.add(namespace, name, &bytes)?,
            Err(CommandError::Plane(error)) => return Err(error.into()),
            Err(error) => eprintln!("warning: {error}"),
        }
    }
    if merged.contexts.is_empty() { Err(CommandError::NoKubeconfigs) } else { Ok(merged.to_yaml()) }
}

/// Kubeconfigs of several clusters, with names that tell them apart.
#[derive(Default)]
struct Merged {
    clusters: Vec<Value>,
    contexts: Vec<Value>,
    users: Vec<Value>,
}

impl Merged {
    fn add(&mut self, namespace: &str, name: &str, bytes: &[u8]) -> Result<(), CommandError> {
        let unreadable = || CommandError::BadKubeconfig(format!("{namespace}/{name}"));
        let document = yaml::read(bytes).map_err(|_| unreadable())?.value;
        let list = |field: &str| document[field].as_array().map(Vec::as_slice).unwrap_or_default();
        let named = |field: &str, name: &Value| list(field).iter().find(|entry| entry["name"] == *name);
        let context = named("contexts", &document["current-context"]).or(list("contexts").first());
        let context = context.ok_or_else(unreadable)?;
        let cluster = named("clusters", &context["context"]["cluster"]).ok_or_else(unreadable)?;
        let user = named("users", &context["context"]["user"]).ok_or_else(unreadable)?;
        let (context_name, user_name) = (format!("{namespace}-{name}"), format!("{namespace}-{name}-admin"));
        self.clusters.push(json!({"cluster": cluster["cluster"], "name": context_name}));
        self.users.push(json!({"name": user_name, "user": user["user"]}));
        let context = json!({"cluster": context_name, "namespace": "default", "user": user_name});
        self.contexts.push(json!({"context": context, "name": context_name}));
        Ok(())
    }

    fn to_yaml(&self) -> String {
        yaml::write(&json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": self.clusters,
            "contexts": self.contexts,
            "current-context": self.contexts.first().map(|context| &context["name"]),
            "preferences": {},
            "users": self.users,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::Merged;

    #[test]
    fn kubeconfigs_are_merged_under_names_of_their_own() {
        let one = b"apiVersion: v1\nkind: Config\ncurrent-context: admin\n\
            clusters: [{name: cluster, cluster: {server: 'https://a:1'}}]\n\
            contexts: [{name: admin, context: {cluster: cluster, user: admin}}]\n\
            users: [{name: admin, user: {token: x}}]\n";
        let mut merged = Merged::default();
        merged.add("clusters", "a", one).unwrap();
        merged.add("clusters", "b", one).unwrap();
        let text = merged.to_yaml();
        assert!(text.contains("current-context: clusters-a\n"), "{text}");
        assert!(text.contains("  name: clusters-b\n"), "{text}");
        assert!(text.contains("- name: clusters-b-admin\n  user:\n    token: x\n"), "{text}");
        assert!(merged.add("clusters", "c", b"nonsense").is_err());
    }
}
