//! What nobody's node should notice: ten thousand edits that mean nothing, and tokens that are replaced while machines
//! boot.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::dereference::Observed;
use super::rollout;
use super::tests::{carry_out, machine, observed, planned, tokens};
use super::validate::describe;

/// Edits of a run.
const EDITS: usize = 10_000;
/// Edits between two looks at the whole pool.
const LOOK: usize = 100;

/// Numbers that are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (limit as u64)).unwrap()
    }
}

/// The same manifests in other words.
const SPELLINGS: [[&str; 2]; 3] = [
    [
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nmetadata:\n  name: a\nspec:\n  kubeletConfig:\n    maxPods: 60\n    podPidsLimit: 99\n",
        "kind: KubeletConfig\n# a comment\nspec: {kubeletConfig: {podPidsLimit: 99, maxPods: 60}}\nmetadata: {name: a, labels: {x: y}}\napiVersion: machineconfiguration.openshift.io/v1\n",
    ],
    [
        "{\"apiVersion\": \"machineconfiguration.openshift.io/v1\", \"kind\": \"KubeletConfig\", \"metadata\": {\"name\": \"b\"}, \"spec\": {\"kubeletConfig\": {\"registryBurst\": 7}}}",
        "apiVersion: machineconfiguration.openshift.io/v1\nmetadata:\n    name: \"b\"\n    annotations: {who: knows}\nspec:\n    kubeletConfig:\n        registryBurst: 7\n\nkind: KubeletConfig\n",
    ],
    [
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nmetadata: {name: c}\nspec:\n  kubeletConfig: {registryPullQPS: 3}\n",
        "---\nkind: KubeletConfig\nmetadata:\n  name: 'c'\napiVersion: machineconfiguration.openshift.io/v1\nspec: {kubeletConfig: {\"registryPullQPS\": 3}}\n",
    ],
];

/// One edit that means nothing.
fn edit(observed: &mut Observed, cluster: &mut Value, chance: &mut Chance) -> &'static str {
    let number = chance.below(1000);
    match chance.below(11) {
        0 => {
            let count = observed.configs.len();
            observed.configs.swap(chance.below(count), chance.below(count));
            "order of ConfigMaps"
        }
        1 => {
            let place = chance.below(observed.configs.len());
            let number = observed.configs[place].0.parse::<usize>().unwrap();
            let text = SPELLINGS[number][chance.below(2)];
            observed.configs[place].1 =
                Some(json!({"metadata": {"resourceVersion": number}, "data": {"config": text}}));
            "spelling of a manifest"
        }
        2 => {
            observed.pool["spec"]["nodeLabels"] = json!({"number": number.to_string()});
            "labels"
        }
        3 => {
            observed.pool["spec"]["taints"] = json!([{"key": format!("k{number}"), "effect": "NoSchedule"}]);
            "taints"
        }
        4 => {
            observed.pool["spec"]["replicas"] = json!(1 + number % 9);
            "replicas"
        }
        5 => {
            observed.pool["metadata"]["annotations"] = json!({"example.com/number": number.to_string()});
            observed.pool["metadata"]["generation"] = json!(number);
            "metadata"
        }
        6 => {
            let space = " ".repeat(number % 5);
            let text = format!("{{{space}\"auths\":{space}{{ }}}}\n");
            observed.pull_secret = Some(json!({"data": {".dockerconfigjson": super::tests::encoded(&text)}}));
            "spelling of the pull secret"
        }
        7 => {
            observed.api_trust = Some(json!({"data": {"ca.crt": super::tests::authority()}}));
            "another authority of the cluster"
        }
        8 => {
            cluster["spec"]["pausedUntil"] = json!(if number.is_multiple_of(2) { "false" } else { "" });
            cluster["metadata"]["labels"] = json!({"number": number.to_string()});
            "fields of the cluster that reach no node"
        }
        9 => {
            observed.pool["spec"]["management"]["autoRepair"] = json!(number.is_multiple_of(2));
            observed.pool["spec"]["nodeDrainTimeout"] = json!(format!("{number}s"));
            "how nodes are changed"
        }
        _ => {
            let text = serde_json::to_string(&observed.pool).unwrap();
            observed.pool = serde_json::from_str(&text).unwrap();
            "another process"
        }
    }
}

#[test]
fn ten_thousand_edits_that_mean_nothing_roll_nothing() {
    let (mut observed, mut cluster) = observed(2);
    observed.configs = (0..SPELLINGS.len())
        .map(|number| (number.to_string(), Some(json!({"data": {"config": SPELLINGS[number][0]}}))))
        .collect();
    observed.pull_secret = Some(json!({"data": {".dockerconfigjson": super::tests::encoded("{\"auths\":{}}")}}));
    let machines = vec![machine(&observed, &cluster, "a", "True"), machine(&observed, &cluster, "b", "True")];
    let hash = |observed: &Observed, cluster: &Value| {
        let pool = describe(observed, cluster, "1.36.3").ok().expect("a pool");
        roost_ignition::hash::of_pool(&pool).expect("a hash").to_string()
    };
    let first = hash(&observed, &cluster);
    let nodes: Vec<Value> = machines
        .iter()
        .map(|machine| {
            json!({"metadata": {"name": machine["metadata"]["annotations"]["roost.dev/node-name"]},
                "spec": {"providerID": machine["spec"]["providerID"]},
                "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
        })
        .collect();
    let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let mut chance = Chance(20_260_101);
    for number in 0..EDITS {
        let what = edit(&mut observed, &mut cluster, &mut chance);
        assert_eq!(hash(&observed, &cluster), first, "{what} is edit {number}");
        if number % LOOK == 0 {
            let plan = planned(&observed, &cluster, "token", "2026-01-01T00:00:00Z");
            assert!(plan.token_secret.ends_with(&first), "{what}");
            observed.machines.clone_from(&machines);
            let situation = rollout::situation(&observed, &first, &nodes, false, |_| 0);
            let decided = rollout::plan(&situation, now);
            assert!(decided.steps.is_empty() && decided.state == rollout::State::Done, "{what}: {decided:?}");
        }
    }
    let changed = json!({"data": {"config": SPELLINGS[0][0].replace("60", "61")}});
    let first_config = observed.configs.iter_mut().find(|(name, _)| name == "0").expect("the first manifest");
    first_config.1 = Some(changed);
    assert_ne!(hash(&observed, &cluster), first, "an edit that means something does");
}

#[test]
fn a_machine_that_boots_with_user_data_of_the_last_hours_is_let_in() {
    let (mut observed, cluster) = observed(1);
    let begin: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let mut chance = Chance(7);
    let mut handed_out: Vec<(Timestamp, String)> = Vec::new();
    let mut now = begin;
    for number in 0..400 {
        let plan = planned(&observed, &cluster, &format!("token-{number}"), &now.to_string());
        let good: Vec<String> = tokens(&plan).into_iter().map(str::to_owned).collect();
        // Whoever got user-data within half a life of a token is still let in.
        handed_out.retain(|(at, _)| now.duration_since(*at) < SignedDuration::from_mins(5 * 60 + 30));
        for (at, token) in &handed_out {
            assert!(good.contains(token), "user-data of {at} no longer open anything at {now}");
        }
        handed_out.push((now, good[0].clone()));
        carry_out(&mut observed, &plan);
        now += SignedDuration::from_mins(i64::try_from(1 + chance.below(40)).unwrap());
    }
}
