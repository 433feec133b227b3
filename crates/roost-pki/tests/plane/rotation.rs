//! Authorities that are replaced, by wish and by age, and lost ones.

use jiff::{SignedDuration, Timestamp};
use roost_pki::plane::{AUTHORITIES, Authority, Reason, Rotation, Stage, Wait, Which};

use crate::world::{World, names};

fn wish(which: Which, requested_at: Timestamp) -> Rotation {
    Rotation { which, requested_at }
}

#[test]
fn every_authority_is_replaced_in_stages() {
    let mut world = World::made(names());
    let before = world.observed.clone();
    world.advance(SignedDuration::from_hours(1));
    world.wishes.rotation = Some(wish(Which::All, world.now));
    let plan = world.plan();
    assert_eq!(plan.progress.len(), AUTHORITIES.len());
    let first = &plan.writes[0];
    assert_eq!((&*first.material.name, &first.reason), ("root-ca", &Reason::Rotation(Stage::TrustBoth)));
    assert!(first.material.data.contains_key("next-ca.crt") && first.material.data.contains_key("next-ca.key"));
    world.settle();
    assert!(world.plan().progress.iter().all(|progress| progress.stage == Stage::TrustBoth));
    assert_eq!(world.bundle("root-ca").unwrap().certificates().len(), 2);
    assert_eq!(world.bundle("client-ca").unwrap().certificates().len(), 12);
    assert_eq!(world.secret("kas-server-crt")["tls.crt"], before.secrets["kas-server-crt"].data["tls.crt"]);

    world.now = world.plan().next;
    world.settle();
    for spec in &AUTHORITIES {
        let key = if spec.is_tls_secret { "tls.key" } else { "ca.key" };
        assert_ne!(world.secret(spec.secret)[key], before.secrets[spec.secret].data[key]);
        assert!(world.secret(spec.secret).contains_key("old-ca.crt"), "{}", spec.secret);
    }
    assert_ne!(world.secret("kas-server-crt")["tls.crt"], before.secrets["kas-server-crt"].data["tls.crt"]);
    assert_eq!(world.bundle("root-ca").unwrap().certificates().len(), 2);

    for _ in 0..2 {
        world.now = world.plan().next;
        world.settle();
    }
    let left = world.plan();
    assert_eq!(left.progress.len(), 1, "{left}");
    assert_eq!((left.progress[0].authority, left.progress[0].stage), (Authority::Requests, Stage::DropOld));
    assert!(matches!(left.progress[0].waits_for, Wait::Holders { .. }));
    assert_eq!(world.bundle("root-ca").unwrap().certificates().len(), 1);
    assert_eq!(world.bundle("client-ca").unwrap().certificates().len(), 7);

    world.finish_rotations();
    assert_eq!(world.bundle("client-ca").unwrap().certificates().len(), 6);
}

#[test]
fn nothing_moves_without_confirmation() {
    let mut world = World::made(names());
    world.advance(SignedDuration::from_hours(1));
    world.wishes.rotation = Some(wish(Which::Only(vec![Authority::Root]), world.now));
    world.wishes.confirmed = false;
    for _ in 0..10 {
        world.settle();
        world.now = world.plan().next;
    }
    let plan = world.plan();
    assert_eq!(plan.progress.len(), 1);
    assert_eq!(plan.progress[0].waits_for, Wait::Confirmation);
    assert_eq!(plan.progress[0].stage, Stage::TrustBoth);
    world.wishes.confirmed = true;
    world.settle();
    assert_eq!(world.plan().progress[0].stage, Stage::IssueNew);
    world.finish_rotations();
}

#[test]
fn a_wish_is_followed_once() {
    let mut world = World::made(names());
    world.advance(SignedDuration::from_hours(1));
    let only = || Which::Only(vec![Authority::Root]);
    world.wishes.rotation = Some(wish(only(), world.now));
    world.finish_rotations();
    let root = world.secret("root-ca").clone();
    world.advance(SignedDuration::from_hours(1));
    assert_eq!(world.settle(), 0);
    assert_eq!(*world.secret("root-ca"), root);
    world.wishes.rotation = Some(wish(only(), world.now));
    world.finish_rotations();
    assert_ne!(*world.secret("root-ca"), root);
    // A plane that is newer than the wish has nothing to replace.
    let mut fresh = World::made(names());
    fresh.wishes.rotation = Some(wish(Which::All, fresh.now - SignedDuration::from_hours(1)));
    assert_eq!(fresh.settle(), 0);
}

#[test]
fn lost_authorities_are_replaced_without_an_outage() {
    let mut world = World::made(names());
    world.advance(SignedDuration::from_hours(1));
    for spec in AUTHORITIES.iter().filter(|spec| spec.authority != Authority::Ignition) {
        world.observed.secrets.remove(spec.secret);
    }
    let before = world.secret("kas-server-crt").clone();
    world.settle();
    assert_eq!(world.secret("kas-server-crt")["tls.crt"], before["tls.crt"]);
    world.finish_rotations();
    assert_ne!(world.secret("kas-server-crt")["tls.crt"], before["tls.crt"]);
    assert_eq!(world.bundle("root-ca").unwrap().certificates().len(), 1);
}

#[test]
fn unreadable_objects_are_made_anew() {
    for name in ["kas-server-crt", "hcco-signer", "sa-signing-key", "admin-kubeconfig"] {
        let mut world = World::made(names());
        let stored = world.observed.secrets.get_mut(name).unwrap();
        stored.data.values_mut().for_each(|value| *value = b"garbage".to_vec());
        let plan = world.plan();
        let write = plan.writes.iter().find(|write| write.material.name == name).unwrap();
        assert_eq!(write.reason, Reason::Unreadable, "{name}");
        world.finish_rotations();
        world.check();
    }
    // A key that belongs to another certificate.
    let mut world = World::made(names());
    let other = world.secret("hcco-client")["tls.key"].clone();
    let stored = world.observed.secrets.get_mut("system-admin-client").unwrap();
    stored.data.insert("tls.key".into(), other);
    assert!(world.plan().writes.iter().any(|write| write.reason == Reason::Unreadable));
    world.settle();
}

#[test]
fn an_operator_that_slept_for_years_recovers_at_once() {
    let mut world = World::made(names());
    world.advance(SignedDuration::from_hours(24 * 365 * 12));
    world.is_whole = false;
    world.finish_rotations();
    world.check();
    assert!(world.plan().is_empty());
}

/// Servers and clients load files at their own time. Whatever two of them have loaded within the last minutes, they
/// believe each other.
#[test]
fn readers_may_lag_behind() {
    let lag = SignedDuration::from_secs(4 * 60 + 50);
    let mut world = World::made(names());
    world.advance(SignedDuration::from_hours(1));
    world.wishes.rotation = Some(wish(Which::All, world.now));
    let mut loaded = vec![(world.now, world.observed.clone())];
    for _ in 0..40 {
        if world.settle() > 0 {
            loaded.push((world.now, world.observed.clone()));
        }
        for (_, one) in &loaded {
            for (_, other) in &loaded {
                world.check_between(one, other);
            }
        }
        world.advance(SignedDuration::from_mins(1));
        // What was replaced longer ago than anyone lags is in nobody's memory.
        let outdated = loaded.windows(2).take_while(|pair| pair[1].0 + lag < world.now).count();
        loaded.drain(..outdated);
    }
    assert_eq!(world.plan().progress.len(), 1, "{}", world.plan());
}

#[test]
fn a_clock_that_is_set_back_does_not_hold_up_a_rotation() {
    let mut world = World::made(names());
    world.advance(SignedDuration::from_hours(24 * 30));
    world.wishes.rotation = Some(wish(Which::Only(vec![Authority::Root]), world.now));
    world.settle();
    world.advance(SignedDuration::from_hours(-24));
    // What was made in the future is not good yet; nobody can help that.
    world.is_whole = false;
    world.settle();
    assert!(world.plan().progress[0].since <= world.now);
    world.finish_rotations();
    assert!(world.now < "2026-12-01T00:00:00Z".parse().unwrap());
}

#[test]
fn an_authority_does_not_end_because_nobody_confirms() {
    let mut world = World::made(names());
    world.wishes.confirmed = false;
    let first = world.secret("root-ca")["ca.crt"].clone();
    for _ in 0..12 * 12 {
        world.advance(SignedDuration::from_hours(24 * 30));
        world.check_time();
        world.settle();
        world.check();
    }
    assert_ne!(world.secret("root-ca")["ca.crt"], first);
}
