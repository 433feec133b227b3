//! The row of rules of CustomResourceDefinition, whose rules live with the schemas that it defines.

use roost_object::Value;
use roost_rules::{Generation, NameRule, Rules, keep_spec, keep_status};
use serde_json::json;

/// The rules of CustomResourceDefinition.
pub(crate) static RULES: Rules = Rules {
    group: "apiextensions.k8s.io",
    kind: "CustomResourceDefinition",
    name: NameRule::PluralAndGroup,
    defaults: roost_schema::default_definition,
    prepare_create: |definition| {
        definition["status"] = json!({
            "conditions": null,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": storage_version(definition).into_iter().collect::<Vec<_>>(),
        });
    },
    prepare_update: |new, old| {
        keep_status(new, old);
        if let Some(version) = storage_version(new)
            && let Some(stored) = new["status"]["storedVersions"].as_array_mut()
            && !stored.iter().any(|known| *known == version)
        {
            stored.push(version.into());
        }
    },
    // Stock means to keep the metadata as well, but takes it from the wrong object.
    prepare_status_update: keep_spec,
    generation: Generation::Spec,
    validate: |definition, errors| errors.extend(roost_schema::validate_definition(definition)),
    validate_update: |new, old, errors| errors.extend(roost_schema::validate_definition_update(new, old)),
    validate_status_update: |new, _, errors| errors.extend(roost_schema::validate_definition_status(new)),
    warnings: |definition, warnings| warnings.extend(roost_schema::definition_warnings(definition, None)),
    warns_on_update: |_, _| false,
    update_warnings: |new, old, warnings| warnings.extend(roost_schema::definition_warnings(new, Some(old))),
    unconditional_update: false,
    ..Rules::NONE
};

fn storage_version(definition: &Value) -> Option<String> {
    let versions = definition["spec"]["versions"].as_array()?;
    versions.iter().find(|version| version["storage"] == true)?["name"].as_str().map(str::to_owned)
}
