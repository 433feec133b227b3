//! Sets of field paths.

use std::cmp::Ordering;

use roost_object::merge::Node;

use super::element::{Element, ElementKind};

/// A set of field paths, as a trie sorted by step.
///
/// A path may be a member on its own, lead to members, or both. No step is kept that does neither.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    pub(crate) steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) element: Element,
    pub(crate) member: bool,
    pub(crate) children: FieldSet,
}

impl Step {
    pub(crate) fn new(element: Element, member: bool, children: FieldSet) -> Self {
        Self { element, member, children }
    }

    fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }
}

impl FieldSet {
    /// A set of no paths.
    pub const fn new() -> Self {
        Self { steps: Vec::new() }
    }

    pub(crate) fn with_capacity(steps: usize) -> Self {
        Self { steps: Vec::with_capacity(steps) }
    }

    /// A set of paths of named fields, such as `["status"]` or `["metadata", "labels"]`.
    pub fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::new();
        for path in paths {
            let elements: Vec<_> = path.iter().map(|name| Element::field(name)).collect();
            set.insert(&elements);
        }
        set
    }

    /// Whether no path is a member.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// How many paths are members.
    pub fn len(&self) -> usize {
        self.steps.iter().map(|step| usize::from(step.member) + step.children.len()).sum()
    }

    /// Adds a path. The empty path, the whole object, cannot be owned and is ignored.
    pub fn insert(&mut self, path: &[Element]) {
        let Some((first, rest)) = path.split_first() else { return };
        let step = self.step_mut(first);
        if rest.is_empty() {
            step.member = true;
        } else {
            step.children.insert(rest);
        }
    }

    /// Whether a path is a member.
    pub fn contains(&self, path: &[Element]) -> bool {
        let Some((first, rest)) = path.split_first() else { return false };
        self.get(first).is_some_and(|step| if rest.is_empty() { step.member } else { step.children.contains(rest) })
    }

    pub(crate) fn get(&self, element: &Element) -> Option<&Step> {
        self.position(element).ok().map(|at| &self.steps[at])
    }

    fn position(&self, element: &Element) -> Result<usize, usize> {
        match self.steps.last() {
            Some(last) if last.element < *element => Err(self.steps.len()),
            _ => self.steps.binary_search_by(|step| step.element.cmp(element)),
        }
    }

    fn step_mut(&mut self, element: &Element) -> &mut Step {
        let at = self.position(element).unwrap_or_else(|at| {
            let step = Step { element: element.clone(), member: false, children: FieldSet::new() };
            self.steps.insert(at, step);
            at
        });
        &mut self.steps[at]
    }

    /// A set of steps in any order. Two of the same become one by `join`.
    pub(crate) fn from_steps(mut steps: Vec<Step>, join: impl Fn(&mut Step, Step)) -> Self {
        steps.retain(|step| !step.is_empty());
        if !steps.is_sorted_by(|left, right| left.element < right.element) {
            steps.sort_by(|left, right| left.element.cmp(&right.element));
            let mut joined: Vec<Step> = Vec::with_capacity(steps.len());
            for step in steps {
                match joined.last_mut() {
                    Some(last) if last.element == step.element => join(last, step),
                    _ => joined.push(step),
                }
            }
            steps = joined;
        }
        Self { steps }
    }

    /// Adds a step that is not there yet; steps that come in order cost nothing.
    pub(crate) fn place(&mut self, element: Element, member: bool, children: FieldSet) {
        if !member && children.is_empty() {
            return;
        }
        match self.position(&element) {
            Err(at) => self.steps.insert(at, Step { element, member, children }),
            Ok(at) => {
                self.steps[at].member |= member;
                self.steps[at].children.extend(children);
            }
        }
    }

    /// Adds all paths of another set.
    pub fn extend(&mut self, other: FieldSet) {
        if self.is_empty() {
            *self = other;
            return;
        }
        if other.is_empty() {
            return;
        }
        let mut mine = std::mem::take(&mut self.steps).into_iter().peekable();
        let mut theirs = other.steps.into_iter().peekable();
        self.steps.reserve(mine.len() + theirs.len());
        while let (Some(left), Some(right)) = (mine.peek(), theirs.peek()) {
            let order = left.element.cmp(&right.element);
            let mut step = match order {
                Ordering::Greater => theirs.next(),
                _ => mine.next(),
            };
            if let (Ordering::Equal, Some(step), Some(right)) = (order, step.as_mut(), theirs.peek_mut()) {
                step.member |= right.member;
                step.children.extend(std::mem::take(&mut right.children));
                theirs.next();
            }
            self.steps.extend(step);
        }
        self.steps.extend(mine);
        self.steps.extend(theirs);
    }

    /// The paths of either set.
    #[must_use]
    pub fn union(&self, other: &FieldSet) -> FieldSet {
        let mut all = self.clone();
        all.extend(other.clone());
        all
    }

    /// The paths of both sets.
    #[must_use]
    pub fn intersection(&self, other: &FieldSet) -> FieldSet {
        let (few, many) = if self.steps.len() <= other.steps.len() { (self, other) } else { (other, self) };
        let steps = few.steps.iter().filter_map(|step| {
            let twin = many.get(&step.element)?;
            let shared = Step {
                element: step.element.clone(),
                member: step.member && twin.member,
                children: step.children.intersection(&twin.children),
            };
            (!shared.is_empty()).then_some(shared)
        });
        FieldSet { steps: steps.collect() }
    }

    /// Whether the sets share a path.
    pub fn intersects(&self, other: &FieldSet) -> bool {
        let (few, many) = if self.steps.len() <= other.steps.len() { (self, other) } else { (other, self) };
        few.steps.iter().any(|step| {
            many.get(&step.element)
                .is_some_and(|twin| (step.member && twin.member) || step.children.intersects(&twin.children))
        })
    }

    /// The paths that are not in the other set. A removed path keeps what lies below it.
    #[must_use]
    pub fn difference(&self, other: &FieldSet) -> FieldSet {
        let mut rest = self.clone();
        rest.subtract(other);
        rest
    }

    /// Takes out the paths of the other set, each without what lies below it.
    pub fn subtract(&mut self, other: &FieldSet) {
        self.retain_unlike(other, &mut |step, twin| {
            step.member &= !twin.member;
            step.children.subtract(&twin.children);
        });
    }

    /// Takes out the paths of the other set together with what lies below them.
    pub fn subtract_recursively(&mut self, other: &FieldSet) {
        self.retain_unlike(other, &mut |step, twin| {
            if twin.member {
                step.member = false;
                step.children = FieldSet::new();
            } else {
                step.children.subtract_recursively(&twin.children);
            }
        });
    }

    fn retain_unlike(&mut self, other: &FieldSet, change: &mut dyn FnMut(&mut Step, &Step)) {
        if self.is_empty() || other.is_empty() {
            return;
        }
        let mut emptied = false;
        for twin in &other.steps {
            if let Ok(at) = self.position(&twin.element) {
                change(&mut self.steps[at], twin);
                emptied |= self.steps[at].is_empty();
            }
        }
        if emptied {
            self.steps.retain(|step| !step.is_empty());
        }
    }

    /// Only the paths with nothing below them.
    #[must_use]
    pub fn leaves(&self) -> FieldSet {
        let steps = self.steps.iter().map(|step| Step {
            element: step.element.clone(),
            member: step.member && step.children.is_empty(),
            children: step.children.leaves(),
        });
        FieldSet { steps: steps.collect() }
    }

    /// The same set, with the declared fields that lead to members made members too.
    ///
    /// Ownership of `spec.replicas` does not spell out `spec`; removing fields needs it spelled out.
    #[must_use]
    pub(crate) fn with_declared_fields<N: Node>(&self, node: Option<N>) -> FieldSet {
        let steps = self.steps.iter().map(|step| {
            let below = node.and_then(|node| match step.element.kind() {
                ElementKind::Field => node.field(step.element.name().unwrap_or_default()),
                ElementKind::Key => node.element(),
                ElementKind::Value | ElementKind::Index => None,
            });
            let declared = match (node, step.element.kind()) {
                (Some(node), ElementKind::Field) => {
                    !step.children.is_empty() && node.declares(step.element.name().unwrap_or_default())
                }
                _ => false,
            };
            Step {
                element: step.element.clone(),
                member: step.member || declared,
                children: step.children.with_declared_fields(below),
            }
        });
        FieldSet { steps: steps.collect() }
    }

    /// The members as messages show them, in stock's order: those of a level before those below it.
    pub fn paths(&self) -> Vec<String> {
        let mut paths = Vec::with_capacity(self.len());
        self.collect_paths(&mut Vec::new(), &mut |path, _| paths.push(path.to_owned()));
        paths
    }

    /// Calls `visit` with the text and the elements of every member, in the order of [`FieldSet::paths`].
    pub(crate) fn collect_paths<'a>(&'a self, prefix: &mut Vec<&'a Element>, visit: &mut dyn FnMut(&str, &[&Element])) {
        let mut steps: Vec<_> = self.steps.iter().collect();
        steps.sort_by(|left, right| left.element.compare(&right.element));
        for step in &steps {
            if step.member {
                prefix.push(&step.element);
                let text: String = prefix.iter().map(ToString::to_string).collect();
                visit(&text, prefix);
                prefix.pop();
            }
        }
        for step in steps {
            prefix.push(&step.element);
            step.children.collect_paths(prefix, visit);
            prefix.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(paths: &[&str]) -> FieldSet {
        let mut set = FieldSet::new();
        for path in paths {
            let elements: Vec<_> = path.split('.').map(Element::field).collect();
            set.insert(&elements);
        }
        set
    }

    #[test]
    fn algebra_follows_stock() {
        assert_eq!(set(&["a", "a.b", "c"]).difference(&set(&["a"])), set(&["a.b", "c"]));
        assert_eq!(set(&["a"]).difference(&set(&["a.b"])), set(&["a"]));
        let mut rest = set(&["a", "a.b", "a.b.c", "d.e"]);
        rest.subtract_recursively(&set(&["a.b", "d"]));
        assert_eq!(rest, set(&["a"]));
        assert_eq!(set(&["a.b", "c"]).intersection(&set(&["a", "a.b", "d"])), set(&["a.b"]));
        assert_eq!(set(&["a"]).union(&set(&["a.b", "0"])), set(&["0", "a", "a.b"]));
        assert_eq!(set(&["a", "a.b", "c"]).leaves(), set(&["a.b", "c"]));
        assert!(set(&["a.b"]).intersects(&set(&["a", "a.b"])));
        assert!(!set(&["a.b"]).intersects(&set(&["a"])));
    }

    #[test]
    fn members_of_a_level_come_before_those_below() {
        assert_eq!(set(&["b", "a.x", "a", "c.y"]).paths(), [".a", ".b", ".a.x", ".c.y"]);
    }

    #[test]
    fn the_whole_object_cannot_be_owned() {
        let mut set = FieldSet::new();
        set.insert(&[]);
        assert!(set.is_empty());
        assert!(!set.contains(&[]));
    }
}
