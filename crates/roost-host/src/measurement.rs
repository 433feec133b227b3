//! What a host measures when it is told to: the way to other hosts, the names that it needs, and its disk. Orders and
//! answers are upstream's; what is kept of an answer is short.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::identity::is_host_id;
use crate::wire::or_default;

/// How long a packet may take to another host and back. Upstream's value for workers.
pub const MOST_ROUND_TRIP: Duration = Duration::from_secs(1);
/// How many packets of a hundred may be lost on that way. Upstream's value for workers.
pub const MOST_LOSS: u8 = 10;
/// How long the slowest of a hundred writes may take to be safe. Upstream's value.
pub const MOST_DISK_SYNC: Duration = Duration::from_millis(10);
/// Other hosts that one host is told to reach. In a ring of neighbours each is so reached by as many, and the cost of
/// another host is the same in a pool of ten and of a hundred thousand.
pub const MOST_PEERS: usize = 8;
/// Addresses of one answer that are believed.
const MOST_ADDRESSES: usize = 16;
/// Differences below this are no news.
const SIMILAR_MICROSECONDS: u64 = 5_000;
/// Where a host that keeps its system is measured: in a small file that goes again.
pub const KEPT_SYSTEM: &str = "/var/lib";

/// Another host to reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteHost {
    /// Who it is.
    #[serde(default, deserialize_with = "or_default")]
    pub host_id: String,
    /// Its network cards.
    #[serde(default, deserialize_with = "or_default")]
    pub nics: Vec<RemoteCard>,
}

/// A network card of another host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteCard {
    /// What that host calls it.
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    /// Its hardware address.
    #[serde(default, deserialize_with = "or_default")]
    pub mac: String,
    /// Its addresses, without prefix lengths.
    #[serde(default, deserialize_with = "or_default")]
    pub ip_addresses: Vec<String>,
}

/// How other hosts were reached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConnectivityReply {
    /// Each of them.
    #[serde(default, deserialize_with = "or_default")]
    pub remote_hosts: Vec<RemoteReply>,
}

/// How one other host was reached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RemoteReply {
    /// Who it is.
    #[serde(default, deserialize_with = "or_default")]
    pub host_id: String,
    /// The ways to its addresses.
    #[serde(default, deserialize_with = "or_default")]
    pub l3_connectivity: Vec<Way>,
}

/// The way to one address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Way {
    /// The card that packets left by.
    #[serde(default, deserialize_with = "or_default")]
    pub outgoing_nic: String,
    /// The address.
    #[serde(default, deserialize_with = "or_default")]
    pub remote_ip_address: String,
    /// Whether anything came back.
    #[serde(default, deserialize_with = "or_default")]
    pub successful: bool,
    /// How long it took there and back, in milliseconds.
    #[serde(default, deserialize_with = "or_default")]
    pub average_rtt_ms: f64,
    /// How much was lost.
    #[serde(default, deserialize_with = "or_default")]
    pub packet_loss_percentage: f64,
}

/// Names to resolve.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamesOrder {
    /// Each of them.
    #[serde(default, deserialize_with = "or_default")]
    pub domains: Vec<NameOrder>,
}

/// One name to resolve.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameOrder {
    /// The name.
    #[serde(default, deserialize_with = "or_default")]
    pub domain_name: String,
}

/// What names resolve to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamesReply {
    /// Each of them.
    #[serde(default, deserialize_with = "or_default")]
    pub resolutions: Vec<Resolution>,
}

/// What one name resolves to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolution {
    /// The name.
    #[serde(default, deserialize_with = "or_default")]
    pub domain_name: String,
    /// Its IPv4 addresses.
    #[serde(default, deserialize_with = "or_default")]
    pub ipv4_addresses: Vec<String>,
    /// Its IPv6 addresses.
    #[serde(default, deserialize_with = "or_default")]
    pub ipv6_addresses: Vec<String>,
}

impl Resolution {
    /// The addresses of both families, sorted: servers turn the order of answers round and round.
    pub fn addresses(&self) -> Vec<String> {
        let texts = self.ipv4_addresses.iter().chain(&self.ipv6_addresses);
        let is_address = |text: &&String| text.parse::<std::net::IpAddr>().is_ok();
        let mut addresses: Vec<String> = texts.filter(is_address).take(MOST_ADDRESSES).cloned().collect();
        addresses.sort();
        addresses
    }
}

/// A disk to measure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskOrder {
    /// The disk, or a directory of a system that stays.
    #[serde(default, deserialize_with = "or_default")]
    pub path: String,
}

/// How fast a disk is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskReply {
    /// How long the slowest of a hundred writes took to be safe, in milliseconds.
    #[serde(default, deserialize_with = "or_default")]
    pub io_sync_duration: i64,
    /// What was measured.
    #[serde(default, deserialize_with = "or_default")]
    pub path: String,
}

/// How a host reaches others, in short.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Reachability {
    /// How many it was told to reach.
    pub asked: usize,
    /// Those that it does not reach.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<String>,
    /// How long the slowest of the others takes there and back, in microseconds, and which one that is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowest: Option<(u64, String)>,
    /// How many packets of a hundred are lost on the worst way, and to which one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst_loss: Option<(u8, String)>,
}

impl Reachability {
    /// What an answer says. Each host counts by the best of its addresses: a card that leads nowhere is no fault of the
    /// others.
    pub fn of(reply: &ConnectivityReply) -> Self {
        let mut kept = Self::default();
        for remote in reply.remote_hosts.iter().filter(|remote| is_host_id(&remote.host_id)).take(MOST_PEERS) {
            kept.asked += 1;
            let ways = remote.l3_connectivity.iter().take(MOST_ADDRESSES).filter(|way| way.successful);
            let Some((loss, time)) = ways.map(|way| (percent(way), microseconds(way))).min() else {
                kept.missed.push(remote.host_id.clone());
                continue;
            };
            if kept.slowest.as_ref().is_none_or(|(known, _)| *known < time) {
                kept.slowest = Some((time, remote.host_id.clone()));
            }
            if kept.worst_loss.as_ref().is_none_or(|(known, _)| *known < loss) {
                kept.worst_loss = Some((loss, remote.host_id.clone()));
            }
        }
        kept
    }

    /// Whether this says nothing that was not known: times and losses are never twice the same.
    pub fn is_like(&self, known: &Self) -> bool {
        let time = |one: &Self| one.slowest.as_ref().map_or(0, |(time, _)| *time);
        let loss = |one: &Self| one.worst_loss.as_ref().map_or(0, |(loss, _)| *loss);
        let is_slow = |one: &Self| Duration::from_micros(time(one)) > MOST_ROUND_TRIP;
        let (short, long) = (time(self).min(time(known)), time(self).max(time(known)));
        self.asked == known.asked
            && self.missed == known.missed
            && is_slow(self) == is_slow(known)
            && (loss(self) > MOST_LOSS) == (loss(known) > MOST_LOSS)
            && loss(self).abs_diff(loss(known)) <= MOST_LOSS
            && long <= short.saturating_mul(2).saturating_add(SIMILAR_MICROSECONDS)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number from elsewhere is brought into its range first"
)]
fn percent(way: &Way) -> u8 {
    way.packet_loss_percentage.clamp(0.0, 100.0).ceil() as u8
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number from elsewhere is brought into its range first"
)]
fn microseconds(way: &Way) -> u64 {
    (way.average_rtt_ms.clamp(0.0, 3_600_000.0) * 1000.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "770980f8-07d0-4824-899c-0da82a7555a5";
    const TWO: &str = "234d87fe-73a2-85ec-e57a-3a0a3c8aaf1f";

    fn way(rtt: f64, loss: f64) -> Way {
        Way { successful: loss < 100.0, average_rtt_ms: rtt, packet_loss_percentage: loss, ..Way::default() }
    }

    fn reply(hosts: &[(&str, Vec<Way>)]) -> ConnectivityReply {
        let hosts =
            hosts.iter().map(|(id, ways)| RemoteReply { host_id: (*id).to_owned(), l3_connectivity: ways.clone() });
        ConnectivityReply { remote_hosts: hosts.collect() }
    }

    #[test]
    fn a_host_counts_by_its_best_address() {
        let kept = Reachability::of(&reply(&[
            (ONE, vec![way(900.0, 0.0), way(0.25, 0.0), way(0.0, 100.0)]),
            (TWO, vec![way(3.5, 20.0)]),
            ("no id", vec![way(1.0, 0.0)]),
        ]));
        assert_eq!((kept.asked, kept.missed.len()), (2, 0));
        assert_eq!(kept.slowest, Some((3500, TWO.to_owned())));
        assert_eq!(kept.worst_loss, Some((20, TWO.to_owned())));
        let cut = Reachability::of(&reply(&[(ONE, vec![way(0.0, 100.0)]), (TWO, vec![way(f64::NAN, f64::INFINITY)])]));
        assert_eq!(cut.missed, [ONE, TWO]);
    }

    #[test]
    fn upstreams_answer_is_read() {
        let text = r#"{"remote_hosts":[{"host_id":"770980f8-07d0-4824-899c-0da82a7555a5","l2_connectivity":null,"mtu_report":[],
            "l3_connectivity":[{"outgoing_nic":"ens3","remote_ip_address":"192.0.2.7","successful":true,"average_rtt_ms":0.412}]}]}"#;
        let kept = Reachability::of(&serde_json::from_str(text).unwrap());
        assert_eq!((kept.slowest, kept.worst_loss), (Some((412, ONE.to_owned())), Some((0, ONE.to_owned()))));
    }

    #[test]
    fn only_what_matters_is_news() {
        let measured = |rtt: f64, loss: f64| Reachability::of(&reply(&[(ONE, vec![way(rtt, loss)])]));
        assert!(measured(0.2, 0.0).is_like(&measured(4.0, 0.0)));
        assert!(measured(40.0, 0.0).is_like(&measured(60.0, 10.0)));
        assert!(!measured(40.0, 0.0).is_like(&measured(160.0, 0.0)));
        assert!(!measured(990.0, 0.0).is_like(&measured(1010.0, 0.0)), "the limit lies between them");
        assert!(!measured(1.0, 10.0).is_like(&measured(1.0, 20.0)));
        assert!(!measured(1.0, 0.0).is_like(&measured(1.0, 100.0)));
    }

    #[test]
    fn addresses_have_one_order() {
        let resolution = Resolution {
            ipv4_addresses: vec!["192.0.2.9".to_owned(), "192.0.2.1".to_owned(), "nonsense".to_owned()],
            ipv6_addresses: vec!["2001:db8::1".to_owned()],
            ..Resolution::default()
        };
        assert_eq!(resolution.addresses(), ["192.0.2.1", "192.0.2.9", "2001:db8::1"]);
    }
}
