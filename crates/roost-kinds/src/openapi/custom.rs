//! Custom kinds: the schemas of their definitions and the routes that they bring.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::document::{Document, Source};
use super::names::{custom_schema, title, with_article};
use super::route::{
    Action, Body, CREATED, DELETE_OPTIONS, DELETED, FOUND, JSON, LIST_META, Model, OBJECT_META, PATCH, Parameter,
    REPLACED, Route, STATUS, YAML,
};
use super::{Descriptions, Generation, json_schema, parameters, reference, versions};

const OBJECTS: &[&str] = &[JSON, YAML];
const PATCHES: &[&str] =
    &["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];
const SCALE: &str = "io.k8s.api.autoscaling.v1.Scale";

/// A custom kind in one served version.
#[derive(Clone, Debug)]
pub struct CustomKind<'a> {
    /// The API group.
    pub group: &'a str,
    /// The version.
    pub version: &'a str,
    /// The name in the URL.
    pub plural: &'a str,
    /// The kind of its objects.
    pub kind: &'a str,
    /// The kind of its lists.
    pub list_kind: &'a str,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether it has the status subresource.
    pub status: bool,
    /// Whether it has the scale subresource.
    pub scale: bool,
    /// The schema of the definition; none when it has none.
    pub schema: Option<&'a Value>,
    /// The paths of the fields that lists can be narrowed by, as the definition writes them.
    pub selectable_fields: Vec<&'a str>,
}

/// The document of the custom kinds of one group version.
pub(super) fn document<'a>(kinds: &'a [CustomKind<'a>]) -> Document<'a> {
    let mut document = Document::new(Generation::V3, "Kubernetes CRD Swagger", "v0.1.0");
    document.option_versions = versions::of_clients();
    for kind in kinds {
        add(&mut document, kind);
    }
    document
}

/// Adds a custom kind to a document.
pub(super) fn add<'a>(document: &mut Document<'a>, kind: &'a CustomKind<'a>) {
    document.schemas.insert(Cow::Owned(kind.schema_name()), Source::Custom(kind));
    document.schemas.insert(Cow::Owned(kind.list_schema_name()), Source::CustomList(kind));
    kind.add_routes(&mut document.routes);
    let mut needed = vec![OBJECT_META, LIST_META, STATUS, PATCH, DELETE_OPTIONS];
    if kind.scale {
        needed.push(SCALE);
    }
    for name in needed {
        document.add_schema(Cow::Borrowed(name));
    }
}

/// The schema of the kind.
pub(super) fn schema(kind: &CustomKind, generation: Generation, descriptions: &dyn Descriptions) -> Value {
    let loose = |schema: &&Value| generation == Generation::V2 && json_schema::keeps_unknown_fields(schema);
    let mut schema = match kind.schema.filter(|schema| !loose(schema)) {
        // Clients of the second generation would refuse every field that is not listed.
        None => json!({"type": "object"}),
        Some(schema) => {
            let words = descriptions.of_field("io.k8s.api.core.v1.ConfigMap", "metadata");
            let metadata = json_schema::described_reference(generation, OBJECT_META, words);
            let type_fields = type_fields(descriptions);
            let mut schema = json_schema::published(schema, generation, &|properties| {
                properties.extend(type_fields.clone());
                properties.insert("metadata".into(), metadata.clone());
            });
            json_schema::set_properties(&mut schema, |properties| {
                properties.extend(type_fields.clone());
                properties.insert("metadata".into(), metadata.clone());
            });
            schema
        }
    };
    kind.extend(&mut schema, kind.kind);
    schema
}

/// The schema of the kind's lists.
pub(super) fn list_schema(kind: &CustomKind, generation: Generation, descriptions: &dyn Descriptions) -> Value {
    let words = descriptions.of_field(STATUS, "metadata");
    let mut properties = type_fields(descriptions);
    properties.insert("metadata".into(), json_schema::described_reference(generation, LIST_META, words));
    let guide = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";
    properties.insert(
        "items".into(),
        json!({
            "description": format!("List of {}. More info: {guide}", kind.plural),
            "type": "array",
            "items": reference(generation, &kind.schema_name()),
        }),
    );
    let mut schema = json!({
        "description": format!("{} is a list of {}", kind.list_kind, kind.kind),
        "type": "object",
        "required": ["items"],
        "properties": properties,
    });
    kind.extend(&mut schema, kind.list_kind);
    schema
}

/// The fields that say what an object is.
fn type_fields(descriptions: &dyn Descriptions) -> Map<String, Value> {
    ["apiVersion", "kind"]
        .into_iter()
        .map(|name| {
            let mut field = json!({"type": "string"});
            let words = descriptions.of_field(STATUS, name);
            if !words.is_empty() {
                field["description"] = words.into();
            }
            (name.to_owned(), field)
        })
        .collect()
}

impl CustomKind<'_> {
    fn schema_name(&self) -> String {
        custom_schema(self.group, self.version, self.kind)
    }

    fn list_schema_name(&self) -> String {
        custom_schema(self.group, self.version, self.list_kind)
    }

    fn extend(&self, schema: &mut Value, kind: &str) {
        schema["x-kubernetes-group-version-kind"] =
            json!([{"group": self.group, "version": self.version, "kind": kind}]);
        if !self.selectable_fields.is_empty() {
            let paths = self.selectable_fields.iter();
            schema["x-kubernetes-selectable-fields"] =
                paths.map(|path| json!({"fieldPath": path.strip_prefix('.').unwrap_or(path)})).collect();
        }
    }

    fn add_routes(&self, routes: &mut Vec<Route>) {
        let (kind, plural) = (self.kind, self.plural);
        let root = format!("/apis/{}/{}", self.group, self.version);
        let list = Model::Schema(Cow::Owned(self.list_schema_name()));
        let mut collection = format!("{root}/{plural}");
        let all = |path: &str, operation: String| {
            let mut route = self.route("get", "list", path, operation, "ListOptions");
            route.description = format!("list objects of kind {kind}");
            route.answer = list.clone();
            route
        };
        let scope = if self.namespaced { "Namespaced" } else { "" };
        if self.namespaced {
            routes.push(all(&collection, format!("list{kind}ForAllNamespaces")));
            collection = format!("{root}/namespaces/{{namespace}}/{plural}");
        }
        routes.push(all(&collection, format!("list{scope}{kind}")));

        let mut route = self.route("post", "post", &collection, format!("create{scope}{kind}"), "CreateOptions");
        route.description = format!("create{}", with_article(kind));
        route.body = Some(Body { schema: Cow::Owned(self.schema_name()), required: true });
        route.responses = CREATED;
        routes.push(route);

        let name = format!("deletecollection{scope}{kind}");
        let mut route = self.route("delete", "deletecollection", &collection, name, "ListOptions");
        route.description = format!("delete collection of {kind}");
        route.answer = Model::Schema(Cow::Borrowed(STATUS));
        routes.push(route);

        let item = format!("{collection}/{{name}}");
        self.add_reads_and_writes(&item, "", &self.schema_name(), routes);
        let mut route = self.route("delete", "delete", &item, format!("delete{scope}{kind}"), "DeleteOptions");
        route.description = format!("delete{}", with_article(kind));
        route.body = Some(Body { schema: Cow::Borrowed(DELETE_OPTIONS), required: false });
        route.responses = DELETED;
        route.answer = Model::Schema(Cow::Borrowed(STATUS));
        routes.push(route);

        if self.status {
            self.add_reads_and_writes(&item, "status", &self.schema_name(), routes);
        }
        if self.scale {
            self.add_reads_and_writes(&item, "scale", SCALE, routes);
        }
    }

    fn add_reads_and_writes(&self, item: &str, below: &str, schema: &str, routes: &mut Vec<Route>) {
        let kind = self.kind;
        let scope = if self.namespaced { "Namespaced" } else { "" };
        let part = title(below);
        let (path, of) = if below.is_empty() {
            (item.to_owned(), String::new())
        } else {
            (format!("{item}/{below}"), format!("{below} of "))
        };
        let answer = Model::Schema(Cow::Owned(schema.to_owned()));
        let mut add = |method, name: &str, verb: &str, options, body: Option<&str>, responses| {
            let mut route = self.route(method, method, &path, format!("{name}{scope}{kind}{part}"), options);
            route.description = format!("{verb} {of}the specified {kind}");
            route.body = body.map(|body| Body { schema: Cow::Owned(body.to_owned()), required: true });
            route.responses = responses;
            route.answer = answer.clone();
            if method == "patch" {
                route.consumes = PATCHES;
            }
            routes.push(route);
        };
        add("get", "read", "read", "GetOptions", None, FOUND);
        add("put", "replace", "replace", "UpdateOptions", Some(schema), REPLACED);
        add("patch", "patch", "partially update", "PatchOptions", Some(PATCH), FOUND);
    }

    fn route(&self, method: &'static str, verb: &'static str, path: &str, operation: String, options: &str) -> Route {
        let mut list: Vec<Parameter> = vec![parameters::pretty()];
        if path.contains("{namespace}") {
            list.push(parameters::namespace());
        }
        if path.contains("{name}") {
            list.push(parameters::name(self.kind));
        }
        list.extend(parameters::options(options));
        Route {
            path: path.to_owned(),
            method,
            operation,
            description: String::new(),
            action: Some(Action {
                verb,
                group: self.group.to_owned(),
                version: self.version.to_owned(),
                kind: self.kind.to_owned(),
            }),
            parameters: list,
            body: None,
            consumes: OBJECTS,
            produces: OBJECTS,
            responses: FOUND,
            answer: Model::Schema(Cow::Owned(self.schema_name())),
        }
    }
}
