//! Where in a typed document the decoder is, in the two notations of Go's complaints.

use std::fmt;

use crate::table::{Shape, Type};

/// A linked list on the stack, which becomes text only in a complaint.
#[derive(Clone, Copy)]
pub(super) struct Trail<'a> {
    pub(super) parent: Option<&'a Trail<'a>>,
    pub(super) step: Step<'a>,
}

#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    /// The document.
    Root,
    /// A field of a struct, maybe of one that is inlined into it.
    Field(&'static Type, &'a str),
    /// An element of a list.
    Index(usize),
    /// An entry of a map.
    Key(&'a str),
    /// A value that reads itself, so that what it says inside counts as said by the struct outside.
    Boundary,
}

impl<'a> Trail<'a> {
    pub(super) const ROOT: Trail<'static> = Trail { parent: None, step: Step::Root };

    pub(super) fn below(&'a self, step: Step<'a>) -> Trail<'a> {
        Trail { parent: Some(self), step }
    }

    /// `PodSpec.spec.containers`: the struct and the fields without indices and keys; none outside of any struct.
    pub(super) fn go_field(&self) -> Option<String> {
        let mut steps = Vec::new();
        let mut structure = None;
        let mut at = Some(self);
        while let Some(trail) = at {
            match trail.step {
                Step::Field(ty, name) => {
                    structure.get_or_insert(ty);
                    steps.push(name);
                    let inlined = steps.len();
                    inlined_names(ty, name, &mut steps);
                    steps[inlined..].reverse();
                }
                Step::Boundary => structure = None,
                Step::Root | Step::Index(_) | Step::Key(_) => {}
            }
            at = trail.parent;
        }
        steps.reverse();
        structure.map(|ty| format!("{}.{}", ty.name(), steps.join(".")))
    }
}

/// Adds the Go names of the inlined structs between a struct and one of its JSON fields, outermost first.
fn inlined_names(ty: &'static Type, json: &str, names: &mut Vec<&str>) {
    for field in ty.fields {
        if let Shape::Struct(inlined) = field.ty
            && field.inline
            && inlined.field(json).is_some()
        {
            names.push(field.json);
            inlined_names(inlined, json, names);
            return;
        }
    }
}

/// `spec.containers[0].name`, as strict findings write it.
impl fmt::Display for Trail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        if let Some(parent) = self.parent {
            fmt::Display::fmt(parent, f)?;
            first = matches!(parent.step, Step::Root);
        }
        match self.step {
            Step::Root | Step::Boundary => Ok(()),
            Step::Field(_, name) | Step::Key(name) if first => f.write_str(name),
            Step::Field(_, name) | Step::Key(name) => write!(f, ".{name}"),
            Step::Index(index) => write!(f, "[{index}]"),
        }
    }
}
