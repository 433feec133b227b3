//! A node that is changed in place, on a temporary root, beside a plane that is made up: it is what it should be, or what
//! it was, wherever the power fails.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs;
use std::rc::Rc;
use std::time::Duration;

use roost_ignition::payload::paths;
use roost_ignition::{Config, SpecVersion};
use serde_json::{Value, json};

use crate::apply::apply;
use crate::change::{CURRENT, ChangeError, DESIRED, FAILED, Outcome, Plane, Wish, pass, wish};
use crate::host::Host;
use crate::intent;
use crate::journal::Journal;
use crate::kept::Kept;
use crate::root::Root;
use crate::undo_tests::{NoFetch, PLENTY, Pretended, State, snapshot};

/// A payload whose kubelet works or does not.
fn payload(hash: &str, kubelet: &str, extra: &str) -> Config {
    let mut config = Config::new(SpecVersion::V3_2);
    config.put_file(paths::CONFIG_HASH, 0o644, format!("{hash}\n").as_bytes());
    config.put_file(paths::KUBELET_CONFIG, 0o644, kubelet.as_bytes());
    config.put_file(extra, 0o600, extra.as_bytes());
    config.put_unit(paths::KUBELET_UNIT, Some(true), Some(&format!("[Service]\nExecStart={kubelet}\n")));
    config.put_unit(paths::AGENT_UNIT, Some(true), Some("[Service]\n"));
    config
}

fn old() -> Config {
    payload("old", "well", "/etc/only-old")
}

struct World {
    directory: tempfile::TempDir,
    state: Rc<RefCell<State>>,
    annotations: BTreeMap<String, Value>,
    payloads: Vec<Config>,
    is_deaf: bool,
}

impl World {
    /// A host whose files Ignition wrote before its first boot.
    fn booted() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for path in ["etc/kubernetes", "etc/systemd/system", "var/lib", "usr"] {
            fs::create_dir_all(directory.path().join(path)).unwrap();
        }
        for file in old().files() {
            fs::write(directory.path().join(&file.path()[1..]), file.contents().unwrap()).unwrap();
        }
        for unit in old().units() {
            let path = directory.path().join("etc/systemd/system").join(unit.name());
            fs::write(path, unit.contents().unwrap()).unwrap();
        }
        let units = [paths::KUBELET_UNIT.to_owned(), paths::AGENT_UNIT.to_owned()];
        let state = State { active: units.clone().into(), enabled: units.into(), ..State::default() };
        Self {
            directory,
            state: Rc::new(RefCell::new(state)),
            annotations: BTreeMap::new(),
            payloads: Vec::new(),
            is_deaf: false,
        }
    }

    /// A host that joined by the agent, and so has a journal of its payload.
    fn joined() -> Self {
        let world = Self::booted();
        fs::remove_dir_all(world.directory.path().join("etc")).unwrap();
        fs::create_dir_all(world.directory.path().join("etc")).unwrap();
        *world.state.borrow_mut() = State::default();
        let mut host = world.host(PLENTY);
        let root = host.root.clone();
        let mut first = old();
        first.put_file(paths::BOOTSTRAP_KUBECONFIG, 0o600, b"credential");
        apply(&mut host, &intent::changes(&root, &first).unwrap(), &mut NoFetch, &mut |_| {}).unwrap();
        Kept::new(&root).keep_payload(&first).unwrap();
        world
    }

    fn host(&self, fuse: u64) -> Host<Pretended> {
        let root = Root::with_fuse(self.directory.path(), Rc::new(Cell::new(fuse)));
        let system = Pretended { root: root.clone(), state: Rc::clone(&self.state) };
        let journal = Journal::open_or_begin(&root).unwrap();
        Host { root, system, journal }
    }

    fn want(&mut self, payload: Config, hash: &str) {
        self.payloads.push(payload);
        self.annotations.insert(DESIRED.to_owned(), hash.into());
    }

    fn pass(&mut self, fuse: u64, insists: bool) -> Result<Outcome, ChangeError> {
        let mut host = self.host(PLENTY);
        // Opening the journal is no part of a change.
        host.root = Root::with_fuse(self.directory.path(), Rc::new(Cell::new(fuse)));
        host.system.root = host.root.clone();
        host.journal = Journal::open(&host.root)?.expect("a journal");
        pass(&mut host, self, &mut NoFetch, Duration::ZERO, insists, &mut |_| {})
    }

    /// What others see of the host: neither the journal nor times.
    fn visible(&self) -> BTreeMap<String, String> {
        let mut files = snapshot(self.directory.path());
        files.retain(|path, _| !path.starts_with("var/lib/roost"));
        files.into_iter().map(|(path, text)| (path, text.split(" at ").next().unwrap_or_default().to_owned())).collect()
    }

    fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.directory.path().join(path.trim_start_matches('/'))).ok()
    }
}

impl From<crate::journal::JournalError> for ChangeError {
    fn from(error: crate::journal::JournalError) -> Self {
        Self::Keep(std::io::Error::other(error))
    }
}

impl Plane for World {
    fn node(&mut self) -> Result<Value, String> {
        let is_well = self.text(paths::KUBELET_CONFIG).is_some_and(|text| text == "well")
            && self.state.borrow().active.contains(paths::KUBELET_UNIT);
        Ok(json!({
            "metadata": {"annotations": self.annotations},
            "status": {"conditions": [{
                "type": "Ready", "status": if is_well { "True" } else { "False" },
                "message": "the kubelet is broken", "lastHeartbeatTime": "2999-01-01T00:00:00Z",
            }]},
        }))
    }

    fn annotate(&mut self, annotations: &Value) -> Result<(), String> {
        if self.is_deaf {
            return Err("nobody answers".to_owned());
        }
        for (name, value) in annotations.as_object().unwrap() {
            match value {
                Value::Null => drop(self.annotations.remove(name)),
                value => drop(self.annotations.insert(name.clone(), value.clone())),
            }
        }
        Ok(())
    }

    fn payload(&mut self, hash: &str) -> Result<Config, String> {
        let found =
            self.payloads.iter().find(|payload| roost_ignition::payload::config_hash(payload).as_deref() == Some(hash));
        found.or(self.payloads.last()).cloned().ok_or_else(|| "403: this node has no Machine".to_owned())
    }

    fn pause(&mut self) {}
}

/// A kind of host, and how one is made.
type Kind = (&'static str, fn() -> World);

fn worlds() -> [Kind; 2] {
    [("booted by Ignition", World::booted), ("joined by the agent", World::joined)]
}

#[test]
fn a_node_asks_for_what_it_has_not() {
    let node = |current: &str, desired: &str, failed: &str| json!({"metadata": {"annotations": {(CURRENT): current, (DESIRED): desired, (FAILED): failed}}});
    assert_eq!(wish(&json!({}), "a", false), Wish::Report);
    assert_eq!(wish(&json!({}), "", false), Wish::Nothing);
    assert_eq!(wish(&node("a", "", ""), "a", false), Wish::Nothing);
    assert_eq!(wish(&node("a", "a", ""), "a", false), Wish::Nothing);
    assert_eq!(wish(&node("a", "b", ""), "a", false), Wish::Change("b".to_owned()));
    assert_eq!(wish(&node("a", "b", "b: broken"), "a", false), Wish::Nothing);
    assert_eq!(wish(&node("a", "b", "b: broken"), "a", true), Wish::Change("b".to_owned()));
    assert_eq!(wish(&node("a", "b", "c: broken"), "a", false), Wish::Change("b".to_owned()));
}

#[test]
fn a_node_is_changed_and_says_so() {
    for (kind, make) in worlds() {
        let mut world = make();
        assert_eq!(world.pass(PLENTY, false).unwrap(), Outcome::Settled, "{kind}");
        assert_eq!(world.annotations[CURRENT], "old", "{kind}");
        world.want(payload("new", "well", "/etc/only-new/file"), "new");
        assert_eq!(world.pass(PLENTY, false).unwrap(), Outcome::Changed("new".to_owned()), "{kind}");
        assert_eq!(world.annotations[CURRENT], "new", "{kind}");
        assert_eq!(world.text(paths::CONFIG_HASH).as_deref(), Some("new\n"), "{kind}");
        assert!(world.text("/etc/only-new/file").is_some(), "{kind}");
        assert_eq!(world.pass(PLENTY, false).unwrap(), Outcome::Settled, "{kind}");
    }
    let mut world = World::joined();
    world.want(payload("new", "well", "/etc/only-new/file"), "new");
    world.pass(PLENTY, false).unwrap();
    assert_eq!(world.text("/etc/only-old"), None, "what the new configuration does not have goes");
    assert_eq!(world.text(paths::BOOTSTRAP_KUBECONFIG).as_deref(), Some("credential"), "but for who the node is");
}

#[test]
fn a_node_that_does_not_come_back_is_put_back() {
    for (kind, make) in worlds() {
        let mut world = make();
        let before = world.visible();
        world.want(payload("bad", "broken", "/etc/only-new/file"), "bad");
        let outcome = world.pass(PLENTY, false).unwrap();
        assert!(matches!(&outcome, Outcome::TakenBack { to, .. } if to == "bad"), "{kind}: {outcome:?}");
        assert_eq!(world.visible(), before, "{kind}");
        let told = world.annotations[FAILED].as_str().unwrap();
        assert!(told.starts_with("bad: the node was not Ready within 0 s: the kubelet is broken"), "{kind}: {told}");
        assert!(world.state.borrow().active.contains(paths::KUBELET_UNIT), "{kind}");
        assert_eq!(world.pass(PLENTY, false).unwrap(), Outcome::Settled, "{kind}: once is enough");
        assert!(matches!(world.pass(PLENTY, true).unwrap(), Outcome::TakenBack { .. }), "{kind}: but who insists");
        world.want(payload("good", "well", "/etc/only-new/file"), "good");
        assert_eq!(world.pass(PLENTY, false).unwrap(), Outcome::Changed("good".to_owned()), "{kind}");
        assert!(!world.annotations.contains_key(FAILED), "{kind}");
    }
}

#[test]
fn another_configuration_than_the_wanted_one_changes_nothing() {
    let mut world = World::booted();
    let before = world.visible();
    world.annotations.insert(DESIRED.to_owned(), "new".into());
    assert!(matches!(world.pass(PLENTY, false), Err(ChangeError::Plane { .. })));
    world.want(payload("newer", "well", "/etc/x"), "new");
    assert!(matches!(world.pass(PLENTY, false), Err(ChangeError::Another { .. })));
    assert_eq!(world.visible(), before);
}

#[test]
fn a_failure_is_told_when_the_cluster_hears_again() {
    let mut world = World::joined();
    world.want(payload("bad", "broken", "/etc/x"), "bad");
    world.is_deaf = true;
    assert!(world.pass(PLENTY, false).is_err());
    world.is_deaf = false;
    assert!(matches!(world.pass(PLENTY, false).unwrap(), Outcome::TakenBack { .. }));
    assert!(world.annotations.contains_key(FAILED));
}

#[test]
fn the_power_may_fail_anywhere_in_a_change() {
    for (kind, make) in worlds() {
        for (kubelet, hash) in [("well", "new"), ("broken", "bad")] {
            let wanted = payload(hash, kubelet, "/etc/only-new/file");
            let mut whole = make();
            whole.want(wanted.clone(), hash);
            whole.pass(PLENTY, false).unwrap();
            let mut cuts = 0;
            for cut in 0.. {
                let mut world = make();
                world.want(wanted.clone(), hash);
                let is_cut = world.pass(cut, false).is_err();
                let outcome = world.pass(PLENTY, false).unwrap();
                assert_eq!(world.visible(), whole.visible(), "{kind}, {kubelet}, cut after {cut}: {outcome:?}");
                assert_eq!(world.annotations.get(FAILED), whole.annotations.get(FAILED), "{kind}, {kubelet}, {cut}");
                if !is_cut {
                    break;
                }
                cuts = cut;
            }
            assert!(cuts > 20, "{kind}, {kubelet}: {cuts} changes are too few for this to mean anything");
        }
    }
}
