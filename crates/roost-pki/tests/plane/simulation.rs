//! Years in seconds: a plane that is looked after day by day.

use jiff::SignedDuration;
use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};
use roost_pki::plane::{AUTHORITIES, Parts, Rotation, Which};

use crate::world::{World, names};

const DAY: SignedDuration = SignedDuration::from_hours(24);

#[test]
fn eleven_years_pass_without_an_outage() {
    let mut world = World::made(names());
    let first = world.observed.clone();
    let mut looks = 0;
    for _ in 0..11 * 365 {
        world.advance(DAY);
        world.check_time();
        // Rotations take minutes, so a day has room for all their stages.
        while world.settle() > 0 {
            looks += 1;
            world.check();
            let next = world.plan().next;
            if next > world.now + SignedDuration::from_hours(1) {
                break;
            }
            world.now = next;
        }
    }
    assert!(looks < 200, "{looks}");
    for spec in &AUTHORITIES {
        let key = if spec.is_tls_secret { "tls.crt" } else { "ca.crt" };
        assert_ne!(world.secret(spec.secret)[key], first.secrets[spec.secret].data[key], "{}", spec.secret);
    }
    let end = world.certificate("system-admin-client").not_after();
    assert!(end > world.now + DAY * 60, "{end}");
}

#[test]
fn five_hundred_wishes_pass_without_an_outage() {
    let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut below = |limit: u64| random.next_u64() % limit;
    let mut names = names();
    names.parts = Parts::API_SERVER;
    let mut world = World::made(names);
    let root = world.secret("root-ca")["ca.crt"].clone();
    for _ in 0..500 {
        world.advance(SignedDuration::from_secs(below(1_000_000) as i64));
        world.check_time();
        let one = AUTHORITIES[below(AUTHORITIES.len() as u64) as usize].authority;
        let which = if below(20) == 0 { Which::All } else { Which::Only(vec![one]) };
        world.wishes.rotation = Some(Rotation { which, requested_at: world.now });
        for _ in 0..below(5) {
            world.settle();
            let next = world.plan().next;
            world.now = next.min(world.now + DAY);
            world.wishes.confirmed = below(4) > 0;
        }
    }
    world.wishes.confirmed = true;
    world.finish_rotations();
    world.check();
    assert_ne!(world.secret("root-ca")["ca.crt"], root);
    assert_eq!(world.bundle("client-ca").unwrap().certificates().len(), 6);
}
