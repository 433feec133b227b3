//! For which audiences a kubelet may ask for tokens: those that the pod's volumes need.

use roost_object::field::quote;
use serde_json::Value;

use super::reference::ephemeral_claim;
use super::restriction::{AdmissionRequest, NodeObjects};
use crate::attributes::{Attributes, ResourceAttributes};
use crate::authorizer::Authorizer;
use crate::rbac::join_errors;

/// The drivers that took over volumes of the old built-in types.
const MIGRATED: [(&str, &str); 7] = [
    ("awsElasticBlockStore", "ebs.csi.aws.com"),
    ("gcePersistentDisk", "pd.csi.storage.gke.io"),
    ("cinder", "cinder.csi.openstack.org"),
    ("azureDisk", "disk.csi.azure.com"),
    ("azureFile", "file.csi.azure.com"),
    ("vsphereVolume", "csi.vsphere.vmware.com"),
    ("portworxVolume", "pxd.portworx.com"),
];

pub(super) fn check_audience(
    request: &AdmissionRequest<'_>,
    pod: &Value,
    objects: &dyn NodeObjects,
    authorizer: &dyn Authorizer,
) -> Result<(), String> {
    let token_request = request.object.unwrap_or(&Value::Null);
    let audiences = token_request["spec"]["audiences"].as_array().map(Vec::as_slice).unwrap_or_default();
    let audience = match audiences {
        [] => "",
        [one] => one.as_str().unwrap_or_default(),
        _ => return Err("node may only request 0 or 1 audiences".into()),
    };
    match pod_references(pod, request.namespace, audience, objects) {
        Ok(true) => return Ok(()),
        Ok(false) => {}
        Err(words) => return Err(format!("error validating audience {}: {words}", quote(audience))),
    }
    let resource = ResourceAttributes {
        group: "",
        version: "v1",
        resource: audience,
        subresource: "",
        namespace: request.namespace,
        name: request.name,
    };
    let verb = "request-serviceaccounts-token-audience";
    if authorizer.authorize(&Attributes::resource(request.user, verb, resource)).is_allowed() {
        return Ok(());
    }
    Err(format!(
        "audience {} not found in pod spec volume, {} is not authorized to request tokens for this audience",
        quote(audience),
        request.user.name
    ))
}

fn pod_references(pod: &Value, namespace: &str, audience: &str, objects: &dyn NodeObjects) -> Result<bool, String> {
    let mut errors = Vec::new();
    let pod_name = pod["metadata"]["name"].as_str().unwrap_or_default();
    for volume in pod["spec"]["volumes"].as_array().into_iter().flatten() {
        for source in volume["projected"]["sources"].as_array().into_iter().flatten() {
            let token = &source["serviceAccountToken"];
            if token.is_object() && token["audience"].as_str().unwrap_or_default() == audience {
                return Ok(true);
            }
        }
        let driver = driver_of(volume, pod_name, namespace, objects)
            .and_then(|driver| driver.map_or(Ok(false), |driver| driver_has_audience(&driver, audience, objects)));
        match driver {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            Err(words) => errors.push(words),
        }
    }
    join_errors(&errors).map_or(Ok(false), Err)
}

fn driver_of(
    volume: &Value,
    pod_name: &str,
    namespace: &str,
    objects: &dyn NodeObjects,
) -> Result<Option<String>, String> {
    let has_template = volume["ephemeral"]["volumeClaimTemplate"].is_object();
    let claim = match volume["persistentVolumeClaim"]["claimName"].as_str() {
        _ if has_template => ephemeral_claim(volume, pod_name),
        Some(name) => Some(name.to_owned()),
        None => None,
    };
    let Some(claim) = claim else {
        return Ok(driver_in(volume));
    };
    let not_found = |kind: &str, name: &str| format!("{kind} {} not found", quote(name));
    let claim =
        objects.persistent_volume_claim(namespace, &claim).ok_or_else(|| not_found("persistentvolumeclaim", &claim))?;
    let volume_name = claim["spec"]["volumeName"].as_str().unwrap_or_default();
    let volume = objects.persistent_volume(volume_name).ok_or_else(|| not_found("persistentvolume", volume_name))?;
    Ok(driver_in(&volume["spec"]))
}

fn driver_in(source: &Value) -> Option<String> {
    if let Some(driver) = source["csi"]["driver"].as_str() {
        return Some(driver.to_owned());
    }
    MIGRATED.iter().find(|(kind, _)| source[kind].is_object()).map(|(_, driver)| (*driver).to_owned())
}

fn driver_has_audience(driver: &str, audience: &str, objects: &dyn NodeObjects) -> Result<bool, String> {
    let object =
        objects.csi_driver(driver).ok_or_else(|| format!("csidriver.storage.k8s.io {} not found", quote(driver)))?;
    let requests = object["spec"]["tokenRequests"].as_array();
    Ok(requests.into_iter().flatten().any(|one| one["audience"].as_str().unwrap_or_default() == audience))
}
