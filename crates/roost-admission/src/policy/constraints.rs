//! Which writes a policy or binding is about.

use roost_object::Value;

use crate::matching::{Equivalent, Match, Rule, Selection, Subject, find};

/// The match constraints of a policy, or the match resources of a binding.
#[derive(Debug)]
pub struct Constraints {
    /// In which namespaces.
    pub namespaces: Selection,
    /// With which labels.
    pub objects: Selection,
    rules: Vec<Rule>,
    excluded: Vec<Rule>,
    /// Whether the same objects under another name count too.
    pub equivalent: bool,
}

/// Whether rules are about a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Matched {
    /// They are not.
    No,
    /// They are.
    Yes(Match),
}

impl Constraints {
    /// Reads constraints.
    pub fn read(constraints: &Value) -> Self {
        Self {
            namespaces: Selection::read(&constraints["namespaceSelector"]),
            objects: Selection::read(&constraints["objectSelector"]),
            rules: Rule::read_all(&constraints["resourceRules"]),
            excluded: Rule::read_all(&constraints["excludeResourceRules"]),
            equivalent: constraints["matchPolicy"] != "Exact",
        }
    }

    /// Whether the rules are about a write. Equivalents are asked for only where they count.
    pub fn matches(&self, subject: &Subject<'_>, equivalents: Option<&[Equivalent]>) -> Matched {
        if !self.excluded.is_empty() && find(&self.excluded, subject, equivalents).is_some() {
            return Matched::No;
        }
        if self.rules.is_empty() {
            return Matched::Yes(Match::Exact);
        }
        find(&self.rules, subject, equivalents).map_or(Matched::No, Matched::Yes)
    }
}
