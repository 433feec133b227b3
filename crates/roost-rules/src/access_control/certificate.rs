//! Requests for certificates. Whether the request itself can be read and is signed is checked elsewhere.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use roost_object::field::{Error, Errors, Path};
use roost_object::{Value, names};

use crate::check::{Spot, elements, text};
use crate::fill::Fill;
use crate::internal;

/// The internal type of a condition.
const CONDITION: &str = "certificates.CertificateSigningRequestCondition";
const LEGACY_SIGNER: &str = "kubernetes.io/legacy-unknown";
const USAGES: &[&str] = &[
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

/// Which part of a request an update is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The main resource: only metadata can change.
    Request,
    /// The status: the certificate, and conditions other than the decision.
    Status,
    /// The approval: the decision.
    Approval,
}

/// A new request is undecided, whoever it says that it is from. The caller fills in who that really is.
pub(super) fn prepare_create(request: &mut Value) {
    let spec = request.at_or_empty("spec");
    for field in ["username", "uid", "groups", "extra"] {
        spec.drop_field(field);
    }
    request.put("status", roost_object::Map::new());
}

pub(super) fn prepare_update(new: &mut Value, old: &Value) {
    crate::keep_spec(new, old);
    crate::keep_status(new, old);
}

/// Keeps the decision as it is, since that is not part of the status.
pub(super) fn prepare_status_update(new: &mut Value, old: &Value) {
    crate::keep_spec(new, old);
    for decision in ["Approved", "Denied"] {
        let before = conditions_of(old, decision);
        let Some(status) = new.at("status") else { continue };
        if status.each("conditions").filter(|condition| text(condition, "type") == decision).count() == before.len() {
            let after = status.each("conditions").filter(|condition| text(condition, "type") == decision);
            after.zip(before).for_each(|(after, before)| *after = before.clone());
        }
    }
}

/// Carries over what an update of the approval subresource may not touch: all but the conditions.
pub fn prepare_approval_update(new: &mut Value, old: &Value) {
    let conditions = new["status"]["conditions"].clone();
    prepare_update(new, old);
    let status = new.at_or_empty("status");
    match conditions {
        Value::Null => status.drop_field("conditions"),
        conditions => status.put("conditions", conditions),
    }
}

/// Notes when conditions were set and when they changed.
pub fn stamp(new: &mut Value, old: Option<&Value>, now: &str) {
    let before = old.map(|old| elements(&old["status"]["conditions"])).unwrap_or_default();
    let Some(status) = new.at("status") else { return };
    for condition in status.each("conditions") {
        condition.fill("lastUpdateTime", now);
        let same_state = before.iter().find(|earlier| {
            earlier["type"] == condition["type"]
                && earlier["status"] == condition["status"]
                && !earlier["lastTransitionTime"].is_null()
        });
        let since = same_state.map_or_else(|| now.into(), |earlier| earlier["lastTransitionTime"].clone());
        condition.fill("lastTransitionTime", since);
    }
}

pub(super) fn validate(request: &Value, old: Option<&Value>, errors: &mut Errors) {
    let root = Spot::root(request);
    let (spec, status) = (root.field("spec"), root.field("status"));
    let usages = spec.field("usages");
    if !usages.filled() {
        errors.push(Error::required(&usages.path, ""));
    }
    let list = |object: &Value| -> Vec<String> {
        elements(&object["spec"]["usages"]).iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let old_usages = old.map(list).unwrap_or_default();
    if old_usages.iter().all(|usage| USAGES.contains(&usage.as_str())) {
        usages.each(|_, usage| {
            if !USAGES.contains(&usage.text()) {
                errors.push(Error::not_supported(&usage.path, usage.text(), USAGES));
            }
        });
    }
    if !repeats(&old_usages) {
        usages.each(|index, usage| {
            if usages.elements()[..index].contains(usage.value) {
                errors.push(Error::duplicate(&usage.path, usage.text()));
            }
        });
    }
    let signer = spec.field("signerName");
    let was_legacy = old.is_some_and(|old| text(&old["spec"], "signerName") == LEGACY_SIGNER);
    if signer.text() == LEGACY_SIGNER && !was_legacy {
        signer.invalid("the legacy signerName is not allowed via this API version", errors);
    } else {
        validate_signer(&signer, errors);
    }
    let expiration = spec.field("expirationSeconds");
    if expiration.given() && expiration.number() < 600 {
        expiration.invalid("may not specify a duration less than 600 seconds (10 minutes)", errors);
    }
    validate_conditions(&status.field("conditions"), old, errors);
    let certificate = text(&request["status"], "certificate");
    let before = old.map(|old| text(&old["status"], "certificate"));
    if before != Some(certificate)
        && before.is_none_or(|before| problem(before).is_none())
        && let Some(words) = problem(certificate)
    {
        errors.push(Error::invalid(&Path::new("status.certificate"), "<certificate data>", words));
    }
}

fn repeats(list: &[String]) -> bool {
    list.iter().enumerate().any(|(index, one)| list[..index].contains(one))
}

/// Checks a name such as `example.com/signer`.
pub(crate) fn validate_signer(signer: &Spot<'_>, errors: &mut Errors) {
    const DOMAIN_MAX: usize = names::SUBDOMAIN_MAX;
    const SIGNER_MAX: usize = DOMAIN_MAX + 1 + names::SUBDOMAIN_MAX + names::LABEL_MAX + 1;
    let name = signer.text();
    if name.is_empty() {
        return errors.push(Error::required(&signer.path, ""));
    }
    let mut parts = name.split('/');
    let (Some(domain), Some(path), None) = (parts.next(), parts.next(), parts.next()) else {
        return signer
            .invalid("must be a fully qualified domain and path of the form 'example.com/signer-name'", errors);
    };
    if domain.len() > DOMAIN_MAX {
        errors.push(Error::too_long(&signer.path, DOMAIN_MAX));
    }
    validate_labels(domain, names::is_dns1123_label, &signer.path, errors);
    if !domain.contains('.') {
        let words = "should be a domain with at least two segments separated by dots";
        errors.push(Error::invalid(&signer.path, domain, words));
    }
    validate_labels(path, names::is_dns1123_subdomain, &signer.path, errors);
    if name.len() > SIGNER_MAX {
        errors.push(Error::too_long(&signer.path, SIGNER_MAX));
    }
}

/// Reports the first label of a dotted name that breaks a rule.
fn validate_labels(dotted: &str, rule: fn(&str) -> Vec<String>, path: &Path<'_>, errors: &mut Errors) {
    let checked = dotted.split('.').map(|label| (label, rule(label)));
    if let Some((label, problems)) = checked.into_iter().find(|(_, problems)| !problems.is_empty()) {
        let label = roost_object::field::quote(label);
        let report = |words| Error::invalid(path, dotted, format!("validating label {label}: {words}"));
        errors.extend(problems.into_iter().map(report));
    }
}

fn validate_conditions(conditions: &Spot<'_>, old: Option<&Value>, errors: &mut Errors) {
    let before = old.map(|old| elements(&old["status"]["conditions"])).unwrap_or_default();
    let types = |list: &[Value]| -> Vec<String> { list.iter().map(|one| text(one, "type").to_owned()).collect() };
    let known = types(before);
    let has = |wanted: &str| known.iter().any(|kind| kind == wanted);
    let was_both = has("Approved") && has("Denied");
    conditions.each(|index, condition| {
        let (kind, status) = (condition.field("type"), condition.field("status"));
        if !kind.filled() && !has("") {
            errors.push(Error::required(&kind.path, ""));
        }
        let decided = matches!(kind.text(), "Approved" | "Denied" | "Failed");
        let allowed: &[&str] = if decided { &["True"] } else { &["False", "True", "Unknown"] };
        if !status.filled() {
            errors.push(Error::required(&status.path, ""));
        } else if !allowed.contains(&status.text()) {
            errors.push(Error::not_supported(&status.path, status.text(), allowed));
        }
        let earlier = types(&conditions.elements()[..index]);
        let opposite = match kind.text() {
            "Approved" => "Denied",
            "Denied" => "Approved",
            _ => "",
        };
        if !was_both && !opposite.is_empty() && earlier.iter().any(|kind| kind == opposite) {
            let words = "Approved and Denied conditions are mutually exclusive";
            errors.push(Error::invalid(&conditions.path, kind.text(), words));
        }
        if !repeats(&known) && earlier.iter().any(|earlier| earlier == kind.text()) {
            errors.push(Error::duplicate(&kind.path, kind.text()));
        }
    });
}

fn conditions_of<'a>(request: &'a Value, kind: &str) -> Vec<&'a Value> {
    elements(&request["status"]["conditions"]).iter().filter(|condition| text(condition, "type") == kind).collect()
}

/// Checks an update of a request, its status or its approval.
pub fn validate_update(new: &Value, old: &Value, part: Part, errors: &mut Errors) {
    validate(new, Some(old), errors);
    let path = Path::new("status.conditions");
    for kind in ["Approved", "Denied", "Failed"] {
        if conditions_of(new, kind).len() < conditions_of(old, kind).len() {
            errors.push(Error::forbidden(&path, format!("updates may not remove a condition of type \"{kind}\"")));
        }
    }
    if part != Part::Approval {
        for kind in ["Approved", "Denied"] {
            let (after, before) = (conditions_of(new, kind), conditions_of(old, kind));
            if after.len() > before.len() {
                errors.push(Error::forbidden(&path, format!("updates may not add a condition of type \"{kind}\"")));
            } else if after.len() == before.len()
                && after.iter().zip(&before).any(|(after, before)| !internal::same(CONDITION, after, before))
            {
                let lines = |conditions: &[&Value]| {
                    let list = Value::Array(conditions.iter().map(|one| (*one).clone()).collect());
                    internal::print_lines(&format!("[{CONDITION}"), &list)
                };
                let difference = internal::diff(&lines(&before), &lines(&after));
                let words = format!("updates may not modify a condition of type \"{kind}\"\n{difference}");
                errors.push(Error::forbidden(&path, words));
            }
        }
    }
    let (after, before) = (text(&new["status"], "certificate"), text(&old["status"], "certificate"));
    if after != before {
        let path = Path::new("status.certificate");
        if part != Part::Status {
            errors.push(Error::forbidden(&path, "updates may not set certificate content"));
        } else if !before.is_empty() {
            errors.push(Error::forbidden(&path, "updates may not modify existing certificate content"));
        }
    }
}

/// What is wrong with an issued certificate, as far as its armour tells.
fn problem(encoded: &str) -> Option<String> {
    if encoded.is_empty() {
        return None;
    }
    let bytes = STANDARD.decode(encoded).unwrap_or_default();
    let armour = String::from_utf8_lossy(&bytes);
    let mut blocks = 0;
    for line in armour.lines().filter_map(|line| line.trim().strip_prefix("-----BEGIN ")) {
        match line.strip_suffix("-----") {
            Some("CERTIFICATE") => blocks += 1,
            Some(other) => {
                let found = roost_object::field::quote(other);
                return Some(format!("only CERTIFICATE PEM blocks are allowed, found {found}"));
            }
            None => {}
        }
    }
    if blocks == 0 { Some("must contain at least one CERTIFICATE PEM block".to_owned()) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;
    use serde_json::json;

    fn request() -> Value {
        json!({"spec": {"signerName": "example.com/s", "usages": ["client auth"]}, "status": {}})
    }

    #[test]
    fn a_new_request_is_undecided_and_anonymous() {
        let mut new = json!({"spec": {"username": "me", "signerName": "x"}, "status": {"conditions": [{}]}});
        prepare_create(&mut new);
        assert_eq!(new, json!({"spec": {"signerName": "x"}, "status": {}}));
    }

    #[test]
    fn signers_and_usages_are_known() {
        let bad = json!({"spec": {"signerName": "a/b/c", "usages": ["odd", "any", "any"], "expirationSeconds": 5}});
        let found = words(|errors| validate(&bad, None, errors));
        assert!(
            found[0].starts_with(r#"spec.usages[0]: Unsupported value: "odd": supported values: "any", "cert sign""#)
        );
        assert_eq!(
            found[1..],
            [
                r#"spec.usages[2]: Duplicate value: "any""#,
                r#"spec.signerName: Invalid value: "a/b/c": must be a fully qualified domain and path of the form 'example.com/signer-name'"#,
                "spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 600 seconds (10 minutes)",
            ]
        );
        assert!(words(|errors| validate(&request(), None, errors)).is_empty());
    }

    #[test]
    fn only_approval_decides() {
        let old = request();
        let mut new = request();
        new["status"] = json!({"conditions": [{"type": "Approved", "status": "True"}], "certificate": "eA=="});
        assert_eq!(
            words(|errors| validate_update(&new, &old, Part::Status, errors)),
            [
                r#"status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block"#,
                r#"status.conditions: Forbidden: updates may not add a condition of type "Approved""#,
            ]
        );
        prepare_approval_update(&mut new, &old);
        stamp(&mut new, Some(&old), "now");
        assert_eq!(
            new["status"],
            json!({"conditions": [{"type": "Approved", "status": "True", "lastUpdateTime": "now", "lastTransitionTime": "now"}]})
        );
        assert!(words(|errors| validate_update(&new, &old, Part::Approval, errors)).is_empty());
        assert_eq!(
            words(|errors| validate_update(&old, &new, Part::Approval, errors)),
            [r#"status.conditions: Forbidden: updates may not remove a condition of type "Approved""#]
        );
    }

    #[test]
    fn status_keeps_the_decision() {
        let old = json!({"status": {"conditions": [{"type": "Approved", "status": "True", "reason": "a"}]}});
        let mut new = json!({"status": {"conditions": [{"type": "Approved", "status": "True", "reason": "b"}]}});
        prepare_status_update(&mut new, &old);
        assert_eq!(new["status"], old["status"]);
    }
}
