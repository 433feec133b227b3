//! Questions about access from expressions, answered by the tenant's own authorizer.

use roost_access::user::service_account_name;
use roost_access::{Attributes, Decision, ResourceAttributes, User};
use roost_object::selector::{FieldSelector, Selector};
use roost_schema::cel::{AccessCheck, AccessDecision, AccessSubject, Authorize};

use crate::call::Call;

/// Who makes a request, or a service account that an expression asks about.
pub(in super::super) struct Caller<'a>(pub(in super::super) &'a Call);

impl Authorize for Caller<'_> {
    fn decide(&self, check: &AccessCheck, verb: &str) -> AccessDecision {
        let account;
        let user = match &check.service_account {
            None => &self.0.user,
            Some((namespace, name)) => {
                let groups = [
                    "system:serviceaccounts".to_owned(),
                    format!("system:serviceaccounts:{namespace}"),
                    "system:authenticated".to_owned(),
                ];
                account = User::new(service_account_name(namespace, name), groups);
                &account
            }
        };
        let (fields, labels);
        let attributes = match &check.subject {
            AccessSubject::Path(path) => Attributes::path(user, verb, path),
            AccessSubject::Resource(resource) => {
                let mut attributes = Attributes::resource(
                    user,
                    verb,
                    ResourceAttributes {
                        group: &resource.group,
                        version: "*",
                        resource: &resource.resource,
                        subresource: &resource.subresource,
                        namespace: &resource.namespace,
                        name: &resource.name,
                    },
                );
                fields = resource.field_selector.as_deref().and_then(|text| FieldSelector::parse(text).ok());
                labels = resource.label_selector.as_deref().and_then(|text| Selector::parse(text).ok());
                attributes.field_selector = fields.as_ref();
                attributes.label_selector = labels.as_ref();
                attributes
            }
            AccessSubject::Anything | AccessSubject::Group(_) => return AccessDecision::default(),
        };
        let cluster = &self.0.cluster;
        let decision = cluster.authorizer.decide(cluster, &attributes);
        AccessDecision {
            allowed: matches!(decision, Decision::Allow(_)),
            reason: decision.reason().to_string(),
            error: None,
        }
    }
}
