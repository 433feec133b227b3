//! Operators that die between any two writes.

use jiff::SignedDuration;
use proptest::prelude::*;
use roost_pki::plane::{AUTHORITIES, Endpoint, KUBECONFIGS, LEAVES, Parts, Rotation, Which};

use crate::world::{World, names};

/// Something that happens to a plane.
#[derive(Clone, Debug)]
enum Event {
    /// Some waves of a plan are carried out, and of the next one only the writes whose bit is set.
    Crash { waves: usize, bits: u64 },
    /// A plan is carried out.
    Plan,
    /// Time passes, in minutes.
    Wait(i64),
    /// Someone wants a rotation.
    Wish { which: usize },
    /// Servers are slow, or have caught up.
    Confirm(bool),
    /// The API server is published elsewhere.
    Move(u16),
    /// Someone deletes an object, and it is made anew.
    Delete { which: usize },
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0..4_usize, any::<u64>()).prop_map(|(waves, bits)| Event::Crash { waves, bits }),
        3 => Just(Event::Plan),
        4 => prop_oneof![1..20_i64, Just(60 * 24 * 30)].prop_map(Event::Wait),
        3 => (0..=AUTHORITIES.len()).prop_map(|which| Event::Wish { which }),
        1 => any::<bool>().prop_map(Event::Confirm),
        1 => (30000..30010_u16).prop_map(Event::Move),
        1 => (0..100_usize).prop_map(|which| Event::Delete { which }),
    ]
}

fn crash(world: &mut World, waves: usize, bits: u64) {
    let plan = world.plan();
    for (place, wave) in plan.waves().enumerate().take(waves + 1) {
        for (bit, write) in wave.iter().enumerate() {
            if place < waves || bits >> (bit % 64) & 1 == 1 {
                world.observed.apply(write);
            }
        }
        world.check();
    }
}

/// Deletes one object. What else is lost with it is for a backup.
fn delete(world: &mut World, which: usize) {
    let mut secrets: Vec<String> = AUTHORITIES.iter().map(|spec| spec.secret.to_owned()).collect();
    secrets.extend(LEAVES.iter().map(|spec| spec.secret.to_owned()));
    secrets.extend(KUBECONFIGS.iter().map(|spec| spec.secret(&world.names)));
    if let Some(name) = secrets.get(which) {
        // Kubeconfigs cannot be checked while the server has no certificate.
        if name != "kas-server-crt" && name != "kas-server-private-crt" {
            world.observed.secrets.remove(name);
        }
    } else {
        let place = which % world.observed.config_maps.len().max(1);
        let name = world.observed.config_maps.keys().nth(place).cloned();
        name.map(|name| world.observed.config_maps.remove(&name));
    }
    world.settle();
}

fn happen(world: &mut World, event: &Event) {
    match *event {
        Event::Crash { waves, bits } => crash(world, waves, bits),
        Event::Plan => crash(world, 4, 0),
        Event::Wait(minutes) => {
            // An operator that is needed is there within a minute; a dead one is started again.
            world.settle();
            let until = world.now + SignedDuration::from_mins(minutes);
            world.now = until.min(world.plan().next.max(world.now));
        }
        Event::Wish { which } => {
            let which = AUTHORITIES.get(which).map_or(Which::All, |spec| Which::Only(vec![spec.authority]));
            world.wishes.rotation = Some(Rotation { which, requested_at: world.now });
        }
        Event::Confirm(confirmed) => world.wishes.confirmed = confirmed,
        Event::Move(port) => {
            world.names.api = Some(Endpoint::new(format!("api-{port}.demo.example.test"), port));
        }
        Event::Delete { which } => delete(world, which),
    }
    world.check();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 50, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_crash_leads_to_a_plan_that_completes_it(events in prop::collection::vec(event(), 1..20)) {
        let mut names = names();
        names.parts = Parts { etcd: true, ignition: true, ..Parts::API_SERVER };
        let mut world = World::made(names);
        for event in events {
            happen(&mut world, &event);
        }
        world.wishes.confirmed = true;
        world.finish_rotations();
        world.check();
        prop_assert!(world.plan().is_empty());
    }

    #[test]
    fn a_creation_that_is_cut_short_is_completed(crashes in prop::collection::vec((0..4_usize, any::<u64>()), 1..4)) {
        let mut names = names();
        names.parts = Parts::API_SERVER;
        let mut world = World::new(names);
        for (waves, bits) in crashes {
            crash(&mut world, waves, bits);
        }
        world.is_whole = true;
        world.finish_rotations();
        world.check();
        prop_assert!(world.plan().is_empty());
    }
}
