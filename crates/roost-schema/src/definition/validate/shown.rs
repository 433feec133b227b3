//! Parts of a definition inside error texts. Stock shows its internal types, whose fields have Go's names and order.

use std::fmt::Write as _;

use serde_json::Value;

use super::props::{Additional, Items, Props};
use crate::rules::Rule;
use crate::wording::{json, write_text};

/// A text of fields, one after the other.
struct Fields(String);

impl Fields {
    fn new() -> Self {
        Fields("{".to_owned())
    }

    fn add(&mut self, name: &str, shown: &str) -> &mut Self {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        let _ = write!(self.0, "\"{name}\":{shown}");
        self
    }

    fn end(&mut self) -> String {
        self.0.push('}');
        std::mem::take(&mut self.0)
    }
}

fn text(text: &str) -> String {
    let mut out = String::new();
    write_text(&mut out, text);
    out
}

fn pointer(value: Option<&Value>) -> String {
    value.map_or_else(|| "null".to_owned(), json)
}

/// A list; stock shows one that is not there as null.
fn list<T>(elements: Option<&[T]>, show: impl Fn(&T) -> String) -> String {
    elements.map_or_else(
        || "null".to_owned(),
        |elements| format!("[{}]", elements.iter().map(show).collect::<Vec<_>>().join(",")),
    )
}

fn schemas(elements: &[Value]) -> String {
    list(Some(elements), |element| Props::of(element).map(schema).unwrap_or_default())
}

pub(super) fn names(names: &[&str]) -> String {
    list((!names.is_empty()).then_some(names), |name| text(name))
}

pub(super) fn rule(rule: &Rule) -> String {
    let quoted = |value: &Option<String>| value.as_deref().map_or_else(|| "null".to_owned(), text);
    Fields::new()
        .add("Rule", &text(&rule.expression))
        .add("Message", &text(&rule.message))
        .add("MessageExpression", &text(&rule.message_expression))
        .add("Reason", &quoted(&rule.reason))
        .add("FieldPath", &text(&rule.field_path))
        .add("OptionalOldSelf", &rule.optional_old_self.map_or_else(|| "null".to_owned(), |flag| flag.to_string()))
        .end()
}

pub(super) fn schema(props: Props<'_>) -> String {
    let string = |name: &str| text(props.text(name));
    let flag = |name: &str| props.flag(name).to_string();
    let value = |name: &str| pointer(props.get(name));
    let named = |name: &str| {
        let entries: Vec<_> =
            props.named(name).map(|(key, inner)| format!("{}:{}", text(key), schema(inner))).collect();
        if props.get(name).is_none() { "null".to_owned() } else { format!("{{{}}}", entries.join(",")) }
    };
    let all = |name: &str| props.list_if_given(name).map_or_else(|| "null".to_owned(), schemas);
    let texts = |name: &str| list(props.list_if_given(name), json);
    let mut fields = Fields::new();
    fields
        .add("ID", &string("id"))
        .add("Schema", &string("$schema"))
        .add("Ref", &value("$ref"))
        .add("Description", &string("description"))
        .add("Type", &string("type"))
        .add("Nullable", &flag("nullable"))
        .add("Format", &string("format"))
        .add("Title", &string("title"))
        .add("Default", &value("default"))
        .add("Maximum", &value("maximum"))
        .add("ExclusiveMaximum", &flag("exclusiveMaximum"))
        .add("Minimum", &value("minimum"))
        .add("ExclusiveMinimum", &flag("exclusiveMinimum"))
        .add("MaxLength", &value("maxLength"))
        .add("MinLength", &value("minLength"))
        .add("Pattern", &string("pattern"))
        .add("MaxItems", &value("maxItems"))
        .add("MinItems", &value("minItems"))
        .add("UniqueItems", &flag("uniqueItems"))
        .add("MultipleOf", &value("multipleOf"))
        .add("Enum", &texts("enum"))
        .add("MaxProperties", &value("maxProperties"))
        .add("MinProperties", &value("minProperties"))
        .add("Required", &texts("required"))
        .add("Items", &items(props))
        .add("AllOf", &all("allOf"))
        .add("OneOf", &all("oneOf"))
        .add("AnyOf", &all("anyOf"))
        .add("Not", &props.schema("not").map_or_else(|| "null".to_owned(), schema))
        .add("Properties", &named("properties"))
        .add("AdditionalProperties", &additional(props.additional().as_ref()))
        .add("PatternProperties", &named("patternProperties"))
        .add("Dependencies", &dependencies(props))
        .add("AdditionalItems", &additional(props.additional_items().as_ref()))
        .add("Definitions", &named("definitions"))
        .add("ExternalDocs", &external_docs(props))
        .add("Example", &value("example"))
        .add("XPreserveUnknownFields", &value("x-kubernetes-preserve-unknown-fields"))
        .add("XEmbeddedResource", &flag("x-kubernetes-embedded-resource"))
        .add("XIntOrString", &flag("x-kubernetes-int-or-string"))
        .add("XListMapKeys", &texts("x-kubernetes-list-map-keys"))
        .add("XListType", &value("x-kubernetes-list-type"))
        .add("XMapType", &value("x-kubernetes-map-type"))
        .add("XValidations", &rules(props))
        .end()
}

fn rules(props: Props<'_>) -> String {
    list(props.list_if_given("x-kubernetes-validations"), |value| rule(&Rule::read(value)))
}

pub(super) fn items(props: Props<'_>) -> String {
    match props.items() {
        None => "null".to_owned(),
        Some(Items::Nothing) => Fields::new().add("Schema", "null").add("JSONSchemas", "null").end(),
        Some(Items::One(item)) => Fields::new().add("Schema", &schema(item)).add("JSONSchemas", "null").end(),
        Some(Items::Many(items)) => {
            let shown = list(Some(&items), |item| schema(*item));
            Fields::new().add("Schema", "null").add("JSONSchemas", &shown).end()
        }
    }
}

/// What depends on a property: a schema, or a list of other properties.
fn dependencies(props: Props<'_>) -> String {
    let Some(given) = props.get("dependencies").and_then(Value::as_object) else { return "null".to_owned() };
    let entries = given.iter().map(|(name, value)| {
        let inner = Props::of(value).map_or_else(|| "null".to_owned(), schema);
        let names = list(value.as_array().map(Vec::as_slice), json);
        format!("{}:{}", text(name), Fields::new().add("Schema", &inner).add("Property", &names).end())
    });
    format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
}

fn additional(additional: Option<&Additional<'_>>) -> String {
    match additional {
        None => "null".to_owned(),
        Some(Additional::Allowed(allowed)) => {
            Fields::new().add("Allows", &allowed.to_string()).add("Schema", "null").end()
        }
        Some(Additional::Schema(inner)) => Fields::new().add("Allows", "true").add("Schema", &schema(*inner)).end(),
    }
}

fn external_docs(props: Props<'_>) -> String {
    match props.schema("externalDocs") {
        None => "null".to_owned(),
        Some(docs) => {
            Fields::new().add("Description", &text(docs.text("description"))).add("URL", &text(docs.text("url"))).end()
        }
    }
}

/// A version as stock's internal type, without what all versions share and the definition therefore holds once.
pub(super) fn version(version: &super::spec::VersionView<'_>) -> String {
    let props = version.props;
    let scale = |subresources: Props<'_>| match subresources.schema("scale") {
        None => "null".to_owned(),
        Some(scale) => Fields::new()
            .add("SpecReplicasPath", &text(scale.text("specReplicasPath")))
            .add("StatusReplicasPath", &text(scale.text("statusReplicasPath")))
            .add("LabelSelectorPath", &pointer(scale.get("labelSelectorPath")))
            .end(),
    };
    let subresources = version.subresources.map_or_else(
        || "null".to_owned(),
        |subresources| {
            let status = if subresources.get("status").is_some() { "{}" } else { "null" };
            Fields::new().add("Status", status).add("Scale", &scale(subresources)).end()
        },
    );
    let validation = version.schema.map_or_else(
        || "null".to_owned(),
        |validation| {
            let inner = validation.schema("openAPIV3Schema").map_or_else(|| "null".to_owned(), schema);
            Fields::new().add("OpenAPIV3Schema", &inner).end()
        },
    );
    let column = |column: Props<'_>| {
        Fields::new()
            .add("Name", &text(column.text("name")))
            .add("Type", &text(column.text("type")))
            .add("Format", &text(column.text("format")))
            .add("Description", &text(column.text("description")))
            .add("Priority", &column.get("priority").map_or_else(|| "0".to_owned(), json))
            .add("JSONPath", &text(column.text("jsonPath")))
            .end()
    };
    let columns = list(version.columns, |value| Props::of(value).map(column).unwrap_or_default());
    let field = |field: Props<'_>| Fields::new().add("JSONPath", &text(field.text("jsonPath"))).end();
    let fields = list(version.selectable, |value| Props::of(value).map(field).unwrap_or_default());
    Fields::new()
        .add("Name", &text(props.text("name")))
        .add("Served", &props.flag("served").to_string())
        .add("Storage", &props.flag("storage").to_string())
        .add("Deprecated", &props.flag("deprecated").to_string())
        .add("DeprecationWarning", &pointer(props.get("deprecationWarning")))
        .add("Schema", &validation)
        .add("Subresources", &subresources)
        .add("AdditionalPrinterColumns", &columns)
        .add("SelectableFields", &fields)
        .end()
}

pub(super) fn versions(versions: &[super::spec::VersionView<'_>]) -> String {
    format!("[{}]", versions.iter().map(version).collect::<Vec<_>>().join(","))
}
