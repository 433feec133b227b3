//! Carries out a plan. There are no choices left here.

use serde_json::Value;

use super::plan::Plan;
use crate::object::{ObjectError, Objects};

/// Applies the stages one after the other, and returns what was written.
pub(crate) async fn apply(objects: &Objects, plan: &Plan) -> Result<Vec<Value>, ObjectError> {
    let mut applied = Vec::new();
    for stage in &plan.stages {
        applied.extend(objects.apply_all(stage).await?);
    }
    Ok(applied)
}
