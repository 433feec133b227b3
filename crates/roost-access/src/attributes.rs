//! What a request wants, as far as authorization cares, and how a refusal of it reads.

use roost_object::field::quote;
use roost_object::selector::{FieldSelector, Selector};
use roost_object::{GroupResource, Status};

use crate::user::User;

/// What is asked of a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceAttributes<'a> {
    /// The API group; empty for the core group.
    pub group: &'a str,
    /// The version, such as `v1`.
    pub version: &'a str,
    /// The plural.
    pub resource: &'a str,
    /// The subresource, such as `status`; empty for the resource itself.
    pub subresource: &'a str,
    /// The namespace; empty for cluster-scoped resources and for all namespaces.
    pub namespace: &'a str,
    /// The object's name; empty for collections.
    pub name: &'a str,
}

/// A request that needs a permission.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    /// Who asks.
    pub user: &'a User,
    /// The API verb for resources, the lowercase HTTP method otherwise.
    pub verb: &'a str,
    /// What is asked for; none for a path that is no resource.
    pub resource: Option<ResourceAttributes<'a>>,
    /// The path of the request.
    pub path: &'a str,
    /// What a list, watch or deletion of a collection is limited to by fields.
    pub field_selector: Option<&'a FieldSelector>,
    /// What a list, watch or deletion of a collection is limited to by labels.
    pub label_selector: Option<&'a Selector>,
}

impl<'a> Attributes<'a> {
    /// A request for a resource.
    pub fn resource(user: &'a User, verb: &'a str, resource: ResourceAttributes<'a>) -> Self {
        Self { user, verb, resource: Some(resource), path: "", field_selector: None, label_selector: None }
    }

    /// A request for a path that is no resource.
    pub fn path(user: &'a User, verb: &'a str, path: &'a str) -> Self {
        Self { user, verb, resource: None, path, field_selector: None, label_selector: None }
    }

    /// The namespace asked for; empty when there is none.
    pub fn namespace(&self) -> &'a str {
        self.resource.map_or("", |resource| resource.namespace)
    }

    /// Whether the request only looks.
    pub fn is_read_only(&self) -> bool {
        matches!(self.verb, "get" | "list" | "watch")
    }

    /// The sentence of a refusal, without what it is about and without a reason.
    pub fn refusal(&self) -> String {
        let user = quote(&self.user.name);
        let verb = self.verb;
        let Some(resource) = &self.resource else {
            return format!("User {user} cannot {verb} path {}", quote(self.path));
        };
        let name = if resource.subresource.is_empty() {
            quote(resource.resource)
        } else {
            quote(&format!("{}/{}", resource.resource, resource.subresource))
        };
        let group = quote(resource.group);
        if resource.namespace.is_empty() {
            format!("User {user} cannot {verb} resource {name} in API group {group} at the cluster scope")
        } else {
            let namespace = quote(resource.namespace);
            format!("User {user} cannot {verb} resource {name} in API group {group} in the namespace {namespace}")
        }
    }

    /// The 403 for this request. The reason is what the authorizers said, empty for nothing.
    pub fn forbidden(&self, reason: &str) -> Status {
        let mut why = escape_markup(&self.refusal());
        if !reason.is_empty() {
            why.push_str(": ");
            why.push_str(reason);
        }
        let resource = self.resource.unwrap_or_default();
        Status::forbidden(&GroupResource::new(resource.group, resource.resource), resource.name, &why)
    }
}

/// Browsers must not take an error text for markup.
fn escape_markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_read_as_stock_words_them() {
        let user = User::new("u", ["g"]);
        let pods = ResourceAttributes { version: "v1", resource: "pods", namespace: "ns", ..Default::default() };
        let scale = ResourceAttributes {
            group: "apps",
            version: "v1",
            resource: "deployments",
            subresource: "scale",
            namespace: "ns",
            name: "web",
        };
        let nodes = ResourceAttributes { version: "v1", resource: "nodes", name: "n", ..Default::default() };
        let cases = [
            (
                Attributes::resource(&user, "list", pods).forbidden(""),
                r#"pods is forbidden: User "u" cannot list resource "pods" in API group "" in the namespace "ns""#,
            ),
            (
                Attributes::resource(&user, "update", scale).forbidden(""),
                r#"deployments.apps "web" is forbidden: User "u" cannot update resource "deployments/scale" in API group "apps" in the namespace "ns""#,
            ),
            (
                Attributes::resource(&user, "get", nodes).forbidden("RBAC: because"),
                r#"nodes "n" is forbidden: User "u" cannot get resource "nodes" in API group "" at the cluster scope: RBAC: because"#,
            ),
            (Attributes::path(&user, "get", "/x").forbidden(""), r#"forbidden: User "u" cannot get path "/x""#),
            (
                Attributes::path(&user, "get", "/<a>&b").forbidden(""),
                r#"forbidden: User "u" cannot get path "/&lt;a&gt;&amp;b""#,
            ),
        ];
        for (status, message) in cases {
            assert_eq!(status.message, message);
            assert_eq!((status.code, &*status.reason), (403, "Forbidden"));
        }
    }
}
