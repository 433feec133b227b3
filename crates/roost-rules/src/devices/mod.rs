//! Devices: what drivers offer, what pods claim, and what was given. Expressions are compiled elsewhere: the rows here take
//! them as they are.

mod capacity;
mod claim;
mod list;
mod slice;
mod status;

use crate::{Generation, Rules, drop_status, keep_status};

pub use claim::{validate as validate_claim, validate_class, validate_template, validate_template_update};

/// What is wrong with an expression that selects devices.
pub type Compile = fn(&str) -> Option<String>;

const UNCOMPILED: Compile = |_| None;

const GROUP: &str = "resource.k8s.io";

pub(crate) static TABLE: &[Rules] = &[
    Rules {
        group: GROUP,
        kind: "ResourceClaim",
        defaults: claim::defaults,
        prepare_create: drop_status,
        prepare_update: keep_status,
        prepare_status_update: status::prepare_update,
        validate: |claim, errors| claim::validate(claim, UNCOMPILED, errors),
        validate_update: claim::validate_update,
        validate_status_update: status::validate_update,
        ..Rules::NONE
    },
    Rules {
        group: GROUP,
        kind: "ResourceClaimTemplate",
        defaults: claim::template_defaults,
        validate: |template, errors| claim::validate_template(template, UNCOMPILED, errors),
        validate_update: |new, old, errors| claim::validate_template_update(new, old, UNCOMPILED, errors),
        ..Rules::NONE
    },
    Rules {
        group: GROUP,
        kind: "DeviceClass",
        generation: Generation::Spec,
        validate: |class, errors| claim::validate_class(class, UNCOMPILED, errors),
        validate_update: |new, _, errors| claim::validate_class(new, UNCOMPILED, errors),
        ..Rules::NONE
    },
    Rules {
        group: GROUP,
        kind: "ResourceSlice",
        prepare_create: slice::prepare_create,
        prepare_update: slice::prepare_update,
        stamp: slice::stamp,
        validate: |slice, errors| slice::validate(slice, None, errors),
        validate_update: |new, old, errors| slice::validate(new, Some(old), errors),
        warnings: slice::warnings,
        ..Rules::NONE
    },
];
