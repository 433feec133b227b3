//! Pod templates on their own.

use super::template;
use crate::check::Spot;
use crate::{Generation, Rules, pod};

pub(super) const RULES: Rules = Rules {
    kind: "PodTemplate",
    defaults: |object| pod::fill_template(object, "template"),
    prepare_create: |new| pod::drop_disabled_template(new, "template"),
    prepare_update: |new, _| pod::drop_disabled_template(new, "template"),
    generation: Generation::Spec,
    validate: |new, errors| template::validate(&Spot::root(new).field("template"), None, errors),
    validate_update: |new, old, errors| {
        template::validate(&Spot::root(new).field("template"), Some(&old["template"]), errors);
    },
    warns_on_update: crate::generation_moved,
    warnings: |object, warnings| pod::warn_of_template(&Spot::root(object).field("template"), warnings),
    ..Rules::NONE
};
