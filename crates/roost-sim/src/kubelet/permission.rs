//! Who calls a kubelet, and whether they may: the API decides, as it does for real ones.

use http::header::AUTHORIZATION;
use http::{HeaderMap, Method};
use roost_pki::{Certificate, ClientIdentity};
use serde_json::{Value, json};

use crate::client::{Client, ClientError};

/// Somebody who calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Caller {
    pub(super) name: String,
    groups: Vec<String>,
    uid: String,
}

/// Who it is, by certificate or token; none when nobody knows.
pub(super) async fn caller(
    client: &Client,
    certificate: Option<&Certificate>,
    headers: &HeaderMap,
) -> Result<Option<Caller>, ClientError> {
    if let Some(identity) = certificate.and_then(|certificate| ClientIdentity::of(certificate).ok().flatten()) {
        return Ok(Some(Caller { name: identity.name, groups: identity.groups, uid: String::new() }));
    }
    let token = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let Some(token) = token.and_then(|value| value.strip_prefix("Bearer ")) else { return Ok(None) };
    let review = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token.trim()},
    });
    let status = client.create("/apis/authentication.k8s.io/v1/tokenreviews", &review).await?["status"].take();
    if status["authenticated"] != true {
        return Ok(None);
    }
    let user = &status["user"];
    let texts = |value: &Value| {
        let texts = value.as_array().into_iter().flatten().filter_map(Value::as_str);
        texts.map(str::to_owned).collect::<Vec<_>>()
    };
    Ok(Some(Caller {
        name: user["username"].as_str().unwrap_or_default().to_owned(),
        groups: texts(&user["groups"]),
        uid: user["uid"].as_str().unwrap_or_default().to_owned(),
    }))
}

/// Whether they may do that to this node.
pub(super) async fn allowed(
    client: &Client,
    caller: &Caller,
    node: &str,
    method: &Method,
    path: &str,
) -> Result<bool, ClientError> {
    let mut spec = json!({
        "user": caller.name, "groups": caller.groups,
        "resourceAttributes": {
            "verb": verb(method), "version": "v1", "resource": "nodes", "subresource": subresource(path), "name": node,
        },
    });
    if !caller.uid.is_empty() {
        spec["uid"] = json!(caller.uid);
    }
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec});
    let answer = client.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", &review).await?;
    Ok(answer["status"]["allowed"] == true)
}

fn verb(method: &Method) -> &'static str {
    match method.as_str() {
        "POST" => "create",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" => "delete",
        _ => "get",
    }
}

/// What of the node a path is about; most paths are a way through it.
fn subresource(path: &str) -> &'static str {
    match path.split('/').nth(1) {
        Some("stats") => "stats",
        Some("metrics") => "metrics",
        Some("logs") => "log",
        _ => "proxy",
    }
}

#[cfg(test)]
mod tests {
    use super::subresource;

    #[test]
    fn paths_are_asked_for_by_what_they_are_about() {
        for (path, wanted) in [
            ("/stats/summary", "stats"),
            ("/metrics/resource", "metrics"),
            ("/logs/", "log"),
            ("/containerLogs/a/b/c", "proxy"),
            ("/exec/a/b/c", "proxy"),
            ("/", "proxy"),
        ] {
            assert_eq!(subresource(path), wanted, "{path}");
        }
    }
}
