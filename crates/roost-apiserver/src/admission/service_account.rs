//! `ServiceAccount`: every pod runs as an account and carries a short-lived token for it.

use std::time::{Duration, Instant};

use roost_object::{Status, Value};
use serde_json::json;

use super::pod_defaults::list_at;
use super::{Attributes, Verb};

/// Where the token is mounted.
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";
const LIMIT_ANNOTATION: &str = "kubernetes.io/enforce-mountable-secrets";
/// How long a mounted token lives: an hour and a little, as on stock; kubelets renew it in time.
const TOKEN_SECONDS: i64 = 3607;
/// How long a pod waits for the account that every namespace gets a moment after it is made.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Gives a new pod its account, the account's token, and its secrets for images.
pub(super) async fn complete(attributes: &Attributes<'_>, pod: &mut Value) -> Result<(), Status> {
    if attributes.verb != Verb::Create || !attributes.is("", "pods") {
        return Ok(());
    }
    if is_mirror(pod) {
        return check_mirror(attributes, pod);
    }
    let name = match account_name(pod) {
        "" => "default".to_owned(),
        name => name.to_owned(),
    };
    pod["spec"]["serviceAccountName"] = name.as_str().into();
    pod["spec"]["serviceAccount"] = name.as_str().into();
    let account = find(attributes, pod, &name).await?;
    if mounts_token(pod, &account) {
        mount_token(pod);
    }
    let own = pod["spec"]["imagePullSecrets"].as_array().is_some_and(|list| !list.is_empty());
    if let (false, Some(inherited)) = (own, account["imagePullSecrets"].as_array().filter(|list| !list.is_empty())) {
        pod["spec"]["imagePullSecrets"] = inherited.clone().into();
    }
    limit_secrets(attributes, pod, &account)
}

/// What a mutation after [`complete`] may have undone.
pub(super) async fn check(attributes: &Attributes<'_>, pod: &Value) -> Result<(), Status> {
    let target = &attributes.target;
    if !target.resource.is("", "pods") {
        return Ok(());
    }
    let ephemeral = match (attributes.verb, target.subresource) {
        (Verb::Create, "") => false,
        (Verb::Update, "ephemeralcontainers") => true,
        _ => return Ok(()),
    };
    if !ephemeral && is_mirror(pod) {
        return check_mirror(attributes, pod);
    }
    let name = account_name(pod);
    if name.is_empty() {
        let pod_name = crate::write::metadata_text(pod, "name");
        let why = format!("no service account specified for pod {}/{pod_name}", target.namespace);
        return Err(attributes.forbidden(pod, &why));
    }
    let account = find(attributes, pod, name).await?;
    if ephemeral && limits_secrets(&account) {
        let allowed = names(&account["secrets"]);
        let used = container_secrets(&pod["spec"]["ephemeralContainers"], "ephemeral container", &allowed, &account);
        return used.map_or(Ok(()), |why| Err(Status::failure(500, "", why)));
    }
    if ephemeral { Ok(()) } else { limit_secrets(attributes, pod, &account) }
}

fn account_name(pod: &Value) -> &str {
    pod["spec"]["serviceAccountName"].as_str().unwrap_or_default()
}

fn is_mirror(pod: &Value) -> bool {
    pod["metadata"]["annotations"].get(MIRROR_ANNOTATION).is_some()
}

async fn find(attributes: &Attributes<'_>, pod: &Value, name: &str) -> Result<Value, Status> {
    let target = &attributes.target;
    let cluster = &target.call.cluster;
    let look = || cluster.find("", "serviceaccounts", target.namespace, name);
    if let Some(account) = look() {
        return Ok(account);
    }
    let start = Instant::now();
    while name == "default" && start.elapsed() < PATIENCE {
        tokio::time::sleep(PATIENCE / 60).await;
        if let Some(account) = look() {
            return Ok(account);
        }
    }
    let quoted = roost_object::field::quote(name);
    let problems = roost_object::names::is_path_segment(name);
    let why = if problems.is_empty() {
        format!("serviceaccount {quoted} not found")
    } else {
        format!("invalid resource name {quoted}: [{}]", problems.join(" "))
    };
    let why = format!("error looking up service account {}/{name}: {why}", target.namespace);
    Err(attributes.forbidden(pod, &why))
}

/// Mirror pods stand for what a node runs anyway, so they may not ask for anything of the cluster.
fn check_mirror(attributes: &Attributes<'_>, pod: &Value) -> Result<(), Status> {
    if !account_name(pod).is_empty() {
        return Err(attributes.forbidden(pod, "a mirror pod may not reference service accounts"));
    }
    if names_secret(pod) {
        return Err(attributes.forbidden(pod, "a mirror pod may not reference secrets"));
    }
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    let mut sources = volumes.flat_map(|volume| volume["projected"]["sources"].as_array().into_iter().flatten());
    if sources.any(|source| source["serviceAccountToken"].is_object()) {
        let why = "a mirror pod may not use ServiceAccountToken volume projections";
        return Err(attributes.forbidden(pod, why));
    }
    Ok(())
}

/// Whether any part of a pod refers to a Secret.
fn names_secret(pod: &Value) -> bool {
    let spec = &pod["spec"];
    let list = |holder: &'_ Value, field: &str| holder[field].as_array().cloned().unwrap_or_default();
    let named = |reference: &Value| reference["name"].as_str().is_some_and(|name| !name.is_empty());
    let by_container = ["initContainers", "containers", "ephemeralContainers"].iter().any(|containers| {
        list(spec, containers).iter().any(|container| {
            list(container, "envFrom").iter().any(|source| named(&source["secretRef"]))
                || list(container, "env").iter().any(|variable| named(&variable["valueFrom"]["secretKeyRef"]))
        })
    });
    let by_volume = list(spec, "volumes").iter().any(|volume| {
        let drivers = ["azureFile", "flexVolume", "cephfs", "cinder", "iscsi", "rbd", "scaleIO", "storageos", "csi"];
        let text = |field: &str, key: &str| volume[field][key].as_str().is_some_and(|name| !name.is_empty());
        text("secret", "secretName")
            || text("azureFile", "secretName")
            || drivers
                .iter()
                .any(|driver| named(&volume[*driver]["secretRef"]) || named(&volume[*driver]["nodePublishSecretRef"]))
            || list(&volume["projected"], "sources").iter().any(|source| named(&source["secret"]))
    });
    list(spec, "imagePullSecrets").iter().any(named) || by_container || by_volume
}

/// Whether the account only lets its pods use Secrets that it lists.
fn limits_secrets(account: &Value) -> bool {
    let value = account["metadata"]["annotations"][LIMIT_ANNOTATION].as_str().unwrap_or_default();
    matches!(value, "1" | "t" | "T" | "true" | "TRUE" | "True")
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(|entry| entry["name"].as_str()).collect()
}

fn limit_secrets(attributes: &Attributes<'_>, pod: &Value, account: &Value) -> Result<(), Status> {
    if !limits_secrets(account) {
        return Ok(());
    }
    let spec = &pod["spec"];
    let owner = crate::write::metadata_text(account, "name");
    let allowed = names(&account["secrets"]);
    let volumes = spec["volumes"].as_array().into_iter().flatten();
    let by_volume = volumes.filter_map(|volume| volume["secret"]["secretName"].as_str()).find_map(|secret| {
        (!allowed.contains(&secret)).then(|| {
            format!(
                "volume with secret.secretName=\"{secret}\" is not allowed because service account {owner} does not reference that secret"
            )
        })
    });
    let pull = names(&account["imagePullSecrets"]);
    let by_image = || {
        let secrets = spec["imagePullSecrets"].as_array().into_iter().flatten();
        secrets.enumerate().find_map(|(index, secret)| {
            let name = secret["name"].as_str().unwrap_or_default();
            (!pull.contains(&name)).then(|| {
                format!(
                    "imagePullSecrets[{index}].name=\"{name}\" is not allowed because service account {owner} does not reference that imagePullSecret"
                )
            })
        })
    };
    let why = by_volume
        .or_else(|| container_secrets(&spec["initContainers"], "init container", &allowed, account))
        .or_else(|| container_secrets(&spec["containers"], "container", &allowed, account))
        .or_else(by_image);
    why.map_or(Ok(()), |why| Err(attributes.forbidden(pod, &why)))
}

/// The first use of a Secret in an environment that the account does not list.
fn container_secrets(containers: &Value, words: &str, allowed: &[&str], account: &Value) -> Option<String> {
    let owner = crate::write::metadata_text(account, "name");
    let refuse = |container: &Value, place: String, secret: &str| {
        let name = container["name"].as_str().unwrap_or_default();
        format!(
            "{words} {name} with {place} referencing secret.secretName=\"{secret}\" is not allowed because service account {owner} does not reference that secret"
        )
    };
    containers.as_array().into_iter().flatten().find_map(|container| {
        let variables = container["env"].as_array().into_iter().flatten();
        let by_variable = variables.filter_map(|variable| {
            let secret = variable["valueFrom"]["secretKeyRef"]["name"].as_str()?;
            Some((format!("envVar {}", variable["name"].as_str().unwrap_or_default()), secret))
        });
        let sources = container["envFrom"].as_array().into_iter().flatten();
        let by_source =
            sources.filter_map(|source| Some(("envFrom".to_owned(), source["secretRef"]["name"].as_str()?)));
        by_variable
            .chain(by_source)
            .find(|(_, secret)| !allowed.contains(secret))
            .map(|(place, secret)| refuse(container, place, secret))
    })
}

fn mounts_token(pod: &Value, account: &Value) -> bool {
    pod["spec"]["automountServiceAccountToken"]
        .as_bool()
        .or_else(|| account["automountServiceAccountToken"].as_bool())
        .unwrap_or(true)
}

/// Adds the volume with token, CA and namespace, and mounts it where nothing else is mounted.
fn mount_token(pod: &mut Value) {
    let existing = pod["spec"]["volumes"].as_array().into_iter().flatten().find_map(|volume| {
        volume["name"].as_str().filter(|name| name.starts_with("kube-api-access-")).map(str::to_owned)
    });
    let volume = existing.clone().unwrap_or_else(|| format!("kube-api-access-{}", crate::write::random_suffix()));
    let mut needed = false;
    for list in ["initContainers", "containers"] {
        let containers = pod["spec"].get_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let mounts = list_at(container, "volumeMounts");
            if !mounts.iter().any(|mount| mount["mountPath"] == MOUNT_PATH) {
                mounts.push(json!({"name": volume, "readOnly": true, "mountPath": MOUNT_PATH}));
                needed = true;
            }
        }
    }
    if !needed || existing.is_some() {
        return;
    }
    list_at(&mut pod["spec"], "volumes").push(json!({"name": volume, "projected": {"defaultMode": 420, "sources": [
        {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
    ]}}));
}
