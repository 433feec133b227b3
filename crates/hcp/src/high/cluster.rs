//! The meaning of `hcp create cluster`.

use ipnet::IpNet;

use crate::arguments::{ClusterFlags, ClusterPlatform, CreateCluster, CreateOutput, KubevirtFlags, Naming};
use crate::flavour::Flavour;

use super::nodepool::{ARCHITECTURES, UPGRADE_TYPES, agent_selector};
use super::usage::UsageError;
use super::values::{apart, choice, label, labels, networks, pairs, paused_until, quantity, release_image, toleration};
use super::virtual_machine;
use super::{
    ControlPlane, Files, HighArguments, Mode, Network, NodePlatform, NodePool, Platform, PlatformType, Publishing,
    Release, Timeouts, patience,
};

const AVAILABILITY_POLICIES: &[&str] = &["HighlyAvailable", "SingleReplica"];
const NETWORK_TYPES: &[&str] = &["OVNKubernetes", "OpenShiftSDN", "Calico", "Other"];
const CATALOG_PLACEMENTS: &[&str] = &["management", "guest"];
const FEATURE_SETS: &[&str] = &["Default", "TechPreviewNoUpgrade", "DevPreviewNoUpgrade", "CustomNoUpgrade", "OKD"];
const CAPABILITIES: &[&str] =
    &["ImageRegistry", "openshift-samples", "Insights", "baremetal", "Console", "NodeTuning", "Ingress"];
/// What OVNKubernetes can work with.
const MTU: std::ops::RangeInclusive<u32> = 576..=9216;
const DEFAULT_BASE_DOMAIN: &str = "example.com";
const DEFAULT_ETCD_SIZE: &str = "8Gi";
const SERVICE_NETWORK: &str = "172.31.0.0/16";
const CLUSTER_NETWORK: &str = "10.132.0.0/14";
const SERVICE_NETWORK_6: &str = "fd02::/112";
const CLUSTER_NETWORK_6: &str = "fd01::/48";
/// The longest name of a namespace.
const LONGEST_LABEL: usize = 63;
/// The annotation that names another image of the control plane operator.
const OPERATOR_IMAGE: &str = "hypershift.openshift.io/control-plane-operator-image";

/// Gives the flags and the contents of the files they name a meaning, or says what is wrong with them.
pub(crate) fn resolve(low: &CreateCluster, files: Files, flavour: Flavour) -> Result<HighArguments, UsageError> {
    let flags = &low.flags;
    let (name, namespace) = names(&flags.naming)?;
    if flags.naming.pull_secret.is_none() {
        return Err(UsageError::Required("pull-secret"));
    }
    if flags.naming.generate_ssh && flags.naming.ssh_key.is_some() {
        return Err(UsageError::Together("generate-ssh", "ssh-key"));
    }
    let platform = platform(&low.platform)?;
    let node_pool = node_pool(flags, &low.platform, platform.kind())?;
    let mut annotations = pairs("annotations", &flags.naming.annotations)?;
    if let Some(image) = given(flags.release.control_plane_operator_image.as_ref()) {
        annotations.insert(OPERATOR_IMAGE.to_owned(), image.to_owned());
    }
    Ok(HighArguments {
        name,
        namespace,
        infra_id: given(flags.naming.infra_id.as_ref()).map(|id| label("infra-id", id)).transpose()?,
        annotations,
        labels: labels("labels", &flags.naming.labels)?,
        files,
        generate_ssh: flags.naming.generate_ssh,
        paused_until: given(flags.naming.paused_until.as_ref())
            .map(|until| paused_until("pausedUntil", until))
            .transpose()?,
        release: release(flags)?,
        network: network(flags, &low.platform)?,
        control_plane: control_plane(flags, flavour)?,
        platform,
        node_pool,
        mode: mode(&flags.output)?,
        version_check: flags.output.version_check,
    })
}

/// A flag that was given an empty value counts as not given, as upstream has it.
fn given(value: Option<&String>) -> Option<&str> {
    value.map(String::as_str).filter(|value| !value.is_empty())
}

fn names(naming: &Naming) -> Result<(String, String), UsageError> {
    let name = given(naming.name.as_ref()).ok_or(UsageError::Required("name"))?;
    let name = label("name", name)?;
    let namespace = label("namespace", &naming.namespace)?;
    if namespace.len() + 1 + name.len() > LONGEST_LABEL {
        return Err(UsageError::ControlPlaneNamespace { namespace, name });
    }
    Ok((name, namespace))
}

fn mode(output: &CreateOutput) -> Result<Mode, UsageError> {
    let render = output.render || output.render_into.is_some();
    if render && output.dry_run {
        return Err(UsageError::Together("render", "dry-run"));
    }
    if output.render_sensitive && !render {
        return Err(UsageError::Needs("render-sensitive", "render"));
    }
    if render {
        return Ok(Mode::Render { into: output.render_into.clone(), sensitive: output.render_sensitive });
    }
    if output.dry_run {
        return Ok(Mode::DryRun);
    }
    Ok(Mode::Create { wait: output.wait.then(|| patience(output.timeout)) })
}

fn release(flags: &ClusterFlags) -> Result<Release, UsageError> {
    let low = &flags.release;
    let image = given(low.release_image.as_ref()).map(release_image).transpose()?;
    if image.is_none() && given(low.release_stream.as_ref()).is_some() {
        return Err(UsageError::ReleaseStream);
    }
    let capabilities = |flag: &'static str, values: &[String]| {
        values.iter().map(|value| choice(flag, value, CAPABILITIES)).collect::<Result<Vec<_>, _>>()
    };
    let disabled = capabilities("disable-cluster-capabilities", &low.disable_cluster_capabilities)?;
    let enabled = capabilities("enable-cluster-capabilities", &low.enable_cluster_capabilities)?;
    let has = |name: &str| disabled.iter().any(|disabled| disabled == name);
    if has("Ingress") && !has("Console") {
        return Err(UsageError::IngressWithoutConsole);
    }
    if let Some(both) = enabled.iter().find(|enabled| has(enabled)) {
        return Err(UsageError::EnabledAndDisabled(both.clone()));
    }
    Ok(Release {
        image,
        feature_set: given(low.feature_set.as_ref())
            .map(|set| choice("feature-set", set, FEATURE_SETS))
            .transpose()?
            .filter(|set| set != "Default"),
        disabled_capabilities: disabled,
        enabled_capabilities: enabled,
        catalog_placement: choice(
            "olm-catalog-placement",
            &low.olm_catalog_placement.to_lowercase(),
            CATALOG_PLACEMENTS,
        )?,
        disable_default_catalogs: low.olm_disable_default_sources,
    })
}

fn network(flags: &ClusterFlags, platform: &ClusterPlatform) -> Result<Network, UsageError> {
    let low = &flags.network;
    let network_type = choice("network-type", &low.network_type, NETWORK_TYPES)?;
    for (flag, on) in
        [("disable-multi-network", low.disable_multi_network), ("allocate-node-cidrs", low.allocate_node_cidrs)]
    {
        if on && network_type != "Other" {
            return Err(UsageError::OnlyNetworkOther { flag, network_type });
        }
    }
    let mtu = Some(low.ovn_kubernetes_mtu).filter(|mtu| *mtu != 0);
    if let Some(mtu) = mtu.filter(|mtu| !MTU.contains(mtu)) {
        return Err(UsageError::Mtu(mtu));
    }
    if mtu.is_some() && network_type != "OVNKubernetes" {
        return Err(UsageError::OnlyFor { flag: "ovn-kubernetes-mtu", only: "--network-type OVNKubernetes" });
    }
    let (service, cluster) = service_and_cluster(flags, matches!(platform, ClusterPlatform::Agent(_)))?;
    let machine = networks("machine-cidr", &low.machine_cidr, "192.168.1.0/24")?;
    apart(&[("service-cidr", &service), ("cluster-cidr", &cluster), ("machine-cidr", &machine)])?;
    let base_domain = given(low.base_domain.as_ref()).map(str::to_owned);
    Ok(Network {
        base_domain: match platform {
            ClusterPlatform::Kubevirt(_) => base_domain.unwrap_or_default(),
            _ => base_domain.unwrap_or_else(|| DEFAULT_BASE_DOMAIN.to_owned()),
        },
        base_domain_prefix: given(low.base_domain_prefix.as_ref())
            .map(|prefix| if prefix == "none" { String::new() } else { prefix.to_owned() }),
        api_dns_name: given(low.kas_dns_name.as_ref()).map(str::to_owned),
        provider: network_type,
        service,
        cluster,
        machine,
        without_secondary: low.disable_multi_network,
        allocate_node_networks: low.allocate_node_cidrs,
        mtu,
        publishing: publishing(flags, platform)?,
    })
}

fn service_and_cluster(flags: &ClusterFlags, agent: bool) -> Result<(Vec<IpNet>, Vec<IpNet>), UsageError> {
    let low = &flags.network;
    if low.default_dual {
        if !low.service_cidr.is_empty() {
            return Err(UsageError::Together("default-dual", "service-cidr"));
        }
        if !low.cluster_cidr.is_empty() {
            return Err(UsageError::Together("default-dual", "cluster-cidr"));
        }
        if !agent {
            return Err(UsageError::OnlyFor { flag: "default-dual", only: "the platform agent" });
        }
    }
    let of = |flag: &'static str, given: &[String], default: &'static str, sixth: &'static str| {
        let mut values = given.to_vec();
        if values.is_empty() {
            values.push(default.to_owned());
        }
        if low.default_dual {
            values.push(sixth.to_owned());
        }
        networks(flag, &values, default)
    };
    Ok((
        of("service-cidr", &low.service_cidr, SERVICE_NETWORK, SERVICE_NETWORK_6)?,
        of("cluster-cidr", &low.cluster_cidr, CLUSTER_NETWORK, CLUSTER_NETWORK_6)?,
    ))
}

fn publishing(flags: &ClusterFlags, platform: &ClusterPlatform) -> Result<Publishing, UsageError> {
    let node_port = |address: Option<&String>| {
        given(address).map_or(Publishing::NodePortOfPlane, |address| Publishing::NodePort(address.to_owned()))
    };
    Ok(match platform {
        ClusterPlatform::Agent(agent) => node_port(agent.api_server_address.as_ref()),
        ClusterPlatform::None(none) => match node_port(none.external_api_server_address.as_ref()) {
            Publishing::NodePortOfPlane if none.expose_through_load_balancer => Publishing::LoadBalancer,
            publishing => publishing,
        },
        ClusterPlatform::Kubevirt(kubevirt) => {
            let infra = &kubevirt.infra;
            let strategy = &infra.service_publishing_strategy;
            match choice("service-publishing-strategy", strategy, &["Ingress", "NodePort"])?.as_str() {
                "NodePort" => node_port(infra.api_server_address.as_ref()),
                _ if given(infra.api_server_address.as_ref()).is_some() => {
                    return Err(UsageError::OnlyFor {
                        flag: "api-server-address",
                        only: "--service-publishing-strategy NodePort",
                    });
                }
                _ if given(flags.network.external_dns_domain.as_ref()).is_some() => Publishing::Route,
                _ => Publishing::LoadBalancer,
            }
        }
    })
}

fn control_plane(flags: &ClusterFlags, flavour: Flavour) -> Result<ControlPlane, UsageError> {
    let low = &flags.control_plane;
    let default_policy = match flavour {
        Flavour::Product => "HighlyAvailable",
        Flavour::Developer => "SingleReplica",
    };
    let policy = given(low.control_plane_availability_policy.as_ref()).unwrap_or(default_policy);
    Ok(ControlPlane {
        availability: choice("control-plane-availability-policy", policy, AVAILABILITY_POLICIES)?,
        infra_availability: given(low.infra_availability_policy.as_ref())
            .map(|policy| choice("infra-availability-policy", policy, AVAILABILITY_POLICIES))
            .transpose()?,
        etcd_storage_class: given(low.etcd_storage_class.as_ref()).map(str::to_owned),
        etcd_storage_size: quantity(
            "etcd-storage-size",
            given(low.etcd_storage_size.as_ref()).unwrap_or(DEFAULT_ETCD_SIZE),
        )?,
        fips: low.fips,
        node_selector: labels("node-selector", &low.node_selector)?,
        pod_labels: labels("pods-labels", &low.pods_labels)?,
        tolerations: low.toleration.iter().map(|text| toleration(text)).collect::<Result<_, _>>()?,
    })
}

fn platform(platform: &ClusterPlatform) -> Result<Platform, UsageError> {
    Ok(match platform {
        ClusterPlatform::Agent(agent) => {
            let namespace = given(agent.agent_namespace.as_ref()).ok_or(UsageError::Required("agent-namespace"))?;
            Platform::Agent { agent_namespace: label("agent-namespace", namespace)? }
        }
        ClusterPlatform::None(_) => Platform::None,
        ClusterPlatform::Kubevirt(kubevirt) => Platform::KubeVirt(virtual_machine::infrastructure(&kubevirt.infra)?),
    })
}

fn node_pool(
    flags: &ClusterFlags,
    platform: &ClusterPlatform,
    kind: PlatformType,
) -> Result<Option<NodePool>, UsageError> {
    let low = &flags.nodes;
    let upgrade_type = match given(low.node_upgrade_type.as_ref()) {
        Some(upgrade_type) => choice("node-upgrade-type", upgrade_type, UPGRADE_TYPES)?,
        None => kind.default_upgrade_type().to_owned(),
    };
    let node_pool = NodePool {
        replicas: low.node_pool_replicas,
        arch: choice("arch", &low.arch, ARCHITECTURES)?,
        auto_repair: low.auto_repair,
        upgrade_type,
        timeouts: Some(Timeouts { drain: low.node_drain_timeout, volume_detach: low.node_volume_detach_timeout }),
        platform: node_platform(platform)?,
    };
    Ok((low.node_pool_replicas >= 0).then_some(node_pool))
}

fn node_platform(platform: &ClusterPlatform) -> Result<NodePlatform, UsageError> {
    Ok(match platform {
        ClusterPlatform::Agent(agent) => {
            NodePlatform::Agent { selector: agent_selector(agent.agent_label_selector.as_deref())? }
        }
        ClusterPlatform::None(_) => NodePlatform::None,
        ClusterPlatform::Kubevirt(kubevirt) => {
            let KubevirtFlags { machine, .. } = kubevirt.as_ref();
            NodePlatform::KubeVirt(Box::new(virtual_machine::machine(machine)?))
        }
    })
}

#[cfg(test)]
#[path = "cluster_tests.rs"]
mod tests;
