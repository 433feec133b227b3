//! Pods in their order.

use super::*;

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().expect("a time")
}

fn set(replicas: i64, image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "d", "uid": "u", "generation": 1},
        "spec": {"replicas": replicas, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
            "revisionHistoryLimit": 10, "podManagementPolicy": "OrderedReady",
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}],
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"image": image}]}}},
    })
}

struct World {
    set: Value,
    revisions: Vec<Value>,
    pods: Vec<Value>,
}

impl World {
    /// One look, after which all pods are ready; says what was done.
    fn look(&mut self) -> Vec<String> {
        let pods = self.pods.iter().map(|pod| Arc::new(serde_json::from_value(pod.clone()).expect("a pod"))).collect();
        let plan = plan(&self.set, self.revisions.clone(), pods, now());
        for action in plan.before.into_iter().chain(plan.after) {
            match action {
                Action::Create(revision) => self.revisions.push(revision),
                Action::Update(revision) => {
                    self.revisions.retain(|other| other["metadata"]["name"] != revision["metadata"]["name"]);
                    self.revisions.push(revision);
                }
                Action::UpdateStatus(next) => self.set = next,
                _ => {}
            }
        }
        let mut done = Vec::new();
        for step in plan.steps {
            match step {
                Step::Create { mut pod, claims } => {
                    assert_eq!(claims.len(), 1);
                    pod["metadata"]["uid"] = pod["metadata"]["name"].clone();
                    pod["status"] = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
                    done.push(format!("+{}", value::text(&pod, &["metadata", "name"])));
                    self.pods.push(pod);
                }
                Step::Delete(pod) => {
                    done.push(format!("-{}", pod.name));
                    self.pods.retain(|other| other["metadata"]["name"] != *pod.name);
                }
            }
        }
        done
    }

    fn settle(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        for _ in 0..50 {
            let done = self.look();
            if done.is_empty() {
                return all;
            }
            all.extend(done);
        }
        panic!("it never settles: {all:?}");
    }
}

#[test]
fn pods_come_in_order_and_go_in_the_other() {
    let mut world = World { set: set(3, "a"), revisions: Vec::new(), pods: Vec::new() };
    assert_eq!(world.look(), ["+db-0"]);
    assert_eq!(world.settle(), ["+db-1", "+db-2"]);
    assert_eq!(world.pods[1]["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"], "data-db-1");
    world.look();
    assert_eq!(world.set["status"]["currentReplicas"], 3);
    world.set["spec"]["replicas"] = 1.into();
    assert_eq!(world.settle(), ["-db-2", "-db-1"]);
}

#[test]
fn a_new_template_replaces_the_last_first_down_to_the_partition() {
    let mut world = World { set: set(3, "a"), revisions: Vec::new(), pods: Vec::new() };
    world.settle();
    world.set["spec"]["template"] = set(3, "b")["spec"]["template"].clone();
    world.set["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = 1.into();
    assert_eq!(world.settle(), ["-db-2", "+db-2", "-db-1", "+db-1"]);
    world.look();
    assert_ne!(world.set["status"]["currentRevision"], world.set["status"]["updateRevision"]);
    assert_eq!(world.set["status"]["updatedReplicas"], 2);
    world.set["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = 0.into();
    assert_eq!(world.settle(), ["-db-0", "+db-0"]);
    world.look();
    assert_eq!(world.set["status"]["currentRevision"], world.set["status"]["updateRevision"]);
    assert_eq!(world.revisions.len(), 2);
}

#[test]
fn parallel_sets_do_not_wait() {
    let mut parallel = set(3, "a");
    parallel["spec"]["podManagementPolicy"] = "Parallel".into();
    let mut world = World { set: parallel, revisions: Vec::new(), pods: Vec::new() };
    assert_eq!(world.look(), ["+db-0", "+db-1", "+db-2"]);
}

#[test]
fn a_revision_that_was_left_is_taken_in_unless_the_set_is_going() {
    let mut set = set(0, "a");
    let mut revision = history::new(&set, "db-1", &[], 1);
    revision["metadata"]["ownerReferences"] = json!([]);
    let adopts = |set: &Value| {
        let plan = plan(set, vec![revision.clone()], Vec::new(), now());
        plan.before.iter().chain(&plan.after).any(|action| matches!(action, Action::Adopt { .. }))
    };
    assert!(adopts(&set));
    set["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    assert!(!adopts(&set));
}
