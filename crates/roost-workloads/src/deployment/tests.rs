//! Rollouts, step by step.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::Action;

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().expect("a time")
}

fn deployment(replicas: i64, image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "d", "uid": "u", "generation": 1},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "progressDeadlineSeconds": 600,
            "revisionHistoryLimit": 1,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": image}]}},
        },
    })
}

/// A world of one Deployment, where `ReplicaSets` do at once what they are told.
struct World {
    deployment: Value,
    sets: Vec<Value>,
    told: Vec<String>,
}

impl World {
    fn new(deployment: Value) -> World {
        World { deployment, sets: Vec::new(), told: Vec::new() }
    }

    /// Looks until nothing is left to do, and checks that the bounds hold all the while.
    fn settle(&mut self) {
        for _ in 0..200 {
            let actions = plan(&self.deployment, self.sets.clone(), &[], now());
            let writes = actions.iter().filter(|action| !matches!(action, Action::LookAgain(_))).count();
            for action in actions {
                self.apply(action);
            }
            let mut moved = false;
            for set in &mut self.sets {
                let size = set["spec"]["replicas"].clone();
                let status = json!({"replicas": size, "readyReplicas": size, "availableReplicas": size,
                    "observedGeneration": 1, "terminatingReplicas": 0});
                moved |= set["status"] != status;
                set["status"] = status;
            }
            let total: i64 = self.sets.iter().map(|set| value::number(set, &["spec", "replicas"])).sum();
            let wanted = value::number(&self.deployment, &["spec", "replicas"]);
            assert!(total <= wanted + (wanted + 3) / 4, "{total} pods where {wanted} are wanted");
            if writes == 0 && !moved {
                return;
            }
        }
        panic!("it never settles");
    }

    fn apply(&mut self, action: Action) {
        match action {
            Action::Create(mut set) => {
                set["metadata"]["uid"] = set["metadata"]["name"].clone();
                set["metadata"]["generation"] = 1.into();
                set["metadata"]["creationTimestamp"] = format!("2026-01-01T00:00:{:02}Z", self.sets.len()).into();
                self.sets.push(set);
            }
            Action::Update(set) => {
                let uid = set["metadata"]["uid"].clone();
                let place = self.sets.iter_mut().find(|other| other["metadata"]["uid"] == uid).expect("a set");
                *place = set;
            }
            Action::UpdateStatus(next) => self.deployment = next,
            Action::Delete { object, .. } => self.sets.retain(|set| set["metadata"]["name"] != *object.name),
            Action::Tell(event) => self.told.push(event.message),
            Action::Patch { .. } | Action::Adopt { .. } | Action::SetCondition { .. } | Action::LookAgain(_) => {}
        }
    }

    fn change(&mut self, way: &[&str], to: impl Into<Value>) {
        value::set(&mut self.deployment, way, to);
        let generation = value::number(&self.deployment, &["metadata", "generation"]) + 1;
        self.deployment["metadata"]["generation"] = generation.into();
    }

    fn roll_to(&mut self, image: &str) {
        self.change(&["spec", "template", "spec", "containers"], json!([{"name": "c", "image": image}]));
        self.settle();
    }

    fn sizes(&self) -> Vec<(String, i64)> {
        let size =
            |set: &Value| (value::annotation(set, REVISION).to_owned(), value::number(set, &["spec", "replicas"]));
        self.sets.iter().map(size).collect()
    }
}

fn sized(sizes: &[(&str, i64)]) -> Vec<(String, i64)> {
    sizes.iter().map(|(revision, size)| ((*revision).to_owned(), *size)).collect()
}

#[test]
fn a_new_deployment_gets_a_set_of_its_size() {
    let mut world = World::new(deployment(3, "a"));
    world.settle();
    assert_eq!(world.sizes(), sized(&[("1", 3)]));
    assert_eq!(world.deployment["metadata"]["annotations"][REVISION], "1");
    assert_eq!(condition::find(&world.deployment, PROGRESSING).expect("progress")["reason"], NEW_SET_AVAILABLE);
    assert!(condition::is_true(&world.deployment, AVAILABLE));
    let set = &world.sets[0];
    assert_eq!(set["metadata"]["annotations"][DESIRED_REPLICAS], "3");
    assert_eq!(set["metadata"]["annotations"][MAX_REPLICAS], "4");
    assert_eq!(set["metadata"]["labels"][HASH_LABEL], set["spec"]["selector"]["matchLabels"][HASH_LABEL]);
}

#[test]
fn rolling_and_going_back_number_the_sets_anew() {
    let mut world = World::new(deployment(10, "a"));
    world.settle();
    world.roll_to("b");
    assert_eq!(world.sizes(), sized(&[("1", 0), ("2", 10)]));
    world.roll_to("a");
    assert_eq!(world.sizes(), sized(&[("3", 10), ("2", 0)]));
    assert_eq!(world.sets[0]["metadata"]["annotations"][REVISION_HISTORY], "1");
    world.roll_to("c");
    assert_eq!(world.sizes(), sized(&[("3", 0), ("4", 10)]), "only one earlier revision is kept");
}

#[test]
fn scaling_reaches_the_only_active_set() {
    let mut world = World::new(deployment(2, "a"));
    world.settle();
    world.change(&["spec", "replicas"], 7);
    world.settle();
    assert_eq!(world.sizes(), sized(&[("1", 7)]));
    assert_eq!(world.told.last().map(|text| text.contains("from 2 to 7")), Some(true), "{:?}", world.told);
    world.change(&["spec", "replicas"], 0);
    world.settle();
    assert_eq!(world.sizes(), sized(&[("1", 0)]));
}

#[test]
fn a_change_of_size_in_the_middle_is_shared_in_proportion() {
    let mut world = World::new(deployment(10, "a"));
    world.settle();
    world.change(&["spec", "template", "spec", "containers"], json!([{"name": "c", "image": "b"}]));
    for action in plan(&world.deployment, world.sets.clone(), &[], now()) {
        world.apply(action);
    }
    assert_eq!(world.sizes(), sized(&[("1", 8), ("2", 3)]));
    world.change(&["spec", "replicas"], 20);
    for action in plan(&world.deployment, world.sets.clone(), &[], now()) {
        world.apply(action);
    }
    let sizes = world.sizes();
    assert_eq!(sizes.iter().map(|(_, size)| size).sum::<i64>(), 25);
    assert!(sizes.iter().all(|(_, size)| *size > 3), "{sizes:?}");
}

#[test]
fn a_paused_deployment_scales_but_does_not_roll() {
    let mut world = World::new(deployment(4, "a"));
    world.settle();
    world.change(&["spec", "paused"], true);
    world.roll_to("b");
    assert_eq!(world.sizes(), sized(&[("1", 4)]));
    assert_eq!(condition::find(&world.deployment, PROGRESSING).expect("progress")["reason"], PAUSED);
    world.change(&["spec", "replicas"], 5);
    world.settle();
    assert_eq!(world.sizes(), sized(&[("1", 5)]));
    world.change(&["spec", "paused"], false);
    world.settle();
    assert_eq!(world.sizes(), sized(&[("1", 0), ("2", 5)]));
}

#[test]
fn recreate_waits_until_the_old_pods_are_gone() {
    let mut first = deployment(2, "a");
    first["spec"]["strategy"] = json!({"type": "Recreate"});
    let mut world = World::new(first);
    world.settle();
    world.change(&["spec", "template", "spec", "containers"], json!([{"name": "c", "image": "b"}]));
    for action in plan(&world.deployment, world.sets.clone(), &[], now()) {
        world.apply(action);
    }
    assert_eq!(world.sizes(), sized(&[("1", 0)]));
    world.sets[0]["status"] = json!({"replicas": 0, "observedGeneration": 1});
    let pod: Pod = serde_json::from_value(json!({"status": {"phase": "Running"}})).expect("a pod");
    assert!(
        !plan(&world.deployment, world.sets.clone(), &[&pod], now())
            .iter()
            .any(|action| matches!(action, Action::Create(_)))
    );
    world.settle();
    assert_eq!(world.sizes(), sized(&[("1", 0), ("2", 2)]));
}

#[test]
fn a_rollout_that_stands_still_is_called_so() {
    let mut world = World::new(deployment(1, "a"));
    for action in plan(&world.deployment, Vec::new(), &[], now()) {
        world.apply(action);
    }
    let later = now() + jiff::SignedDuration::from_secs(602);
    for action in plan(&world.deployment, world.sets.clone(), &[], later) {
        world.apply(action);
    }
    let progress = condition::find(&world.deployment, PROGRESSING).expect("progress");
    assert_eq!((&progress["status"], &progress["reason"]), (&json!("False"), &json!(TIMED_OUT)));
}

#[test]
fn a_name_that_is_taken_leads_to_another_one() {
    let wanted = deployment(1, "a");
    let made = |deployment: &Value| match plan(deployment, Vec::new(), &[], now()).swap_remove(0) {
        Action::Create(set) => set,
        other => panic!("a new set, not {other:?}"),
    };
    let first = made(&wanted);
    let mut error = Status::failure(409, "AlreadyExists", "it is there");
    let actions = creation_failed(&wanted, &first, &error, now());
    let [Action::UpdateStatus(next)] = actions.as_slice() else { panic!("a count, not {actions:?}") };
    assert_ne!(made(next)["metadata"]["name"], first["metadata"]["name"]);
    error.reason = "Forbidden".into();
    assert_eq!(creation_failed(&wanted, &first, &error, now()).len(), 2);
}
