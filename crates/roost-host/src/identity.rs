//! Who a host is: the same after every start, and another one than its twin.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use aws_lc_rs::digest::{SHA256, digest};

/// What firmware says when nobody filled in a serial number.
const NO_SERIAL: [&str; 14] = [
    "",
    "unknown",
    "none",
    "(none)",
    "-",
    "0",
    "default string",
    "default",
    "not specified",
    "not applicable",
    "unspecified base board serial number",
    "unspecified system serial number",
    "to be filled by o.e.m.",
    "pca_number.acc",
];
/// Identifiers that whole series of boards have.
const NO_PRODUCT: [&str; 4] = [
    "",
    "00000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "03000200-0400-0500-0006-000700080009",
];

/// What of a host stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostIdentity {
    /// The serial number of the board.
    pub serial: String,
    /// The identifier that the firmware has of the machine.
    pub product: String,
    /// The permanent addresses of its network cards.
    pub addresses: BTreeSet<String>,
}

impl HostIdentity {
    /// The host's id, in the form of a UUID: made of all that is known of it, because serial numbers alone are shared by
    /// cloned virtual machines and by boards that nobody labelled.
    pub fn id(&self) -> String {
        let serial = self.serial.trim().to_ascii_lowercase();
        let product = self.product.trim().to_ascii_lowercase();
        let mut text = String::from("roost-host\n");
        if !NO_SERIAL.contains(&serial.as_str()) {
            let _ = writeln!(text, "serial {serial}");
        }
        if !NO_PRODUCT.contains(&product.as_str()) {
            let _ = writeln!(text, "product {product}");
        }
        for address in &self.addresses {
            let _ = writeln!(text, "address {}", address.to_ascii_lowercase());
        }
        uuid_of(text.as_bytes())
    }
}

/// A UUID of the version for content of one's own.
fn uuid_of(content: &[u8]) -> String {
    let mut bytes = [0u8; 16];
    bytes.copy_from_slice(&digest(&SHA256, content).as_ref()[..16]);
    bytes[6] = (bytes[6] & 0x0f) | 0x80;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let mut text = String::with_capacity(36);
    for (place, byte) in bytes.iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Whether a text can be the id of a host, and so the name of an Agent.
pub fn is_host_id(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
        })
}

/// Whether two reports under one id can be of one machine: it had a network card then that it still has, or it never had
/// any. Cards are added and replaced, but not all of them between two reports of a host that runs.
pub fn is_same_machine(before: &[String], now: &[String]) -> bool {
    before.is_empty() || now.is_empty() || before.iter().any(|address| now.contains(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(serial: &str, product: &str, addresses: &[&str]) -> HostIdentity {
        HostIdentity {
            serial: serial.to_owned(),
            product: product.to_owned(),
            addresses: addresses.iter().map(|&address| address.to_owned()).collect(),
        }
    }

    #[test]
    fn an_id_is_stable_and_names_an_agent() {
        let one = identity("ABC", "4c4c4544-0044", &["52:54:00:00:00:01", "52:54:00:00:00:02"]);
        let same = identity(" abc ", "4C4C4544-0044", &["52:54:00:00:00:02", "52:54:00:00:00:01"]);
        assert_eq!(one.id(), same.id());
        assert!(is_host_id(&one.id()), "{}", one.id());
        assert!(!is_host_id("6F1C0F3E-5A41-4C1B-9A7E-0C5D3F1B2A90"));
        assert!(!is_host_id("../../../../../../../../../../../../"));
    }

    #[test]
    fn boards_that_nobody_labelled_differ_by_their_cards() {
        let one = identity("To be filled by O.E.M.", "03000200-0400-0500-0006-000700080009", &["52:54:00:00:00:01"]);
        let other = identity("Default string", "03000200-0400-0500-0006-000700080009", &["52:54:00:00:00:02"]);
        assert_ne!(one.id(), other.id());
        let cloned = identity("SAME", "uuid", &["52:54:00:00:00:03"]);
        assert_ne!(cloned.id(), identity("SAME", "uuid", &["52:54:00:00:00:04"]).id());
    }

    #[test]
    fn a_replaced_card_is_no_other_machine() {
        let list = |addresses: &[&str]| addresses.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        assert!(is_same_machine(&list(&["a", "b"]), &list(&["b", "c"])));
        assert!(!is_same_machine(&list(&["a", "b"]), &list(&["c"])));
        assert!(is_same_machine(&[], &list(&["c"])));
    }
}
