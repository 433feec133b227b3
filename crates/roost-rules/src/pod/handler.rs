//! Probes and lifecycle hooks of containers.

use roost_object::field::{Error, Errors};
use roost_object::names;

use crate::check::Check::{NonNegative, OneOf, Required};
use crate::check::{Field, Spot};

static PROBE_NUMBERS: &[Field] = &[
    ("initialDelaySeconds", &[NonNegative]),
    ("timeoutSeconds", &[NonNegative]),
    ("periodSeconds", &[NonNegative]),
    ("successThreshold", &[NonNegative]),
    ("failureThreshold", &[NonNegative]),
];

/// Checks all probes of a container.
pub(super) fn validate_probes(container: &Spot<'_>, grace_period: Option<i64>, errors: &mut Errors) {
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let probe = container.field(name);
        if !probe.given() {
            continue;
        }
        validate_handler(&probe, &["exec", "httpGet", "tcpSocket", "grpc"], grace_period, errors);
        probe.check_fields(PROBE_NUMBERS, errors);
        let own_grace_period = probe.field("terminationGracePeriodSeconds");
        if own_grace_period.given() && own_grace_period.number() <= 0 {
            own_grace_period.invalid("must be greater than 0", errors);
        }
        if name == "readinessProbe" {
            if own_grace_period.given() {
                own_grace_period.invalid("must not be set for readinessProbes", errors);
            }
        } else {
            let threshold = probe.field("successThreshold");
            if threshold.number() != 1 {
                errors.push(Error::invalid(&threshold.path, threshold.number(), "must be 1"));
            }
        }
    }
}

/// Checks the hooks of a container.
pub(super) fn validate_lifecycle(lifecycle: &Spot<'_>, grace_period: Option<i64>, errors: &mut Errors) {
    for name in ["postStart", "preStop"] {
        let hook = lifecycle.field(name);
        if hook.given() {
            validate_handler(&hook, &["exec", "httpGet", "tcpSocket", "sleep"], grace_period, errors);
        }
    }
}

fn validate_handler(handler: &Spot<'_>, kinds: &[&str], grace_period: Option<i64>, errors: &mut Errors) {
    let mut found = false;
    for kind in kinds {
        let action = handler.field(kind);
        if !action.given() {
            continue;
        }
        if found {
            action.forbidden("may not specify more than 1 handler type", errors);
            continue;
        }
        found = true;
        match *kind {
            "exec" => action.field("command").check(&[Required], errors),
            "httpGet" => validate_http_get(&action, errors),
            "sleep" => validate_sleep(&action, grace_period, errors),
            _ => action.field("port").port(errors),
        }
    }
    if !found {
        errors.push(Error::required(&handler.path, "must specify a handler type"));
    }
}

fn validate_http_get(action: &Spot<'_>, errors: &mut Errors) {
    action.field("path").check(&[Required], errors);
    action.field("port").port(errors);
    action.field("scheme").check(&[OneOf(&["HTTP", "HTTPS"])], errors);
    let headers = action.field("httpHeaders");
    headers.each(|_, header| {
        let name = header.field("name");
        let sentences = names::is_http_header_name(name.text());
        errors.extend(sentences.into_iter().map(|words| Error::invalid(&headers.path, name.text(), words)));
    });
}

fn validate_sleep(action: &Spot<'_>, grace_period: Option<i64>, errors: &mut Errors) {
    let seconds = action.field("seconds").number();
    if let Some(limit) = grace_period.filter(|limit| !(0..=*limit).contains(&seconds)) {
        let words = format!("must be non-negative and less than terminationGracePeriodSeconds ({limit})");
        errors.push(Error::invalid(&action.path, seconds, words));
    }
}
