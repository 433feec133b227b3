//! Attachments of volumes to nodes.

use roost_object::field::{Error, Errors};
use roost_object::{Value, names};

use super::{source, volume};
use crate::check::{Spot, immutable};
use crate::fill::Fill;

/// All metadata of an attachment together may have this many bytes.
const METADATA_MAX: usize = 256 * 1024;
/// The longest message of an error.
const MESSAGE_MAX: usize = 1024;
const ONE_OF: &str = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";

pub(super) fn defaults(attachment: &mut Value) {
    let source = attachment.at("spec").and_then(|spec| spec.at("source"));
    if let Some(spec) = source.and_then(|source| source.at("inlineVolumeSpec")) {
        volume::source_defaults(spec);
    }
}

pub(super) fn validate(attachment: &Value, errors: &mut Errors) {
    let root = Spot::root(attachment);
    let (spec, status) = (root.field("spec"), root.field("status"));
    spec.field("attacher").check(source::DRIVER_NAME, errors);
    let volume_source = spec.field("source");
    let (inline, name) = (volume_source.field("inlineVolumeSpec"), volume_source.field("persistentVolumeName"));
    match (inline.given(), name.given()) {
        (false, false) => errors.push(Error::required(&volume_source.path, ONE_OF)),
        (true, true) => volume_source.forbidden(ONE_OF, errors),
        (false, true) => {
            if !name.filled() {
                errors.push(Error::required(&name.path, "must specify non empty persistentVolumeName"));
            }
        }
        (true, false) => volume::validate_spec(&inline, "", true, true, errors),
    }
    spec.field("nodeName").text_passes(names::is_dns1123_subdomain, errors);
    validate_status(&status, errors);
    if name.given() {
        name.text_passes(names::is_dns1123_subdomain, errors);
    }
}

fn validate_status(status: &Spot<'_>, errors: &mut Errors) {
    let metadata = status.field("attachmentMetadata");
    let size = |(key, value): (&String, &Value)| key.len() + value.as_str().map_or(0, str::len);
    if metadata.value.as_object().into_iter().flatten().map(size).sum::<usize>() > METADATA_MAX {
        errors.push(Error::too_long(&metadata.path, METADATA_MAX));
    }
    for field in ["attachError", "detachError"] {
        let error = status.field(field);
        if error.field("message").text().len() > MESSAGE_MAX {
            errors.push(Error::too_long(&error.path.child("message"), METADATA_MAX));
        }
        let code = error.field("errorCode");
        if code.number() < 0 {
            code.invalid(names::out_of_range(0, i64::from(i32::MAX)), errors);
        }
    }
}

pub(super) fn validate_update(new: &Value, old: &Value, errors: &mut Errors) {
    validate(new, errors);
    immutable(&Spot::root(new).field("spec"), &old["spec"], "storage.VolumeAttachmentSpec", errors);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;
    use serde_json::json;

    #[test]
    fn one_volume_is_attached_to_one_node() {
        assert_eq!(
            words(|errors| validate(&json!({"spec": {"source": {}, "nodeName": "n"}}), errors)),
            [
                "spec.attacher: Required value",
                "spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName"
            ]
        );
        let old = json!({"spec": {"attacher": "a.b", "source": {"persistentVolumeName": "v"}, "nodeName": "n"}});
        let new = json!({"spec": {"attacher": "a.b", "source": {"persistentVolumeName": "w"}, "nodeName": "n"}});
        assert_eq!(
            words(|errors| validate_update(&new, &old, errors)),
            [
                r#"spec: Invalid value: {"Attacher":"a.b","Source":{"PersistentVolumeName":"w","InlineVolumeSpec":null},"NodeName":"n"}: field is immutable"#
            ]
        );
    }
}
