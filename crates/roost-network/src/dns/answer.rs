//! From a question to an answer, where the cluster has one.

use super::message::{Data, Outcome, Query, Record, Upstream, encode, kind};
use crate::zone::{Found, Served, Zone};

/// For how many seconds an answer may be remembered.
pub(super) const LIFETIME: u32 = 5;
/// Aliases that are followed inside the cluster.
const MOST_ALIASES: usize = 8;

/// What becomes of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// This is the answer.
    Answer(Vec<u8>),
    /// Others have to be asked.
    Forward,
    /// Others have to be asked for another name; [`chased`] puts their answer after these records.
    Chase {
        /// The name.
        target: String,
        /// What is known by then.
        records: Vec<Record>,
    },
}

/// Answers a question. `turn` is another number each time, so that addresses take turns at being the first.
pub fn respond(zone: &Zone, query: &Query, turn: usize, limit: usize) -> Reply {
    if !query.is_plain {
        return Reply::Answer(encode(query, Outcome::NotImplemented, false, [&[], &[], &[]], limit));
    }
    let Some(name) = query.name.as_deref().filter(|_| query.is_internet) else { return Reply::Forward };
    let mut aliases: Vec<Record> = Vec::new();
    let mut current = name.to_owned();
    loop {
        let (mut answers, additional) = match zone.find(&current) {
            Found::Elsewhere if aliases.is_empty() => return Reply::Forward,
            Found::Elsewhere => return Reply::Chase { target: current, records: aliases },
            Found::Nothing => return Reply::Answer(negative(zone, query, Outcome::NoName, &aliases, limit)),
            Found::Apex => (apex(zone, query.kind), Vec::new()),
            Found::Alias(target) if query.kind == kind::SRV => {
                let data = Data::Service { weight: 100, port: 0, target };
                (vec![Record { name: current, lifetime: LIFETIME, data }], Vec::new())
            }
            Found::Alias(target) => {
                aliases.push(Record { name: current, lifetime: LIFETIME, data: Data::Alias(target.clone()) });
                if query.kind != kind::CNAME && aliases.len() <= MOST_ALIASES {
                    current = target.to_ascii_lowercase();
                    continue;
                }
                (Vec::new(), Vec::new())
            }
            Found::Host { addresses, served } => host(&current, query.kind, &addresses, &served, turn),
            Found::Names(names) if query.kind == kind::PTR => {
                let record = |target| Record { name: current.clone(), lifetime: LIFETIME, data: Data::Pointer(target) };
                (names.into_iter().map(record).collect(), Vec::new())
            }
            Found::Text(text) if query.kind == kind::TXT => {
                let data = Data::Text(text.to_owned());
                (vec![Record { name: current, lifetime: LIFETIME, data }], Vec::new())
            }
            Found::Branch | Found::Names(_) | Found::Text(_) => (Vec::new(), Vec::new()),
        };
        let mut records = aliases;
        records.append(&mut answers);
        if records.is_empty() {
            return Reply::Answer(negative(zone, query, Outcome::Good, &[], limit));
        }
        return Reply::Answer(encode(query, Outcome::Good, true, [&records, &[], &additional], limit));
    }
}

/// The answer to a question that led elsewhere, with what was answered there.
pub fn chased(query: &Query, mut records: Vec<Record>, found: Option<&Upstream>, limit: usize) -> Vec<u8> {
    let Some(found) = found.filter(|found| found.is_good) else {
        return encode(query, Outcome::Failed, false, [&[], &[], &[]], limit);
    };
    records.extend(found.records.iter().cloned());
    encode(query, Outcome::Good, true, [&records, &[], &[]], limit)
}

fn negative(zone: &Zone, query: &Query, outcome: Outcome, answers: &[Record], limit: usize) -> Vec<u8> {
    encode(query, outcome, true, [answers, &[authority(zone)], &[]], limit)
}

fn authority(zone: &Zone) -> Record {
    let domain = zone.domain();
    let data = Data::Authority {
        server: format!("ns.dns.{domain}"),
        responsible: format!("hostmaster.{domain}"),
        serial: zone.serial(),
    };
    Record { name: domain.to_owned(), lifetime: LIFETIME, data }
}

fn apex(zone: &Zone, asked: u16) -> Vec<Record> {
    match asked {
        kind::SOA => vec![authority(zone)],
        kind::NS => {
            let data = Data::Server(format!("ns.dns.{}", zone.domain()));
            vec![Record { name: zone.domain().to_owned(), lifetime: LIFETIME, data }]
        }
        _ => Vec::new(),
    }
}

/// Answers and what is told besides.
fn host(
    name: &str,
    asked: u16,
    addresses: &[std::net::IpAddr],
    served: &[Served],
    turn: usize,
) -> (Vec<Record>, Vec<Record>) {
    let record = |name: &str, data| Record { name: name.to_owned(), lifetime: LIFETIME, data };
    if asked == kind::SRV {
        let weight = u16::try_from(100 / served.len().max(1)).unwrap_or(1).max(1);
        let service =
            |served: &Served| record(name, Data::Service { weight, port: served.port, target: served.target.clone() });
        let mut additional: Vec<Record> = Vec::new();
        for served in served {
            for address in &served.addresses {
                let address = record(&served.target, Data::Address(*address));
                if !additional.contains(&address) {
                    additional.push(address);
                }
            }
        }
        return (served.iter().map(service).collect(), additional);
    }
    let is_wanted = |address: &&std::net::IpAddr| match asked {
        kind::A => address.is_ipv4(),
        kind::AAAA => address.is_ipv6(),
        _ => false,
    };
    let mut found: Vec<Record> =
        addresses.iter().filter(is_wanted).map(|address| record(name, Data::Address(*address))).collect();
    let shift = turn.checked_rem(found.len()).unwrap_or_default();
    found.rotate_left(shift);
    (found, Vec::new())
}
