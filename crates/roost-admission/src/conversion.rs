//! Conversion of custom resources by a webhook: what it is sent, and what its answers are worth.

use roost_object::field::{Errors, Path, aggregate};
use roost_object::metadata::{validate_annotations, validate_labels};
use roost_object::{Map, Value};
use serde_json::json;

/// A version of the review's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConversionVersion {
    /// `apiextensions.k8s.io/v1`.
    V1,
    /// `apiextensions.k8s.io/v1beta1`, whose answers were checked less.
    V1Beta1,
}

impl ConversionVersion {
    /// The first version of a list that is known.
    pub fn first_known(versions: &[String]) -> Result<Self, String> {
        let known = versions.iter().find_map(|version| match version.as_str() {
            "v1" => Some(Self::V1),
            "v1beta1" => Some(Self::V1Beta1),
            _ => None,
        });
        known.ok_or_else(|| "no supported conversion review versions".to_owned())
    }

    fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "apiextensions.k8s.io/v1",
            Self::V1Beta1 => "apiextensions.k8s.io/v1beta1",
        }
    }
}

/// The body that asks for objects in another version.
pub fn conversion_review(version: ConversionVersion, uid: &str, desired: &str, objects: &[&Value]) -> Value {
    json!({
        "kind": "ConversionReview",
        "apiVersion": version.api_version(),
        "request": {"uid": uid, "desiredAPIVersion": desired, "objects": objects},
        "response": {"uid": "", "convertedObjects": null, "result": {"metadata": {}}},
    })
}

/// Reads the answer: the objects in the desired version, with metadata that nobody but the server can change. The error
/// is in stock's words.
pub fn converted(
    body: &Value,
    version: ConversionVersion,
    uid: &str,
    desired: &str,
    originals: &[&Value],
) -> Result<Vec<Value>, String> {
    let kind = shown_kind(originals.first().copied().unwrap_or(&Value::Null));
    let failed = |why: String| format!("conversion webhook for {kind} failed: {why}");
    if version == ConversionVersion::V1 {
        let (given, wanted) = (shown_kind(body), "apiextensions.k8s.io/v1, Kind=ConversionReview");
        if given != wanted {
            return Err(failed(format!("expected webhook response of {wanted}, got {given}")));
        }
    }
    let response = &body["response"];
    if !response.is_object() {
        return Err(failed("no response provided".into()));
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if version == ConversionVersion::V1 && text(&response["uid"]) != uid {
        return Err(failed(format!("expected response.uid=\"{uid}\", got \"{}\"", text(&response["uid"]))));
    }
    let result = &response["result"];
    if result["status"] != "Success" {
        let message = text(&result["message"]);
        return Err(failed(if message.is_empty() {
            format!("response.result.status was '{}', not 'Success'", text(&result["status"]))
        } else {
            message
        }));
    }
    let objects = response["convertedObjects"].as_array().map(Vec::as_slice).unwrap_or_default();
    if objects.len() != originals.len() {
        let (got, expected) = (objects.len(), originals.len());
        return Err(format!("conversion webhook for {kind} returned {got} objects, expected {expected}"));
    }
    let each = originals.iter().zip(objects).enumerate();
    each.map(|(index, (original, object))| {
        let place = if originals.len() == 1 { String::new() } else { format!(" at index {index}") };
        let refuse = |why: String| format!("conversion webhook for {kind} returned invalid object{place}: {why}");
        if object["apiVersion"] != desired {
            let got = text(&object["apiVersion"]);
            return Err(refuse(format!("invalid groupVersion (expected {desired}, received {got})")));
        }
        check(original, object).map_err(refuse)?;
        restore_metadata(original, object.clone())
            .map_err(|why| format!("conversion webhook for {kind} returned invalid metadata{place}: {why}"))
    })
    .collect()
}

/// A kind as Go prints it.
fn shown_kind(object: &Value) -> String {
    let text = |name: &str| object[name].as_str().unwrap_or_default();
    match text("apiVersion").split_once('/') {
        Some((group, version)) => format!("{group}/{version}, Kind={}", text("kind")),
        None => format!("/{}, Kind={}", text("apiVersion"), text("kind")),
    }
}

fn check(original: &Value, object: &Value) -> Result<(), String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let same = |what: &str, before: &Value, after: &Value| {
        let (before, after) = (text(before), text(after));
        if before == after { Ok(()) } else { Err(format!("must have the same {what}: {before} != {after}")) }
    };
    same("kind", &original["kind"], &object["kind"])?;
    for (what, field) in [("name", "name"), ("namespace", "namespace"), ("UID", "uid")] {
        same(what, &original["metadata"][field], &object["metadata"][field])?;
    }
    Ok(())
}

/// Metadata stays as it was, but for labels and annotations.
fn restore_metadata(original: &Value, mut object: Value) -> Result<Value, String> {
    let given = match &object["metadata"] {
        Value::Object(metadata) => metadata.clone(),
        Value::Null => return Err("missing metadata in converted object".into()),
        _ => return Err("invalid metadata in converted object".into()),
    };
    let mut metadata = original["metadata"].as_object().cloned().unwrap_or_default();
    for field in ["labels", "annotations"] {
        let Some(texts) = given.get(field).filter(|texts| !texts.is_null()) else {
            metadata.remove(field);
            continue;
        };
        let Some(entries) = texts.as_object() else {
            return Err(format!("invalid metadata.{field} in converted object"));
        };
        if let Some((key, _)) = entries.iter().find(|(_, value)| !value.is_string()) {
            return Err(format!("metadata.{field}[{key}] must be a string in converted object"));
        }
        if metadata.get(field) != Some(texts) {
            let mut errors = Errors::new();
            if field == "labels" {
                validate_labels(texts, &Path::new("metadata.labels"), &mut errors);
            } else {
                validate_annotations(texts, &Path::new("metadata.annotation"), &mut errors);
            }
            if !errors.is_empty() {
                return Err(aggregate(&errors));
            }
        }
        metadata.insert(field.to_owned(), texts.clone());
    }
    if let Some(fields) = object.as_object_mut() {
        let metadata: Map<String, Value> = metadata;
        fields.insert("metadata".to_owned(), Value::Object(metadata));
    }
    Ok(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(version: &str, labels: &Value) -> Value {
        json!({"apiVersion": format!("example.com/{version}"), "kind": "Thing", "spec": {"version": version},
            "metadata": {"name": "a", "namespace": "n", "uid": "u", "labels": labels, "finalizers": ["x"]}})
    }

    fn answer(objects: &Value) -> Value {
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
            "response": {"uid": "r", "result": {"status": "Success"}, "convertedObjects": objects}})
    }

    fn convert(body: &Value) -> Result<Vec<Value>, String> {
        let original = object("v1", &json!({"a": "b"}));
        converted(body, ConversionVersion::V1, "r", "example.com/v2", &[&original])
    }

    #[test]
    fn only_labels_and_annotations_change_beside_the_content() {
        let mut changed = object("v2", &json!({"c": "d"}));
        changed["metadata"]["finalizers"] = json!([]);
        let got = convert(&answer(&json!([changed]))).unwrap();
        assert_eq!(got, [object("v2", &json!({"c": "d"}))]);
    }

    #[test]
    fn answers_are_checked() {
        let kind = "example.com/v1, Kind=Thing";
        let mut renamed = object("v2", &json!({}));
        renamed["metadata"]["name"] = "b".into();
        let failed = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
            "response": {"uid": "r", "result": {"status": "Failed", "message": "no way"}}});
        let cases = [
            (
                json!({}),
                format!(
                    "conversion webhook for {kind} failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind="
                ),
            ),
            (failed, format!("conversion webhook for {kind} failed: no way")),
            (answer(&json!([])), format!("conversion webhook for {kind} returned 0 objects, expected 1")),
            (
                answer(&json!([object("v3", &json!({}))])),
                format!(
                    "conversion webhook for {kind} returned invalid object: invalid groupVersion (expected example.com/v2, received example.com/v3)"
                ),
            ),
            (
                answer(&json!([renamed])),
                format!("conversion webhook for {kind} returned invalid object: must have the same name: a != b"),
            ),
        ];
        for (body, words) in cases {
            assert_eq!(convert(&body), Err(words));
        }
    }
}
