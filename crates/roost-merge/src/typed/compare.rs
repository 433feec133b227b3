//! What changed between two states of an object.

use std::collections::BTreeMap;

use roost_object::merge::Node;
use serde_json::{Map, Value};

use super::elements::Identity;
use super::errors::TypeErrors;
use super::{Form, entry, form};
use crate::MAX_DEPTH;
use crate::go_text::equal;
use crate::managed::{Element, FieldSet, Filter, Step};

/// The fields in which one state of an object differs from another.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Comparison {
    pub(crate) removed: FieldSet,
    pub(crate) modified: FieldSet,
    pub(crate) added: FieldSet,
}

/// Which of the three sets the place itself belongs to.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    removed: bool,
    modified: bool,
    added: bool,
}

impl Comparison {
    pub(crate) fn is_same(&self) -> bool {
        self.removed.is_empty() && self.modified.is_empty() && self.added.is_empty()
    }

    /// Leaves out what does not count.
    pub(crate) fn filter(&mut self, filter: &Filter) {
        filter.apply(&mut self.removed);
        filter.apply(&mut self.modified);
        filter.apply(&mut self.added);
    }

    fn place(&mut self, element: Element, marks: Marks, below: Comparison) {
        let Comparison { removed, modified, added } = below;
        let uses = [
            marks.removed || !removed.is_empty(),
            marks.modified || !modified.is_empty(),
            marks.added || !added.is_empty(),
        ];
        if uses == [false, false, true] {
            return self.added.place(element, marks.added, added);
        }
        if uses[0] {
            self.removed.place(element.clone(), marks.removed, removed);
        }
        if uses[1] {
            self.modified.place(element.clone(), marks.modified, modified);
        }
        if uses[2] {
            self.added.place(element, marks.added, added);
        }
    }
}

/// The object's own level, where `metadata.managedFields` is found and left out.
#[derive(Clone, Copy, PartialEq)]
enum Level {
    Root,
    Metadata,
    Inside(usize),
}

/// Compares two states of an object, apart from `metadata.managedFields`.
pub(crate) fn compare<N: Node>(old: &Value, new: &Value, node: N) -> Result<Comparison, TypeErrors> {
    let mut walk = Walk { errors: TypeErrors::default() };
    let (_, comparison) = walk.place(Some(old), Some(new), Some(node), Level::Root);
    walk.errors.none_or(comparison)
}

struct Walk {
    errors: TypeErrors,
}

impl Walk {
    fn place<N: Node>(
        &mut self,
        old: Option<&Value>,
        new: Option<&Value>,
        node: Option<N>,
        level: Level,
    ) -> (Marks, Comparison) {
        let mut marks = Marks::default();
        let mut below = Comparison::default();
        let in_leaf = match (old, new) {
            (None, None) => return (marks, below),
            (Some(old), None) => {
                below.removed = self.all_places(old, node, level.depth());
                marks.removed = true;
                return (marks, below);
            }
            (None, Some(new)) => {
                below.added = self.all_places(new, node, level.depth());
                marks.added = true;
                return (marks, below);
            }
            (Some(old_value), Some(new_value)) => {
                let (before, after) = (form(node, old_value), form(node, new_value));
                if before != after {
                    self.visit(before, old, new, node, level, &mut marks, &mut below);
                }
                self.visit(after, old, new, node, level, &mut marks, &mut below)
            }
        };
        if !in_leaf {
            marks.added |= old.is_none();
            marks.removed |= new.is_none();
        }
        (marks, below)
    }

    /// Compares a place in one form and tells whether it was compared as a whole.
    #[expect(clippy::too_many_arguments, reason = "one step of a walk over two trees into three sets")]
    fn visit<N: Node>(
        &mut self,
        form: Form,
        old: Option<&Value>,
        new: Option<&Value>,
        node: Option<N>,
        level: Level,
        marks: &mut Marks,
        below: &mut Comparison,
    ) -> bool {
        match form {
            Form::Map => {
                let (before, after) = (old.and_then(Value::as_object), new.and_then(Value::as_object));
                let is_filled = |map: Option<&Map<_, _>>| map.is_some_and(|map| !map.is_empty());
                if let Some(next) = level.next()
                    && (is_filled(before) || is_filled(after))
                {
                    self.maps(before, after, node, level, next, below);
                    return false;
                }
            }
            Form::List => {
                let (before, after) = (old.and_then(Value::as_array), new.and_then(Value::as_array));
                let before = before.map_or(&[][..], Vec::as_slice);
                let after = after.map_or(&[][..], Vec::as_slice);
                if let (Some(node), Some(next)) = (node, level.next())
                    && (!before.is_empty() || !after.is_empty())
                {
                    if before != after {
                        self.lists(before, after, node, next, below);
                    }
                    return false;
                }
            }
            Form::Leaf => {}
        }
        match (old, new) {
            (None, _) => marks.added = true,
            (_, None) => marks.removed = true,
            (Some(old), Some(new)) => marks.modified |= !equal(old, new),
        }
        true
    }

    /// Everything below a place that only one side has.
    fn all_places<N: Node>(&mut self, value: &Value, node: Option<N>, depth: usize) -> FieldSet {
        if depth >= MAX_DEPTH {
            return FieldSet::new();
        }
        match (form(node, value), value) {
            (Form::Map, Value::Object(fields)) => {
                let mut set = FieldSet::with_capacity(fields.len());
                for (name, item) in fields {
                    let errors = self.errors.len();
                    let children = self.all_places(item, entry(node, name), depth + 1);
                    set.place(Element::field(name), true, children);
                    self.errors.below(errors, || format!(".{name}"));
                }
                set
            }
            (Form::List, Value::Array(items)) => {
                let Some(identity) = node.map(Identity::of) else { return FieldSet::new() };
                let mut steps = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    match identity.step(item) {
                        Ok(step) => {
                            let errors = self.errors.len();
                            let children = self.all_places(item, identity.element(), depth + 1);
                            self.errors.below(errors, || step.to_string());
                            steps.push(Step::new(step, true, children));
                        }
                        Err(error) => self.errors.push(format!("element {index}: {error}")),
                    }
                }
                // Repeated elements are one place with nothing below it.
                FieldSet::from_steps(steps, |step, _| step.children = FieldSet::new())
            }
            _ => FieldSet::new(),
        }
    }

    fn maps<N: Node>(
        &mut self,
        old: Option<&Map<String, Value>>,
        new: Option<&Map<String, Value>>,
        node: Option<N>,
        level: Level,
        next: Level,
        below: &mut Comparison,
    ) {
        let mut before = old.into_iter().flatten().peekable();
        let mut after = new.into_iter().flatten().peekable();
        loop {
            let (name, left, right) = match (before.peek(), after.peek()) {
                (None, None) => return,
                (Some((left_name, _)), Some((right_name, _))) if left_name == right_name => {
                    let Some((name, left)) = before.next() else { return };
                    (name, Some(left), after.next().map(|(_, value)| value))
                }
                (Some((left_name, _)), right) if right.is_none_or(|(right_name, _)| left_name < right_name) => {
                    let Some((name, left)) = before.next() else { return };
                    (name, Some(left), None)
                }
                _ => {
                    let Some((name, right)) = after.next() else { return };
                    (name, None, Some(right))
                }
            };
            let next = match level {
                Level::Metadata if name == "managedFields" => continue,
                Level::Root if name == "metadata" => Level::Metadata,
                _ => next,
            };
            // What is the same needs no schema.
            if left == right {
                continue;
            }
            let errors = self.errors.len();
            let (marks, inside) = self.place(left, right, entry(node, name), next);
            if marks.any() || !inside.is_same() {
                below.place(Element::field(name), marks, inside);
            }
            self.errors.below(errors, || format!(".{name}"));
        }
    }

    fn lists<N: Node>(&mut self, old: &[Value], new: &[Value], node: N, next: Level, below: &mut Comparison) {
        let identity = Identity::of(node);
        let mut groups: BTreeMap<Element, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
        for (list, is_new) in [(old, false), (new, true)] {
            for (index, item) in list.iter().enumerate() {
                match identity.step(item) {
                    Ok(step) => {
                        let (before, after) = groups.entry(step).or_default();
                        if is_new { after.push(item) } else { before.push(item) }
                    }
                    Err(error) => self.errors.push(format!("element {index}: {error}")),
                }
            }
        }
        let element = identity.element();
        for (step, (before, after)) in groups {
            let errors = self.errors.len();
            let (marks, inside) = match (before.len(), after.len()) {
                (0 | 1, 0 | 1) => self.place(before.first().copied(), after.first().copied(), element, next),
                (0 | 1, _) => {
                    let (mut marks, inside) = self.place(before.first().copied(), None, element, next);
                    marks.added = true;
                    (marks, inside)
                }
                (_, 0 | 1) => {
                    let (mut marks, inside) = self.place(None, after.first().copied(), element, next);
                    marks.removed = true;
                    (marks, inside)
                }
                _ => {
                    let same = before.len() == after.len() && before.iter().zip(&after).all(|(a, b)| equal(a, b));
                    (Marks { modified: !same, ..Marks::default() }, Comparison::default())
                }
            };
            self.errors.below(errors, || step.to_string());
            below.place(step, marks, inside);
        }
    }
}

impl Marks {
    fn any(self) -> bool {
        self.removed || self.modified || self.added
    }
}

impl Level {
    fn depth(self) -> usize {
        match self {
            Level::Root => 0,
            Level::Metadata => 1,
            Level::Inside(depth) => depth,
        }
    }

    /// The level below; none where fields are no longer told apart.
    fn next(self) -> Option<Level> {
        match self {
            Level::Root | Level::Metadata => Some(Level::Inside(2)),
            Level::Inside(depth) => (depth < MAX_DEPTH).then_some(Level::Inside(depth + 1)),
        }
    }
}
