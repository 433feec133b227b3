//! A cluster from nothing to a kubeconfig and away again, with a management plane of its own.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};

/// A management plane and a home in which only it is found.
struct Plane {
    folder: tempfile::TempDir,
    server: Child,
}

impl Plane {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        fs::write(folder.path().join("pull-secret.json"), r#"{"auths":{}}"#).expect("a file");
        let mut server = program(folder.path())
            .args(["up", "--data-dir", "data", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program runs");
        let mut line = String::new();
        let output = server.stdout.take().expect("its output is read");
        BufReader::new(output).read_line(&mut line).expect("a line");
        assert!(line.starts_with("ready in "), "{line}");
        Self { folder, server }
    }

    fn run(&self, line: &str) -> Output {
        program(self.folder.path()).args(line.split_whitespace()).output().expect("the program runs")
    }

    /// Runs a command that must succeed, and gives its data.
    fn data(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {}", words(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs a command that must fail, and gives its words.
    fn failure(&self, line: &str, code: i32) -> String {
        let output = self.run(line);
        assert_eq!(output.status.code(), Some(code), "{line}: {}", words(&output));
        words(&output)
    }
}

impl Drop for Plane {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn program(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hcp"));
    command.current_dir(home).env_clear().env("HOME", home);
    command
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const CREATE: &str = "create cluster none --name demo --base-domain example.test --pull-secret pull-secret.json";

#[test]
fn a_cluster_comes_is_looked_after_and_goes() {
    let plane = Plane::start();
    assert!(plane.data(&format!("{CREATE} --dry-run")).contains("HostedCluster clusters/demo would be created\n"));
    assert!(plane.failure("describe cluster demo", 1).starts_with("error: there is no HostedCluster clusters/demo\n"));
    assert!(plane.failure(&format!("{CREATE} --release-image embedded:v0"), 1).contains("is not known"));
    assert_eq!(plane.data("get clusters -A -o name"), "", "a refused cluster leaves nothing");

    plane.data(&format!("{CREATE} --wait --timeout 60s"));
    assert!(plane.failure(CREATE, 1).starts_with("error: a HostedCluster clusters/demo exists already\n"));
    assert_eq!(plane.data("get clusters -o name"), "hostedcluster.hypershift.openshift.io/demo\n");
    let table = plane.data("get clusters");
    assert!(table.starts_with("NAME   VERSION"), "{table}");
    assert!(table.contains("demo-admin-kubeconfig"), "{table}");
    let tree: Value = serde_json::from_str(&plane.data("describe cluster demo -o json")).expect("JSON");
    assert_eq!((&tree["name"], &tree["ready"]), (&"HostedCluster/demo".into(), &"True".into()));
    let kubeconfig = plane.data("create kubeconfig --name demo");
    assert!(kubeconfig.contains("server: https://"), "{kubeconfig}");
    let merged = plane.data("create kubeconfig");
    assert!(merged.contains("current-context: clusters-demo\n"), "{merged}");
    let version: Value = serde_json::from_str(&plane.data("version -o json")).expect("JSON");
    assert!(version["server"]["defaultRelease"].as_str().is_some_and(|image| image.starts_with("embedded:")));

    plane.data("create nodepool none --name more --cluster-name demo --replicas 0");
    assert!(plane.failure("create nodepool agent --name wrong --cluster-name demo", 1).contains("is None, not Agent"));
    let missing = plane.failure("create userdata --nodepool more", 1);
    assert!(
        missing.contains("has no user-data yet: it wants no machines; ask for some with: kubectl scale"),
        "{missing}"
    );
    assert!(plane.failure("create userdata --nodepool more --name other", 1).contains("belongs to the cluster demo"));
    assert!(plane.failure("create userdata --nodepool nobody", 1).contains("there is no NodePool clusters/nobody"));
    plane.data("destroy nodepool --name more --timeout 60s");
    user_data(&plane);
    day_two(&plane, &kubeconfig);
    plane.data("pause cluster demo");
    let paused: Value = serde_json::from_str(&plane.data("get clusters demo -o json")).expect("JSON");
    assert_eq!(paused["spec"]["pausedUntil"], "true");
    plane.data("resume cluster demo");
    plane.data("upgrade cluster demo --release-image quay.io/example/release:2 --wait --timeout 60s");

    assert!(
        plane
            .failure("destroy cluster agent --name demo", 1)
            .contains("hint: use: hcp destroy cluster none --name demo")
    );
    plane.data("destroy cluster none --name demo --cluster-grace-period 60s");
    assert_eq!(plane.data("get clusters -A -o name"), "");
    assert_eq!(plane.data("get nodepools -A -o name"), "");
    assert!(plane.failure("destroy cluster none --name demo", 1).starts_with("error: there is nothing to destroy"));
}

/// A pool's user-data in every wrapping, from the moment that there are some.
fn user_data(plane: &Plane) {
    plane.data("create nodepool none --name boots --cluster-name demo --replicas 1");
    let begin = std::time::Instant::now();
    let plain = loop {
        let output = plane.run("create userdata --nodepool boots");
        if output.status.success() {
            break String::from_utf8_lossy(&output.stdout).into_owned();
        }
        assert!(words(&output).contains("has no user-data yet: "), "{}", words(&output));
        assert!(begin.elapsed().as_secs() < 60, "{}", words(&output));
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    let config: Value = serde_json::from_str(&plain).expect("Ignition");
    let source =
        |config: &Value| config["ignition"]["config"]["merge"][0]["source"].as_str().expect("as asked for").to_owned();
    assert!(source(&config).starts_with("https://127.0.0.1:"), "{plain}");
    for format in ["gcp", "aws", "azure", "openstack", "libvirt"] {
        assert_eq!(plane.data(&format!("create userdata --nodepool boots --name demo --format {format}")), plain);
    }
    let cloud = plane.data("create userdata --nodepool boots --format cloud-init");
    assert!(cloud.starts_with("#cloud-config\n") && cloud.contains("hcp-agent, join"), "{cloud}");
    let refused = plane.failure("create userdata --nodepool boots --address 192.0.2.1", 1);
    assert!(refused.contains("is not good for 192.0.2.1, only for "), "{refused}");
    assert!(refused.contains("hint: name one of these"), "{refused}");
    let authority =
        config["ignition"]["security"]["tls"]["certificateAuthorities"][0]["source"].as_str().expect("as asked for");
    let pem = authority.strip_prefix("data:text/plain;base64,").expect("as asked for");
    let pem = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, pem).expect("as asked for");
    fs::write(plane.folder.path().join("ca.pem"), &pem).expect("as asked for");
    let line = "create userdata --nodepool boots --address 192.0.2.1 --host-name ign.example.com --ca-file ca.pem";
    let moved: Value = serde_json::from_str(&plane.data(line)).expect("Ignition");
    assert!(source(&moved).starts_with("https://192.0.2.1:"), "{moved}");
    let cloud = plane.data(&format!("{line} --format cloud-init"));
    assert!(cloud.contains("192.0.2.1 ign.example.com") && cloud.contains("https://ign.example.com:"), "{cloud}");
    let plan = plane.data("plan nodepool boots");
    assert!(plan.starts_with("NodePool clusters/boots: no node would restart"), "{plan}");
    let plan: Value = serde_json::from_str(&plane.data("plan nodepool boots -o json")).expect("JSON");
    assert_eq!(plan["nodePools"][0]["nodes"], serde_json::json!([]));
    let newer = plane.failure("plan nodepool boots --set-release kubernetes:v1.99.0", 1);
    assert!(newer.contains("would have no configuration"), "{newer}");
    assert!(plane.failure("plan nodepool nobody", 1).contains("there is no NodePool clusters/nobody"));
    plane.data("destroy nodepool --name boots --timeout 60s");
}

/// A kind that somebody else's operator brings along.
fn foreign_kind(group: &str, version: &str, (plural, kind): (&str, &str)) -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
            "versions": [{"name": version, "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

/// Ingress gets a place and an address when the operators for it are there, and nothing before.
fn day_two(plane: &Plane, kubeconfig: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let options = kube::config::KubeConfigOptions::default();
    let config = kube::config::Kubeconfig::from_yaml(kubeconfig).expect("a kubeconfig");
    let send = |method: &str, path: &str, body: &Value| -> Value {
        let request = http::Request::builder().method(method).uri(path).body(body.to_string().into_bytes());
        runtime.block_on(async {
            let config = kube::Config::from_custom_kubeconfig(config.clone(), &options).await.expect("a config");
            let client = kube::Client::try_from(config).expect("a client");
            client.request(request.expect("a request")).await.unwrap_or_else(|error| panic!("{path}: {error}"))
        })
    };
    for (name, site, address) in [("worker-0", "core", "10.19.3.10/24"), ("worker-1", "edge", "10.19.142.11/24")] {
        let metadata = json!({"name": name, "labels": {"site": site, "k8s.ovn.org/egress-assignable": ""},
            "annotations": {"k8s.ovn.org/host-cidrs": json!([address]).to_string()}});
        send(
            "POST",
            "/api/v1/nodes",
            &json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata,
            "status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
        );
    }
    let line = "create ingress --name demo --address 10.19.3.224/29";
    let missing = plane.failure(line, 1);
    assert!(missing.starts_with("error: the cluster demo has no IPAddressPool: "), "{missing}");
    assert!(plane.failure("create ingress --name demo --nodes site=x", 2).contains("its nodes: worker-0, worker-1\n"));

    for kind in [("ipaddresspools", "IPAddressPool"), ("l2advertisements", "L2Advertisement")] {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        send("POST", path, &foreign_kind("metallb.io", "v1beta1", kind));
    }
    plane.data(&format!("{line} --service-namespace web --service-selector app=router"));
    let service = send("GET", "/api/v1/namespaces/web/services/ingress-default", &Value::Null);
    assert_eq!(
        (&service["spec"]["type"], &service["spec"]["selector"]),
        (&json!("LoadBalancer"), &json!({"app": "router"}))
    );
    let path = "/apis/metallb.io/v1beta1/namespaces/metallb-system/ipaddresspools/ingress-default";
    assert_eq!(send("GET", path, &Value::Null)["spec"]["addresses"], json!(["10.19.3.224/29"]));

    let table = plane.data("check egressip --name demo --address 10.19.3.50");
    assert!(table.contains("10.19.3.50   worker-0   yes        in 10.19.3.0/24\n"), "{table}");
    assert!(
        table.contains("worker-1   no         it is not in the address's network; its networks are 10.19.142.0/24")
    );
    let nowhere = plane.failure("check egressip --name demo --address 10.7.0.1", 1);
    assert!(nowhere.ends_with("error: no node of demo can host 10.7.0.1\n"), "{nowhere}");
    for name in ["worker-0", "worker-1"] {
        send("DELETE", &format!("/api/v1/nodes/{name}"), &Value::Null);
    }
}

#[test]
fn what_takes_too_long_says_what_it_waits_for() {
    let plane = Plane::start();
    let words = plane.failure(&format!("{CREATE} --pausedUntil true --wait --timeout 5s"), 1);
    assert!(words.contains("error: cluster clusters/demo is not done after "), "{words}");
    assert!(words.contains(": waiting for operator: Reconciliation paused"), "{words}");
    assert!(words.contains("hint: look with: hcp describe cluster demo -n clusters\n"), "{words}");
    plane.data("resume cluster demo");
    plane.data("destroy cluster none --name demo --cluster-grace-period 60s");
}

#[test]
fn of_two_that_create_the_same_cluster_one_succeeds() {
    let plane = Plane::start();
    // The plane knows its kinds when this returns, so both start from the same line.
    plane.data("get clusters");
    let start = || {
        let mut command = program(plane.folder.path());
        command.args(format!("{CREATE} --wait --timeout 60s").split_whitespace()).stderr(Stdio::piped());
        command.spawn().expect("the program runs")
    };
    let outcomes = [start(), start()].map(|child| child.wait_with_output().expect("it ends"));
    let succeeded = outcomes.iter().filter(|output| output.status.success()).count();
    assert_eq!(succeeded, 1, "{}\n{}", words(&outcomes[0]), words(&outcomes[1]));
    let failed = outcomes.iter().find(|output| !output.status.success()).expect("one fails");
    assert!(words(failed).starts_with("error: a HostedCluster clusters/demo exists already\n"), "{}", words(failed));
    plane.data("destroy cluster none --name demo --cluster-grace-period 60s");
}
