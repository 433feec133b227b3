//! Stateful sets: pods with names and volumes of their own.

use roost_object::Value;
use roost_object::field::{Error, Errors};

use super::counts::{self, amount};
use super::template;
use crate::check::{Check, LABEL, Spot, elements, text};
use crate::fill::{Fill, round_resource_list};
use crate::{Generation, NameRule, Rules, drop_status, internal, keep_spec, keep_status, pod, shown};

/// What may change after creation.
static MUTABLE: &[&str] = &[
    "replicas",
    "template",
    "updateStrategy",
    "minReadySeconds",
    "ordinals",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
];

pub(super) const RULES: Rules = Rules {
    group: "apps",
    kind: "StatefulSet",
    name: NameRule::Label,
    defaults: fill,
    prepare_create: |new| {
        drop_status(new);
        drop_disabled(new, &Value::Null);
    },
    prepare_update: |new, old| {
        keep_status(new, old);
        drop_disabled(new, old);
    },
    prepare_status_update: keep_spec,
    generation: Generation::Spec,
    validate: |new, errors| validate(new, None, errors),
    validate_update,
    validate_status_update: validate_status,
    warns_on_update: crate::generation_moved,
    warnings,
    ..Rules::NONE
};

fn fill(set: &mut Value) {
    let spec = set.at_or_empty("spec");
    spec.fill_text("podManagementPolicy", "OrderedReady");
    let strategy = spec.at_or_empty("updateStrategy");
    if text(strategy, "type").is_empty() {
        strategy.fill_text("type", "RollingUpdate");
        strategy.at_or_empty("rollingUpdate");
    }
    if strategy["type"] == "RollingUpdate"
        && let Some(update) = strategy.at("rollingUpdate")
    {
        update.fill("partition", 0);
    }
    let retention = spec.at_or_empty("persistentVolumeClaimRetentionPolicy");
    retention.fill_text("whenDeleted", "Retain");
    retention.fill_text("whenScaled", "Retain");
    spec.fill("replicas", 1);
    spec.fill("revisionHistoryLimit", 10);
    pod::fill_template(spec, "template");
    for claim in spec.each("volumeClaimTemplates") {
        claim["apiVersion"] = "v1".into();
        claim["kind"] = "PersistentVolumeClaim".into();
        let status = claim.at_or_empty("status");
        status.fill_text("phase", "Pending");
        round_resource_list(status.at("capacity"));
        round_resource_list(status.at("allocatedResources"));
        pod::fill_claim_spec(claim.at_or_empty("spec"));
    }
}

/// More than one unavailable pod at a time belongs to a feature that is off by default.
fn drop_disabled(new: &mut Value, old: &Value) {
    let spec = new.at_or_empty("spec");
    pod::drop_disabled_template(spec, "template");
    if old["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"].is_null()
        && let Some(strategy) = spec.at("updateStrategy")
        && let Some(update) = strategy.at("rollingUpdate")
    {
        update.drop_field("maxUnavailable");
    }
}

fn validate(new: &Value, old: Option<&Value>, errors: &mut Errors) {
    let root = Spot::root(new);
    let spec = root.field("spec");
    validate_policies(&spec, errors);
    if old.is_none() {
        spec.field("volumeClaimTemplates").each(|_, claim| pod::validate_claim_spec(&claim.field("spec"), errors));
    }
    counts::not_negative(&spec, &["replicas", "minReadySeconds"], errors);
    let start = spec.value["ordinals"]["start"].as_i64().unwrap_or(0);
    if start < 0 {
        errors.push(Error::invalid(&spec.path.child("ordinals.start"), start, crate::check::NOT_NEGATIVE));
    }
    if old.is_none() {
        spec.field("serviceName").check(&[LABEL], errors);
    }
    let selector = spec.field("selector");
    template::validate_selector(&selector, "empty selector is invalid for statefulset", errors);
    let pods = spec.field("template");
    match template::selects(selector.value, pods.value) {
        None => {
            let shown = internal::print("LabelSelector", selector.value);
            errors.push(Error::invalid_omitted(&selector.path, shown));
        }
        Some(selects) => validate_template(&spec, selects, old, errors),
    }
    template::runs_always(&pods, "StatefulSet", errors);
}

fn validate_policies(spec: &Spot<'_>, errors: &mut Errors) {
    let management = spec.field("podManagementPolicy");
    match management.text() {
        "OrderedReady" | "Parallel" => {}
        "" => errors.push(Error::required(&management.path, "")),
        _ => management.invalid("must be 'OrderedReady' or 'Parallel'", errors),
    }
    let strategy = spec.field("updateStrategy");
    let update = strategy.field("rollingUpdate");
    match strategy.field("type").text() {
        "" => errors.push(Error::required(&strategy.path, "")),
        "OnDelete" => {
            if update.given() {
                let words = "only allowed for updateStrategy 'RollingUpdate'";
                errors.push(shown::invalid(&update.path, "RollingUpdateStatefulSetStrategy", update.value, words));
            }
        }
        "RollingUpdate" => {
            counts::not_negative(&update, &["partition"], errors);
            let unavailable = update.field("maxUnavailable");
            if unavailable.given() {
                counts::number_or_percent(&unavailable, errors);
                if amount(unavailable.value) == 0 {
                    unavailable.invalid("cannot be 0", errors);
                }
                counts::at_most_all(&unavailable, errors);
            }
        }
        _ => {
            let words = "must be 'RollingUpdate' or 'OnDelete'";
            errors.push(shown::invalid(&strategy.path, "StatefulSetUpdateStrategy", strategy.value, words));
        }
    }
    let retention = spec.field("persistentVolumeClaimRetentionPolicy");
    if retention.given() {
        for name in ["whenDeleted", "whenScaled"] {
            retention.field(name).check(&[Check::OneOf(&["Retain", "Delete"])], errors);
        }
    }
}

/// Checks the template with the volumes that the claims will add, and without the names that pods get from the set.
fn validate_template(spec: &Spot<'_>, selects: bool, old: Option<&Value>, errors: &mut Errors) {
    let pods = spec.field("template");
    let selector = spec.field("selector");
    let is_empty = selector.given() && crate::check::selector_is_empty(selector.value);
    if !selects && !is_empty {
        template::not_selected(&pods, errors);
    }
    let completed = completed_template(spec.value);
    let completed = Spot::new(&completed, pods.path);
    let old_template = old.map(|old| completed_template(&old["spec"]));
    let before = errors.len();
    template::validate(&completed, old_template.as_ref(), errors);
    // A template that was stored although it is wrong may stay so.
    if let Some(old_template) = old_template.filter(|_| errors.len() > before) {
        let mut old_errors = Errors::new();
        template::validate(&Spot::root(&old_template), Some(&old_template), &mut old_errors);
        if !old_errors.is_empty() {
            errors.truncate(before);
        }
    }
    // Stock checks the metadata of the template twice.
    let meta = &completed.value["metadata"];
    roost_object::metadata::validate_labels(&meta["labels"], &pods.path.child("labels"), errors);
    roost_object::metadata::validate_annotations(&meta["annotations"], &pods.path.child("annotations"), errors);
}

fn completed_template(spec: &Value) -> Value {
    let mut template = spec["template"].clone();
    let Some(pod_spec) = template.at("spec") else { return template };
    pod_spec.drop_field("subdomain");
    pod_spec.drop_field("hostname");
    let claims = elements(&spec["volumeClaimTemplates"]);
    if claims.is_empty() {
        return template;
    }
    let name_of = |claim: &Value| text(&claim["metadata"], "name").to_owned();
    let mut volumes: Vec<Value> = Vec::new();
    for name in claims.iter().map(name_of) {
        volumes.retain(|volume| text(volume, "name") != name);
        volumes.push(serde_json::json!({"name": name, "persistentVolumeClaim": {"claimName": name}}));
    }
    let replaced = |volume: &&Value| claims.iter().any(|claim| name_of(claim) == text(volume, "name"));
    volumes.extend(elements(&pod_spec["volumes"]).iter().filter(|volume| !replaced(volume)).cloned());
    pod_spec["volumes"] = volumes.into();
    template
}

fn validate_update(new: &Value, old: &Value, errors: &mut Errors) {
    validate(new, Some(old), errors);
    let mut restored = new["spec"].clone();
    for name in MUTABLE {
        match old["spec"].get(name) {
            Some(value) => restored[*name] = value.clone(),
            None => restored.drop_field(name),
        }
    }
    if !internal::same("apps.StatefulSetSpec", &restored, &old["spec"]) {
        let words = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
        Spot::root(new).field("spec").forbidden(words, errors);
    }
}

fn validate_status(new: &Value, old: &Value, errors: &mut Errors) {
    static COUNTS: &[&str] = &[
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ];
    let root = Spot::root(new);
    let status = root.field("status");
    counts::not_negative(&status, COUNTS, errors);
    let parts = ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];
    counts::not_greater(&status, &parts, "replicas", "cannot be greater than status.replicas", errors);
    let words = "cannot be greater than status.readyReplicas";
    counts::not_greater(&status, &["availableReplicas"], "readyReplicas", words, errors);
    counts::collisions_only_grow(&status, &old["status"], errors);
}

fn warnings(set: &Value, warnings: &mut Vec<String>) {
    template::warn_of_template(set, warnings);
    let root = Spot::root(set);
    let spec = root.field("spec");
    spec.field("volumeClaimTemplates").each(|_, claim| {
        // Stock leaves out the step through the claim's spec.
        pod::warn_of_claim(&Spot::new(&claim.value["spec"], claim.path), warnings);
    });
    if spec.field("revisionHistoryLimit").number() < 0 {
        let words =
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended";
        warnings.push(words.to_owned());
    }
}
