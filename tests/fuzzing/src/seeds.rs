//! Where fuzzers begin: the requests of the differential suite, taken apart into what each target reads.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use roost_object::{Map, Value};
use roost_pki::{AlternativeName, CertificateAuthority, CertificateRequest, PrivateKey, Subject};

/// Inputs by target.
pub type Seeds = BTreeMap<&'static str, Vec<Vec<u8>>>;

/// What all objects of the requests are called, since the fuzzed cluster has one of each kind with this name.
const NAME: &str = "one";

/// The seeds that the files of the differential suite in a directory hold, together with what only a program can make.
pub fn seeds(directory: &Path) -> io::Result<Seeds> {
    let mut seeds = Seeds::new();
    for file in read(directory)? {
        let file = &file;
        for sequence in elements(&file["sequences"]) {
            for step in elements(&sequence["steps"]) {
                for request in requests(file, sequence, step) {
                    add_request(&mut seeds, &request);
                }
            }
        }
    }
    add_certificates(&mut seeds);
    add_tokens(&mut seeds);
    for inputs in seeds.values_mut() {
        inputs.sort();
        inputs.dedup();
    }
    Ok(seeds)
}

fn read(directory: &Path) -> io::Result<Vec<Value>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            let document = roost_object::yaml::read(&std::fs::read(&path)?);
            files.push(document.map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?.value);
        }
    }
    Ok(files)
}

fn elements(list: &Value) -> &[Value] {
    list.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A request of the suite.
struct Asked {
    /// Method and path.
    line: String,
    content_type: &'static str,
    body: Value,
    /// The body as text, where it is not a tree.
    text: String,
}

/// The requests of a step whose variables are all known beforehand.
fn requests(file: &Value, sequence: &Value, step: &Value) -> Vec<Asked> {
    let Some(line) = step["do"].as_str().and_then(|line| expand(line, file, sequence)) else { return Vec::new() };
    let content_type = match step["patch"].as_str() {
        Some("json") => "application/json-patch+json",
        Some("merge") => "application/merge-patch+json",
        Some("strategic") => "application/strategic-merge-patch+json",
        Some("apply") => "application/apply-patch+yaml",
        _ => "application/json",
    };
    let mut body = step["use"].as_str().map(|name| file["bodies"][name].clone()).unwrap_or_default();
    lay_over(&mut body, &step["body"]);
    let text = step["text"].as_str().unwrap_or_default().to_owned();
    let asked = |body: &Value| {
        let body = expand(&body.to_string(), file, sequence)?;
        let mut body = roost_object::json::read(body.as_bytes()).ok()?.value;
        if content_type == "application/json" {
            name_type(line.split_once(' ')?.1, &mut body);
        }
        Some(Asked { line: line.clone(), content_type, body, text: text.clone() })
    };
    let cases = step["cases"].as_object().into_iter().flat_map(Map::values);
    let bodies = cases.map(|case| {
        let mut body = body.clone();
        lay_over(&mut body, case);
        body
    });
    let mut all: Vec<Asked> = bodies.filter_map(|body| asked(&body)).collect();
    if all.is_empty() {
        all.extend(asked(&body));
    }
    all
}

/// A text with the variables of the file and the sequence; none when it has others.
fn expand(text: &str, file: &Value, sequence: &Value) -> Option<String> {
    let mut text = text.to_owned();
    for _ in 0..3 {
        for variables in [&sequence["variables"], &file["variables"]] {
            for (name, value) in variables.as_object().into_iter().flatten() {
                text = text.replace(&format!("${{{name}}}"), value.as_str().unwrap_or_default());
            }
        }
    }
    let text = text.replace("${id}.example.com", "example.com").replace("${id}", NAME);
    let text = text.replace("${ns}", "default").replace("${case}", NAME).replace("${n}", "1");
    (!text.contains("${")).then_some(text)
}

/// Lays one body over another, as the suite does: keys that start with a slash are JSON pointers.
fn lay_over(base: &mut Value, over: &Value) {
    let Value::Object(fields) = over else {
        if !over.is_null() {
            over.clone_into(base);
        }
        return;
    };
    let (pointers, plain): (Map<String, Value>, Map<String, Value>) =
        fields.clone().into_iter().partition(|(name, _)| name.starts_with('/'));
    *base = roost_merge::merge_patch::apply(base.take(), Value::Object(plain));
    for (pointer, value) in pointers {
        let (parent, last) = pointer.rsplit_once('/').unwrap_or_default();
        match base.pointer_mut(parent) {
            Some(Value::Object(fields)) => drop(fields.insert(last.to_owned(), value)),
            Some(Value::Array(items)) => items.push(value),
            _ => {}
        }
    }
}

/// The type of a body: the one that it names, or that its path stands for.
fn name_type(path: &str, body: &mut Value) {
    let steps: Vec<&str> = path.split(['/', '?']).skip(1).collect();
    let (group, version, rest) = match steps.as_slice() {
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return,
    };
    let (["namespaces", _, plural, ..] | [plural, ..]) = rest else { return };
    if let (Some(resource), Some(fields)) = (roost_kinds::resource(group, version, plural), body.as_object_mut()) {
        fields.entry("apiVersion").or_insert_with(|| roost_object::group::api_version(group, version).into());
        fields.entry("kind").or_insert_with(|| resource.kind.into());
    }
}

fn add_request(seeds: &mut Seeds, asked: &Asked) {
    let mut add = |target: &'static str, input: Vec<u8>| seeds.entry(target).or_default().push(input);
    let body = if asked.text.is_empty() && !asked.body.is_null() { asked.body.to_string() } else { asked.text.clone() };
    add("document", body.clone().into_bytes());
    if let Ok(yaml) = roost_object::yaml::read(body.as_bytes()) {
        add("document", roost_object::yaml::write(&yaml.value).into_bytes());
    }
    add("request", of_one(&asked.line, asked.content_type, &body, &asked.body));
    let (_, query) = asked.line.split_once('?').unwrap_or_default();
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        if matches!(name, "labelSelector" | "fieldSelector") {
            add("selector", value.replace("%3D", "=").replace("%2C", ",").replace("%20", " ").into_bytes());
        }
    }
    if asked.line.starts_with("PATCH") {
        let pod = r#"{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":"c","image":"i:1","ports":[{"containerPort":80}]}]}}"#;
        add("patch", format!("{pod}\0{body}").into_bytes());
    }
    let api_version = asked.body["apiVersion"].as_str().unwrap_or_default();
    if let Some(ty) = roost_kinds::type_of(api_version, asked.body["kind"].as_str().unwrap_or_default()) {
        add("object", body.clone().into_bytes());
        if let Ok(decoded) = roost_kinds::json::decode(asked.body.clone(), ty) {
            add("protobuf", roost_kinds::protobuf::encode(&decoded.value, ty));
            add("apply", format!("{}\0{body}", owned(decoded.value, api_version)).into_bytes());
        }
    }
    for version in elements(&asked.body["spec"]["versions"]) {
        let schema = &version["schema"]["openAPIV3Schema"];
        add("schema", format!("{schema}\0{{\"spec\":{{}}}}").into_bytes());
    }
    walk(&asked.body, &mut |name, text| match name {
        "rule" | "expression" | "messageExpression" => add("expression", text.as_bytes().to_vec()),
        "pattern" => add("pattern", format!("{text}\0some words").into_bytes()),
        "jsonPath" => add("json_path", text.as_bytes().to_vec()),
        "cpu" | "memory" | "storage" | "pods" => add("quantity", text.as_bytes().to_vec()),
        _ => {}
    });
}

/// A request to the object that the fuzzed cluster has.
fn of_one(line: &str, content_type: &str, text: &str, body: &Value) -> Vec<u8> {
    let (path, query) = line.split_once('?').unwrap_or((line, ""));
    let (method, path) = path.split_once(' ').unwrap_or_default();
    let mut steps: Vec<&str> = path.split('/').collect();
    let at = if path.contains("/namespaces/") { 3 } else { 1 };
    let plural = if path.starts_with("/apis/") { 4 + at - 1 } else { 3 + at - 1 };
    if steps.len() > plural + 1 {
        steps[plural + 1] = NAME;
    }
    let mut named = body.clone();
    if let Some(name) = named.pointer_mut("/metadata/name") {
        *name = NAME.into();
    }
    let text = if named == *body { text.to_owned() } else { named.to_string() };
    let mark = if query.is_empty() { "" } else { "?" };
    format!("{method} {}{mark}{query}\n{content_type}\napplication/json\n{text}", steps.join("/")).into_bytes()
}

/// An object of which somebody owns the fields.
fn owned(mut object: Value, api_version: &str) -> Value {
    let ty = crate::type_of(&object);
    let request = roost_merge::apply::Tracking::new("before", api_version, "2025-12-31T00:00:00Z");
    roost_merge::apply::update(None, &mut object, &request, roost_kinds::TypeRef::from(ty));
    object
}

/// Every text of a tree, with the name of its field.
fn walk(value: &Value, found: &mut impl FnMut(&str, &str)) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| walk(item, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Value::String(text) = value {
                    found(name, text);
                }
                walk(value, found);
            }
        }
        _ => {}
    }
}

fn add_certificates(seeds: &mut Seeds) {
    let inputs = seeds.entry("certificate_request").or_default();
    let now = jiff::Timestamp::UNIX_EPOCH;
    let key = PrivateKey::generate().expect("a key");
    let names = [AlternativeName::host("a.example.com"), AlternativeName::host("10.0.0.1")];
    for subject in [Subject::new("system:node:one", ["system:nodes"]), Subject::new("é", ["a", "b"]).with_units(["u"])]
    {
        for names in [&names[..], &[]] {
            let request = CertificateRequest::new(&subject, names, &key).expect("a request");
            inputs.extend([request.der().to_vec(), request.to_pem().into_bytes()]);
        }
        let authority = CertificateAuthority::for_subject(&subject, now, jiff::SignedDuration::from_hours(1));
        let certificate = authority.expect("an authority").certificate().clone();
        inputs.extend([certificate.der().to_vec(), certificate.to_pem().into_bytes()]);
    }
    inputs.push(key.public_key().to_pem().into_bytes());
}

fn add_tokens(seeds: &mut Seeds) {
    let header = r#"{"alg":"ES256","kid":""}"#;
    let bound = r#"{"iss":"https://issuer.example.com","sub":"system:serviceaccount:a:b","aud":["api"],"exp":9e9,"nbf":1,"iat":1,"jti":"x","kubernetes.io":{"namespace":"a","serviceaccount":{"name":"b","uid":"u"},"pod":{"name":"p","uid":"u"},"node":{"name":"n"},"warnafter":5}}"#;
    let legacy = r#"{"iss":"kubernetes/serviceaccount","sub":"system:serviceaccount:a:b","kubernetes.io/serviceaccount/namespace":"a","kubernetes.io/serviceaccount/service-account.name":"b","kubernetes.io/serviceaccount/service-account.uid":"u","kubernetes.io/serviceaccount/secret.name":"s"}"#;
    let inputs = seeds.entry("token").or_default();
    inputs.extend([bound, legacy].map(|claims| format!("{header}\0{claims}").into_bytes()));
    inputs.push(b"abcdef.0123456789abcdef".to_vec());
}
