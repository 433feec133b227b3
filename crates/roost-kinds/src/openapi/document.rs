//! A document: planned as routes and schemas, written piece by piece.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::custom::CustomKind;
use super::ordered::{Part, append};
use super::protobuf::Writer;
use super::render::{self, Shared};
use super::route::{Model, Route};
use super::versions::{self, GroupVersion};
use super::{Descriptions, Generation, custom, ordered, protobuf_v2, protobuf_v3, schema};
use crate::table::Type;

/// How a document is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// As JSON.
    Json,
    /// As the protobuf messages that stand for OpenAPI documents.
    Protobuf,
}

/// A document that is planned, and not yet written.
pub struct Document<'a> {
    pub(super) generation: Generation,
    title: &'static str,
    version: &'static str,
    /// Whether the document says how callers show who they are.
    pub(super) secured: bool,
    pub(super) routes: Vec<Route>,
    pub(super) schemas: BTreeMap<Cow<'static, str>, Source<'a>>,
    /// The versions that the shared option kinds are listed with.
    pub(super) option_versions: Vec<GroupVersion>,
}

/// Where a schema comes from.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    /// The tables.
    Type(&'static Type),
    /// The few types that write themselves.
    Special,
    /// A custom kind.
    Custom(&'a CustomKind<'a>),
    /// The list of a custom kind.
    CustomList(&'a CustomKind<'a>),
}

impl<'a> Document<'a> {
    pub(super) fn new(generation: Generation, title: &'static str, version: &'static str) -> Self {
        Self {
            generation,
            title,
            version,
            secured: false,
            routes: Vec::new(),
            schemas: BTreeMap::new(),
            option_versions: versions::of("", "v1"),
        }
    }

    /// Takes over what another document has.
    pub(super) fn join(&mut self, other: Document<'a>) {
        self.routes.extend(other.routes);
        self.schemas.extend(other.schemas);
    }

    /// Adds the schemas that the routes speak of, and those that these refer to.
    pub(super) fn collect_references(&mut self) {
        let mut names: Vec<Cow<'static, str>> = Vec::new();
        for route in &self.routes {
            names.extend(route.body.iter().map(|body| body.schema.clone()));
            if let Model::Schema(name) = &route.answer {
                names.push(name.clone());
            }
        }
        for name in names {
            self.add_schema(name);
        }
    }

    /// Adds a schema of the tables, and those that it refers to.
    pub(super) fn add_schema(&mut self, name: Cow<'static, str>) {
        if self.schemas.contains_key(&name) {
            return;
        }
        match crate::roots().find(|(_, _, ty)| ty.openapi == name).map(|(_, _, ty)| ty) {
            Some(ty) => self.add_type(ty),
            None if name == super::route::OBJECT_META || name == super::route::LIST_META => {
                let field = crate::type_of("v1", if name.ends_with("ListMeta") { "PodList" } else { "Pod" })
                    .and_then(|ty| ty.field("metadata"));
                if let Some(crate::table::Shape::Struct(ty)) = field.map(|field| field.ty) {
                    self.add_type(ty);
                }
            }
            None => {
                self.schemas.insert(name, Source::Special);
            }
        }
    }

    fn add_type(&mut self, ty: &'static Type) {
        let mut waiting = vec![ty];
        while let Some(ty) = waiting.pop() {
            if self.schemas.insert(Cow::Borrowed(ty.openapi), Source::Type(ty)).is_some() {
                continue;
            }
            schema::references(ty, &mut |name, ty| match ty {
                Some(ty) if !self.schemas.contains_key(name) => waiting.push(ty),
                Some(_) => {}
                None => {
                    self.schemas.insert(Cow::Borrowed(name), Source::Special);
                }
            });
        }
    }

    /// Writes the document.
    pub fn write(&self, descriptions: &dyn Descriptions, format: Format) -> Vec<u8> {
        match format {
            Format::Json => self.write_json(descriptions),
            Format::Protobuf => self.write_protobuf(descriptions),
        }
    }

    fn info(&self) -> Value {
        json!({"title": self.title, "version": self.version})
    }

    fn security() -> Value {
        json!({
            "BearerToken": {
                "type": "apiKey",
                "description": "Bearer Token authentication",
                "name": "authorization",
                "in": "header",
            },
        })
    }

    fn write_json(&self, descriptions: &dyn Descriptions) -> Vec<u8> {
        let third = self.generation == Generation::V3;
        let mut out = Vec::with_capacity(64 * 1024);
        let head = if third { "{\"openapi\":\"3.0.0\",\"info\":" } else { "{\"swagger\":\"2.0\",\"info\":" };
        out.extend_from_slice(head.as_bytes());
        append(&mut out, &self.info());
        out.extend_from_slice(b",\"paths\":");
        let mut shared = Shared::new();
        let mut object = JsonObject::new(&mut out, Part::Path, self.generation);
        self.each_path(descriptions, &mut shared, &mut |path, item| object.entry(path, &item));
        object.end();
        out.extend_from_slice(if third { b",\"components\":{" } else { b"," });
        if !self.schemas.is_empty() {
            out.extend_from_slice(if third { b"\"schemas\":" } else { b"\"definitions\":" });
            let mut object = JsonObject::new(&mut out, Part::Schema, self.generation);
            self.each_schema(descriptions, &mut |name, schema| object.entry(name, &schema));
            object.end();
        }
        if third && self.secured {
            if !self.schemas.is_empty() {
                out.push(b',');
            }
            out.extend_from_slice(b"\"securitySchemes\":");
            ordered::write(&mut out, &Self::security(), Part::Map(&Part::Security), self.generation);
        }
        if third {
            out.push(b'}');
        } else {
            out.extend_from_slice(b",\"parameters\":");
            let mut object = JsonObject::new(&mut out, Part::Parameter, self.generation);
            for (name, parameter) in &shared {
                object.entry(name, parameter);
            }
            object.end();
            out.extend_from_slice(b",\"securityDefinitions\":");
            ordered::write(&mut out, &Self::security(), Part::Map(&Part::Security), self.generation);
            out.extend_from_slice(b",\"security\":[{\"BearerToken\":[]}]");
        }
        out.push(b'}');
        out
    }

    fn write_protobuf(&self, descriptions: &dyn Descriptions) -> Vec<u8> {
        let mut shared = Shared::new();
        let (mut paths, mut schemas) = (Writer::default(), Writer::default());
        match self.generation {
            Generation::V3 => {
                let mut add = |path: &str, item: Value| protobuf_v3::add_path(&mut paths, path, &item);
                self.each_path(descriptions, &mut shared, &mut add);
                self.each_schema(descriptions, &mut |name, schema| {
                    protobuf_v3::add_schema(&mut schemas, name, &schema);
                });
                let security = if self.secured { Self::security() } else { Value::Null };
                protobuf_v3::document(&self.info(), &paths, &schemas, &security)
            }
            Generation::V2 => {
                let mut add = |path: &str, item: Value| protobuf_v2::add_path(&mut paths, path, &item);
                self.each_path(descriptions, &mut shared, &mut add);
                self.each_schema(descriptions, &mut |name, schema| {
                    protobuf_v2::add_schema(&mut schemas, name, &schema);
                });
                protobuf_v2::document(&self.info(), &paths, &schemas, &shared, &Self::security())
            }
        }
    }

    fn each_path(&self, descriptions: &dyn Descriptions, shared: &mut Shared, found: &mut dyn FnMut(&str, Value)) {
        let mut paths: BTreeMap<&str, Vec<&Route>> = BTreeMap::new();
        for route in &self.routes {
            paths.entry(&route.path).or_default().push(route);
        }
        for (path, routes) in paths {
            found(path, render::path(&routes, self.generation, descriptions, shared));
        }
    }

    fn each_schema(&self, descriptions: &dyn Descriptions, found: &mut dyn FnMut(&str, Value)) {
        for (name, source) in &self.schemas {
            let mut value = match source {
                Source::Type(ty) => schema::of_type(ty, self.generation, descriptions),
                Source::Special => schema::of_special(name, self.generation, descriptions),
                Source::Custom(kind) => custom::schema(kind, self.generation, descriptions),
                Source::CustomList(kind) => custom::list_schema(kind, self.generation, descriptions),
            };
            if let Source::Type(_) = source {
                let kinds = versions::kinds(name, &self.option_versions);
                if let (false, Value::Object(fields)) = (kinds.is_null(), &mut value) {
                    fields.insert("x-kubernetes-group-version-kind".into(), kinds);
                }
            }
            found(name, value);
        }
    }
}

/// An object that is written entry by entry.
struct JsonObject<'a> {
    out: &'a mut Vec<u8>,
    part: Part,
    generation: Generation,
    first: bool,
}

impl<'a> JsonObject<'a> {
    fn new(out: &'a mut Vec<u8>, part: Part, generation: Generation) -> Self {
        out.push(b'{');
        Self { out, part, generation, first: true }
    }

    fn entry(&mut self, name: &str, value: &Value) {
        if !self.first {
            self.out.push(b',');
        }
        self.first = false;
        ordered::append_name(self.out, name);
        ordered::write(self.out, value, self.part, self.generation);
    }

    fn end(self) {
        self.out.push(b'}');
    }
}
