//! Definitions of real projects, where the reference data lies beside the workspace.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use roost_schema::{Definition, default_definition, validate_definition};
use serde_json::Value;

fn definitions() -> Vec<(PathBuf, Value)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference");
    let mut found = Vec::new();
    for folder in ["hypershift/crds", "assisted"] {
        let Ok(entries) = std::fs::read_dir(root.join(folder)) else {
            eprintln!("SKIPPED: there is no reference data at {}", root.join(folder).display());
            continue;
        };
        for entry in entries {
            let path = entry.expect("the folder can be read").path();
            if path.extension().is_none_or(|extension| extension != "yaml") {
                continue;
            }
            let bytes = std::fs::read(&path).expect("the file can be read");
            let value = roost_object::yaml::read(&bytes).expect("the file is YAML").value;
            if value["kind"] == "CustomResourceDefinition" {
                found.push((path, value));
            }
        }
    }
    found
}

#[test]
fn definitions_of_real_projects_are_valid_and_compile() {
    for (path, mut definition) in definitions() {
        default_definition(&mut definition);
        let errors = validate_definition(&definition);
        assert!(errors.is_empty(), "{}: {errors:?}", path.display());
        let start = Instant::now();
        let compiled = Definition::compile(&definition).expect("a valid definition compiles");
        assert!(start.elapsed() < Duration::from_secs(5), "{} took {:?}", path.display(), start.elapsed());
        for version in &compiled.versions {
            let schema = version.schema.as_ref().expect("all versions have schemas");
            let mut object = serde_json::json!({"metadata": {"name": "x"}, "spec": {}, "bogus": 1});
            assert_eq!(schema.prune(&mut object), ["bogus"], "{}", path.display());
            schema.apply_defaults(&mut object);
            schema.validate(&object);
        }
    }
}
