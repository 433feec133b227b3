//! Lists of limited length, and the names that many kinds of devices share.

use roost_object::field::{Error, Errors, Path};
use roost_object::{Value, names};

use crate::check::{Check, Spot};
use crate::pod::volume::lowercase_subdomain;

/// The longest name of a pool.
const POOL_NAME_MAX: usize = names::SUBDOMAIN_MAX;
/// The longest identifier in a name of an attribute or capacity.
const IDENTIFIER_MAX: usize = 32;
/// The longest domain in such a name.
const DOMAIN_MAX: usize = 63;
/// The longest such name.
pub(super) const QUALIFIED_NAME_MAX: usize = DOMAIN_MAX + 1 + IDENTIFIER_MAX;

/// The name of a driver.
pub(super) const DRIVER_NAME: &[Check] = &[Check::Required, Check::Longest(63), Check::Text(lowercase_subdomain)];

/// Checks the elements of a list, unless there are too many.
pub(super) fn validate_list(
    list: &Spot<'_>,
    max: usize,
    errors: &mut Errors,
    mut check: impl FnMut(&Spot<'_>, &mut Errors),
) {
    let count = list.elements().len();
    if count > max {
        return errors.push(Error::too_many(&list.path, count, max));
    }
    list.each(|_, element| check(element, errors));
}

/// The same for a list whose elements must differ in their keys.
pub(super) fn validate_set(
    list: &Spot<'_>,
    max: usize,
    key: impl Fn(&Value) -> String,
    errors: &mut Errors,
    check: impl FnMut(&Spot<'_>, &mut Errors),
) {
    validate_list(list, max, errors, check);
    if list.elements().len() > max {
        return;
    }
    let mut seen = std::collections::BTreeSet::new();
    list.each(|_, element| {
        let key = key(element.value);
        if seen.contains(&key) {
            errors.push(Error::duplicate(&element.path, key));
        } else {
            seen.insert(key);
        }
    });
}

/// The key of elements that are texts themselves.
pub(super) fn own_text(element: &Value) -> String {
    element.as_str().unwrap_or_default().to_owned()
}

pub(super) fn validate_pool_name(name: &Spot<'_>, errors: &mut Errors) {
    if !name.filled() {
        return errors.push(Error::required(&name.path, ""));
    }
    if name.text().len() > POOL_NAME_MAX {
        errors.push(Error::too_long(&name.path, POOL_NAME_MAX));
    }
    for part in name.text().split('/') {
        let problems = names::is_dns1123_subdomain(part);
        errors.extend(problems.into_iter().map(|words| Error::invalid(&name.path, part, words)));
    }
}

/// Checks a C identifier with an optional domain in front. More than one slash is let through, as it always was.
pub(super) fn validate_qualified_name(name: &str, path: &Path<'_>, errors: &mut Errors) {
    let parts: Vec<&str> = name.split('/').collect();
    match parts[..] {
        [identifier] => validate_identifier(identifier, path, errors),
        [domain, identifier] => {
            if domain.is_empty() {
                errors.push(Error::invalid(path, "", "the domain must not be empty"));
            } else {
                if domain.len() > DOMAIN_MAX {
                    errors.push(Error::too_long(path, DOMAIN_MAX));
                }
                let problems = lowercase_subdomain(domain);
                errors.extend(problems.into_iter().map(|words| Error::invalid(path, domain, words)));
            }
            if identifier.is_empty() {
                errors.push(Error::invalid(path, "", "the name must not be empty"));
            } else {
                validate_identifier(identifier, path, errors);
            }
        }
        _ => {}
    }
}

fn validate_identifier(identifier: &str, path: &Path<'_>, errors: &mut Errors) {
    if identifier.len() > IDENTIFIER_MAX {
        errors.push(Error::too_long(path, IDENTIFIER_MAX));
    }
    let problems = names::is_c_identifier(identifier);
    errors.extend(problems.into_iter().map(|words| Error::invalid(path, identifier, words)));
}

/// Checks conditions that devices must meet before and may not meet while they are bound.
pub(super) fn validate_binding_conditions(holder: &Spot<'_>, errors: &mut Errors) {
    const CONDITIONS_MAX: usize = 4;
    let (wanted, failures) = (holder.field("bindingConditions"), holder.field("bindingFailureConditions"));
    for list in [&wanted, &failures] {
        validate_list(list, CONDITIONS_MAX, errors, |one, errors| one.text_passes(names::is_qualified_name, errors));
    }
    wanted.each(|index, one| {
        if wanted.elements()[..index].contains(one.value) {
            errors.push(Error::duplicate(&one.path, one.text()));
        }
    });
    failures.each(|index, one| {
        if failures.elements()[..index].contains(one.value) {
            errors.push(Error::duplicate(&one.path, one.text()));
        }
        if wanted.elements().contains(one.value) {
            one.invalid("bindingFailureConditions must not overlap with bindingConditions", errors);
        }
    });
    if !wanted.filled() && failures.filled() {
        wanted.invalid("bindingConditions are required to use bindingFailureConditions", errors);
    }
    if wanted.filled() && !failures.filled() {
        failures.invalid("bindingFailureConditions are required to use bindingConditions", errors);
    }
}

/// Checks data that only its driver understands: a JSON object of limited size.
pub(super) fn validate_opaque_data(data: &Spot<'_>, errors: &mut Errors) {
    const SIZE_MAX: usize = 10 * 1024;
    if !data.given() {
        errors.push(Error::required(&data.path, ""));
    } else if data.value.to_string().len() > SIZE_MAX {
        errors.push(Error::too_long(&data.path, SIZE_MAX));
    } else if !data.value.is_object() {
        errors.push(Error::invalid(&data.path, "<value omitted>", "must be a valid JSON object"));
    }
}
