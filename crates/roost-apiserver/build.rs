//! Takes the words for kinds and fields out of the k8s-openapi crate and packs them, one file a package.
//!
//! The crate's types would bring megabytes of code into the program; their words alone are a few hundred kilobytes when
//! compressed, and are unpacked only while a document is written.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::WatchEvent;
use k8s_openapi::apimachinery::pkg::runtime::RawExtension;
use k8s_openapi::schemars::generate::SchemaSettings;
use k8s_openapi::serde_json::{Map, Value};

/// Between the records of types.
const RECORD: char = '\u{1e}';
/// Between the name, the words, and the fields' names and words of a record.
const UNIT: char = '\u{1f}';

/// Adds the schemas of the named types and of the types that their fields hold.
macro_rules! add {
    ($generator:ident; $($($module:ident)::+ { $($name:ident)+ })+) => {
        $({
            use k8s_openapi::$($module)::+::{$($name),+};
            $($generator.subschema_for::<$name>();)+
        })+
    };
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let out = std::env::var("OUT_DIR")?;
    let mut packages: BTreeMap<String, String> = BTreeMap::new();
    for (name, schema) in &mut definitions() {
        part_words(schema, "object", "\n\nObject is:");
        let (package, kind) = name.rsplit_once('.').ok_or("a schema without a package")?;
        packages.entry(package.to_owned()).or_default().push_str(&record(kind, schema));
    }
    let mut table = String::from("static PACKAGES: &[(&str, &[u8])] = &[\n");
    for (package, text) in &packages {
        let path = Path::new(&out).join(format!("{package}.words"));
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text.as_bytes())?;
        std::fs::write(&path, encoder.finish()?)?;
        writeln!(table, "    ({package:?}, include_bytes!({:?})),", path.display().to_string())?;
    }
    table.push_str("];\n");
    std::fs::write(Path::new(&out).join("words.rs"), table)?;
    Ok(())
}

/// Gives the words from a mark on back to a field. The crate turned events into an enum, whose fields have none.
fn part_words(schema: &mut Value, field: &str, mark: &str) {
    let words = schema["description"].as_str().unwrap_or_default().to_owned();
    if let Some((own, of_field)) = words.split_once(mark) {
        schema["description"] = own.into();
        schema["properties"][field]["description"] = format!("{}{of_field}", mark.trim_start()).into();
    }
}

fn record(kind: &str, schema: &Value) -> String {
    let words = |schema: &Value| schema.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut record = format!("{RECORD}{kind}{UNIT}{}", words(schema));
    for (field, schema) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        for unit in [field, &words(schema)] {
            record.push(UNIT);
            record.push_str(unit);
        }
    }
    record
}

/// The kinds that the server serves, and what requests and answers are made of.
fn definitions() -> Map<String, Value> {
    let mut generator = SchemaSettings::draft07().into_generator();
    add! { generator;
        api::admissionregistration::v1 {
            MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration
            ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration
        }
        api::apps::v1 { ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet }
        api::authentication::v1 { SelfSubjectReview TokenRequest TokenReview }
        api::authorization::v1 {
            LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview
        }
        api::autoscaling::v1 { HorizontalPodAutoscaler Scale }
        api::autoscaling::v2 { HorizontalPodAutoscaler }
        api::batch::v1 { CronJob Job }
        api::certificates::v1 { CertificateSigningRequest }
        api::coordination::v1 { Lease }
        api::core::v1 {
            Binding ComponentStatus ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume
            PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount
        }
        api::discovery::v1 { EndpointSlice }
        api::events::v1 { Event }
        api::flowcontrol::v1 { FlowSchema PriorityLevelConfiguration }
        api::networking::v1 { IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR }
        api::node::v1 { RuntimeClass }
        api::policy::v1 { Eviction PodDisruptionBudget }
        api::rbac::v1 { ClusterRole ClusterRoleBinding Role RoleBinding }
        api::resource::v1 { DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice }
        api::scheduling::v1 { PriorityClass }
        api::storage::v1 {
            CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment VolumeAttributesClass
        }
        apiextensions_apiserver::pkg::apis::apiextensions::v1 { CustomResourceDefinition }
        apimachinery::pkg::apis::meta::v1 {
            APIGroupList APIResourceList APIVersions DeleteOptions ListMeta Patch Status
        }
        apimachinery::pkg::version { Info }
        kube_aggregator::pkg::apis::apiregistration::v1 { APIService }
    }
    generator.subschema_for::<WatchEvent<RawExtension>>();
    generator.take_definitions(false)
}
