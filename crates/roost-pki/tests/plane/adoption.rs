//! Planes whose first keys another tool has made.

use std::net::IpAddr;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    SanType,
};
use roost_pki::AlternativeName;
use roost_pki::plane::{Observed, Reason, Stored, leaf};

use crate::world::{World, names};

fn parameters(attributes: &[(DnType, &str)]) -> CertificateParams {
    let mut parameters = CertificateParams::default();
    parameters.not_before = rcgen::date_time_ymd(2026, 10, 1);
    parameters.not_after = rcgen::date_time_ymd(2027, 10, 1);
    for (attribute, value) in attributes {
        parameters.distinguished_name.push(attribute.clone(), *value);
    }
    parameters
}

fn stored(parts: [(&str, String); 2]) -> Stored {
    let data = parts.into_iter().map(|(key, text)| (key.to_owned(), text.into_bytes())).collect();
    Stored { data, ..Stored::default() }
}

/// A root authority and the API server's certificate, without any of the key identifiers and annotations of ours.
fn foreign() -> Observed {
    let mut authority = parameters(&[(DnType::OrganizationalUnitName, "openshift"), (DnType::CommonName, "root-ca")]);
    authority.not_after = rcgen::date_time_ymd(2036, 10, 1);
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let authority_key = KeyPair::generate().unwrap();
    let authority_certificate = authority.self_signed(&authority_key).unwrap();
    let issuer = Issuer::from_params(&authority, &authority_key);

    let mut server = parameters(&[(DnType::OrganizationName, "kubernetes"), (DnType::CommonName, "kubernetes")]);
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let wanted = leaf("kas-server-crt").unwrap().alternative_names(&names()).unwrap();
    server.subject_alt_names = wanted
        .into_iter()
        .map(|name| match name {
            AlternativeName::Ip(address) => SanType::IpAddress(address),
            other => SanType::DnsName(other.to_string().try_into().unwrap()),
        })
        .collect();
    server.subject_alt_names.push(SanType::IpAddress(IpAddr::from([192, 0, 2, 200])));
    let server_key = KeyPair::generate().unwrap();
    let server_certificate = server.signed_by(&server_key, &issuer).unwrap();

    let mut observed = Observed::default();
    let authority = stored([("ca.crt", authority_certificate.pem()), ("ca.key", authority_key.serialize_pem())]);
    observed.secrets.insert("root-ca".into(), authority);
    let server = stored([("tls.crt", server_certificate.pem()), ("tls.key", server_key.serialize_pem())]);
    observed.secrets.insert("kas-server-crt".into(), server);
    observed
}

#[test]
fn keys_of_others_are_kept_until_they_are_due() {
    let mut world = World::new(names());
    world.observed = foreign();
    let plan = world.plan();
    let reason = |name: &str| {
        let write = plan.writes.iter().find(|write| write.material.name == name);
        write.map(|write| write.reason.clone())
    };
    assert_eq!(reason("kas-server-crt"), Some(Reason::TrustChanged), "{plan}");
    assert_eq!(reason("kas-server-private-crt"), Some(Reason::Missing));
    let before = world.observed.secrets.clone();
    world.settle();
    world.check();
    assert_eq!(world.secret("root-ca")["ca.key"], before["root-ca"].data["ca.key"]);
    assert_eq!(world.secret("kas-server-crt")["tls.crt"], before["kas-server-crt"].data["tls.crt"]);

    world.now = "2027-07-01T00:00:00Z".parse().unwrap();
    assert!(world.plan().writes.iter().any(|write| matches!(write.reason, Reason::ExpiresSoon(_))));
    world.settle();
    assert_ne!(world.secret("kas-server-crt")["tls.crt"], before["kas-server-crt"].data["tls.crt"]);
    world.check();
}
