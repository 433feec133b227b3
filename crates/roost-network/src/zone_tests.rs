use std::net::IpAddr;

use serde_json::json;

use super::{Found, Zone};
use crate::Settings;
use crate::dns::{Query, Reply, Upstream, kind, respond};
use crate::model::tests::{service, slice};
use crate::model::{Kind, Model};

fn zone() -> Zone {
    let mut model = Model::default();
    let ports = json!([{"name": "http", "port": 80}, {"name": "dns", "port": 53, "protocol": "UDP"}]);
    model.put(Kind::Service, &service("web", json!({"clusterIPs": ["10.2.0.1", "fd02::1"], "ports": ports})));
    model.put(Kind::EndpointSlice, &slice("web", &json!({"name": "http", "port": 8080}), &[("10.1.0.5", "a")]));
    model.put(Kind::Service, &service("db", json!({"clusterIPs": ["None"], "ports": [{"name": "sql", "port": 5432}]})));
    let mut endpoints = slice("db", &json!({"name": "sql", "port": 5432}), &[("10.1.0.6", "a"), ("10.1.1.6", "b")]);
    endpoints["endpoints"][0]["hostname"] = json!("db-0");
    model.put(Kind::EndpointSlice, &endpoints);
    model.put(Kind::Service, &service("empty", json!({"clusterIPs": ["None"]})));
    model.put(Kind::Service, &service("out", json!({"type": "ExternalName", "externalName": "example.com."})));
    model.put(
        Kind::Service,
        &service("in", json!({"type": "ExternalName", "externalName": "web.default.svc.cluster.local"})),
    );
    let settings =
        Settings { dns: vec!["10.2.0.10".parse().unwrap()], domain: "cluster.local".to_owned(), ..Settings::default() };
    Zone::new(&model, &settings, 7)
}

fn addresses(found: Found) -> Vec<String> {
    match found {
        Found::Host { addresses, .. } => addresses.iter().map(IpAddr::to_string).collect(),
        other => vec![format!("{other:?}")],
    }
}

#[test]
fn names_lead_where_coredns_leads() {
    let zone = zone();
    for (name, wanted) in [
        ("web.default.svc.cluster.local", &["10.2.0.1", "fd02::1"][..]),
        ("_http._tcp.web.default.svc.cluster.local", &["10.2.0.1", "fd02::1"]),
        ("_http._udp.web.default.svc.cluster.local", &["Nothing"]),
        ("10-1-0-5.web.default.svc.cluster.local", &["10.1.0.5"]),
        ("db.default.svc.cluster.local", &["10.1.0.6", "10.1.1.6"]),
        ("db-0.db.default.svc.cluster.local", &["10.1.0.6"]),
        ("10-1-1-6.db.default.svc.cluster.local", &["10.1.1.6"]),
        ("_sql._tcp.db.default.svc.cluster.local", &["10.1.0.6", "10.1.1.6"]),
        ("a.b.c.db.default.svc.cluster.local", &["Nothing"]),
        ("empty.default.svc.cluster.local", &["Nothing"]),
        ("10-9-8-7.default.pod.cluster.local", &["10.9.8.7"]),
        ("nonsense.default.pod.cluster.local", &["Nothing"]),
        ("ns.dns.cluster.local", &["10.2.0.10"]),
        ("default.svc.cluster.local", &["Branch"]),
        ("other.svc.cluster.local", &["Nothing"]),
        ("example.com.default.svc.cluster.local", &["Nothing"]),
        ("example.com", &["Elsewhere"]),
        ("notcluster.local", &["Elsewhere"]),
        ("cluster.local", &["Apex"]),
    ] {
        assert_eq!(addresses(zone.find(name)), wanted, "{name}");
    }
    let names = Found::Names(vec!["web.default.svc.cluster.local".to_owned()]);
    assert_eq!(zone.find("1.0.2.10.in-addr.arpa"), names);
    let six = format!("1.{}2.0.d.f.ip6.arpa", "0.".repeat(27));
    assert_eq!(zone.find(&six), names);
    assert_eq!(zone.find("6.0.1.10.in-addr.arpa"), Found::Names(vec!["db-0.db.default.svc.cluster.local".to_owned()]));
    assert_eq!(zone.find("1.1.1.1.in-addr.arpa"), Found::Elsewhere);
}

fn ask(name: &str, asked: u16) -> Reply {
    let query = Query::read(&Query::about(name, asked, 1).unwrap()).unwrap();
    respond(&zone(), &query, 0, 512)
}

/// Outcome, answers, authorities and additional records.
fn counts(reply: &Reply) -> (u8, u8, u8, u8) {
    match reply {
        Reply::Answer(bytes) => (bytes[3] & 0xf, bytes[7], bytes[9], bytes[11]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn answers_have_the_right_parts() {
    assert_eq!(counts(&ask("web.default.svc.cluster.local", kind::A)), (0, 1, 0, 0));
    assert_eq!(counts(&ask("db.default.svc.cluster.local", kind::AAAA)), (0, 0, 1, 0));
    assert_eq!(counts(&ask("gone.default.svc.cluster.local", kind::A)), (3, 0, 1, 0));
    assert_eq!(counts(&ask("_sql._tcp.db.default.svc.cluster.local", kind::SRV)), (0, 2, 0, 2));
    assert_eq!(counts(&ask("web.default.svc.cluster.local", kind::SRV)), (0, 2, 0, 2));
    assert_eq!(counts(&ask("cluster.local", kind::SOA)), (0, 1, 0, 0));
    assert_eq!(counts(&ask("dns-version.cluster.local", kind::TXT)), (0, 1, 0, 0));
    assert_eq!(counts(&ask("1.0.2.10.in-addr.arpa", kind::PTR)), (0, 1, 0, 0));
    assert_eq!(ask("example.com", kind::A), Reply::Forward);
}

#[test]
fn aliases_are_followed() {
    let Reply::Chase { target, records } = ask("out.default.svc.cluster.local", kind::A) else { panic!() };
    assert_eq!((target.as_str(), records.len()), ("example.com", 1));
    let Reply::Answer(bytes) = ask("in.default.svc.cluster.local", kind::A) else { panic!() };
    assert_eq!(Upstream::read(&bytes).unwrap().records.len(), 2);
    assert_eq!(counts(&ask("out.default.svc.cluster.local", kind::CNAME)), (0, 1, 0, 0));
}

#[test]
fn addresses_take_turns() {
    let zone = zone();
    let query = Query::read(&Query::about("db.default.svc.cluster.local", kind::A, 1).unwrap()).unwrap();
    let first = |turn| match respond(&zone, &query, turn, 512) {
        Reply::Answer(bytes) => Upstream::read(&bytes).unwrap().records[0].clone(),
        other => panic!("{other:?}"),
    };
    assert_ne!(first(0), first(1));
    assert_eq!(first(0), first(2));
}
