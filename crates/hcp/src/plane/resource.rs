//! The kinds that the command line works with, and where they live on the server.

/// A kind of objects.
#[derive(Debug)]
pub(crate) struct Resource {
    group: &'static str,
    version: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) kind: &'static str,
    namespaced: bool,
}

const fn core(plural: &'static str, kind: &'static str, namespaced: bool) -> Resource {
    Resource { group: "", version: "v1", plural, kind, namespaced }
}

const fn hypershift(plural: &'static str, kind: &'static str) -> Resource {
    Resource { group: "hypershift.openshift.io", version: "v1beta1", plural, kind, namespaced: true }
}

const fn discovery(plural: &'static str, kind: &'static str) -> Resource {
    Resource { group: "agent-install.openshift.io", version: "v1beta1", plural, kind, namespaced: true }
}

const fn metallb(plural: &'static str, kind: &'static str) -> Resource {
    Resource { group: "metallb.io", version: "v1beta1", plural, kind, namespaced: true }
}

pub(crate) static NAMESPACES: Resource = core("namespaces", "Namespace", false);
pub(crate) static NODES: Resource = core("nodes", "Node", false);
pub(crate) static SECRETS: Resource = core("secrets", "Secret", true);
static SERVICES: Resource = core("services", "Service", true);
pub(crate) static CONFIG_MAPS: Resource = core("configmaps", "ConfigMap", true);
pub(crate) static HOSTED_CLUSTERS: Resource = hypershift("hostedclusters", "HostedCluster");
pub(crate) static HOSTED_CONTROL_PLANES: Resource = hypershift("hostedcontrolplanes", "HostedControlPlane");
pub(crate) static CONTROL_PLANE_COMPONENTS: Resource = hypershift("controlplanecomponents", "ControlPlaneComponent");
pub(crate) static NODE_POOLS: Resource = hypershift("nodepools", "NodePool");
pub(crate) static AGENTS: Resource = discovery("agents", "Agent");
pub(crate) static INFRA_ENVS: Resource = discovery("infraenvs", "InfraEnv");
pub(crate) static ADDRESS_POOLS: Resource = metallb("ipaddresspools", "IPAddressPool");
static ADVERTISEMENTS: Resource = metallb("l2advertisements", "L2Advertisement");
pub(crate) static INGRESS_CONTROLLERS: Resource = Resource {
    group: "operator.openshift.io",
    version: "v1",
    plural: "ingresscontrollers",
    kind: "IngressController",
    namespaced: true,
};
pub(crate) static EGRESS_IPS: Resource =
    Resource { group: "k8s.ovn.org", version: "v1", plural: "egressips", kind: "EgressIP", namespaced: false };

impl Resource {
    /// The kind that creates objects such as these.
    pub(crate) fn of_kind(kind: &str) -> Option<&'static Resource> {
        let all: [&'static Resource; 8] = [
            &NAMESPACES,
            &SECRETS,
            &CONFIG_MAPS,
            &HOSTED_CLUSTERS,
            &NODE_POOLS,
            &SERVICES,
            &ADDRESS_POOLS,
            &ADVERTISEMENTS,
        ];
        all.into_iter().find(|resource| resource.kind == kind)
    }

    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The name that kubectl prints with `-o name`, without the object's.
    pub(crate) fn printed(&self) -> String {
        let singular = self.kind.to_lowercase();
        if self.group.is_empty() { singular } else { format!("{singular}.{}", self.group) }
    }

    pub(super) fn path(&self, namespace: &str, name: Option<&str>) -> String {
        let mut path = if self.group.is_empty() { "/api/".to_owned() } else { format!("/apis/{}/", self.group) };
        path.push_str(self.version);
        if self.namespaced && !namespace.is_empty() {
            path.push_str("/namespaces/");
            path.push_str(namespace);
        }
        path.push('/');
        path.push_str(self.plural);
        if let Some(name) = name {
            path.push('/');
            path.push_str(name);
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::{HOSTED_CLUSTERS, NAMESPACES, SECRETS};

    #[test]
    fn paths_are_the_servers() {
        assert_eq!(NAMESPACES.path("", Some("clusters")), "/api/v1/namespaces/clusters");
        assert_eq!(SECRETS.path("clusters", None), "/api/v1/namespaces/clusters/secrets");
        assert_eq!(
            HOSTED_CLUSTERS.path("clusters", Some("demo")),
            "/apis/hypershift.openshift.io/v1beta1/namespaces/clusters/hostedclusters/demo"
        );
        assert_eq!(HOSTED_CLUSTERS.path("", None), "/apis/hypershift.openshift.io/v1beta1/hostedclusters");
        assert_eq!(HOSTED_CLUSTERS.printed(), "hostedcluster.hypershift.openshift.io");
    }
}
