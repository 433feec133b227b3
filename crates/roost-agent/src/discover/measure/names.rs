//! What names resolve to on this host, by the resolver that everything on it uses.

use std::net::{IpAddr, ToSocketAddrs as _};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use roost_host::measurement::{NamesOrder, NamesReply, Resolution};

/// Names that are resolved at once.
const MOST_NAMES: usize = 8;
/// How long a resolver may take. One that takes longer is of no use to a node.
const PATIENCE: Duration = Duration::from_secs(4);

/// Resolves names, all at once. One that does not resolve in time has no address.
pub(in super::super) fn names(order: &NamesOrder) -> NamesReply {
    resolve(order, PATIENCE, |name| {
        let found = (name, 0).to_socket_addrs().into_iter().flatten();
        found.map(|address| address.ip()).collect()
    })
}

fn resolve(
    order: &NamesOrder,
    patience: Duration,
    look_up: impl Fn(&str) -> Vec<IpAddr> + Clone + Send + 'static,
) -> NamesReply {
    let names: Vec<String> = order.domains.iter().take(MOST_NAMES).map(|order| order.domain_name.clone()).collect();
    let (sender, receiver) = mpsc::channel();
    for (place, name) in names.iter().cloned().enumerate() {
        let (sender, look_up) = (sender.clone(), look_up.clone());
        // A resolver cannot be interrupted; who is late finds nobody who listens, and ends.
        std::thread::spawn(move || sender.send((place, look_up(&name))));
    }
    drop(sender);
    let mut resolutions: Vec<Resolution> =
        names.into_iter().map(|domain_name| Resolution { domain_name, ..Resolution::default() }).collect();
    let deadline = Instant::now() + patience;
    while let Ok((place, addresses)) = receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        for address in addresses {
            let resolution = &mut resolutions[place];
            let list = if address.is_ipv4() { &mut resolution.ipv4_addresses } else { &mut resolution.ipv6_addresses };
            let text = address.to_string();
            if !list.contains(&text) {
                list.push(text);
            }
        }
    }
    NamesReply { resolutions }
}

#[cfg(test)]
mod tests {
    use roost_host::measurement::NameOrder;

    use super::*;

    #[test]
    fn a_name_without_an_answer_in_time_has_no_address() {
        let names = ["good", "none", "late"];
        let domains = names.iter().map(|&name| NameOrder { domain_name: name.to_owned() }).collect();
        let reply = resolve(&NamesOrder { domains }, Duration::from_millis(300), |name| match name {
            "good" => vec![[192, 0, 2, 1].into(), [192, 0, 2, 1].into(), "2001:db8::1".parse().unwrap()],
            "late" => {
                std::thread::sleep(Duration::from_secs(2));
                vec![[192, 0, 2, 2].into()]
            }
            _ => Vec::new(),
        });
        let counts: Vec<(usize, usize)> =
            reply.resolutions.iter().map(|one| (one.ipv4_addresses.len(), one.ipv6_addresses.len())).collect();
        assert_eq!(counts, [(1, 1), (0, 0), (0, 0)]);
    }
}
