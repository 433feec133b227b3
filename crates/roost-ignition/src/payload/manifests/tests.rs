//! Which manifests are understood.

use super::{Manifests, documents};
use crate::payload::UserConfig;

fn user(text: &str) -> UserConfig {
    UserConfig { name: "extra".to_owned(), text: text.to_owned() }
}

#[test]
fn documents_are_split() {
    let split = |text: &str| documents(text).collect::<Vec<_>>();
    assert_eq!(split("a: 1\n---\nb: 2\n"), ["a: 1\n", "b: 2\n"]);
    assert_eq!(split("---\na: |\n  ---\n  x\n---\n---\n\n"), ["\na: |\n  ---\n  x\n"]);
    assert_eq!(split(""), Vec::<String>::new());
    assert_eq!(split("--- {a: 1}\n"), ["{a: 1}\n"]);
}

#[test]
fn unknown_kinds_are_refused_by_name() {
    let error = Manifests::read(&[user("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "extra: ConfigMap x: this kind of the core group does not configure nodes; MachineConfig, KubeletConfig, \
         ContainerRuntimeConfig, ImageDigestMirrorSet and ImageContentSourcePolicy do"
    );
}
