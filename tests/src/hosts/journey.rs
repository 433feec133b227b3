//! What the hosts go through: joining with the power failing in between, a pod that outlives a power cut, and leaving.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::host::{Host, SHARED_SETTINGS, script};
use super::plane::{ControlPlane, Network, Supplies, write};
use super::shell::{output, until};
use super::{HostsError, ignited};
use crate::assets;

/// How long a node may need to be ready, and a pod to run, on a machine that is busy.
pub(super) const PATIENCE: Duration = Duration::from_mins(4);

/// What is run, and where.
#[derive(Clone, Debug)]
pub struct Journey {
    /// The binary `hcp`.
    pub hcp: PathBuf,
    /// The binary `hcp-agent`.
    pub agent: PathBuf,
    /// Where the root of all hosts is kept between runs.
    pub cache: PathBuf,
    /// How many hosts join by `hcp-agent`.
    pub hosts: u8,
    /// How many hosts know nothing but their pool's user-data.
    pub ignited: u8,
    /// After how many seconds of a join the power fails; for the first host, then the second, and so on.
    pub cuts: Vec<f64>,
}

/// Puts the settings back that hosts share with the machine under them.
pub(super) struct Settings(Vec<(&'static str, String)>);

impl Settings {
    pub(super) fn remember() -> Self {
        let value = |key: &'static str| {
            let text = output(Command::new("sysctl").args(["-n", key])).unwrap_or_default();
            (key, text.trim().to_owned())
        };
        Self(SHARED_SETTINGS.into_iter().map(value).collect())
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        for (key, value) in &self.0 {
            if output(Command::new("sysctl").arg("-qw").arg(format!("{key}={value}"))).is_err() {
                eprintln!("{key} was not put back to {value}");
            }
        }
    }
}

/// Takes the hosts through all of it.
pub fn run(journey: &Journey, tell: &(dyn Fn(&str) + Sync)) -> Result<(), HostsError> {
    let settings = Settings::remember();
    let work = tempfile::Builder::new().prefix("roost-hosts-").tempdir();
    let work = work.map_err(|source| HostsError::File { path: "a temporary directory".into(), source })?;
    tell("making the root of all hosts, where it is missing");
    output(&mut script("base", &[&journey.cache.to_string_lossy()]))?;
    if journey.ignited > 0 {
        output(&mut script("image", &[&journey.cache.to_string_lossy()]))?;
    }
    let shared = work.path().join("shared");
    std::fs::create_dir(&shared).map_err(|source| HostsError::File { path: shared.clone(), source })?;
    copy(&journey.agent, &shared.join("hcp-agent"))?;
    image(&shared)?;
    let artifacts = work.path().join("artifacts");
    copy(&journey.agent, &artifacts.join("any/amd64/usr/local/bin/hcp-agent"))?;
    copy(&assets::binary("kubelet")?, &artifacts.join("1.36.3/amd64/usr/local/bin/kubelet"))?;
    let platform = json!({"type": "None"});
    let supplies = Supplies { artifacts: &artifacts, images: None, platform, network: Network::Other };
    let plane = ControlPlane::start(&journey.hcp, work.path(), &supplies)?;
    let admin = shared.join("admin.kubeconfig");
    std::fs::copy(plane.guest_kubeconfig(), &admin).map_err(|source| HostsError::File { path: admin, source })?;
    tell("the hosted cluster answers");
    let outcome = std::thread::scope(|scope| {
        let (plane, shared, work) = (&plane, shared.as_path(), work.path());
        let joined = (1..=journey.hosts)
            .map(|number| scope.spawn(move || one_host(journey, plane, work, shared, number + 10, tell)));
        let ignited = (1..=journey.ignited)
            .map(|number| scope.spawn(move || ignited::one_host(journey, plane, work, shared, number + 100, tell)));
        let hosts: Vec<_> = joined.chain(ignited).collect();
        hosts.into_iter().try_for_each(|host| {
            host.join().unwrap_or_else(|_| Err(HostsError::Wrong("a host's thread panicked".to_owned())))
        })
    });
    drop(plane);
    drop(settings);
    outcome
}

fn one_host(
    journey: &Journey,
    plane: &ControlPlane,
    work: &Path,
    shared: &Path,
    number: u8,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<(), HostsError> {
    let host = Host::make(&journey.cache.join("base"), work, shared, number)?;
    host.power_on()?;
    let say = |words: &str| tell(&format!("{}: {words}", host.name));
    let user_data = plane.user_data(&host.name, host.number)?;
    write(&shared.join(format!("{}.ign", host.name)), &user_data)?;
    settle(&host)?;
    let before = host.snapshot()?;
    say("booted, and has its pool's user-data");

    let begin = Instant::now();
    let log = work.join(format!("join-{}.log", host.name));
    let file = format!("/opt/shared/{}.ign", host.name);
    let line = ["/opt/shared/hcp-agent", "join", "--user-data", &file];
    let mut joining = host.start(&line, &log)?;
    let cut = journey.cuts.get(usize::from(number) - 11).copied();
    if let Some(seconds) = cut {
        std::thread::sleep(Duration::from_secs_f64(seconds));
        let last = last_line(&log);
        host.cut()?;
        say(&format!("the power failed {seconds} s into the join, at: {last}"));
        let _ = joining.wait();
        host.power_on()?;
    }
    until(&format!("{} as a node", host.name), PATIENCE, || {
        let seen = plane.guest(&["get", "node", &host.name, "-o", "json"]).map_err(|error| error.to_string());
        seen.and_then(|text| ready_without_taint(&serde_json::from_str(&text).map_err(|error| error.to_string())?))
            .map_err(|reason| format!("{reason}; the agent's last words: {}", last_words(&host, &log)))
    })?;
    let _ = joining.wait();
    say(&format!("Ready without a taint {} s after the join began", begin.elapsed().as_secs()));

    runs_a_pod(plane, &host, &host.name, &say)?;

    let words = host.run(&["/opt/shared/hcp-agent", "leave", "--kubeconfig", "/opt/shared/admin.kubeconfig"]);
    words.map_err(|error| HostsError::Wrong(format!("{} did not leave: {error}", host.name)))?;
    if plane.guest(&["get", "node", &host.name]).is_ok() {
        return Err(HostsError::Wrong(format!("the node {} is still there", host.name)));
    }
    let after = host.snapshot()?;
    let mut changed = difference(&before, &after);
    if journey.hosts + journey.ignited > 1 {
        // These belong to the kernel that all hosts here share; with one host they are compared.
        changed.retain(|line| {
            !SHARED_SETTINGS.iter().any(|setting| line.get(2..).is_some_and(|line| line.starts_with(setting)))
        });
    }
    if !changed.is_empty() {
        return Err(HostsError::Wrong(format!("{} is not as it was:\n{}", host.name, changed.join("\n"))));
    }
    say(&format!("left, and nothing of {} things is different from before", before.lines().count()));
    Ok(())
}

/// A node says which configuration it has, and runs a pod, which outlives a power cut.
pub(super) fn runs_a_pod(plane: &ControlPlane, host: &Host, node: &str, say: &dyn Fn(&str)) -> Result<(), HostsError> {
    until(&format!("the word of {node} on its configuration"), PATIENCE, || {
        let path = "jsonpath={.metadata.annotations.roost\\.dev/current-config}";
        let hash = plane.guest(&["get", "node", node, "-o", path]).map_err(|error| error.to_string())?;
        if hash.is_empty() { Err("the agent's service has said nothing".to_owned()) } else { Ok(hash) }
    })?;
    host.run(&["ctr", "-n", "k8s.io", "images", "import", "/opt/shared/image.tar"])?;
    plane.apply_to_guest(&pod(node))?;
    wait_for_pod(plane, node, 0)?;
    say("runs a pod");
    host.cut()?;
    host.power_on()?;
    let begin = Instant::now();
    wait_for_pod(plane, node, 1)?;
    say(&format!("the pod runs again {} s after the power came back", begin.elapsed().as_secs()));
    Ok(())
}

/// Waits until nothing starts any more.
pub(super) fn settle(host: &Host) -> Result<(), HostsError> {
    until(&format!("{} at rest", host.name), PATIENCE, || {
        // Degraded is at rest, too; what failed is compared like all else.
        match host.run(&["systemctl", "is-system-running"]) {
            Ok(state) => Ok(state),
            Err(HostsError::Command { output, .. }) if output.starts_with("degraded") => Ok(output),
            Err(error) => Err(error.to_string()),
        }
    })
    .map(drop)
}

pub(super) fn last_line(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.lines().last().unwrap_or("nothing was said").to_owned()
}

/// What the agent said last: to who called it, and, after a power cut, to the host's journal.
fn last_words(host: &Host, log: &Path) -> String {
    let resumed = host.run(&["journalctl", "--unit", "hcp-agent-resume.service", "--lines", "5", "--output", "cat"]);
    format!("{}; after the power cut: {}", last_line(log), resumed.unwrap_or_default().trim())
}

pub(super) fn ready_without_taint(node: &Value) -> Result<(), String> {
    let conditions = node.pointer("/status/conditions").and_then(Value::as_array);
    let ready = conditions.into_iter().flatten().find(|condition| condition["type"] == "Ready");
    let ready = ready.ok_or("the node has no condition yet")?;
    if ready["status"] != "True" {
        return Err(ready["message"].as_str().unwrap_or("it is not ready").to_owned());
    }
    match node.pointer("/spec/taints") {
        None => Ok(()),
        Some(taints) => Err(format!("it has taints: {taints}")),
    }
}

fn pod(node: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": [{
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("web-{node}"), "namespace": "default"},
        "spec": {
            "nodeSelector": {"kubernetes.io/hostname": node},
            "terminationGracePeriodSeconds": 1,
            "containers": [{
                "name": "web", "image": "registry.test/pause:1", "imagePullPolicy": "Never",
                "command": ["/bin/busybox", "httpd", "-f", "-p", "80"],
                "ports": [{"containerPort": 80, "hostPort": 8080}],
                "readinessProbe": {"httpGet": {"path": "/bin/busybox", "port": 80}, "periodSeconds": 1},
            }],
        },
    }]})
}

/// Waits until the pod of a node is ready and has been started again so many times.
fn wait_for_pod(plane: &ControlPlane, node: &str, restarts: u64) -> Result<(), HostsError> {
    until(&format!("the pod of {node}"), PATIENCE, || {
        let name = format!("web-{node}");
        let text = plane.guest(&["get", "pod", &name, "-o", "json"]).map_err(|error| error.to_string())?;
        let pod: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let state = &pod["status"]["containerStatuses"][0];
        let is_well = state["ready"] == true && state["restartCount"].as_u64().unwrap_or_default() >= restarts;
        if is_well { Ok(()) } else { Err(pod["status"].to_string()) }
    })
}

/// Copies a program, with the directories above it.
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), HostsError> {
    let copied = std::fs::create_dir_all(to.parent().unwrap_or(to)).and_then(|()| std::fs::copy(from, to));
    copied.map(drop).map_err(|source| HostsError::File { path: to.to_owned(), source })
}

/// An image made by hand: one static busybox, which is also what holds a pod's namespaces.
pub(super) fn image(shared: &Path) -> Result<(), HostsError> {
    let work = shared.join("image");
    let lines = "set -e; mkdir -p root/bin root/tmp; cp \"$(command -v busybox)\" root/bin/busybox
        for applet in cat hostname httpd nslookup sh sleep tar wget; do ln -s busybox root/bin/$applet; done; tar -C root -cf layer.tar .
        digest=$(sha256sum layer.tar | cut -d' ' -f1)
        printf '{\"architecture\":\"amd64\",\"os\":\"linux\",\"config\":{\"Entrypoint\":[\"/bin/busybox\",\"sleep\",\"1000000\"]},\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[\"sha256:%s\"]}}' $digest >config.json
        printf '[{\"Config\":\"config.json\",\"RepoTags\":[\"registry.test/pause:1\"],\"Layers\":[\"layer.tar\"]}]' >manifest.json
        tar -cf ../image.tar manifest.json config.json layer.tar";
    std::fs::create_dir(&work).map_err(|source| HostsError::File { path: work.clone(), source })?;
    output(Command::new("sh").args(["-c", lines]).current_dir(&work)).map(drop)
}

/// The lines that only one of two snapshots has.
pub(super) fn difference(before: &str, after: &str) -> Vec<String> {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
    let (before, after) = (lines(before), lines(after));
    let gone = before.difference(&after).map(|line| format!("- {line}"));
    let new = after.difference(&before).map(|line| format!("+ {line}"));
    gone.chain(new).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{difference, ready_without_taint};

    #[test]
    fn a_difference_names_both_sides() {
        assert_eq!(difference("a\nb\n", "b\nc\n"), ["- a", "+ c"]);
        assert!(difference("a\nb\n", "b\na\n").is_empty());
    }

    #[test]
    fn a_tainted_node_is_not_enough() {
        let mut node = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        assert_eq!(ready_without_taint(&node), Ok(()));
        node["spec"] = json!({"taints": [{"key": "a"}]});
        assert!(ready_without_taint(&node).is_err());
        assert!(ready_without_taint(&json!({})).is_err());
    }
}
