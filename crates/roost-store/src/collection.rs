//! Owns the name of a collection: all objects of one resource of one tenant.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// Objects of one resource of one tenant: `<tenant>/<group>/<resource>`, where the group may be empty.
///
/// The three parts never contain a slash; that is what makes the joined text unambiguous.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Collection(Arc<str>);

impl Collection {
    /// Joins the three parts.
    ///
    /// # Panics
    /// When a part contains a slash or the resource is empty. The callers' names are DNS labels, so this is a programming
    /// error.
    pub fn new(tenant: &str, group: &str, resource: &str) -> Self {
        assert!(!resource.is_empty(), "the collection of tenant {tenant:?} and group {group:?} has no resource");
        Self::join(tenant, group, resource)
    }

    fn join(tenant: &str, group: &str, resource: &str) -> Self {
        assert!(
            ![tenant, group, resource].iter().any(|part| part.contains('/')),
            "a part of the collection {tenant:?} {group:?} {resource:?} contains a slash"
        );
        let mut text = String::with_capacity(tenant.len() + group.len() + resource.len() + 2);
        text.push_str(tenant);
        text.push('/');
        text.push_str(group);
        text.push('/');
        text.push_str(resource);
        Self(text.into())
    }

    /// Reads the joined form, as it stands in a journal.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('/').skip(2);
        (parts.next().is_some_and(|resource| !resource.is_empty()) && parts.next().is_none()).then(|| Self(text.into()))
    }

    /// The tenant that the objects belong to.
    pub fn tenant(&self) -> &str {
        self.part(0)
    }

    /// The API group, empty for the core group.
    pub fn group(&self) -> &str {
        self.part(1)
    }

    /// The plural name of the resource.
    pub fn resource(&self) -> &str {
        self.part(2)
    }

    /// The joined form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Stands for a tenant as a whole, in the event that says it was dropped.
    pub(crate) fn of_tenant(tenant: &str) -> Self {
        Self::join(tenant, "", "")
    }

    pub(crate) fn same_text(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn part(&self, position: usize) -> &str {
        self.0.split('/').nth(position).unwrap_or_default()
    }
}

impl Borrow<str> for Collection {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Collection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back_as_they_went_in() {
        for (tenant, group, resource) in [("one", "", "pods"), ("two", "apps", "deployments"), ("", "", "nodes")] {
            let collection = Collection::new(tenant, group, resource);
            assert_eq!((collection.tenant(), collection.group(), collection.resource()), (tenant, group, resource));
            assert_eq!(Collection::parse(collection.as_str()), Some(collection));
        }
    }

    #[test]
    fn only_two_slashes_are_a_collection() {
        for text in ["", "pods", "one/pods", "one//pods/extra", "one//"] {
            assert_eq!(Collection::parse(text), None, "{text}");
        }
    }
}
