//! The parsers of outside input, each as a function of bytes that must come back, whatever the bytes are.
//!
//! The bounded tests of this crate feed them with generated input; the targets in `fuzz/` feed them for as long as
//! one likes.

use roost_access::token::{BootstrapToken, TokenVerifier};
use roost_kinds::TypeRef;
use roost_merge::{json_patch, merge_patch, strategic};
use roost_object::selector::{FieldSelector, Selector};
use roost_object::{Value, json, yaml};
use roost_pki::{Certificate, CertificateRequest};
use roost_schema::cel::{self, Type};
use roost_schema::columns::JsonPath;

/// Every patch of every kind on every document: the bytes are a document and a patch with a zero byte between them.
pub fn patch(data: &[u8]) {
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let (document, patch) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let Ok(document) = json::read(document) else { return };
    if let Ok(patched) = json_patch::apply(&document.value, patch) {
        assert!(serde_json::to_vec(&patched).is_ok(), "a patched document can be written");
    }
    let Ok(patch) = json::read(patch) else { return };
    if merge_patch::check(&patch.value).is_ok() {
        let once = merge_patch::apply(document.value.clone(), patch.value.clone());
        let twice = merge_patch::apply(once.clone(), patch.value.clone());
        assert_eq!(once, twice, "a merge patch that was applied changes nothing more");
    }
    let Some(ty) = roost_kinds::type_of("v1", "Pod") else { return };
    let _ = strategic::apply(document.value, patch.value, TypeRef::from(ty));
}

/// Label and field selectors; what can be read can be written and read again.
pub fn selector(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(selector) = Selector::parse(text) {
        let again = Selector::parse(&selector.to_string());
        assert_eq!(again.map(|again| again.to_string()).ok(), Some(selector.to_string()));
    }
    if let Ok(selector) = FieldSelector::parse(text) {
        assert!(FieldSelector::parse(&selector.to_string()).is_ok(), "{selector} cannot be read again");
    }
}

/// Expressions, compiled and, where that works, evaluated on a small object within a budget.
pub fn expression(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(compiled) = cel::compile(text, &[("self", Type::Dyn), ("oldSelf", Type::Dyn)]) else { return };
    let object = serde_json::json!({"a": [1, 2.5, "three", null, {"b": true}], "s": "some words", "n": -7});
    let variable = |name: &str| (name == "self" || name == "oldSelf").then(|| cel::Value::from(&object));
    let _ = compiled.program.evaluate(&variable, cel::PER_CALL_LIMIT);
}

/// Paths of printer columns, looked up in a small object.
pub fn json_path(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(path) = JsonPath::parse(text) else { return };
    let object = serde_json::json!({"a": [{"b": 1}, {"b": "c", "d": [[1, 2], [3]]}], "status": {"x": {"y": null}}});
    let _ = path.find(&object);
    let _ = path.first(&object);
}

/// Certificate requests and certificates, as PEM and as DER.
pub fn certificate_request(data: &[u8]) {
    let _ = CertificateRequest::from_der(data);
    let _ = Certificate::from_der(data);
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = CertificateRequest::from_pem(text);
    let _ = Certificate::from_pem(text);
}

/// Service account tokens and bootstrap tokens; no bytes are a token of somebody whose key is not known.
pub fn token(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let verifier = TokenVerifier::new(vec!["https://issuer.example.com".to_owned()], Vec::new(), Vec::new());
    assert!(!matches!(verifier.verify(text, None), Ok(Some(_))), "a token without a known key was believed");
    let _ = BootstrapToken::parse(text);
}

/// Bodies as JSON and as YAML; both readers agree with themselves.
pub fn document(data: &[u8]) {
    if let Ok(document) = json::read(data) {
        let text = document.value.to_string();
        let again: Option<Value> = json::read(text.as_bytes()).map(|document| document.value).ok();
        assert_eq!(again, Some(document.value), "a document changes when it is written and read again");
    }
    let _ = yaml::read(data);
}
