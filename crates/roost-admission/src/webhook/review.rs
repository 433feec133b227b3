//! What a webhook is sent.

use roost_object::Value;
use serde_json::{Map, json};

use super::ReviewVersion;

/// All that a review says about a request.
pub struct Review<'a> {
    /// Which version the webhook reads.
    pub version: ReviewVersion,
    /// What tells this review from others.
    pub uid: &'a str,
    /// Group, version and kind of the object as it is sent.
    pub kind: [&'a str; 3],
    /// Group, version and plural under which the rule matched.
    pub resource: [&'a str; 3],
    /// The subresource.
    pub subresource: &'a str,
    /// Group, version and kind as the request was made.
    pub request_kind: [&'a str; 3],
    /// Group, version and plural as the request was made.
    pub request_resource: [&'a str; 3],
    /// The object's name; empty when it is yet to be generated.
    pub name: &'a str,
    /// The namespace.
    pub namespace: &'a str,
    /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
    pub operation: &'a str,
    /// Who asks.
    pub user: Value,
    /// The object as it will be; null for a delete.
    pub object: Value,
    /// The object as it is; null for a create.
    pub old_object: Value,
    /// Whether nothing will happen.
    pub dry_run: bool,
    /// The options of the request.
    pub options: Value,
}

/// Builds the body of a review.
pub fn review(review: Review<'_>) -> Value {
    let typed = |[group, version, name]: [&str; 3], last: &str| json!({"group": group, "version": version, last: name});
    let mut request = Map::new();
    request.insert("uid".into(), review.uid.into());
    request.insert("kind".into(), typed(review.kind, "kind"));
    request.insert("resource".into(), typed(review.resource, "resource"));
    request.insert("requestKind".into(), typed(review.request_kind, "kind"));
    request.insert("requestResource".into(), typed(review.request_resource, "resource"));
    for (field, text) in [
        ("subResource", review.subresource),
        ("requestSubResource", review.subresource),
        ("name", review.name),
        ("namespace", review.namespace),
    ] {
        if !text.is_empty() {
            request.insert(field.into(), text.into());
        }
    }
    request.insert("operation".into(), review.operation.into());
    request.insert("userInfo".into(), review.user);
    request.insert("object".into(), review.object);
    request.insert("oldObject".into(), review.old_object);
    request.insert("dryRun".into(), review.dry_run.into());
    request.insert("options".into(), review.options);
    json!({"kind": "AdmissionReview", "apiVersion": review.version.api_version(), "request": request})
}
