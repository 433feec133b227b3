//! `hcp up --demo` as a person sees it: three nodes that are ready, pods that run on them, an end, and a second start.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use roost_sim::{NodeSpec, Simulator, Stage, Start};
use roost_tests::process::Process;
use roost_tests::{assets, hostile, plane};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);
const PAUSE: Duration = Duration::from_millis(100);

struct Demo {
    process: Process,
    data: PathBuf,
}

impl Demo {
    /// Starts it and waits until it says that its nodes are ready.
    async fn start(directory: &Path, turn: &str) -> Demo {
        let (data, logs) = (directory.join("data"), directory.join(turn));
        std::fs::create_dir_all(&logs).expect("a directory");
        // Ports of hosted clusters come from one range, so this plane has a loopback address of its own.
        let own = u8::try_from(std::process::id() % 250).unwrap_or_default() + 1;
        let listen = format!("127.{own}.77.1:{}", plane::free_port().expect("a port"));
        let words = ["up", "--demo", "--data-dir", &data.to_string_lossy(), "--listen", &listen].map(OsString::from);
        let process = Process::start("hcp", &hostile::binary().expect("a server"), words, &logs).expect("a process");
        let mut demo = Demo { process, data };
        let start = Instant::now();
        while !demo.said().contains("are Ready after") {
            demo.process.check_running().unwrap_or_else(|error| panic!("{error}"));
            assert!(start.elapsed() < PATIENCE, "{}", demo.said());
            tokio::time::sleep(PAUSE).await;
        }
        demo
    }

    fn said(&self) -> String {
        std::fs::read_to_string(self.process.log()).unwrap_or_default()
    }

    /// Runs `kubectl`; words are parted by spaces, and have tildes for spaces of their own.
    fn kubectl(&self, kubeconfig: &str, line: &str) -> String {
        let output = Command::new(assets::binary("kubectl").expect("kubectl"))
            .arg("--kubeconfig")
            .arg(self.data.join(kubeconfig))
            .args(line.split_whitespace().map(|word| word.replace('~', " ")))
            .output()
            .expect("kubectl runs");
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn items(&self, kubeconfig: &str, line: &str) -> Vec<Value> {
        let list: Value = serde_json::from_str(&self.kubectl(kubeconfig, &format!("{line} -o json"))).expect("a list");
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// Presses Ctrl-C and waits for the end.
    async fn end(mut self) {
        let id = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw).expect("a process");
        kill_process(id, Signal::INT).expect("a process that can be asked");
        let start = Instant::now();
        while self.process.check_running().is_ok() {
            assert!(start.elapsed() < PATIENCE, "it does not end");
            tokio::time::sleep(PAUSE).await;
        }
    }
}

fn names(items: &[Value]) -> Vec<String> {
    items.iter().filter_map(|item| item["metadata"]["name"].as_str()).map(str::to_owned).collect()
}

fn is_ready(node: &Value) -> bool {
    let conditions = node["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

fn check_nodes(demo: &Demo) {
    let nodes = demo.items("demo/kubeconfig", "get nodes");
    assert_eq!(names(&nodes), ["demo-1", "demo-2", "demo-3"]);
    for node in &nodes {
        assert!(is_ready(node), "{node}");
        assert!(node["spec"]["taints"].is_null(), "{node}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_join_before_your_eyes() {
    let directory = tempfile::tempdir().expect("a directory");
    let demo = Demo::start(directory.path(), "first").await;
    check_nodes(&demo);
    let machines = names(&demo.items("admin.kubeconfig", "get machines --namespace clusters-demo"));
    assert_eq!(machines.len(), 3);
    a_clone_is_refused(&demo).await;
    load_asks_for_more(&demo);
    people_deploy(&demo);
    people_operate(&demo);
    people_enter(&demo, directory.path()).await;
    more_came(&demo).await;
    demo.end().await;

    let again = Demo::start(directory.path(), "second").await;
    check_nodes(&again);
    assert_eq!(names(&again.items("admin.kubeconfig", "get machines --namespace clusters-demo")), machines);
    again.end().await;
}

/// What people type first on a cluster, word for word.
fn people_deploy(demo: &Demo) {
    let run = |line: &str| demo.kubectl("demo/kubeconfig", line);
    let settled = || run("rollout status deployment/web --timeout=60s");
    run("create deployment web --image=registry.test/web:1 --replicas=3");
    settled();
    assert!(run("logs deployment/web").contains("container started"));
    run("set image deployment/web web=registry.test/web:2");
    settled();
    assert_eq!(run("rollout history deployment/web").lines().filter(|line| line.starts_with(['1', '2'])).count(), 2);
    run("rollout undo deployment/web");
    settled();
    assert!(run("get deployment web -o jsonpath={.spec.template.spec.containers[0].image}").ends_with(":1"));
    run("expose deployment web --port=80");
    run("scale deployment web --replicas=2");
    settled();
    run("create job once --image=registry.test/job:1");
    // Following ends when the container does.
    assert!(run("logs -f job/once --pod-running-timeout=60s").contains("ended with code 0"));
    run("wait --for=condition=Complete job/once --timeout=60s");
    run("drain demo-1 --timeout=60s");
    settled();
    let pods = demo.items("demo/kubeconfig", "get pods -l app=web");
    assert!(pods.iter().all(|pod| pod["spec"]["nodeName"] != "demo-1"), "{pods:?}");
    run("uncordon demo-1");
}

/// What people type who look after a cluster.
fn people_operate(demo: &Demo) {
    let run = |line: &str| demo.kubectl("demo/kubeconfig", line);
    let settled = || run("rollout status deployment/web --timeout=60s");
    let image = || run("get pods -l app=web -o jsonpath={.items[*].spec.containers[0].image}");
    run("rollout pause deployment/web");
    run("set image deployment/web web=registry.test/web:3");
    assert!(!image().contains(":3"), "a rollout that is paused goes on: {}", image());
    run("rollout resume deployment/web");
    settled();
    assert!(image().split(' ').all(|image| image.ends_with(":3")), "{}", image());
    run("rollout restart deployment/web");
    settled();
    run("run once-more --image=registry.test/tool:1 --restart=Never");
    run("wait --for=jsonpath={.status.phase}=Succeeded pod/once-more --timeout=60s");
    run("create cronjob nightly --image=registry.test/job:1 --schedule=0~3~*~*~*");
    run("create job by-hand --from=cronjob/nightly");
    run("wait --for=condition=Complete job/by-hand --timeout=60s");
    run("cordon demo-2");
    run("taint node demo-3 maintenance=now:NoExecute");
    run("wait --for=delete pod --field-selector=spec.nodeName=demo-3 --timeout=60s");
    settled();
    let on = run("get pods -l app=web -o jsonpath={.items[*].spec.nodeName}");
    assert!(!on.contains("demo-3"), "{on}");
    run("taint node demo-3 maintenance:NoExecute-");
    run("uncordon demo-2");
}

/// What people type who want into a pod.
async fn people_enter(demo: &Demo, directory: &Path) {
    let run = |line: &str| demo.kubectl("demo/kubeconfig", line);
    let pod = run("get pods -l app=web -o jsonpath={.items[0].metadata.name}");
    assert_eq!(run(&format!("exec {pod} -- hostname")), format!("{pod}\n"));
    assert_eq!(run("exec deployment/web -- sh -c echo~$HOSTNAME").trim().len(), pod.len());
    let (there, back) = (directory.join("there"), directory.join("back"));
    std::fs::write(&there, "over and back").expect("a file");
    run(&format!("cp {} {pod}:/tmp/there", there.display()));
    assert_eq!(run(&format!("exec {pod} -- cat /tmp/there")), "over and back");
    run(&format!("cp {pod}:/tmp/there {}", back.display()));
    assert_eq!(std::fs::read_to_string(&back).expect("a file"), "over and back");
    let port = plane::free_port().expect("a port");
    let words = ["port-forward".to_owned(), format!("pod/{pod}"), format!("{port}:80")];
    let kubeconfig = demo.data.join("demo/kubeconfig");
    let words = ["--kubeconfig".into(), kubeconfig.into_os_string()].into_iter().chain(words.map(OsString::from));
    let kubectl = assets::binary("kubectl").expect("kubectl");
    let mut forward = Process::start("forward", &kubectl, words, directory).expect("a process");
    let start = Instant::now();
    let greeting = loop {
        forward.check_running().unwrap_or_else(|error| panic!("{error}"));
        if let Some(greeting) = ask(port).await.filter(|greeting| greeting.contains("200 OK")) {
            break greeting;
        }
        assert!(start.elapsed() < PATIENCE, "nobody answers");
        tokio::time::sleep(PAUSE).await;
    };
    assert!(greeting.contains(&pod), "{greeting}");
}

/// Asks a local port for a page.
async fn ask(port: u16) -> Option<String> {
    let mut stream = tokio::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.ok()?;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    Some(answer)
}

/// A Deployment that uses twice what it asked for is given an autoscaler.
fn load_asks_for_more(demo: &Demo) {
    let run = |line: &str| demo.kubectl("demo/kubeconfig", line);
    run("create deployment busy --image=registry.test/busy:1");
    run("set resources deployment busy --requests=cpu=5m");
    run("rollout status deployment/busy --timeout=60s");
    run("autoscale deployment busy --min=1 --max=3 --cpu=80%");
}

/// Its autoscaler came to as many as it may have, and everyone can see what is used.
async fn more_came(demo: &Demo) {
    let run = |line: &str| demo.kubectl("demo/kubeconfig", line);
    let start = Instant::now();
    while run("get deployment busy -o jsonpath={.spec.replicas}") != "3" {
        assert!(start.elapsed() < PATIENCE, "{}", run("describe hpa busy"));
        tokio::time::sleep(PAUSE).await;
    }
    let told = run("describe hpa busy");
    assert!(told.contains("SuccessfulRescale") && told.contains("200% (10m)"), "{told}");
    let nodes = run("top node");
    assert!(["demo-1", "demo-2", "demo-3", "CPU(cores)"].iter().all(|word| nodes.contains(word)), "{nodes}");
    let pods = run("top pod -l app=busy --containers");
    assert!(pods.contains("10m") && pods.contains("32Mi"), "{pods}");
}

/// Another host that asks for a name which is taken gets nothing, and both sides say why.
async fn a_clone_is_refused(demo: &Demo) {
    let secrets = demo.items("admin.kubeconfig", "get secrets --namespace clusters-demo");
    let name = |secret: &Value| secret["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let user_data = secrets.iter().find(|secret| name(secret).starts_with("user-data-demo-")).expect("user-data");
    let user_data = STANDARD.decode(user_data["data"]["value"].as_str().expect("a value")).expect("base64");
    let mut spec = NodeSpec::new("demo-1", Start::UserData(user_data));
    "another-host".clone_into(&mut spec.host_id);
    spec.address = IpAddr::V4(Ipv4Addr::new(127, 77, 0, 99));
    let clone = Simulator::new().spawn(spec);
    let mut progress = clone.progress();
    let refused = tokio::time::timeout(PATIENCE, progress.wait_for(|progress| progress.trouble.is_some())).await;
    let words = refused.expect("an answer").expect("a host").trouble.clone().unwrap_or_default();
    assert!(words.contains("409") && words.contains("demo-1"), "{words}");
    assert!(clone.progress().borrow().stage < Stage::Configured);
    let events = demo.items("admin.kubeconfig", "get events --namespace clusters-demo");
    let names_it = |event: &Value| {
        let message = event["message"].as_str().unwrap_or_default();
        event["type"] == "Warning" && message.contains("demo-1")
    };
    assert!(events.iter().any(names_it), "{events:?}");
}
