//! What a control plane consists of.

/// A part of a control plane, as conditions and `ControlPlaneComponent` objects name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Component {
    /// Its name, as in stock Kubernetes.
    pub name: &'static str,
    /// What has to be available before it starts.
    pub needs: &'static [&'static str],
    /// What it is here, for people who look.
    pub role: &'static str,
    /// Whether the hosted cluster lists it as a `ClusterOperator`.
    pub is_operator: bool,
}

/// What the embedded runtime runs for each plane, all of it in this process.
pub const EMBEDDED_COMPONENTS: &[Component] = &[
    Component {
        name: "etcd",
        needs: &[],
        role: "the plane's data are a tenant of the management plane's own store",
        is_operator: false,
    },
    Component { name: "kube-apiserver", needs: &["etcd"], role: "the embedded Kubernetes API", is_operator: true },
    Component {
        name: "kube-controller-manager",
        needs: &["kube-apiserver"],
        role: "namespaces, garbage collection, service accounts, certificates, nodes, workloads and the endpoints of Services",
        is_operator: true,
    },
    Component {
        name: "kube-scheduler",
        needs: &["kube-apiserver"],
        role: "gives pods their nodes, inside the embedded Kubernetes API",
        is_operator: true,
    },
];
