//! A custom kind in one of its versions, as a resource sees it.

use std::sync::{Arc, LazyLock};

use roost_object::GroupVersionKind;
use roost_schema::{Definition, Structural, Version};
use roost_store::Revision;

/// A custom kind in one of its versions.
pub(crate) struct Custom {
    /// The compiled definition, shared by its versions.
    pub(crate) definition: Arc<Definition>,
    /// Which of the definition's versions.
    pub(crate) index: usize,
    /// The definition's name, `<plural>.<group>`.
    pub(crate) name: String,
    /// The revision of the definition: objects written before it may lack its defaults.
    pub(crate) since: Revision,
    /// Whether the definition is being deleted: nothing new may be created.
    pub(crate) terminating: bool,
}

impl Custom {
    /// The version that this resource serves.
    pub(crate) fn version(&self) -> &Version {
        &self.definition.versions[self.index]
    }

    /// The schema that a body is read with: that of the version it names. A version that does not exist has no fields,
    /// and of another kind nothing is known.
    pub(crate) fn schema_of(&self, named: &GroupVersionKind) -> Option<&Structural> {
        if named.group != self.definition.group || named.kind != self.definition.kind {
            return Some(&ANY_FIELDS);
        }
        match self.definition.version_named(&named.version) {
            Some(version) => version.schema.as_ref(),
            None => Some(&NO_FIELDS),
        }
    }
}

static ANY_FIELDS: LazyLock<Structural> = LazyLock::new(|| {
    let schema = serde_json::json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    Structural::compile(&schema).expect("the schema above is well formed")
});

static NO_FIELDS: LazyLock<Structural> = LazyLock::new(|| {
    Structural::compile(&serde_json::json!({"type": "object"})).expect("the schema above is well formed")
});
