//! Which free hosts a pool takes: spread over zones and racks, hosts that failed last, and no larger than needed. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use roost_object::selector::Selector;
use serde_json::Value;

use crate::hosts::{Host, Standing};

/// The selector that a spec means. An empty one means all.
pub(crate) fn selector(spec: &Value) -> Result<Selector, String> {
    let mut parts = Vec::new();
    for (key, value) in spec["matchLabels"].as_object().into_iter().flatten() {
        parts.push(format!("{key}={}", value.as_str().unwrap_or_default()));
    }
    for expression in spec["matchExpressions"].as_array().into_iter().flatten() {
        let key = expression["key"].as_str().unwrap_or_default();
        let values: Vec<&str> =
            expression["values"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        parts.push(match expression["operator"].as_str().unwrap_or_default() {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "Exists" => key.to_owned(),
            "DoesNotExist" => format!("!{key}"),
            other => return Err(format!("the operator {other:?} is not known")),
        });
    }
    Selector::parse(&parts.join(",")).map_err(|error| error.to_string())
}

/// The hosts to take, the best first. There are spare ones behind those that are wanted, for when another is quicker.
pub(super) fn choose(wanted: usize, free: &[Arc<Host>], taken: &[Arc<Host>]) -> Vec<Arc<Host>> {
    let mut zones: BTreeMap<String, usize> = BTreeMap::new();
    let mut racks: BTreeMap<Standing, usize> = BTreeMap::new();
    for host in taken {
        let (zone, rack) = host.standing();
        *zones.entry(zone.clone()).or_default() += 1;
        *racks.entry((zone, rack)).or_default() += 1;
    }
    // By how good a host is in itself; where it stands is looked at each time one was taken.
    let mut groups: BTreeMap<Standing, Vec<&Arc<Host>>> = BTreeMap::new();
    for host in free {
        groups.entry(host.standing()).or_default().push(host);
    }
    for group in groups.values_mut() {
        group.sort_by_cached_key(|host| std::cmp::Reverse(host.rank()));
    }
    let mut chosen = Vec::new();
    let enough = enough(wanted).min(free.len());
    while chosen.len() < enough {
        let best =
            groups.iter().filter_map(|(place, group)| Some((place, *group.last()?))).min_by_key(|(place, host)| {
                let zone = &place.0;
                let (in_zone, in_rack) = (zones.get(zone).copied(), racks.get(*place).copied());
                // A host that failed goes after all others, wherever it stands.
                (host.failures, in_zone.unwrap_or_default(), in_rack.unwrap_or_default(), host.rank())
            });
        let Some(place) = best.map(|(place, _)| place.clone()) else { break };
        if let Some(host) = groups.get_mut(&place).and_then(Vec::pop) {
            *zones.entry(place.0.clone()).or_default() += 1;
            *racks.entry(place).or_default() += 1;
            chosen.push(Arc::clone(host));
        }
    }
    chosen
}

/// Hosts beyond those that are wanted, for when others are quicker.
const SPARE: usize = 16;

/// How many hosts of one place are enough to choose from.
pub(super) fn enough(wanted: usize) -> usize {
    wanted.saturating_add(SPARE)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ZONE: &str = "topology.kubernetes.io/zone";
    const RACK: &str = "topology.kubernetes.io/rack";

    fn host(name: &str, zone: &str, rack: &str, processors: i64, failures: u32) -> Arc<Host> {
        let agent = json!({
            "metadata": {"namespace": "p", "name": name, "labels": {(ZONE): zone, (RACK): rack},
                "annotations": {(crate::hosts::FAILURES): failures.to_string()}},
            "spec": {"approved": true},
            "status": {"debugInfo": {"state": "known-unbound"}, "inventory": {"cpu": {"count": processors}}},
        });
        Arc::new(Host::of(&agent).expect("a host"))
    }

    fn names(chosen: &[Arc<Host>]) -> Vec<&str> {
        chosen.iter().map(|host| host.place.1.as_str()).collect()
    }

    #[test]
    fn hosts_are_spread_over_zones_and_then_over_racks() {
        let free = [
            host("a1", "a", "1", 4, 0),
            host("a2", "a", "1", 4, 0),
            host("a3", "a", "2", 4, 0),
            host("b1", "b", "1", 4, 0),
        ];
        assert_eq!(names(&choose(4, &free, &[])), ["a1", "b1", "a3", "a2"]);
        assert_eq!(names(&choose(2, &free, &[host("x", "a", "2", 4, 0)]))[..2], ["b1", "a1"]);
    }

    #[test]
    fn the_smallest_that_does_and_the_one_that_failed_last() {
        let free = [host("large", "", "", 64, 0), host("small", "", "", 4, 0), host("failed", "", "", 2, 3)];
        assert_eq!(names(&choose(3, &free, &[])), ["small", "large", "failed"]);
    }

    #[test]
    fn selectors_mean_what_the_api_means() {
        let spec = json!({"matchLabels": {"size": "large"}, "matchExpressions": [
            {"key": "zone", "operator": "NotIn", "values": ["a", "b"]}, {"key": "gpu", "operator": "DoesNotExist"}]});
        let selector = selector(&spec).expect("a selector");
        let labels = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect::<BTreeMap<_, _>>()
        };
        assert!(selector.matches(&labels(&[("size", "large"), ("zone", "c")])));
        assert!(!selector.matches(&labels(&[("size", "large"), ("zone", "a")])));
        assert!(!selector.matches(&labels(&[("size", "large"), ("gpu", "")])));
        assert!(super::selector(&json!({"matchExpressions": [{"key": "a", "operator": "Near"}]})).is_err());
        assert!(super::selector(&Value::Null).is_ok_and(|all| all.is_empty()));
    }
}
