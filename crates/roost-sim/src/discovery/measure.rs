//! What a simulated host says that it measured. It resolves names and reaches hosts as its faults say, and asks nobody.

use roost_host::measurement::{
    ConnectivityReply, DiskOrder, DiskReply, NamesOrder, NamesReply, RemoteHost, RemoteReply, Resolution, Way,
};

use super::HostFaults;

/// What all names resolve to: an address that nobody has.
const EVERYWHERE: &str = "198.51.100.1";

/// How it reaches other hosts.
pub(super) fn peers(faults: &HostFaults, order: &[RemoteHost]) -> ConnectivityReply {
    let is_reached = !faults.is_cut_off && faults.lost_percent < 100;
    let way = |address: &String| Way {
        outgoing_nic: "ens1".to_owned(),
        remote_ip_address: address.clone(),
        successful: is_reached,
        average_rtt_ms: if is_reached { faults.round_trip.as_secs_f64() * 1000.0 } else { 0.0 },
        packet_loss_percentage: if is_reached { f64::from(faults.lost_percent) } else { 100.0 },
    };
    let remote_hosts = order.iter().map(|remote| RemoteReply {
        host_id: remote.host_id.clone(),
        l3_connectivity: remote.nics.iter().flat_map(|card| &card.ip_addresses).map(way).collect(),
    });
    ConnectivityReply { remote_hosts: remote_hosts.collect() }
}

/// What names resolve to.
pub(super) fn names(faults: &HostFaults, order: &NamesOrder) -> NamesReply {
    let resolution = |name: &str| Resolution {
        domain_name: name.to_owned(),
        ipv4_addresses: if faults.resolves_nothing { Vec::new() } else { vec![EVERYWHERE.to_owned()] },
        ..Resolution::default()
    };
    NamesReply { resolutions: order.domains.iter().map(|order| resolution(&order.domain_name)).collect() }
}

/// How fast its disk is.
pub(super) fn disk(faults: &HostFaults, order: DiskOrder) -> DiskReply {
    DiskReply { io_sync_duration: i64::try_from(faults.disk_sync.as_millis()).unwrap_or(i64::MAX), path: order.path }
}
