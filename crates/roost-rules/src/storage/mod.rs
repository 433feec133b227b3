//! Volumes, claims, classes, and what drivers say about themselves.

mod attachment;
mod claim;
mod class;
mod driver;
mod source;
mod volume;

use crate::{Rules, drop_status, internal, keep_spec, keep_spec_and_metadata, keep_status};

const GROUP: &str = "storage.k8s.io";

pub(crate) static TABLE: &[Rules] = &[
    Rules {
        kind: "PersistentVolume",
        defaults: volume::defaults,
        prepare_create: volume::prepare_create,
        prepare_update: keep_status,
        prepare_status_update: keep_spec,
        stamp: volume::stamp,
        validate: |volume, errors| volume::validate(volume, None, errors),
        validate_update: volume::validate_update,
        validate_status_update: volume::validate_status_update,
        warnings: volume::warnings,
        ..Rules::NONE
    },
    Rules {
        kind: "PersistentVolumeClaim",
        defaults: claim::defaults,
        prepare_create: claim::prepare_create,
        prepare_update: claim::prepare_update,
        prepare_status_update: keep_spec,
        validate: claim::validate,
        validate_update: claim::validate_update,
        validate_status_update: claim::validate_status_update,
        warnings: claim::warnings,
        stored_unsettled: |_| true,
        ..Rules::NONE
    },
    Rules {
        group: GROUP,
        kind: "StorageClass",
        defaults: class::defaults,
        validate: class::validate,
        validate_update: class::validate_update,
        warnings: class::warnings,
        ..Rules::NONE
    },
    Rules {
        group: GROUP,
        kind: "VolumeAttributesClass",
        validate: class::validate_attributes,
        validate_update: class::validate_attributes_update,
        ..Rules::NONE
    },
    Rules {
        group: GROUP,
        kind: "VolumeAttachment",
        defaults: attachment::defaults,
        prepare_create: drop_status,
        prepare_update: keep_status,
        prepare_status_update: keep_spec_and_metadata,
        validate: attachment::validate,
        validate_update: attachment::validate_update,
        validate_status_update: attachment::validate_update,
        unconditional_update: false,
        ..Rules::NONE
    },
    Rules {
        group: GROUP,
        kind: "CSIDriver",
        defaults: driver::defaults,
        prepare_create: driver::prepare_create,
        prepare_update: driver::prepare_update,
        validate: driver::validate,
        validate_update: driver::validate_update,
        warnings: driver::warnings,
        warns_on_update: |new, old| {
            !internal::same("[storage.TokenRequest", &new["spec"]["tokenRequests"], &old["spec"]["tokenRequests"])
        },
        unconditional_update: false,
        ..Rules::NONE
    },
    Rules {
        group: GROUP,
        kind: "CSINode",
        validate: driver::validate_node,
        validate_update: driver::validate_node_update,
        unconditional_update: false,
        ..Rules::NONE
    },
    Rules {
        group: GROUP,
        kind: "CSIStorageCapacity",
        validate: |capacity, errors| driver::validate_capacity(capacity, errors),
        validate_update: driver::validate_capacity_update,
        warnings: driver::capacity_warnings,
        unconditional_update: false,
        ..Rules::NONE
    },
];
