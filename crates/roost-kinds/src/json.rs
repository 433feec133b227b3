//! Objects of the built-in kinds from JSON, as Go's decoder reads them and its encoder writes them back.
//!
//! What comes out is what a stock server has in memory: fields that the type does not have are gone and reported, zero
//! values are left out where Go leaves them out, and quantities, times and bytes have the form in which Go writes them.

pub(crate) mod bytes;
mod decoder;
mod empty;
mod trail;
mod write;

use roost_object::json::{Reader, Source, SyntaxError, Values};
use serde_json::Value;

use crate::table::Type;
use decoder::{Decoder, Stop};

pub use empty::{compared, stored, written};
pub use write::{write, write_float, write_untyped};

/// An object in the form in which Go writes it.
#[derive(Debug)]
pub struct Decoded {
    /// The object.
    pub value: Value,
    /// Sentences such as `unknown field "spec.foo"`, in the order of the document. A strict request fails with
    /// [`roost_object::json::strict_error`] of them.
    pub findings: Vec<String>,
}

/// Why a document is not an object of the type, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes are not JSON.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// A value does not fit its field.
    #[error("{0}")]
    Mismatch(String),
}

/// Reads an object of the given type from bytes. Lists and maps that were sent empty stay so: see [`written`] and
/// [`stored`] for what becomes of them.
pub fn read(bytes: &[u8], ty: &'static Type) -> Result<Decoded, DecodeError> {
    let mut reader = Reader::new(bytes);
    match run(&mut reader, ty, Integers::MustFit) {
        // Go checks the whole document's syntax before it looks at a single type.
        Err(DecodeError::Mismatch(complaint)) => {
            Reader::check(bytes)?;
            Err(DecodeError::Mismatch(complaint))
        }
        Err(error) => Err(error),
        Ok(decoded) => {
            reader.finish()?;
            Ok(decoded)
        }
    }
}

/// Gives a value in memory, such as a patched object, the form of the type.
pub fn decode(value: Value, ty: &'static Type) -> Result<Decoded, DecodeError> {
    run(&mut Values::new(value), ty, Integers::MustFit)
}

/// [`decode`] for a tree that stock does not write as JSON in between; numbers lose the bits for which there is no room.
pub(crate) fn decode_wrapping(value: Value, ty: &'static Type) -> Result<Decoded, DecodeError> {
    run(&mut Values::new(value), ty, Integers::Wrap)
}

/// What becomes of a whole number that its field cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Integers {
    /// It is refused.
    MustFit,
    /// Its upper bits are lost.
    Wrap,
}

fn run<'a, S: Source<'a>>(source: &mut S, ty: &'static Type, integers: Integers) -> Result<Decoded, DecodeError> {
    let mut decoder = Decoder::new(source, integers);
    match decoder.document(ty) {
        Ok(value) => Ok(Decoded { value, findings: decoder.findings.into_sentences() }),
        Err(Stop::Syntax(error)) => Err(DecodeError::Syntax(error)),
        Err(Stop::Mismatch(complaint)) => Err(DecodeError::Mismatch(complaint)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(text: &str) -> Result<Decoded, DecodeError> {
        read(text.as_bytes(), crate::type_of("v1", "Pod").unwrap())
    }

    fn refused(api_version: &str, kind: &str, text: &str) -> String {
        read(text.as_bytes(), crate::type_of(api_version, kind).unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn what_comes_out_is_what_go_writes() {
        let decoded = pod(r#"{
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "a", "labels": {}, "creationTimestamp": null, "generation": 0,
                         "deletionTimestamp": "2026-01-02T03:04:05.6+01:00"},
            "spec": {"containers": [{"name": "c", "command": [], "env": [{"name": "A", "value": ""}],
                                     "resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}, null],
                     "hostNetwork": false, "terminationGracePeriodSeconds": 0, "nodeSelector": {"a": null},
                     "securityContext": {}}
        }"#)
        .unwrap();
        assert!(decoded.findings.is_empty());
        assert_eq!(
            decoded.value,
            json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": "a", "labels": {}, "deletionTimestamp": "2026-01-02T02:04:05Z"},
                "spec": {
                    "containers": [
                        {"name": "c", "command": [], "env": [{"name": "A"}], "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}},
                        {"name": "", "resources": {}}
                    ],
                    "terminationGracePeriodSeconds": 0, "nodeSelector": {"a": ""}, "securityContext": {}
                },
                "status": {}
            })
        );
        assert_eq!(decode(decoded.value.clone(), crate::type_of("v1", "Pod").unwrap()).unwrap().value, decoded.value);
    }

    #[test]
    fn unknown_and_duplicate_fields_are_found_in_document_order() {
        let decoded =
            pod(r#"{"zoo":1,"spec":{"foo":{"bar":1},"containers":[{"name":"a","b":1,"name":"b","Image":"x"}],
                "nodeSelector":{"a":"1","a":"2"},"volumes":[{"emptyDir":{"x":1}}]},"kind":"Pod"}"#)
            .unwrap();
        assert_eq!(
            decoded.findings,
            [
                r#"unknown field "zoo""#,
                r#"unknown field "spec.foo""#,
                r#"unknown field "spec.containers[0].b""#,
                r#"duplicate field "spec.containers[0].name""#,
                r#"unknown field "spec.containers[0].Image""#,
                r#"duplicate field "spec.nodeSelector.a""#,
                r#"unknown field "spec.volumes[0].emptyDir.x""#,
            ]
        );
        assert_eq!(decoded.value["spec"]["containers"][0]["name"], "b");
    }

    #[test]
    fn repeated_fields_add_to_each_other_as_in_go() {
        let text = r#"{"metadata":{"name":"a","labels":{"x":"1"}},"metadata":{"labels":{"y":"2"},"name":null},
            "spec":{"hostNetwork":true,"securityContext":{"runAsUser":1}},"spec":{"securityContext":null}}"#;
        let value = pod(text).unwrap().value;
        assert_eq!(value["metadata"], json!({"name": "a", "labels": {"x": "1", "y": "2"}}));
        assert_eq!(value["spec"], json!({"containers": null, "hostNetwork": true}));
    }

    #[test]
    fn complaints_are_worded_as_go_words_them() {
        let prefix = "json: cannot unmarshal ";
        let cases = [
            (
                r#"{"spec":{"containers":5}}"#,
                "number into Go struct field PodSpec.spec.containers of type []v1.Container",
            ),
            (
                r#"{"metadata":{"creationTimestamp":5}}"#,
                "number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
            ),
            (
                r#"{"spec":{"volumes":[{"emptyDir":{"medium":5}}]}}"#,
                "number into Go struct field EmptyDirVolumeSource.spec.volumes.VolumeSource.emptyDir.medium of type v1.StorageMedium",
            ),
            (
                r#"{"spec":{"nodeSelector":{"a":5}}}"#,
                "number into Go struct field PodSpec.spec.nodeSelector of type string",
            ),
            (
                r#"{"spec":{"activeDeadlineSeconds":1.5,"hostNetwork":1}}"#,
                "number 1.5 into Go struct field PodSpec.spec.activeDeadlineSeconds of type int64",
            ),
            (
                r#"{"spec":{"priority":3000000000}}"#,
                "number 3000000000 into Go struct field PodSpec.spec.priority of type int32",
            ),
            ("[]", "array into Go value of type v1.Pod"),
        ];
        for (text, expected) in cases {
            assert_eq!(pod(text).unwrap_err().to_string(), format!("{prefix}{expected}"), "{text}");
        }
        assert_eq!(refused("v1", "Secret", r#"{"data":{"a":"b$"}}"#), "illegal base64 data at input byte 1");
        assert_eq!(
            refused("v1", "Service", r#"{"spec":{"ports":[{"targetPort":true}]}}"#),
            "json: cannot unmarshal bool into Go struct field ServicePort.spec.ports.targetPort of type int32"
        );
        assert_eq!(
            refused("v1", "PersistentVolumeClaim", r#"{"kind":5,"spec":{"resources":{"requests":{"storage":"abc"}}}}"#),
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        );
        assert_eq!(
            refused("v1", "Pod", r#"{"kind":5,"metadata":{"creationTimestamp":"x"}"#),
            "unexpected end of JSON input"
        );
    }

    #[test]
    fn schemas_inside_definitions_read_themselves() {
        let definition = |schema: &str| {
            let text = format!(r#"{{"spec":{{"versions":[{{"schema":{{"openAPIV3Schema":{schema}}}}}]}}}}"#);
            read(text.as_bytes(), crate::type_of("apiextensions.k8s.io/v1", "CustomResourceDefinition").unwrap())
        };
        let fine = definition(
            r#"{"properties":{"a":{"items":{"type":"string","zoo":1},"additionalProperties":true,"default":{"x":1.50}}},"zoo":1}"#,
        )
        .unwrap();
        assert_eq!(fine.findings, [r#"unknown field "spec.versions[0].schema.openAPIV3Schema.zoo""#]);
        assert_eq!(
            fine.value["spec"]["versions"][0]["schema"]["openAPIV3Schema"],
            json!({"properties": {"a": {"items": {"type": "string"}, "additionalProperties": true, "default": {"x": 1.5}}}})
        );
        assert_eq!(
            definition(r#"{"properties":{"a":{"items":{"properties":{"b":{"type":5}}}}}}"#).unwrap_err().to_string(),
            "json: cannot unmarshal number into Go struct field \
             JSONSchemaProps.spec.versions.schema.openAPIV3Schema.properties.items.properties.type of type string"
        );
        assert_eq!(
            definition(r#"{"additionalProperties":5}"#).unwrap_err().to_string(),
            "boolean or JSON schema expected"
        );
    }

    #[test]
    fn depth_is_bounded_below_types_that_nest_in_themselves() {
        for inner in [r#"{"not":"#, r#"{"additionalProperties":"#, r#"{"allOf":["#, r#"{"properties":{"a":"#] {
            let text = format!(r#"{{"spec":{{"versions":[{{"schema":{{"openAPIV3Schema":{}"#, inner.repeat(100_000));
            assert!(
                refused("apiextensions.k8s.io/v1", "CustomResourceDefinition", &text).ends_with("exceeded max depth")
            );
        }
    }
}
