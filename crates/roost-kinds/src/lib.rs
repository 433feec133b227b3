//! The built-in kinds as generated tables, and the codecs that read them: JSON as Go reads it, protobuf, discovery, OpenAPI.
//!
//! The tables live in `generated` and hold facts only. Everything else in this crate is generic code that reads them.

mod avoided_pods;
pub mod bootstrap;
pub mod convert;
pub mod discovery;
#[cfg_attr(
    not(test),
    expect(clippy::wildcard_imports, reason = "the generated files name hundreds of each other's statics")
)]
#[rustfmt::skip]
mod generated;
pub mod json;
pub mod openapi;
pub mod protobuf;
pub mod table;
mod type_ref;
pub mod unstructured;
pub mod version;
mod zero;

pub use avoided_pods::AVOIDED_PODS;
pub use convert::convert;
pub use table::{Element, Field, ListType, Omit, Resource, Shape, Subresource, Type, Version};
pub use type_ref::TypeRef;

/// Every resource that a stock server serves by default, in the order of its discovery documents.
pub fn resources() -> &'static [Resource] {
    generated::resources::RESOURCES
}

/// Every served version of a group, in the order of the discovery documents.
pub fn versions() -> &'static [Version] {
    generated::resources::VERSIONS
}

/// Finds a resource by what its URL says.
pub fn resource(group: &str, version: &str, plural: &str) -> Option<&'static Resource> {
    resources()
        .iter()
        .find(|resource| resource.plural == plural && resource.group == group && resource.version == version)
}

/// Finds a resource by what its objects say.
pub fn resource_of(api_version: &str, kind: &str) -> Option<&'static Resource> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    resources().iter().find(|resource| {
        resource.kind == kind
            && resource.group == group
            && resource.version == version
            && !resource.storage_version_hash.is_empty()
    })
}

/// Finds the type of an object, a list, or a body such as `Scale`, `Eviction` or `DeleteOptions`.
///
/// The option kinds exist in every group version, as they do on a stock server.
pub fn type_of(api_version: &str, kind: &str) -> Option<&'static Type> {
    let roots = generated::roots::ROOTS;
    let find = |api_version: &str| {
        roots.binary_search_by(|(version, name, _)| (*version, *name).cmp(&(api_version, kind))).ok()
    };
    let found = find(api_version).or_else(|| match kind {
        "CreateOptions" | "DeleteOptions" | "GetOptions" | "ListOptions" | "PatchOptions" | "UpdateOptions"
        | "WatchEvent" => find("v1"),
        // The views of objects were the same before they were stable.
        _ if api_version == "meta.k8s.io/v1beta1" => find("meta.k8s.io/v1"),
        _ => None,
    });
    found.map(|index| roots[index].2)
}

/// Every root kind with its `apiVersion`, sorted.
pub fn roots() -> impl Iterator<Item = (&'static str, &'static str, &'static Type)> {
    generated::roots::ROOTS.iter().copied()
}
