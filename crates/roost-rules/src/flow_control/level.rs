//! Levels of priority.

use roost_object::Value;
use roost_object::field::{Error, Errors, Path};
use serde_json::json;

use super::validate_status;
use crate::check::{Spot, text};
use crate::fill::Fill;
use crate::internal;
use crate::shown;

const ROUND_TRIP: &str = "flowcontrol.k8s.io/concurrency-shares-defaults-to-zero";
const QUEUES_MAX: i64 = 10_000_000;
/// How many bits of a hash can be used to choose queues.
const HASH_BITS: f64 = 60.0;

pub(super) fn defaults(level: &mut Value) {
    let spec = level.at_or_empty("spec");
    if let Some(limited) = spec.at("limited") {
        limited.fill("nominalConcurrencyShares", 30);
        limited.fill("lendablePercent", 0);
        if let Some(queuing) = limited.at("limitResponse").and_then(|response| response.at("queuing")) {
            queuing.fill_number("handSize", 8);
            queuing.fill_number("queues", 64);
            queuing.fill_number("queueLengthLimit", 50);
        }
    }
    if let Some(exempt) = spec.at("exempt") {
        exempt.fill("nominalConcurrencyShares", 0);
        exempt.fill("lendablePercent", 0);
    }
}

pub(super) fn validate(level: &Value, errors: &mut Errors) {
    if level["metadata"]["annotations"].get(ROUND_TRIP).is_some() {
        let path = Path::new("metadata.annotations");
        errors.push(Error::forbidden(&path, format!("annotation '{ROUND_TRIP}' is forbidden")));
    }
    let root = Spot::root(level);
    let spec = root.field("spec");
    let name = text(&level["metadata"], "name");
    validate_spec(&spec, name, errors);
    validate_mandatory(&spec, name, errors);
    validate_status(level, errors);
}

/// The levels without which the server does not run are fixed, but for what the exempt one lends.
fn validate_mandatory(spec: &Spot<'_>, name: &str, errors: &mut Errors) {
    let mut given = spec.value.clone();
    let (fixed, except) = match name {
        "exempt" => {
            given.drop_field("exempt");
            (json!({"type": "Exempt"}), " except the 'spec.exempt' field")
        }
        "catch-all" => {
            let limited =
                json!({"lendablePercent": 0, "limitResponse": {"type": "Reject"}, "nominalConcurrencyShares": 5});
            (json!({"type": "Limited", "limited": limited}), "")
        }
        _ => return,
    };
    if !internal::same("flowcontrol.PriorityLevelConfigurationSpec", &fixed, &given) {
        let words = format!("spec of '{name}'{except} must equal the fixed value");
        errors.push(shown::invalid(&spec.path, "flowcontrol.PriorityLevelConfigurationSpec", spec.value, &words));
    }
}

fn validate_spec(spec: &Spot<'_>, name: &str, errors: &mut Errors) {
    let (kind, limited, exempt) = (spec.field("type"), spec.field("limited"), spec.field("exempt"));
    if (name == "exempt") != (kind.text() == "Exempt") {
        errors.push(Error::invalid(&kind.path, kind.text(), "must be 'Exempt' if and only if `name` is 'exempt'"));
    }
    match kind.text() {
        "Exempt" => {
            if limited.given() {
                limited.forbidden("must be nil if the type is not Limited", errors);
            }
            validate_shares(&exempt, errors);
            validate_lending(&exempt, errors);
        }
        "Limited" => {
            if exempt.given() {
                exempt.forbidden("must be nil if the type is Limited", errors);
            }
            if limited.given() {
                validate_limited(&limited, errors);
            } else {
                errors.push(Error::required(&limited.path, "must not be empty when type is Limited"));
            }
        }
        "" => errors.push(Error::required(&kind.path, "")),
        other => errors.push(Error::not_supported(&kind.path, other, &["Exempt", "Limited"])),
    }
}

fn validate_shares(level: &Spot<'_>, errors: &mut Errors) {
    let shares = level.field("nominalConcurrencyShares");
    if shares.number() < 0 {
        shares.invalid("must be a non-negative integer", errors);
    }
}

fn validate_lending(level: &Spot<'_>, errors: &mut Errors) {
    let lendable = level.field("lendablePercent");
    if !(0..=100).contains(&lendable.number()) {
        lendable.invalid("must be between 0 and 100, inclusive", errors);
    }
}

fn validate_limited(limited: &Spot<'_>, errors: &mut Errors) {
    validate_shares(limited, errors);
    let response = limited.field("limitResponse");
    let (kind, queuing) = (response.field("type"), response.field("queuing"));
    match kind.text() {
        "Reject" => {
            if queuing.given() {
                queuing.forbidden("must be nil if limited.limitResponse.type is not Limited", errors);
            }
        }
        "Queue" => {
            if queuing.given() {
                validate_queuing(&queuing, errors);
            } else {
                let words = "must not be empty if limited.limitResponse.type is Limited";
                errors.push(Error::required(&queuing.path, words));
            }
        }
        "" => errors.push(Error::required(&kind.path, "")),
        other => errors.push(Error::not_supported(&kind.path, other, &["Queue", "Reject"])),
    }
    validate_lending(limited, errors);
    let borrowing = limited.field("borrowingLimitPercent");
    if borrowing.number() < 0 {
        borrowing.invalid("if specified, must be a non-negative integer", errors);
    }
}

fn validate_queuing(queuing: &Spot<'_>, errors: &mut Errors) {
    let (length, queues, hand) =
        (queuing.field("queueLengthLimit"), queuing.field("queues"), queuing.field("handSize"));
    let mut report = |field: &Spot<'_>, words: String| errors.push(Error::invalid(&field.path, field.number(), words));
    if length.number() <= 0 {
        report(&length, "must be positive".to_owned());
    }
    if queues.number() <= 0 {
        report(&queues, "must be positive".to_owned());
    } else if queues.number() > QUEUES_MAX {
        report(&queues, format!("must not be greater than {QUEUES_MAX}"));
    }
    let entropy = ((queues.number() as f64).log2() * hand.number() as f64).ceil();
    if hand.number() <= 0 {
        report(&hand, "must be positive".to_owned());
    } else if hand.number() > queues.number() {
        report(&hand, format!("should not be greater than queues ({})", queues.number()));
    } else if entropy > HASH_BITS {
        let (deck, size) = (queues.number(), hand.number());
        report(
            &hand,
            format!(
                "required entropy bits of deckSize {deck} and handSize {size} should not be greater than {HASH_BITS}"
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;

    #[test]
    fn levels_limit_and_queue() {
        let mut level = json!({"metadata": {"name": "l"}, "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {}}}}});
        defaults(&mut level);
        assert_eq!(
            level["spec"]["limited"],
            json!({"nominalConcurrencyShares": 30, "lendablePercent": 0, "limitResponse": {"type": "Queue", "queuing": {"handSize": 8, "queues": 64, "queueLengthLimit": 50}}})
        );
        assert!(words(|errors| validate(&level, errors)).is_empty());
        level["spec"]["limited"]["limitResponse"]["queuing"] =
            json!({"handSize": 20, "queues": 1000, "queueLengthLimit": 0});
        level["spec"]["limited"]["lendablePercent"] = json!(101);
        assert_eq!(
            words(|errors| validate(&level, errors)),
            [
                "spec.limited.limitResponse.queuing.queueLengthLimit: Invalid value: 0: must be positive",
                "spec.limited.limitResponse.queuing.handSize: Invalid value: 20: required entropy bits of deckSize 1000 and handSize 20 should not be greater than 60",
                "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive",
            ]
        );
    }

    #[test]
    fn mandatory_levels_are_fixed() {
        let exempt =
            json!({"metadata": {"name": "exempt"}, "spec": {"type": "Exempt", "exempt": {"lendablePercent": 5}}});
        assert!(words(|errors| validate(&exempt, errors)).is_empty());
        let other = json!({"metadata": {"name": "x"}, "spec": {"type": "Exempt"}});
        assert_eq!(
            words(|errors| validate(&other, errors)),
            [r#"spec.type: Invalid value: "Exempt": must be 'Exempt' if and only if `name` is 'exempt'"#]
        );
    }
}
