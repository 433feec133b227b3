//! What pods and containers ask for: sums over containers, service classes, and the checks of requests and limits.

use std::collections::BTreeMap;

use roost_object::field::{Error, Errors};
use roost_object::{Quantity, Value};

use super::spec::Options;
use crate::check::{LABEL, Spot, elements, text};
use crate::resource_name as resource;

/// Amounts by the name of the resource.
pub type Amounts = BTreeMap<String, Quantity>;

fn amounts(list: &Value) -> Amounts {
    list.as_object()
        .into_iter()
        .flatten()
        .filter_map(|(name, amount)| Some((name.clone(), Quantity::from_value(amount).ok()?)))
        .collect()
}

fn add_all(sum: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        match sum.get_mut(name) {
            Some(so_far) => so_far.add(amount),
            None => {
                sum.insert(name.clone(), amount.clone());
            }
        }
    }
}

fn raise_all(highest: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        if highest.get(name).is_none_or(|so_far| amount > so_far) {
            highest.insert(name.clone(), amount.clone());
        }
    }
}

/// What all containers need together: they run beside each other, init containers one after the other before them, and
/// restartable init containers beside all that come after.
fn aggregate(spec: &Value, kind: &str) -> Amounts {
    let mut total = Amounts::new();
    for container in elements(&spec["containers"]) {
        add_all(&mut total, &amounts(&container["resources"][kind]));
    }
    let mut restartable = Amounts::new();
    let mut starting = Amounts::new();
    for container in elements(&spec["initContainers"]) {
        let mut needed = amounts(&container["resources"][kind]);
        if text(container, "restartPolicy") == "Always" {
            add_all(&mut total, &needed);
            add_all(&mut restartable, &needed);
            raise_all(&mut starting, &restartable);
        } else {
            add_all(&mut needed, &restartable);
            raise_all(&mut starting, &needed);
        }
    }
    raise_all(&mut total, &starting);
    total
}

pub(super) fn aggregate_container_requests(spec: &Value) -> Amounts {
    aggregate(spec, "requests")
}

pub(super) fn aggregate_container_limits(spec: &Value) -> Amounts {
    aggregate(spec, "limits")
}

/// What a pod requests from its node: its containers together, what it asks for as a whole, and its overhead.
pub fn effective_requests(pod: &Value) -> Amounts {
    let spec = &pod["spec"];
    let mut total = aggregate_container_requests(spec);
    total.extend(amounts(&spec["resources"]["requests"]).into_iter().filter(|(name, _)| resource::is_pod_level(name)));
    add_all(&mut total, &amounts(&spec["overhead"]));
    total
}

/// What a pod may use on its node at most, of those resources that are limited.
pub fn effective_limits(pod: &Value) -> Amounts {
    let spec = &pod["spec"];
    let mut total = aggregate_container_limits(spec);
    total.extend(amounts(&spec["resources"]["limits"]).into_iter().filter(|(name, _)| resource::is_pod_level(name)));
    for (name, amount) in amounts(&spec["overhead"]) {
        if let Some(limit) = total.get_mut(&name).filter(|limit| !limit.is_zero()) {
            limit.add(&amount);
        }
    }
    total
}

/// The service class that a pod's requests and limits put it in.
pub fn qos_class(pod: &Value) -> &'static str {
    let spec = &pod["spec"];
    let counted = |list: &Value| {
        let mut amounts = amounts(list);
        amounts.retain(|name, amount| matches!(name.as_str(), "cpu" | "memory") && *amount > Quantity::ZERO);
        amounts
    };
    let (mut requests, mut limits, mut guaranteed) = (Amounts::new(), Amounts::new(), true);
    let mut count = |resources: &Value, limits_required: bool| {
        add_all(&mut requests, &counted(&resources["requests"]));
        let limited = counted(&resources["limits"]);
        if limits_required && limited.len() < 2 {
            guaranteed = false;
        }
        add_all(&mut limits, &limited);
    };
    if spec["resources"].is_object() {
        let own = &spec["resources"];
        count(own, own["limits"].as_object().is_some_and(|limits| !limits.is_empty()));
    } else {
        for list in ["containers", "initContainers"] {
            for container in elements(&spec[list]) {
                count(&container["resources"], true);
            }
        }
    }
    if requests.is_empty() && limits.is_empty() {
        "BestEffort"
    } else if guaranteed && requests == limits {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

/// Who asks for resources, which decides on the names that may be used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asker {
    Container,
    Pod,
}

/// Checks limits, requests and claims.
pub(super) fn validate_requirements(
    requirements: &Spot<'_>,
    asker: Asker,
    claim_names: &[&str],
    options: &Options,
    errors: &mut Errors,
) {
    if !requirements.given() {
        return;
    }
    validate_name_and_amounts(requirements, asker, options, errors);
    validate_claims(&requirements.field("claims"), claim_names, errors);
}

fn validate_name_and_amounts(requirements: &Spot<'_>, asker: Asker, options: &Options, errors: &mut Errors) {
    let limits = requirements.field("limits");
    let requests = requirements.field("requests");
    let (mut computes, mut has_huge_pages) = (false, false);
    let mut check_one = |name: &str, spot: &Spot<'_>, errors: &mut Errors| -> Option<Quantity> {
        match asker {
            Asker::Container => resource::validate_for_container(name, &spot.path, errors),
            Asker::Pod => resource::validate_for_pod(name, &spot.path, errors),
        }
        computes |= matches!(name, "cpu" | "memory");
        has_huge_pages |= resource::is_huge_page(name);
        let amount = Quantity::from_value(spot.value).ok()?;
        resource::validate_amount(name, &amount, &spot.path, errors);
        Some(amount)
    };
    let check_pages = |name: &str, amount: &Quantity, spot: &Spot<'_>, errors: &mut Errors| {
        if resource::is_huge_page(name)
            && !options.allow_indivisible_huge_pages
            && !resource::is_whole_pages(name, amount)
        {
            let words = format!("{amount} is not positive integer multiple of {name}");
            errors.push(Error::invalid(&spot.path, amount.to_string(), words));
        }
    };
    limits.entries(|name, spot| {
        if let Some(amount) = check_one(name, spot, errors) {
            check_pages(name, &amount, spot, errors);
        }
    });
    requests.entries(|name, spot| {
        let Some(amount) = check_one(name, spot, errors) else { return };
        match limits.value.get(name).and_then(|limit| Quantity::from_value(limit).ok()) {
            Some(limit) if amount != limit && !resource::may_overcommit(name) => {
                let words = format!("must be equal to {name} limit of {limit}");
                errors.push(Error::invalid(&requests.path, amount.to_string(), words));
            }
            Some(limit) if amount > limit => {
                let words = format!("must be less than or equal to {name} limit of {limit}");
                errors.push(Error::invalid(&requests.path, amount.to_string(), words));
            }
            None if !resource::may_overcommit(name) => {
                errors.push(Error::required(&limits.path, "Limit must be set for non overcommitable resources"));
            }
            Some(_) | None => {}
        }
        check_pages(name, &amount, spot, errors);
    });
    if has_huge_pages && !computes {
        requirements.forbidden("HugePages require cpu or memory", errors);
    }
}

/// Checks a pod's overhead, whose amounts are those of limits.
pub(crate) fn validate_overhead(overhead: &Spot<'_>, options: &Options, errors: &mut Errors) {
    let requirements = serde_json::json!({ "limits": overhead.value });
    validate_name_and_amounts(&Spot::new(&requirements, overhead.path), Asker::Container, options, errors);
}

fn validate_claims(claims: &Spot<'_>, known: &[&str], errors: &mut Errors) {
    let mut seen: Vec<String> = Vec::new();
    claims.each(|_, claim| {
        let name = text(claim.value, "name");
        if name.is_empty() {
            errors.push(Error::required(&claim.path, ""));
            return;
        }
        if seen.iter().any(|earlier| earlier == name) {
            errors.push(Error::duplicate(&claim.path, name));
        } else {
            let request = claim.field("request");
            let mut key = name.to_owned();
            if request.filled() {
                request.check(&[LABEL], errors);
                key = format!("{name}/{}", request.text());
            }
            if seen.contains(&key) {
                errors.push(Error::duplicate(&claim.path, key.as_str()));
            } else if !request.filled() {
                let in_part = |earlier: &&String| earlier.split_once('/').is_some_and(|(claim, _)| claim == name);
                errors.extend(seen.iter().filter(in_part).map(|_| Error::duplicate(&claim.path, name)));
            }
            if !seen.contains(&key) {
                seen.push(key);
            }
        }
        if !known.contains(&name) {
            let mut error = Error::not_found(&claim.path, name);
            let mut sorted = known.to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            error.detail = if sorted.is_empty() {
                "must be one of the names in pod.spec.resourceClaims which is empty".to_owned()
            } else {
                format!("must be one of the names in pod.spec.resourceClaims: {}", sorted.join(", "))
            };
            errors.push(error);
        }
    });
}

/// Checks what a pod asks for as a whole, and that its containers fit in.
pub(super) fn validate_pod_level(spec: &Spot<'_>, claim_names: &[&str], options: &Options, errors: &mut Errors) {
    let own = spec.field("resources");
    if !own.given() {
        return;
    }
    if spec.value["os"]["name"] == "windows" {
        own.forbidden("may not be set for a windows pod", errors);
        return;
    }
    if own.field("claims").given() {
        own.field("claims").forbidden("claims may not be set for Resources at pod-level", errors);
    }
    validate_requirements(&own, Asker::Pod, claim_names, options, errors);
    let own_requests = own.field("requests");
    for (name, needed) in aggregate_container_requests(spec.value) {
        let Some(request) = own_requests.value.get(&name).and_then(|value| Quantity::from_value(value).ok()) else {
            continue;
        };
        if needed > request {
            let words = format!("must be greater than or equal to aggregate container requests of {needed}");
            errors.push(Error::invalid(&own_requests.path.key(&name), request.to_string(), words));
        }
    }
    let own_limits = own.field("limits");
    let limit_of = |name: &str| own_limits.value.get(name).and_then(|value| Quantity::from_value(value).ok());
    for (name, needed) in aggregate_container_limits(spec.value) {
        if let Some(limit) = limit_of(&name).filter(|limit| resource::is_huge_page(&name) && needed > *limit) {
            let words = format!("must be greater than or equal to aggregate container limits of {needed}");
            errors.push(Error::invalid(&own_limits.path.key(&name), limit.to_string(), words));
        }
    }
    let containers = own.path.child("containers");
    for (index, container) in elements(&spec.value["containers"]).iter().enumerate() {
        for (name, amount) in amounts(&container["resources"]["limits"]) {
            if let Some(limit) = limit_of(&name).filter(|limit| amount > *limit) {
                let words = format!("must be less than or equal to pod limits of {limit}");
                let container = containers.index(index);
                let key = container.key(&name);
                errors.push(Error::invalid(&key.child("limits"), amount.to_string(), words));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn container(requests: &Value, limits: &Value) -> Value {
        json!({"resources": {"requests": requests, "limits": limits}})
    }

    #[test]
    fn service_classes_follow_requests_and_limits() {
        let of = |containers: Value| qos_class(&json!({"spec": {"containers": containers}}));
        let full = json!({"cpu": "1", "memory": "1Gi"});
        assert_eq!(of(json!([{}])), "BestEffort");
        assert_eq!(of(json!([container(&full, &full)])), "Guaranteed");
        assert_eq!(of(json!([container(&full, &full), {}])), "Burstable");
        assert_eq!(of(json!([container(&json!({"cpu": "1"}), &json!({}))])), "Burstable");
        assert_eq!(of(json!([container(&json!({"cpu": "0"}), &json!({}))])), "BestEffort");
    }

    #[test]
    fn init_containers_count_where_they_need_more() {
        let pod = json!({"spec": {
            "containers": [container(&json!({"cpu": "1"}), &json!({})), container(&json!({"cpu": "1"}), &json!({}))],
            "initContainers": [
                {"restartPolicy": "Always", "resources": {"requests": {"cpu": "500m"}}},
                {"resources": {"requests": {"cpu": "5", "memory": "1Gi"}}},
            ],
            "overhead": {"cpu": "1m"},
        }});
        let requests = effective_requests(&pod);
        assert_eq!(requests["cpu"].to_string(), "5501m");
        assert_eq!(requests["memory"].to_string(), "1Gi");
    }
}
