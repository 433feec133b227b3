//! What schemas of definitions may contain.

use roost_object::field::{Error, Errors, Kind, Path};

use super::props::{Additional, Items, Props};
use super::rules::{Budget, RuleContext};
use super::{Options, default_values, extensions, rules, shown, structural};
use crate::rules::Rule;
use crate::rules::find_field;
use crate::{Structural, wording};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

const REASONS: [&str; 4] = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// The properties that a root schema may have when there is a status subresource, by their names in JSON and in stock.
const ROOT_FIELDS: [(&str, &str); 22] = [
    ("description", "Description"),
    ("type", "Type"),
    ("format", "Format"),
    ("title", "Title"),
    ("maximum", "Maximum"),
    ("exclusiveMaximum", "ExclusiveMaximum"),
    ("minimum", "Minimum"),
    ("exclusiveMinimum", "ExclusiveMinimum"),
    ("maxLength", "MaxLength"),
    ("minLength", "MinLength"),
    ("pattern", "Pattern"),
    ("maxItems", "MaxItems"),
    ("minItems", "MinItems"),
    ("uniqueItems", "UniqueItems"),
    ("multipleOf", "MultipleOf"),
    ("required", "Required"),
    ("items", "Items"),
    ("properties", "Properties"),
    ("externalDocs", "ExternalDocs"),
    ("example", "Example"),
    ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields"),
    ("x-kubernetes-validations", "XValidations"),
];

/// Checks the schema of a version or of all versions together.
pub(super) fn validate(
    validation: Props<'_>,
    status: bool,
    options: &Options,
    unchanged: bool,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let Some(schema) = validation.schema("openAPIV3Schema") else { return };
    let before = errors.len();
    if status {
        validate_root(schema, path, errors);
    }
    if schema.flag("nullable") {
        errors.push(Error::forbidden(&path.child("openAPIV3Schema.nullable"), "nullable cannot be true at the root"));
    }
    let schema_path = path.child("openAPIV3Schema");
    let mut unsupported = None;
    let mut compiled = None;
    if options.require_structural {
        match compile(schema) {
            Err(words) => unsupported = Some(Error::invalid(&schema_path, "", words)),
            Ok(mut root) => {
                // A default of the root is checked like that of an embedded object.
                root.embedded = true;
                root.below.embedded = true;
                let mut found = structural::validate(schema, &schema_path);
                if found.is_empty() {
                    found = default_values::validate(&root, &schema_path, options.require_pruned_defaults);
                }
                if found.is_empty() {
                    compiled = Some(root);
                }
                errors.append(&mut found);
            }
        }
    }
    let mut budget = Budget::default();
    let mut walker =
        Walker { options, unchanged, budget: &mut budget, schema_errors: Errors::new(), rule_errors: Errors::new() };
    let rules = compiled.as_ref().map(RuleContext::root);
    walker.walk(schema, &Context::default(), true, rules, &schema_path);
    let Walker { mut schema_errors, mut rule_errors, .. } = walker;
    errors.append(&mut schema_errors);
    errors.append(&mut rule_errors);
    if errors.len() == before
        && let Some(error) = unsupported
    {
        errors.push(error);
    }
    if compiled.is_some() {
        budget.report(&schema_path, errors);
    }
}

fn compile(schema: Props<'_>) -> Result<Structural, String> {
    let json = serde_json::Value::Object(schema.json().clone());
    let mut root = Structural::compile_part(&json).map_err(|error| error.to_string())?;
    root.root = true;
    Ok(root)
}

fn validate_root(schema: Props<'_>, path: &Path<'_>, errors: &mut Errors) {
    // The first field that is wrong is told, in the order of stock's type: these three stand before the type.
    let first = ["id", "$schema", "$ref"].iter().any(|name| schema.json().get(*name).is_some_and(|v| is_set(name, v)));
    let kind = schema.kind();
    if !first && !kind.is_empty() && kind != "object" {
        let words =
            "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        errors.push(Error::invalid(&path.child("openAPIV3Schema.type"), kind, words));
        return;
    }
    let is_stray = |(name, value): (&String, &serde_json::Value)| {
        is_set(name, value) && !ROOT_FIELDS.iter().any(|(allowed, _)| allowed == name)
    };
    if schema.json().iter().any(is_stray) {
        let allowed: Vec<_> = ROOT_FIELDS.iter().map(|(_, name)| *name).collect();
        let words = format!(
            "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
            allowed.join(" ")
        );
        let field = path.child("openAPIV3Schema").to_string();
        errors.push(wording::error_showing(Kind::Invalid, field, &shown::schema(schema), &words));
    }
}

/// Whether a field of stock's type is set: an empty list or map is, an empty text or `false` only behind a pointer.
pub(super) fn is_set(name: &str, value: &serde_json::Value) -> bool {
    use serde_json::Value;
    let pointer = || {
        matches!(
            name,
            "$ref"
                | "default"
                | "additionalProperties"
                | "additionalItems"
                | "labelSelectorPath"
                | "optionalOldSelf"
                | "reason"
                | "x-kubernetes-preserve-unknown-fields"
                | "x-kubernetes-list-type"
                | "x-kubernetes-map-type"
        )
    };
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag || pointer(),
        Value::String(text) => !text.is_empty() || pointer(),
        Value::Number(_) | Value::Array(_) | Value::Object(_) => true,
    }
}

/// What holds at a place because of the places above it.
#[derive(Clone, Default)]
struct Context {
    /// Why there may be no defaults here.
    no_defaults: Option<String>,
    inside_metadata: bool,
    /// The nearest place above whose old and new parts cannot be told apart.
    uncorrelatable: Option<String>,
}

impl Context {
    fn uncorrelatable(mut self, path: &Path<'_>) -> Context {
        self.uncorrelatable.get_or_insert_with(|| path.to_string());
        self
    }
}

struct Walker<'w> {
    options: &'w Options,
    unchanged: bool,
    budget: &'w mut Budget,
    schema_errors: Errors,
    rule_errors: Errors,
}

impl Walker<'_> {
    fn walk(
        &mut self,
        schema: Props<'_>,
        context: &Context,
        root: bool,
        rules: Option<RuleContext<'_>>,
        path: &Path<'_>,
    ) {
        let before = self.schema_errors.len();
        self.forbidden_parts(schema, context, path);
        self.children(schema, context, root, rules, path);
        extensions::validate(schema, self.options.require_atomic_sets, path, &mut self.schema_errors);
        if self.options.require_list_keys {
            extensions::list_keys(schema, path, &mut self.schema_errors);
        }
        let declared: Vec<Rule> = schema.list("x-kubernetes-validations").iter().map(Rule::read).collect();
        if declared.is_empty() {
            return;
        }
        let rules_path = path.child("x-kubernetes-validations");
        for (index, rule) in declared.iter().enumerate() {
            self.rule_parts(schema, rule, &rules_path.index(index));
        }
        if self.schema_errors.len() == before
            && let Some(rules) = rules
        {
            let place = rules::Place { path: &rules_path, uncorrelatable: context.uncorrelatable.as_deref() };
            rules::validate(&declared, rules, &place, self.unchanged, self.budget, &mut self.rule_errors);
        }
    }

    fn forbidden_parts(&mut self, schema: Props<'_>, context: &Context, path: &Path<'_>) {
        let errors = &mut self.schema_errors;
        let kind = schema.kind();
        if self.options.require_valid_type && !kind.is_empty() && !TYPES.contains(&kind) {
            errors.push(Error::not_supported(&path.child("type"), kind, &TYPES));
        }
        if let Some(reason) = context.no_defaults.as_ref().filter(|_| schema.get("default").is_some()) {
            errors.push(Error::forbidden(&path.child("default"), format!("must not be set {reason}")));
        }
        if !schema.text("id").is_empty() {
            errors.push(Error::forbidden(&path.child("id"), "id is not supported"));
        }
        if schema.get("additionalItems").is_some() {
            errors.push(Error::forbidden(&path.child("additionalItems"), "additionalItems is not supported"));
        }
        for name in ["patternProperties", "definitions"] {
            if schema.named(name).next().is_some() {
                errors.push(Error::forbidden(&path.child(name), format!("{name} is not supported")));
            }
        }
        if schema.get("dependencies").is_some() {
            errors.push(Error::forbidden(&path.child("dependencies"), "dependencies is not supported"));
        }
        if schema.get("$ref").is_some() {
            errors.push(Error::forbidden(&path.child("$ref"), "$ref is not supported"));
        }
        if kind == "null" {
            let words = "type cannot be set to null, use nullable as an alternative";
            errors.push(Error::forbidden(&path.child("type"), words));
        }
        if matches!(schema.items(), Some(Items::Many(items)) if !items.is_empty()) {
            errors.push(Error::forbidden(&path.child("items"), "items must be a schema object and not an array"));
        }
        if context.inside_metadata && schema.flag("x-kubernetes-embedded-resource") {
            let path = path.child("x-kubernetes-embedded-resource");
            errors.push(Error::forbidden(&path, "must not be used inside of resource meta"));
        }
        if schema.flag("uniqueItems") {
            let words = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            errors.push(Error::forbidden(&path.child("uniqueItems"), words));
        }
    }

    fn children(
        &mut self,
        schema: Props<'_>,
        context: &Context,
        root: bool,
        rules: Option<RuleContext<'_>>,
        path: &Path<'_>,
    ) {
        if let Some(additional) = schema.additional() {
            let additional_path = path.child("additionalProperties");
            if schema.has_properties() && !matches!(additional, Additional::Allowed(true)) {
                let words = "additionalProperties and properties are mutual exclusive";
                self.schema_errors.push(Error::forbidden(&additional_path, words));
            }
            if let Additional::Schema(inner) = additional {
                let mut context = context.clone();
                if context.inside_metadata {
                    let reason = "inside additionalProperties applying to object metadata";
                    context.no_defaults = Some(reason.to_owned());
                }
                let rules = rules.and_then(RuleContext::additional);
                self.walk(inner, &context, false, rules, &additional_path);
            }
        }
        let properties_path = path.child("properties");
        let embedded = schema.flag("x-kubernetes-embedded-resource");
        let map_type = schema.text_if_given("x-kubernetes-map-type");
        for (name, property) in schema.named("properties") {
            let mut context = context.clone();
            if map_type.is_some_and(|map_type| map_type != "granular" && map_type != "atomic") {
                context = context.uncorrelatable(path);
            }
            if (root || embedded) && matches!(name, "metadata" | "kind" | "apiVersion") {
                context.inside_metadata = true;
                if root {
                    context.no_defaults = Some(format!("in top-level {name}"));
                }
            }
            let rules = rules.and_then(|rules| rules.property(name));
            self.walk(property, &context, false, rules, &properties_path.key(name));
        }
        if let Some(not) = schema.schema("not") {
            self.walk(not, context, false, None, &path.child("not"));
        }
        for list in ["allOf", "oneOf", "anyOf"] {
            let list_path = path.child(list);
            for (index, inner) in schema.schemas(list).into_iter().enumerate() {
                self.walk(inner, context, false, None, &list_path.index(index));
            }
        }
        let definitions_path = path.child("definitions");
        for (name, inner) in schema.named("definitions") {
            self.walk(inner, context, false, None, &definitions_path.key(name));
        }
        if let Some(items) = schema.items() {
            let mut context = context.clone();
            if schema.text("x-kubernetes-list-type") != "map" {
                context = context.uncorrelatable(path);
            }
            let items_path = path.child("items");
            match items {
                Items::Nothing => {}
                Items::One(item) => {
                    self.walk(item, &context, false, rules.and_then(RuleContext::items), &items_path);
                }
                Items::Many(items) => {
                    for (index, item) in items.into_iter().enumerate() {
                        self.walk(item, &context, false, None, &items_path.index(index));
                    }
                }
            }
        }
        let dependencies_path = path.child("dependencies");
        for (name, inner) in schema.named("dependencies") {
            self.walk(inner, context, false, None, &dependencies_path.key(name));
        }
    }

    fn rule_parts(&mut self, schema: Props<'_>, rule: &Rule, path: &Path<'_>) {
        let errors = &mut self.schema_errors;
        let has_lines = |text: &str| text.contains(['\n', '\r']);
        let (trimmed, message) = (rule.expression.trim(), rule.message.trim());
        if trimmed.is_empty() {
            errors.push(Error::required(&path.child("rule"), "rule is not specified"));
        } else if !rule.message.is_empty() && message.is_empty() {
            let words = "must be non-empty if specified";
            errors.push(Error::invalid(&path.child("message"), rule.message.as_str(), words));
        } else if has_lines(message) {
            errors.push(Error::invalid(&path.child("message"), rule.message.as_str(), "must not contain line breaks"));
        } else if has_lines(trimmed) && message.is_empty() {
            let words = "message must be specified if rule contains line breaks";
            errors.push(Error::required(&path.child("message"), words));
        }
        if !rule.message_expression.is_empty() && rule.message_expression.trim().is_empty() {
            let words = "messageExpression must be non-empty if specified";
            errors.push(Error::required(&path.child("messageExpression"), words));
        }
        if let Some(reason) = rule.reason.as_deref().filter(|reason| !REASONS.contains(reason)) {
            errors.push(Error::not_supported(&path.child("reason"), reason, &REASONS));
        }
        let field_path = rule.field_path.as_str();
        let path = path.child("fieldPath");
        if !field_path.is_empty() && field_path.trim().is_empty() {
            errors.push(Error::invalid(&path, field_path, "must be non-empty if specified"));
        }
        if has_lines(field_path) {
            errors.push(Error::invalid(&path, field_path, "must not contain line breaks"));
        }
        if !field_path.is_empty() && compile(schema).is_ok_and(|schema| find_field(field_path, &schema, true).is_err())
        {
            errors.push(Error::invalid(&path, field_path, "must be a valid path"));
        }
    }
}

pub(super) fn has_invalid_type(schema: Props<'_>) -> bool {
    !schema.kind().is_empty() && !TYPES.contains(&schema.kind())
}

pub(super) fn is_not_structural(schema: Props<'_>) -> bool {
    compile(schema).is_err() || !structural::validate(schema, &Path::ROOT).is_empty()
}
