//! What is made for a new plane, and what is changed in it.

use jiff::SignedDuration;
use roost_pki::AlternativeName;
use roost_pki::plane::{Endpoint, Kind, Lifetimes, Parts, Reason, ServingPair, VALIDITY_ANNOTATION, Wave};

use crate::world::{World, names};

#[test]
fn a_new_plane_is_made_in_one_plan() {
    let mut world = World::new(names());
    let plan = world.plan();
    assert!(plan.writes.iter().all(|write| write.reason == Reason::Missing), "{plan}");
    assert!(plan.writes.is_sorted_by_key(|write| write.wave));
    assert_eq!(plan.waves().count(), 4);
    assert!(plan.progress.is_empty());
    assert!(plan.writes.iter().all(|write| world.names.concerns(write.material.kind, &write.material.name)));
    assert!(!world.names.concerns(Kind::Secret, "pull-secret"));
    let made = world.settle();
    assert_eq!(made, plan.writes.len());
    let again = world.plan();
    assert!(again.is_empty(), "{again}");
    assert_eq!(again.next, Lifetimes::default().renewal_of(&world.certificate("kas-server-crt")));
}

#[test]
fn only_the_parts_that_there_are_get_keys() {
    let mut names = names();
    names.parts = Parts::API_SERVER;
    names.api = None;
    names.kubeadmin = false;
    let world = World::made(names);
    for absent in ["etcd-signer", "konnectivity-server", "oauth-server-crt", "admin-kubeconfig", "kubeadmin-password"] {
        assert!(!world.observed.secrets.contains_key(absent), "{absent}");
    }
    assert!(world.observed.secrets.contains_key("localhost-kubeconfig"));
    ServingPair::read(world.secret("kas-server-crt")).unwrap();
}

#[test]
fn a_new_address_reaches_the_certificate_before_the_kubeconfig() {
    let mut world = World::made(names());
    world.names.api = Some(Endpoint::new("2001:db8::5", 31001));
    let plan = world.plan();
    let changed: Vec<_> =
        plan.writes.iter().map(|write| (write.wave, &*write.material.name, write.reason.clone())).collect();
    assert_eq!(
        changed,
        [
            (Wave::Leaves, "kas-server-crt", Reason::NamesChanged),
            (Wave::Kubeconfigs, "admin-kubeconfig", Reason::EndpointChanged),
            (Wave::Kubeconfigs, "bootstrap-kubeconfig", Reason::EndpointChanged),
        ]
    );
    world.settle();
    world.check();
    let old = AlternativeName::host("api.demo.example.test");
    assert!(world.certificate("kas-server-crt").alternative_names().contains(&old));
    world.now = world.plan().next;
    world.settle();
    assert!(!world.certificate("kas-server-crt").alternative_names().contains(&old));
}

#[test]
fn lifetimes_of_annotations_are_followed() {
    let mut names = names();
    names.lifetimes = Lifetimes::from_annotations(|name| (name == VALIDITY_ANNOTATION).then_some("90m")).unwrap();
    let mut world = World::made(names);
    let first = world.certificate("kas-server-crt");
    for _ in 0..20 {
        world.advance(SignedDuration::from_mins(10));
        world.settle();
        world.check();
    }
    assert_ne!(world.certificate("kas-server-crt"), first);
}
