//! Rules inside definitions: whether they compile, and what they can cost.

use roost_object::field::{Error, Errors, Kind, Path};

use super::shown;
use crate::cel;
use crate::rules::{Rule, compile_rule};
use crate::structural::{Structural, Type};
use crate::wording;

/// What one rule may cost at most.
const RULE_LIMIT: u64 = 10_000_000;

/// What all rules of a schema may cost at most.
const SCHEMA_LIMIT: u64 = 100_000_000;

/// The estimated costs of all rules of a schema.
#[derive(Default)]
pub(super) struct Budget {
    total: u64,
    expensive: Vec<(u64, String)>,
}

impl Budget {
    fn observe(&mut self, path: &Path<'_>, cost: u64) {
        self.total = self.total.saturating_add(cost);
        if cost < SCHEMA_LIMIT / 100 {
            return;
        }
        self.expensive.push((cost, path.to_string()));
        self.expensive.sort_by(|(a, _), (b, _)| b.cmp(a));
        self.expensive.truncate(4);
    }

    /// Reports a schema whose rules cost too much together.
    pub(super) fn report(&self, path: &Path<'_>, errors: &mut Errors) {
        if self.total <= SCHEMA_LIMIT {
            return;
        }
        for (_, path) in &self.expensive {
            let words = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            errors.push(Error::forbidden(&Path::new(path), words));
        }
        let name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        errors.push(Error::forbidden(path, exceeds(name, self.total, SCHEMA_LIMIT)));
    }
}

fn exceeds(name: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let shown = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{name} exceeds budget by factor of {shown} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}

/// A place of a compiled schema, and how often it can occur in an object.
#[derive(Clone, Copy)]
pub(super) struct RuleContext<'s> {
    schema: &'s Structural,
    resource: bool,
    cardinality: Option<u64>,
    /// Whether rules stand here or above.
    governed: bool,
    /// Whether rules cannot see this place, or one above that rules stand at or above of: then none here compiles.
    hidden: bool,
}

impl<'s> RuleContext<'s> {
    pub(super) fn root(schema: &'s Structural) -> Self {
        Self { schema, resource: true, cardinality: Some(1), governed: false, hidden: false }.with_visibility()
    }

    fn with_visibility(mut self) -> Self {
        self.governed |= self.schema.rules.is_some();
        self.hidden |= self.governed && !self.place().is_visible();
        self
    }

    fn place(&self) -> cel::Place<'s> {
        cel::Place::root(self.schema, self.resource)
    }

    fn below(self, schema: &'s Structural) -> Self {
        let cardinality = self.cardinality.and_then(|times| Some(multiply(times, self.elements()?)));
        Self { schema, resource: schema.embedded, cardinality, ..self }.with_visibility()
    }

    /// How many parts a value here has at most; none when nothing bounds it.
    fn elements(self) -> Option<u64> {
        let limit = |limit: Option<i64>| limit.map(|limit| u64::try_from(limit).unwrap_or_default());
        let checks = self.schema.checks.as_deref();
        match self.schema.kind {
            Type::Object if self.schema.additional.is_set() => limit(checks.and_then(|checks| checks.max_properties)),
            Type::Array => limit(checks.and_then(|checks| checks.max_items)),
            _ => Some(1),
        }
    }

    pub(super) fn property(self, name: &str) -> Option<Self> {
        Some(self.below(self.schema.property(name)?))
    }

    pub(super) fn items(self) -> Option<Self> {
        Some(self.below(self.schema.items.as_deref()?))
    }

    pub(super) fn additional(self) -> Option<Self> {
        Some(self.below(self.schema.additional.schema()?))
    }
}

fn multiply(cost: u64, times: u64) -> u64 {
    if cost == 0 { 0 } else { cost.saturating_mul(times) }
}

/// Where rules stand.
pub(super) struct Place<'a> {
    pub(super) path: &'a Path<'a>,
    /// The place above whose old and new parts cannot be told apart, if there is one.
    pub(super) uncorrelatable: Option<&'a str>,
}

/// Compiles rules and reports what is wrong with them.
pub(super) fn validate(
    rules: &[Rule],
    context: RuleContext<'_>,
    place: &Place<'_>,
    unchanged: bool,
    budget: &mut Budget,
    errors: &mut Errors,
) {
    if context.hidden {
        let words = "internal error: failed to construct type information for x-kubernetes-validations rules: unable to \
                     convert structural schema to CEL declarations";
        errors.push(Error::internal(place.path, words));
        return;
    }
    for (index, rule) in rules.iter().enumerate() {
        let path = place.path.index(index);
        let rule_path = path.child("rule");
        let message_path = path.child("messageExpression");
        let (compiled, failure) = compile_rule(rule, context.schema, context.place(), true);
        let times = context.cardinality.unwrap_or(failure.max_cardinality);
        let cost = multiply(failure.max_cost, times);
        if !unchanged && cost > RULE_LIMIT {
            errors.push(Error::forbidden(&rule_path, exceeds("estimated rule cost", cost, RULE_LIMIT)));
        }
        budget.observe(&rule_path, cost);
        let invalid = |path: &Path<'_>, words: &str| {
            wording::error_showing(Kind::Invalid, path.to_string(), &shown::rule(rule), words)
        };
        if let Some(words) = &failure.rule {
            errors.push(invalid(&rule_path, words));
        }
        if let Some(words) = &failure.message {
            errors.push(invalid(&message_path, words));
        } else if compiled.message.is_some() {
            let cost = failure.message_max_cost;
            if !unchanged && cost > RULE_LIMIT {
                let words = exceeds("estimated messageExpression cost", cost, RULE_LIMIT);
                errors.push(Error::forbidden(&message_path, words));
            }
            budget.observe(&message_path, cost);
        }
        if compiled.uses_old_self {
            if let Some(above) = place.uncorrelatable {
                let words =
                    format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {above}");
                errors.push(Error::invalid(&rule_path, rule.expression.as_str(), words));
            }
        } else if let Some(optional) = rule.optional_old_self {
            let words = "may not be set if oldSelf is not used in rule";
            errors.push(Error::invalid(&path.child("optionalOldSelf"), optional, words));
        }
    }
}
