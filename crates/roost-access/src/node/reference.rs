//! What a pod or a volume refers to.

use serde_json::Value;

/// The names of the objects that a pod refers to, all of its own namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodReferences {
    /// The account that it runs as.
    pub service_account: Option<String>,
    /// Secrets in volumes, environments and for pulling images.
    pub secrets: Vec<String>,
    /// Config maps in volumes and environments.
    pub config_maps: Vec<String>,
    /// Claims of volumes, also those made for it.
    pub claims: Vec<String>,
    /// Claims of devices.
    pub resource_claims: Vec<String>,
}

fn items<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    value.get(field).and_then(Value::as_array).into_iter().flatten()
}

fn name_in(value: &Value, path: &[&str]) -> Option<String> {
    let place = path.iter().try_fold(value, |place, field| place.get(field))?;
    place.as_str().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// The volume types whose `secretRef` names a secret: of the pod's namespace in pods, of a given one in volumes.
const SECRET_REFERENCE_VOLUMES: [&str; 7] = ["cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"];

impl PodReferences {
    /// Reads a pod.
    pub fn of(pod: &Value) -> Self {
        let spec = &pod["spec"];
        let mut references = Self { service_account: name_in(spec, &["serviceAccountName"]), ..Self::default() };
        references.secrets.extend(items(spec, "imagePullSecrets").filter_map(|secret| name_in(secret, &["name"])));
        for containers in ["initContainers", "containers", "ephemeralContainers"] {
            items(spec, containers).for_each(|container| references.read_container(container));
        }
        for volume in items(spec, "volumes") {
            references.read_volume(volume, pod["metadata"]["name"].as_str().unwrap_or_default());
        }
        references.read_resource_claims(pod);
        references
    }

    fn read_container(&mut self, container: &Value) {
        for source in items(container, "envFrom") {
            self.secrets.extend(name_in(source, &["secretRef", "name"]));
            self.config_maps.extend(name_in(source, &["configMapRef", "name"]));
        }
        for variable in items(container, "env") {
            self.secrets.extend(name_in(variable, &["valueFrom", "secretKeyRef", "name"]));
            self.config_maps.extend(name_in(variable, &["valueFrom", "configMapKeyRef", "name"]));
        }
    }

    fn read_volume(&mut self, volume: &Value, pod_name: &str) {
        for kind in SECRET_REFERENCE_VOLUMES {
            self.secrets.extend(name_in(volume, &[kind, "secretRef", "name"]));
        }
        self.secrets.extend(name_in(volume, &["azureFile", "secretName"]));
        self.secrets.extend(name_in(volume, &["secret", "secretName"]));
        self.secrets.extend(name_in(volume, &["csi", "nodePublishSecretRef", "name"]));
        self.config_maps.extend(name_in(volume, &["configMap", "name"]));
        if let Some(projected) = volume.get("projected") {
            for source in items(projected, "sources") {
                self.secrets.extend(name_in(source, &["secret", "name"]));
                self.config_maps.extend(name_in(source, &["configMap", "name"]));
            }
        }
        match name_in(volume, &["persistentVolumeClaim", "claimName"]) {
            Some(claim) => self.claims.push(claim),
            None => self.claims.extend(ephemeral_claim(volume, pod_name)),
        }
    }

    fn read_resource_claims(&mut self, pod: &Value) {
        for claim in items(&pod["spec"], "resourceClaims") {
            if let Some(name) = name_in(claim, &["resourceClaimName"]) {
                self.resource_claims.push(name);
            } else if claim.get("resourceClaimTemplateName").is_some_and(Value::is_string) {
                let made = items(&pod["status"], "resourceClaimStatuses").find(|made| made["name"] == claim["name"]);
                self.resource_claims.extend(made.and_then(|made| name_in(made, &["resourceClaimName"])));
            }
        }
        let extended = name_in(&pod["status"], &["extendedResourceClaimStatus", "resourceClaimName"]);
        self.resource_claims.extend(extended);
    }
}

/// The claim that is made for a volume of a pod's own.
pub(super) fn ephemeral_claim(volume: &Value, pod_name: &str) -> Option<String> {
    volume.get("ephemeral").filter(|ephemeral| ephemeral.is_object())?;
    let volume_name = volume["name"].as_str().unwrap_or_default();
    Some(format!("{pod_name}-{volume_name}"))
}

/// The secrets that a kubelet needs for a volume, as namespace and name. The first volume type that is there counts.
pub(super) fn volume_secrets(volume: &Value) -> Vec<(String, String)> {
    let spec = &volume["spec"];
    let claim_namespace = spec["claimRef"]["namespace"].as_str().unwrap_or_default();
    let placed = |namespace: Option<String>, name: Option<String>| {
        name.map(|name| (namespace.unwrap_or_else(|| claim_namespace.to_owned()), name))
    };
    let azure = &spec["azureFile"];
    if azure.is_object() {
        return placed(name_in(azure, &["secretNamespace"]), name_in(azure, &["secretName"])).into_iter().collect();
    }
    let named = |reference: &Value| Some((name_in(reference, &["namespace"])?, name_in(reference, &["name"])?));
    for kind in SECRET_REFERENCE_VOLUMES {
        let reference = &spec[kind]["secretRef"];
        if !spec[kind].is_object() {
            continue;
        }
        // These two never had secrets without a namespace, so there is nothing old to be kind to.
        let secret = if matches!(kind, "cinder" | "storageos") {
            named(reference)
        } else {
            placed(name_in(reference, &["namespace"]), name_in(reference, &["name"]))
        };
        return secret.into_iter().collect();
    }
    ["nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef"]
        .into_iter()
        .filter_map(|field| named(&spec["csi"][field]))
        .collect()
}

/// The first kind of API object that a pod refers to, in the words of a refusal: mirror pods may refer to none.
pub(super) fn api_object_reference(pod: &Value) -> Result<Option<&'static str>, String> {
    const PLAIN: [&str; 22] = [
        "awsElasticBlockStore",
        "azureDisk",
        "cephfs",
        "cinder",
        "downwardAPI",
        "emptyDir",
        "fc",
        "flexVolume",
        "flocker",
        "gcePersistentDisk",
        "gitRepo",
        "hostPath",
        "image",
        "iscsi",
        "nfs",
        "photonPersistentDisk",
        "portworxVolume",
        "quobyte",
        "rbd",
        "scaleIO",
        "storageos",
        "vsphereVolume",
    ];
    const OTHERS: [(&str, &str); 7] = [
        ("configMap", "configmaps (via configmap volumes)"),
        ("secret", "secrets (via secret volumes)"),
        ("csi", "csidrivers (via CSI volumes)"),
        ("glusterfs", "endpoints (via glusterFS volumes)"),
        ("persistentVolumeClaim", "persistentvolumeclaims"),
        ("ephemeral", "persistentvolumeclaims (via ephemeral volumes)"),
        ("azureFile", "secrets (via azureFile volumes)"),
    ];
    const PROJECTED: [(&str, &str); 5] = [
        ("configMap", "configmaps (via projected volumes)"),
        ("secret", "secrets (via projected volumes)"),
        ("serviceAccountToken", "serviceaccounts (via projected volumes)"),
        ("clusterTrustBundle", "clustertrustbundles"),
        ("podCertificate", "podcertificates"),
    ];
    let references = PodReferences::of(pod);
    if references.service_account.is_some() {
        return Ok(Some("serviceaccounts"));
    }
    if !references.secrets.is_empty() {
        return Ok(Some("secrets"));
    }
    if !references.config_maps.is_empty() {
        return Ok(Some("configmaps"));
    }
    if items(&pod["spec"], "resourceClaims").next().is_some() {
        return Ok(Some("resourceclaims"));
    }
    for volume in items(&pod["spec"], "volumes") {
        let has = |field: &str| volume.get(field).is_some_and(|source| !source.is_null());
        let name = volume["name"].as_str().unwrap_or_default();
        if PLAIN.into_iter().any(has) {
            continue;
        }
        if let Some((_, words)) = OTHERS.into_iter().find(|(field, _)| has(field)) {
            return Ok(Some(words));
        }
        if !has("projected") {
            return Err(format!("unknown volume type for volume  {name:?}"));
        }
        for source in items(&volume["projected"], "sources") {
            let has = |field: &str| source.get(field).is_some_and(|source| !source.is_null());
            match PROJECTED.into_iter().find(|(field, _)| has(field)) {
                Some((_, words)) => return Ok(Some(words)),
                None if has("downwardAPI") => {}
                None => return Err(format!("unknown source for projected volume {name:?}")),
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pods_are_read_in_every_corner() {
        let pod = json!({
            "metadata": {"name": "p"},
            "spec": {
                "serviceAccountName": "bot",
                "imagePullSecrets": [{"name": "s0"}, {}],
                "initContainers": [{"envFrom": [{"secretRef": {"name": "s1"}}, {"configMapRef": {"name": "c1"}}]}],
                "containers": [{"env": [{"valueFrom": {"secretKeyRef": {"name": "s2"}}}]}],
                "ephemeralContainers": [{"env": [{"valueFrom": {"configMapKeyRef": {"name": "c2"}}}]}],
                "volumes": [
                    {"name": "a", "secret": {"secretName": "s3"}},
                    {"name": "b", "rbd": {"secretRef": {"name": "s4"}}},
                    {"name": "c", "projected": {"sources": [
                        {"secret": {"name": "s5"}}, {"configMap": {"name": "c3"}}]}},
                    {"name": "d", "configMap": {"name": "c4"}},
                    {"name": "e", "persistentVolumeClaim": {"claimName": "v1"}},
                    {"name": "f", "ephemeral": {"volumeClaimTemplate": {}}},
                    {"name": "g", "csi": {"nodePublishSecretRef": {"name": "s6"}}}],
                "resourceClaims": [
                    {"name": "x", "resourceClaimName": "r1"}, {"name": "y", "resourceClaimTemplateName": "t"},
                    {"name": "z", "resourceClaimTemplateName": "t"}]},
            "status": {"resourceClaimStatuses": [{"name": "y", "resourceClaimName": "r2"}, {"name": "z"}],
                "extendedResourceClaimStatus": {"resourceClaimName": "r3"}}});
        let references = PodReferences::of(&pod);
        assert_eq!(references.service_account.as_deref(), Some("bot"));
        assert_eq!(references.secrets, ["s0", "s1", "s2", "s3", "s4", "s5", "s6"]);
        assert_eq!(references.config_maps, ["c1", "c2", "c3", "c4"]);
        assert_eq!(references.claims, ["v1", "p-f"]);
        assert_eq!(references.resource_claims, ["r1", "r2", "r3"]);
        assert_eq!(PodReferences::of(&json!({})), PodReferences::default());
    }

    #[test]
    fn volumes_name_the_secrets_that_kubelets_need() {
        let volume = |source: Value| {
            let mut spec = source;
            spec["claimRef"] = json!({"namespace": "a", "name": "c"});
            volume_secrets(&json!({"spec": spec}))
        };
        let pair = |namespace: &str, name: &str| (namespace.to_owned(), name.to_owned());
        assert_eq!(volume(json!({"rbd": {"secretRef": {"name": "s"}}})), [pair("a", "s")]);
        assert_eq!(volume(json!({"rbd": {"secretRef": {"name": "s", "namespace": "b"}}})), [pair("b", "s")]);
        assert!(volume(json!({"cinder": {"secretRef": {"name": "s"}}})).is_empty());
        assert_eq!(volume(json!({"azureFile": {"secretName": "s"}})), [pair("a", "s")]);
        assert_eq!(
            volume(json!({"csi": {"controllerPublishSecretRef": {"name": "x", "namespace": "b"},
                "nodeStageSecretRef": {"name": "y", "namespace": "b"}}})),
            [pair("b", "y")]
        );
    }

    #[test]
    fn api_references_are_found_in_the_order_of_stock() {
        let check = |spec: Value| api_object_reference(&json!({"spec": spec}));
        let volume = |source: Value| check(json!({"volumes": [source]}));
        assert_eq!(check(json!({"volumes": [{"hostPath": {}}, {"emptyDir": {}}]})), Ok(None));
        assert_eq!(check(json!({"serviceAccountName": "x"})), Ok(Some("serviceaccounts")));
        assert_eq!(volume(json!({"secret": {"secretName": "s"}})), Ok(Some("secrets")));
        assert_eq!(volume(json!({"secret": {}})), Ok(Some("secrets (via secret volumes)")));
        assert_eq!(volume(json!({"csi": {}})), Ok(Some("csidrivers (via CSI volumes)")));
        assert_eq!(
            volume(json!({"projected": {"sources": [{"downwardAPI": {}}, {"serviceAccountToken": {}}]}})),
            Ok(Some("serviceaccounts (via projected volumes)"))
        );
        assert_eq!(volume(json!({"name": "v"})), Err("unknown volume type for volume  \"v\"".into()));
    }
}
