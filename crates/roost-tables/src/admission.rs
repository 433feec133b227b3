//! Webhooks, policies, and the rules of flow control.

use std::fmt::Write as _;

use serde_json::Value;

use crate::column::{AGE, Cell, Column, NAME, Table};
use crate::read::{at, condition, filled, integer, list, text};

const GROUP: &str = "admissionregistration.k8s.io";
const FLOW_CONTROL: &str = "flowcontrol.apiserver.k8s.io";

const WEBHOOKS: &[Column] =
    &[NAME, Column::integer("Webhooks", Cell::Count(&["webhooks"])).says("How many webhooks are registered."), AGE];
const PARAMETER_KIND: Column =
    Column::text("ParamKind", Cell::Made(parameter_kind)).says("The kind of the policy's parameters.");
const BINDING: &[Column] = &[
    NAME,
    Column::text("PolicyName", Cell::Text("spec.policyName")).says("The policy that is bound."),
    Column::text("ParamRef", Cell::Made(parameter)).says("The object that parameterizes the policy."),
    AGE,
];

pub(crate) static TABLES: &[Table] = &[
    Table { group: GROUP, kind: "MutatingWebhookConfiguration", columns: WEBHOOKS, ..Table::EMPTY },
    Table { group: GROUP, kind: "ValidatingWebhookConfiguration", columns: WEBHOOKS, ..Table::EMPTY },
    Table {
        group: GROUP,
        kind: "ValidatingAdmissionPolicy",
        columns: &[
            NAME,
            Column::integer("Validations", Cell::Count(&["spec.validations"])).says("How many rules the policy has."),
            PARAMETER_KIND,
            AGE,
        ],
        ..Table::EMPTY
    },
    Table { group: GROUP, kind: "ValidatingAdmissionPolicyBinding", columns: BINDING, ..Table::EMPTY },
    Table {
        group: GROUP,
        kind: "MutatingAdmissionPolicy",
        columns: &[
            NAME,
            Column::integer("Mutations", Cell::Count(&["spec.mutations"])).says("How many mutations the policy has."),
            PARAMETER_KIND,
            AGE,
        ],
        ..Table::EMPTY
    },
    Table { group: GROUP, kind: "MutatingAdmissionPolicyBinding", columns: BINDING, ..Table::EMPTY },
    Table {
        group: FLOW_CONTROL,
        kind: "FlowSchema",
        columns: &[
            NAME,
            Column::field("PriorityLevel", "spec.priorityLevelConfiguration.name"),
            Column::text("MatchingPrecedence", Cell::Integer("spec.matchingPrecedence")).doc("spec.matchingPrecedence"),
            Column::text("DistinguisherMethod", Cell::TextOr("spec.distinguisherMethod.type", "<none>"))
                .doc("spec.distinguisherMethod"),
            AGE,
            Column::text("MissingPL", Cell::Made(dangling)).says("Whether the priority level is missing or broken."),
        ],
        order: Some(|left, right| {
            let key = |schema| (integer(schema, "spec.matchingPrecedence"), text(schema, "metadata.name").to_owned());
            key(left).cmp(&key(right))
        }),
        ..Table::EMPTY
    },
    Table {
        group: FLOW_CONTROL,
        kind: "PriorityLevelConfiguration",
        columns: &[
            NAME,
            Column::field("Type", "spec.type"),
            Column::text(
                "NominalConcurrencyShares",
                Cell::Made(|level, _| limit(level, "spec.limited", "nominalConcurrencyShares")),
            )
            .doc("spec.limited.nominalConcurrencyShares"),
            Column::text("Queues", Cell::Made(|level, _| limit(level, QUEUING, "queues")))
                .doc("spec.limited.limitResponse.queuing.queues"),
            Column::text("HandSize", Cell::Made(|level, _| limit(level, QUEUING, "handSize")))
                .doc("spec.limited.limitResponse.queuing.handSize"),
            Column::text("QueueLengthLimit", Cell::Made(|level, _| limit(level, QUEUING, "queueLengthLimit")))
                .doc("spec.limited.limitResponse.queuing.queueLengthLimit"),
            AGE,
        ],
        ..Table::EMPTY
    },
];

const QUEUING: &str = "spec.limited.limitResponse.queuing";

fn parameter_kind(policy: &Value, _now: i64) -> Value {
    match at(policy, "spec.paramKind") {
        Some(kind) => format!("{}/{}", text(kind, "apiVersion"), text(kind, "kind")).into(),
        None => "<unset>".into(),
    }
}

fn parameter(binding: &Value, _now: i64) -> Value {
    let Some(parameter) = at(binding, "spec.paramRef") else { return "<unset>".into() };
    if let Some(name) = filled(parameter, "name") {
        // Nothing here tells whether the parameter is namespaced, so no namespace reads as any.
        return format!("{}/{name}", filled(parameter, "namespace").unwrap_or("*")).into();
    }
    parameter.get("selector").map_or_else(|| "<unset>".into(), |selector| go_selector(selector).into())
}

/// A label selector as Go prints the struct, which is what the stock server shows here.
fn go_selector(selector: &Value) -> String {
    let mut shown = String::from("&LabelSelector{MatchLabels:map[string]string{");
    for (key, value) in at(selector, "matchLabels").and_then(Value::as_object).into_iter().flatten() {
        let _ = write!(shown, "{key}: {},", value.as_str().unwrap_or_default());
    }
    shown.push_str("},MatchExpressions:[]LabelSelectorRequirement{");
    for expression in list(selector, "matchExpressions") {
        let values: Vec<_> = list(expression, "values").iter().filter_map(Value::as_str).collect();
        let _ = write!(
            shown,
            "LabelSelectorRequirement{{Key:{},Operator:{},Values:[{}],}},",
            text(expression, "key"),
            text(expression, "operator"),
            values.join(" ")
        );
    }
    shown.push_str("},}");
    shown
}

fn dangling(schema: &Value, _now: i64) -> Value {
    condition(list(schema, "status.conditions"), "Dangling").map_or("?", |condition| text(condition, "status")).into()
}

fn limit(level: &Value, path: &str, field: &str) -> Value {
    at(level, path).map_or_else(|| "<none>".into(), |limits| integer(limits, field).into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn bindings_show_what_they_select() {
        let binding =
            |reference| json!({"metadata": {"name": "b"}, "spec": {"policyName": "p", "paramRef": reference}});
        for (reference, expected) in [
            (json!({"name": "x"}), "*/x"),
            (json!({"name": "x", "namespace": "n"}), "n/x"),
            (
                json!({"selector": {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "In", "values": ["d", "e"]}]}}),
                "&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:c,Operator:In,Values:[d e],},},}",
            ),
        ] {
            let cells = crate::cells(
                "admissionregistration.k8s.io",
                "ValidatingAdmissionPolicyBinding",
                &binding(reference),
                0,
            );
            assert_eq!(cells[2], json!(expected));
        }
    }

    #[test]
    fn flow_schemas_are_sorted_by_precedence() {
        let schema = |name: &str, precedence: i64| json!({"metadata": {"name": name}, "spec": {"matchingPrecedence": precedence}});
        let order = crate::order("flowcontrol.apiserver.k8s.io", "FlowSchema").unwrap();
        let mut list = [schema("b", 9), schema("c", 1), schema("a", 9)];
        list.sort_by(order);
        assert_eq!(list.map(|schema| schema["metadata"]["name"].clone()), [json!("c"), json!("a"), json!("b")]);
    }
}
