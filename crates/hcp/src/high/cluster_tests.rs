//! What `hcp create cluster` refuses, sentence by sentence, and which defaults it takes.

use crate::arguments::{Arguments, Command, CreateCluster, CreateWhat};
use crate::flavour::Flavour;

use super::super::{Files, HighArguments, Mode, Publishing, UsageError};
use super::resolve;

fn low(line: &str) -> CreateCluster {
    let words: Vec<&str> = ["hcp", "create", "cluster"].into_iter().chain(line.split_whitespace()).collect();
    match Arguments::read_from(&words).unwrap_or_else(|error| panic!("{error}")).command {
        Command::Create(create) => match create.what {
            CreateWhat::Cluster(cluster) => *cluster,
            _ => panic!("another command"),
        },
        _ => panic!("another command"),
    }
}

fn high(line: &str) -> Result<HighArguments, UsageError> {
    resolve(&low(line), Files::default(), Flavour::Product)
}

fn refusal(line: &str) -> String {
    high(line).map(|_| ()).expect_err(line).to_string()
}

const GOOD: &str = "none --name demo --pull-secret file";

#[test]
fn what_cannot_work_is_refused_in_one_sentence() {
    let cases = [
        ("none --pull-secret file", "--name is required"),
        ("none --name demo", "--pull-secret is required"),
        ("agent --name demo --pull-secret file", "--agent-namespace is required"),
        (
            "none --name Demo --pull-secret file",
            "--name \"Demo\" is not a name: use at most 63 of a-z, 0-9 and '-', with a letter or a digit at both ends",
        ),
    ];
    for (line, expected) in cases {
        assert_eq!(refusal(line), expected);
    }
    let more = [
        (
            "--service-cidr 10.0.0.0/33",
            "--service-cidr \"10.0.0.0/33\" is not a network in CIDR notation, such as 172.31.0.0/16",
        ),
        (
            "--service-cidr 10.132.4.0/24",
            "--service-cidr 10.132.4.0/24 overlaps --cluster-cidr 10.132.0.0/14; give networks that are apart",
        ),
        ("--default-dual", "--default-dual is only for the platform agent"),
        ("--generate-ssh --ssh-key file", "--generate-ssh and --ssh-key cannot be used together"),
        ("--arch sparc", "--arch \"sparc\" is not supported; use one of: amd64, arm64, ppc64le, s390x"),
        (
            "--feature-set Odd",
            "--feature-set \"Odd\" is not supported; use one of: Default, TechPreviewNoUpgrade, DevPreviewNoUpgrade, CustomNoUpgrade, OKD",
        ),
        (
            "--disable-cluster-capabilities Ingress",
            "--disable-cluster-capabilities Ingress needs Console to be disabled, too: the console is reached through it",
        ),
        (
            "--disable-cluster-capabilities Console --enable-cluster-capabilities Console",
            "the capability Console cannot be both enabled and disabled",
        ),
        ("--ovn-kubernetes-mtu 100", "--ovn-kubernetes-mtu 100 is out of range; use 576 to 9216"),
        ("--allocate-node-cidrs", "--allocate-node-cidrs is only for --network-type Other, not OVNKubernetes"),
        ("--disable-multi-network", "--disable-multi-network is only for --network-type Other, not OVNKubernetes"),
        ("--annotations novalue", "--annotations \"novalue\" is not key=value"),
        ("--toleration key", "--toleration \"key\": expected options as option=value"),
        ("--render --dry-run", "--render and --dry-run cannot be used together"),
        ("--render-sensitive", "--render-sensitive needs --render"),
        (
            "--release-stream 4-stable",
            "--release-stream needs a public service that is not asked here; name the release with --release-image",
        ),
        (
            "--control-plane-availability-policy Often",
            "--control-plane-availability-policy \"Often\" is not supported; use one of: HighlyAvailable, SingleReplica",
        ),
        ("--pausedUntil soon", "--pausedUntil \"soon\": expected a time such as 2030-01-31T12:00:00Z, or true"),
    ];
    for (flags, expected) in more {
        assert_eq!(refusal(&format!("{GOOD} {flags}")), expected);
    }
    let kubevirt = [
        (
            "--service-publishing-strategy Smoke",
            "--service-publishing-strategy \"Smoke\" is not supported; use one of: Ingress, NodePort",
        ),
        ("--api-server-address a", "--api-server-address is only for --service-publishing-strategy NodePort"),
        ("--infra-namespace a", "--infra-namespace needs --infra-kubeconfig-file"),
        ("--infra-kubeconfig-file a", "--infra-kubeconfig-file needs --infra-namespace"),
        ("--cores 0", "--cores must be at least 1"),
        ("--root-volume-size 8", "--root-volume-size 8 is too small; use at least 16"),
        ("--attach-default-network=false", "--attach-default-network=false needs at least one --additional-network"),
        (
            "--infra-storage-class-mapping a",
            "--infra-storage-class-mapping \"a\": expected INFRA/GUEST or INFRA/GUEST,group=GROUP",
        ),
    ];
    for (flags, expected) in kubevirt {
        assert_eq!(refusal(&format!("kubevirt --name demo --pull-secret file {flags}")), expected);
    }
    let agent = "agent --name demo --pull-secret file --agent-namespace hosts --default-dual";
    assert_eq!(
        refusal(&format!("{agent} --cluster-cidr 10.0.0.0/8")),
        "--default-dual and --cluster-cidr cannot be used together"
    );
    let long = "a".repeat(60);
    assert!(refusal(&format!("none --pull-secret file --name {long}")).contains("too long together"));
}

#[test]
fn defaults_depend_on_the_name_of_the_program() {
    let flags = low(GOOD);
    for (flavour, policy) in [(Flavour::Product, "HighlyAvailable"), (Flavour::Developer, "SingleReplica")] {
        let resolved = resolve(&flags, Files::default(), flavour).unwrap();
        assert_eq!(resolved.control_plane.availability, policy);
    }
}

#[test]
fn modes_and_publishing_follow_the_flags() {
    assert_eq!(high(GOOD).unwrap().mode, Mode::Create { wait: None });
    assert_eq!(high(&format!("{GOOD} --wait")).unwrap().mode, Mode::Create { wait: Some(None) });
    let render = high(&format!("{GOOD} --render-into x --render-sensitive")).unwrap().mode;
    assert_eq!(render, Mode::Render { into: Some("x".into()), sensitive: true });
    let published = |line: &str| high(line).unwrap().network.publishing;
    assert_eq!(published(GOOD), Publishing::NodePortOfPlane);
    assert_eq!(published(&format!("{GOOD} --expose-through-load-balancer")), Publishing::LoadBalancer);
    assert_eq!(
        published(&format!("{GOOD} --expose-through-load-balancer --external-api-server-address a")),
        Publishing::NodePort("a".to_owned())
    );
    assert_eq!(published("kubevirt --name demo --pull-secret file"), Publishing::LoadBalancer);
    assert_eq!(
        published("kubevirt --name demo --pull-secret file --external-dns-domain example.test"),
        Publishing::Route
    );
    assert!(high(&format!("{GOOD} --node-pool-replicas -1")).unwrap().node_pool.is_none());
}
