//! Laying an applied configuration over the live object.

use std::collections::{HashMap, HashSet};

use roost_object::merge::Node;
use serde_json::{Map, Value};

use super::elements::Identity;
use super::errors::TypeErrors;
use super::{Form, entry, form};
use crate::MAX_DEPTH;
use crate::managed::Element;

/// Merges `config` into `live`: its leaves win, nothing is removed, and lists take its order.
pub(crate) fn merge<N: Node>(live: Value, config: &Value, node: N) -> Result<Value, TypeErrors> {
    let mut walk = Walk { errors: TypeErrors::default() };
    let merged = walk.place(live, config, Some(node), 0);
    walk.errors.none_or(merged)
}

/// Where an element of the configuration stands in the live list.
#[derive(Clone, Copy)]
enum Twin {
    At(usize),
    /// Repeated elements are one thing that nobody can merge into.
    Repeated,
}

struct Walk {
    errors: TypeErrors,
}

impl Walk {
    fn place<N: Node>(&mut self, live: Value, config: &Value, node: Option<N>, depth: usize) -> Value {
        if depth >= MAX_DEPTH {
            return config.clone();
        }
        match form(node, config) {
            Form::Leaf => config.clone(),
            Form::Map => {
                let live = match live {
                    Value::Object(live) => live,
                    _ => Map::new(),
                };
                match config {
                    Value::Object(config) if !config.is_empty() => self.maps(live, config, node, depth),
                    _ if live.is_empty() => config.clone(),
                    _ => Value::Object(live),
                }
            }
            Form::List => {
                let live = match live {
                    Value::Array(live) => live,
                    _ => Vec::new(),
                };
                match (node, config) {
                    (Some(node), Value::Array(config)) if !config.is_empty() => self.lists(live, config, node, depth),
                    _ if live.is_empty() => config.clone(),
                    _ => Value::Array(live),
                }
            }
        }
    }

    fn maps<N: Node>(
        &mut self,
        mut live: Map<String, Value>,
        config: &Map<String, Value>,
        node: Option<N>,
        depth: usize,
    ) -> Value {
        for (name, item) in config {
            match live.get_mut(name) {
                Some(present) => {
                    let errors = self.errors.len();
                    *present = self.place(present.take(), item, entry(node, name), depth + 1);
                    self.errors.below(errors, || format!(".{name}"));
                }
                None => {
                    live.insert(name.clone(), item.clone());
                }
            }
        }
        Value::Object(live)
    }

    fn steps<N: Node>(&mut self, identity: &Identity<N>, items: &[Value], unique: bool) -> Vec<Element> {
        let mut seen = HashSet::with_capacity(items.len());
        let mut steps = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match identity.step(item) {
                Ok(step) => {
                    if unique && !seen.insert(step.clone()) {
                        self.errors.push(format!("duplicate entries for key {step}"));
                    }
                    steps.push(step);
                }
                Err(error) => self.errors.push(format!("element {index}: {error}")),
            }
        }
        steps
    }

    /// Interleaves two lists: shared elements stand in the order of the configuration, and elements of one list only
    /// keep their place behind what stood before them.
    fn lists<N: Node>(&mut self, live: Vec<Value>, config: &[Value], node: N, depth: usize) -> Value {
        let identity = Identity::of(node);
        let errors = self.errors.len();
        let right = self.steps(&identity, config, true);
        let left = self.steps(&identity, &live, false);
        if self.errors.len() > errors {
            return Value::Array(live);
        }
        let element = identity.element();
        let in_right: HashMap<&Element, usize> = right.iter().enumerate().map(|(at, step)| (step, at)).collect();
        let mut in_left: HashMap<&Element, Twin> = HashMap::with_capacity(left.len());
        for (at, step) in left.iter().enumerate() {
            in_left.entry(step).and_modify(|twin| *twin = Twin::Repeated).or_insert(Twin::At(at));
        }
        let mut shared = right.iter().filter(|step| in_left.contains_key(step));
        let mut next_shared = shared.next();
        let mut live: Vec<_> = live.into_iter().map(Some).collect();
        let mut merged_right = HashSet::with_capacity(right.len());
        let mut out = Vec::with_capacity(live.len().max(config.len()));
        let (mut l, mut r) = (0, 0);
        while l < left.len() || r < right.len() {
            if l < left.len() && r < right.len() {
                if left[l] == right[r] {
                    merged_right.insert(&left[l]);
                    out.push(self.item(
                        &mut live,
                        in_left.get(&right[r]).copied(),
                        &config[r],
                        element,
                        &right[r],
                        depth,
                    ));
                    l += 1;
                    r += 1;
                    next_shared = shared.next();
                    continue;
                }
                if in_right.contains_key(&left[l]) && next_shared.is_some_and(|next| *next != left[l]) {
                    l += 1;
                    continue;
                }
            }
            if l < left.len() {
                if !in_right.contains_key(&left[l]) {
                    out.extend(live[l].take());
                    l += 1;
                    continue;
                } else if merged_right.contains(&left[l]) {
                    l += 1;
                }
            }
            if r < right.len() {
                merged_right.insert(&right[r]);
                out.push(self.item(&mut live, in_left.get(&right[r]).copied(), &config[r], element, &right[r], depth));
                if next_shared.is_some_and(|next| *next == right[r]) {
                    next_shared = shared.next();
                }
                r += 1;
            }
        }
        Value::Array(out)
    }

    /// Merges one element with its twin in the live list.
    fn item<N: Node>(
        &mut self,
        live: &mut [Option<Value>],
        twin: Option<Twin>,
        config: &Value,
        element: Option<N>,
        step: &Element,
        depth: usize,
    ) -> Value {
        let live = match twin {
            None => return config.clone(),
            Some(Twin::At(at)) => live[at].take().unwrap_or_default(),
            Some(Twin::Repeated) => Value::Null,
        };
        let errors = self.errors.len();
        let merged = self.place(live, config, element, depth + 1);
        self.errors.below(errors, || step.to_string());
        merged
    }
}
