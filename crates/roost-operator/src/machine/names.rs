//! What a Machine and its credential are called, and what is written on them.

use std::fmt::Write as _;

use aws_lc_rs::digest::{SHA256, digest};

/// On a Machine: what its host identified itself by.
pub(crate) const HOST_ID: &str = "roost.dev/host-id";
/// On a Machine: the one node name that its host may have.
pub(crate) const NODE_NAME: &str = "roost.dev/node-name";
/// On a Machine: the bootstrap token that its host got last.
pub(crate) const TOKEN_ID: &str = "roost.dev/bootstrap-token-id";
/// On a Machine: when its host fetched its configuration last.
pub(crate) const FETCHED_AT: &str = "roost.dev/fetched-at";
/// On a Machine: the hash of the configuration that its host fetched last.
pub(crate) const CONFIG_HASH: &str = "roost.dev/config-hash";
/// On a Machine: the addresses that its host had then, with commas between.
pub(crate) const HOST_ADDRESSES: &str = "roost.dev/host-addresses";
/// On a Machine: a bootstrap token and how many client certificates were approved for it, as `id:count`.
pub(crate) const APPROVALS: &str = "roost.dev/approvals";

/// The longest name of a pool that fits before the digits of a Machine's name.
const LONGEST_POOL: usize = 54;

/// Digits that stand for a text.
pub(crate) fn digits(text: &str, count: usize) -> String {
    let mut digits = String::with_capacity(64);
    for byte in digest(&SHA256, text.as_bytes()).as_ref() {
        let _ = write!(digits, "{byte:02x}");
    }
    digits.truncate(count);
    digits
}

/// What the Machine of a host is called. More digits are for the host whose first eight another one has.
pub(crate) fn machine_name(pool: &str, host_id: &str, count: usize) -> String {
    let mut prefix = pool.replace('.', "-");
    if prefix.len() > LONGEST_POOL {
        prefix.truncate(LONGEST_POOL - 9);
        prefix = format!("{prefix}-{}", digits(pool, 8));
    }
    format!("{prefix}-{}", digits(host_id, count))
}

/// What a Node and its Machine know each other by.
pub(crate) fn provider_id(cluster_id: &str, machine: &str) -> String {
    format!("roost://{cluster_id}/{machine}")
}

/// The Secret of a bootstrap token in the hosted cluster.
pub(crate) fn token_secret(id: &str) -> String {
    format!("bootstrap-token-{id}")
}

/// The label value by which all that belongs to a pool is found.
pub(crate) fn pool_label(namespace: &str, pool: &str) -> String {
    digits(&format!("{namespace}/{pool}"), 16)
}

/// A name as the value of a label: as it is where it fits, else shortened with digits.
pub(crate) fn label_value(name: &str) -> String {
    const LONGEST: usize = 63;
    if name.len() <= LONGEST {
        name.to_owned()
    } else {
        format!("{}-{}", name[..LONGEST - 9].trim_end_matches(['-', '.']), digits(name, 8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_of_any_pool_have_names_that_fit_everywhere() {
        let name = machine_name("workers", "host-1", 8);
        assert!(name.starts_with("workers-") && name.len() == 16, "{name}");
        assert_ne!(name, machine_name("workers", "host-2", 8));
        let long = machine_name(&"a.b".repeat(60), "host-1", 8);
        assert!(long.len() <= 63 && !long.contains('.'), "{long}");
        assert_ne!(long, machine_name(&format!("{}c", "a.b".repeat(60)), "host-1", 8));
    }
}
