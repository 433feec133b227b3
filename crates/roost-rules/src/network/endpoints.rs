//! Endpoints and endpoint slices: where the traffic of services goes.

use std::net::IpAddr;

use roost_object::field::{Error, Errors, Path};
use roost_object::{Value, metadata, names};

use super::service::PROTOCOLS;
use crate::check::{Check, Spot, elements, text};
use crate::fill::Fill;
use crate::{address, internal, keep_status};

const ADDRESSES_MAX: usize = 100;
const PORTS_MAX: usize = 20_000;
const ENDPOINTS_MAX: usize = 1_000;
const HINTS_MAX: usize = 8;
/// The label that named the node of an endpoint before there was a field for it.
const HOST: &str = "kubernetes.io/hostname";
const ADDRESS_TYPES: &[&str] = &["FQDN", "IPv4", "IPv6"];

pub(super) fn defaults(endpoints: &mut Value) {
    for subset in endpoints.each("subsets") {
        for port in subset.each("ports") {
            port.fill_text("protocol", "TCP");
        }
    }
}

pub(super) fn validate(endpoints: &Value, old: Option<&Value>, errors: &mut Errors) {
    let before = errors.len();
    Spot::root(endpoints).field("subsets").each(|_, subset| {
        let (ready, not_ready) = (subset.field("addresses"), subset.field("notReadyAddresses"));
        if !ready.filled() && !not_ready.filled() {
            errors.push(Error::required(&subset.path, "must specify `addresses` or `notReadyAddresses`"));
        }
        for addresses in [ready, not_ready] {
            addresses.each(|_, one| validate_address(one, errors));
        }
        let ports = subset.field("ports");
        let several = ports.elements().len() > 1;
        ports.each(|_, port| {
            let name = port.field("name");
            if several && !name.filled() {
                errors.push(Error::required(&name.path, ""));
            } else if name.filled() {
                name.text_passes(names::is_dns1123_label, errors);
            }
            port.field("port").port(errors);
            port.field("protocol").check(&[Check::Required, Check::OneOf(PROTOCOLS)], errors);
            validate_given(&port.field("appProtocol"), names::is_qualified_name, errors);
        });
    });
    // What an older server let through may stay as it is.
    if errors.len() > before
        && old.is_some_and(|old| internal::same("[EndpointSubset", &old["subsets"], &endpoints["subsets"]))
    {
        errors.truncate(before);
    }
}

fn validate_given(field: &Spot<'_>, rule: fn(&str) -> Vec<String>, errors: &mut Errors) {
    if field.given() {
        field.text_passes(rule, errors);
    }
}

fn validate_address(one: &Spot<'_>, errors: &mut Errors) {
    let ip = one.field("ip");
    address::validate(ip.text(), &[], &ip.path, errors);
    if one.field("hostname").filled() {
        one.field("hostname").text_passes(names::is_dns1123_label, errors);
    }
    validate_given(&one.field("nodeName"), names::is_dns1123_subdomain, errors);
    validate_destination(&ip, errors);
}

/// Checks that an address is one that traffic can be sent to.
pub(super) fn validate_destination(ip: &Spot<'_>, errors: &mut Errors) {
    let Some(address) = address::parse_leniently(ip.text()) else {
        return ip_invalid(ip, "must be a valid IP address", errors);
    };
    let address = match address {
        IpAddr::V6(six) => six.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    };
    if address.is_unspecified() {
        ip_invalid(ip, &format!("may not be unspecified ({})", ip.text()), errors);
    }
    if address.is_loopback() {
        ip_invalid(ip, "may not be in the loopback range (127.0.0.0/8, ::1/128)", errors);
    }
    let (link_local, link_local_multicast) = match address {
        IpAddr::V4(four) => (four.is_link_local(), four.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(six) => (six.segments()[0] & 0xffc0 == 0xfe80, six.segments()[0] & 0xff0f == 0xff02),
    };
    if link_local {
        ip_invalid(ip, "may not be in the link-local range (169.254.0.0/16, fe80::/10)", errors);
    }
    if link_local_multicast {
        ip_invalid(ip, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)", errors);
    }
}

fn ip_invalid(ip: &Spot<'_>, words: &str, errors: &mut Errors) {
    errors.push(Error::invalid(&ip.path, ip.text(), words));
}

pub(super) fn warnings(endpoints: &Value, warnings: &mut Vec<String>) {
    if text(&endpoints["metadata"]["labels"], "endpoints.kubernetes.io/managed-by") == "endpoint-controller" {
        return;
    }
    let root = Spot::root(endpoints);
    root.field("subsets").each(|_, subset| {
        for list in ["addresses", "notReadyAddresses"] {
            subset.field(list).each(|_, one| {
                let ip = one.field("ip");
                address::warn(ip.text(), &ip.path, warnings);
            });
        }
    });
}

pub(super) fn slice_defaults(slice: &mut Value) {
    for port in slice.each("ports") {
        port.fill("name", "");
        port.fill("protocol", "TCP");
    }
}

/// Starts the generation, and drops the topology that only older versions of the API could set.
pub(super) fn prepare_slice(slice: &mut Value) {
    slice.at_or_empty("metadata").put("generation", 1);
    for endpoint in slice.each("endpoints") {
        endpoint.drop_field("deprecatedTopology");
    }
}

/// Moves the generation: of all kinds, slices are the ones whose labels count.
pub(super) fn prepare_slice_update(new: &mut Value, old: &Value) {
    keep_status(new, old);
    let is_same = internal::same("[discovery.Endpoint", &new["endpoints"], &old["endpoints"]);
    let changed = !is_same
        || text(new, "addressType") != text(old, "addressType")
        || !internal::same("[discovery.EndpointPort", &new["ports"], &old["ports"])
        || !internal::same("{s", &new["metadata"]["labels"], &old["metadata"]["labels"]);
    if changed {
        let generation = old["metadata"]["generation"].as_i64().unwrap_or_default().saturating_add(1);
        new.at_or_empty("metadata").put("generation", generation);
    }
    if is_same {
        return;
    }
    let known: Vec<&str> =
        elements(&old["endpoints"]).iter().map(|endpoint| text(&endpoint["deprecatedTopology"], HOST)).collect();
    for endpoint in new.each("endpoints") {
        let host = text(&endpoint["deprecatedTopology"], HOST).to_owned();
        if !host.is_empty() && known.contains(&&*host) && names::is_dns1123_subdomain(&host).is_empty() {
            endpoint.fill("nodeName", host);
        }
        endpoint.drop_field("deprecatedTopology");
    }
}

pub(super) fn validate_slice(slice: &Value, old: Option<&Value>, errors: &mut Errors) {
    let root = Spot::root(slice);
    root.field("addressType").check(&[Check::Required, Check::OneOf(ADDRESS_TYPES)], errors);
    validate_slice_ports(&root.field("ports"), errors);
    let before = errors.len();
    validate_slice_endpoints(&root.field("endpoints"), text(slice, "addressType"), errors);
    if errors.len() > before
        && old.is_some_and(|old| internal::same("[discovery.Endpoint", &old["endpoints"], &slice["endpoints"]))
    {
        errors.truncate(before);
    }
    if let Some(old) = old {
        crate::check::immutable(&root.field("addressType"), &old["addressType"], "s", errors);
    }
}

fn validate_slice_ports(ports: &Spot<'_>, errors: &mut Errors) {
    let count = ports.elements().len();
    if count > PORTS_MAX {
        return errors.push(Error::too_many(&ports.path, count, PORTS_MAX));
    }
    let mut seen = std::collections::BTreeSet::new();
    ports.each(|_, port| {
        let name = port.field("name");
        if name.filled() {
            name.text_passes(names::is_dns1123_label, errors);
        }
        if !seen.insert(name.text().to_owned()) {
            errors.push(Error::duplicate(&name.path, name.text()));
        }
        let protocol = port.field("protocol");
        if !protocol.given() {
            errors.push(Error::required(&protocol.path, ""));
        } else if !PROTOCOLS.contains(&protocol.text()) {
            errors.push(Error::not_supported(&protocol.path, protocol.text(), PROTOCOLS));
        }
        validate_given(&port.field("appProtocol"), names::is_qualified_name, errors);
    });
}

fn validate_slice_endpoints(endpoints: &Spot<'_>, address_type: &str, errors: &mut Errors) {
    let count = endpoints.elements().len();
    if count > ENDPOINTS_MAX {
        return errors.push(Error::too_many(&endpoints.path, count, ENDPOINTS_MAX));
    }
    endpoints.each(|_, endpoint| {
        let addresses = endpoint.field("addresses");
        match addresses.elements().len() {
            0 => errors.push(Error::required(&addresses.path, "must contain at least 1 address")),
            count if count > ADDRESSES_MAX => errors.push(Error::too_many(&addresses.path, count, ADDRESSES_MAX)),
            _ => {}
        }
        addresses.each(|_, one| validate_slice_address(one, &addresses, address_type, errors));
        validate_given(&endpoint.field("nodeName"), names::is_dns1123_subdomain, errors);
        let topology = endpoint.field("deprecatedTopology");
        metadata::validate_labels(topology.value, &topology.path, errors);
        validate_given(&endpoint.field("hostname"), names::is_dns1123_label, errors);
        validate_hints(&endpoint.field("hints"), errors);
    });
}

fn validate_slice_address(one: &Spot<'_>, list: &Spot<'_>, address_type: &str, errors: &mut Errors) {
    let before = errors.len();
    match address_type {
        "IPv4" => address::validate(one.text(), &[], &one.path, errors),
        "IPv6" => address::validate_canonical(one.text(), &one.path, errors),
        "FQDN" => return validate_domain(one, errors),
        _ => return,
    }
    if errors.len() > before {
        return;
    }
    let is_four = address::parse_leniently(one.text()).is_some_and(|address| address.is_ipv4());
    if is_four != (address_type == "IPv4") {
        errors.push(Error::invalid(&list.path, one.text(), format!("must be an {address_type} address")));
    }
    validate_destination(one, errors);
}

fn validate_domain(one: &Spot<'_>, errors: &mut Errors) {
    let name = one.text().strip_suffix('.').unwrap_or(one.text());
    if one.text().is_empty() {
        return errors.push(Error::required(&one.path, ""));
    }
    let problems = names::is_dns1123_subdomain(name);
    if !problems.is_empty() {
        return errors.push(Error::invalid(&one.path, name, problems.join(",")));
    }
    if !name.contains('.') {
        let words = "should be a domain with at least two segments separated by dots";
        return errors.push(Error::invalid(&one.path, name, words));
    }
    for label in name.split('.') {
        let problems = names::is_dns1123_label(label);
        if !problems.is_empty() {
            return errors.push(Error::invalid(&one.path, label, problems.join(",")));
        }
    }
}

fn validate_hints(hints: &Spot<'_>, errors: &mut Errors) {
    for list in ["forZones", "forNodes"] {
        let rule = if list == "forZones" { names::is_label_value } else { names::is_dns1123_subdomain };
        let list = hints.field(list);
        let count = list.elements().len();
        if count > HINTS_MAX {
            return errors.push(Error::too_many(&list.path, count, HINTS_MAX));
        }
        list.each(|index, hint| {
            let name = hint.field("name");
            if list.elements()[..index].iter().any(|earlier| text(earlier, "name") == name.text()) {
                errors.push(Error::duplicate(&name.path, name.text()));
            }
            name.text_passes(rule, errors);
        });
    }
}

pub(super) fn slice_warnings(slice: &Value, warnings: &mut Vec<String>) {
    if text(slice, "addressType") == "FQDN" {
        warnings.push("spec.addressType: FQDN endpoints are deprecated".to_owned());
    }
    slice_address_warnings(slice, warnings);
}

/// What an update is worth: the type of its addresses was chosen long before.
pub(super) fn slice_address_warnings(slice: &Value, warnings: &mut Vec<String>) {
    let manager = text(&slice["metadata"]["labels"], "endpointslice.kubernetes.io/managed-by");
    if manager == "endpointslice-controller.k8s.io" || manager == "endpointslicemirroring-controller.k8s.io" {
        return;
    }
    let path = Path::new("endpoints");
    Spot::new(&slice["endpoints"], path).each(|_, endpoint| {
        endpoint.field("addresses").each(|_, one| address::warn(one.text(), &one.path, warnings));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;
    use serde_json::json;

    #[test]
    fn addresses_must_be_reachable() {
        let endpoints = json!({"subsets": [{}, {"addresses": [{"ip": "127.0.0.1"}, {"ip": "x"}, {"ip": "::ffff:169.254.1.1"}], "ports": [{"port": 0, "protocol": "TCP"}]}]});
        assert_eq!(
            words(|errors| validate(&endpoints, None, errors)),
            [
                "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`",
                r#"subsets[1].addresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)"#,
                r#"subsets[1].addresses[1].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"#,
                r#"subsets[1].addresses[1].ip: Invalid value: "x": must be a valid IP address"#,
                r#"subsets[1].addresses[2].ip: Invalid value: "::ffff:169.254.1.1": must not be an IPv4-mapped IPv6 address"#,
                r#"subsets[1].addresses[2].ip: Invalid value: "::ffff:169.254.1.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)"#,
                "subsets[1].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
            ]
        );
        assert!(words(|errors| validate(&endpoints, Some(&endpoints), errors)).is_empty());
    }

    #[test]
    fn slices_hold_addresses_of_their_type() {
        let slice = json!({"addressType": "IPv6", "endpoints": [{"addresses": ["2001:DB8::1"]}, {"addresses": ["10.0.0.1"]}, {}], "ports": [{"name": "", "protocol": "TCP"}, {"name": "", "protocol": "X"}]});
        assert_eq!(
            words(|errors| validate_slice(&slice, None, errors)),
            [
                r#"ports[1].name: Duplicate value: """#,
                r#"ports[1].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP""#,
                r#"endpoints[0].addresses[0]: Invalid value: "2001:DB8::1": must be in canonical form ("2001:db8::1")"#,
                r#"endpoints[1].addresses: Invalid value: "10.0.0.1": must be an IPv6 address"#,
                "endpoints[2].addresses: Required value: must contain at least 1 address",
            ]
        );
        let named = json!({"addressType": "FQDN", "endpoints": [{"addresses": ["a"]}]});
        assert_eq!(
            words(|errors| validate_slice(&named, Some(&slice), errors)),
            [
                r#"endpoints[0].addresses[0]: Invalid value: "a": should be a domain with at least two segments separated by dots"#,
                r#"addressType: Invalid value: "FQDN": field is immutable"#,
            ]
        );
    }

    #[test]
    fn labels_move_the_generation_of_slices() {
        let old = json!({"metadata": {"generation": 3}, "addressType": "IPv4"});
        let mut new = json!({"metadata": {"generation": 3, "labels": {"a": "b"}}, "addressType": "IPv4"});
        prepare_slice_update(&mut new, &old);
        assert_eq!(new["metadata"]["generation"], json!(4));
    }
}
