//! The `Status` object: every refusal of the API, in the words of the stock server.

use serde::{Deserialize, Serialize};

use crate::field;
use crate::group::{GroupKind, GroupResource};

/// An API answer that is not an object: nearly always a failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// `Success` or `Failure`.
    pub status: String,
    /// What a person reads.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// What a program matches on.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The subject, and the causes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<Details>>,
    /// The HTTP status code.
    #[serde(default)]
    pub code: u16,
}

/// What a [`Status`] is about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Details {
    /// The object's name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The object's group.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The resource's plural or the kind, as stock does it for each reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The object's uid.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// One entry a problem.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// When to try again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retry_after_seconds: u32,
}

/// One problem behind a [`Status`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// What kind of problem, for programs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The problem in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The field it lies in.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it by reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Status {
    /// A failure without details.
    pub fn failure(code: u16, reason: &str, message: impl Into<String>) -> Self {
        Self { status: "Failure".into(), message: message.into(), reason: reason.into(), details: None, code }
    }

    fn about(code: u16, reason: &str, resource: &GroupResource, name: &str, message: String) -> Self {
        Self::failure(code, reason, message).with_details(Details {
            name: name.into(),
            group: resource.group.clone(),
            kind: resource.resource.clone(),
            ..Details::default()
        })
    }

    /// Attaches details.
    #[must_use]
    pub fn with_details(mut self, details: Details) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// 404 for an object.
    pub fn not_found(resource: &GroupResource, name: &str) -> Self {
        Self::about(404, "NotFound", resource, name, format!("{resource} {} not found", field::quote(name)))
    }

    /// 404 for a path that no resource serves.
    pub fn unknown_path() -> Self {
        Self::failure(404, "NotFound", "the server could not find the requested resource")
            .with_details(Details::default())
    }

    /// 409 on create.
    pub fn already_exists(resource: &GroupResource, name: &str) -> Self {
        Self::about(409, "AlreadyExists", resource, name, format!("{resource} {} already exists", field::quote(name)))
    }

    /// 409 on update: someone else wrote first, or a precondition does not hold.
    pub fn conflict(resource: &GroupResource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {resource} {}: {why}", field::quote(name));
        Self::about(409, "Conflict", resource, name, message)
    }

    /// 409 of server-side apply, with one cause a field.
    pub fn apply_conflict(causes: Vec<Cause>, message: impl Into<String>) -> Self {
        Self::failure(409, "Conflict", message).with_details(Details { causes, ..Details::default() })
    }

    /// 401.
    pub fn unauthorized() -> Self {
        Self::failure(401, "Unauthorized", "Unauthorized")
    }

    /// 403 by authorization or admission.
    pub fn forbidden(resource: &GroupResource, name: &str, why: &str) -> Self {
        let message = if resource.resource.is_empty() && resource.group.is_empty() {
            format!("forbidden: {why}")
        } else if name.is_empty() {
            format!("{resource} is forbidden: {why}")
        } else {
            format!("{resource} {} is forbidden: {why}", field::quote(name))
        };
        Self::about(403, "Forbidden", resource, name, message)
    }

    /// 422 with one cause a field error.
    pub fn invalid(kind: &GroupKind, name: &str, errors: &[field::Error]) -> Self {
        let subject = format!("{kind} {} is invalid", field::quote(name));
        let message = if errors.is_empty() { subject } else { format!("{subject}: {}", field::aggregate(errors)) };
        let causes = errors
            .iter()
            .map(|error| Cause { reason: error.kind.cause().into(), message: error.body(), field: error.field.clone() })
            .collect();
        Self::failure(422, "Invalid", message).with_details(Details {
            name: name.into(),
            group: kind.group.clone(),
            kind: kind.kind.clone(),
            causes,
            ..Details::default()
        })
    }

    /// 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::failure(400, "BadRequest", message)
    }

    /// 405.
    pub fn method_not_supported(resource: &GroupResource, action: &str) -> Self {
        let message = format!("{action} is not supported on resources of kind {}", field::quote(&resource.to_string()));
        Self::about(405, "MethodNotAllowed", resource, "", message)
    }

    /// 406.
    pub fn not_acceptable(accepted: &[&str]) -> Self {
        let message = format!("only the following media types are accepted: {}", accepted.join(", "));
        Self::failure(406, "NotAcceptable", message)
    }

    /// 415.
    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::failure(415, "UnsupportedMediaType", message)
    }

    /// 410: the asked-for revision is compacted away.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::failure(410, "Expired", message)
    }

    /// 413.
    pub fn too_large(message: &str) -> Self {
        Self::failure(413, "RequestEntityTooLarge", format!("Request entity too large: {message}"))
    }

    /// 429 with the time to wait.
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        Self::failure(429, "TooManyRequests", message)
            .with_details(Details { retry_after_seconds, ..Details::default() })
    }

    /// 500.
    pub fn internal(why: impl Into<String>) -> Self {
        let why = why.into();
        let message = format!("Internal error occurred: {why}");
        Self::failure(500, "InternalError", message)
            .with_details(Details { causes: vec![Cause { message: why, ..Cause::default() }], ..Details::default() })
    }

    /// 503.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::failure(503, "ServiceUnavailable", message)
    }

    /// 504.
    pub fn timeout(message: &str) -> Self {
        Self::failure(504, "Timeout", format!("Timeout: {message}")).with_details(Details::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_qualified_resource() {
        let deployments = GroupResource::new("apps", "deployments");
        assert_eq!(Status::not_found(&deployments, "web").message, r#"deployments.apps "web" not found"#);
        assert_eq!(
            Status::conflict(&GroupResource::new("", "pods"), "a", "try again").message,
            r#"Operation cannot be fulfilled on pods "a": try again"#
        );
    }
}
