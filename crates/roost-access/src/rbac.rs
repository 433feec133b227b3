//! Role based access control: rules, the index of who has them, aggregation, and the checks against escalation.

mod aggregate;
mod cover;
mod escalation;
mod grant;
mod index;
mod rule;

pub use aggregate::{aggregate, is_aggregated};
pub use cover::{compact, covers};
pub use escalation::{
    EscalationRequest, check_binding, check_role, confirm_no_escalation, only_changes_garbage_collection_fields,
};
pub use grant::{Grant, RoleReference, Subject, SubjectKind};
pub(crate) use index::join_errors;
pub use index::{ObjectKind, RbacIndex, ResolvedRules, UnresolvedRole};
pub(crate) use rule::quote_list;
pub use rule::{Rule, RuleSet};

/// The API group of roles and bindings.
pub const GROUP: &str = "rbac.authorization.k8s.io";
