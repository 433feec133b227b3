//! Whether a policy and its binding are about a write.

use roost_admission::matching::Match;
use roost_admission::policy::{Constraints, Matched};
use roost_object::{Status, Value};

use super::super::Attributes;
use super::super::request::Invocation;
use super::super::webhook::{matches_labels, matches_namespace};

/// How constraints are about a write; none when they are not.
pub(super) fn select(
    attributes: &Attributes<'_>,
    constraints: &Constraints,
    object: &Value,
) -> Result<Option<Invocation>, Status> {
    let in_namespace = matches_namespace(attributes, &constraints.namespaces, object);
    if matches!(in_namespace, Ok(false)) {
        return Ok(None);
    }
    let by_labels = matches_labels(attributes, &constraints.objects, object);
    if matches!(by_labels, Ok(false)) {
        return Ok(None);
    }
    let equivalents = constraints.equivalent.then(|| attributes.equivalents());
    let found = match constraints.matches(&attributes.subject(), equivalents.as_deref()) {
        Matched::No => return Ok(None),
        Matched::Yes(found) => found,
    };
    in_namespace?;
    by_labels?;
    let place = match found {
        Match::Exact => None,
        Match::As(place) => equivalents.as_deref().and_then(|all| all.get(place)),
    };
    Ok(Some(attributes.invocation(place)))
}
