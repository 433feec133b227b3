//! One random request: how it is drawn, and the sequence that sends it.

use std::fmt;

use roost_merge::merge_patch;
use serde_json::{Value, json};

use super::change::{change_object, patch_between};
use super::directives::direct;
use super::oddities::Oddity;
use super::operations::operations;
use super::queries::{query, written};
use super::schema::Kind;
use super::trial::Question;
use super::valid::Valid;
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

/// How often, in a hundred, a strategic merge patch has directives.
const DIRECTED_PERCENT: u64 = 40;

/// The forms that answers are asked in beside JSON.
const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const YAML: &str = "application/yaml";

/// What of a list both servers have alike; the objects themselves are compared where they are written.
const OF_LISTS: &[&str] = &[
    "/status",
    "/headers/content-type",
    "/headers/warning",
    "/body/kind",
    "/body/apiVersion",
    "/body/status",
    "/body/message",
    "/body/reason",
    "/body/details",
];

/// What is deleted how.
const DELETIONS: &[&str] = &[
    "",
    "",
    "",
    "&propagationPolicy=Foreground",
    "&gracePeriodSeconds=0",
    "&orphanDependents=true",
    "&gracePeriodSeconds=x",
];

/// Nodes without a kubelet are written to by controllers, in their own time.
const OF_NODE_CONTROLLERS: &[&str] = &[
    "/body/spec/taints",
    "/body/status/conditions",
    "/body/metadata/managedFields",
    "/body/rows/0/object/metadata/managedFields",
    "/body/rows/0/cells",
];

/// What a case asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Create,
    Replace,
    Merge,
    Strategic,
    Apply,
    Operate,
    Delete,
    List,
}

impl Way {
    pub(super) const ALL: [Self; 8] = [
        Self::Create,
        Self::Replace,
        Self::Merge,
        Self::Strategic,
        Self::Apply,
        Self::Operate,
        Self::Delete,
        Self::List,
    ];

    fn patch(self) -> Option<PatchKind> {
        match self {
            Self::Create | Self::Replace | Self::Delete | Self::List => None,
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
            Self::Delete => "deleted",
            Self::List => "listed",
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
    /// The form that the answer is asked in.
    accept: Option<&'static str>,
}

impl<'a> Case<'a> {
    /// Draws a case; nothing when there is no object that could be updated, or nothing changed.
    pub(super) fn draw(kind: &'a Kind, valid: &'a [Valid], way: Way, seed: u64) -> Option<Self> {
        if kind.whole() == "Node" && matches!(way, Way::Apply | Way::Operate) {
            // Who owns the fields of a Node is up to the controllers, too, and where a taint stands.
            return None;
        }
        let mut random = Random::new(mixed(seed, &format!("{} {way}", kind.title())));
        let (density, oddity) = (*random.pick(DENSITIES), *random.pick(&Oddity::DRAWN));
        let valid = (!valid.is_empty()).then(|| random.pick(valid));
        let mut generator = Generator { random, shapes: &kind.shapes, density, oddity };
        let is_created = kind.part.as_ref().is_none_or(|part| part.is_created);
        let (path, content) = match (way, &kind.part) {
            (Way::Create, None) => (kind.collection.clone(), created(&mut generator, kind, "abc")),
            (Way::Create, Some(_)) if is_created => {
                let valid = valid?;
                let name = valid.object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or("abc");
                (valid.path.clone(), created(&mut generator, kind, name))
            }
            (Way::List, None) if valid.is_some() => (kind.collection.clone(), query(&mut generator)),
            (Way::Delete, None) => (valid?.path.clone(), deletion(&mut generator)?),
            (Way::Create | Way::List | Way::Delete, _) => return None,
            (_, Some(_)) if is_created => return None,
            (Way::Operate, _) => {
                let valid = valid?;
                (valid.path.clone(), operations(&mut generator, &kind.shape, &valid.object))
            }
            _ => (valid?.path.clone(), updated(&mut generator, kind, valid?, way)?),
        };
        let random = &mut generator.random;
        let strictness = *random.pick(&["", "", "&fieldValidation=Strict", "&fieldValidation=Ignore"]);
        let target = match way {
            Way::List => path,
            Way::Apply => format!("{path}?dryRun=All{strictness}{}", random.pick(MANAGERS)),
            Way::Delete => format!("{path}?dryRun=All{}", random.pick(DELETIONS)),
            _ => format!("{path}?dryRun=All{strictness}"),
        };
        // The order of managers, by the second of their last write, shows where normalization does not see it.
        let forms =
            if way == Way::Create { &[TABLE, METADATA, PROTOBUF, PROTOBUF, YAML] as &[_] } else { &[TABLE, METADATA] };
        let accept = random.chance(30).then(|| *random.pick(forms));
        Some(Self { kind, way, seed, valid, target, content, accept })
    }
}

impl Question for Case<'_> {
    fn is_written_by_controllers(&self) -> bool {
        matches!(self.kind.whole(), "Node" | "CustomResourceDefinition")
    }

    fn with(&self, content: Value) -> Self {
        Self { content, target: self.target.clone(), ..*self }
    }

    fn sequence(&self) -> Sequence {
        let (method, body) = match (self.way, self.valid) {
            (Way::Create, _) => ("POST", self.content.clone()),
            (Way::Delete, _) => ("DELETE", only_tried(&self.content)),
            (Way::List, _) => return self.of_one_step(listed(&self.target, &self.content, self.accept)),
            (Way::Replace, Some(valid)) => ("PUT", merge_patch::apply(valid.object.clone(), self.content.clone())),
            (Way::Apply, Some(valid)) => ("PATCH", applied(&valid.object, &self.content)),
            _ => ("PATCH", self.content.clone()),
        };
        let has_variables = self.way != Way::Create && body.to_string().contains("${");
        let is_node = self.kind.whole() == "Node" && self.way != Way::Create;
        let ignored = if is_node { OF_NODE_CONTROLLERS } else { &[] };
        let request = Step {
            request: Some(format!("{method} {}", self.target)),
            body: Some(body),
            patch: self.way.patch(),
            accept: self.accept.map(str::to_owned),
            ignore: ignored.iter().map(|pointer| (*pointer).to_owned()).collect(),
            ..Step::default()
        };
        let look = self.valid.filter(|_| has_variables).map(|valid| Step {
            request: Some(format!("GET {}", valid.whole)),
            capture: valid.captures.iter().cloned().collect(),
            ..Step::default()
        });
        let sequence = self.of_one_step(request);
        Sequence { steps: look.into_iter().chain(sequence.steps).collect(), ..sequence }
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
            Way::Delete => "options",
            Way::List => "query",
        };
        let form = self.accept.map(|accept| format!(", answered as {accept}")).unwrap_or_default();
        format!("{name} {}{form}", self.content)
    }

    fn command(&self) -> String {
        format!("cargo xtask differential --random 1 --seed {} --kind {}", self.seed, self.kind.title())
    }
}

impl Case<'_> {
    fn of_one_step(&self, step: Step) -> Sequence {
        Sequence {
            name: format!("{} {} with seed {}", self.kind.title(), self.way, self.seed),
            area: self.kind.title(),
            steps: vec![step],
            ..Sequence::default()
        }
    }
}

fn listed(collection: &str, query: &Value, accept: Option<&str>) -> Step {
    let of_rows: &[&str] =
        if collection.contains("/namespaces/") { &["/body/items/*/metadata/name", "/body/rows/*/cells"] } else { &[] };
    Step {
        request: Some(format!("GET {collection}?{}", written(query))),
        accept: accept.map(str::to_owned),
        only: OF_LISTS.iter().chain(of_rows).map(|pointer| (*pointer).to_owned()).collect(),
        ..Step::default()
    }
}

fn created<'a>(generator: &mut Generator<'a>, kind: &'a Kind, name: &str) -> Value {
    let mut object = generator.value(&kind.shape, "", 0);
    let (version, of_kind) = &kind.body;
    object["apiVersion"] = Value::from(version.as_str());
    object["kind"] = Value::from(of_kind.as_str());
    if object.get("metadata").is_none() || generator.random.chance(70) {
        object["metadata"] = json!({"name": name});
    }
    object
}

/// The options of a deletion that does not happen: those of a body count and those of the query do not.
fn only_tried(options: &Value) -> Value {
    let mut options = options.clone();
    options["dryRun"] = json!(["All"]);
    options
}

fn deletion(generator: &mut Generator<'_>) -> Option<Value> {
    let (_, shape) = generator.shapes.iter().find(|(name, _)| name.ends_with(".DeleteOptions"))?;
    let mut options = generator.value(shape, "", 0);
    if generator.random.chance(80) {
        options["apiVersion"] = Value::from("v1");
        options["kind"] = Value::from("DeleteOptions");
    }
    Some(options)
}

fn updated<'a>(generator: &mut Generator<'a>, kind: &'a Kind, valid: &Valid, way: Way) -> Option<Value> {
    let mut object = valid.object.clone();
    for _ in 0..*generator.random.pick(CHANGES) {
        object = change_object(generator, &object, &kind.shape, kind.main_field());
    }
    let mut patch = patch_between(&valid.object, &object);
    if way == Way::Strategic && generator.random.chance(DIRECTED_PERCENT) {
        direct(generator, &mut patch);
    }
    patch.as_object().is_some_and(|patch| !patch.is_empty()).then_some(patch)
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

/// The seed of one case: the same for the same words, and unlike that of all others.
pub(super) fn mixed(seed: u64, words: &str) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    words.bytes().fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

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
            part: None,
            body: ("v1".to_owned(), "Thing".to_owned()),
            shape: Shape::Object(vec![Field { name: "spec".to_owned(), required: true, shape }]),
            shapes: Arc::new(Shapes::new()),
        }
    }

    fn valid(object: Value) -> Valid {
        let path = "/api/v1/things/x".to_owned();
        Valid { whole: path.clone(), path, object, captures: Vec::new() }
    }

    #[test]
    fn a_case_depends_on_its_seed_and_way() {
        let kind = kind();
        let valid = [valid(json!({"spec": {"a": "b"}}))];
        let drawn = |way| -> Vec<_> {
            let cases = (0..30).filter_map(|seed| Case::draw(&kind, &valid, way, seed));
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
        assert!(Case::draw(&kind, &[], Way::Merge, 1).is_none(), "there is nothing to update");
    }

    #[test]
    fn a_replacement_is_the_valid_object_with_its_change() {
        let kind = kind();
        let object = json!({"metadata": {"uid": "${uid}"}, "spec": {"a": "b", "c": "d"}});
        let valid = [valid(object)];
        let case = (0..30).find_map(|seed| Case::draw(&kind, &valid, Way::Replace, seed));
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
