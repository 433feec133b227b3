//! Rollouts of any pool, carried out by hosts that behave and by hosts that do not.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};
use proptest::strategy::Strategy as Generator;

use super::plan::{Action, Mark, Member, Plan, Situation, State, plan};
use super::strategy::Strategy;

const NEW: &str = "new";
/// Passes after which a rollout of the largest pool has long ended.
const PASSES: usize = 2_000;
/// Passes after the end, in which nothing may change any more.
const AFTERWARDS: usize = 50;
const PASS: SignedDuration = SignedDuration::from_secs(5);

/// How a host answers.
#[derive(Clone, Copy, Debug)]
struct Host {
    /// Pods on it.
    pods: usize,
    /// Passes until it has changed, or has booted again.
    slowness: usize,
    is_good: bool,
}

/// A pool and its hosts, moved on pass by pass.
struct World {
    situation: Situation,
    hosts: Vec<Host>,
    /// Passes that each member has been changing for.
    changing: Vec<usize>,
    /// Hosts that were removed and boot again, and since when.
    booting: Vec<(usize, usize)>,
    now: Timestamp,
}

impl World {
    fn new(strategy: Strategy, hosts: Vec<Host>, spares: usize) -> Self {
        let wanted = hosts.len() - spares;
        let member = |number: usize| Member {
            machine: format!("m-{number}"),
            node: format!("n-{number:02}"),
            has_node: true,
            is_ready: true,
            current: "old".to_owned(),
            pods: hosts[number].pods,
            ..Member::default()
        };
        let situation = Situation {
            strategy,
            target: NEW.to_owned(),
            wanted,
            is_paused: false,
            patience: SignedDuration::from_mins(10),
            drain_timeout: None,
            repair: None,
            members: (0..hosts.len()).map(member).collect(),
        };
        let changing = vec![0; hosts.len()];
        Self { situation, hosts, changing, booting: Vec::new(), now: Timestamp::UNIX_EPOCH }
    }

    fn host_of(machine: &str) -> usize {
        machine.trim_start_matches("m-").parse().unwrap()
    }

    fn available(&self) -> usize {
        self.situation.members.iter().filter(|member| member.is_available()).count()
    }

    fn pass(&mut self) -> Plan {
        let decided = plan(&self.situation, self.now);
        for step in &decided.steps {
            let number = Self::host_of(&step.machine);
            let place = self.situation.members.iter().position(|member| member.machine == step.machine).unwrap();
            let member = &mut self.situation.members[place];
            match step.action {
                Action::Cordon(purpose) => {
                    member.mark.get_or_insert(Mark { purpose, since: self.now, was_cordoned: false });
                    member.is_cordoned = true;
                }
                Action::Drain => member.pods -= 1,
                Action::Desire => {
                    assert!(member.is_cordoned && member.pods == 0, "a node is changed under its pods");
                    NEW.clone_into(&mut member.desired);
                    member.mark.as_mut().unwrap().since = self.now;
                }
                Action::Release => {
                    assert!(member.is_ready && member.current == NEW);
                    member.mark = None;
                    member.is_cordoned = false;
                }
                Action::Remove => {
                    assert!(member.is_cordoned && member.pods == 0, "a machine is removed under its pods");
                    self.situation.members.remove(place);
                    self.booting.push((number, 0));
                }
            }
        }
        self.hosts_go_on();
        self.now += PASS;
        decided
    }

    fn hosts_go_on(&mut self) {
        for member in &mut self.situation.members {
            let number = Self::host_of(&member.machine);
            let host = self.hosts[number];
            if member.desired != NEW || member.current == NEW && member.is_ready {
                continue;
            }
            member.is_ready = false;
            self.changing[number] += 1;
            if host.is_good && self.changing[number] > host.slowness {
                NEW.clone_into(&mut member.current);
                member.is_ready = true;
            }
        }
        let hosts = &self.hosts;
        let mut back = Vec::new();
        self.booting.retain_mut(|(number, since)| {
            *since += 1;
            let is_back = hosts[*number].is_good && *since > hosts[*number].slowness;
            if is_back {
                back.push(*number);
            }
            !is_back
        });
        self.situation.members.extend(back.into_iter().map(|number| Member {
            machine: format!("m-{number}"),
            node: format!("n-{number:02}"),
            has_node: true,
            is_ready: true,
            current: NEW.to_owned(),
            ..Member::default()
        }));
    }
}

fn host() -> impl Generator<Value = Host> {
    (0..4usize, 0..20usize).prop_map(|(pods, slowness)| Host { pods, slowness, is_good: true })
}

fn in_place() -> impl Generator<Value = Strategy> {
    (1..4usize).prop_map(|max_unavailable| Strategy::InPlace { max_unavailable })
}

proptest! {
    #[test]
    fn in_place_no_more_are_away_than_allowed_and_it_ends(
        strategy in in_place(),
        hosts in prop::collection::vec(host(), 1..12),
    ) {
        let Strategy::InPlace { max_unavailable } = strategy else { unreachable!() };
        let count = hosts.len();
        let mut world = World::new(strategy, hosts, 0);
        let mut is_done = false;
        for _ in 0..PASSES {
            let decided = world.pass();
            prop_assert!(count - world.available() <= max_unavailable);
            if decided.state == State::Done {
                is_done = true;
                break;
            }
        }
        prop_assert!(is_done && world.situation.members.iter().all(|member| member.current == NEW));
        prop_assert_eq!(world.available(), count);
    }

    #[test]
    fn replaced_no_more_are_missing_than_allowed_and_it_ends(
        // Not both nothing.
        (surge, unavailable) in (1..9usize).prop_map(|number| (number / 3, number % 3)),
        hosts in prop::collection::vec(host(), 3..12),
    ) {
        // Where none may be missing, somebody has to bring one more.
        let spares = usize::from(unavailable == 0).max(surge.min(2));
        let strategy = Strategy::Replace { max_surge: surge, max_unavailable: unavailable };
        let mut world = World::new(strategy, hosts, spares);
        let floor = world.situation.wanted.saturating_sub(unavailable);
        let mut is_done = false;
        for _ in 0..PASSES {
            let decided = world.pass();
            prop_assert!(world.available() >= floor, "{} of {floor}", world.available());
            if decided.state == State::Done && world.booting.is_empty() {
                is_done = true;
                break;
            }
        }
        prop_assert!(is_done && world.situation.members.iter().all(|member| member.current == NEW));
    }

    #[test]
    fn hosts_that_do_not_come_back_stop_it_with_no_more_away_than_allowed(
        strategy in in_place(),
        hosts in prop::collection::vec((host(), prop::bool::weighted(0.7)), 2..12),
    ) {
        let Strategy::InPlace { max_unavailable } = strategy else { unreachable!() };
        let hosts: Vec<Host> = hosts.into_iter().map(|(host, is_good)| Host { is_good, ..host }).collect();
        let count = hosts.len();
        let is_all_good = hosts.iter().all(|host| host.is_good);
        let mut world = World::new(strategy, hosts, 0);
        let mut state = State::Going;
        let mut after = 0;
        for _ in 0..PASSES {
            state = world.pass().state;
            prop_assert!(count - world.available() <= max_unavailable);
            after += usize::from(state != State::Going);
            if after > AFTERWARDS {
                break;
            }
        }
        if is_all_good {
            prop_assert_eq!(state, State::Done);
        } else {
            prop_assert!(matches!(state, State::Halted(_)), "{:?}", state);
        }
    }
}
