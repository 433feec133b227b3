//! What a node gets.

use std::collections::BTreeMap;

use roost_pki::Secret;

use super::{
    Artifact, Endpoint, IgnitionServer, Joining, Kubelet, Mirror, Node, Pool, Proxy, RenderError, Runtime, Taint,
    TaintEffect, UserConfig, paths, render,
};
use crate::{Config, SpecVersion};

pub(crate) const AUTHORITY: &str = include_str!("../../tests/fixtures/authority.pem");

pub(crate) fn pool() -> Pool {
    Pool {
        name: "workers".to_owned(),
        cluster_name: "demo".to_owned(),
        release_version: "1.36.3".to_owned(),
        api: Endpoint { host: "api.demo.example.com".to_owned(), port: 30443 },
        api_trust: AUTHORITY.to_owned(),
        cluster_dns: vec!["172.31.0.10".parse().unwrap()],
        pod_networks: vec!["10.132.0.0/14".to_owned()],
        service_networks: vec!["172.31.0.0/16".to_owned()],
        ..Pool::default()
    }
}

pub(crate) fn full_pool() -> Pool {
    let labels = [("zone", "a"), ("example.com/tier", ""), ("node-role.kubernetes.io/worker", "")];
    Pool {
        labels: labels.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
        taints: vec![Taint { key: "gpu".to_owned(), value: "yes".to_owned(), effect: TaintEffect::NoSchedule }],
        pull_secret: Some(Secret::new(r#"{"auths":{"quay.io":{"auth":"dTpw"}}}"#.to_owned())),
        ssh_keys: vec!["ssh-ed25519 AAAA b".to_owned(), "ssh-ed25519 AAAA a".to_owned()],
        proxy: Some(Proxy {
            http: Some("http://proxy:3128".to_owned()),
            https: Some("http://proxy:3128".to_owned()),
            no_proxy: vec!["registry.local".to_owned()],
        }),
        trust_bundle: Some(AUTHORITY.to_owned()),
        mirrors: vec![Mirror {
            source: "quay.io".to_owned(),
            mirrors: vec!["registry.local:5000/quay".to_owned()],
            never_contact_source: true,
        }],
        kubelet: Kubelet { max_pods: Some(250), ..Kubelet::default() },
        artifacts: vec![Artifact {
            path: paths::KUBELET_BINARY.to_owned(),
            mode: 0o755,
            url: "https://ignition.demo.example.com:30080/artifacts/kubelet".to_owned(),
            hash: format!("sha256-{}", "0".repeat(64)),
        }],
        artifact_trust: AUTHORITY.to_owned(),
        ignition: Some(IgnitionServer {
            url: "https://ignition.demo.example.com:30080/ignition".to_owned(),
            certificate_authority: AUTHORITY.to_owned(),
        }),
        ..pool()
    }
}

pub(crate) fn node() -> Node {
    Node {
        name: "workers-1a2b3c4d".to_owned(),
        bootstrap_token: Secret::new("abcdef.0123456789abcdef".to_owned()),
        provider_id: Some("roost://0b1c/workers-1a2b3c4d".to_owned()),
    }
}

fn text(config: &Config, path: &str) -> String {
    String::from_utf8(config.file(path).unwrap_or_else(|| panic!("{path} is missing")).contents().unwrap()).unwrap()
}

#[test]
fn a_node_gets_what_its_kubelet_needs() {
    for runtime in [Runtime::Containerd, Runtime::CriO] {
        for pool in [pool(), full_pool()] {
            let pool = Pool { runtime, ..pool };
            let config = render(&pool).unwrap().for_node(&node());
            config.validate().unwrap();
            for path in [paths::KUBELET_CONFIG, paths::CA, paths::KUBELET_CLIENT_CA, paths::MODULES, paths::SYSCTLS] {
                assert_eq!(config.file(path).unwrap().mode(), Some(0o644), "{path}");
            }
            assert_eq!(config.file(paths::BOOTSTRAP_KUBECONFIG).unwrap().mode(), Some(0o600));
            assert!(config.unit(paths::KUBELET_UNIT).unwrap().contents().unwrap().contains("--bootstrap-kubeconfig"));
            assert_eq!(config.unit(runtime.unit()).unwrap().enabled(), Some(true));
            assert_eq!(config.version(), SpecVersion::V3_2);
        }
    }
}

#[test]
fn the_host_reads_how_to_join() {
    let joining = Joining::read(&render(&full_pool()).unwrap().for_node(&node())).unwrap();
    assert_eq!(joining.node_name, "workers-1a2b3c4d");
    let labels: BTreeMap<_, _> =
        [("zone", "a"), ("example.com/tier", "")].map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    assert_eq!(joining.labels, labels, "a role is not a kubelet's to claim");
    assert_eq!(joining.taints, full_pool().taints);
    assert_eq!(joining.provider_id, node().provider_id);
    assert_eq!(joining.bootstrap.server, "https://api.demo.example.com:30443");
    assert_eq!(joining.bootstrap.certificate_authority, AUTHORITY);
    assert_eq!(joining.bootstrap.token, node().bootstrap_token);
    assert_eq!(joining.kubelet["serverTLSBootstrap"], true);
    assert_eq!(joining.kubelet["rotateCertificates"], true);
    assert_eq!(joining.kubelet["authentication"]["anonymous"]["enabled"], false);
    assert_eq!(joining.kubelet["maxPods"], 250);
}

#[test]
fn secrets_are_readable_by_root_alone() {
    let config = render(&full_pool()).unwrap().for_node(&node());
    for path in [paths::BOOTSTRAP_KUBECONFIG, paths::PULL_SECRET, paths::PROXY_ENV] {
        assert_eq!(config.file(path).unwrap().mode(), Some(0o600), "{path}");
    }
    let debug = format!("{config:?} {:?} {:?}", render(&full_pool()).unwrap(), node());
    assert!(!debug.contains("0123456789abcdef") && !debug.contains("dTpw"), "{debug}");
}

#[test]
fn the_same_pool_gives_the_same_bytes() {
    let mut reordered = full_pool();
    reordered.ssh_keys.reverse();
    reordered.cluster_domain = "cluster.local".to_owned();
    let bytes = |pool: &Pool| render(pool).unwrap().for_node(&node()).to_bytes();
    assert_eq!(bytes(&full_pool()), bytes(&reordered));
}

#[test]
fn what_is_written_ahead_is_the_same() {
    for pool in [pool(), full_pool()] {
        let rendered = render(&pool).unwrap();
        for version in [SpecVersion::V3_1, SpecVersion::V3_2, SpecVersion::V3_5] {
            let written = rendered.written(version).unwrap();
            let slowly = rendered.for_node(&node()).translate(version).unwrap();
            assert_eq!(written.for_node(&node()), slowly.to_bytes());
            assert_eq!(written.version(), version);
        }
    }
    assert!(render(&full_pool()).unwrap().written(SpecVersion::V3_0).is_err(), "3.0 has no proxy");
}

/// Far below what a boot can feel, even where nothing is optimised.
#[test]
fn rendering_is_quick() {
    let pool = full_pool();
    let best = (0..20)
        .map(|_| {
            let start = std::time::Instant::now();
            let bytes = render(&pool).unwrap().for_node(&node()).to_bytes();
            assert!(!bytes.is_empty());
            start.elapsed()
        })
        .min()
        .unwrap();
    println!("a payload is rendered in {best:?}");
    assert!(best < std::time::Duration::from_millis(20), "{best:?}");
}

#[test]
fn user_manifests_reach_the_node() {
    let manifests = r#"
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {name: 50-motd}
spec:
  kernelArguments: [audit=1 nosmt, audit=1]
  config:
    ignition: {version: 3.2.0}
    storage: {files: [{path: /etc/motd, mode: 0644, contents: {source: "data:,hello"}}]}
---
apiVersion: machineconfiguration.openshift.io/v1
kind: KubeletConfig
metadata: {name: limits}
spec: {logLevel: 4, kubeletConfig: {maxPods: 42, evictionHard: {memory.available: 100Mi}}}
---
apiVersion: config.openshift.io/v1
kind: ImageDigestMirrorSet
metadata: {name: mirrors}
spec: {imageDigestMirrors: [{source: quay.io/a/b, mirrors: [local:5000/a/b]}]}
"#;
    let user_configs = vec![UserConfig { name: "extra".to_owned(), text: manifests.to_owned() }];
    let config = render(&Pool { user_configs, ..pool() }).unwrap().for_node(&node());
    assert_eq!(text(&config, "/etc/motd"), "hello");
    assert_eq!(config.file("/etc/motd").unwrap().mode(), Some(0o644));
    assert_eq!(Joining::read(&config).unwrap().kubelet["maxPods"], 42);
    assert!(config.unit(paths::KUBELET_UNIT).unwrap().contents().unwrap().contains("--v=4\n"));
    assert!(text(&config, "/etc/containerd/certs.d/quay.io/hosts.toml").contains("https://local:5000\""));
    assert_eq!(config.version(), SpecVersion::V3_3, "kernel arguments came with 3.3");
    assert_eq!(config.to_value()["kernelArguments"]["shouldExist"], serde_json::json!(["audit=1", "nosmt"]));
    assert!(config.needs_first_boot());
}

#[test]
fn what_cannot_be_rendered_is_named() {
    let with = |text: &str| Pool {
        user_configs: vec![UserConfig { name: "extra".to_owned(), text: text.to_owned() }],
        ..pool()
    };
    let machine = "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata: {name: x}\nspec: ";
    let kubelet = "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nmetadata: {name: x}\nspec: ";
    let runtime =
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: ContainerRuntimeConfig\nmetadata: {name: x}\nspec: ";
    let cases = [
        (with(&format!("{machine}{{config: {{ignition: {{version: 2.2.0}}}}}}")), "\"2.2.0\" is no supported version"),
        (with(&format!("{machine}{{extensions: [usbguard]}}")), "spec.extensions changes the operating system's image"),
        (
            with(&format!(
                "{machine}{{config: {{ignition: {{version: 3.2.0}}, storage: {{files: [{{path: {}}}]}}}}}}",
                paths::BOOTSTRAP_KUBECONFIG
            )),
            "cannot be part of a user's configuration",
        ),
        (
            with(&format!("{machine}{{config: {{ignition: {{version: 3.2.0}}, storage: {{files: [{{path: x}}]}}}}}}")),
            "path not absolute",
        ),
        (with(&format!("{kubelet}{{kubeletConfig: {{clusterDNS: [1.1.1.1]}}}}")), "clusterDNS is set by the cluster"),
        (with(&format!("{kubelet}{{logLevel: 99}}")), "spec.logLevel must be"),
        (with(&format!("{runtime}{{containerRuntimeConfig: {{pidsLimit: 5}}}}")), "at least 20"),
        (with(&format!("{runtime}{{containerRuntimeConfig: {{pidsLimit: 2048}}}}")), "containerd has no setting for"),
        (with("a: b"), "a manifest needs apiVersion, kind"),
        (with("a: [b"), "yaml"),
        (with(&"[".repeat(1_000_000)), ""),
        (with("kind: X\nkind: Y\n"), "already set"),
        (Pool { api: Endpoint::default(), ..pool() }, "api.host"),
        (Pool { api_trust: "x".to_owned(), ..pool() }, "api_trust"),
        (Pool { release_version: "latest".to_owned(), ..pool() }, "release_version"),
        (Pool { pull_secret: Some(Secret::new("hunter2".to_owned())), ..pool() }, "pull_secret"),
        (Pool { labels: [("a b".to_owned(), String::new())].into(), ..pool() }, "labels"),
        (Pool { ssh_keys: vec!["a\nb".to_owned()], ..pool() }, "ssh_keys"),
    ];
    for (pool, words) in cases {
        let error = render(&pool).unwrap_err();
        let said = match &error {
            RenderError::Merged(source) => format!("{error}: {source}"),
            _ => error.to_string(),
        };
        assert!(said.contains(words), "{said:?} does not say {words:?}");
        assert!(!said.contains("hunter2"));
    }
}
