//! The node authorizer: each kubelet reaches only what concerns its own node.

use std::sync::LazyLock;

use roost_object::field::quote;
use roost_object::selector::FieldSelector;

use super::NODE_LEASES;
use crate::attributes::{Attributes, ResourceAttributes};
use crate::authorizer::{Authorizer, Decision, Reason};
use crate::rbac::{Rule, RuleSet};

/// What kinds of objects are related to nodes through pods, volumes and the like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RelatedKind {
    /// A config map that a pod uses.
    ConfigMap,
    /// A secret that a pod or its volume uses.
    Secret,
    /// A pod itself.
    Pod,
    /// A claim that a pod mounts.
    PersistentVolumeClaim,
    /// The volume behind such a claim.
    PersistentVolume,
    /// A claim of devices that a pod has.
    ResourceClaim,
    /// An attachment of a volume to the node.
    VolumeAttachment,
    /// The account that a pod runs as.
    ServiceAccount,
    /// The devices that the node offers.
    ResourceSlice,
}

/// Knows which objects concern which nodes.
pub trait NodeGraph {
    /// Whether an object concerns a node.
    fn is_related(&self, node: &str, kind: RelatedKind, namespace: &str, name: &str) -> bool;
}

/// Decides on the requests of kubelets.
pub struct NodeAuthorizer<'a> {
    /// What concerns which node.
    pub graph: &'a dyn NodeGraph,
}

/// What every kubelet may do, where it does not matter which node it is.
static RULES: LazyLock<RuleSet> = LazyLock::new(|| RuleSet::new(node_rules()));

/// The rules of the role `system:node`.
pub fn node_rules() -> Vec<Rule> {
    const READ: &[&str] = &["get", "list", "watch"];
    const WRITE: &[&str] = &["get", "create", "update", "patch", "delete"];
    let table: &[(&[&str], &[&str], &[&str])] = &[
        (&["create"], &["authentication.k8s.io"], &["tokenreviews"]),
        (&["create"], &["authorization.k8s.io"], &["subjectaccessreviews", "localsubjectaccessreviews"]),
        (READ, &[""], &["services"]),
        (&["create", "get", "list", "watch"], &[""], &["nodes"]),
        (&["update", "patch"], &[""], &["nodes/status"]),
        (&["update", "patch"], &[""], &["nodes"]),
        (&["create", "update", "patch"], &["", "events.k8s.io"], &["events"]),
        (READ, &[""], &["pods"]),
        (&["create", "delete"], &[""], &["pods"]),
        (&["update", "patch"], &[""], &["pods/status"]),
        (&["create"], &[""], &["pods/eviction"]),
        (READ, &[""], &["secrets", "configmaps"]),
        (&["get"], &[""], &["persistentvolumeclaims", "persistentvolumes"]),
        (&["get"], &[""], &["endpoints"]),
        (&["create", "get", "list", "watch"], &["certificates.k8s.io"], &["certificatesigningrequests"]),
        (WRITE, &["coordination.k8s.io"], &["leases"]),
        (&["get"], &["storage.k8s.io"], &["volumeattachments"]),
        (&["create"], &[""], &["serviceaccounts/token"]),
        (&["get", "update", "patch"], &[""], &["persistentvolumeclaims/status"]),
        (&["get", "watch", "list"], &["storage.k8s.io"], &["csidrivers"]),
        (WRITE, &["storage.k8s.io"], &["csinodes"]),
        (READ, &["node.k8s.io"], &["runtimeclasses"]),
        (&["get"], &["resource.k8s.io"], &["resourceclaims"]),
        (&["deletecollection"], &["resource.k8s.io"], &["resourceslices"]),
        (&["get"], &[""], &["serviceaccounts"]),
    ];
    let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
    let rule = |(verbs, api_groups, resources): &(&[&str], &[&str], &[&str])| Rule {
        verbs: texts(verbs),
        api_groups: texts(api_groups),
        resources: texts(resources),
        ..Rule::default()
    };
    table.iter().map(rule).collect()
}

const ALLOW: Decision = Decision::Allow(Reason::NONE);
const SILENT: Decision = Decision::NoOpinion(Reason::NONE);

fn silent(reason: impl Into<Reason>) -> Decision {
    Decision::NoOpinion(reason.into())
}

impl Authorizer for NodeAuthorizer<'_> {
    fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        let Some(node) = attributes.user.node_name() else {
            return SILENT;
        };
        if node.is_empty() {
            return silent(format!("unknown node for user {}", quote(&attributes.user.name)));
        }
        if let Some(resource) = &attributes.resource {
            let request = Request { graph: self.graph, node, verb: attributes.verb, resource, attributes };
            match (resource.group, resource.resource) {
                ("", "secrets") => return request.read(RelatedKind::Secret),
                ("", "configmaps") => return request.read(RelatedKind::ConfigMap),
                ("", "persistentvolumeclaims") if resource.subresource == "status" => return request.claim_status(),
                ("", "persistentvolumeclaims") => return request.get(RelatedKind::PersistentVolumeClaim),
                ("", "persistentvolumes") => return request.get(RelatedKind::PersistentVolume),
                ("resource.k8s.io", "resourceclaims") => return request.get(RelatedKind::ResourceClaim),
                ("storage.k8s.io", "volumeattachments") => return request.get(RelatedKind::VolumeAttachment),
                ("", "serviceaccounts") => return request.service_account(),
                ("coordination.k8s.io", "leases") => return request.lease(),
                ("storage.k8s.io", "csinodes") => return request.csi_node(),
                ("resource.k8s.io", "resourceslices") => return request.resource_slice(),
                ("", "nodes") => return request.own_node(),
                ("", "pods") => return request.pod(),
                ("certificates.k8s.io", "podcertificaterequests") => return SILENT,
                _ => {}
            }
        }
        if RULES.allows(attributes) { ALLOW } else { SILENT }
    }
}

struct Request<'a> {
    graph: &'a dyn NodeGraph,
    node: &'a str,
    verb: &'a str,
    resource: &'a ResourceAttributes<'a>,
    attributes: &'a Attributes<'a>,
}

impl Request<'_> {
    fn related(&self, kind: RelatedKind) -> Decision {
        if self.resource.name.is_empty() {
            return silent("No Object name found");
        }
        self.has_relation(kind)
    }

    fn has_relation(&self, kind: RelatedKind) -> Decision {
        if self.graph.is_related(self.node, kind, self.resource.namespace, self.resource.name) {
            ALLOW
        } else {
            silent(format!("no relationship found between node '{}' and this object", self.node))
        }
    }

    fn claim_status(&self) -> Decision {
        if matches!(self.verb, "update" | "patch") {
            self.related(RelatedKind::PersistentVolumeClaim)
        } else {
            silent("can only get/update/patch this type")
        }
    }

    fn get(&self, kind: RelatedKind) -> Decision {
        if self.verb != "get" {
            silent("can only get individual resources of this type")
        } else if !self.resource.subresource.is_empty() {
            silent("cannot get subresource")
        } else {
            self.related(kind)
        }
    }

    fn read(&self, kind: RelatedKind) -> Decision {
        if !matches!(self.verb, "get" | "list" | "watch") {
            silent("can only read resources of this type")
        } else if !self.resource.subresource.is_empty() {
            silent("cannot read subresource")
        } else if self.resource.namespace.is_empty() {
            silent("can only read namespaced object of this type")
        } else {
            self.related(kind)
        }
    }

    fn service_account(&self) -> Decision {
        if self.verb == "get" && self.resource.subresource.is_empty() {
            self.read(RelatedKind::ServiceAccount)
        } else if self.verb != "create" || self.resource.name.is_empty() {
            silent("can only create tokens for individual service accounts")
        } else if self.resource.subresource != "token" {
            silent("can only create token subresource of serviceaccount")
        } else {
            self.has_relation(RelatedKind::ServiceAccount)
        }
    }

    fn lease(&self) -> Decision {
        if !matches!(self.verb, "get" | "create" | "update" | "patch" | "delete") {
            silent("can only get, create, update, patch, or delete a node lease")
        } else if self.resource.namespace != NODE_LEASES {
            silent(format!("can only access leases in the {} system namespace", quote(NODE_LEASES)))
        } else if self.verb != "create" && self.resource.name != self.node {
            silent("can only access node lease with the same name as the requesting node")
        } else {
            ALLOW
        }
    }

    fn csi_node(&self) -> Decision {
        if !matches!(self.verb, "get" | "create" | "update" | "patch" | "delete") {
            silent("can only get, create, update, patch, or delete a CSINode")
        } else if !self.resource.subresource.is_empty() {
            silent("cannot authorize CSINode subresources")
        } else if self.verb != "create" && self.resource.name != self.node {
            silent("can only access CSINode with the same name as the requesting node")
        } else {
            ALLOW
        }
    }

    fn resource_slice(&self) -> Decision {
        if !self.resource.subresource.is_empty() {
            return silent("cannot authorize ResourceSlice subresources");
        }
        match self.verb {
            "create" => ALLOW,
            "get" | "update" | "patch" | "delete" => self.related(RelatedKind::ResourceSlice),
            "watch" | "list" | "deletecollection" if self.selects_own("spec.nodeName") => ALLOW,
            "watch" | "list" | "deletecollection" => {
                silent("can only list/watch/deletecollection resourceslices with nodeName field selector")
            }
            _ => silent(
                "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, \
                 delete, deletecollection",
            ),
        }
    }

    fn own_node(&self) -> Decision {
        match (self.resource.subresource, self.verb) {
            ("", "create" | "update" | "patch") | ("status", "update" | "patch") => ALLOW,
            ("", "get" | "list" | "watch") => match self.resource.name {
                name if name == self.node => ALLOW,
                "" => silent(format!("node '{}' cannot read all nodes, only its own Node object", self.node)),
                name => silent(format!("node '{}' cannot read '{name}', only its own Node object", self.node)),
            },
            _ => SILENT,
        }
    }

    fn pod(&self) -> Decision {
        match (self.resource.subresource, self.verb) {
            ("", "get") => self.get(RelatedKind::Pod),
            ("", "list" | "watch") if self.selects_own("spec.nodeName") => ALLOW,
            ("", "list" | "watch") if !self.resource.name.is_empty() => self.related(RelatedKind::Pod),
            ("", "list" | "watch") => silent("can only list/watch pods with spec.nodeName field selector"),
            ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create") => ALLOW,
            _ => SILENT,
        }
    }

    fn selects_own(&self, field: &str) -> bool {
        let requirements = self.attributes.field_selector.map(FieldSelector::requirements).unwrap_or_default();
        requirements.iter().any(|one| one.field == field && !one.negated && one.value == self.node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user::{NODES, User};

    struct Graph;

    impl NodeGraph for Graph {
        fn is_related(&self, node: &str, _: RelatedKind, namespace: &str, name: &str) -> bool {
            (node, namespace, name) == ("n", "a", "mine") || (node, name) == ("n", "volume")
        }
    }

    fn decide(verb: &str, path: &str, fields: &str) -> (bool, String) {
        let user = User::new("system:node:n", [NODES]);
        let [group, resource, namespace, name] = path.split('|').collect::<Vec<_>>().try_into().unwrap();
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let selector = FieldSelector::parse(fields).unwrap();
        let resource = ResourceAttributes { group, version: "v1", resource, subresource, namespace, name };
        let mut attributes = Attributes::resource(&user, verb, resource);
        attributes.field_selector = Some(&selector);
        let decision = NodeAuthorizer { graph: &Graph }.authorize(&attributes);
        assert!(!matches!(decision, Decision::Deny(_)));
        (decision.is_allowed(), decision.reason().to_string())
    }

    #[test]
    fn kubelets_reach_what_concerns_their_node() {
        let unrelated = "no relationship found between node 'n' and this object";
        let table = [
            ("get", "|secrets|a|mine", "", None),
            ("watch", "|configmaps|a|mine", "metadata.name=mine", None),
            ("get", "|secrets|a|other", "", Some(unrelated)),
            ("list", "|secrets|a|", "", Some("No Object name found")),
            ("list", "|secrets||", "", Some("can only read namespaced object of this type")),
            ("update", "|secrets|a|mine", "", Some("can only read resources of this type")),
            ("get", "|secrets/x|a|mine", "", Some("cannot read subresource")),
            ("get", "|persistentvolumeclaims|a|mine", "", None),
            ("list", "|persistentvolumeclaims|a|", "", Some("can only get individual resources of this type")),
            ("patch", "|persistentvolumeclaims/status|a|mine", "", None),
            ("get", "|persistentvolumeclaims/status|a|mine", "", Some("can only get/update/patch this type")),
            ("get", "|persistentvolumes||volume", "", None),
            ("get", "resource.k8s.io|resourceclaims|a|mine", "", None),
            ("get", "storage.k8s.io|volumeattachments||x", "", Some(unrelated)),
            ("get", "|serviceaccounts|a|mine", "", None),
            ("create", "|serviceaccounts/token|a|mine", "", None),
            ("create", "|serviceaccounts/token|a|other", "", Some(unrelated)),
            ("create", "|serviceaccounts|a|x", "", Some("can only create token subresource of serviceaccount")),
            ("list", "|serviceaccounts|a|", "", Some("can only create tokens for individual service accounts")),
            ("update", "coordination.k8s.io|leases|kube-node-lease|n", "", None),
            ("create", "coordination.k8s.io|leases|kube-node-lease|", "", None),
            (
                "get",
                "coordination.k8s.io|leases|kube-node-lease|m",
                "",
                Some("can only access node lease with the same name as the requesting node"),
            ),
            (
                "get",
                "coordination.k8s.io|leases|default|n",
                "",
                Some("can only access leases in the \"kube-node-lease\" system namespace"),
            ),
            (
                "list",
                "coordination.k8s.io|leases|kube-node-lease|",
                "",
                Some("can only get, create, update, patch, or delete a node lease"),
            ),
            ("create", "storage.k8s.io|csinodes||", "", None),
            (
                "get",
                "storage.k8s.io|csinodes||m",
                "",
                Some("can only access CSINode with the same name as the requesting node"),
            ),
            ("list", "resource.k8s.io|resourceslices||", "spec.nodeName=n", None),
            (
                "list",
                "resource.k8s.io|resourceslices||",
                "",
                Some("can only list/watch/deletecollection resourceslices with nodeName field selector"),
            ),
            ("get", "|nodes||n", "", None),
            ("get", "|nodes||m", "", Some("node 'n' cannot read 'm', only its own Node object")),
            ("list", "|nodes||", "", Some("node 'n' cannot read all nodes, only its own Node object")),
            ("patch", "|nodes/status||m", "", None),
            ("delete", "|nodes||n", "", Some("")),
            ("list", "|pods||", "spec.nodeName=n", None),
            ("list", "|pods||", "spec.nodeName!=n", Some("can only list/watch pods with spec.nodeName field selector")),
            ("list", "|pods||", "", Some("can only list/watch pods with spec.nodeName field selector")),
            ("get", "|pods|a|mine", "", None),
            ("get", "|pods|a|other", "", Some(unrelated)),
            ("create", "|pods/eviction|a|x", "", None),
            ("patch", "|pods|a|mine", "", Some("")),
            ("list", "|services||", "", None),
            ("create", "certificates.k8s.io|certificatesigningrequests||", "", None),
            ("create", "certificates.k8s.io|podcertificaterequests|a|", "", Some("")),
            ("list", "apps|deployments||", "", Some("")),
        ];
        for (verb, path, fields, refused) in table {
            let expected = (refused.is_none(), refused.unwrap_or_default().to_owned());
            assert_eq!(decide(verb, path, fields), expected, "{verb} {path} {fields}");
        }
    }

    #[test]
    fn only_kubelets_are_judged() {
        let authorize = |user: &User| NodeAuthorizer { graph: &Graph }.authorize(&Attributes::path(user, "get", "/x"));
        assert_eq!(authorize(&User::new("alice", ["dev"])), SILENT);
        assert_eq!(authorize(&User::new("system:node:", [NODES])), silent("unknown node for user \"system:node:\""));
    }
}
