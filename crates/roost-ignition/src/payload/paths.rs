//! Where things lie on a node.

/// The kubeconfig with the bootstrap token of this node alone.
pub const BOOTSTRAP_KUBECONFIG: &str = "/etc/kubernetes/kubeconfig";
/// The kubelet's configuration.
pub const KUBELET_CONFIG: &str = "/etc/kubernetes/kubelet.conf";
/// Additions to the kubelet's configuration that a host makes for itself, in the order of their names.
pub const KUBELET_CONFIG_DIRECTORY: &str = "/etc/kubernetes/kubelet.conf.d";
/// Whose serving certificate the API server shows.
pub const CA: &str = "/etc/kubernetes/ca.crt";
/// Whose client certificates the kubelet believes.
pub const KUBELET_CLIENT_CA: &str = "/etc/kubernetes/kubelet-ca.crt";
/// What the kubelet's unit is told about this node: name, labels, provider ID.
pub const KUBELET_ENV: &str = "/etc/kubernetes/kubelet-env";
/// The content hash of the configuration that the node has.
pub const CONFIG_HASH: &str = "/etc/kubernetes/config-hash";
/// Static pods.
pub const STATIC_PODS: &str = "/etc/kubernetes/manifests";
/// The kubeconfig that the kubelet writes when it has a certificate.
pub const KUBECONFIG: &str = "/var/lib/kubelet/kubeconfig";
/// What images are pulled with.
pub const PULL_SECRET: &str = "/var/lib/kubelet/config.json";
/// Where the kubelet keeps its certificates.
pub const KUBELET_CERTIFICATES: &str = "/var/lib/kubelet/pki";
/// The kubelet's unit.
pub const KUBELET_UNIT: &str = "kubelet.service";
/// The kubelet, where it is fetched as an artifact.
pub const KUBELET_BINARY: &str = "/usr/local/bin/kubelet";
/// The agent, where it is fetched as an artifact.
pub const AGENT_BINARY: &str = "/usr/local/bin/hcp-agent";
/// What the agent's service is told: where configurations come from.
pub const AGENT_CONFIG: &str = "/etc/kubernetes/agent.json";
/// The agent's service.
pub const AGENT_UNIT: &str = "hcp-agent.service";
/// What the agent's service is told of the pod network; not there where others bring one.
pub const NETWORK_CONFIG: &str = "/etc/kubernetes/network.json";
/// Modules that are loaded at boot.
pub const MODULES: &str = "/etc/modules-load.d/99-kubernetes.conf";
/// Kernel settings.
pub const SYSCTLS: &str = "/etc/sysctl.d/99-kubernetes.conf";
/// Where network plugins are configured.
pub const CNI_CONFIG: &str = "/etc/cni/net.d";
/// Where network plugins lie, unless the pool says otherwise.
pub const CNI_BINARIES: &str = "/opt/cni/bin";
/// containerd's configuration.
pub const CONTAINERD_CONFIG: &str = "/etc/containerd/config.toml";
/// containerd's mirrors, one directory a registry.
pub const CONTAINERD_REGISTRIES: &str = "/etc/containerd/certs.d";
/// CRI-O's configuration.
pub const CRIO_CONFIG: &str = "/etc/crio/crio.conf.d/10-node.conf";
/// Mirrors for CRI-O and podman.
pub const REGISTRIES: &str = "/etc/containers/registries.conf.d/99-mirrors.conf";
/// Proxy settings of the services.
pub const PROXY_ENV: &str = "/etc/kubernetes/proxy-env";
/// The user's authorities, where RHEL and its like look for them.
pub const TRUST_BUNDLE_RHEL: &str = "/etc/pki/ca-trust/source/anchors/user-ca-bundle.crt";
/// The user's authorities, where Debian and Ubuntu look for them.
pub const TRUST_BUNDLE_DEBIAN: &str = "/usr/local/share/ca-certificates/user-ca-bundle.crt";

/// What no user's configuration may write: with any of these changed, a host could join as another.
pub const RESERVED: &[&str] =
    &[BOOTSTRAP_KUBECONFIG, KUBECONFIG, CA, KUBELET_CLIENT_CA, KUBELET_ENV, KUBELET_CERTIFICATES, CONFIG_HASH];
