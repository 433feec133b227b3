//! Accounts, roles, certificates.

use serde_json::Value;

use crate::column::{AGE, Cell, Column, NAME, Table};
use crate::duration;
use crate::read::{at, filled, list, text};

const GROUP: &str = "rbac.authorization.k8s.io";

const BINDING: &[Column] = &[
    NAME,
    Column::text("Role", Cell::Made(role)).doc("roleRef"),
    AGE,
    Column::text("Users", Cell::Made(|binding, _| subjects(binding, "User"))).says("The users that are bound.").wide(),
    Column::text("Groups", Cell::Made(|binding, _| subjects(binding, "Group")))
        .says("The groups that are bound.")
        .wide(),
    Column::text("ServiceAccounts", Cell::Made(|binding, _| subjects(binding, "ServiceAccount")))
        .says("The service accounts that are bound.")
        .wide(),
];

pub(crate) static TABLES: &[Table] = &[
    Table { kind: "ServiceAccount", columns: &[NAME, AGE], ..Table::EMPTY },
    Table { group: GROUP, kind: "RoleBinding", columns: BINDING, ..Table::EMPTY },
    Table { group: GROUP, kind: "ClusterRoleBinding", columns: BINDING, ..Table::EMPTY },
    Table {
        group: "certificates.k8s.io",
        kind: "CertificateSigningRequest",
        columns: &[
            NAME,
            AGE,
            Column::text("SignerName", Cell::FilledOr("spec.signerName", "<none>")).doc("spec.signerName"),
            Column::text("Requestor", Cell::Text("spec.username")).doc("spec.request"),
            Column::text("RequestedDuration", Cell::Made(requested_duration)).doc("spec.expirationSeconds"),
            Column::text("Condition", Cell::Made(request_condition)).doc("status.conditions"),
        ],
        ..Table::EMPTY
    },
];

fn role(binding: &Value, _now: i64) -> Value {
    format!("{}/{}", text(binding, "roleRef.kind"), text(binding, "roleRef.name")).into()
}

fn subjects(binding: &Value, kind: &str) -> Value {
    let shown: Vec<_> = list(binding, "subjects")
        .iter()
        .filter(|subject| text(subject, "kind") == kind)
        .map(|subject| match (kind, text(subject, "name")) {
            ("ServiceAccount", name) => format!("{}/{name}", text(subject, "namespace")),
            (_, name) => name.to_owned(),
        })
        .collect();
    shown.join(", ").into()
}

fn requested_duration(request: &Value, _now: i64) -> Value {
    match at(request, "spec.expirationSeconds").and_then(Value::as_i64) {
        Some(seconds) => duration::human(seconds).into(),
        None => "<none>".into(),
    }
}

fn request_condition(request: &Value, _now: i64) -> Value {
    let conditions = list(request, "status.conditions");
    let has = |wanted: &str| conditions.iter().any(|condition| text(condition, "type") == wanted);
    let decision = if has("Denied") {
        "Denied"
    } else if has("Approved") {
        "Approved"
    } else {
        "Pending"
    };
    let failed = if has("Failed") { ",Failed" } else { "" };
    let issued = if filled(request, "status.certificate").is_some() { ",Issued" } else { "" };
    format!("{decision}{failed}{issued}").into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn bindings_sort_their_subjects_by_kind() {
        let binding = json!({"metadata": {"name": "b"}, "roleRef": {"kind": "Role", "name": "r"}, "subjects": [
            {"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "namespace": "n", "name": "s"}, {"kind": "User", "name": "v"}]});
        let cells = crate::cells("rbac.authorization.k8s.io", "RoleBinding", &binding, 0);
        assert_eq!((&cells[1], &cells[3], &cells[5]), (&json!("Role/r"), &json!("u, v"), &json!("n/s")));
    }

    #[test]
    fn signing_requests_show_where_they_stand() {
        let request = json!({"spec": {"expirationSeconds": 3600}, "status": {"conditions": [{"type": "Approved"}], "certificate": "eA=="}});
        let cells = crate::cells("certificates.k8s.io", "CertificateSigningRequest", &request, 0);
        assert_eq!(cells[4..], [json!("60m"), json!("Approved,Issued")]);
    }
}
