//! Controller revisions: templates of former times.

use roost_object::Value;
use roost_object::field::{Error, Errors};

use super::counts;
use crate::Rules;
use crate::check::{Spot, immutable};

pub(super) const RULES: Rules = Rules {
    group: "apps",
    kind: "ControllerRevision",
    validate: |new, errors| {
        let root = Spot::root(new);
        counts::not_negative(&root, &["revision"], errors);
        let data = root.field("data");
        match data.value {
            Value::Object(_) => {}
            Value::Null => errors.push(Error::required(&data.path, "data is mandatory")),
            _ => errors.push(Error::required(&data.path, "data must be a valid JSON object")),
        }
    },
    validate_update: |new: &Value, old: &Value, errors: &mut Errors| {
        let root = Spot::root(new);
        counts::not_negative(&root, &["revision"], errors);
        immutable(&root.field("data"), &old["data"], "j", errors);
    },
    ..Rules::NONE
};
