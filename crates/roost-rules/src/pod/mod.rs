//! Pods: defaults, validation, what may change in them, and what admission wants to know about them.

mod annotations;
mod claim;
mod container;
mod defaults;
mod dns;
mod env;
mod handler;
mod image;
mod mount;
mod os;
mod overlap;
mod prepare;
mod projected;
mod resize;
mod resources;
mod scheduling;
mod security;
mod spec;
mod status;
mod update;
pub(crate) mod volume;
pub(crate) mod warnings;

use roost_object::field::{Error, Errors, Path};
use roost_object::{GroupKind, Status, Value};

use crate::check::Check::{OneOf, Required};
use crate::check::{Field, Spot, elements, text};
use crate::{Generation, Rules};
use spec::{Options, PodIdentity};

pub(crate) use claim::{validate_spec as validate_claim_spec, validate_template_metadata};
pub(crate) use defaults::{fill_block_volume, fill_claim_spec, fill_template};
pub(crate) use prepare::drop_disabled_template;
pub(crate) use resources::validate_overhead;
pub(crate) use scheduling::{validate_node_selector, validate_tolerations};
pub(crate) use spec::{Options as PodOptions, PREEMPTION, validate_template};
pub(crate) use warnings::{of_claim as warn_of_claim, of_template as warn_of_template};

pub use prepare::{prepare_ephemeral_containers, prepare_resize};
pub use resize::{features_of_resize, validate_resize};
pub use resources::{Amounts, effective_limits, effective_requests, qos_class};
pub use update::validate_ephemeral_containers;

/// The row of pods.
pub(crate) const RULES: Rules = Rules {
    kind: "Pod",
    defaults: defaults::fill_pod,
    prepare_create: prepare::prepare_create,
    prepare_update: prepare::prepare_update,
    prepare_status_update: prepare::prepare_status_update,
    generation: Generation::Spec,
    validate,
    validate_update: update::validate,
    validate_status_update: status::validate_update,
    warnings: warnings::of_pod,
    warns_on_update: |_, _| false,
    ..Rules::NONE
};

/// Calls back for every container of a pod, init containers first, ephemeral containers last.
pub fn for_each_container<'a>(pod: &'a Value, mut visit: impl FnMut(&'a Value)) {
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        elements(&pod["spec"][list]).iter().for_each(&mut visit);
    }
}

/// The same with paths, over a spec.
fn visit_containers(spec: &Spot<'_>, mut visit: impl FnMut(&Spot<'_>)) {
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        spec.field(list).each(|_, container| visit(container));
    }
}

fn validate(pod: &Value, errors: &mut Errors) {
    let options = Options::default().for_pod();
    validate_metadata_and_spec(pod, &options, errors);
    let root = Spot::root(pod);
    let spec = root.field("spec");
    if spec.field("ephemeralContainers").filled() {
        spec.field("ephemeralContainers").forbidden("cannot be set on create", errors);
    }
    if spec.field("nodeName").filled() && spec.field("schedulingGates").filled() {
        spec.field("nodeName").forbidden("cannot be set until all schedulingGates have been cleared", errors);
    }
    annotations::validate_agreement(&pod["metadata"], &spec, errors);
}

/// What holds for pods at any time. Metadata itself is checked by the caller.
fn validate_metadata_and_spec(pod: &Value, options: &Options, errors: &mut Errors) {
    let root = Spot::root(pod);
    let meta = root.field("metadata");
    let spec = root.field("spec");
    annotations::validate(meta.value, &spec, &meta.path.child("annotations"), options, errors);
    let is_static = meta.value["annotations"].get(annotations::MIRROR).is_some();
    let identity = PodIdentity { name: text(meta.value, "name"), is_static };
    spec::validate(&spec, Some(identity), options, errors);
    if !spec.field("serviceAccountName").filled() {
        spec.field("volumes").each(|_, volume| {
            let projected = volume.field("projected");
            projected.field("sources").each(|_, source| {
                let token = source.field("serviceAccountToken");
                if token.given() {
                    token.forbidden("must not be specified when serviceAccountName is not set", errors);
                }
            });
        });
    }
    for list in ["containers", "initContainers"] {
        spec.field(list).each(|_, container| container::validate_image_of_pod(container, errors));
    }
}

/// Checks the body of a request to bind a pod to a node.
pub fn validate_binding(binding: &Value, errors: &mut Errors) {
    static TARGET: &[Field] = &[("kind", &[OneOf(&["Node", "<empty>"])]), ("name", &[Required])];
    Spot::root(binding).field("target").check_fields(TARGET, errors);
}

/// Checks the body of a request to evict a pod, whose name must be that of the URL.
pub fn validate_eviction(eviction: &Value, pod_name: &str) -> Result<(), Status> {
    if text(&eviction["metadata"], "name") != pod_name {
        return Err(Status::bad_request("name in URL does not match name in Eviction object"));
    }
    if eviction["deleteOptions"]["ignoreStoreReadErrorWithClusterBreakingPotential"] == true {
        let path = Path::new("deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential");
        let words = "can not be set for pod eviction, try after removing the option";
        let kind = GroupKind::new("policy", "Eviction");
        return Err(Status::invalid(&kind, pod_name, &[Error::invalid(&path, true, words)]));
    }
    Ok(())
}
