//! Paths that mean something else than they look like.

use roost_tests::hostile::{self, Outsider, Raw};
use serde_json::json;

/// What somebody without rights may ask for and must not get, however it is spelt.
const TRICKS: &[&str] = &[
    "/api/v1/namespaces/default/secrets/canary",
    "//api/v1/namespaces/default/secrets/canary",
    "/api//v1/namespaces/default/secrets/canary",
    "/api/v1//namespaces/default/secrets/canary",
    "/api/v1/namespaces//secrets/canary",
    "/api/v1/namespaces/default//secrets/canary",
    "/api/v1/namespaces/default/secrets//canary",
    "/api/v1/namespaces/default/secrets/canary/",
    "/api/v1/namespaces/default/secrets/canary//",
    "/./api/v1/namespaces/default/secrets/canary",
    "/readyz/../api/v1/namespaces/default/secrets/canary",
    "/healthz/%2e%2e/api/v1/namespaces/default/secrets/canary",
    "/livez%2f..%2fapi/v1/namespaces/default/secrets/canary",
    "/version/../api/v1/namespaces/default/secrets/canary",
    "/api/v1/namespaces/default/configmaps/../secrets/canary",
    "/api/v1/namespaces/default/configmaps/%2e%2e/secrets/canary",
    "/api/v1/namespaces/default/configmaps%2f..%2fsecrets/canary",
    "/api/v1/namespaces/default/secrets%2fcanary",
    "/api/v1/namespaces/default%2fsecrets%2fcanary",
    "/api/v1/namespaces%2fdefault/secrets/canary",
    "/api%2fv1/namespaces/default/secrets/canary",
    "/%61pi/v1/namespaces/default/secrets/canary",
    "/api/v1/namespaces/default/%73ecrets/canary",
    "/API/V1/namespaces/default/SECRETS/canary",
    "/api/v1/namespaces/default/secrets;a=b/canary",
    "/api/v1/namespaces/default/secrets/canary%00",
    "/api/v1/namespaces/default/secrets/%c0%ae%c0%ae/canary",
    "/api/v1/namespaces/default/secrets/canary%20",
    "/api/v1/namespaces/default/configmaps/canary?resource=secrets",
    "/apis//v1/namespaces/default/secrets/canary",
    "/apis/core/v1/namespaces/default/secrets/canary",
    "/apis/v1/namespaces/default/secrets/canary",
    "/api/v1/watch/namespaces/default/secrets/canary",
    "/api/v1/watch/namespaces/default/secrets",
    "/api/v1/watch/secrets",
    "/api/v1/proxy/namespaces/default/secrets/canary",
    "/api/v1/redirect/namespaces/default/secrets/canary",
    "/api/v1/namespaces/default/secrets/canary/status",
    "/api/v1/namespaces/default/secrets/canary/proxy/",
    "/api/v1/secrets",
    "/api/v1/secrets/canary",
    "/api/v1/secrets?fieldSelector=metadata.name%3Dcanary",
    "/api/v1/namespaces/default/services/https:kubernetes:443/proxy/api/v1/namespaces/default/secrets/canary",
    "/api/v1/nodes/localhost/proxy/api/v1/namespaces/default/secrets/canary",
    "/metrics",
    "/logs/",
    "/debug/pprof/",
    "/configz",
];

#[tokio::test]
async fn no_spelling_of_a_path_opens_a_secret() {
    let plane = hostile::start().await.expect("a server");
    crate::secrets::hide(&plane).await;
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps", "pods", "services"], "verbs": ["*"]}]);
    let outsider = Outsider::with_rules(&plane, "default", "outsider", &rules).await.expect("an account");
    for method in ["GET", "HEAD", "POST", "OPTIONS", "PATCH", "TRACE", "FETCH"] {
        for target in TRICKS {
            let mut raw = Raw::connect_without_identity(&plane, "http/1.1").await.expect("a connection");
            let request = format!(
                "{method} {target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nX-HTTP-Method-Override: GET\r\nX-Original-URL: /readyz\r\nX-Rewrite-URL: /readyz\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                outsider.token()
            );
            raw.write(request.as_bytes()).await;
            let answer = raw.read().await;
            crate::secrets::assert_hidden(&format!("{method} {target}"), &answer.text);
            assert!((300..500).contains(&answer.code()), "{method} {target}: {}", answer.text);
        }
    }
}
