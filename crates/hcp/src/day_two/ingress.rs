//! Which objects in a hosted cluster give its ingress an address, a place, or a shard of its own.

use std::net::IpAddr;

use ipnet::IpNet;
use roost_object::selector::Selector;
use serde_json::{Map, Value, json};

use super::networks;
use crate::high::UsageError;

/// Where MetalLB looks for its pools.
pub(crate) const METALLB_NAMESPACE: &str = "metallb-system";
/// Where the ingress operator looks for controllers.
pub(crate) const CONTROLLER_NAMESPACE: &str = "openshift-ingress-operator";
/// What the pods of a controller are labelled with.
const ROUTER_LABEL: &str = "ingresscontroller.operator.openshift.io/deployment-ingresscontroller";
/// More routers than this are not needed to outlive one node.
const ROUTERS: usize = 2;

/// What is wanted.
pub(crate) struct Wanted {
    /// The addresses as MetalLB takes them.
    pub(crate) ranges: Vec<String>,
    pub(crate) nodes: Option<Selector>,
    pub(crate) shard: Option<Shard>,
    pub(crate) service_namespace: String,
    pub(crate) service_selector: Map<String, Value>,
}

/// A controller beside the default one.
pub(crate) struct Shard {
    pub(crate) name: String,
    pub(crate) domain: String,
    pub(crate) routes: Map<String, Value>,
}

/// What to do, in this order.
#[derive(Default)]
pub(crate) struct Plan {
    /// Nodes, and whether they have the label from now on.
    pub(crate) labels: Vec<(String, bool)>,
    pub(crate) label: String,
    /// The controller: made anew, or changed where the operator has made it.
    pub(crate) controller: Option<Value>,
    pub(crate) objects: Vec<Value>,
    pub(crate) warnings: Vec<String>,
}

impl Wanted {
    /// The name of the controller, and of what belongs to it.
    pub(crate) fn controller(&self) -> &str {
        self.shard.as_ref().map_or("default", |shard| &shard.name)
    }

    /// Decides. The nodes are those of the hosted cluster, the agents those that may be them.
    pub(crate) fn plan(&self, nodes: &[Value], agents: &[Value]) -> Result<Plan, UsageError> {
        let mut plan = Plan { label: format!("roost.dev/ingress-{}", self.controller()), ..Plan::default() };
        let chosen = self.place(&mut plan, nodes)?;
        plan.controller = self.controller_object(&plan.label, chosen.len());
        if !self.ranges.is_empty() {
            plan.objects = self.address_objects(&plan.label);
            plan.warnings = self.strangers(&chosen, agents);
        }
        Ok(plan)
    }

    /// Labels the nodes that match, takes the label from the others, and says which matched.
    fn place<'a>(&self, plan: &mut Plan, nodes: &'a [Value]) -> Result<Vec<&'a Value>, UsageError> {
        let Some(selector) = &self.nodes else { return Ok(nodes.iter().collect()) };
        let name = |node: &Value| node["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let chosen: Vec<&Value> = nodes.iter().filter(|node| selector.matches_object(node)).collect();
        if chosen.is_empty() {
            let all: Vec<String> = nodes.iter().map(name).collect();
            let known = if all.is_empty() { "it has no node yet".to_owned() } else { all.join(", ") };
            let problem = format!("no node of the cluster matches; its nodes: {known}");
            return Err(UsageError::Value { flag: "nodes", value: selector.to_string(), problem });
        }
        for node in nodes {
            let (wanted, has) = (selector.matches_object(node), !node["metadata"]["labels"][&plan.label].is_null());
            if wanted != has {
                plan.labels.push((name(node), wanted));
            }
        }
        Ok(chosen)
    }

    fn controller_object(&self, label: &str, nodes: usize) -> Option<Value> {
        let placement = self.nodes.is_some().then(|| json!({"nodeSelector": {"matchLabels": {label: "true"}}}));
        let metadata = json!({"name": self.controller(), "namespace": CONTROLLER_NAMESPACE});
        let mut spec = Map::new();
        spec.extend(placement.map(|placement| ("nodePlacement".to_owned(), placement)));
        if let Some(shard) = &self.shard {
            // Without an address of its own, a shard is reached at its nodes': no daemon has to move an address around.
            let strategy = if self.ranges.is_empty() { "HostNetwork" } else { "Private" };
            spec.insert("domain".to_owned(), json!(shard.domain));
            spec.insert("replicas".to_owned(), json!(nodes.clamp(1, ROUTERS)));
            spec.insert("endpointPublishingStrategy".to_owned(), json!({"type": strategy}));
            if !shard.routes.is_empty() {
                spec.insert("routeSelector".to_owned(), json!({"matchLabels": shard.routes}));
            }
        }
        (!spec.is_empty()).then(|| {
            json!({"apiVersion": "operator.openshift.io/v1", "kind": "IngressController", "metadata": metadata, "spec": spec})
        })
    }

    fn address_objects(&self, label: &str) -> Vec<Value> {
        let name = format!("ingress-{}", self.controller());
        let place = json!({"name": name, "namespace": METALLB_NAMESPACE});
        let mut advertisement = json!({"ipAddressPools": [name]});
        if self.nodes.is_some() {
            advertisement["nodeSelectors"] = json!([{"matchLabels": {label: "true"}}]);
        }
        let mut selector = self.service_selector.clone();
        if selector.is_empty() {
            selector.insert(ROUTER_LABEL.to_owned(), json!(self.controller()));
        }
        let port = |name: &str, port: u16| json!({"name": name, "port": port, "protocol": "TCP", "targetPort": name});
        vec![
            json!({
                "apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool", "metadata": place,
                // Only who names the pool gets an address of it.
                "spec": {"addresses": self.ranges, "autoAssign": false},
            }),
            json!({
                "apiVersion": "metallb.io/v1beta1", "kind": "L2Advertisement", "metadata": place, "spec": advertisement,
            }),
            json!({
                "apiVersion": "v1", "kind": "Service",
                "metadata": {
                    "name": name, "namespace": self.service_namespace,
                    // Versions before 0.14 know the second.
                    "annotations": {"metallb.io/address-pool": name, "metallb.universe.tf/address-pool": name},
                },
                "spec": {"type": "LoadBalancer", "selector": selector, "ports": [port("http", 80), port("https", 443)]},
            }),
        ]
    }

    /// Ranges that no chosen node has a network for: nobody would answer for them on layer 2.
    fn strangers(&self, chosen: &[&Value], agents: &[Value]) -> Vec<String> {
        let known: Vec<IpNet> = chosen.iter().flat_map(|node| networks::of_node(node, agents)).collect();
        let first =
            |range: &str| -> Option<IpAddr> { range.split(['-', '/']).next().and_then(|address| address.parse().ok()) };
        let is_strange = |range: &&String| {
            !known.is_empty()
                && first(range).is_some_and(|address| !known.iter().any(|network| network.contains(&address)))
        };
        let tell = |range: &String| {
            format!(
                "no chosen node is in the network of {range}, so nobody would answer for it; their networks are {}",
                networks::listed(&known)
            )
        };
        self.ranges.iter().filter(is_strange).map(tell).collect()
    }
}

/// A range as MetalLB takes it: a network, or a first and a last address.
pub(crate) fn range(text: &str) -> Result<String, UsageError> {
    let wrong =
        |problem: &str| UsageError::Value { flag: "address", value: text.to_owned(), problem: problem.to_owned() };
    if let Ok(network) = text.parse::<IpNet>() {
        return Ok(network.trunc().to_string());
    }
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(IpNet::from(address).to_string());
    }
    let Some((first, last)) = text.split_once('-') else {
        return Err(wrong("is not an address, a network such as 192.168.4.224/29, or FIRST-LAST"));
    };
    let (Ok(first), Ok(last)) = (first.trim().parse::<IpAddr>(), last.trim().parse::<IpAddr>()) else {
        return Err(wrong("both ends must be addresses"));
    };
    if first.is_ipv4() != last.is_ipv4() || first > last {
        return Err(wrong("the first address must come before the last one, in the same family"));
    }
    Ok(format!("{first}-{last}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, labels: &Value, address: &str) -> Value {
        let networks = json!([address]).to_string();
        json!({"metadata": {"name": name, "labels": labels, "annotations": {"k8s.ovn.org/host-cidrs": networks}}})
    }

    fn wanted(ranges: &[&str], nodes: Option<&str>) -> Wanted {
        Wanted {
            ranges: ranges.iter().map(|text| range(text).unwrap()).collect(),
            nodes: nodes.map(|text| Selector::parse(text).unwrap()),
            shard: None,
            service_namespace: "openshift-ingress".to_owned(),
            service_selector: Map::new(),
        }
    }

    fn nodes() -> [Value; 3] {
        [
            node("worker-0", &json!({"zone": "a"}), "192.168.4.10/24"),
            node("worker-1", &json!({"roost.dev/ingress-default": "true", "remote": ""}), "10.9.0.5/24"),
            node("worker-2", &json!({"zone": "b"}), "192.168.4.12/24"),
        ]
    }

    #[test]
    fn an_address_becomes_a_pool_that_only_the_service_uses() {
        let plan = wanted(&["192.168.4.224/29"], None).plan(&nodes(), &[]).unwrap();
        assert!(plan.labels.is_empty() && plan.controller.is_none() && plan.warnings.is_empty());
        let [pool, advertisement, service] = plan.objects.as_slice() else { panic!("{:?}", plan.objects) };
        assert_eq!(pool["spec"], json!({"addresses": ["192.168.4.224/29"], "autoAssign": false}));
        assert_eq!(advertisement["spec"], json!({"ipAddressPools": ["ingress-default"]}));
        assert_eq!(service["spec"]["selector"], json!({ROUTER_LABEL: "default"}));
        assert_eq!(service["metadata"]["annotations"]["metallb.io/address-pool"], "ingress-default");
    }

    #[test]
    fn expressions_become_a_label_that_ingress_controllers_understand() {
        let plan = wanted(&["10.0.0.10-10.0.0.12"], Some("!remote,zone in (a,b)")).plan(&nodes(), &[]).unwrap();
        let labels: Vec<(&str, bool)> = plan.labels.iter().map(|(name, on)| (name.as_str(), *on)).collect();
        assert_eq!(labels, [("worker-0", true), ("worker-1", false), ("worker-2", true)]);
        let controller = plan.controller.unwrap();
        assert_eq!(controller["metadata"]["name"], "default");
        assert_eq!(
            controller["spec"],
            json!({"nodePlacement": {"nodeSelector": {"matchLabels": {"roost.dev/ingress-default": "true"}}}})
        );
        assert_eq!(
            plan.warnings,
            [
                "no chosen node is in the network of 10.0.0.10-10.0.0.12, so nobody would answer for it; their networks are \
              192.168.4.0/24"
            ]
        );
        let refused = wanted(&[], Some("zone=c")).plan(&nodes(), &[]).err().unwrap().to_string();
        assert!(
            refused.ends_with("no node of the cluster matches; its nodes: worker-0, worker-1, worker-2"),
            "{refused}"
        );
    }

    #[test]
    fn a_shard_for_remote_nodes_needs_no_address_that_moves() {
        let mut wanted = wanted(&[], Some("remote"));
        let routes = json!({"type": "rwn-route"}).as_object().cloned().unwrap();
        wanted.shard = Some(Shard { name: "rwn".to_owned(), domain: "apps-rwn.example.test".to_owned(), routes });
        let plan = wanted.plan(&nodes(), &[]).unwrap();
        assert_eq!(plan.labels, [("worker-1".to_owned(), true)]);
        assert!(plan.objects.is_empty());
        assert_eq!(
            plan.controller.unwrap()["spec"],
            json!({
                "domain": "apps-rwn.example.test",
                "replicas": 1,
                "endpointPublishingStrategy": {"type": "HostNetwork"},
                "nodePlacement": {"nodeSelector": {"matchLabels": {"roost.dev/ingress-rwn": "true"}}},
                "routeSelector": {"matchLabels": {"type": "rwn-route"}},
            })
        );
    }

    #[test]
    fn ranges_are_read_as_people_write_them() {
        assert_eq!(range("10.0.0.9").unwrap(), "10.0.0.9/32");
        assert_eq!(range("10.0.0.9/29").unwrap(), "10.0.0.8/29");
        assert_eq!(range("fd00::1-fd00::9").unwrap(), "fd00::1-fd00::9");
        for wrong in ["", "ten", "10.0.0.9-10.0.0.1", "10.0.0.1-fd00::1", "10.0.0.0/33", "10.0.0.1-x"] {
            assert!(range(wrong).is_err(), "{wrong}");
        }
    }
}
