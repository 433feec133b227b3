//! Whole requests to a cluster with some objects in it.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use jiff::Timestamp;
use roost_access::User;
use roost_apiserver::{ApiService, Cluster, ClusterConfig, Identity, InProcess};
use roost_object::{Value, json};
use roost_store::{Options, Store};
use serde_json::json;
use tokio::runtime::Runtime;
use tower::ServiceExt as _;

/// A cluster that no request of a fuzzer changes, and a runtime to ask it in.
static PLANE: LazyLock<Plane> = LazyLock::new(Plane::new);

/// A request: a line with method and path, a line each for the content type and for what is accepted, and the body. All
/// are dry runs, so that the same bytes get the same answer every time.
pub fn request(data: &[u8]) {
    let Some(wanted) = Wanted::read(data) else { return };
    let Some(answer) = PLANE.ask(&wanted) else { return };
    let code = answer.code.as_u16();
    assert!((200..600).contains(&code), "an answer has a code of an answer");
    let Some(object) = answer.object else { return };
    if code >= 400 && object["kind"] == "Status" {
        assert_eq!(object["code"], code, "a refusal says its own code");
        assert_eq!(object["status"], "Failure", "a refusal is none of a success");
    }
    let changed = matches!(wanted.method, Method::PUT | Method::PATCH) && answer.code == StatusCode::OK;
    if changed && object["metadata"].is_object() {
        taken_back(&wanted, object);
    }
}

/// What the server makes of a change is a change that it takes, and makes the same of.
fn taken_back(wanted: &Wanted, object: Value) {
    if object["kind"] == "Service" {
        // A dry run gives it addresses and ports that nobody may have.
        return;
    }
    let body = object.to_string().into_bytes();
    let path = format!("{}?fieldValidation=Strict", wanted.path());
    let put =
        Wanted { method: Method::PUT, uri: path, content_type: "application/json".to_owned(), body, ..wanted.clone() };
    let Some(answer) = PLANE.ask(&put) else { return };
    let again = answer.object.unwrap_or_default();
    assert_eq!(answer.code, StatusCode::OK, "{object} was refused: {again}");
    assert_eq!(timeless(again), timeless(object), "an object changes when it is sent back");
}

/// An object without what every write sets anew.
fn timeless(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

/// What is asked for.
#[derive(Clone)]
struct Wanted {
    method: Method,
    uri: String,
    content_type: String,
    accept: String,
    body: Vec<u8>,
}

impl Wanted {
    fn read(data: &[u8]) -> Option<Wanted> {
        let mut lines = data.splitn(4, |byte| *byte == b'\n');
        let mut line = || std::str::from_utf8(lines.next()?).ok();
        let (method, uri) = line()?.split_once(' ')?;
        let (content_type, accept) = (line()?.to_owned(), line()?.to_owned());
        let method = Method::from_bytes(method.as_bytes()).ok()?;
        let body = lines.next().unwrap_or_default().to_vec();
        Some(Wanted { method, uri: uri.to_owned(), content_type, accept, body })
    }

    fn path(&self) -> &str {
        self.uri.split('?').next().unwrap_or_default()
    }

    fn request(&self) -> Option<Request<Full<Bytes>>> {
        let separator = if self.uri.contains('?') { '&' } else { '?' };
        let is_safe = self.method == Method::GET || self.method == Method::HEAD;
        let dry = if is_safe { String::new() } else { format!("{separator}dryRun=All") };
        let mut request = Request::builder().method(&self.method).uri(format!("{}{dry}", self.uri));
        for (name, value) in [("content-type", &self.content_type), ("accept", &self.accept)] {
            if !value.is_empty() {
                request = request.header(name, value);
            }
        }
        request.body(Full::new(self.body.clone().into())).ok()
    }
}

/// What was answered.
struct Answer {
    code: StatusCode,
    /// The body, where it is JSON.
    object: Option<Value>,
}

/// A cluster in memory.
struct Plane {
    cluster: Arc<Cluster>,
    runtime: Runtime,
}

impl Plane {
    fn new() -> Plane {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let config = ClusterConfig::default();
        let identity = Identity::generate(Timestamp::now(), "https://kubernetes.default.svc").expect("keys");
        let cluster = Cluster::new("fuzzed", Store::memory(Options::default()), config, identity);
        runtime.block_on(cluster.bootstrap()).expect("the first objects");
        let plane = Plane { cluster, runtime };
        for (path, object) in first_objects() {
            let request = Request::post(path).header("content-type", "application/json");
            let request = request.body(Full::new(object.to_string().into())).expect("a request");
            let answer = plane.send(request).expect("an answer");
            assert_eq!(answer.code, StatusCode::CREATED, "{path}: {:?}", answer.object);
        }
        plane
    }

    /// Asks for something; none when it is no request, or one that has no end.
    fn ask(&self, wanted: &Wanted) -> Option<Answer> {
        self.send(wanted.request()?)
    }

    fn send(&self, mut request: Request<Full<Bytes>>) -> Option<Answer> {
        let admin = User::new("system:admin", ["system:masters", "system:authenticated"]);
        request.extensions_mut().insert(InProcess(admin));
        self.runtime.block_on(async {
            let Ok(response) = ApiService::new(Arc::clone(&self.cluster)).oneshot(request).await;
            let (parts, body) = response.into_parts();
            // A watch has no length and no end.
            http_body::Body::size_hint(&body).exact()?;
            let Ok(bytes) = body.collect().await.map(http_body_util::Collected::to_bytes);
            let object =
                (is_json(&parts.headers) && !bytes.is_empty()).then(|| json::read(&bytes).expect("JSON is JSON").value);
            Some(Answer { code: parts.status, object })
        })
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let is_plain = !headers.contains_key("content-encoding");
    is_plain && headers.get("content-type").is_some_and(|value| value == "application/json")
}

/// What requests can be about: kinds with much to check, and a custom one.
fn first_objects() -> Vec<(&'static str, Value)> {
    let template =
        json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}});
    let core = |kind: &str, rest: Value| object("v1", kind, rest);
    vec![
        ("/api/v1/namespaces/default/configmaps", core("ConfigMap", json!({"data": {"a": "1"}}))),
        ("/api/v1/namespaces/default/secrets", core("Secret", json!({"data": {"a": "YQ=="}, "type": "Opaque"}))),
        ("/api/v1/namespaces/default/serviceaccounts", core("ServiceAccount", json!({}))),
        ("/api/v1/namespaces/default/pods", core("Pod", json!({"spec": template["spec"]}))),
        (
            "/api/v1/namespaces/default/services",
            core("Service", json!({"spec": {"selector": {"app": "web"}, "ports": [{"name": "a", "port": 80}]}})),
        ),
        ("/api/v1/nodes", core("Node", json!({}))),
        (
            "/apis/apps/v1/namespaces/default/deployments",
            object(
                "apps/v1",
                "Deployment",
                json!({"spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template}}),
            ),
        ),
        (
            "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
            object(
                "networking.k8s.io/v1",
                "Ingress",
                json!({"spec": {"defaultBackend": {"service": {"name": "one", "port": {"number": 80}}}}}),
            ),
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
            object(
                "rbac.authorization.k8s.io/v1",
                "Role",
                json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
            ),
        ),
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition()),
        (
            "/apis/example.com/v1/namespaces/default/widgets",
            object("example.com/v1", "Widget", json!({"spec": {"size": 3, "words": ["a"], "parts": [{"name": "p"}]}})),
        ),
    ]
}

/// An object named `one`.
fn object(api_version: &str, kind: &str, mut rest: Value) -> Value {
    rest["apiVersion"] = api_version.into();
    rest["kind"] = kind.into();
    rest["metadata"] = json!({"name": "one", "labels": {"app": "web"}});
    rest
}

/// A custom kind with something of all that schemas can say.
fn definition() -> Value {
    let schema = json!({"type": "object", "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "x-kubernetes-validations": [
                {"rule": "self.size <= self.limit", "message": "too large"},
                {"rule": "self.words.all(word, word.size() < 10)"},
                {"rule": "!has(oldSelf.fixed) || self.fixed == oldSelf.fixed"},
            ],
            "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 100},
                "limit": {"type": "integer", "default": 50},
                "fixed": {"type": "string", "maxLength": 20, "pattern": "^[a-z]+$"},
                "when": {"type": "string", "format": "date-time"},
                "port": {"x-kubernetes-int-or-string": true},
                "words": {"type": "array", "maxItems": 10, "x-kubernetes-list-type": "set",
                    "items": {"type": "string", "maxLength": 30}},
                "parts": {"type": "array", "maxItems": 10, "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "required": ["name"], "properties": {
                        "name": {"type": "string"}, "count": {"type": "integer", "default": 1}}}},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "anything": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                "template": {"type": "object", "x-kubernetes-embedded-resource": true,
                    "x-kubernetes-preserve-unknown-fields": true},
            },
        },
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "phase": {"type": "string",
            "enum": ["Fine", "Ill"]}}},
    }});
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.replicas"}},
        "selectableFields": [{"jsonPath": ".spec.size"}],
        "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "versions": [version],
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}}})
}
