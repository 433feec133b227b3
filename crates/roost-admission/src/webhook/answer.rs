//! What a webhook answers.

use roost_object::status::Details;
use roost_object::{Status, Value};

/// A version of the review's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewVersion {
    /// `admission.k8s.io/v1`.
    V1,
    /// `admission.k8s.io/v1beta1`, whose answers were checked less.
    V1Beta1,
}

impl ReviewVersion {
    /// The first version of a list that is known.
    pub fn first_known(versions: &Value) -> Option<Self> {
        versions.as_array().into_iter().flatten().find_map(|version| match version.as_str() {
            Some("v1") => Some(Self::V1),
            Some("v1beta1") => Some(Self::V1Beta1),
            _ => None,
        })
    }

    /// `group/version`.
    pub fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "admission.k8s.io/v1",
            Self::V1Beta1 => "admission.k8s.io/v1beta1",
        }
    }
}

/// What a webhook has to say.
#[derive(Debug, Default)]
pub struct Answer {
    /// Whether the request may go on.
    pub allowed: bool,
    /// A JSON patch of the object; empty for none.
    pub patch: Vec<u8>,
    /// How the patch is to be read.
    pub patch_type: String,
    /// Why the request may not go on.
    pub status: Option<Status>,
    /// What to warn of.
    pub warnings: Vec<String>,
    /// What to say in the audit log.
    pub annotations: Vec<(String, String)>,
}

/// Why an answer does not count, in stock's words.
#[derive(Debug, PartialEq, Eq)]
pub struct InvalidAnswer(pub String);

impl Answer {
    /// Reads an answer to the review with the given uid; `decode` reads base64.
    pub fn read(
        body: &Value,
        version: ReviewVersion,
        uid: &str,
        mutating: bool,
        decode: fn(&str) -> Vec<u8>,
    ) -> Result<Self, InvalidAnswer> {
        let refuse = |why: String| Err(InvalidAnswer(why));
        let response = &body["response"];
        if !response.is_object() {
            return refuse("webhook response was absent".into());
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut patch = decode(response["patch"].as_str().unwrap_or_default());
        let mut patch_type = response.get("patchType").filter(|kind| !kind.is_null()).map(text);
        if version == ReviewVersion::V1 {
            let given = text(&response["uid"]);
            if given != uid {
                return refuse(format!("expected response.uid=\"{uid}\", got \"{given}\""));
            }
            let kind = shown_kind(body);
            let wanted = "admission.k8s.io/v1, Kind=AdmissionReview";
            if kind != wanted {
                return refuse(format!("expected webhook response of {wanted}, got {kind}"));
            }
            match (mutating, patch.is_empty(), &patch_type) {
                (true, false, None) => {
                    return refuse("webhook returned response.patch but not response.patchType".into());
                }
                (true, true, Some(_)) => {
                    return refuse("webhook returned response.patchType but not response.patch".into());
                }
                (true, _, Some(kind)) if kind.is_empty() => {
                    return refuse("webhook returned invalid response.patchType of \"\"".into());
                }
                (false, false, _) => return refuse("validating webhook may not return response.patch".into()),
                (false, _, Some(_)) => return refuse("validating webhook may not return response.patchType".into()),
                _ => {}
            }
        } else {
            patch_type = (!patch.is_empty()).then(|| "JSONPatch".to_owned());
        }
        if !mutating {
            patch.clear();
        }
        let warnings = response["warnings"].as_array().into_iter().flatten().map(text).collect();
        let annotations = response["auditAnnotations"].as_object().into_iter().flatten();
        Ok(Self {
            allowed: response["allowed"] == true,
            patch,
            patch_type: patch_type.unwrap_or_default(),
            status: read_status(&response["status"]),
            warnings,
            annotations: annotations.map(|(key, value)| (key.clone(), text(value))).collect(),
        })
    }
}

/// A kind as Go prints it.
fn shown_kind(body: &Value) -> String {
    let api_version = body["apiVersion"].as_str().unwrap_or_default();
    let kind = body["kind"].as_str().unwrap_or_default();
    match api_version.split_once('/') {
        Some((group, version)) => format!("{group}/{version}, Kind={kind}"),
        None => format!("/{api_version}, Kind={kind}"),
    }
}

fn read_status(status: &Value) -> Option<Status> {
    if !status.is_object() {
        return None;
    }
    let text = |field: &str| status[field].as_str().unwrap_or_default().to_owned();
    let details = status.get("details").and_then(|details| serde_json::from_value::<Details>(details.clone()).ok());
    Some(Status {
        status: text("status"),
        message: text("message"),
        reason: text("reason"),
        details: details.map(Box::new),
        code: status["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn bytes(text: &str) -> Vec<u8> {
        text.as_bytes().to_vec()
    }

    #[test]
    fn answers_are_checked() {
        let body = |response: Value| json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
        let cases = [
            (json!({}), true, "webhook response was absent"),
            (body(json!({"uid": "b"})), true, "expected response.uid=\"a\", got \"b\""),
            (
                json!({"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview", "response": {"uid": "a"}}),
                true,
                "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got admission.k8s.io/v1beta1, Kind=AdmissionReview",
            ),
            (
                json!({"response": {"uid": "a"}}),
                true,
                "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
            ),
            (
                body(json!({"uid": "a", "patch": "x"})),
                true,
                "webhook returned response.patch but not response.patchType",
            ),
            (
                body(json!({"uid": "a", "patchType": "JSONPatch"})),
                true,
                "webhook returned response.patchType but not response.patch",
            ),
            (body(json!({"uid": "a", "patch": "x"})), false, "validating webhook may not return response.patch"),
            (
                body(json!({"uid": "a", "patchType": "JSONPatch"})),
                false,
                "validating webhook may not return response.patchType",
            ),
        ];
        for (body, mutating, words) in cases {
            let answer = Answer::read(&body, ReviewVersion::V1, "a", mutating, bytes);
            assert_eq!(answer.unwrap_err(), InvalidAnswer(words.into()));
        }
        let old = Answer::read(&json!({"response": {"patch": "x"}}), ReviewVersion::V1Beta1, "a", true, bytes).unwrap();
        assert_eq!((old.patch_type.as_str(), old.patch.len(), old.allowed), ("JSONPatch", 1, false));
    }
}
