//! Routes as values in either generation.

use serde_json::{Map, Value, json};

use super::route::{DELETE_OPTIONS, Model, Parameter, Route, Words};
use super::{Descriptions, Generation, names, reference};

/// The parameters that documents of the second generation write once and refer to.
pub(super) type Shared = std::collections::BTreeMap<String, Value>;

/// Everything on one path.
pub(super) fn path(
    routes: &[&Route],
    generation: Generation,
    descriptions: &dyn Descriptions,
    shared: &mut Shared,
) -> Value {
    let common = common_parameters(routes);
    let mut item = Map::new();
    for route in routes {
        let own = sorted(route.parameters.iter().filter(|one| !common.iter().any(|other| is_same(one, other))));
        let operation = match generation {
            Generation::V2 => operation_v2(route, &own, descriptions, shared),
            Generation::V3 => operation_v3(route, &own, descriptions),
        };
        item.insert(route.method.to_owned(), operation);
    }
    if !common.is_empty() {
        let list = sorted(common.into_iter());
        let list = match generation {
            Generation::V2 => list.into_iter().map(|one| share(parameter_v2(one, descriptions), shared)).collect(),
            Generation::V3 => list.into_iter().map(|one| parameter_v3(one, descriptions)).collect(),
        };
        item.insert("parameters".to_owned(), list);
    }
    Value::Object(item)
}

/// The parameters that all operations of a path have.
fn common_parameters<'a>(routes: &[&'a Route]) -> Vec<&'a Parameter> {
    let Some((first, others)) = routes.split_first() else { return Vec::new() };
    let has = |route: &Route, wanted: &Parameter| route.parameters.iter().any(|found| is_same(found, wanted));
    first.parameters.iter().filter(|wanted| others.iter().all(|route| has(route, wanted))).collect()
}

fn is_same(one: &Parameter, other: &Parameter) -> bool {
    one.name == other.name && one.in_path == other.in_path
}

fn sorted<'a>(parameters: impl Iterator<Item = &'a Parameter>) -> Vec<&'a Parameter> {
    let mut list: Vec<&Parameter> = parameters.collect();
    list.sort_by_key(|parameter| (parameter.name, !parameter.in_path));
    list
}

fn words<'a>(parameter: &'a Parameter, descriptions: &'a dyn Descriptions) -> &'a str {
    match &parameter.words {
        Words::Are(words) => words,
        Words::OfDeletion => descriptions.of_field(DELETE_OPTIONS, parameter.name),
    }
}

fn model(model: &Model, generation: Generation) -> Value {
    match model {
        Model::Text => json!({"type": "string"}),
        Model::Schema(schema) => reference(generation, schema),
    }
}

/// What both generations say in the same way.
fn operation(route: &Route) -> Map<String, Value> {
    let (name, tag) = names::operation(&route.operation, &route.path);
    let mut operation = Map::new();
    operation.insert("tags".into(), json!([tag]));
    operation.insert("description".into(), route.description.as_str().into());
    operation.insert("operationId".into(), name.into());
    if let Some(action) = &route.action {
        operation.insert("x-kubernetes-action".into(), action.verb.into());
        operation.insert(
            "x-kubernetes-group-version-kind".into(),
            json!({"group": action.group, "version": action.version, "kind": action.kind}),
        );
    }
    operation
}

fn responses(route: &Route, one: impl Fn(&str) -> Value) -> Value {
    let mut responses: Map<String, Value> =
        route.responses.iter().map(|(code, words)| ((*code).to_owned(), one(words))).collect();
    responses.insert("401".to_owned(), json!({"description": "Unauthorized"}));
    Value::Object(responses)
}

fn operation_v3(route: &Route, parameters: &[&Parameter], descriptions: &dyn Descriptions) -> Value {
    let mut operation = operation(route);
    let content = |types: &[&str], schema: &Value| -> Value {
        Value::Object(types.iter().map(|media| ((*media).to_owned(), json!({"schema": schema}))).collect())
    };
    if !parameters.is_empty() {
        let list = parameters.iter().map(|one| parameter_v3(one, descriptions)).collect();
        operation.insert("parameters".into(), list);
    }
    if let Some(body) = &route.body {
        let mut request = Map::new();
        request.insert("content".into(), content(route.consumes, &reference(Generation::V3, &body.schema)));
        if body.required {
            request.insert("required".into(), true.into());
        }
        operation.insert("requestBody".into(), Value::Object(request));
    }
    let answer = content(route.produces, &model(&route.answer, Generation::V3));
    operation.insert("responses".into(), responses(route, |words| json!({"description": words, "content": answer})));
    Value::Object(operation)
}

fn parameter_v3(parameter: &Parameter, descriptions: &dyn Descriptions) -> Value {
    let mut value = json!({
        "name": parameter.name,
        "in": if parameter.in_path { "path" } else { "query" },
        "description": words(parameter, descriptions),
        "schema": {"type": parameter.of_type, "uniqueItems": true},
    });
    if parameter.in_path {
        value["required"] = true.into();
    }
    value
}

fn operation_v2(
    route: &Route,
    parameters: &[&Parameter],
    descriptions: &dyn Descriptions,
    shared: &mut Shared,
) -> Value {
    let mut operation = operation(route);
    if !route.consumes.is_empty() {
        operation.insert("consumes".into(), route.consumes.into());
    }
    operation.insert("produces".into(), route.produces.into());
    operation.insert("schemes".into(), json!(["https"]));
    let mut list = Vec::new();
    if let Some(body) = &route.body {
        let mut value = json!({"name": "body", "in": "body", "schema": reference(Generation::V2, &body.schema)});
        if body.required {
            value["required"] = true.into();
        }
        list.push(value);
    }
    list.extend(parameters.iter().map(|one| parameter_v2(one, descriptions)));
    list.sort_by_key(|value| value["name"].as_str().unwrap_or_default().to_owned());
    if !list.is_empty() {
        operation.insert("parameters".into(), list.into_iter().map(|value| share(value, shared)).collect());
    }
    let answer = model(&route.answer, Generation::V2);
    operation.insert("responses".into(), responses(route, |words| json!({"description": words, "schema": answer})));
    Value::Object(operation)
}

fn parameter_v2(parameter: &Parameter, descriptions: &dyn Descriptions) -> Value {
    let mut value = json!({
        "name": parameter.name,
        "in": if parameter.in_path { "path" } else { "query" },
        "description": words(parameter, descriptions),
        "type": parameter.of_type,
        "uniqueItems": true,
    });
    if parameter.in_path {
        value["required"] = true.into();
    }
    value
}

/// Puts a parameter among the shared ones and returns a reference to it, unless clients look for it in place.
fn share(parameter: Value, shared: &mut Shared) -> Value {
    let name = parameter["name"].as_str().unwrap_or_default();
    let body = parameter["schema"]["$ref"].as_str().is_some_and(|schema| !schema.contains("/io.k8s.apimachinery"));
    if body || matches!(name, "name" | "fieldValidation" | "dryRun") {
        return parameter;
    }
    let key = format!("{name}-{}", short_hash(&parameter.to_string()));
    let place = json!({"$ref": format!("#/parameters/{key}")});
    shared.entry(key).or_insert(parameter);
    place
}

/// Eight letters that stand for a text.
fn short_hash(text: &str) -> String {
    use base64::Engine as _;
    // FNV with 64 bits.
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| hash.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte));
    base64::engine::general_purpose::URL_SAFE.encode(&hash.to_be_bytes()[..6])
}
