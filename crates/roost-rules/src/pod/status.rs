//! What kubelets and schedulers may write into the status of a pod.

use roost_object::field::{Error, Errors};
use roost_object::{Value, names};

use super::annotations;
use super::spec::Options;
use crate::check::Check::{Between, Each, OneOf, Required};
use crate::check::{Check, Field, Spot, elements, text};
use crate::{address, internal};

const USER_OR_GROUP: &[Check] = &[Between(0, i32::MAX as i64)];
static LINUX_USER: &[Field] =
    &[("uid", USER_OR_GROUP), ("gid", USER_OR_GROUP), ("supplementalGroups", &[Each(USER_OR_GROUP)])];
const TERMINATED_STAYS: &str = "may not be transitioned to non-terminated state";

/// Checks an update of a pod's status.
pub(super) fn validate_update(new: &Value, old: &Value, errors: &mut Errors) {
    let root = Spot::root(new);
    let options = Options {
        allow_invalid_deletion_cost: annotations::has_invalid_deletion_cost(&old["metadata"]),
        ..Options::default().for_pod()
    };
    annotations::validate_update(&root, old, &options, errors);
    let status = root.field("status");
    let before = &old["status"];
    validate_conditions(&status.field("conditions"), errors);
    if text(&new["spec"], "nodeName") != text(&old["spec"], "nodeName") {
        status.field("nodeName").forbidden("may not be changed directly", errors);
    }
    let nominated = status.field("nominatedNodeName");
    if nominated.filled() && nominated.text() != text(before, "nominatedNodeName") {
        nominated.text_passes(names::is_dns1123_subdomain, errors);
        if !text(&old["spec"], "nodeName").is_empty() {
            nominated.forbidden("may not be set on pods that are already bound to a node", errors);
        }
    }
    not_negative(&status.field("observedGeneration"), errors);
    let class = status.field("qosClass");
    if class.text() != text(before, "qosClass") {
        errors.push(Error::invalid(&class.path, class.text(), crate::check::IMMUTABLE));
    }
    validate_transitions(&status, before, &old["spec"], errors);
    validate_claims(&status, &new["spec"], errors);
    validate_addresses(&status, before, errors);
    validate_users(&status, &new["spec"], errors);
    for (list, containers) in [("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")] {
        validate_health(&status.field(list), elements(&new["spec"][containers]), errors);
    }
    status.field("ephemeralContainerStatuses").each(|_, container| {
        let health = container.field("allocatedResourcesStatus");
        if health.filled() {
            health.forbidden("must not be specified in container status", errors);
        }
    });
}

fn not_negative(generation: &Spot<'_>, errors: &mut Errors) {
    if generation.number() < 0 {
        generation.invalid("must be a non-negative integer", errors);
    }
}

fn validate_conditions(conditions: &Spot<'_>, errors: &mut Errors) {
    conditions.each(|_, condition| {
        not_negative(&condition.field("observedGeneration"), errors);
        let kind = text(condition.value, "type");
        if !matches!(kind, "PodScheduled" | "Ready" | "Initialized") {
            let path = condition.path.child("Type");
            errors.extend(names::is_qualified_name(kind).into_iter().map(|words| Error::invalid(&path, kind, words)));
        }
    });
}

/// A container that ended may only run again where something restarts it.
fn validate_transitions(status: &Spot<'_>, before: &Value, spec: &Value, errors: &mut Errors) {
    let restarts_all = |container: &Value| {
        elements(&container["restartPolicyRules"]).iter().any(|rule| text(rule, "action") == "RestartAllContainers")
    };
    let any_restart =
        ["initContainers", "containers"].iter().any(|list| elements(&spec[list]).iter().any(restarts_all));
    for (list, containers) in [
        ("containerStatuses", Some("containers")),
        ("initContainerStatuses", Some("initContainers")),
        ("ephemeralContainerStatuses", None),
    ] {
        if containers.is_some() && any_restart {
            continue;
        }
        let statuses = status.field(list);
        for (index, old) in elements(&before[list]).iter().enumerate() {
            let ended = &old["state"]["terminated"];
            if ended.is_null() {
                continue;
            }
            let runs_again = |new: &&Value| new["name"] == old["name"] && new["state"]["terminated"].is_null();
            let Some(_) = statuses.elements().iter().find(runs_again) else { continue };
            let container = containers
                .and_then(|list| elements(&spec[list]).iter().find(|container| container["name"] == old["name"]));
            let code = ended["exitCode"].as_i64().unwrap_or_default();
            if !container.is_some_and(|container| restarts(container, spec, code)) {
                let path = statuses.path.index(index);
                errors.push(Error::forbidden(&path.child("state"), TERMINATED_STAYS));
            }
        }
    }
}

/// Whether a container is started again after it ended with a code.
fn restarts(container: &Value, spec: &Value, code: i64) -> bool {
    let by_policy = |policy: &str| match policy {
        "Never" => false,
        "OnFailure" => code != 0,
        _ => true,
    };
    let own = text(container, "restartPolicy");
    if own.is_empty() {
        return by_policy(text(spec, "restartPolicy"));
    }
    let matches = |rule: &&Value| {
        let codes = &rule["exitCodes"];
        let is_listed = elements(&codes["values"]).iter().any(|listed| listed == code);
        match text(codes, "operator") {
            "In" => is_listed,
            "NotIn" => !is_listed,
            _ => false,
        }
    };
    let rule = elements(&container["restartPolicyRules"]).iter().find(matches);
    rule.is_some_and(|rule| matches!(text(rule, "action"), "Restart" | "RestartAllContainers")) || by_policy(own)
}

fn validate_claims(status: &Spot<'_>, spec: &Value, errors: &mut Errors) {
    let statuses = status.field("resourceClaimStatuses");
    statuses.each(|index, claim| {
        let name = claim.field("name");
        if !elements(&spec["resourceClaims"]).iter().any(|known| text(known, "name") == name.text()) {
            let words = "must match the name of an entry in `spec.resourceClaims`";
            errors.push(Error::invalid(&name.path, name.text(), words));
        }
        if statuses.elements()[..index].iter().any(|earlier| text(earlier, "name") == name.text()) {
            errors.push(Error::duplicate(&name.path, name.text()));
        }
        let made = claim.field("resourceClaimName");
        if made.given() {
            made.text_passes(names::is_dns1123_subdomain, errors);
        }
    });
    let extended = status.field("extendedResourceClaimStatus");
    if extended.given() {
        validate_extended_claims(&extended, spec, errors);
    }
}

fn validate_extended_claims(status: &Spot<'_>, spec: &Value, errors: &mut Errors) {
    let mappings = status.field("requestMappings");
    mappings.check(&[Check::RequiredBecause("at least one request mapping is required")], errors);
    let container_named = |name: &str| {
        ["containers", "initContainers"]
            .iter()
            .flat_map(|list| elements(&spec[list]))
            .find(|container| text(container, "name") == name)
    };
    mappings.each(|index, mapping| {
        let name = mapping.field("containerName");
        let resource = mapping.field("resourceName");
        match container_named(name.text()) {
            None => errors.push(Error::invalid(
                &name.path,
                name.text(),
                "must match the name of an entry in spec.initContainers.name or spec.containers.name",
            )),
            Some(container) if container["resources"]["requests"][resource.text()].is_null() => {
                errors.push(Error::invalid(
                    &resource.path,
                    resource.text(),
                    "must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests",
                ));
            }
            Some(_) => {}
        }
        let request = mapping.field("requestName");
        Spot::new(request.value, status.path.child("requestName")).text_passes(names::is_dns1123_label, errors);
        if mappings.elements()[..index].contains(mapping.value) {
            for repeated in [&name, &resource, &request] {
                errors.push(Error::duplicate(&repeated.path, repeated.text()));
            }
        }
    });
    status.field("resourceClaimName").check(&[Required, crate::check::SUBDOMAIN], errors);
}

fn validate_addresses(status: &Spot<'_>, before: &Value, errors: &mut Errors) {
    for (list, single, kind) in [("podIPs", None, "PodIP"), ("hostIPs", Some("hostIP"), "HostIP")] {
        let addresses = status.field(list);
        if let (Some(single), Some(first)) = (single, addresses.elements().first())
            && text(status.value, single) != text(first, "ip")
        {
            let element = addresses.path.index(0);
            errors.push(Error::invalid(&element.child("ip"), text(first, "ip"), "must be equal to `hostIP`"));
        }
        let known: Vec<&str> = elements(&before[list]).iter().map(|address| text(address, "ip")).collect();
        addresses.each(|_, address| address::validate(text(address.value, "ip"), &known, &address.path, errors));
        if addresses.elements().len() > 1 {
            validate_families(&addresses, kind, errors);
        }
    }
}

fn validate_families(addresses: &Spot<'_>, kind: &str, errors: &mut Errors) {
    let texts = addresses.elements().iter().map(|address| text(address, "ip"));
    let parsed: Option<Vec<_>> = texts.map(address::parse_leniently).collect();
    let is_dual = match &parsed {
        Some(parsed) => parsed.iter().any(std::net::IpAddr::is_ipv4) && parsed.iter().any(std::net::IpAddr::is_ipv6),
        None => false,
    };
    if parsed.is_none() {
        let first_bad =
            addresses.elements().iter().position(|address| address::parse_leniently(text(address, "ip")).is_none());
        let shown = first_bad.map(|index| (index, text(&addresses.elements()[index], "ip")));
        if let Some((index, ip)) = shown {
            let words = format!("failed to check for dual stack with error:invalid IP[{index}]: {ip}");
            errors.push(Error::internal(&addresses.path, words));
        }
    }
    if !is_dual || addresses.elements().len() > 2 {
        let shown = internal::print(&format!("[{kind}"), addresses.value);
        let words = format!("{shown}: may specify no more than one IP for each IP family");
        errors.push(Error::invalid_omitted(&addresses.path, words));
    }
}

fn validate_users(status: &Spot<'_>, spec: &Value, errors: &mut Errors) {
    let on_windows = spec["os"]["name"] == "windows";
    for list in ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"] {
        status.field(list).each(|_, container| {
            let user = container.field("user");
            let linux = user.field("linux");
            if !linux.given() {
                return;
            }
            if on_windows {
                linux.forbidden("cannot be set for a windows pod", errors);
            } else {
                linux.check_fields(LINUX_USER, errors);
            }
        });
    }
}

fn validate_health(statuses: &Spot<'_>, containers: &[Value], errors: &mut Errors) {
    static HEALTH: &[Check] = &[OneOf(&["Healthy", "Unhealthy", "Unknown"])];
    /// The longest word on the health of a device.
    const MESSAGE_MAX: usize = 1024;
    statuses.each(|_, status| {
        let container = containers.iter().find(|container| container["name"] == status.value["name"]);
        status.field("allocatedResourcesStatus").each(|_, allocated| {
            let name = allocated.field("name");
            if let Some(container) = container {
                let (is_known, words) = if name.text().starts_with("claim:") {
                    let named = |claim: &Value| match text(claim, "request") {
                        "" => format!("claim:{}", text(claim, "name")),
                        request => format!("claim:{}/{request}", text(claim, "name")),
                    };
                    let known = elements(&container["resources"]["claims"]).iter().any(|claim| named(claim) == name.text());
                    (known, "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty")
                } else {
                    let known = !container["resources"]["requests"][name.text()].is_null();
                    (known, "must match one of the container's resource requests")
                };
                if !is_known {
                    errors.push(Error::invalid(&name.path, name.text(), words));
                }
            }
            let devices = allocated.field("resources");
            devices.each(|index, device| {
                let health = device.field("health");
                if health.filled() {
                    health.check(HEALTH, errors);
                } else {
                    errors.push(Error::not_supported(&health.path, "", &["Healthy", "Unhealthy", "Unknown"]));
                }
                let message = device.field("message");
                if message.given() {
                    message.check(&[Check::RequiredBecause("must be non-empty if specified"), Check::Longest(MESSAGE_MAX)], errors);
                }
                let id = device.field("resourceID");
                if devices.elements()[..index].iter().any(|earlier| text(earlier, "resourceID") == id.text()) {
                    errors.push(Error::duplicate(&id.path, id.text()));
                }
            });
        });
    });
}
