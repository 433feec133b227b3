//! Random queries of collections.

use serde_json::{Map, Value, json};

use super::values::Generator;

const LABEL_SELECTORS: &[&str] = &[
    "a=b",
    "a",
    "!a",
    "a in (b,c)",
    "a notin (b)",
    "a!=b",
    "a==b",
    "a>1",
    "a<x",
    "a=b,c",
    "A B=c",
    "a in",
    "",
    "a=",
    "=b",
    "kubernetes.io/x=b",
    "a=b=c",
    "a in (b",
    "a=b,",
    ",",
    "a in ()",
    "a in (,)",
    "!a=b",
    "a/b/c=d",
    "a=-",
    " a = b ",
    "a gt 1",
];

const FIELD_SELECTORS: &[&str] = &[
    "metadata.name=o",
    "metadata.name!=o",
    "metadata.namespace=random",
    "metadata.name",
    "metadata.name==o,metadata.namespace!=x",
    "metadata.labels.a=b",
    "spec.nodeName=",
    "spec.nodeName!=x",
    "spec.restartPolicy=Always",
    "spec.schedulerName=x",
    "spec.serviceAccountName=x",
    "spec.hostNetwork=false",
    "status.phase=Pending",
    "status.podIP=",
    "status.podIPs=10.0.0.1",
    "status.nominatedNodeName=",
    "type=Opaque",
    "type!=x",
    "involvedObject.kind=Pod",
    "involvedObject.uid=",
    "reason=r",
    "source=x",
    "regarding.kind=Pod",
    "reportingController=x",
    "spec.unschedulable=false",
    "spec.signerName=example.com/none",
    "status.replicas=0",
    "status.successful=0",
    "spec.driver=d.example.com",
    "spec.type=NodePort",
    "spec.clusterIP=10.96.77.7",
    "spec.parentRef=x",
    "parentRef.name=x",
    "=",
    "x",
    "a,b",
    "metadata.name=a\\,b",
    "metadata.name=a\\x",
    "metadata.name=",
    "",
];

/// The parameters, how often in a hundred they are there, and what they may be.
const PARAMETERS: &[(&str, u64, &[&str])] = &[
    ("labelSelector", 45, LABEL_SELECTORS),
    ("fieldSelector", 60, FIELD_SELECTORS),
    ("limit", 25, &["0", "1", "-1", "500", "x", ""]),
    ("continue", 5, &["x", "", "e30"]),
    ("resourceVersion", 15, &["0", "", "-1", "x", "00"]),
    ("resourceVersionMatch", 12, &["Exact", "NotOlderThan", "x", ""]),
    ("sendInitialEvents", 5, &["true", "false", "x"]),
    ("allowWatchBookmarks", 5, &["true", "x"]),
    ("includeObject", 5, &["None", "Object", "Metadata", "x"]),
];

/// Parameters of a list, by name.
pub(super) fn query(generator: &mut Generator<'_>) -> Value {
    let mut query = Map::new();
    for (name, percent, values) in PARAMETERS {
        if generator.random.chance(*percent) {
            query.insert((*name).to_owned(), json!(generator.random.pick(values)));
        }
    }
    Value::Object(query)
}

/// Writes parameters as a path has them.
pub(super) fn written(query: &Value) -> String {
    let parameters = query.as_object().into_iter().flatten().map(|(name, value)| {
        let value = value.as_str().unwrap_or_default();
        let escaped: String = value
            .bytes()
            .map(
                |byte| {
                    if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") }
                },
            )
            .collect();
        format!("{name}={escaped}")
    });
    parameters.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::written;

    #[test]
    fn parameters_are_escaped() {
        assert_eq!(
            written(&json!({"labelSelector": "a in (b)", "limit": "1"})),
            "labelSelector=a%20in%20%28b%29&limit=1"
        );
    }
}
