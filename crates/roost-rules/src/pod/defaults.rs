//! What pods and pod templates are filled up with.

use roost_object::{Quantity, Value};

use super::{image, resources};
use crate::fill::{Fill, round_resource_list};
use crate::resource_name;

/// The permission bits of files in volumes made of other objects.
const FILE_MODE: i64 = 0o644;

/// Fills up a pod. Some defaults only pods get, so that templates stay as they were written.
pub(super) fn fill_pod(pod: &mut Value) {
    let spec = pod.at_or_empty("spec");
    for list in ["containers", "initContainers"] {
        for container in spec.each(list) {
            if let Some(resources) = container.at("resources") {
                requests_from_limits(resources);
            }
        }
    }
    fill_pod_level_resources(spec);
    spec.fill("enableServiceLinks", true);
    if spec["hostNetwork"] == true {
        for list in ["containers", "initContainers"] {
            for port in spec.each(list).flat_map(|container| container.each("ports")) {
                let number = port["containerPort"].as_i64().unwrap_or_default();
                if number != 0 {
                    port.fill_number("hostPort", number);
                }
            }
        }
    }
    if spec["terminationGracePeriodSeconds"].as_i64().is_some_and(|seconds| seconds < 0) {
        spec["terminationGracePeriodSeconds"] = 1.into();
    }
    fill_spec(spec);
    drop_old_annotations(pod);
    if let Some(status) = pod.at("status") {
        fill_pod_ips(status);
        for list in ["initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"] {
            status.each(list).for_each(round_status_resources);
        }
        round_status_resources(status);
    }
}

/// A pod has one address or several; the first of several is the one.
fn fill_pod_ips(status: &mut Value) {
    let single = status["podIP"].as_str().unwrap_or_default().to_owned();
    let first = status["podIPs"][0]["ip"].as_str().map(str::to_owned);
    match first {
        Some(first) if single.is_empty() => status["podIP"] = first.into(),
        first if !single.is_empty() && first.as_ref() != Some(&single) => {
            status["podIPs"] = serde_json::json!([{ "ip": single }]);
        }
        _ => {}
    }
}

/// Init containers were annotations once, which must not mean anything any more.
fn drop_old_annotations(holder: &mut Value) {
    static OLD: &[&str] = &[
        "pod.beta.kubernetes.io/init-containers",
        "pod.alpha.kubernetes.io/init-containers",
        "pod.beta.kubernetes.io/init-container-statuses",
        "pod.alpha.kubernetes.io/init-container-statuses",
    ];
    if let Some(meta) = holder.at("metadata")
        && let Some(annotations) = meta.at("annotations")
    {
        for name in OLD {
            annotations.drop_field(name);
        }
    }
}

fn round_status_resources(status: &mut Value) {
    round_resource_list(status.at("allocatedResources"));
    if let Some(resources) = status.at("resources") {
        round_requirements(resources);
    }
}

/// Fills up the pod template in a field of an object.
pub(crate) fn fill_template(owner: &mut Value, field: &str) {
    if let Some(template) = owner.at(field) {
        fill_spec(template.at_or_empty("spec"));
        drop_old_annotations(template);
    }
}

fn fill_spec(spec: &mut Value) {
    spec.fill_text("dnsPolicy", "ClusterFirst");
    spec.fill_text("restartPolicy", "Always");
    spec.at_or_empty("securityContext");
    spec.fill("terminationGracePeriodSeconds", 30);
    spec.fill_text("schedulerName", "default-scheduler");
    spec.each("volumes").for_each(fill_volume);
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        spec.each(list).for_each(fill_container);
    }
    round_resource_list(spec.at("overhead"));
    if let Some(resources) = spec.at("resources") {
        round_requirements(resources);
    }
    // The older name of the same field is kept in step for older clients.
    let account = |name| spec[name].as_str().filter(|account| !account.is_empty()).map(str::to_owned);
    match (account("serviceAccountName"), account("serviceAccount")) {
        (Some(name), older) if older.as_ref() != Some(&name) => spec["serviceAccount"] = name.into(),
        (None, Some(older)) => spec["serviceAccountName"] = older.into(),
        _ => {}
    }
}

fn fill_container(container: &mut Value) {
    let latest = image::is_latest(container["image"].as_str().unwrap_or_default());
    container.fill_text("imagePullPolicy", if latest { "Always" } else { "IfNotPresent" });
    container.fill_text("terminationMessagePath", "/dev/termination-log");
    container.fill_text("terminationMessagePolicy", "File");
    for port in container.each("ports") {
        port.fill_text("protocol", "TCP");
    }
    for source in container.each("env").filter_map(|variable| variable.at("valueFrom")) {
        fill_field_reference(source);
        if let Some(reference) = source.at("fileKeyRef") {
            reference.fill("optional", false);
        }
    }
    if let Some(resources) = container.at("resources") {
        round_requirements(resources);
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.at(probe) {
            probe.fill_number("timeoutSeconds", 1);
            probe.fill_number("periodSeconds", 10);
            probe.fill_number("successThreshold", 1);
            probe.fill_number("failureThreshold", 3);
            fill_http_get(probe);
            if let Some(grpc) = probe.at("grpc") {
                grpc.fill("service", "");
            }
        }
    }
    if let Some(lifecycle) = container.at("lifecycle") {
        for handler in ["postStart", "preStop"] {
            if let Some(handler) = lifecycle.at(handler) {
                fill_http_get(handler);
            }
        }
    }
}

fn fill_http_get(handler: &mut Value) {
    if let Some(action) = handler.at("httpGet") {
        action.fill_text("path", "/");
        action.fill_text("scheme", "HTTP");
    }
}

fn fill_field_reference(holder: &mut Value) {
    if let Some(reference) = holder.at("fieldRef") {
        reference.fill_text("apiVersion", "v1");
    }
}

fn fill_volume(volume: &mut Value) {
    let has_source = volume
        .as_object()
        .is_some_and(|fields| fields.iter().any(|(name, source)| name != "name" && !source.is_null()));
    if !has_source {
        volume.at_or_empty("emptyDir");
    }
    if let Some(source) = volume.at("image") {
        let latest = image::is_latest(source["reference"].as_str().unwrap_or_default());
        source.fill_text("pullPolicy", if latest { "Always" } else { "IfNotPresent" });
    }
    if let Some(source) = volume.at("hostPath") {
        source.fill("type", "");
    }
    for kind in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = volume.at(kind) {
            source.fill("defaultMode", FILE_MODE);
        }
    }
    if let Some(source) = volume.at("downwardAPI") {
        source.each("items").for_each(fill_field_reference);
    }
    if let Some(source) = volume.at("projected") {
        for projection in source.each("sources") {
            if let Some(files) = projection.at("downwardAPI") {
                files.each("items").for_each(fill_field_reference);
            }
            if let Some(token) = projection.at("serviceAccountToken") {
                token.fill("expirationSeconds", 3600);
            }
        }
    }
    fill_block_volume(volume);
    if let Some(source) = volume.at("ephemeral")
        && let Some(template) = source.at("volumeClaimTemplate")
    {
        fill_claim_spec(template.at_or_empty("spec"));
    }
}

/// Fills up the spec of a claim for a volume.
pub(crate) fn fill_claim_spec(spec: &mut Value) {
    spec.fill("volumeMode", "Filesystem");
    if let Some(resources) = spec.at("resources") {
        round_requirements(resources);
    }
}

pub(crate) fn fill_block_volume(volume: &mut Value) {
    if let Some(source) = volume.at("iscsi") {
        source.fill_text("iscsiInterface", "default");
    }
    if let Some(source) = volume.at("rbd") {
        source.fill_text("pool", "rbd");
        source.fill_text("user", "admin");
        source.fill_text("keyring", "/etc/ceph/keyring");
    }
    if let Some(source) = volume.at("azureDisk") {
        source.fill("cachingMode", "ReadWrite");
        source.fill("fsType", "ext4");
        source.fill("readOnly", false);
        source.fill("kind", "Shared");
    }
    if let Some(source) = volume.at("scaleIO") {
        source.fill_text("storageMode", "ThinProvisioned");
        source.fill_text("fsType", "xfs");
    }
}

fn round_requirements(resources: &mut Value) {
    round_resource_list(resources.at("limits"));
    round_resource_list(resources.at("requests"));
}

/// What is limited and not requested is requested up to its limit.
fn requests_from_limits(resources: &mut Value) {
    let Some(Value::Object(limits)) = resources.get("limits") else { return };
    let limits = limits.clone();
    let requests = resources.at_or_empty("requests");
    for (name, limit) in limits {
        requests.fill(&name, limit);
    }
}

/// A pod that limits itself as a whole requests what its containers request, or else what it limits.
fn fill_pod_level_resources(spec: &mut Value) {
    let Some(own) = spec.get("resources").filter(|own| own.is_object()) else { return };
    let is_filled = |name| own[name].as_object().is_some_and(|list| !list.is_empty());
    let (has_limits, has_requests) = (is_filled("limits"), is_filled("requests"));
    if has_limits || has_requests {
        let limits = resources::aggregate_container_limits(spec);
        let own = spec.at_or_empty("resources");
        for (name, limit) in limits {
            if resource_name::is_huge_page(&name) && own["requests"][&name].is_null() && own["limits"][&name].is_null()
            {
                own.at_or_empty("limits").fill(&name, limit.to_string());
            }
        }
    }
    if spec["resources"]["limits"].as_object().is_none_or(serde_json::Map::is_empty) {
        return;
    }
    let requests: Vec<(String, Quantity)> = resources::aggregate_container_requests(spec).into_iter().collect();
    let own = spec.at_or_empty("resources");
    for (name, request) in requests {
        if resource_name::is_pod_level(&name)
            && resource_name::may_overcommit(&name)
            && own["requests"][&name].is_null()
        {
            own.at_or_empty("requests").fill(&name, request.to_string());
        }
    }
    let limits = own["limits"].as_object().cloned().unwrap_or_default();
    for (name, limit) in limits {
        if resource_name::is_pod_level(&name) && own["requests"][&name].is_null() {
            own.at_or_empty("requests").fill(&name, limit);
        }
    }
}
