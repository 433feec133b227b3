//! Priority classes: which pods go first.

use roost_object::Value;
use roost_object::field::{Error, Errors};

use crate::check::{Spot, immutable, text};
use crate::fill::Fill;
use crate::pod::PREEMPTION;
use crate::{Generation, Rules};

/// No priority that users define may be higher.
const HIGHEST_OF_USERS: i64 = 1_000_000_000;
const SYSTEM_PREFIX: &str = "system-";
static SYSTEM_CLASSES: &[(&str, i64)] =
    &[("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

pub(super) const RULES: Rules = Rules {
    group: "scheduling.k8s.io",
    kind: "PriorityClass",
    defaults: |class| class.fill("preemptionPolicy", "PreemptLowerPriority"),
    generation: Generation::Once,
    validate,
    validate_update: |new, old, errors| {
        let root = Spot::root(new);
        let value = root.field("value");
        if value.number() != old["value"].as_i64().unwrap_or(0) {
            value.forbidden("may not be changed in an update.", errors);
        }
        immutable(&root.field("preemptionPolicy"), &old["preemptionPolicy"], "*s", errors);
    },
    ..Rules::NONE
};

fn validate(new: &Value, errors: &mut Errors) {
    let root = Spot::root(new);
    let name = text(&new["metadata"], "name");
    let value = root.field("value");
    if name.starts_with(SYSTEM_PREFIX) {
        let problem = match SYSTEM_CLASSES.iter().find(|(known, _)| *known == name) {
            None => Some(format!("{name} is not a known system priority class")),
            Some((_, expected)) if *expected != value.number() => {
                Some(format!("value of {name} PriorityClass must be {expected}"))
            }
            Some(_) if root.field("globalDefault").is_true() => {
                Some(format!("globalDefault of {name} PriorityClass must be false"))
            }
            Some(_) => None,
        };
        if let Some(problem) = problem {
            let words = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {problem}"
            );
            let meta = root.field("metadata");
            errors.push(Error::forbidden(&meta.path.child("name"), words));
        }
    } else if value.number() > HIGHEST_OF_USERS {
        value.forbidden(format!("maximum allowed value of a user defined priority is {HIGHEST_OF_USERS}"), errors);
    }
    if root.field("preemptionPolicy").given() {
        root.field("preemptionPolicy").check(PREEMPTION, errors);
    }
}
