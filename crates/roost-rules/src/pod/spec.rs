//! The spec of pods and of pod templates.

use roost_object::field::{Error, Errors};
use roost_object::{Value, names};

use super::container::{self, Surroundings};
use super::{annotations, dns, os, resources, scheduling, security, visit_containers, volume};
use crate::check::Check::{Labels, OneOf, Required};
use crate::check::{Check, Field, LABEL, SUBDOMAIN, Spot, elements, text};

/// What validation lets through. All is off for new objects; updates of objects that broke a rule before it was made may
/// go on breaking it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    /// The object is a pod and not a template.
    pub(crate) is_pod: bool,
    pub(super) allow_invalid_deletion_cost: bool,
    pub(super) allow_invalid_affinity_values: bool,
    pub(super) allow_invalid_node_affinity_values: bool,
    pub(super) allow_invalid_spread_selector: bool,
    pub(super) allow_indivisible_huge_pages: bool,
    pub(super) allow_any_token_path: bool,
    pub(super) allow_host_sysctls: bool,
    pub(super) allow_any_selinux_change_policy: bool,
    pub(super) allow_comparing_tolerations: bool,
    pub(super) allow_host_network_in_user_namespace: bool,
    pub(super) allow_devices_in_user_namespace: bool,
    pub(super) allow_restarting_resize_of_init_containers: bool,
    pub(super) old_mixes_match_label_keys: bool,
}

/// Who a pod is, where that matters for its spec.
#[derive(Clone, Copy)]
pub(super) struct PodIdentity<'a> {
    pub(super) name: &'a str,
    pub(super) is_static: bool,
}

static POLICIES: &[Field] = &[
    ("restartPolicy", &[Required, OneOf(&["Always", "OnFailure", "Never"])]),
    ("dnsPolicy", &[Required, OneOf(&["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"])]),
    ("nodeSelector", &[Labels]),
];
static NAMES: &[Field] = &[("serviceAccountName", &[SUBDOMAIN]), ("nodeName", &[SUBDOMAIN])];
pub(crate) const PREEMPTION: &[Check] = &[Required, OneOf(&["PreemptLowerPriority", "Never"])];
static HOST_NAMES: &[Field] = &[("hostname", &[LABEL]), ("subdomain", &[LABEL])];

/// Checks a pod's spec. Templates have no identity.
pub(super) fn validate(spec: &Spot<'_>, pod: Option<PodIdentity<'_>>, options: &Options, errors: &mut Errors) {
    let grace_period = spec.field("terminationGracePeriodSeconds");
    if !grace_period.given() {
        errors.push(Error::required(&grace_period.path, ""));
    }
    let volumes_spot = spec.field("volumes");
    let volumes = volume::validate(&volumes_spot, pod, options, errors);
    let claims = spec.field("resourceClaims");
    let claim_names: Vec<&str> =
        claims.elements().iter().map(|claim| text(claim, "name")).filter(|name| !name.is_empty()).collect();
    scheduling::validate_claims(&claims, pod.is_some_and(|pod| pod.is_static), errors);
    let around = Surroundings {
        options,
        volumes: &volumes,
        claim_names: &claim_names,
        grace_period: grace_period.value.as_i64(),
        restart_policy: text(spec.value, "restartPolicy"),
        host_users: spec.value["hostUsers"] != false,
    };
    container::validate_containers(&spec.field("containers"), &around, errors);
    container::validate_init_containers(spec, &around, errors);
    container::validate_ephemeral_containers(spec, &around, errors);
    resources::validate_pod_level(spec, &claim_names, options, errors);
    validate_host_ports(spec, options, errors);
    spec.check_fields(POLICIES, errors);
    security::validate_pod_context(spec, options, errors);
    scheduling::validate_affinity(&spec.field("affinity"), options, errors);
    dns::validate_config(spec, errors);
    spec.field("readinessGates")
        .each(|_, gate| gate.field("conditionType").text_passes(names::is_qualified_name, errors));
    scheduling::validate_gates(&spec.field("schedulingGates"), errors);
    scheduling::validate_spread(&spec.field("topologySpreadConstraints"), options, errors);
    os::validate_windows_host_process(spec, errors);
    security::validate_host_users(spec, options, errors);
    dns::validate_hostname_override(spec, errors);
    spec.check_fields(NAMES, errors);
    validate_active_deadline(&spec.field("activeDeadlineSeconds"), errors);
    spec.check_fields(HOST_NAMES, errors);
    scheduling::validate_tolerations(&spec.field("tolerations"), options, errors);
    dns::validate_host_aliases(&spec.field("hostAliases"), errors);
    spec.field("priorityClassName").check(&[SUBDOMAIN], errors);
    let runtime_class = spec.field("runtimeClassName");
    if runtime_class.given() {
        runtime_class.text_passes(names::is_dns1123_subdomain, errors);
    }
    let preemption = spec.field("preemptionPolicy");
    if preemption.given() {
        preemption.check(PREEMPTION, errors);
    }
    if spec.field("overhead").given() {
        resources::validate_overhead(&spec.field("overhead"), options, errors);
    }
    os::validate_os(spec, errors);
    validate_files_for_env(spec, errors);
}

fn validate_active_deadline(seconds: &Spot<'_>, errors: &mut Errors) {
    let highest = i64::from(i32::MAX);
    if seconds.given() && !(1..=highest).contains(&seconds.number()) {
        seconds.invalid(names::out_of_range(1, highest), errors);
    }
}

fn validate_host_ports(spec: &Spot<'_>, options: &Options, errors: &mut Errors) {
    if !spec.field("hostNetwork").is_true() {
        return;
    }
    spec.field("containers").each(|_, container| {
        container.field("ports").each(|_, port| {
            let on_host = port.field("hostPort");
            let number = on_host.number();
            if (options.is_pod || number != 0) && number != port.field("containerPort").number() {
                let words = "must match `containerPort` when `hostNetwork` is true";
                errors.push(Error::invalid(&on_host.path, number, words));
            }
        });
    });
}

/// Checks that files with variables lie in volumes that a container can have written before.
fn validate_files_for_env(spec: &Spot<'_>, errors: &mut Errors) {
    let volumes = elements(&spec.value["volumes"]);
    visit_containers(spec, |container| {
        container.field("env").each(|_, variable| {
            let source = variable.field("valueFrom");
            let reference = source.field("fileKeyRef");
            if !reference.given() {
                return;
            }
            let name = reference.field("volumeName");
            match volumes.iter().rfind(|volume| text(volume, "name") == name.text()) {
                None => errors.push(Error::not_found(&name.path, name.text())),
                Some(volume) if volume["emptyDir"].is_null() => {
                    errors.push(Error::invalid(&name.path, name.text(), "referenced volume must be of type emptyDir"));
                }
                Some(_) => {}
            }
        });
    });
}

/// Checks a pod template. Stock reports its labels and annotations without the step through `metadata`.
pub(crate) fn validate_template(template: &Spot<'_>, options: &Options, errors: &mut Errors) {
    let meta = &template.value["metadata"];
    roost_object::metadata::validate_labels(&meta["labels"], &template.path.child("labels"), errors);
    let annotations_path = template.path.child("annotations");
    roost_object::metadata::validate_annotations(&meta["annotations"], &annotations_path, errors);
    let spec = template.field("spec");
    annotations::validate(meta, &spec, &annotations_path, options, errors);
    validate(&spec, None, options, errors);
    annotations::validate_agreement(meta, &spec, errors);
    if spec.field("ephemeralContainers").filled() {
        spec.field("ephemeralContainers").forbidden("ephemeral containers not allowed in pod template", errors);
    }
}

impl Options {
    /// What an update may go on doing because the stored object does it.
    pub(crate) fn tolerating(old: &Value) -> Self {
        let meta = &old["metadata"];
        let spec = &old["spec"];
        let has_errors = |check: &dyn Fn(&mut Errors)| {
            let mut errors = Errors::new();
            check(&mut errors);
            !errors.is_empty()
        };
        let root = Spot::root(spec);
        let affinity = root.field("affinity");
        let bad_values = |selectors: &mut dyn Iterator<Item = &Value>| {
            selectors
                .flat_map(|selector| elements(&selector["matchExpressions"]))
                .flat_map(|expression| elements(&expression["values"]))
                .any(|value| !names::is_label_value(value.as_str().unwrap_or_default()).is_empty())
        };
        let spread = root.field("topologySpreadConstraints");
        let constraints = elements(spread.value);
        let mut containers = Vec::new();
        visit_containers(&root, |container| containers.push(container.value.clone()));
        let in_user_namespace = spec["hostUsers"] == false;
        Self {
            is_pod: false,
            allow_invalid_deletion_cost: annotations::has_invalid_deletion_cost(meta),
            allow_invalid_affinity_values: bad_values(&mut affinity_selectors(affinity.value)),
            allow_invalid_node_affinity_values: bad_values(
                &mut elements(
                    &affinity.value["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"],
                )
                .iter(),
            ),
            allow_invalid_spread_selector: has_errors(&|errors| {
                spread.each(|_, constraint| constraint.field("labelSelector").check(&[Check::Selector], errors));
            }),
            allow_indivisible_huge_pages: containers
                .iter()
                .flat_map(|container| ["limits", "requests"].map(|kind| &container["resources"][kind]))
                .chain([&spec["overhead"]])
                .any(has_indivisible_pages),
            allow_any_token_path: elements(&spec["volumes"])
                .iter()
                .flat_map(|volume| elements(&volume["projected"]["sources"]))
                .map(|source| &source["serviceAccountToken"]["path"])
                .any(|path| has_errors(&|errors| Spot::root(path).check(&[crate::check::LOCAL_PATH], errors))),
            allow_host_sysctls: elements(&spec["securityContext"]["sysctls"])
                .iter()
                .any(|sysctl| security::host_sysctl(text(sysctl, "name"), &root).is_some()),
            allow_any_selinux_change_policy: !spec["securityContext"]["seLinuxChangePolicy"].is_null(),
            allow_comparing_tolerations: elements(&spec["tolerations"])
                .iter()
                .any(|toleration| matches!(text(toleration, "operator"), "Lt" | "Gt")),
            allow_host_network_in_user_namespace: in_user_namespace && spec["hostNetwork"] == true,
            allow_devices_in_user_namespace: in_user_namespace
                && containers.iter().any(|container| !elements(&container["volumeDevices"]).is_empty()),
            allow_restarting_resize_of_init_containers: elements(&spec["initContainers"]).iter().any(|container| {
                text(container, "restartPolicy") != "Always"
                    && elements(&container["resizePolicy"])
                        .iter()
                        .any(|policy| text(policy, "restartPolicy") == "RestartContainer")
            }),
            old_mixes_match_label_keys: has_errors(&|errors| {
                for constraint in constraints {
                    scheduling::validate_label_keys(&Spot::root(constraint), errors);
                }
            }),
        }
    }

    /// The same for pods instead of templates.
    pub(super) fn for_pod(self) -> Self {
        Self { is_pod: true, ..self }
    }
}

fn affinity_selectors(affinity: &Value) -> impl Iterator<Item = &Value> {
    ["podAffinity", "podAntiAffinity"].into_iter().flat_map(|kind| {
        let terms = &affinity[kind];
        let required = elements(&terms["requiredDuringSchedulingIgnoredDuringExecution"]).iter();
        let preferred = elements(&terms["preferredDuringSchedulingIgnoredDuringExecution"]).iter();
        required.chain(preferred.map(|term| &term["podAffinityTerm"])).map(|term| &term["labelSelector"])
    })
}

fn has_indivisible_pages(list: &Value) -> bool {
    list.as_object().into_iter().flatten().any(|(name, amount)| {
        crate::resource_name::is_huge_page(name)
            && roost_object::Quantity::from_value(amount)
                .is_ok_and(|amount| !crate::resource_name::is_whole_pages(name, &amount))
    })
}
