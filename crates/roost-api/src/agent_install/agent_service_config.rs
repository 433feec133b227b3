//! `AgentServiceConfig`: how the discovery service runs.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::PersistentVolumeClaimSpec;
use kube_derive::CustomResource;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::condition::Condition;
use super::reference::LocalReference;
use crate::rules::{QUANTITY_PATTERN, label_selector};
use crate::variation::absent_is_default;

/// The name of the only object of the kind that counts.
pub const AGENT_SERVICE_CONFIG_NAME: &str = "agent";

/// What the service keeps, serves and trusts.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "agent-install.openshift.io",
    version = "v1beta1",
    kind = "AgentServiceConfig",
    status = "AgentServiceConfigStatus",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq",
    doc = "How the discovery service runs.",
    crates(kube_core = "::kube_core")
)]
#[serde(remote = "Self", rename_all = "camelCase")]
pub struct AgentServiceConfigSpec {
    /// A secret with headers and query parameters that OS images are downloaded with.
    #[serde(rename = "OSImageAdditionalParamsRef", skip_serializing_if = "Option::is_none")]
    pub os_image_additional_parameters_ref: Option<LocalReference>,
    /// A config map with the certificates that servers of OS images are trusted by.
    #[serde(rename = "OSImageCACertRef", skip_serializing_if = "Option::is_none")]
    pub os_image_ca_cert_ref: Option<LocalReference>,
    /// The volume for the service's records. 10 GiB are enough for most.
    #[schemars(transform = volume_claim)]
    pub database_storage: PersistentVolumeClaimSpec,
    /// The volume for logs and what is made for each cluster: about 200 MB for each of them.
    #[schemars(transform = volume_claim)]
    pub filesystem_storage: PersistentVolumeClaimSpec,
    /// Whether the scripts and artifacts of network boots are served without encryption, too.
    #[serde(rename = "iPXEHTTPRoute", skip_serializing_if = "Option::is_none")]
    pub ipxe_http_route: Option<HttpRoute>,
    /// The volume for OS images: 2 GiB for each of them. Without it, they are downloaded after each restart.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = volume_claim)]
    pub image_storage: Option<PersistentVolumeClaimSpec>,
    /// The names that the services are reached by, where there are no routes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ingress: Option<Ingress>,
    /// A config map with the registries to pull from instead of the usual ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mirror_registry_ref: Option<LocalReference>,
    /// The images that collect what is needed to look into a broken cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub must_gather_images: Vec<MustGatherImage>,
    /// The systems that hosts can be discovered and installed with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub os_images: Vec<OsImage>,
    /// Registries that no pull secret needs to know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unauthenticated_registries: Vec<String>,
}

absent_is_default!(AgentServiceConfigSpec);

/// Whether something is served without encryption, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HttpRoute {
    /// It is.
    Enabled,
    /// It is not.
    Disabled,
}

/// The names that the services are reached by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ingress {
    /// The name of the service that hosts talk to.
    pub assisted_service_hostname: String,
    /// The class of the ingresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_name: Option<String>,
    /// The name of the service that images come from.
    pub image_service_hostname: String,
}

/// An image that collects what is needed to look into a broken cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MustGatherImage {
    /// The architecture that it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_architecture: Option<MustGatherImageArchitecture>,
    /// What it collects, such as `ocp`.
    pub name: String,
    /// The version of the clusters that it is for.
    pub openshift_version: String,
    /// Where it is pulled from.
    pub url: String,
}

/// The architecture that an image is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MustGatherImageArchitecture {
    /// Intel and AMD.
    #[serde(rename = "x86_64")]
    X86_64,
    /// Arm, in the kernel's words.
    Aarch64,
    /// Arm, in the words of container images.
    Arm64,
    /// Power.
    Ppc64le,
    /// The mainframe.
    S390x,
    /// All of them.
    Multi,
}

/// A system that hosts can be discovered and installed with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OsImage {
    /// The architecture that it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_architecture: Option<String>,
    /// The version of the clusters that it is for.
    pub openshift_version: String,
    /// Where the root file system is. It is found in the image now, and this is not read.
    #[serde(rename = "rootFSUrl", skip_serializing_if = "Option::is_none")]
    pub root_fs_url: Option<String>,
    /// Where the live image is downloaded from.
    pub url: String,
    /// The version of the system itself.
    pub version: String,
}

/// Whether the service runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentServiceConfigStatus {
    /// The aspects of the service's state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Annotations that cannot change any more, with the values that count.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub immutable_annotations: BTreeMap<String, String>,
}

/// Adds to the schema of a volume claim what the built-in kind says by other means.
fn volume_claim(schema: &mut Schema) {
    let Some(fields) = schema.get_mut("properties") else { return };
    fields["accessModes"]["x-kubernetes-list-type"] = json!("atomic");
    fields["dataSource"]["x-kubernetes-map-type"] = json!("atomic");
    for amounts in ["limits", "requests"] {
        if let Value::Object(amount) = &mut fields["resources"]["properties"][amounts]["additionalProperties"] {
            amount.insert("pattern".to_owned(), json!(QUANTITY_PATTERN));
        }
    }
    if let Ok(selector) = <&mut Schema>::try_from(&mut fields["selector"]) {
        label_selector(selector);
    }
}
