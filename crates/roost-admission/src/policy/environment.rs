//! What expressions of policies can use, and of which types it is.

use std::sync::{Arc, LazyLock};

use roost_schema::cel::{Declared, ObjectType, Type};

/// Which variables there are beside those that are always there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope {
    /// `params`.
    pub(super) parameters: bool,
    /// `authorizer`.
    pub(super) authorizer: bool,
    /// Whether objects and patches can be made.
    pub(super) constructs: bool,
}

fn object(name: &str, fields: Vec<(&str, Type<'static>)>) -> Type<'static> {
    let fields = fields.into_iter().map(|(name, kind)| (name.to_owned(), kind)).collect();
    Type::Object(ObjectType::Declared(Arc::new(Declared { name: name.to_owned(), fields })))
}

static REQUEST: LazyLock<Type<'static>> = LazyLock::new(|| {
    let texts = |names: [&'static str; 3]| names.into_iter().map(|name| (name, Type::String)).collect();
    let kind = object("kubernetes.GroupVersionKind", texts(["group", "version", "kind"]));
    let resource = object("kubernetes.GroupVersionResource", texts(["group", "version", "resource"]));
    let user = object(
        "kubernetes.UserInfo",
        vec![
            ("username", Type::String),
            ("uid", Type::String),
            ("groups", Type::list(Type::String)),
            ("extra", Type::map(Type::String, Type::list(Type::String))),
        ],
    );
    object(
        "kubernetes.AdmissionRequest",
        vec![
            ("kind", kind.clone()),
            ("resource", resource.clone()),
            ("subResource", Type::String),
            ("requestKind", kind),
            ("requestResource", resource),
            ("requestSubResource", Type::String),
            ("name", Type::String),
            ("namespace", Type::String),
            ("operation", Type::String),
            ("userInfo", user),
            ("dryRun", Type::Bool),
            ("options", Type::Dyn),
        ],
    )
});

static NAMESPACE: LazyLock<Type<'static>> = LazyLock::new(|| {
    let strings = || Type::list(Type::String);
    let map = || Type::map(Type::String, Type::String);
    let metadata = object(
        "kubernetes.NamespaceMetadata",
        vec![
            ("name", Type::String),
            ("generateName", Type::String),
            ("namespace", Type::String),
            ("labels", map()),
            ("annotations", map()),
            ("UID", Type::String),
            ("creationTimestamp", Type::Timestamp),
            ("deletionGracePeriodSeconds", Type::Int),
            ("deletionTimestamp", Type::Timestamp),
            ("generation", Type::Int),
            ("resourceVersion", Type::String),
            ("finalizers", strings()),
        ],
    );
    let condition = object(
        "kubernetes.NamespaceCondition",
        vec![
            ("status", Type::String),
            ("type", Type::String),
            ("lastTransitionTime", Type::Timestamp),
            ("message", Type::String),
            ("reason", Type::String),
        ],
    );
    let status =
        object("kubernetes.NamespaceStatus", vec![("conditions", Type::list(condition)), ("phase", Type::String)]);
    let spec = object("kubernetes.NamespaceSpec", vec![("finalizers", strings())]);
    object("kubernetes.Namespace", vec![("metadata", metadata), ("spec", spec), ("status", status)])
});

/// The variables of a scope. `composed` are those that the policy itself defines; none where it cannot.
pub(super) fn variables(scope: Scope, composed: Option<&[(String, Type<'static>)]>) -> Vec<(String, Type<'static>)> {
    let library = |name: &'static str| Type::Object(ObjectType::Library(name));
    let mut all = vec![
        ("object".to_owned(), Type::Dyn),
        ("oldObject".to_owned(), Type::Dyn),
        ("namespaceObject".to_owned(), NAMESPACE.clone()),
        ("request".to_owned(), REQUEST.clone()),
    ];
    if scope.parameters {
        all.push(("params".to_owned(), Type::Dyn));
    }
    if scope.authorizer {
        all.push(("authorizer".to_owned(), library("kubernetes.authorization.Authorizer")));
        all.push(("authorizer.requestResource".to_owned(), library("kubernetes.authorization.ResourceCheck")));
    }
    if let Some(composed) = composed {
        let declared = Declared { name: "kubernetes.variables".to_owned(), fields: composed.to_vec() };
        all.push(("variables".to_owned(), Type::Object(ObjectType::Declared(Arc::new(declared)))));
        // Each is a variable of its own, so that it is evaluated only when it is used.
        all.extend(composed.iter().map(|(name, kind)| (format!("variables.{name}"), kind.clone())));
    }
    all
}
