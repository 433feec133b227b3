//! What reads outside input, each as a function of bytes that must come back whatever the bytes are, and that checks what
//! must hold of the answer.
//!
//! This crate is apart from the other tests so that it needs few crates: a fuzzer compiles all of them with its
//! instruments. The tests here feed the functions with generated input, the targets in `fuzz/` under libFuzzer.

mod apply;
mod certificates;
mod documents;
mod expressions;
mod patches;
mod protobuf;
mod requests;
mod schemas;
mod seeds;
mod selectors;
mod tokens;

pub use apply::apply;
pub use certificates::certificate_request;
pub use documents::{document, object};
pub use expressions::{expression, json_path};
pub use patches::patch;
pub use protobuf::protobuf;
pub use requests::request;
pub use schemas::{pattern, schema};
pub use seeds::{Seeds, seeds};
pub use selectors::{quantity, selector};
pub use tokens::token;

/// A function of bytes, by the name of its target in `fuzz/`.
pub type Target = (&'static str, fn(&[u8]));

/// All targets. What takes whole requests comes last: it is the slowest.
pub const TARGETS: &[Target] = &[
    ("apply", apply),
    ("certificate_request", certificate_request),
    ("document", document),
    ("expression", expression),
    ("json_path", json_path),
    ("object", object),
    ("patch", patch),
    ("pattern", pattern),
    ("protobuf", protobuf),
    ("quantity", quantity),
    ("schema", schema),
    ("selector", selector),
    ("token", token),
    ("request", request),
];

/// Two inputs in one: what comes before the first zero byte, and what comes after it.
fn halves(data: &[u8]) -> (&[u8], &[u8]) {
    let mut halves = data.splitn(2, |byte| *byte == 0);
    (halves.next().unwrap_or_default(), halves.next().unwrap_or_default())
}

/// The type of the built-in kind that an object says it is, else of a Pod.
fn type_of(object: &roost_object::Value) -> &'static roost_kinds::Type {
    let text = |name: &str| object.get(name).and_then(roost_object::Value::as_str).unwrap_or_default();
    roost_kinds::type_of(text("apiVersion"), text("kind"))
        .or_else(|| roost_kinds::type_of("v1", "Pod"))
        .expect("pods are a built-in kind")
}
