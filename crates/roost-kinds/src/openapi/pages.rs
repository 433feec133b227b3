//! The documents about the server itself: discovery, version and `OpenID`.

use std::borrow::Cow;

use super::document::Document;
use super::route::{FOUND, JSON, Model, OBJECTS, Route};
use super::{Generation, KUBERNETES_VERSION};

/// The documents that belong to no group.
pub(super) const NAMES: [&str; 5] = [".well-known/openid-configuration", "api", "apis", "openid/v1/jwks", "version"];

/// The name of the document about a group; the core group has that of its versions.
pub(super) fn group_name(group: &str) -> String {
    if group.is_empty() { "api".to_owned() } else { format!("apis/{group}") }
}

/// The name of the document of a group version, which is also the path of its resources.
pub(super) fn version_name(group: &str, version: &str) -> String {
    format!("{}/{version}", group_name(group))
}

/// The document with a name that is no group version.
pub(super) fn document(name: &str) -> Option<Document<'static>> {
    let route = match name {
        "api" => page(name, "getAPIVersions", "get available API versions", "APIVersions"),
        "apis" => page(name, "getAPIVersions", "get available API versions", "APIGroupList"),
        "version" => Route {
            consumes: &[JSON],
            produces: &[JSON],
            answer: Model::Schema(Cow::Borrowed("io.k8s.apimachinery.pkg.version.Info")),
            ..page(name, "getCodeVersion", "get the version information for this server", "")
        },
        "openid/v1/jwks" => Route {
            produces: &["application/jwk-set+json"],
            answer: Model::Text,
            ..page(
                name,
                "getServiceAccountIssuerOpenIDKeyset",
                "get service account issuer OpenID JSON Web Key Set (contains public token verification keys)",
                "",
            )
        },
        ".well-known/openid-configuration" => Route {
            produces: &[JSON],
            answer: Model::Text,
            ..page(
                name,
                "getServiceAccountIssuerOpenIDConfiguration",
                "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'",
                "",
            )
        },
        _ => {
            let group = name.strip_prefix("apis/")?;
            crate::versions().iter().find(|version| version.group == group && !group.is_empty())?;
            page(name, "getAPIGroup", "get information of a group", "APIGroup")
        }
    };
    let mut document = Document::new(Generation::V3, "Kubernetes", KUBERNETES_VERSION);
    document.secured = true;
    document.routes.push(route);
    document.collect_references();
    Some(document)
}

/// The route that lists the resources of a group version.
pub(super) fn resources(group: &str, version: &str) -> Route {
    page(&version_name(group, version), "getAPIResources", "get available resources", "APIResourceList")
}

fn page(name: &str, operation: &str, description: &str, kind: &str) -> Route {
    Route {
        path: format!("/{name}/"),
        method: "get",
        operation: operation.to_owned(),
        description: description.to_owned(),
        action: None,
        parameters: Vec::new(),
        body: None,
        consumes: if kind.is_empty() { &[] } else { OBJECTS },
        produces: OBJECTS,
        responses: FOUND,
        answer: Model::Schema(Cow::Owned(format!("io.k8s.apimachinery.pkg.apis.meta.v1.{kind}"))),
    }
}
