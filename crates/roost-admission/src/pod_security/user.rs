//! As whom containers run, and whether they can become someone else.

use roost_object::Value;

use super::{Pod, Violation, containers, name, setters};

pub(super) fn privilege_escalation(pod: Pod<'_>) -> Option<Violation> {
    let names: Vec<&str> = pod
        .containers()
        .filter(|container| container["securityContext"]["allowPrivilegeEscalation"] != false)
        .map(name)
        .collect();
    (!names.is_empty()).then(|| Violation {
        reason: "allowPrivilegeEscalation != false",
        detail: format!("{} must set securityContext.allowPrivilegeEscalation=false", containers(&names)),
    })
}

pub(super) fn non_root(pod: Pod<'_>) -> Option<Violation> {
    let says = |holder: &Value| holder["securityContext"]["runAsNonRoot"].as_bool();
    let of_pod = says(pod.spec);
    let (mut bad, mut silent) = (Vec::new(), Vec::new());
    for container in pod.containers() {
        match says(container) {
            Some(true) => {}
            Some(false) => bad.push(name(container)),
            None if of_pod == Some(true) => {}
            None => silent.push(name(container)),
        }
    }
    let reason = "runAsNonRoot != true";
    if let Some(who) = setters(of_pod == Some(false), &bad) {
        return Some(Violation { reason, detail: format!("{who} must not set securityContext.runAsNonRoot=false") });
    }
    (!silent.is_empty()).then(|| Violation {
        reason,
        detail: format!("pod or {} must set securityContext.runAsNonRoot=true", containers(&silent)),
    })
}

pub(super) fn not_user_zero(pod: Pod<'_>) -> Option<Violation> {
    let is_zero = |holder: &Value| holder["securityContext"]["runAsUser"] == 0;
    let names: Vec<&str> = pod.containers().filter(|container| is_zero(container)).map(name).collect();
    setters(is_zero(pod.spec), &names)
        .map(|who| Violation { reason: "runAsUser=0", detail: format!("{who} must not set runAsUser=0") })
}
