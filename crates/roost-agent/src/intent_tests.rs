//! The steps of a join, for payloads made by hand.

use roost_ignition::Config;
use serde_json::json;

use crate::intent::{Contents, Intent, IntentError, Materials, intents};
use crate::os_release::OsRelease;
use crate::root::Root;
use crate::software::{self, KubeletSource, Runtime, SoftwarePlan, Wanted};
use crate::step::Step;

fn steps(payload: serde_json::Value, software: Option<&SoftwarePlan>) -> Result<Vec<Intent>, IntentError> {
    let root = tempfile::tempdir().unwrap();
    steps_on(&Root::new(root.path()), payload, software)
}

fn steps_on(
    root: &Root,
    payload: serde_json::Value,
    software: Option<&SoftwarePlan>,
) -> Result<Vec<Intent>, IntentError> {
    let payload = Config::from_value(payload).unwrap();
    let agent = "/usr/local/bin/hcp-agent";
    intents(root, &Materials { payload: &payload, node_name: "node-1", software, kubelet: None, agent })
}

fn payload() -> serde_json::Value {
    json!({
        "ignition": {"version": "3.2.0"},
        "storage": {
            "directories": [{"path": "/opt/cni/bin", "mode": 0o755}],
            "files": [
                {"path": "/etc/modules-load.d/k.conf", "contents": {"source": "data:,overlay%0A%23%20no%0Abr_netfilter%0A"}},
                {"path": "/etc/sysctl.d/k.conf", "contents": {"source": "data:,net.ipv4.ip_forward%20%3D%201%0A"}},
                {"path": "/etc/motd", "append": [{"source": "data:,hello"}]},
            ],
        },
        "systemd": {"units": [
            {"name": "kubelet.service", "enabled": true, "contents": "[Service]\nExecStart=/bin/true\n"},
            {"name": "containerd.service", "enabled": true, "dropins": [{"name": "10-a.conf", "contents": "[Service]\n"}]},
            {"name": "sleep.target", "mask": true},
        ]},
    })
}

fn plan() -> SoftwarePlan {
    let debian = OsRelease::parse("ID=debian\nVERSION_ID=12\n");
    let wanted =
        Wanted { runtime: Runtime::Containerd, kubelet: KubeletSource::Payload, kubernetes_minor: 36, kernel: "6.1.0" };
    software::plan(&debian, &wanted).unwrap()
}

#[test]
fn steps_come_in_an_order_that_can_be_undone() {
    let list = steps(payload(), Some(&plan())).unwrap();
    let words: Vec<String> = list.iter().map(|intent| intent.step.to_string()).collect();
    let at = |text: &str| {
        words.iter().position(|line| line.starts_with(text)).unwrap_or_else(|| panic!("no {text:?} in {words:#?}"))
    };
    let order = [
        "watch over /var/lib/kubelet",
        "remember kernel.panic",
        "remember whether kubelet.service runs",
        "write /etc/systemd/system/hcp-agent-resume.service",
        "remember /var/lib/apt/extended_states",
        "install ",
        "remember interfaces and packet filters",
        "link /opt/cni/bin to /usr/lib/cni",
        "write /etc/sysctl.d/k.conf",
        "write /etc/systemd/system/kubelet.service",
        "load br_netfilter",
        "set net.ipv4.ip_forward to 1",
        "enable kubelet.service",
        "start containerd.service",
        "let the kubelet run containers",
        "start kubelet.service",
    ];
    assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])), "{words:#?}");
    assert_eq!(at("start kubelet.service"), words.len() - 1);
    at("link /etc/systemd/system/sleep.target to /dev/null");
    at("write /etc/systemd/system/containerd.service.d/10-a.conf");
    assert!(!words.iter().any(|line| line.starts_with("make /opt/cni/bin")), "{words:#?}");
    let appended = list.iter().find(|intent| matches!(&intent.step, Step::File { path, .. } if path == "/etc/motd"));
    assert_eq!(appended.unwrap().contents, Contents::Appended(b"hello".to_vec()));
}

#[test]
fn without_packages_nothing_is_installed_or_linked() {
    let list = steps(payload(), None).unwrap();
    assert!(!list.iter().any(|intent| matches!(intent.step, Step::Packages { .. })));
    assert!(list.iter().any(|intent| matches!(&intent.step, Step::Directory { path, .. } if path == "/opt/cni/bin")));
}

#[test]
fn payloads_that_a_running_host_cannot_have_are_refused() {
    let file = |file: serde_json::Value| json!({"ignition": {"version": "3.2.0"}, "storage": {"files": [file]}});
    let disk = json!({"ignition": {"version": "3.2.0"}, "storage": {"disks": [{"device": "/dev/sda"}]}});
    assert!(matches!(steps(disk, None), Err(IntentError::NeedsFirstBoot)));
    let unverified = file(json!({"path": "/usr/local/bin/x", "contents": {"source": "https://host/x"}}));
    assert!(matches!(steps(unverified, None), Err(IntentError::Unverified { .. })));
    let stranger = file(json!({"path": "/etc/x", "user": {"name": "nobody-here"}, "contents": {"source": "data:,"}}));
    assert!(matches!(steps(stranger, None), Err(IntentError::Owner { .. })));
    for path in ["/etc/../x", "relative", "/etc//x"] {
        let elsewhere = file(json!({"path": path, "contents": {"source": "data:,"}}));
        assert!(matches!(steps(elsewhere, None), Err(IntentError::Path { .. })), "{path}");
    }
}

#[test]
fn contents_are_not_shown() {
    let shown = format!("{:?}", Contents::Bytes(b"secret".to_vec()));
    assert_eq!(shown, "Bytes(6)");
}

#[test]
fn a_host_knows_the_name_of_its_node() {
    let root = tempfile::tempdir().unwrap();
    let hosts = root.path().join("etc/hosts");
    let written = |payload: serde_json::Value| {
        let list = steps_on(&Root::new(root.path()), payload, None).unwrap();
        let found = list.into_iter().find(|intent| intent.step.path() == Some("/etc/hosts"))?;
        Some(match found.contents {
            Contents::Bytes(bytes) => format!("whole: {}", String::from_utf8(bytes).unwrap()),
            Contents::Appended(bytes) => format!("after: {}", String::from_utf8(bytes).unwrap()),
            other => panic!("{other:?}"),
        })
    };
    let whole = "whole: 127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.1.1 node-1\n";
    assert_eq!(written(payload()).as_deref(), Some(whole));
    std::fs::create_dir(root.path().join("etc")).unwrap();
    for (there, expected) in [
        ("127.0.0.1 localhost\n", Some("after: 127.0.1.1 node-1\n")),
        ("127.0.0.1 localhost", Some("after: \n127.0.1.1 node-1\n")),
        ("", Some("after: 127.0.1.1 node-1\n")),
        ("192.0.2.7 node-10 # node-1\n#192.0.2.7 node-1\n", Some("after: 127.0.1.1 node-1\n")),
        ("127.0.0.1 localhost\n192.0.2.7\tnode-1.example.test node-1\n", None),
        ("127.0.1.1 node-1\n", None),
    ] {
        std::fs::write(&hosts, there).unwrap();
        assert_eq!(written(payload()).as_deref(), expected, "{there:?}");
    }
    std::fs::remove_file(&hosts).unwrap();
    let mut own = payload();
    own["storage"]["files"] = json!([{"path": "/etc/hosts", "contents": {"source": "data:,127.0.0.1%20localhost%0A"}}]);
    assert!(written(own).is_some_and(|text| !text.contains("node-1")), "a pool that brings the file means it");
}
