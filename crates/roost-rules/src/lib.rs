//! The rules of the built-in kinds: defaults, validation, what may change, what is allocated.
//!
//! A kind is one row, a [`Rules`], in the table of its area (`workloads`, `core`, …). The API server walks the same
//! steps for every kind and asks the row at each step; it has no code for a kind of its own. Rules see objects in their
//! storage version, as plain values, and do no I/O.

pub mod access_control;
pub mod address;
pub mod address_range;
mod admission;
pub mod check;
mod cluster;
pub mod core;
pub mod devices;
pub mod fill;
mod flow_control;
mod internal;
mod label_selector;
pub mod network;
pub mod pod;
pub mod resource_name;
mod shown;
mod storage;
pub mod workloads;

use roost_object::Value;
use roost_object::field::{Error, Errors, Path, quote};
use roost_object::{metadata, names};

/// All that distinguishes one built-in kind from another when it is written.
///
/// Rows are written with struct update syntax over [`Rules::NONE`], so a row only says what is special about its kind.
#[derive(Clone, Copy)]
pub struct Rules {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// Which names the kind allows, checked on `metadata.name` (and on `generateName` as a prefix).
    pub name: NameRule,
    /// Fills in what the caller left out, right after the body is decoded.
    pub defaults: fn(&mut Value),
    /// Drops what a caller may not set on create (status, usually) before validation.
    pub prepare_create: fn(&mut Value),
    /// Carries over from the old object what an update may not touch. `metadata.generation` is handled by `generation`.
    pub prepare_update: fn(new: &mut Value, old: &Value),
    /// The same for an update of the status subresource: everything but status is carried over.
    pub prepare_status_update: fn(new: &mut Value, old: &Value),
    /// Writes the time of the write where the kind notes it (`now` is in RFC 3339); after preparing, before validation.
    pub stamp: fn(new: &mut Value, old: Option<&Value>, now: &str),
    /// Whether the object has a generation, and what moves it.
    pub generation: Generation,
    /// Checks a new object. Metadata is checked by the caller.
    pub validate: fn(&Value, &mut Errors),
    /// Checks an update of the main resource. Metadata is checked by the caller; `validate` is not called beside it.
    pub validate_update: fn(new: &Value, old: &Value, &mut Errors),
    /// What an update finds wrong with the object as a whole, where that is not what `validate` finds.
    pub validate_whole: Option<fn(new: &Value, old: &Value, &mut Errors)>,
    /// Checks an update of the status subresource.
    pub validate_status_update: fn(new: &Value, old: &Value, &mut Errors),
    /// What is allowed but should be known: the texts of `Warning` headers.
    pub warnings: fn(&Value, &mut Vec<String>),
    /// Whether an update is worth those warnings too.
    pub warns_on_update: fn(new: &Value, old: &Value) -> bool,
    /// Whether those are the warnings of the object as it was, because stock mixes the two up.
    pub warns_of_old: bool,
    /// What should be known of a change alone.
    pub update_warnings: fn(new: &Value, old: &Value, &mut Vec<String>),
    /// Fills in what only becomes known when a new object is stored: it is defaulted once more then.
    pub settle: fn(&mut Value),
    /// Whether a new object gets something whenever it is read that stock has not stored with it: its first update is
    /// written then, even one that changes nothing.
    pub stored_unsettled: fn(&Value) -> bool,
    /// Whether PUT creates the object when it is not there.
    pub create_on_update: bool,
    /// Whether an update without a resourceVersion is allowed to overwrite.
    pub unconditional_update: bool,
}

/// What a kind's names look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// A DNS subdomain: most kinds.
    Subdomain,
    /// A DNS label: namespaces and such.
    Label,
    /// A DNS label after RFC 1035: first a letter.
    Label1035,
    /// Anything that can be one segment of a path: the RBAC kinds.
    PathSegment,
    /// A definition's own plural and group, which make a DNS subdomain.
    PluralAndGroup,
    /// An API service's own version and group.
    VersionAndGroup,
    /// An address in its canonical form.
    Address,
    /// Anything, as long as nothing else is wrong; then it has to be a segment of a path: requests for certificates.
    Any,
}

impl NameRule {
    /// Checks a name, or with `prefix` the beginning of a name that will be generated. No sentences mean it is fine.
    pub fn check(self, object: &Value, name: &str, prefix: bool) -> Vec<String> {
        let spec = |pointer: &str| object["spec"].pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let wanted = |first: &str| format!("{}.{}", spec(first), spec("/group"));
        match self {
            NameRule::Subdomain => metadata::name_is_subdomain(name, prefix),
            NameRule::Label => metadata::name_is_label(name, prefix),
            NameRule::Label1035 => metadata::name_is_label1035(name, prefix),
            NameRule::PathSegment => metadata::name_is_path_segment(name, prefix),
            NameRule::PluralAndGroup => {
                let mut problems = metadata::name_is_subdomain(name, prefix);
                if name != wanted("/names/plural") {
                    problems.push("must be spec.names.plural+\".\"+spec.group".to_owned());
                }
                problems
            }
            NameRule::VersionAndGroup => {
                let (problems, wanted) = (names::is_path_segment(name), wanted("/version"));
                if !problems.is_empty() || name == wanted {
                    return problems;
                }
                vec![format!("must be `spec.version+\".\"+spec.group`: {}", quote(&wanted))]
            }
            NameRule::Any => Vec::new(),
            NameRule::Address => {
                let mut errors = Errors::new();
                address::validate_canonical(name, &Path::new("metadata.name"), &mut errors);
                errors.into_iter().map(|error| error.detail).collect()
            }
        }
    }
}

/// What moves `metadata.generation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// The kind has none.
    Never,
    /// One on create; one more whenever something outside metadata and status changes.
    Spec,
    /// The same, but changed annotations count too.
    SpecOrAnnotations,
    /// The same as for the spec, but a list or map that is sent empty, or a null, is another one than none.
    SpecAsSent,
    /// One on create, and so it stays.
    Once,
}

impl Rules {
    /// A row with no rules: everything is allowed and nothing is changed.
    pub const NONE: Rules = Rules {
        group: "",
        kind: "",
        name: NameRule::Subdomain,
        defaults: |_| {},
        prepare_create: |_| {},
        prepare_update: |_, _| {},
        prepare_status_update: keep_all_but_status,
        stamp: |_, _, _| {},
        generation: Generation::Never,
        validate: |_, _| {},
        validate_update: |_, _, _| {},
        validate_whole: None,
        validate_status_update: |_, _, _| {},
        warnings: |_, _| {},
        warns_on_update: |_, _| true,
        warns_of_old: false,
        update_warnings: |_, _, _| {},
        settle: |_| {},
        stored_unsettled: |_| false,
        create_on_update: false,
        unconditional_update: true,
    };
}

/// The row of a kind; kinds without special rules share [`Rules::NONE`].
pub fn of(group: &str, kind: &str) -> &'static Rules {
    static NONE: Rules = Rules::NONE;
    TABLES.iter().flat_map(|table| table.iter()).find(|row| row.kind == kind && row.group == group).unwrap_or(&NONE)
}

/// One table an area.
static TABLES: &[&[Rules]] = &[
    core::TABLE,
    network::TABLE,
    storage::TABLE,
    access_control::TABLE,
    cluster::TABLE,
    admission::TABLE,
    flow_control::TABLE,
    devices::TABLE,
    workloads::TABLE,
];

/// Checks that finalizers of a built-in kind are fully qualified or among the few that are not. This comes on top of
/// [`metadata::validate`] and [`metadata::validate_update`], which hold for custom resources too.
pub fn validate_finalizers(meta: &Value, errors: &mut Errors) {
    let path = Path::new("metadata.finalizers");
    for (index, finalizer) in check::elements(&meta["finalizers"]).iter().filter_map(Value::as_str).enumerate() {
        if !finalizer.contains('/') && !matches!(finalizer, "kubernetes" | "orphan" | "foregroundDeletion") {
            let words = "name is neither a standard finalizer name nor is it fully qualified";
            errors.push(Error::invalid(&path.index(index), finalizer, words));
        }
    }
}

/// The `warns_on_update` of the kinds that only warn when their generation moves.
pub fn generation_moved(new: &Value, old: &Value) -> bool {
    new["metadata"]["generation"] != old["metadata"]["generation"]
}

/// The usual `prepare_create`: status is the server's to write.
pub fn drop_status(new: &mut Value) {
    if let Some(object) = new.as_object_mut() {
        object.remove("status");
    }
}

/// The usual `prepare_update`: status only changes through its subresource.
pub fn keep_status(new: &mut Value, old: &Value) {
    copy_field(new, old, "status");
}

/// The `prepare_status_update` of the kinds whose metadata may change together with their status.
pub fn keep_spec(new: &mut Value, old: &Value) {
    copy_field(new, old, "spec");
}

/// The usual `prepare_status_update`: the caller's status on the stored object. Of the metadata, the caller's
/// managedFields are kept, since the caller of this function computes them.
pub fn keep_all_but_status(new: &mut Value, old: &Value) {
    let mut kept = old.clone();
    copy_field(&mut kept, new, "status");
    *new = kept;
}

/// The `prepare_status_update` of the kinds that take back what a status may not touch of the metadata, and no more.
pub fn keep_spec_and_metadata(new: &mut Value, old: &Value) {
    keep_spec(new, old);
    keep_metadata(new, old, METADATA_OF_STATUS);
}

/// What of the metadata is no part of a status.
pub(crate) const METADATA_OF_STATUS: &[&str] =
    &["deletionTimestamp", "generation", "selfLink", "labels", "annotations", "finalizers", "ownerReferences"];

pub(crate) fn keep_metadata(new: &mut Value, old: &Value, names: &[&str]) {
    if let Some(metadata) = new.get_mut("metadata") {
        for name in names {
            copy_field(metadata, &old["metadata"], name);
        }
    }
}

fn copy_field(to: &mut Value, from: &Value, name: &str) {
    if let Some(object) = to.as_object_mut() {
        match from.get(name) {
            Some(value) => object.insert(name.to_owned(), value.clone()),
            None => object.remove(name),
        };
    }
}
