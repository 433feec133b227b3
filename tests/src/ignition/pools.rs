//! The kinds of pools that are tried, and configs that nobody accepts.

use roost_ignition::payload::{
    Artifact, Endpoint, Kubelet, Mirror, Pool, Proxy, Runtime, Taint, TaintEffect, UserConfig, paths,
};
use roost_pki::Secret;

use super::data_url;

/// Small and large pools on both runtimes.
pub(super) fn all(authority: &str, files: &[Artifact]) -> Vec<(String, Pool)> {
    let mut pools = Vec::new();
    for (runtime, name) in [(Runtime::Containerd, "containerd"), (Runtime::CriO, "cri-o")] {
        pools.push((format!("{name} alone"), Pool { runtime, ..small(authority) }));
        pools.push((format!("{name} with everything"), Pool { runtime, ..large(authority, files) }));
    }
    pools
}

fn small(authority: &str) -> Pool {
    Pool {
        name: "workers".to_owned(),
        cluster_name: "demo".to_owned(),
        release_version: "1.36.3".to_owned(),
        api: Endpoint { host: "api.demo.example.com".to_owned(), port: 30443 },
        api_trust: authority.to_owned(),
        cluster_dns: vec![[172, 31, 0, 10].into()],
        pod_networks: vec!["10.132.0.0/14".to_owned()],
        service_networks: vec!["172.31.0.0/16".to_owned()],
        ..Pool::default()
    }
}

fn large(authority: &str, files: &[Artifact]) -> Pool {
    Pool {
        labels: [("zone".to_owned(), "a".to_owned())].into(),
        taints: vec![Taint { key: "gpu".to_owned(), value: String::new(), effect: TaintEffect::NoSchedule }],
        pull_secret: Some(Secret::new(r#"{"auths":{"quay.io":{"auth":"dTpw"}}}"#.to_owned())),
        ssh_keys: vec!["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB operator".to_owned()],
        proxy: Some(Proxy {
            http: Some("http://proxy.example.com:3128".to_owned()),
            https: Some("https://proxy.example.com:3129".to_owned()),
            no_proxy: vec!["registry.local".to_owned()],
        }),
        trust_bundle: Some(authority.to_owned()),
        mirrors: vec![Mirror {
            source: "quay.io".to_owned(),
            mirrors: vec!["registry.local:5000/quay".to_owned()],
            never_contact_source: false,
        }],
        kubelet: Kubelet { max_pods: Some(250), ..Kubelet::default() },
        user_configs: vec![UserConfig { name: "extra".to_owned(), text: manifests() }],
        artifacts: files.to_vec(),
        artifact_trust: authority.to_owned(),
        ..small(authority)
    }
}

fn manifests() -> String {
    format!(
        "apiVersion: machineconfiguration.openshift.io/v1\n\
         kind: MachineConfig\n\
         metadata: {{name: 50-extra}}\n\
         spec:\n\
         \u{20} config:\n\
         \u{20}   ignition: {{version: 3.1.0}}\n\
         \u{20}   storage:\n\
         \u{20}     files:\n\
         \u{20}     - {{path: /etc/motd, mode: 0600, contents: {{source: \"{}\"}}}}\n\
         \u{20}     - {{path: {}, mode: 0640}}\n\
         \u{20}   systemd:\n\
         \u{20}     units:\n\
         \u{20}     - {{name: kubelet.service, dropins: [{{name: 20-nice.conf, contents: \"[Service]\\nNice=-5\\n\"}}]}}\n\
         ---\n\
         apiVersion: machineconfiguration.openshift.io/v1\n\
         kind: KubeletConfig\n\
         metadata: {{name: limits}}\n\
         spec: {{kubeletConfig: {{podPidsLimit: 4096}}}}\n",
        data_url("welcome\n"),
        paths::SYSCTLS,
    )
}

/// Configs that ours and the real program refuse.
pub(super) const INVALID: &[(&str, &str)] = &[
    ("nothing", ""),
    ("no object", "[]"),
    ("no version", r#"{"ignition": {}}"#),
    ("an unknown version", r#"{"ignition": {"version": "3.99.0"}}"#),
    ("no JSON", r#"{"ignition": {"version": "3.2.0"}"#),
    ("a relative path", r#"{"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "etc/x"}]}}"#),
    ("a path with dots", r#"{"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "/etc/../x"}]}}"#),
    (
        "the same path twice",
        r#"{"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "/x"}, {"path": "/x"}]}}"#,
    ),
    (
        "a file and a directory",
        r#"{"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "/x"}], "directories": [{"path": "/x"}]}}"#,
    ),
    (
        "a file behind a link",
        r#"{"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "/x/y"}], "links": [{"path": "/x", "target": "/z"}]}}"#,
    ),
    ("a wrong type", r#"{"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "/x", "mode": "0644"}]}}"#),
    (
        "a mode beyond modes",
        r#"{"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "/x", "mode": 99999}]}}"#,
    ),
    (
        "overwriting with nothing",
        r#"{"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "/x", "overwrite": true}]}}"#,
    ),
    (
        "an unknown scheme",
        r#"{"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "/x", "contents": {"source": "ftp://x/y"}}]}}"#,
    ),
    (
        "an unknown hash",
        r#"{"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "/x", "contents": {"source": "data:,x", "verification": {"hash": "md5-00"}}}]}}"#,
    ),
    (
        "an unknown compression",
        r#"{"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "/x", "contents": {"source": "data:,x", "compression": "xz"}}]}}"#,
    ),
    ("a unit of no kind", r#"{"ignition": {"version": "3.2.0"}, "systemd": {"units": [{"name": "x.unit"}]}}"#),
    (
        "a unit with a line of nothing",
        r#"{"ignition": {"version": "3.2.0"}, "systemd": {"units": [{"name": "x.service", "contents": "[Unit]\\ngarbage\\n"}]}}"#,
    ),
    (
        "an owner with two names",
        r#"{"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "/x", "user": {"id": 1, "name": "a"}}]}}"#,
    ),
    ("a merge from nowhere", r#"{"ignition": {"version": "3.2.0", "config": {"merge": [{"source": ""}]}}}"#),
    ("a proxy of another kind", r#"{"ignition": {"version": "3.2.0", "proxy": {"httpProxy": "socks5://x"}}}"#),
    (
        "a filesystem of no kind",
        r#"{"ignition": {"version": "3.2.0"}, "storage": {"filesystems": [{"device": "/dev/x", "format": "ntfs"}]}}"#,
    ),
    ("a disk without a device", r#"{"ignition": {"version": "3.2.0"}, "storage": {"disks": [{"wipeTable": true}]}}"#),
    (
        "an array of no level",
        r#"{"ignition": {"version": "3.3.0"}, "storage": {"raid": [{"name": "a", "level": "raid99", "devices": ["/dev/x"]}]}}"#,
    ),
    (
        "partitions that overlap",
        r#"{"ignition": {"version": "3.2.0"}, "storage": {"disks": [{"device": "/dev/x", "partitions": [{"number": 1, "startMiB": 1, "sizeMiB": 10}, {"number": 2, "startMiB": 5, "sizeMiB": 10}]}]}}"#,
    ),
];
