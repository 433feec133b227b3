//! What a node's annotation says of pods that should avoid it: the one type of stock's that only ever stands in a text.

use crate::generated::meta_v1::META_V1_OWNER_REFERENCE;
use crate::table::construct::{OMIT_EMPTY, POINTER, e, f, t};
use crate::table::{Element, Shape, Type};

/// The type of the annotation.
pub static AVOIDED_PODS: Type =
    t("v1.AvoidPods", "", &[f("preferAvoidPods", "[]v1.PreferAvoidPodsEntry", Shape::List(&ENTRY), 1, OMIT_EMPTY)]);

static ENTRY: Element = e("v1.PreferAvoidPodsEntry", Shape::Struct(&ENTRY_TYPE), false);

static ENTRY_TYPE: Type = t(
    "v1.PreferAvoidPodsEntry",
    "",
    &[
        f("podSignature", "v1.PodSignature", Shape::Struct(&SIGNATURE), 1, 0),
        f("evictionTime", "v1.Time", Shape::Time, 2, OMIT_EMPTY),
        f("reason", "string", Shape::String, 3, OMIT_EMPTY),
        f("message", "string", Shape::String, 4, OMIT_EMPTY),
    ],
);

static SIGNATURE: Type = t(
    "v1.PodSignature",
    "",
    &[f("podController", "v1.OwnerReference", Shape::Struct(&META_V1_OWNER_REFERENCE), 1, POINTER | OMIT_EMPTY)],
);
