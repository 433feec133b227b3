//! Limit ranges: their defaults for containers, and whether their bounds make sense.

use std::collections::BTreeSet;

use roost_object::field::{Error, Errors, Path};
use roost_object::{Quantity, Value, names};

use super::resource_names::validate_for_limits;
use crate::check::{Spot, text};
use crate::fill::{Fill, round_resource_list};
use crate::resource_name::may_overcommit;

const LISTS: [&str; 5] = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];
/// From here on, thousandths no longer fit a number of 64 bits.
const MAX_MILLI_VALUE: i64 = i64::MAX / 1000;

pub(super) fn defaults(range: &mut Value) {
    for limit in range.at_or_empty("spec").each("limits") {
        for list in LISTS {
            round_resource_list(limit.at(list));
        }
        if text(limit, "type") == "Container" {
            fill_list(limit, "default", "max");
            fill_list(limit, "defaultRequest", "default");
            fill_list(limit, "defaultRequest", "min");
        }
    }
}

/// Takes over the amounts of one list that another does not name.
fn fill_list(limit: &mut Value, to: &str, from: &str) {
    if let Some(Value::Object(source)) = limit.at(from).cloned()
        && !source.is_empty()
    {
        let list = limit.at_or_empty(to);
        for (name, amount) in source {
            list.fill(&name, amount);
        }
    }
}

pub(super) fn validate(range: &Value, errors: &mut Errors) {
    let spec = Path::new("spec");
    let limits = Spot::new(&range["spec"]["limits"], spec.child("limits"));
    limits.each(|index, limit| {
        let kind = limit.field("type");
        validate_type(&kind, errors);
        if limits.elements()[..index].iter().any(|earlier| text(earlier, "type") == kind.text()) {
            errors.push(Error::duplicate(&kind.path, kind.text()));
        }
        validate_names(kind.text(), limit, errors);
        validate_bounds(kind.text(), limit, errors);
    });
}

fn validate_type(kind: &Spot<'_>, errors: &mut Errors) {
    let before = errors.len();
    kind.text_passes(names::is_qualified_name, errors);
    let standard = matches!(kind.text(), "Pod" | "Container" | "PersistentVolumeClaim");
    if errors.len() == before && !kind.text().contains('/') && !standard {
        kind.invalid("must be a standard limit type or fully qualified", errors);
    }
}

fn validate_names(kind: &str, limit: &Spot<'_>, errors: &mut Errors) {
    let check = |list: &str, errors: &mut Errors| {
        limit.field(list).entries(|name, amount| validate_for_limits(kind, name, &amount.path, errors));
    };
    check("max", errors);
    check("min", errors);
    for list in ["default", "defaultRequest"] {
        let field = limit.field(list);
        if kind != "Pod" {
            check(list, errors);
        } else if field.value.as_object().is_some_and(|map| !map.is_empty()) {
            field.forbidden("may not be specified when `type` is 'Pod'", errors);
        }
    }
    let bounds_storage = ["min", "max"].iter().any(|list| limit.value[list].get("storage").is_some());
    if kind == "PersistentVolumeClaim" && !bounds_storage {
        errors.push(Error::required(
            &limit.path.child("limits"),
            "either minimum or maximum storage value is required, but neither was provided",
        ));
    }
    check("maxLimitRequestRatio", errors);
}

fn validate_bounds(kind: &str, limit: &Spot<'_>, errors: &mut Errors) {
    let lists = LISTS.iter().filter(|list| kind != "Pod" || !list.starts_with("default"));
    let resources: BTreeSet<&str> =
        lists.filter_map(|list| limit.value[list].as_object()).flatten().map(|(name, _)| name.as_str()).collect();
    for resource in resources {
        let amount = |list: &str| {
            let hidden = kind == "Pod" && list.starts_with("default");
            limit.value[list].get(resource).filter(|_| !hidden).and_then(|amount| Quantity::from_value(amount).ok())
        };
        let (min, max) = (amount("min"), amount("max"));
        let (default, request, ratio) = (amount("default"), amount("defaultRequest"), amount("maxLimitRequestRatio"));
        let mut report = |list: &str, shown: &Quantity, words: String| {
            let path = limit.path.child(list);
            errors.push(Error::invalid(&path.key(resource), shown.to_string(), words));
        };
        if let (Some(min), Some(max)) = (&min, &max)
            && min > max
        {
            report("min", min, format!("min value {min} is greater than max value {max}"));
        }
        if let (Some(min), Some(request)) = (&min, &request)
            && min > request
        {
            let words = format!("min value {min} is greater than default request value {request}");
            report("defaultRequest", request, words);
        }
        if let (Some(max), Some(request)) = (&max, &request)
            && request > max
        {
            let words = format!("default request value {request} is greater than max value {max}");
            report("defaultRequest", request, words);
        }
        if let (Some(default), Some(request)) = (&default, &request)
            && request > default
        {
            let words = format!("default request value {request} is greater than default limit value {default}");
            report("defaultRequest", request, words);
        }
        if let (Some(min), Some(default)) = (&min, &default)
            && min > default
        {
            report("default", min, format!("min value {min} is greater than default value {default}"));
        }
        if let (Some(max), Some(default)) = (&max, &default)
            && default > max
        {
            report("default", max, format!("default value {default} is greater than max value {max}"));
        }
        if let Some(ratio) = &ratio {
            if ratio.milli_value() < 1000 {
                report("maxLimitRequestRatio", ratio, format!("ratio {ratio} is less than 1"));
            }
            if let (Some(min), Some(max)) = (&min, &max) {
                let highest = highest_ratio(ratio, min, max);
                if highest.0 > highest.1 {
                    let words = format!("ratio {ratio} is greater than max/min = {:.6}", highest.1);
                    report("maxLimitRequestRatio", ratio, words);
                }
            }
        }
        if let (Some(default), Some(request)) = (&default, &request)
            && !may_overcommit(resource)
            && default != request
        {
            let words = format!("default value {default} must equal to defaultRequest value {request} in {resource}");
            report("defaultRequest", request, words);
        }
    }
}

/// The ratio that is asked for, and the highest that the bounds allow.
fn highest_ratio(ratio: &Quantity, min: &Quantity, max: &Quantity) -> (f64, f64) {
    if [ratio, min, max].iter().all(|amount| amount.value() < MAX_MILLI_VALUE) {
        (ratio.milli_value() as f64 / 1000.0, max.milli_value() as f64 / min.milli_value() as f64)
    } else {
        (ratio.value() as f64, max.value() as f64 / min.value() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;
    use serde_json::json;

    #[test]
    fn containers_take_defaults_from_their_bounds() {
        let mut range =
            json!({"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}}]}});
        defaults(&mut range);
        assert_eq!(
            range["spec"]["limits"][0],
            json!({"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}, "default": {"cpu": "2"},
                "defaultRequest": {"cpu": "2", "memory": "1Mi"}})
        );
    }

    #[test]
    fn bounds_must_make_sense() {
        let range = json!({"spec": {"limits": [
            {"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "2"}, "default": {"cpu": "1"}, "maxLimitRequestRatio": {"cpu": "500m"}},
            {"type": "Container"}, {"type": "PersistentVolumeClaim"}, {"type": "Pod", "default": {"cpu": "1"}, "max": {"gold": "1"}}]}});
        assert_eq!(
            words(|errors| validate(&range, errors)),
            [
                r#"spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1"#,
                r#"spec.limits[0].default[cpu]: Invalid value: "2": min value 2 is greater than default value 1"#,
                r#"spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1"#,
                r#"spec.limits[1].type: Duplicate value: "Container""#,
                "spec.limits[2].limits: Required value: either minimum or maximum storage value is required, but neither was provided",
                r#"spec.limits[3].max[gold]: Invalid value: "gold": must be a standard resource type or fully qualified"#,
                r#"spec.limits[3].max[gold]: Invalid value: "gold": must be a standard resource for containers"#,
                "spec.limits[3].default: Forbidden: may not be specified when `type` is 'Pod'",
            ]
        );
    }

    #[test]
    fn odd_lists_of_limits_are_let_be() {
        assert!(words(|errors| validate(&json!({"spec": {"limits": 1}}), errors)).is_empty());
    }
}
