//! One random request: how it is drawn, and the sequence that sends it.

use std::fmt;

use roost_merge::merge_patch;
use serde_json::{Value, json};

use super::change::{change, patch_between};
use super::operations::operations;
use super::schema::{Kind, Shape, resolve};
use super::trial::Question;
use super::valid::{OF_THE_SERVER, Valid};
use super::values::Generator;
use crate::differential::table::{PatchKind, Sequence, Step};
use crate::random::Random;

/// How full objects are; each case draws one of these.
const DENSITIES: &[u64] = &[5, 15, 30, 50];

/// How many places of an object an update changes.
const CHANGES: &[usize] = &[1, 1, 1, 2, 3];

/// Who applies: somebody else with and without force, and a manager of the name that owns the fields by updates.
const MANAGERS: &[&str] = &[
    "&fieldManager=random&force=true",
    "&fieldManager=random&force=true",
    "&fieldManager=random",
    "&fieldManager=unknown",
];

/// How often, in a hundred, an update is one of the status, where that has a path of its own.
const STATUS_PERCENT: u64 = 15;

/// Nodes without a kubelet are written to by controllers, in their own time.
const OF_NODE_CONTROLLERS: &[&str] = &["/body/spec/taints", "/body/status/conditions", "/body/metadata/managedFields"];

/// What a case asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Create,
    Replace,
    Merge,
    Strategic,
    Apply,
    Operate,
}

impl Way {
    pub(super) const ALL: [Self; 6] =
        [Self::Create, Self::Replace, Self::Merge, Self::Strategic, Self::Apply, Self::Operate];

    fn patch(self) -> Option<PatchKind> {
        match self {
            Self::Create | Self::Replace => None,
            Self::Merge => Some(PatchKind::Merge),
            Self::Strategic => Some(PatchKind::Strategic),
            Self::Apply => Some(PatchKind::Apply),
            Self::Operate => Some(PatchKind::Json),
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Create => "created",
            Self::Replace => "replaced",
            Self::Merge => "merged",
            Self::Strategic => "strategically merged",
            Self::Apply => "applied",
            Self::Operate => "patched",
        })
    }
}

/// One random request.
#[derive(Debug)]
pub(super) struct Case<'a> {
    kind: &'a Kind,
    way: Way,
    seed: u64,
    valid: Option<&'a Valid>,
    /// The path and query.
    target: String,
    /// The object that is created, the merge patch that stands for what is changed, or the operations.
    content: Value,
}

impl<'a> Case<'a> {
    /// Draws a case; nothing when there is no object that could be updated, or nothing changed.
    pub(super) fn draw(kind: &'a Kind, valid: Option<&'a Valid>, way: Way, seed: u64) -> Option<Self> {
        if kind.name == "Node" && matches!(way, Way::Apply | Way::Operate) {
            // Who owns the fields of a Node is up to the controllers, too, and where a taint stands.
            return None;
        }
        let mut random = Random::new(mixed(seed, &format!("{} {way}", kind.title())));
        let density = *random.pick(DENSITIES);
        let mut generator = Generator { random, shapes: &kind.shapes, density };
        let (path, content) = match way {
            Way::Create => (kind.collection.clone(), created(&mut generator, kind)),
            Way::Operate => {
                let valid = valid?;
                (valid.path.clone(), operations(&mut generator, &kind.shape, &valid.object))
            }
            _ => updated(&mut generator, kind, valid?)?,
        };
        let strictness = *generator.random.pick(&["", "", "&fieldValidation=Strict"]);
        let manager = *generator.random.pick(MANAGERS);
        let manager = if way == Way::Apply { manager } else { "" };
        Some(Self { kind, way, seed, valid, target: format!("{path}?dryRun=All{strictness}{manager}"), content })
    }
}

impl Question for Case<'_> {
    fn is_written_by_controllers(&self) -> bool {
        self.kind.name == "Node"
    }

    fn with(&self, content: Value) -> Self {
        Self { content, target: self.target.clone(), ..*self }
    }

    fn sequence(&self) -> Sequence {
        let (method, body) = match (self.way, self.valid) {
            (Way::Create, _) => ("POST", self.content.clone()),
            (Way::Replace, Some(valid)) => ("PUT", merge_patch::apply(valid.object.clone(), self.content.clone())),
            (Way::Apply, Some(valid)) => ("PATCH", applied(&valid.object, &self.content)),
            _ => ("PATCH", self.content.clone()),
        };
        let has_variables = self.way != Way::Create && body.to_string().contains("${");
        let is_node = self.kind.name == "Node" && self.way != Way::Create;
        let ignored = if is_node { OF_NODE_CONTROLLERS } else { &[] };
        let request = Step {
            request: Some(format!("{method} {}", self.target)),
            body: Some(body),
            patch: self.way.patch(),
            ignore: ignored.iter().map(|pointer| (*pointer).to_owned()).collect(),
            ..Step::default()
        };
        let look = self.valid.filter(|_| has_variables).map(|valid| Step {
            request: Some(format!("GET {}", valid.path)),
            capture: OF_THE_SERVER
                .iter()
                .map(|(field, variable)| ((*variable).to_owned(), format!("/metadata/{field}")))
                .collect(),
            ..Step::default()
        });
        Sequence {
            name: format!("{} {} with seed {}", self.kind.title(), self.way, self.seed),
            area: self.kind.title(),
            steps: look.into_iter().chain([request]).collect(),
            ..Sequence::default()
        }
    }

    fn content(&self) -> &Value {
        &self.content
    }

    fn title(&self) -> String {
        self.kind.title()
    }

    fn described_content(&self) -> String {
        let name = match self.way {
            Way::Create => "body",
            Way::Replace => "body, beside the valid object's,",
            Way::Apply => "applied, beside type and name,",
            Way::Merge | Way::Strategic | Way::Operate => "patch",
        };
        format!("{name} {}", self.content)
    }

    fn command(&self) -> String {
        format!("cargo xtask differential --random 1 --seed {} --kind {}", self.seed, self.kind.title())
    }
}

fn created<'a>(generator: &mut Generator<'a>, kind: &'a Kind) -> Value {
    let mut object = generator.value(&kind.shape, "", 0);
    object["apiVersion"] = Value::from(kind.api_version.as_str());
    object["kind"] = Value::from(kind.name.as_str());
    if object.get("metadata").is_none() || generator.random.chance(70) {
        object["metadata"] = json!({"name": "abc"});
    }
    object
}

fn updated<'a>(generator: &mut Generator<'a>, kind: &'a Kind, valid: &Valid) -> Option<(String, Value)> {
    let status = status_of(kind).filter(|_| generator.random.chance(STATUS_PERCENT));
    let mut object = valid.object.clone();
    for _ in 0..*generator.random.pick(CHANGES) {
        match status {
            Some(shape) => {
                object["status"] = change(generator, object.get("status").unwrap_or(&json!({})), shape, "status", 1);
            }
            None => object = change(generator, &object, &kind.shape, "", 0),
        }
    }
    let patch = patch_between(&valid.object, &object);
    let path = if status.is_some() { format!("{}/status", valid.path) } else { valid.path.clone() };
    patch.as_object().is_some_and(|patch| !patch.is_empty()).then_some((path, patch))
}

/// What an applier would say of a change: the type and the name, and the fields that it wants.
fn applied(valid: &Value, patch: &Value) -> Value {
    let mut intent = merge_patch::apply(json!({}), patch.clone());
    for field in ["apiVersion", "kind"] {
        intent[field] = valid[field].clone();
    }
    intent["metadata"]["name"] = valid["metadata"]["name"].clone();
    intent
}

/// The shape of the status, where it has a path of its own.
fn status_of(kind: &Kind) -> Option<&Shape> {
    match resolve(&kind.shapes, &kind.shape) {
        Shape::Object(fields) if kind.has_status => {
            fields.iter().find(|field| field.name == "status").map(|field| &field.shape)
        }
        _ => None,
    }
}

/// The seed of one case: the same for the same words, and unlike that of all others.
pub(super) fn mixed(seed: u64, words: &str) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    words.bytes().fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::{Case, Way};
    use crate::differential::random::schema::{Field, Kind, Shape, Shapes};
    use crate::differential::random::trial::Question as _;
    use crate::differential::random::valid::Valid;

    fn kind() -> Kind {
        let shape = Shape::Map(Box::new(Shape::Text(Vec::new())));
        Kind {
            api_version: "v1".to_owned(),
            name: "Thing".to_owned(),
            collection: "/api/v1/things".to_owned(),
            has_status: false,
            shape: Shape::Object(vec![Field { name: "spec".to_owned(), required: true, shape }]),
            shapes: Arc::new(Shapes::new()),
        }
    }

    #[test]
    fn a_case_depends_on_its_seed_and_way() {
        let kind = kind();
        let valid = Valid { path: "/api/v1/things/x".to_owned(), object: json!({"spec": {"a": "b"}}) };
        let drawn = |way| -> Vec<_> {
            let cases = (0..30).filter_map(|seed| Case::draw(&kind, Some(&valid), way, seed));
            cases.map(|case| (case.target.clone(), case.content)).collect()
        };
        assert_eq!(drawn(Way::Create), drawn(Way::Create));
        assert_eq!(drawn(Way::Replace), drawn(Way::Replace));
        assert_ne!(drawn(Way::Replace), drawn(Way::Merge));
        assert!(
            drawn(Way::Create)
                .iter()
                .all(|(target, object)| target.contains("dryRun=All") && object["kind"] == "Thing")
        );
        assert!(Case::draw(&kind, None, Way::Merge, 1).is_none(), "there is nothing to update");
    }

    #[test]
    fn a_replacement_is_the_valid_object_with_its_change() {
        let kind = kind();
        let object = json!({"metadata": {"uid": "${uid}"}, "spec": {"a": "b", "c": "d"}});
        let valid = Valid { path: "/api/v1/things/x".to_owned(), object };
        let case = (0..30).find_map(|seed| Case::draw(&kind, Some(&valid), Way::Replace, seed));
        let case = case.map(|case| case.with(json!({"spec": {"a": null, "e": "f"}}))).expect("one of thirty changes");
        let sequence = case.sequence();
        let [look, replace] = sequence.steps.as_slice() else { panic!("{:?} are not two steps", sequence.steps) };
        assert_eq!(look.request.as_deref(), Some("GET /api/v1/things/x"));
        assert_eq!(replace.body, Some(json!({"metadata": {"uid": "${uid}"}, "spec": {"c": "d", "e": "f"}})));
    }

    #[test]
    fn what_is_applied_names_its_object() {
        let valid = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "x", "uid": "u"}, "spec": {}});
        assert_eq!(
            super::applied(&valid, &json!({"spec": {"a": null, "b": 1}})),
            json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": {"b": 1}})
        );
    }
}
