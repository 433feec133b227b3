//! Ownership of fields: what writes take, and what server-side apply merges, gives up and refuses.

use std::borrow::Cow;

use roost_object::Status;
use roost_object::merge::Node;
use serde_json::Value;

use crate::conflict::{self, Conflict};
use crate::last_applied;
use crate::managed::{Entry, FieldSet, Filter, Managed, Operation};
pub use crate::typed::Holds;
use crate::typed::{self, TypeErrors};

mod merger;
mod track;

use merger::{Merger, Outcome};

/// Who kubectl is when it applies on the server's side.
const KUBECTL: &str = "kubectl";

/// No object: what a custom resource is before its creation.
pub const NOTHING: &Value = &Value::Null;

/// Who writes, what, through what, and when.
#[derive(Clone, Copy, Debug)]
pub struct Tracking<'a> {
    /// The field manager's name.
    pub manager: &'a str,
    /// The version of the request, such as `apps/v1`.
    pub api_version: &'a str,
    /// The kind of the request; empty if the caller has checked it.
    pub kind: &'a str,
    /// The subresource of the request; empty for the main resource.
    pub subresource: &'a str,
    /// The time of the request, in UTC, RFC 3339 and whole seconds.
    pub now: &'a str,
    /// What the resource lets this request change.
    pub filter: &'a Filter,
    /// The kind with nothing set, as stock's Go type prints it: structs that are not behind a pointer are there and
    /// empty, and so nobody comes to own them. [`NOTHING`] for custom resources.
    pub empty: &'a Value,
}

impl<'a> Tracking<'a> {
    /// A write of a main resource of which everything counts.
    pub fn new(manager: &'a str, api_version: &'a str, now: &'a str) -> Self {
        Self { manager, api_version, kind: "", subresource: "", now, filter: Filter::EVERYTHING, empty: NOTHING }
    }

    fn entry(&self, manager: &str, operation: Operation) -> Entry {
        let manager = if manager.is_empty() { "unknown" } else { manager };
        Entry {
            manager: manager.to_owned(),
            operation,
            api_version: self.api_version.to_owned(),
            subresource: self.subresource.to_owned(),
            time: None,
            fields: FieldSet::new(),
        }
    }
}

/// Gives an object in other versions, for entries of managers that wrote in those.
pub trait Versions<N> {
    /// The object in a version and that version's schema; none if the version is not served any more.
    fn convert<'o>(&self, object: &'o Value, api_version: &str) -> Option<(Cow<'o, Value>, N)>;

    /// Whether a version has the fields of the request's version, so that nothing needs to be compared again.
    fn is_alike(&self, _api_version: &str) -> bool {
        false
    }
}

/// Versions of one group that differ in nothing but their name.
#[derive(Clone, Copy, Debug)]
pub struct AlikeVersions<'a, N> {
    /// The version of the objects.
    pub api_version: &'a str,
    /// The schema of all versions.
    pub node: N,
}

impl<N: Node> Versions<N> for AlikeVersions<'_, N> {
    fn convert<'o>(&self, object: &'o Value, api_version: &str) -> Option<(Cow<'o, Value>, N)> {
        self.is_alike(api_version).then_some((Cow::Borrowed(object), self.node))
    }

    fn is_alike(&self, api_version: &str) -> bool {
        let group = |version: &str| version.rsplit_once('/').map_or(0, |(group, _)| group.len());
        self.api_version[..group(self.api_version)] == api_version[..group(api_version)]
    }
}

/// Why an apply fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// Other managers own fields that would change.
    #[error("{}", conflict::message(.0))]
    Conflicts(Vec<Conflict>),
    /// The configuration is not one: the caller must send another.
    #[error("{0}")]
    BadRequest(String),
    /// What stock reports as an internal error although the configuration is at fault.
    #[error("{0}")]
    Internal(String),
}

impl ApplyError {
    /// The answer to the client.
    pub fn status(&self) -> Status {
        match self {
            ApplyError::Conflicts(conflicts) => {
                Status::apply_conflict(conflicts.iter().map(Conflict::cause).collect(), self.to_string())
            }
            ApplyError::BadRequest(message) => Status::bad_request(message.clone()),
            ApplyError::Internal(message) => Status::failure(500, "", message.clone()),
        }
    }
}

/// Tracks a create, update or patch: sets `metadata.managedFields` of `new`.
///
/// `live` is none for a create. The request's own `managedFields` count if they decode, so that a client can edit them;
/// an object that cannot be tracked loses them.
pub fn update<N: Node>(live: Option<&Value>, new: &mut Value, request: &Tracking<'_>, node: N) {
    update_in_versions(live, new, request, node, &AlikeVersions { api_version: request.api_version, node });
}

/// [`update`] for a kind whose versions differ.
pub fn update_in_versions<N: Node>(
    live: Option<&Value>,
    new: &mut Value,
    request: &Tracking<'_>,
    node: N,
    versions: &impl Versions<N>,
) {
    let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let sent = metadata.remove("managedFields");
    let entries = match track::update_in_place(live, new, sent, request, node) {
        Ok(entries) => entries,
        Err(sent) => track::update(live, new, sent.as_ref(), request, node, versions).map(Managed::encode),
    };
    let metadata = new.get_mut("metadata").and_then(Value::as_object_mut);
    if let (Some(metadata), Some(entries)) = (metadata, entries.filter(|entries| !entries.is_empty())) {
        metadata.insert("managedFields".to_owned(), Value::Array(entries));
    }
}

/// Server-side apply: merges `config` into `live` for the request's manager.
///
/// Fields that the manager applied before and does not apply now are removed unless someone else owns them. Fields that
/// others own and that would change are conflicts unless `force`. For a create, `live` is [`Tracking::empty`].
pub fn apply<N: Node>(
    live: &Value,
    config: &Value,
    request: &Tracking<'_>,
    force: bool,
    node: N,
) -> Result<Value, ApplyError> {
    let versions = AlikeVersions { api_version: request.api_version, node };
    apply_in_versions(live, config, request, force, node, &versions)
}

/// [`apply`] for a kind whose versions differ.
pub fn apply_in_versions<N: Node>(
    live: &Value,
    config: &Value,
    request: &Tracking<'_>,
    force: bool,
    node: N,
    versions: &impl Versions<N>,
) -> Result<Value, ApplyError> {
    let managed =
        Managed::of(live).map_err(|error| ApplyError::Internal(format!("failed to decode managed fields: {error}")))?;
    check_type(config, request)?;
    let merger = Merger::prepare(live, config, managed, request, node, versions)?;
    let outcome = match merger.run(force) {
        Err(ApplyError::Conflicts(conflicts)) if request.manager == KUBECTL => {
            match last_applied::allowed_conflicts(live, request.api_version, node) {
                None => return Err(ApplyError::Conflicts(conflicts)),
                Some(allowed) => {
                    let refused: Vec<_> =
                        conflicts.into_iter().filter(|conflict| !conflict.path.intersects(&allowed)).collect();
                    if !refused.is_empty() {
                        return Err(ApplyError::Conflicts(refused));
                    }
                    merger.run(true)?
                }
            }
        }
        outcome => outcome?,
    };
    let Outcome { mut object, managed } = outcome;
    managed.store(&mut object);
    if request.manager == KUBECTL && last_applied::is_present(&object) {
        last_applied::refresh(&mut object, config);
    }
    Ok(object)
}

/// Checks a configuration before it is applied, with what the caller knows about scalars: [`apply`] alone does not see
/// a number where a text belongs.
pub fn check<N: Node>(
    config: &Value,
    request: &Tracking<'_>,
    node: N,
    holds: impl Fn(N) -> Holds,
) -> Result<(), ApplyError> {
    check_type(config, request)?;
    typed::validate_types(config, node, holds).map_err(|errors| not_typed(config, &errors))
}

/// Checks the object that a configuration is applied to: its schema may have changed since it was written.
pub fn check_live<N: Node>(live: &Value, node: N, holds: impl Fn(N) -> Holds + Copy) -> Result<(), ApplyError> {
    if is_trackable(live, node, holds) {
        return Ok(());
    }
    typed::validate_types(live, node, holds).map_err(|errors| {
        ApplyError::Internal(format!("failed to create typed live object ({}): {errors}", describe(live)))
    })
}

/// Whether an object can be tracked: stock drops all managers of one in which a value is not of its type, even where the
/// write cannot change that value.
pub fn is_trackable<N: Node>(object: &Value, node: N, holds: impl Fn(N) -> Holds) -> bool {
    typed::is_of_type(object, node, holds)
}

fn check_type(config: &Value, request: &Tracking<'_>) -> Result<(), ApplyError> {
    let text = |name: &str| config.get(name).and_then(Value::as_str).unwrap_or_default();
    if text("apiVersion") != request.api_version || (!request.kind.is_empty() && text("kind") != request.kind) {
        return Err(ApplyError::BadRequest(format!("invalid object type: {}", type_text(config))));
    }
    if config.pointer("/metadata/managedFields").is_some_and(Value::is_array) {
        return Err(ApplyError::BadRequest("metadata.managedFields must be nil".to_owned()));
    }
    Ok(())
}

fn not_typed(config: &Value, errors: &TypeErrors) -> ApplyError {
    ApplyError::Internal(format!("failed to create typed patch object ({}): {errors}", describe(config)))
}

/// Namespace, name and kind, as stock's messages name an object.
fn describe(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    format!("{}/{}; {}", text("/metadata/namespace"), text("/metadata/name"), type_text(object))
}

/// Group, version and kind as Go prints them: the slash stays for the core group.
fn type_text(object: &Value) -> String {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
    // What is no version makes the whole type unknown.
    if version.contains('/') {
        return "/, Kind=".to_owned();
    }
    format!("{group}/{version}, Kind={}", text("kind"))
}
