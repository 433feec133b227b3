//! One operation on one path, before it is written in either generation.

use std::borrow::Cow;

/// An operation.
pub(super) struct Route {
    /// The path with its parameters in braces.
    pub(super) path: String,
    /// The method in small letters.
    pub(super) method: &'static str,
    /// The name of the operation, without group and version.
    pub(super) operation: String,
    /// What it does.
    pub(super) description: String,
    /// What the server does about it, and on which kind; none for documents.
    pub(super) action: Option<Action>,
    /// What the path and query may say.
    pub(super) parameters: Vec<Parameter>,
    /// What the request brings.
    pub(super) body: Option<Body>,
    /// The media types of requests.
    pub(super) consumes: &'static [&'static str],
    /// The media types of answers.
    pub(super) produces: &'static [&'static str],
    /// What comes back, by code.
    pub(super) responses: &'static [(&'static str, &'static str)],
    /// What the answers hold.
    pub(super) answer: Model,
}

/// What the server does, and on which kind.
pub(super) struct Action {
    /// The verb of the server, such as `watchlist`.
    pub(super) verb: &'static str,
    /// The group of the kind.
    pub(super) group: String,
    /// The version of the kind.
    pub(super) version: String,
    /// The kind.
    pub(super) kind: String,
}

/// What a request or an answer holds.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Model {
    /// Text.
    Text,
    /// A schema.
    Schema(Cow<'static, str>),
}

/// What a request brings.
pub(super) struct Body {
    /// The schema.
    pub(super) schema: Cow<'static, str>,
    /// Whether it must be there.
    pub(super) required: bool,
}

/// A parameter of a path or query.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Parameter {
    /// The name.
    pub(super) name: &'static str,
    /// Whether it is a part of the path, and so always there.
    pub(super) in_path: bool,
    /// `string`, `boolean` or `integer`.
    pub(super) of_type: &'static str,
    /// What it means.
    pub(super) words: Words,
}

/// Where the words for a parameter come from.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Words {
    /// They are these.
    Are(Cow<'static, str>),
    /// Those of a field of `DeleteOptions`.
    OfDeletion,
}

pub(super) const JSON: &str = "application/json";
pub(super) const YAML: &str = "application/yaml";
pub(super) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// What answers with built-in kinds are encoded in.
pub(super) const OBJECTS: &[&str] = &[JSON, YAML, PROTOBUF];
/// What answers with several built-in kinds are encoded in, one after the other or all at once.
pub(super) const STREAMS: &[&str] =
    &[JSON, YAML, PROTOBUF, "application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"];
/// Anything.
pub(super) const ANYTHING: &[&str] = &["*/*"];

/// The answers to a successful operation on what is there.
pub(super) const FOUND: &[(&str, &str)] = &[("200", "OK")];
/// The answers to a successful replacement.
pub(super) const REPLACED: &[(&str, &str)] = &[("200", "OK"), ("201", "Created")];
/// The answers to a successful creation.
pub(super) const CREATED: &[(&str, &str)] = &[("200", "OK"), ("201", "Created"), ("202", "Accepted")];
/// The answers to a successful deletion.
pub(super) const DELETED: &[(&str, &str)] = &[("200", "OK"), ("202", "Accepted")];

/// The schemas that routes of any kind speak of.
pub(super) const PATCH: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";
pub(super) const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
pub(super) const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
pub(super) const WATCH_EVENT: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent";
pub(super) const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
pub(super) const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
