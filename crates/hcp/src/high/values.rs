//! Values that several flags share: pairs, choices, networks, tolerations, quantities, selectors, times.

use std::collections::BTreeMap;

use ipnet::IpNet;
use jiff::Timestamp;
use roost_object::metadata::name_is_label;
use roost_object::quantity::Quantity;
use roost_object::selector::{Operator, Selector, syntax};
use serde_json::{Map, Value, json};

use super::usage::UsageError;

/// A DNS label, as clusters, node pools and namespaces are named.
pub(super) fn label(flag: &'static str, value: &str) -> Result<String, UsageError> {
    if name_is_label(value, false).is_empty() {
        return Ok(value.to_owned());
    }
    Err(UsageError::Name { flag, value: value.to_owned() })
}

/// One of a few words.
pub(super) fn choice(flag: &'static str, value: &str, choices: &[&str]) -> Result<String, UsageError> {
    if choices.contains(&value) {
        return Ok(value.to_owned());
    }
    Err(UsageError::Choice { flag, value: value.to_owned(), choices: choices.join(", ") })
}

/// Pairs of `key=value`; the last one counts when a key repeats.
pub(super) fn pairs(flag: &'static str, values: &[String]) -> Result<BTreeMap<String, String>, UsageError> {
    let mut pairs = BTreeMap::new();
    for value in values {
        let (key, text) = value.split_once('=').ok_or_else(|| UsageError::KeyValue { flag, value: value.clone() })?;
        if let Some(problem) = syntax::label_key_errors(key).into_iter().next() {
            return Err(UsageError::Value { flag, value: value.clone(), problem });
        }
        pairs.insert(key.to_owned(), text.to_owned());
    }
    Ok(pairs)
}

/// Pairs whose values are those of labels.
pub(super) fn labels(flag: &'static str, values: &[String]) -> Result<BTreeMap<String, String>, UsageError> {
    let pairs = pairs(flag, values)?;
    for (key, text) in &pairs {
        if let Some(problem) = syntax::label_value_errors(text).into_iter().next() {
            return Err(UsageError::Value { flag, value: format!("{key}={text}"), problem });
        }
    }
    Ok(pairs)
}

/// Networks; host bits are kept as they were given, as upstream does.
pub(super) fn networks(flag: &'static str, values: &[String], example: &'static str) -> Result<Vec<IpNet>, UsageError> {
    if values.len() > 2 {
        return Err(UsageError::TooManyCidrs { flag, count: values.len() });
    }
    let parse = |value: &String| value.parse().map_err(|_| UsageError::Cidr { flag, value: value.clone(), example });
    values.iter().map(parse).collect()
}

/// Refuses networks that share addresses.
pub(super) fn apart(networks: &[(&'static str, &[IpNet])]) -> Result<(), UsageError> {
    let all: Vec<(&'static str, IpNet)> =
        networks.iter().flat_map(|(flag, networks)| networks.iter().map(|network| (*flag, network.trunc()))).collect();
    for (index, (first_flag, first)) in all.iter().enumerate() {
        for (second_flag, second) in &all[index + 1..] {
            if first.contains(second) || second.contains(first) {
                return Err(UsageError::Overlap {
                    first_flag,
                    first: first.to_string(),
                    second_flag,
                    second: second.to_string(),
                });
            }
        }
    }
    Ok(())
}

/// A toleration written as `key=a,operator=Exists,effect=NoSchedule`.
pub(super) fn toleration(text: &str) -> Result<Value, UsageError> {
    let failed =
        |problem: &str| UsageError::Value { flag: "toleration", value: text.to_owned(), problem: problem.to_owned() };
    let mut toleration = Map::new();
    for part in text.split(',') {
        let (option, value) = part.split_once('=').ok_or_else(|| failed("expected options as option=value"))?;
        let value = match option {
            "key" | "value" => json!(value),
            "operator" => json!(choice("toleration operator", value, &["Exists", "Equal"])?),
            "effect" => json!(choice("toleration effect", value, &["NoSchedule", "PreferNoSchedule", "NoExecute"])?),
            "tolerationSeconds" => {
                json!(value.parse::<i64>().map_err(|_| failed("tolerationSeconds must be a whole number"))?)
            }
            _ => return Err(failed("the options are key, value, operator, effect and tolerationSeconds")),
        };
        toleration.insert(option.to_owned(), value);
    }
    Ok(Value::Object(toleration))
}

/// A quantity in the form in which the server keeps it.
pub(super) fn quantity(flag: &'static str, value: &str) -> Result<String, UsageError> {
    let failed = |problem: &str| UsageError::Value { flag, value: value.to_owned(), problem: problem.to_owned() };
    let mut parsed = Quantity::parse(value).map_err(|_| failed("expected a quantity such as 8Gi or 512Mi"))?;
    if parsed.is_negative() || parsed.is_zero() {
        return Err(failed("must be more than zero"));
    }
    // Adding nothing drops the spelling, so that 2048Mi is written as 2Gi.
    parsed.add(&Quantity::new(0, parsed.format()));
    Ok(parsed.to_string())
}

/// A selector as the object that the API keeps: equalities as labels, the rest as expressions.
pub(super) fn selector(flag: &'static str, text: &str) -> Result<Value, UsageError> {
    let failed = |problem: String| UsageError::Value { flag, value: text.to_owned(), problem };
    let parsed = Selector::parse(text).map_err(|error| failed(error.to_string()))?;
    let mut labels = Map::new();
    let mut expressions = Vec::new();
    for requirement in parsed.requirements() {
        let expression = |operator: &str| {
            let mut expression = json!({"key": requirement.key(), "operator": operator});
            if !requirement.values().is_empty() {
                expression["values"] = json!(requirement.values());
            }
            expression
        };
        match requirement.operator() {
            Operator::Equals | Operator::DoubleEquals => {
                let value = requirement.values().first().map(String::as_str).unwrap_or_default();
                labels.insert(requirement.key().to_owned(), json!(value));
            }
            Operator::In => expressions.push(expression("In")),
            Operator::NotIn | Operator::NotEquals => expressions.push(expression("NotIn")),
            Operator::Exists => expressions.push(expression("Exists")),
            Operator::DoesNotExist => expressions.push(expression("DoesNotExist")),
            Operator::GreaterThan | Operator::LessThan => {
                return Err(failed("labels of hosts are compared as text, not as numbers".to_owned()));
            }
        }
    }
    let mut selector = Map::new();
    if !labels.is_empty() {
        selector.insert("matchLabels".to_owned(), Value::Object(labels));
    }
    if !expressions.is_empty() {
        selector.insert("matchExpressions".to_owned(), Value::Array(expressions));
    }
    Ok(Value::Object(selector))
}

/// The end of a pause: a time, or a boolean.
pub(crate) fn paused_until(flag: &'static str, value: &str) -> Result<String, UsageError> {
    if matches!(value, "true" | "false" | "True" | "False") || value.parse::<Timestamp>().is_ok() {
        return Ok(value.to_owned());
    }
    let problem = "expected a time such as 2030-01-31T12:00:00Z, or true".to_owned();
    Err(UsageError::Value { flag, value: value.to_owned(), problem })
}

/// A release's pull spec.
pub(crate) fn release_image(value: &str) -> Result<String, UsageError> {
    let begins_well = value.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    if begins_well && (2..=253).contains(&value.len()) && !value.contains(char::is_whitespace) {
        return Ok(value.to_owned());
    }
    let problem = "not the name of a release, such as kubernetes:v1.36.3 or quay.io/organisation/release@sha256:…";
    Err(UsageError::Value { flag: "release-image", value: value.to_owned(), problem: problem.to_owned() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{apart, networks, paused_until, quantity, release_image, selector, toleration};

    #[test]
    fn tolerations_are_read() {
        let text = "key=a,operator=Exists,effect=NoSchedule,tolerationSeconds=30";
        let expected = json!({"key": "a", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 30});
        assert_eq!(toleration(text), Ok(expected));
        for bad in ["", "key", "colour=red", "operator=Maybe", "tolerationSeconds=soon"] {
            assert!(toleration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn quantities_are_canonical() {
        for (text, written) in [("2048Mi", "2Gi"), ("1.5Gi", "1536Mi"), ("8Gi", "8Gi"), ("1000", "1k")] {
            assert_eq!(quantity("memory", text).as_deref(), Ok(written));
        }
        assert!(quantity("memory", "lots").is_err());
        assert!(quantity("memory", "0").is_err());
    }

    #[test]
    fn selectors_become_objects() {
        let parsed = selector("agentLabelSelector", "size=large,zone notin (a,b),!old,gpu").unwrap();
        let expected = json!({
            "matchLabels": {"size": "large"},
            "matchExpressions": [
                {"key": "gpu", "operator": "Exists"},
                {"key": "old", "operator": "DoesNotExist"},
                {"key": "zone", "operator": "NotIn", "values": ["a", "b"]},
            ],
        });
        assert_eq!(parsed, expected);
        assert!(selector("agentLabelSelector", "a==,,").is_err());
    }

    #[test]
    fn networks_are_apart() {
        let of = |text: &str| networks("service-cidr", &[text.to_owned()], "172.31.0.0/16").unwrap();
        let (wide, inside, other) = (of("10.132.0.0/14"), of("10.133.7.1/24"), of("fd02::/112"));
        assert!(apart(&[("cluster-cidr", &wide), ("service-cidr", &other)]).is_ok());
        let error = apart(&[("cluster-cidr", &wide), ("service-cidr", &inside)]).unwrap_err().to_string();
        assert_eq!(
            error,
            "--cluster-cidr 10.132.0.0/14 overlaps --service-cidr 10.133.7.0/24; give networks that are apart"
        );
        let error = networks("service-cidr", &["10.0.0.0".to_owned()], "172.31.0.0/16").unwrap_err().to_string();
        assert_eq!(error, "--service-cidr \"10.0.0.0\" is not a network in CIDR notation, such as 172.31.0.0/16");
    }

    #[test]
    fn times_and_releases_are_checked() {
        assert!(paused_until("pausedUntil", "true").is_ok());
        assert!(paused_until("pausedUntil", "2030-01-31T12:00:00Z").is_ok());
        assert!(paused_until("pausedUntil", "tomorrow").is_err());
        assert!(release_image("kubernetes:v1.36.3").is_ok());
        assert!(release_image("quay.io/x/y@sha256:00").is_ok());
        for bad in ["", "x", "-x", "a b"] {
            assert!(release_image(bad).is_err(), "{bad:?}");
        }
    }
}
