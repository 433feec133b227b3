//! The addresses of a service and their families: several fields that must tell the same story.

use roost_object::field::{Error, Errors};

use super::service::is_headless;
use super::texts;
use crate::address;
use crate::check::{Spot, elements, text};
use roost_object::Value;

const FAMILIES: &[&str] = &["IPv4", "IPv6"];
const POLICIES: &[&str] = &["PreferDualStack", "RequireDualStack", "SingleStack"];

/// Checks addresses, families and the policy for both.
pub(super) fn validate(spec: &Spot<'_>, old: Option<&Value>, errors: &mut Errors) {
    if text(spec.value, "type") == "ExternalName" {
        return;
    }
    let addresses = spec.field("clusterIPs");
    let given = texts(addresses.value);
    match (text(spec.value, "clusterIP"), given.first()) {
        ("", None) => {}
        ("", Some(_)) => addresses.invalid("must be empty when `clusterIP` is not specified", errors),
        (_, None) => errors.push(Error::required(&addresses.path, "")),
        (one, Some(first)) if one != *first => addresses.invalid("first value must match `clusterIP`", errors),
        _ => {}
    }
    let families = spec.field("ipFamilies");
    families.each(|index, family| {
        if !FAMILIES.contains(&family.text()) {
            errors.push(Error::not_supported(&family.path, family.text(), FAMILIES));
        }
        if families.elements()[..index].contains(family.value) {
            errors.push(Error::duplicate(&family.path, family.text()));
        }
    });
    let policy = spec.field("ipFamilyPolicy");
    if policy.given() && !POLICIES.contains(&policy.text()) {
        errors.push(Error::not_supported(&policy.path, policy.text(), POLICIES));
    }
    if !validate_each(&addresses, old, errors) {
        return;
    }
    if given.len() > 1 && given.iter().all(|one| is_ipv6(one) == is_ipv6(given[0])) {
        addresses.invalid("may specify no more than one IP for each IP family", errors);
    }
    if !is_headless(spec.value) {
        addresses.each(|index, one| {
            let Some(family) = families.elements().get(index).and_then(Value::as_str) else { return };
            if FAMILIES.contains(&family) && (family == "IPv6") != is_ipv6(one.text()) {
                one.invalid(format!("expected an {family} value as indicated by `ipFamilies[{index}]`"), errors);
            }
        });
    }
}

/// Checks the addresses one by one. Answers whether they can be compared with each other.
fn validate_each(addresses: &Spot<'_>, old: Option<&Value>, errors: &mut Errors) -> bool {
    let known = old.map(|old| texts(&old["spec"]["clusterIPs"])).unwrap_or_default();
    let mut readable = true;
    let several = addresses.elements().len() > 1;
    addresses.each(|index, one| {
        let before = errors.len();
        if index == 0 && one.text() == "None" {
            if several {
                addresses.invalid("'None' must be the first and only value", errors);
            }
        } else {
            address::validate(one.text(), &known, &one.path, errors);
        }
        readable &= errors.len() == before;
    });
    if elements(addresses.value).len() > 2 {
        addresses.invalid("may only hold up to 2 values", errors);
    }
    readable
}

/// Whether a text is an address of the newer family.
pub(super) fn is_ipv6(text: &str) -> bool {
    address::parse_leniently(text).is_some_and(|address| address.is_ipv6())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;
    use roost_object::field::Path;
    use serde_json::json;

    #[test]
    fn the_fields_tell_the_same_story() {
        let cases = [
            (json!({"clusterIP": "10.0.0.1"}), vec!["spec.clusterIPs: Required value"]),
            (
                json!({"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.2"]}),
                vec![r#"spec.clusterIPs: Invalid value: ["10.0.0.2"]: first value must match `clusterIP`"#],
            ),
            (
                json!({"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1", "10.0.0.2"]}),
                vec![
                    r#"spec.clusterIPs: Invalid value: ["10.0.0.1","10.0.0.2"]: may specify no more than one IP for each IP family"#,
                ],
            ),
            (
                json!({"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv6"]}),
                vec![
                    r#"spec.clusterIPs[0]: Invalid value: "10.0.0.1": expected an IPv6 value as indicated by `ipFamilies[0]`"#,
                ],
            ),
            (
                json!({"clusterIP": "None", "clusterIPs": ["None", "x"]}),
                vec![
                    r#"spec.clusterIPs: Invalid value: ["None","x"]: 'None' must be the first and only value"#,
                    r#"spec.clusterIPs[1]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"#,
                ],
            ),
            (
                json!({"ipFamilies": ["IPv4", "IPv4"], "ipFamilyPolicy": "Odd"}),
                vec![
                    r#"spec.ipFamilies[1]: Duplicate value: "IPv4""#,
                    r#"spec.ipFamilyPolicy: Unsupported value: "Odd": supported values: "PreferDualStack", "RequireDualStack", "SingleStack""#,
                ],
            ),
        ];
        for (spec, expected) in cases {
            let spot = Spot::new(&spec, Path::new("spec"));
            assert_eq!(words(|errors| validate(&spot, None, errors)), expected, "{spec}");
        }
    }
}
