//! A definition's spec as stock validates it: what all versions share is taken out of them and held once.

use serde_json::Value;

use super::props::Props;

/// The spec of a definition.
pub(super) struct SpecView<'a> {
    pub(super) props: Props<'a>,
    pub(super) names: Props<'a>,
    pub(super) versions: Vec<VersionView<'a>>,
    /// What is the same in all versions.
    pub(super) shared: Shared<'a>,
}

/// What is the same in all versions.
#[derive(Default)]
pub(super) struct Shared<'a> {
    pub(super) schema: Option<Props<'a>>,
    pub(super) subresources: Option<Props<'a>>,
    pub(super) columns: &'a [Value],
    pub(super) selectable: &'a [Value],
}

/// One version, without what all versions share.
#[derive(Clone, Copy)]
pub(super) struct VersionView<'a> {
    pub(super) props: Props<'a>,
    pub(super) schema: Option<Props<'a>>,
    pub(super) subresources: Option<Props<'a>>,
    pub(super) columns: Option<&'a [Value]>,
    pub(super) selectable: Option<&'a [Value]>,
}

fn same(versions: &[VersionView<'_>], name: &str) -> bool {
    let Some(first) = versions.first() else { return false };
    let part = |version: &VersionView<'_>| version.props.json().get(name).cloned();
    versions.iter().all(|version| equal(part(version).as_ref(), part(first).as_ref()))
}

/// Whether two parts of definitions are the same to stock: an empty list or map is the same as none, `false` and an empty
/// text too where no pointer leads to them.
fn equal(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let names: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            names.into_iter().all(|name| match name.as_str() {
                // JSON as it was written.
                "default" | "example" => a.get(name) == b.get(name),
                _ => match (a.get(name), b.get(name)) {
                    (Some(one), None) | (None, Some(one)) => says_nothing(name, one),
                    (a, b) => equal(a, b),
                },
            })
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(Some(a), Some(b)))
        }
        (Some(one), None) | (None, Some(one)) => one.is_null() || one.as_array().is_some_and(Vec::is_empty),
        (a, b) => a == b,
    }
}

fn says_nothing(name: &str, value: &Value) -> bool {
    match name {
        "properties" | "patternProperties" | "definitions" | "dependencies" => {
            value.as_object().is_some_and(serde_json::Map::is_empty) || value.is_null()
        }
        _ => match value {
            Value::Object(_) => false,
            other => !super::open_api::is_set(name, other) || other.as_array().is_some_and(Vec::is_empty),
        },
    }
}

impl<'a> SpecView<'a> {
    pub(super) fn of(crd: &'a Value) -> Option<SpecView<'a>> {
        let props = Props::of(crd.get("spec")?)?;
        let mut versions: Vec<VersionView<'a>> = props
            .schemas("versions")
            .into_iter()
            .map(|version| VersionView {
                props: version,
                schema: version.schema("schema"),
                subresources: version.schema("subresources"),
                columns: version.list_if_given("additionalPrinterColumns"),
                selectable: version.list_if_given("selectableFields"),
            })
            .collect();
        let mut shared = Shared::default();
        if let Some(first) = versions.first().copied() {
            if same(&versions, "schema") {
                shared.schema = first.schema;
                for version in &mut versions {
                    version.schema = None;
                }
            }
            if same(&versions, "subresources") {
                shared.subresources = first.subresources;
                for version in &mut versions {
                    version.subresources = None;
                }
            }
            if same(&versions, "additionalPrinterColumns") {
                shared.columns = first.columns.unwrap_or_default();
                for version in &mut versions {
                    version.columns = None;
                }
            }
            if same(&versions, "selectableFields") {
                shared.selectable = first.selectable.unwrap_or_default();
                for version in &mut versions {
                    version.selectable = None;
                }
            }
        }
        let names = match props.schema("names") {
            Some(names) => names,
            None => empty(),
        };
        Some(SpecView { props, names, versions, shared })
    }

    /// All schemas of the definition, each once.
    pub(super) fn schemas(&self) -> Vec<Props<'a>> {
        let validations =
            self.shared.schema.into_iter().chain(self.versions.iter().filter_map(|version| version.schema));
        validations.filter_map(|validation| validation.schema("openAPIV3Schema")).collect()
    }

    pub(super) fn preserves_unknown_fields(&self) -> bool {
        self.props.flag("preserveUnknownFields")
    }
}

/// A part that is not there.
fn empty() -> Props<'static> {
    static EMPTY: std::sync::LazyLock<Value> = std::sync::LazyLock::new(|| Value::Object(serde_json::Map::new()));
    Props::of(&EMPTY).expect("an object is an object")
}
