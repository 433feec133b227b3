//! What changes a hash, and what must not.

use proptest::prelude::*;
use roost_pki::Secret;
use serde_json::{Value, json};

use super::{ContentHash, of_pool, of_pool_without_version};
use crate::payload::tests::{AUTHORITY, full_pool, pool};
use crate::payload::{Pool, UserConfig};

fn manifests() -> Vec<Value> {
    let machine = |name: &str, path: &str| {
        json!({
            "apiVersion": "machineconfiguration.openshift.io/v1",
            "kind": "MachineConfig",
            "metadata": {"name": name},
            "spec": {"config": {"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": path, "mode": 0o644}]}}},
        })
    };
    vec![
        machine("50-a", "/etc/a"),
        machine("50-b", "/etc/b"),
        json!({
            "apiVersion": "machineconfiguration.openshift.io/v1",
            "kind": "KubeletConfig",
            "metadata": {"name": "limits"},
            "spec": {"kubeletConfig": {"maxPods": 100, "evictionHard": {"memory.available": "100Mi"}}},
        }),
        json!({
            "apiVersion": "config.openshift.io/v1",
            "kind": "ImageDigestMirrorSet",
            "metadata": {"name": "mirrors"},
            "spec": {"imageDigestMirrors": [{"source": "quay.io", "mirrors": ["a.local", "b.local"]}]},
        }),
    ]
}

/// The same manifests, spelled and spread in some way.
fn spread(choices: &[u8]) -> Vec<UserConfig> {
    let mut choices = choices.iter().copied().chain(std::iter::repeat(0));
    let mut choose = |limit: usize| usize::from(choices.next().unwrap_or(0)) % limit;
    let mut left = manifests();
    let mut configs: Vec<UserConfig> = Vec::new();
    while !left.is_empty() {
        let manifest = left.remove(choose(left.len()));
        let text = match choose(4) {
            0 => manifest.to_string(),
            1 => serde_json::to_string_pretty(&manifest).unwrap(),
            2 => roost_object::yaml::write(&manifest),
            _ => format!("# a comment\n{}\n\n", roost_object::yaml::write(&manifest)),
        };
        match configs.last_mut() {
            Some(last) if choose(2) == 0 => {
                last.text.push_str("\n---\n");
                last.text.push_str(&text);
            }
            _ => configs.push(UserConfig { name: format!("config-{}", choose(250)), text }),
        }
    }
    configs
}

proptest! {
    #[test]
    fn order_and_spelling_change_nothing(choices in proptest::collection::vec(any::<u8>(), 0..24)) {
        let hash = |choices: &[u8]| of_pool(&Pool { user_configs: spread(choices), ..pool() }).unwrap();
        prop_assert_eq!(hash(&choices), hash(&[]));
    }

    #[test]
    fn key_order_changes_nothing(pairs in proptest::collection::vec((any::<u16>(), any::<u8>()), 0..10)) {
        let forward: serde_json::Map<_, _> = pairs.iter().map(|(key, value)| (key.to_string(), json!(value))).collect();
        let mut seen = std::collections::HashSet::new();
        let last_wins: Vec<_> = pairs.iter().rev().filter(|(key, _)| seen.insert(*key)).collect();
        let backward: serde_json::Map<_, _> =
            last_wins.into_iter().map(|(key, value)| (key.to_string(), json!(value))).collect();
        prop_assert_eq!(ContentHash::of_value(&forward.into()), ContentHash::of_value(&backward.into()));
    }
}

#[test]
fn what_reaches_no_node_changes_nothing() {
    let hash = |pool: &Pool| of_pool(pool).unwrap();
    let before = hash(&full_pool());
    let mut same = full_pool();
    same.labels.insert("b".to_owned(), "c".to_owned());
    same.taints.clear();
    same.name = "renamed".to_owned();
    same.ssh_keys.reverse();
    same.ssh_keys.push(same.ssh_keys[0].clone());
    same.cluster_domain = "cluster.local".to_owned();
    same.release_version = "v1.36.3".to_owned();
    same.artifacts.clear();
    same.pull_secret = Some(Secret::new("{ \"auths\" : {\"quay.io\":{\"auth\":\"dTpw\"}} }\n".to_owned()));
    same.trust_bundle = Some(format!("# a comment\n{}\n\n", AUTHORITY.replace('\n', "\r\n")));
    assert_eq!(hash(&same), before);
}

type Edit = fn(&mut Pool);

#[test]
fn what_reaches_a_node_changes_the_hash() {
    let base = || Pool { user_configs: spread(&[]), ..full_pool() };
    let edits: [(&str, Edit); 13] = [
        ("release", |pool| "1.36.4".clone_into(&mut pool.release_version)),
        ("pull secret", |pool| pool.pull_secret = Some(Secret::new(r#"{"auths":{}}"#.to_owned()))),
        ("keys", |pool| pool.ssh_keys.push("ssh-rsa c".to_owned())),
        ("proxy", |pool| pool.proxy = None),
        ("trust", |pool| pool.trust_bundle = None),
        ("mirrors", |pool| pool.mirrors.clear()),
        ("runtime", |pool| pool.runtime = crate::payload::Runtime::CriO),
        ("endpoint", |pool| pool.api.port = 1),
        ("dns", |pool| pool.cluster_dns.clear()),
        ("network", |pool| pool.has_default_network = true),
        ("pods", |pool| pool.kubelet.max_pods = Some(9)),
        ("manifest", |pool| pool.user_configs[0].text = pool.user_configs[0].text.replace("/etc/a", "/etc/c")),
        ("no manifest", |pool| pool.user_configs.clear()),
    ];
    let before = of_pool(&base()).unwrap();
    let mut all = std::collections::HashSet::from([before]);
    for (name, edit) in edits {
        let mut changed = base();
        edit(&mut changed);
        assert!(all.insert(of_pool(&changed).unwrap()), "{name}");
    }
    let newer = Pool { release_version: "1.37.0".to_owned(), ..base() };
    assert_eq!(of_pool_without_version(&newer), of_pool_without_version(&base()));
}

#[test]
fn a_hash_fits_into_a_name() {
    let hash = of_pool(&pool()).unwrap();
    assert_eq!((hash.to_string().len(), hash.full().len()), (8, 64));
    assert!(hash.full().starts_with(&hash.to_string()));
}
