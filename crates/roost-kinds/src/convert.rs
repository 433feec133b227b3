//! Objects of the built-in kinds from one served version to another.
//!
//! A stock server serves two kinds in more than one version: the horizontal pod autoscaler and the event.

mod autoscaler;
mod event;

use serde_json::Value;

use crate::json::{self, DecodeError};

/// Why an object cannot be had in another version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    /// There is no way between the two versions.
    #[error("{kind} cannot be converted from {from} to {to}")]
    Unsupported {
        /// The kind.
        kind: String,
        /// The version that the object has.
        from: String,
        /// The version that was asked for.
        to: String,
    },
    /// The object does not have the form of its type.
    #[error(transparent)]
    Form(#[from] DecodeError),
}

/// Gives an object, or a list with its items, the form of another version of its kind.
///
/// The object must have the form of its own version, as it comes from the codecs.
pub fn convert(mut object: Value, from: &str, to: &str) -> Result<Value, ConvertError> {
    if from == to {
        return Ok(object);
    }
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    if let Some(kind) = kind.strip_suffix("List") {
        for item in object.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten() {
            let named = item.get("kind").is_some();
            *item = convert_one(item.take(), kind, from, to, named)?;
        }
        object["apiVersion"] = to.into();
        return Ok(object);
    }
    convert_one(object, &kind, from, to, true)
}

fn convert_one(object: Value, kind: &str, from: &str, to: &str, named: bool) -> Result<Value, ConvertError> {
    let Value::Object(fields) = object else { return Ok(object) };
    let converted = match (kind, from, to) {
        ("Event", "v1", "events.k8s.io/v1") => event::from_core(fields),
        ("Event", "events.k8s.io/v1", "v1") => event::to_core(fields),
        ("HorizontalPodAutoscaler", "autoscaling/v1", "autoscaling/v2") => autoscaler::to_v2(fields),
        ("HorizontalPodAutoscaler", "autoscaling/v2", "autoscaling/v1") => autoscaler::to_v1(fields),
        _ => {
            return Err(ConvertError::Unsupported { kind: kind.into(), from: from.into(), to: to.into() });
        }
    };
    let Some(ty) = crate::type_of(to, kind) else {
        return Err(ConvertError::Unsupported { kind: kind.into(), from: from.into(), to: to.into() });
    };
    let mut object = json::decode(Value::Object(converted), ty)?.value;
    if named {
        object["apiVersion"] = to.into();
        object["kind"] = kind.into();
    }
    Ok(object)
}
