//! The schemas of the built-in types.

use serde_json::{Map, Value, json};

use super::route::STATUS;
use super::{Descriptions, Generation, reference};
use crate::generated::openapi::EXTENSIONS;
use crate::table::{Element, Field, ListType, Shape, Type};

/// The types that write themselves, with what the generations say about them.
const TIME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Time";
const MICRO_TIME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime";
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";
const FIELDS_V1: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1";
const ANY_JSON: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON";
const SCHEMA_OR_BOOL: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool";
const SCHEMA_OR_ARRAY: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray";
const SCHEMA_OR_STRINGS: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray";
const VERSION: &str = "io.k8s.apimachinery.pkg.version.Info";

/// The fields of the answer of `/version` that are always there.
const VERSION_REQUIRED: [&str; 9] =
    ["major", "minor", "gitVersion", "gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform"];
/// The other fields of the answer of `/version`.
const VERSION_OPTIONAL: [&str; 4] =
    ["emulationMajor", "emulationMinor", "minCompatibilityMajor", "minCompatibilityMinor"];

/// The name of the schema of a type that writes itself.
fn special(shape: Shape) -> Option<&'static str> {
    Some(match shape {
        Shape::Time => TIME,
        Shape::MicroTime => MICRO_TIME,
        Shape::Quantity => QUANTITY,
        Shape::IntOrString => INT_OR_STRING,
        Shape::RawExtension => RAW_EXTENSION,
        Shape::FieldsV1 => FIELDS_V1,
        Shape::Json => ANY_JSON,
        Shape::SchemaOrBool(_) => SCHEMA_OR_BOOL,
        Shape::SchemaOrArray(_) => SCHEMA_OR_ARRAY,
        Shape::SchemaOrStringArray(_) => SCHEMA_OR_STRINGS,
        _ => return None,
    })
}

/// Calls back with every schema that a type's fields refer to, and with the type if it is a struct.
pub(super) fn references(ty: &'static Type, found: &mut dyn FnMut(&'static str, Option<&'static Type>)) {
    fn of_shape(shape: Shape, found: &mut dyn FnMut(&'static str, Option<&'static Type>)) {
        match shape {
            Shape::Struct(ty) => found(ty.openapi, Some(ty)),
            Shape::List(element) | Shape::Items(element) | Shape::Map(element) => of_shape(element.ty, found),
            other => {
                if let Some(name) = special(other) {
                    found(name, None);
                }
            }
        }
    }
    for field in ty.fields {
        match field.ty {
            Shape::Struct(inlined) if field.inline => references(inlined, found),
            shape => of_shape(shape, found),
        }
    }
}

/// The schema of a struct.
pub(super) fn of_type(ty: &'static Type, generation: Generation, descriptions: &dyn Descriptions) -> Value {
    let mut schema = Map::new();
    describe(&mut schema, &describe_type(ty, descriptions));
    schema.insert("type".into(), "object".into());
    let mut properties = Map::new();
    let writer = Writer { of: ty, generation, descriptions };
    writer.add_fields(ty, &mut properties);
    if !properties.is_empty() {
        schema.insert("properties".into(), Value::Object(properties));
    }
    if !ty.required.is_empty() {
        schema.insert("required".into(), ty.required.into());
    }
    if ty.atomic {
        schema.insert("x-kubernetes-map-type".into(), "atomic".into());
    }
    extend(&mut schema, ty.openapi, "");
    Value::Object(schema)
}

/// The schema of a type that is no struct of the tables.
pub(super) fn of_special(name: &str, generation: Generation, descriptions: &dyn Descriptions) -> Value {
    let third = generation == Generation::V3;
    let mut schema = match name {
        TIME | MICRO_TIME => json!({"type": "string", "format": "date-time"}),
        QUANTITY if third => json!({"oneOf": [{"type": "string"}, {"type": "number"}]}),
        QUANTITY => json!({"type": "string"}),
        INT_OR_STRING if third => {
            json!({"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]})
        }
        INT_OR_STRING => json!({"type": "string", "format": "int-or-string"}),
        ANY_JSON | SCHEMA_OR_BOOL | SCHEMA_OR_ARRAY | SCHEMA_OR_STRINGS => json!({}),
        VERSION => version(generation, descriptions),
        _ => json!({"type": "object"}),
    };
    if let Value::Object(schema) = &mut schema {
        describe(schema, descriptions.of_schema(name));
    }
    schema
}

fn version(generation: Generation, descriptions: &dyn Descriptions) -> Value {
    let property = |name: &&str, required: bool| {
        let mut property = Map::new();
        property.insert("type".into(), "string".into());
        describe(&mut property, descriptions.of_field(VERSION, name));
        if required && generation == Generation::V3 {
            property.insert("default".into(), "".into());
        }
        ((*name).to_owned(), Value::Object(property))
    };
    let properties: Map<String, Value> = VERSION_REQUIRED
        .iter()
        .map(|name| property(name, true))
        .chain(VERSION_OPTIONAL.iter().map(|name| property(name, false)))
        .collect();
    json!({"type": "object", "properties": properties, "required": VERSION_REQUIRED})
}

fn describe(schema: &mut Map<String, Value>, words: &str) {
    if !words.is_empty() {
        schema.insert("description".into(), words.into());
    }
}

/// The kind whose objects a list holds, for lists that nobody described.
fn listed(ty: &Type) -> Option<(&'static str, &'static Type)> {
    let items = ty.field("items")?;
    ty.field("metadata")?;
    match items.ty {
        Shape::List(element) => match element.ty {
            Shape::Struct(of) => Some((ty.openapi.rsplit('.').next()?, of)),
            _ => None,
        },
        _ => None,
    }
}

fn describe_type(ty: &Type, descriptions: &dyn Descriptions) -> String {
    let words = descriptions.of_schema(ty.openapi);
    match listed(ty) {
        Some((kind, of)) if words.is_empty() => format!("{kind} is a list of {}.", of.name()),
        _ => words.to_owned(),
    }
}

/// Adds the rare extensions that the tables of types do not hold.
fn extend(schema: &mut Map<String, Value>, name: &str, field: &str) {
    let found = EXTENSIONS.iter().find(|(schema, place, _)| *schema == name && *place == field);
    if let Some((_, _, json)) = found
        && let Ok(Value::Object(extension)) = serde_json::from_str(json)
    {
        schema.extend(extension);
    }
}

struct Writer<'a> {
    of: &'static Type,
    generation: Generation,
    descriptions: &'a dyn Descriptions,
}

impl Writer<'_> {
    fn add_fields(&self, ty: &'static Type, properties: &mut Map<String, Value>) {
        for field in ty.fields {
            match field.ty {
                Shape::Struct(inlined) if field.inline => self.add_fields(inlined, properties),
                _ => {
                    properties.insert(field.json.to_owned(), self.field(field));
                }
            }
        }
    }

    fn field(&self, field: &'static Field) -> Value {
        let mut schema = self.shape(field.ty, field.go, field.words);
        describe(&mut schema, &self.words(field));
        if let (Generation::V3, Some(default)) = (self.generation, field.default)
            && let Ok(default) = serde_json::from_str(default)
        {
            schema.insert("default".into(), default);
        }
        let list_type = match field.list_type {
            Some(ListType::Atomic) => "atomic",
            Some(ListType::Set) => "set",
            Some(ListType::Map) => "map",
            None => "",
        };
        if !list_type.is_empty() {
            schema.insert("x-kubernetes-list-type".into(), list_type.into());
        }
        if !field.list_keys.is_empty() {
            schema.insert("x-kubernetes-list-map-keys".into(), field.list_keys.into());
        }
        if field.atomic {
            schema.insert("x-kubernetes-map-type".into(), "atomic".into());
        }
        if !field.patch_strategy.is_empty() {
            schema.insert("x-kubernetes-patch-strategy".into(), field.patch_strategy.into());
        }
        if !field.patch_merge_key.is_empty() {
            schema.insert("x-kubernetes-patch-merge-key".into(), field.patch_merge_key.into());
        }
        extend(&mut schema, self.of.openapi, field.json);
        self.wrapped(schema)
    }

    fn words(&self, field: &'static Field) -> String {
        let mut words = self.descriptions.of_field(self.of.openapi, field.json).to_owned();
        if let (true, Some((_, of))) = (words.is_empty(), listed(self.of)) {
            // Nobody describes lists, but they have fields that others have.
            words = match field.json {
                "items" => format!("The list of {} objects.", of.name()),
                name => self.descriptions.of_field(STATUS, name).to_owned(),
            };
        }
        // Where the words are those of a list's elements, the list does not name them.
        if !field.words.is_empty() && matches!(field.ty, Shape::String) {
            words.push_str("\n\nPossible enum values:");
            for word in field.words {
                words.push_str("\n - `\"");
                words.push_str(word);
                words.push_str("\"`");
            }
        }
        words
    }

    /// A reference with something beside it: the third generation allows that only in a list of one.
    fn wrapped(&self, mut schema: Map<String, Value>) -> Value {
        if self.generation == Generation::V3
            && schema.len() > 1
            && let Some(target) = schema.remove("$ref")
        {
            schema.insert("allOf".into(), json!([{"$ref": target}]));
        }
        Value::Object(schema)
    }

    fn element(&self, element: &'static Element, words: &'static [&'static str]) -> Value {
        let mut schema = self.shape(element.ty, element.go, words);
        if self.generation == Generation::V3 && !element.pointer {
            let default = match element.ty {
                Shape::String => Some(json!("")),
                Shape::Bool => Some(json!(false)),
                Shape::Int32 | Shape::Int64 | Shape::Float64 => Some(json!(0)),
                Shape::Struct(_) => Some(json!({})),
                _ => None,
            };
            if let Some(default) = default {
                schema.insert("default".into(), default);
            }
        }
        self.wrapped(schema)
    }

    fn shape(&self, shape: Shape, go: &str, words: &'static [&'static str]) -> Map<String, Value> {
        let simple = |of_type: &str, format: &str| {
            let mut schema = Map::new();
            schema.insert("type".into(), of_type.into());
            if !format.is_empty() {
                schema.insert("format".into(), format.into());
            }
            if !words.is_empty() {
                schema.insert("enum".into(), words.into());
            }
            schema
        };
        let below = |of_type: &str, key: &str, element: &'static Element| {
            let mut schema = Map::new();
            schema.insert("type".into(), of_type.into());
            schema.insert(key.into(), self.element(element, words));
            schema
        };
        match shape {
            Shape::String => simple("string", ""),
            Shape::Bool => simple("boolean", ""),
            Shape::Int32 => simple("integer", "int32"),
            Shape::Int64 if go == "int" => simple("integer", "int32"),
            Shape::Int64 => simple("integer", "int64"),
            Shape::Float64 => simple("number", "double"),
            Shape::Bytes => simple("string", "byte"),
            Shape::List(element) | Shape::Items(element) => below("array", "items", element),
            Shape::Map(element) => below("object", "additionalProperties", element),
            Shape::Struct(ty) => self.reference(ty.openapi),
            other => special(other).map(|name| self.reference(name)).unwrap_or_default(),
        }
    }

    fn reference(&self, name: &str) -> Map<String, Value> {
        match reference(self.generation, name) {
            Value::Object(schema) => schema,
            _ => Map::new(),
        }
    }
}
