//! The promise of the journal: whatever is done to a host, and wherever the power fails while it is done or undone, the
//! host can be put back exactly as it was.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use proptest::prelude::*;

use crate::apply::{ApplyError, Fetch, FetchError, apply};
use crate::host::{Host, StepError};
use crate::intent::{Contents, Intent};
use crate::journal::Journal;
use crate::root::{Owner, Root};
use crate::software::Manager;
use crate::step::{NetworkState, Step};
use crate::system::{System, SystemError, UnitState};

/// Everything about a host that is no file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) packages: BTreeSet<String>,
    pub(crate) enabled: BTreeSet<String>,
    pub(crate) active: BTreeSet<String>,
    pub(crate) modules: BTreeSet<String>,
    pub(crate) settings: BTreeMap<String, String>,
    pub(crate) interfaces: BTreeSet<String>,
    pub(crate) containers: u32,
}

/// A host in memory, whose power fails together with that of its files.
#[derive(Clone, Debug)]
pub(crate) struct Pretended {
    pub(crate) root: Root,
    pub(crate) state: Rc<RefCell<State>>,
}

impl Pretended {
    fn change(&self, change: impl FnOnce(&mut State)) -> Result<(), SystemError> {
        self.root.change().map_err(|source| SystemError::File { path: "power".to_owned(), source })?;
        change(&mut self.state.borrow_mut());
        Ok(())
    }
}

fn toggle(set: &mut BTreeSet<String>, name: &str, present: bool) {
    if present {
        set.insert(name.to_owned());
    } else {
        set.remove(name);
    }
}

impl System for Pretended {
    fn installed(&mut self, _: Manager) -> Result<BTreeSet<String>, SystemError> {
        Ok(self.state.borrow().packages.clone())
    }

    fn install(&mut self, _: Manager, names: &[String]) -> Result<(), SystemError> {
        for name in names {
            // A package brings another one, files, and a unit that starts at once.
            for package in [format!("{name}-library"), name.clone()] {
                self.change(|state| toggle(&mut state.packages, &package, true))?;
                let file = self.root.at(&format!("/usr/{package}"));
                if !file.exists() {
                    fs::write(file, &package).map_err(|source| SystemError::File { path: package, source })?;
                }
            }
            self.change(|state| toggle(&mut state.active, &format!("{name}.service"), true))?;
        }
        Ok(())
    }

    fn uninstall(&mut self, _: Manager, names: &[String]) -> Result<(), SystemError> {
        for name in names {
            let _ = fs::remove_file(self.root.at(&format!("/usr/{name}")));
            self.change(|state| toggle(&mut state.active, &format!("{name}.service"), false))?;
            self.change(|state| toggle(&mut state.packages, name, false))?;
        }
        Ok(())
    }

    fn unit(&mut self, unit: &str) -> Result<UnitState, SystemError> {
        let state = self.state.borrow();
        let enabled = if state.enabled.contains(unit) { "enabled" } else { "disabled" };
        Ok(UnitState { enabled: enabled.to_owned(), active: state.active.contains(unit) })
    }

    fn set_enabled(&mut self, unit: &str, enabled: bool) -> Result<(), SystemError> {
        self.change(|state| toggle(&mut state.enabled, unit, enabled))
    }

    fn restart(&mut self, unit: &str) -> Result<(), SystemError> {
        self.change(|state| {
            toggle(&mut state.active, unit, true);
            state.containers += 1;
            state.interfaces.insert(format!("cni{}", state.containers));
        })
    }

    fn start(&mut self, unit: &str) -> Result<(), SystemError> {
        self.change(|state| toggle(&mut state.active, unit, true))
    }

    fn stop(&mut self, unit: &str) -> Result<(), SystemError> {
        self.change(|state| toggle(&mut state.active, unit, false))
    }

    fn reload_units(&mut self) -> Result<(), SystemError> {
        self.change(|_| {})
    }

    fn has_module(&mut self, name: &str) -> Result<bool, SystemError> {
        Ok(self.state.borrow().modules.contains(name))
    }

    fn load_module(&mut self, name: &str) -> Result<(), SystemError> {
        self.change(|state| toggle(&mut state.modules, name, true))
    }

    fn unload_module(&mut self, name: &str) -> Result<(), SystemError> {
        self.change(|state| toggle(&mut state.modules, name, false))
    }

    fn setting(&mut self, key: &str) -> Result<Option<String>, SystemError> {
        Ok(self.state.borrow().settings.get(key).cloned())
    }

    fn set_setting(&mut self, key: &str, value: &str) -> Result<(), SystemError> {
        self.change(|state| {
            if let Some(setting) = state.settings.get_mut(key) {
                value.clone_into(setting);
            }
        })
    }

    fn network(&mut self) -> Result<NetworkState, SystemError> {
        Ok(NetworkState { interfaces: self.state.borrow().interfaces.clone(), tables: BTreeSet::new() })
    }

    fn restore_network(&mut self, before: &NetworkState) -> Result<(), SystemError> {
        self.change(|state| state.interfaces.clone_from(&before.interfaces))
    }

    fn end_containers(&mut self) -> Result<(), SystemError> {
        self.change(|state| state.containers = 0)
    }

    fn unmount_below(&mut self, _: &str) -> Result<(), SystemError> {
        Ok(())
    }
}

pub(crate) struct NoFetch;

impl Fetch for NoFetch {
    fn fetch(&mut self, url: &str, _: Option<&str>, _: bool) -> Result<PathBuf, FetchError> {
        Err(FetchError { url: url.to_owned(), reason: "nothing is fetched here".to_owned() })
    }
}

/// What lies in the tree before anything happens. Few names, so that intents meet it.
#[derive(Clone, Debug)]
enum Thing {
    File(Vec<u8>, u32),
    Link(String),
    Directory(u32),
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

fn path() -> impl Strategy<Value = String> {
    let name = || proptest::sample::select(NAMES.as_slice());
    prop_oneof![
        name().prop_map(|one| format!("/etc/{one}")),
        (name(), name()).prop_map(|(one, two)| format!("/etc/{one}/{two}")),
        (name(), name(), name()).prop_map(|(one, two, three)| format!("/etc/{one}/{two}/{three}")),
    ]
}

fn mode() -> impl Strategy<Value = u32> {
    proptest::sample::select([0o600, 0o644, 0o700, 0o755, 0o4755, 0o1777].as_slice())
}

fn thing() -> impl Strategy<Value = Thing> {
    prop_oneof![
        3 => (proptest::collection::vec(any::<u8>(), 0..20), mode()).prop_map(|(bytes, mode)| Thing::File(bytes, mode)),
        1 => "[a-d]{1,3}".prop_map(Thing::Link),
        1 => proptest::sample::select([0o700, 0o755, 0o1777].as_slice()).prop_map(Thing::Directory),
    ]
}

fn intent() -> impl Strategy<Value = Intent> {
    let plain = |step| Intent { step, contents: Contents::None };
    let unit = || "[x-z]\\.service";
    let contents = || proptest::collection::vec(any::<u8>(), 0..20);
    let owner = Owner::own();
    prop_oneof![
        4 => (path(), contents(), mode(), any::<bool>()).prop_map(move |(path, bytes, mode, append)| Intent {
            step: Step::File { path, digest: String::new(), mode, owner },
            contents: if append { Contents::Appended(bytes) } else { Contents::Bytes(bytes) },
        }),
        2 => (path(), mode()).prop_map(move |(path, mode)| {
            // A directory that its owner cannot enter would end the test, not the step.
            plain(Step::Directory { path, mode: mode | 0o700, owner })
        }),
        2 => (path(), "[a-d]{1,3}").prop_map(move |(path, target)| plain(Step::Link { path, target, hard: false, owner })),
        1 => path().prop_map(move |path| plain(Step::Claim { path })),
        1 => path().prop_map(move |path| plain(Step::Keep { path })),
        1 => unit().prop_map(move |unit| plain(Step::Running { unit })),
        1 => unit().prop_map(move |unit| plain(Step::Start { unit })),
        1 => (unit(), any::<bool>()).prop_map(move |(unit, enabled)| plain(Step::Enable { unit, enabled })),
        1 => "[m-o]".prop_map(move |name| plain(Step::Module { name })),
        1 => ("[p-r]", proptest::option::of("[0-9]")).prop_map(move |(key, value)| plain(Step::Setting { key, value })),
        1 => proptest::collection::vec("[x-z]", 1..3).prop_map(move |names| plain(Step::Packages {
            manager: Manager::Apt, names,
        })),
    ]
}

/// Steps that every join begins and ends with, so that what they undo is there.
fn whole_join(middle: Vec<Intent>) -> Vec<Intent> {
    let plain = |step| Intent { step, contents: Contents::None };
    let mut intents = vec![plain(Step::Network), plain(Step::Containers)];
    intents.extend(["x.service", "y.service", "z.service"].map(|unit| plain(Step::Running { unit: unit.to_owned() })));
    intents.extend(middle);
    intents
}

fn build(root: &Path, things: &[(String, Thing)]) {
    for directory in ["etc", "usr", "var/lib"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    for (path, thing) in things {
        let path = root.join(path.trim_start_matches('/'));
        let parent = path.parent().unwrap();
        if fs::create_dir_all(parent).is_err() || fs::symlink_metadata(&path).is_ok() {
            continue;
        }
        // What cannot be made because something else is there is left out.
        match thing {
            Thing::File(bytes, mode) if fs::write(&path, bytes).is_ok() => {
                fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
            }
            Thing::Link(target) => drop(std::os::unix::fs::symlink(target, &path)),
            Thing::Directory(mode) if fs::create_dir(&path).is_ok() => {
                fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
            }
            _ => {}
        }
    }
}

/// Everything about every file; the times of directories change with what is in them.
pub(crate) fn snapshot(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let data = fs::symlink_metadata(&path).unwrap();
            let what = if data.is_dir() {
                waiting.push(path.clone());
                "directory".to_owned()
            } else if data.is_symlink() {
                format!("link to {}", fs::read_link(&path).unwrap().display())
            } else {
                format!("{:?} at {}.{}", fs::read(&path).unwrap(), data.mtime(), data.mtime_nsec())
            };
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            found.insert(name, format!("{:o} {}:{} {what}", data.mode(), data.uid(), data.gid()));
        }
    }
    found
}

struct World {
    directory: tempfile::TempDir,
    state: Rc<RefCell<State>>,
}

impl World {
    fn new(things: &[(String, Thing)], state: &State) -> Self {
        // Memory where there is some: thousands of trees come and go.
        let memory = Path::new("/dev/shm");
        let directory = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        build(directory.path(), things);
        Self { directory, state: Rc::new(RefCell::new(state.clone())) }
    }

    fn root(&self, fuse: u64) -> (Root, Rc<Cell<u64>>) {
        let fuse = Rc::new(Cell::new(fuse));
        (Root::with_fuse(self.directory.path(), Rc::clone(&fuse)), fuse)
    }

    /// Joins until the power fails after so many changes. Says how many were left, or why it ended.
    fn join(&self, intents: &[Intent], fuse: u64) -> Result<u64, ApplyError> {
        let (root, left) = self.root(fuse);
        let system = Pretended { root: root.clone(), state: Rc::clone(&self.state) };
        let journal = Journal::open_or_begin(&root).map_err(StepError::from)?;
        let mut host = Host { root, system, journal };
        apply(&mut host, intents, &mut NoFetch, &mut |_| {})?;
        Ok(left.get())
    }

    fn leave(&self, fuse: u64) -> Result<(), StepError> {
        let (root, _) = self.root(fuse);
        let system = Pretended { root: root.clone(), state: Rc::clone(&self.state) };
        match Journal::open(&root)? {
            None => Ok(()),
            Some(journal) => Host { root, system, journal }.undo(&mut |_| {}).map(|_| ()),
        }
    }
}

pub(crate) const PLENTY: u64 = 1 << 40;

fn state() -> impl Strategy<Value = State> {
    let names = |pattern: &'static str| proptest::collection::btree_set(pattern, 0..3);
    let settings = proptest::collection::btree_map("[p-r]", "[0-9]", 0..3);
    (names("[x-z](-library)?"), names("[x-z]\\.service"), names("[m-o]"), settings).prop_map(
        |(packages, units, modules, settings)| State {
            packages,
            enabled: units.clone(),
            active: units,
            modules,
            settings,
            interfaces: BTreeSet::from(["lo".to_owned()]),
            containers: 0,
        },
    )
}

/// Packages that are installed have their files, and no others do.
fn with_package_files(things: &mut Vec<(String, Thing)>, state: &State) {
    things.extend(state.packages.iter().map(|name| (format!("/usr/{name}"), Thing::File(name.clone().into(), 0o644))));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, max_shrink_iters: 500, ..ProptestConfig::default() })]

    /// The power fails anywhere in a join; the join goes on or not; the power fails anywhere in leaving; the host is
    /// as it was.
    #[test]
    fn a_host_is_put_back_wherever_the_power_fails(
        mut things in proptest::collection::vec((path(), thing()), 0..8),
        state in state(),
        middle in proptest::collection::vec(intent(), 1..12),
        cuts in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        goes_on in any::<bool>(),
    ) {
        with_package_files(&mut things, &state);
        let intents = whole_join(middle);
        let world = World::new(&things, &state);
        let before = snapshot(world.directory.path());

        // How many changes a join has is only known after one; directories in the way end it earlier, and that is well.
        let whole = World::new(&things, &state);
        let changes = match whole.join(&intents, PLENTY) {
            Ok(left) => PLENTY - left,
            Err(_) => 40,
        };
        let cut = cuts.0.index(usize::try_from(changes).unwrap() + 1) as u64;
        let first = world.join(&intents, cut);
        if goes_on && first.is_err() {
            let _ = world.join(&intents, PLENTY);
        }
        let _ = world.leave(cuts.1.index(60) as u64);
        world.leave(PLENTY).unwrap();
        prop_assert_eq!(snapshot(world.directory.path()), before);
        prop_assert_eq!(&*world.state.borrow(), &state);
    }

    /// A join that was cut off and begun again ends as one that was not.
    #[test]
    fn a_join_that_goes_on_ends_as_a_whole_one(
        mut things in proptest::collection::vec((path(), thing()), 0..8),
        state in state(),
        middle in proptest::collection::vec(intent(), 1..12),
        cut in any::<prop::sample::Index>(),
    ) {
        with_package_files(&mut things, &state);
        let intents = whole_join(ordered(middle));
        let whole = World::new(&things, &state);
        let Ok(left) = whole.join(&intents, PLENTY) else { return Ok(()) };
        let world = World::new(&things, &state);
        let cut = cut.index(usize::try_from(PLENTY - left).unwrap() + 1) as u64;
        let _ = world.join(&intents, cut);
        world.join(&intents, PLENTY).unwrap();
        prop_assert_eq!(visible(&world), visible(&whole));
    }
}

/// As joins order them: directories from the top, then files, then links, each path once, and no link that another path
/// leads through.
fn ordered(mut middle: Vec<Intent>) -> Vec<Intent> {
    fn place(intent: &Intent) -> (u8, &str) {
        match &intent.step {
            Step::Directory { path, .. } => (1, path),
            Step::File { path, .. } => (2, path),
            Step::Link { path, .. } => (3, path),
            _ => (0, ""),
        }
    }
    middle.sort_by(|left, right| place(left).cmp(&place(right)));
    let paths: Vec<String> = middle.iter().map(|intent| place(intent).1.to_owned()).collect();
    let mut seen = BTreeSet::new();
    middle.retain(|intent| {
        let (kind, path) = place(intent);
        let is_on_the_way = paths.iter().any(|other| other.starts_with(&format!("{path}/")));
        kind == 0 || seen.insert(path.to_owned()) && !(kind == 3 && is_on_the_way)
    });
    middle
}

/// What others see of a host: neither the journal nor times.
fn visible(world: &World) -> (BTreeMap<String, String>, State) {
    let mut files = snapshot(world.directory.path());
    files.retain(|path, _| !path.starts_with("var/lib/roost"));
    for text in files.values_mut() {
        *text = text.split(" at ").next().unwrap_or_default().to_owned();
    }
    let mut state = world.state.borrow().clone();
    // A unit that was started twice has left more behind; leaving clears it.
    state.containers = 0;
    state.interfaces.clear();
    (files, state)
}

/// Every single point of one join that has everything in it.
#[test]
fn every_point_of_a_join_can_be_undone() {
    let owner = Owner::own();
    let plain = |step| Intent { step, contents: Contents::None };
    let file = |path: &str, bytes: &[u8]| Intent {
        step: Step::File { path: path.to_owned(), digest: String::new(), mode: 0o640, owner },
        contents: Contents::Bytes(bytes.to_vec()),
    };
    let things = vec![
        ("/etc/a".to_owned(), Thing::File(b"old".to_vec(), 0o4755)),
        ("/etc/b/c".to_owned(), Thing::Link("nowhere".to_owned())),
    ];
    let state = State {
        settings: BTreeMap::from([("p".to_owned(), "1".to_owned())]),
        active: BTreeSet::from(["y.service".to_owned()]),
        interfaces: BTreeSet::from(["lo".to_owned()]),
        ..State::default()
    };
    let intents = whole_join(vec![
        plain(Step::Claim { path: "/etc/d".to_owned() }),
        plain(Step::Keep { path: "/etc/a".to_owned() }),
        plain(Step::Packages { manager: Manager::Apt, names: vec!["x".to_owned()] }),
        file("/etc/a", b"new"),
        file("/etc/b/c", b"instead of a link"),
        file("/etc/c/a/b", b"deep"),
        plain(Step::Directory { path: "/etc/d".to_owned(), mode: 0o700, owner }),
        plain(Step::Link { path: "/etc/c/l".to_owned(), target: "a".to_owned(), hard: false, owner }),
        plain(Step::Module { name: "m".to_owned() }),
        plain(Step::Setting { key: "p".to_owned(), value: Some("2".to_owned()) }),
        plain(Step::Enable { unit: "x.service".to_owned(), enabled: true }),
        plain(Step::Start { unit: "x.service".to_owned() }),
        plain(Step::Start { unit: "y.service".to_owned() }),
    ]);
    let changes = PLENTY - World::new(&things, &state).join(&intents, PLENTY).unwrap();
    assert!(changes > 60, "{changes} changes are too few for this to mean anything");
    for cut in 0..=changes {
        let world = World::new(&things, &state);
        let before = snapshot(world.directory.path());
        let _ = world.join(&intents, cut);
        world.leave(PLENTY).unwrap();
        assert_eq!(snapshot(world.directory.path()), before, "cut after {cut} changes");
        assert_eq!(*world.state.borrow(), state, "cut after {cut} changes");
    }
    // And every single point of leaving.
    for cut in 0..changes * 2 {
        let world = World::new(&things, &state);
        let before = snapshot(world.directory.path());
        world.join(&intents, PLENTY).unwrap();
        let ended = world.leave(cut).is_ok();
        world.leave(PLENTY).unwrap();
        assert_eq!(snapshot(world.directory.path()), before, "cut after {cut} changes of leaving");
        assert_eq!(*world.state.borrow(), state, "cut after {cut} changes of leaving");
        if ended {
            return;
        }
    }
    panic!("leaving never came to its end");
}
