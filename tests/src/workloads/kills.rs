//! Kills at random moments in rollouts: nothing is made twice, nothing is counted twice, and everything comes to its end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Method;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::WorkloadsError;
use super::api::Api;
use super::pretend;
use super::serve::Served;
use crate::random::Random;

/// Where everything happens.
const NAMESPACE: &str = "default";
/// The size of the Deployment, the StatefulSet and each Job.
const REPLICAS: i64 = 6;
const MEMBERS: i64 = 3;
const COMPLETIONS: i64 = 4;
/// How many pods a rollout of the Deployment may have beyond its size: a quarter, rounded up.
const SURGE: usize = 2;
/// How long the engine lives before it is killed, at most.
const LONGEST_LIFE_MILLISECONDS: u64 = 600;
/// How many kills a rollout sees before it is waited for.
const KILLS_IN_A_ROUND: usize = 5;
/// How long a round may take to come to its end once nobody kills.
const PATIENCE: Duration = Duration::from_mins(1);
/// How often nodes look at their pods.
const INTERVAL: Duration = Duration::from_millis(40);

/// What came of it.
#[derive(Debug)]
pub struct Kills {
    /// How often the engine was killed.
    pub kills: usize,
    /// How many rollouts came to their end.
    pub rounds: usize,
    /// How many pods ran.
    pub pods: usize,
    /// How long it took.
    pub seconds: u64,
    /// What should never have happened.
    pub violations: Vec<String>,
}

/// What the nodes saw.
#[derive(Default)]
struct Seen {
    /// Pods by the uid of who made them.
    made: BTreeMap<String, BTreeSet<String>>,
    /// Who runs under each name of the StatefulSet: the nodes let go only of what they have ended.
    members: BTreeMap<String, String>,
    /// Pods of each Job and index.
    indexes: BTreeMap<(String, String), BTreeSet<String>>,
    violations: BTreeSet<String>,
}

/// Kills an engine so often, while it rolls out. The program is called with `arguments` to be the engine.
pub async fn kill(arguments: &[&str], times: usize, seed: u64) -> Result<Kills, WorkloadsError> {
    let start = Instant::now();
    let mut served = Served::start(arguments).await?;
    let api = Api::process(served.remote(0));
    pretend::make_nodes(&api).await?;
    wait(&api, "the service account", "/api/v1/namespaces/default/serviceaccounts/default", |_| true).await?;
    let seen: Arc<Mutex<Seen>> = Arc::default();
    let nodes = tokio::spawn(run_nodes(api.clone(), Arc::clone(&seen)));
    let mut random = Random::new(seed);
    let (mut kills, mut rounds) = (0, 0);
    while kills < times {
        begin(&api, rounds).await?;
        for _ in 0..KILLS_IN_A_ROUND.min(times - kills) {
            tokio::time::sleep(Duration::from_millis(random.below(LONGEST_LIFE_MILLISECONDS))).await;
            served.kill().await?;
            kills += 1;
        }
        settle(&api, rounds).await?;
        rounds += 1;
    }
    nodes.abort();
    let seen = seen.lock();
    let pods = seen.made.values().map(BTreeSet::len).sum();
    let violations = seen.violations.iter().cloned().collect();
    Ok(Kills { kills, rounds, pods, seconds: start.elapsed().as_secs(), violations })
}

/// A new image for the Deployment and the StatefulSet, and a new Job.
async fn begin(api: &Api, round: usize) -> Result<(), WorkloadsError> {
    let image = format!("image-{round}");
    let template = |app: &str, end: Option<&str>| {
        let mut labels = json!({"app": app});
        if let Some(end) = end {
            labels["ends"] = end.into();
        }
        json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": image}]}})
    };
    let owner = |kind: &str, name: &str, replicas: i64| {
        json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": {"replicas": replicas,
            "selector": {"matchLabels": {"app": name}}, "template": template(name, None)}})
    };
    let mut job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": format!("job-{round}")}, "spec": {
        "completions": COMPLETIONS, "parallelism": 2, "completionMode": "Indexed", "template": template("job", Some("Succeeded"))}});
    job["spec"]["template"]["spec"]["restartPolicy"] = "Never".into();
    for (object, plural, name) in [
        (owner("Deployment", "web", REPLICAS), "/apis/apps/v1/namespaces/default/deployments", "web"),
        (owner("StatefulSet", "db", MEMBERS), "/apis/apps/v1/namespaces/default/statefulsets", "db"),
        (job, "/apis/batch/v1/namespaces/default/jobs", ""),
    ] {
        let (code, answer) = if round == 0 || name.is_empty() {
            api.send(Method::POST, plural, Some(&object)).await?
        } else {
            let patch = json!({"spec": {"template": object["spec"]["template"]}});
            api.send(Method::PATCH, &format!("{plural}/{name}"), Some(&patch)).await?
        };
        if code >= 300 {
            return Err(WorkloadsError::Refused { plane: "ours", what: plural.to_owned(), answer: answer.to_string() });
        }
    }
    Ok(())
}

/// Waits until a round is through.
async fn settle(api: &Api, round: usize) -> Result<(), WorkloadsError> {
    let is_of = |object: &Value, counts: &[(&str, i64)]| {
        object["status"]["observedGeneration"] == object["metadata"]["generation"]
            && counts.iter().all(|(name, count)| object["status"][name].as_i64().unwrap_or_default() == *count)
    };
    let deployment = [("replicas", REPLICAS), ("updatedReplicas", REPLICAS), ("availableReplicas", REPLICAS)];
    wait(api, "the Deployment", "/apis/apps/v1/namespaces/default/deployments/web", |found| is_of(found, &deployment))
        .await?;
    let set = [("replicas", MEMBERS), ("updatedReplicas", MEMBERS), ("availableReplicas", MEMBERS)];
    wait(api, "the StatefulSet", "/apis/apps/v1/namespaces/default/statefulsets/db", |found| is_of(found, &set))
        .await?;
    let job = format!("/apis/batch/v1/namespaces/{NAMESPACE}/jobs/job-{round}");
    wait(api, "the Job", &job, |found| {
        let conditions = found["status"]["conditions"].as_array().into_iter().flatten();
        let complete = conditions.into_iter().any(|one| one["type"] == "Complete" && one["status"] == "True");
        complete && found["status"]["succeeded"] == COMPLETIONS
    })
    .await
}

async fn wait(api: &Api, what: &str, path: &str, holds: impl Fn(&Value) -> bool) -> Result<(), WorkloadsError> {
    let end = Instant::now() + PATIENCE;
    loop {
        let seen = match api.send(Method::GET, path, None).await {
            Ok((200, object)) if holds(&object) => return Ok(()),
            Ok((_, object)) => object["status"].to_string(),
            Err(error) => error.to_string(),
        };
        if Instant::now() > end {
            return Err(WorkloadsError::Missed { plane: "ours", what: what.to_owned(), seen });
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// The nodes: they outlive the engine, as real ones do, and note what should not be.
async fn run_nodes(api: Api, seen: Arc<Mutex<Seen>>) {
    let mut beat = Instant::now();
    loop {
        if beat.elapsed() > Duration::from_secs(5) {
            let _ = pretend::beat(&api).await;
            beat = Instant::now();
        }
        if let Ok((200, pods)) = api.send(Method::GET, "/api/v1/namespaces/default/pods", None).await {
            let pods = pods["items"].as_array().cloned().unwrap_or_default();
            seen.lock().observe(&pods);
            for pod in &pods {
                if pretend::is_to_end(pod) {
                    seen.lock().ended(pod);
                }
                let _ = pretend::step(&api, pod, pretend::Addresses::Same).await;
            }
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

impl Seen {
    fn observe(&mut self, pods: &[Value]) {
        let mut active = 0;
        for pod in pods {
            let text = |field: &str| pod["metadata"][field].as_str().unwrap_or_default().to_owned();
            let (name, uid) = (text("name"), text("uid"));
            let owner = &pod["metadata"]["ownerReferences"][0];
            let (kind, owner_uid) =
                (owner["kind"].as_str().unwrap_or_default(), owner["uid"].as_str().unwrap_or_default());
            let made = self.made.entry(owner_uid.to_owned()).or_default();
            made.insert(uid.clone());
            match kind {
                "ReplicaSet" => {
                    let ended = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
                    active += usize::from(pod["metadata"]["deletionTimestamp"].is_null() && !ended);
                    if made.len() > REPLICAS as usize {
                        self.violations
                            .insert(format!("{} pods were made for {REPLICAS} slots of {owner_uid}", made.len()));
                    }
                }
                "StatefulSet" if !pod["spec"]["nodeName"].is_null() => {
                    let before = self.members.entry(name.clone()).or_insert_with(|| uid.clone());
                    if *before != uid {
                        self.violations.insert(format!("{name} runs twice: {before} and {uid}"));
                    }
                }
                "Job" => {
                    let index = pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"].to_string();
                    let pods = self.indexes.entry((owner_uid.to_owned(), index.clone())).or_default();
                    pods.insert(uid);
                    if pods.len() > 1 {
                        self.violations.insert(format!("index {index} of {owner_uid} has {} pods", pods.len()));
                    }
                }
                _ => {}
            }
        }
        if active > REPLICAS as usize + SURGE {
            self.violations.insert(format!("{active} pods at a time for {REPLICAS} replicas"));
        }
    }

    /// A node has ended a pod, so that another may have its name.
    fn ended(&mut self, pod: &Value) {
        let text = |field: &str| pod["metadata"][field].as_str().unwrap_or_default();
        if self.members.get(text("name")).is_some_and(|uid| uid == text("uid")) {
            self.members.remove(text("name"));
        }
    }
}
