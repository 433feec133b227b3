//! Containers, init containers and ephemeral containers.

use roost_object::Map;
use roost_object::field::{Error, Errors};

use super::resources::{self, Asker};
use super::spec::Options;
use super::volume::Volumes;
use super::{env, handler, mount, security};
use crate::check::Check::{OneOf, Required};
use crate::check::{Check, Field, LABEL, Spot, elements, text};

/// What the rest of a pod means for its containers.
pub(super) struct Surroundings<'a> {
    pub(super) options: &'a Options,
    pub(super) volumes: &'a Volumes<'a>,
    pub(super) claim_names: &'a [&'a str],
    pub(super) grace_period: Option<i64>,
    pub(super) restart_policy: &'a str,
    pub(super) host_users: bool,
}

static IDENTITY: &[Field] = &[
    ("name", &[Required, LABEL]),
    ("image", &[Required]),
    ("terminationMessagePolicy", &[Required, OneOf(&["File", "FallbackToLogsOnError"])]),
];
static PULL_POLICY: &[Check] = &[Required, OneOf(&["Always", "IfNotPresent", "Never"])];
static PROTOCOL: &[Check] = &[Required, OneOf(&["SCTP", "TCP", "UDP"])];

fn validate_one(container: &Spot<'_>, around: &Surroundings<'_>, errors: &mut Errors) {
    container.check_fields(IDENTITY, errors);
    validate_ports(&container.field("ports"), errors);
    env::validate(&container.field("env"), errors);
    env::validate_sources(&container.field("envFrom"), errors);
    mount::validate_mounts(container, around.volumes, errors);
    mount::validate_devices(container, around.volumes, errors);
    container.field("imagePullPolicy").check(PULL_POLICY, errors);
    let requirements = container.field("resources");
    resources::validate_requirements(&requirements, Asker::Container, around.claim_names, around.options, errors);
    validate_resize_policy(&container.field("resizePolicy"), around.restart_policy, errors);
    security::validate_container_context(&container.field("securityContext"), around.host_users, errors);
}

fn validate_ports(ports: &Spot<'_>, errors: &mut Errors) {
    let mut names: Vec<String> = Vec::new();
    ports.each(|_, port| {
        let name = port.field("name");
        if name.filled() {
            let before = errors.len();
            name.check(&[Check::Text(roost_object::names::is_port_name)], errors);
            if errors.len() == before {
                if names.iter().any(|earlier| earlier == name.text()) {
                    errors.push(Error::duplicate(&name.path, name.text()));
                } else {
                    names.push(name.text().to_owned());
                }
            }
        }
        port.field("containerPort").check(&[Required, Check::Port], errors);
        port.field("hostPort").check(&[Check::Port], errors);
        port.field("protocol").check(PROTOCOL, errors);
    });
}

fn validate_resize_policy(policies: &Spot<'_>, restart_policy: &str, errors: &mut Errors) {
    static RESOURCES: &[Check] = &[Required, OneOf(&["cpu", "memory"])];
    static POLICIES: &[Check] = &[Required, OneOf(&["NotRequired", "RestartContainer"])];
    policies.each(|index, policy| {
        let name = text(policy.value, "resourceName");
        if policies.elements()[..index].iter().any(|earlier| text(earlier, "resourceName") == name) {
            errors.push(Error::duplicate(&policy.path, name));
        }
        // Stock reports the list and not its element.
        Spot::new(&policy.value["resourceName"], policies.path).check(RESOURCES, errors);
        let restart = Spot::new(&policy.value["restartPolicy"], policies.path);
        restart.check(POLICIES, errors);
        if restart_policy == "Never" && restart.text() != "NotRequired" {
            let words = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            errors.push(Error::invalid(&restart.path, restart.text(), words));
        }
    });
}

/// Checks when a container is started again, and by which exit codes.
fn validate_restart_policy(container: &Spot<'_>, errors: &mut Errors) {
    let policy = container.field("restartPolicy");
    let rules = container.field("restartPolicyRules");
    if !policy.given() {
        if rules.filled() {
            errors.push(Error::required(&policy.path, "must specify restartPolicy when restart rules are used"));
        } else {
            return;
        }
    } else if !matches!(policy.text(), "Always" | "Never" | "OnFailure") {
        errors.push(Error::not_supported(&policy.path, policy.text(), &["Always", "Never", "OnFailure"]));
    }
    if rules.elements().len() > 20 {
        errors.push(Error::too_many(&rules.path, rules.elements().len(), 20));
    }
    rules.each(|_, rule| {
        let action = rule.field("action");
        if !matches!(action.text(), "Restart" | "RestartAllContainers") {
            errors.push(Error::not_supported(&action.path, action.text(), &["Restart", "RestartAllContainers"]));
        }
        let codes = rule.field("exitCodes");
        if codes.given() {
            let operator = codes.field("operator");
            if !matches!(operator.text(), "In" | "NotIn") {
                errors.push(Error::not_supported(&operator.path, operator.text(), &["In", "NotIn"]));
            }
            let values = codes.field("values");
            if values.elements().len() > 255 {
                errors.push(Error::too_many(&values.path, values.elements().len(), 255));
            }
        } else {
            errors.push(Error::required(&codes.path, "must be specified"));
        }
    });
}

/// Reports host ports that two containers of the list would both take.
fn validate_host_ports(containers: &[roost_object::Value], list: &Spot<'_>, errors: &mut Errors) {
    let mut taken: Vec<String> = Vec::new();
    for (index, container) in containers.iter().enumerate() {
        for (position, port) in elements(&container["ports"]).iter().enumerate() {
            let number = port["hostPort"].as_i64().unwrap_or_default();
            if number == 0 {
                continue;
            }
            let key = format!("{}/{}/{number}", text(port, "protocol"), text(port, "hostIP"));
            if taken.contains(&key) {
                let container = list.path.index(index);
                let ports = container.child("ports");
                errors.push(Error::duplicate(&ports.index(position).child("hostPort"), key));
            } else {
                taken.push(key);
            }
        }
    }
}

/// Checks the containers of a pod.
pub(super) fn validate_containers(containers: &Spot<'_>, around: &Surroundings<'_>, errors: &mut Errors) {
    if !containers.filled() {
        errors.push(Error::required(&containers.path, ""));
        return;
    }
    containers.each(|index, container| {
        validate_one(container, around, errors);
        let name = container.field("name");
        if containers.elements()[..index].iter().any(|earlier| text(earlier, "name") == name.text()) {
            errors.push(Error::duplicate(&name.path, name.text()));
        }
        if container.field("lifecycle").given() {
            handler::validate_lifecycle(&container.field("lifecycle"), around.grace_period, errors);
        }
        handler::validate_probes(container, around.grace_period, errors);
        validate_restart_policy(container, errors);
    });
    validate_host_ports(containers.elements(), containers, errors);
}

/// Checks the init containers of a pod. Those that always restart live as long as the pod, and may be probed.
pub(super) fn validate_init_containers(spec: &Spot<'_>, around: &Surroundings<'_>, errors: &mut Errors) {
    let containers = spec.field("initContainers");
    let regular = elements(&spec.value["containers"]);
    containers.each(|index, container| {
        validate_one(container, around, errors);
        let policy = container.field("restartPolicy");
        if policy.given() {
            validate_restart_policy(container, errors);
        } else if container.field("restartPolicyRules").filled() {
            errors.push(Error::required(&policy.path, "must specify restartPolicy when restart rules are used"));
        }
        let restarts = policy.text() == "Always";
        let name = container.field("name");
        let earlier = &containers.elements()[..index];
        let is_taken = regular.iter().any(|other| text(other, "name") == name.text())
            || (name.filled() && earlier.iter().any(|other| text(other, "name") == name.text()));
        if is_taken {
            errors.push(Error::duplicate(&name.path, name.text()));
        }
        validate_host_ports(std::slice::from_ref(container.value), &containers, errors);
        if restarts {
            if container.field("lifecycle").given() {
                handler::validate_lifecycle(&container.field("lifecycle"), around.grace_period, errors);
            }
            handler::validate_probes(container, around.grace_period, errors);
        } else {
            for name in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
                if container.field(name).given() {
                    let words = "may not be set for init containers without restartPolicy=Always";
                    container.field(name).forbidden(words, errors);
                }
            }
        }
        if !restarts && !around.options.allow_restarting_resize_of_init_containers {
            container.field("resizePolicy").each(|_, policy| {
                let restart = policy.field("restartPolicy");
                if restart.text() == "RestartContainer" {
                    let words = "must not be set to 'RestartContainer' for non-sidecar initContainers";
                    restart.invalid(words, errors);
                }
            });
        }
    });
}

/// What ephemeral containers may not have.
static NOT_EPHEMERAL: &[&str] = &[
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
];

/// Checks the ephemeral containers of a pod, which only debug and never serve.
pub(super) fn validate_ephemeral_containers(spec: &Spot<'_>, around: &Surroundings<'_>, errors: &mut Errors) {
    let containers = spec.field("ephemeralContainers");
    let is_regular = |name: &str| {
        let named = |list: &str| elements(&spec.value[list]).iter().any(|container| text(container, "name") == name);
        named("containers") || named("initContainers")
    };
    containers.each(|index, container| {
        validate_one(container, around, errors);
        validate_image_of_pod(container, errors);
        let name = container.field("name");
        let earlier = &containers.elements()[..index];
        if is_regular(name.text()) || earlier.iter().any(|other| text(other, "name") == name.text()) {
            errors.push(Error::duplicate(&name.path, name.text()));
        }
        let target = container.field("targetContainerName");
        if target.filled() && !is_regular(target.text()) {
            errors.push(Error::not_found(&target.path, target.text()));
        }
        for name in NOT_EPHEMERAL {
            let field = container.field(name);
            // Resources are the only ones that Go keeps without a pointer.
            let is_zero = *name == "resources" && field.value.as_object().is_some_and(Map::is_empty);
            if field.given() && !is_zero {
                field.forbidden("cannot be set for an Ephemeral Container", errors);
            }
        }
        container.field("volumeMounts").each(|_, mount| {
            for name in ["subPath", "subPathExpr"] {
                if mount.field(name).filled() {
                    mount.field(name).forbidden("cannot be set for an Ephemeral Container", errors);
                }
            }
        });
    });
}

/// Checks what templates get away with: an image name with blanks around it.
pub(super) fn validate_image_of_pod(container: &Spot<'_>, errors: &mut Errors) {
    let image = container.field("image");
    if image.text() != image.text().trim() {
        image.invalid("must not have leading or trailing whitespace", errors);
    }
}
