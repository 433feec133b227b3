//! How the server shares its time: which requests belong to which level of priority, and what a level may use.

mod level;
mod schema;

use roost_object::Value;
use roost_object::field::{Error, Errors, Path};

use crate::check::{Spot, text};
use crate::{Generation, Rules, drop_status, keep_status};

const GROUP: &str = "flowcontrol.apiserver.k8s.io";

const ROW: Rules = Rules {
    group: GROUP,
    generation: Generation::Spec,
    prepare_create: drop_status,
    prepare_update: keep_status,
    validate_status_update: |new, _, errors| validate_status(new, errors),
    ..Rules::NONE
};

pub(crate) static TABLE: &[Rules] = &[
    Rules {
        kind: "FlowSchema",
        defaults: schema::defaults,
        validate: schema::validate,
        validate_update: |new, _, errors| schema::validate(new, errors),
        ..ROW
    },
    Rules {
        kind: "PriorityLevelConfiguration",
        defaults: level::defaults,
        validate: level::validate,
        validate_update: |new, _, errors| level::validate(new, errors),
        ..ROW
    },
];

fn validate_status(object: &Value, errors: &mut Errors) {
    let status = Path::new("status");
    let conditions = Spot::new(&object["status"]["conditions"], status.child("conditions"));
    conditions.each(|index, condition| {
        let kind = condition.field("type");
        if conditions.elements()[..index].iter().any(|earlier| text(earlier, "type") == kind.text()) {
            errors.push(Error::duplicate(&kind.path, kind.text()));
        }
        if !kind.filled() {
            errors.push(Error::required(&kind.path, ""));
        }
    });
}
