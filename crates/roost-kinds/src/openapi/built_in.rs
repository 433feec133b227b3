//! The routes of the built-in resources.

use std::borrow::Cow;

use super::document::Document;
use super::names::{title, with_article};
use super::parameters;
use super::route::{
    ANYTHING, Action, Body, CREATED, DELETE_OPTIONS, DELETED, FOUND, Model, OBJECTS, PATCH, Parameter, REPLACED, Route,
    STATUS, STREAMS, WATCH_EVENT,
};
use super::{Generation, KUBERNETES_VERSION, pages, versions};
use crate::table::{Resource, Subresource, Type};

const PATCHES: &[&str] = &[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

/// What the log of a pod is encoded in.
const LOGS: &[&str] = &["text/plain", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];

/// The methods that a proxy passes on.
const PROXIED: &[&str] = &["get", "put", "post", "delete", "options", "head", "patch"];

/// The resources whose deletion is answered with the object rather than a status.
const DELETED_OBJECTS: [(&str, &[&str]); 3] = [
    (
        "",
        &[
            "persistentvolumeclaims",
            "persistentvolumes",
            "pods",
            "podtemplates",
            "resourcequotas",
            "serviceaccounts",
            "services",
        ],
    ),
    ("resource.k8s.io", &["deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourceslices"]),
    ("storage.k8s.io", &["csidrivers", "csinodes", "storageclasses", "volumeattachments", "volumeattributesclasses"]),
];

/// The document of a group version.
pub(super) fn document(group: &str, version: &str) -> Document<'static> {
    let mut document = Document::new(Generation::V3, "Kubernetes", KUBERNETES_VERSION);
    document.secured = true;
    document.option_versions = versions::of(group, version);
    document.routes.push(pages::resources(group, version));
    for resource in crate::resources() {
        if resource.group == group && resource.version == version {
            let place = Place::new(resource);
            place.add_collection(&mut document.routes);
            place.add_item(&mut document.routes);
            for below in resource.subresources {
                place.add_subresource(below, &mut document.routes);
            }
        }
    }
    document.collect_references();
    document
}

/// A resource and where it lies.
struct Place {
    resource: &'static Resource,
    /// The path of the group version.
    root: String,
    /// The path of the collection below the root.
    collection: String,
    /// `Namespaced`, or nothing.
    scope: &'static str,
    /// What the path of the collection holds.
    parameters: Vec<Parameter>,
}

impl Place {
    fn new(resource: &'static Resource) -> Self {
        let root = format!("/{}", pages::version_name(resource.group, resource.version));
        let plural = resource.plural;
        if resource.namespaced {
            let collection = format!("namespaces/{{namespace}}/{plural}");
            Self { resource, root, collection, scope: "Namespaced", parameters: vec![parameters::namespace()] }
        } else {
            Self { resource, root, collection: plural.to_owned(), scope: "", parameters: Vec::new() }
        }
    }

    /// A route with everything that is the same for all of them.
    fn route(&self, method: &'static str, verb: &'static str, path: &str, name: String) -> Route {
        let resource = self.resource;
        let action = Action {
            verb,
            group: resource.group.to_owned(),
            version: resource.version.to_owned(),
            kind: resource.kind.to_owned(),
        };
        let mut parameters = self.parameters.clone();
        if !path.contains("{namespace}") {
            parameters.clear();
        }
        if path.contains("{name}") {
            parameters.push(parameters::name(resource.kind));
        }
        Route {
            path: format!("{}/{path}", self.root),
            method,
            operation: name,
            description: String::new(),
            action: Some(action),
            parameters,
            body: None,
            consumes: ANYTHING,
            produces: OBJECTS,
            responses: FOUND,
            answer: schema(resource.ty),
        }
    }

    fn item(&self) -> String {
        format!("{}/{{name}}", self.collection)
    }

    fn list_model(&self) -> Model {
        let resource = self.resource;
        crate::type_of(&resource.api_version(), &format!("{}List", resource.kind)).map_or(Model::Text, schema)
    }

    fn add_collection(&self, routes: &mut Vec<Route>) {
        let (resource, kind, scope) = (self.resource, self.resource.kind, self.scope);
        let watched = resource.allows("watch");
        if resource.allows("list") {
            let mut list = |path: &str, scope: &str, suffix: &str| {
                let mut route = self.route("get", "list", path, format!("list{scope}{kind}{suffix}"));
                let what = if watched { "list or watch" } else { "list" };
                route.description = format!("{what} objects of kind {kind}");
                route.parameters.push(parameters::pretty());
                route.parameters.extend(parameters::options("ListOptions"));
                route.produces = STREAMS;
                route.answer = self.list_model();
                routes.push(route);
            };
            list(&self.collection, scope, "");
            if resource.namespaced {
                list(resource.plural, "", "ForAllNamespaces");
            }
        }
        if resource.allows("create") {
            let mut route = self.route("post", "post", &self.collection, format!("create{scope}{kind}"));
            route.description = format!("create{}", with_article(kind));
            write(&mut route, "CreateOptions", resource.ty);
            route.responses = CREATED;
            routes.push(route);
        }
        if resource.allows("deletecollection") {
            let name = format!("deletecollection{scope}{kind}");
            let mut route = self.route("delete", "deletecollection", &self.collection, name);
            route.description = format!("delete collection of {kind}");
            route.parameters.push(parameters::pretty());
            route.parameters.extend(parameters::options("DeleteOptions"));
            let listing = parameters::options("ListOptions")
                .filter(|parameter| !matches!(parameter.name, "watch" | "allowWatchBookmarks" | "dryRun"));
            route.parameters.extend(listing);
            route.body = Some(Body { schema: Cow::Borrowed(DELETE_OPTIONS), required: false });
            route.answer = Model::Schema(Cow::Borrowed(STATUS));
            routes.push(route);
        }
        if watched && resource.allows("list") {
            self.add_watch("watchlist", &self.collection, format!("watch{scope}{kind}List"), routes);
            if resource.namespaced {
                let name = format!("watch{kind}ListForAllNamespaces");
                self.add_watch("watchlist", resource.plural, name, routes);
            }
        }
    }

    fn add_watch(&self, verb: &'static str, path: &str, name: String, routes: &mut Vec<Route>) {
        let mut route = self.route("get", verb, &format!("watch/{path}"), name);
        let kind = self.resource.kind;
        route.description = if verb == "watch" {
            format!(
                "watch changes to an object of kind {kind}. deprecated: use the 'watch' parameter with a list operation \
                 instead, filtered to a single item with the 'fieldSelector' parameter."
            )
        } else {
            format!(
                "watch individual changes to a list of {kind}. deprecated: use the 'watch' parameter with a list operation \
                 instead."
            )
        };
        route.parameters.push(parameters::pretty());
        route.parameters.extend(parameters::options("ListOptions"));
        route.produces = STREAMS;
        route.answer = Model::Schema(Cow::Borrowed(WATCH_EVENT));
        routes.push(route);
    }

    fn add_item(&self, routes: &mut Vec<Route>) {
        let (resource, kind, scope) = (self.resource, self.resource.kind, self.scope);
        let item = self.item();
        self.add_reads_and_writes("", resource.verbs, resource.ty, routes);
        if resource.allows("delete") {
            let mut route = self.route("delete", "delete", &item, format!("delete{scope}{kind}"));
            route.description = format!("delete{}", with_article(kind));
            route.parameters.push(parameters::pretty());
            route.parameters.extend(parameters::options("DeleteOptions"));
            route.body = Some(Body { schema: Cow::Borrowed(DELETE_OPTIONS), required: false });
            route.responses = DELETED;
            let whole = DELETED_OBJECTS
                .iter()
                .any(|(group, plurals)| *group == resource.group && plurals.contains(&resource.plural));
            if !whole {
                route.answer = Model::Schema(Cow::Borrowed(STATUS));
            }
            routes.push(route);
        }
        if resource.allows("watch") {
            self.add_watch("watch", &item, format!("watch{scope}{kind}"), routes);
        }
    }

    /// The operations on one object or on a part of it.
    fn add_reads_and_writes(&self, below: &str, verbs: &[&str], ty: &'static Type, routes: &mut Vec<Route>) {
        let (kind, scope) = (self.resource.kind, self.scope);
        let part = title(below);
        let (path, of) = if below.is_empty() {
            (self.item(), String::new())
        } else {
            (format!("{}/{below}", self.item()), format!("{below} of "))
        };
        if verbs.contains(&"get") {
            let mut route = self.route("get", "get", &path, format!("read{scope}{kind}{part}"));
            route.description = format!("read {of}the specified {kind}");
            route.parameters.push(parameters::pretty());
            route.answer = schema(ty);
            routes.push(route);
        }
        if verbs.contains(&"update") {
            let mut route = self.route("put", "put", &path, format!("replace{scope}{kind}{part}"));
            route.description = format!("replace {of}the specified {kind}");
            write(&mut route, "UpdateOptions", ty);
            route.responses = REPLACED;
            routes.push(route);
        }
        if verbs.contains(&"patch") {
            let mut route = self.route("patch", "patch", &path, format!("patch{scope}{kind}{part}"));
            route.description = format!("partially update {of}the specified {kind}");
            write(&mut route, "PatchOptions", ty);
            route.body = Some(Body { schema: Cow::Borrowed(PATCH), required: true });
            route.consumes = PATCHES;
            route.responses = REPLACED;
            routes.push(route);
        }
    }

    fn add_subresource(&self, below: &Subresource, routes: &mut Vec<Route>) {
        let resource = self.resource;
        let (group, version) =
            if below.version.is_empty() { (resource.group, resource.version) } else { (below.group, below.version) };
        let first = routes.len();
        match below.name {
            "log" => {
                let path = format!("{}/log", self.item());
                let mut route = self.route("get", "get", &path, format!("read{}{}Log", self.scope, resource.kind));
                route.description = format!("read log of the specified {}", resource.kind);
                route.parameters.push(parameters::pretty());
                route.parameters.extend(parameters::options("PodLogOptions"));
                route.produces = LOGS;
                route.answer = Model::Text;
                routes.push(route);
            }
            "attach" | "exec" | "portforward" => self.add_connections(below, &["get", "post"], false, routes),
            "proxy" => {
                self.add_connections(below, PROXIED, false, routes);
                self.add_connections(below, PROXIED, true, routes);
            }
            _ => {
                let api_version = roost_object::group::api_version(group, version);
                let Some(ty) = crate::type_of(&api_version, below.kind) else { return };
                self.add_reads_and_writes(below.name, below.verbs, ty, routes);
                if below.verbs.contains(&"create") {
                    let path = format!("{}/{}", self.item(), below.name);
                    let name = format!("create{}{}{}", self.scope, resource.kind, title(below.name));
                    let mut route = self.route("post", "post", &path, name);
                    route.description = format!("create {} of{}", below.name, with_article(resource.kind));
                    write(&mut route, "CreateOptions", ty);
                    route.responses = CREATED;
                    routes.push(route);
                }
            }
        }
        for route in &mut routes[first..] {
            for parameter in &mut route.parameters {
                if parameter.in_path && parameter.name == "name" {
                    *parameter = parameters::name(below.kind);
                }
            }
            if let Some(action) = &mut route.action {
                group.clone_into(&mut action.group);
                version.clone_into(&mut action.version);
                below.kind.clone_into(&mut action.kind);
            }
        }
    }

    fn add_connections(&self, below: &Subresource, methods: &[&'static str], with_path: bool, routes: &mut Vec<Route>) {
        let kind = self.resource.kind;
        for method in methods {
            let tail = if with_path { "/{path}" } else { "" };
            let suffix = if with_path { "WithPath" } else { "" };
            let path = format!("{}/{}{tail}", self.item(), below.name);
            let name = format!("connect{}{}{kind}{}{suffix}", title(method), self.scope, title(below.name));
            let mut route = self.route(method, "connect", &path, name);
            route.description = format!("connect {} requests to {} of {kind}", method.to_uppercase(), below.name);
            route.parameters.extend(parameters::options(below.kind));
            if with_path {
                route.parameters.push(parameters::path());
            }
            route.produces = ANYTHING;
            route.answer = Model::Text;
            routes.push(route);
        }
    }
}

fn schema(ty: &'static Type) -> Model {
    Model::Schema(Cow::Borrowed(ty.openapi))
}

fn write(route: &mut Route, options: &str, ty: &'static Type) {
    route.parameters.push(parameters::pretty());
    route.parameters.extend(parameters::options(options));
    route.body = Some(Body { schema: Cow::Borrowed(ty.openapi), required: true });
    route.answer = schema(ty);
}
