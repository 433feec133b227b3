//! The ranges that cluster addresses come from, and the addresses that are taken.

use roost_object::field::{Error, Errors, Path};
use roost_object::{Value, names};

use super::texts;
use crate::check::{Check, Field, IMMUTABLE, SUBDOMAIN, Spot, elements, immutable};
use crate::{address_range, shown};

const SEGMENT: Check = Check::Text(names::is_path_segment);

static PARENT: &[Field] = &[
    ("group", &[SUBDOMAIN]),
    ("resource", &[Check::Required, SEGMENT]),
    ("name", &[Check::Required, SEGMENT]),
    ("namespace", &[SEGMENT]),
];

pub(super) fn validate_address(address: &Value, errors: &mut Errors) {
    let root = Spot::root(address);
    let spec = root.field("spec");
    let parent = spec.field("parentRef");
    if parent.given() {
        parent.check_fields(PARENT, errors);
    } else {
        errors.push(Error::required(&parent.path, ""));
    }
}

pub(super) fn validate_address_update(new: &Value, old: &Value, errors: &mut Errors) {
    validate_address(new, errors);
    let root = Spot::root(new);
    let spec = root.field("spec");
    let parent = spec.field("parentRef");
    immutable(&parent, &old["spec"]["parentRef"], "*networking.ParentReference", errors);
}

pub(super) fn validate_range(range: &Value, errors: &mut Errors) {
    let root = Spot::root(range);
    let spec = root.field("spec");
    let blocks = spec.field("cidrs");
    match blocks.elements().len() {
        0 => return errors.push(Error::required(&blocks.path, "at least one CIDR required")),
        1 | 2 => {}
        _ => {
            let words = "may only hold up to 2 values";
            return errors.push(shown::invalid(&blocks.path, "networking.ServiceCIDRSpec", spec.value, words));
        }
    }
    blocks.each(|_, block| address_range::validate_strictly(block.text(), &block.path, errors));
    let families: Vec<bool> = texts(blocks.value)
        .into_iter()
        .filter_map(address_range::parse_leniently)
        .map(|(address, _)| address.is_ipv6())
        .collect();
    if families.len() == 2 && families[0] == families[1] {
        blocks.invalid(
            "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64",
            errors,
        );
    }
}

pub(super) fn validate_range_update(new: &Value, old: &Value, errors: &mut Errors) {
    let (after, before) = (elements(&new["spec"]["cidrs"]), elements(&old["spec"]["cidrs"]));
    let spec = Path::new("spec");
    let path = spec.child("cidrs");
    let mut changed = |index: usize| {
        if after[index] != before[index] {
            errors.push(Error::invalid(&path.index(index), after[index].clone(), IMMUTABLE));
        }
    };
    match (before.len(), after.len()) {
        (was, is) if was == is => (0..was).for_each(changed),
        (1, 2) => {
            changed(0);
            validate_range(new, errors);
        }
        _ => errors.push(Error::invalid(&path, new["spec"]["cidrs"].clone(), IMMUTABLE)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NameRule;
    use crate::core::tests::words;
    use serde_json::json;

    #[test]
    fn addresses_are_named_after_themselves() {
        let address = json!({"metadata": {"name": "2001:DB8::1"}, "spec": {"parentRef": {"resource": "services"}}});
        assert_eq!(words(|errors| validate_address(&address, errors)), ["spec.parentRef.name: Required value"]);
        assert_eq!(
            NameRule::Address.check(&address, "2001:DB8::1", false),
            [r#"must be in canonical form ("2001:db8::1")"#]
        );
    }

    #[test]
    fn ranges_stay_and_may_only_become_dual() {
        let old = json!({"spec": {"cidrs": ["10.0.0.0/24"]}});
        let both = json!({"spec": {"cidrs": ["10.0.0.0/24", "fd00::/112"]}});
        assert!(words(|errors| validate_range_update(&both, &old, errors)).is_empty());
        assert_eq!(
            words(|errors| validate_range_update(&old, &both, errors)),
            [r#"spec.cidrs: Invalid value: ["10.0.0.0/24"]: field is immutable"#]
        );
        let twice = json!({"spec": {"cidrs": ["10.0.0.0/24", "10.0.1.0/24"]}});
        assert_eq!(words(|errors| validate_range(&twice, errors)).len(), 1);
    }
}
