//! Whether stock takes two values for the same.

use roost_object::{Quantity, Value};

use super::{arranged, members};

/// Compares two values of one of stock's internal types: a list or map with nothing in it is as good as none, and a
/// pointer to a structure with nothing in it is not.
pub(crate) fn same(shape: &str, one: &Value, other: &Value) -> bool {
    if one == other {
        return true;
    }
    let (kind, inner) = shape.split_at(1);
    match kind {
        "*" => one.is_null() == other.is_null() && same(inner, one, other),
        "[" => {
            let (one, other) = (crate::check::elements(one), crate::check::elements(other));
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(inner, one, other))
        }
        "{" => {
            let entries = |map: &Value| map.as_object().map_or(0, serde_json::Map::len);
            entries(one) == entries(other)
                && one
                    .as_object()
                    .into_iter()
                    .flatten()
                    .all(|(key, value)| other.get(key).is_some_and(|counterpart| same(inner, value, counterpart)))
        }
        _ => match shape {
            "s" => one.as_str().unwrap_or_default() == other.as_str().unwrap_or_default(),
            "n" | "i" => or(one, &Value::from(0)) == or(other, &Value::from(0)),
            "b" => or(one, &Value::Bool(false)) == or(other, &Value::Bool(false)),
            "q" => {
                let amount =
                    |value: &Value| if value.is_null() { Ok(Quantity::ZERO) } else { Quantity::from_value(value) };
                amount(one).is_ok_and(|one| amount(other).is_ok_and(|other| one == other))
            }
            "t" | "j" => false,
            _ => structures(shape, one, other),
        },
    }
}

fn or<'a>(value: &'a Value, zero: &'a Value) -> &'a Value {
    if value.is_null() { zero } else { value }
}

fn structures(name: &str, one: &Value, other: &Value) -> bool {
    let (one, other) = (arranged(name, one), arranged(name, other));
    members(name)
        .is_some_and(|members| members.iter().all(|member| same(member.shape, member.of(&one), member.of(&other))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_empty_is_missing_but_for_structures() {
        assert!(same("PodSpec", &json!({"nodeSelector": {}, "volumes": []}), &json!({"containers": null})));
        assert!(!same("PodSpec", &json!({"dnsConfig": {}}), &json!({})));
        assert!(!same("PodSpec", &json!({}), &json!({"affinity": {}})));
        assert!(same("PodSpec", &json!({"hostname": ""}), &json!({})));
        assert!(!same("PodSpec", &json!({"priority": 0}), &json!({})));
        assert!(same("Container", &json!({"resources": {"limits": {}}}), &json!({"name": ""})));
    }

    #[test]
    fn what_is_kept_elsewhere_inside_is_compared_too() {
        let spec = |network: bool| json!({"securityContext": {}, "hostNetwork": network});
        assert!(!same("PodSpec", &spec(true), &spec(false)));
        assert!(same("PodSpec", &spec(false), &json!({"securityContext": {}})));
        let template = |label: &str| json!({"metadata": {"labels": {"a": label}}, "spec": {}});
        assert!(!same("PodTemplateSpec", &template("b"), &template("c")));
    }
}
