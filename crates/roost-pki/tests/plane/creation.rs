//! What is made for a new plane, and what is changed in it.

use jiff::SignedDuration;
use roost_pki::plane::{
    CsrSigner, Data, Endpoint, Kind, Lifetimes, Parts, ReadError, Reason, ServingPair, SigningKey, TrustBundle,
    VALIDITY_ANNOTATION, Wave,
};
use roost_pki::{AlternativeName, Error};

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
    assert_eq!(again.good_until, world.certificate("kas-server-crt").not_after());
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

#[test]
fn servers_read_what_was_written() {
    let world = World::made(names());
    let serving = ServingPair::read(world.secret("kas-server-crt")).unwrap();
    assert_eq!(serving.chain().len(), 1);
    assert_eq!(serving.certificate().subject().common_name, "kubernetes");
    assert!(serving.tls_key().is_ok());
    let clients = TrustBundle::read(&world.observed.config_maps["client-ca"].data).unwrap().0;
    let admin = ServingPair::read(world.secret("system-admin-client")).unwrap();
    assert_eq!(clients.verify_client(admin.certificate(), &[], world.now), Ok(()));
    let tokens = SigningKey::read(world.secret("sa-signing-key")).unwrap();
    assert_eq!(tokens.trusted, [tokens.key.public_key().clone()]);
    let requests = CsrSigner::read(world.secret("cluster-signer-ca")).unwrap();
    assert_eq!(requests.authority.certificate().subject().common_name, "kube-csr-signer");
    let nothing = Data::new();
    assert_eq!(ServingPair::read(&nothing).unwrap_err(), ReadError::Missing("tls.crt"));
    let mut mixed = world.secret("kas-server-crt").clone();
    mixed.insert("tls.key".into(), world.secret("hcco-client")["tls.key"].clone());
    let refused = ServingPair::read(&mixed).unwrap_err();
    assert_eq!(refused, ReadError::Unreadable { key: "tls.key", source: Error::KeyMismatch });
}

#[test]
fn passwords_have_the_shape_that_people_know() {
    let world = World::made(names());
    let password = String::from_utf8(world.secret("kubeadmin-password")["password"].clone()).unwrap();
    assert_eq!(password.len(), 23);
    let groups: Vec<&str> = password.split('-').collect();
    assert_eq!(groups.len(), 4, "{password}");
    assert!(groups.iter().all(|group| group.len() == 5 && group.bytes().all(|byte| byte.is_ascii_alphanumeric())));
}
