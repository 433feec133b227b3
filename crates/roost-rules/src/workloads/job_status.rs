//! What a job's controller may write into its status, and in which order.

use roost_object::Value;
use roost_object::field::{Error, Errors};

use super::{counts, indexes};
use crate::check::{IMMUTABLE, Spot, elements, text};
use crate::internal;
use crate::shown;

/// Checks an update of a job's status. What was wrong already and did not change is let through.
pub(super) fn validate_update(new: &Value, old: &Value, errors: &mut Errors) {
    let root = Spot::root(new);
    let status = root.field("status");
    validate_counts(&status, errors);
    let changes = Changes { new, old };
    validate_end(&changes, &status, errors);
    validate_indexes(&changes, &status, errors);
    validate_rest(&changes, &status, errors);
    validate_transitions(&changes, &status, errors);
}

/// A job before and after.
struct Changes<'a> {
    new: &'a Value,
    old: &'a Value,
}

impl Changes<'_> {
    fn is(&self, condition: &str) -> bool {
        is_true(self.new, condition)
    }

    fn was(&self, condition: &str) -> bool {
        is_true(self.old, condition)
    }

    fn is_finished(&self) -> bool {
        self.is("Complete") || self.is("Failed")
    }

    fn turned(&self, condition: &str) -> bool {
        self.is(condition) != self.was(condition)
    }

    fn finishing(&self) -> bool {
        self.is_finished() != (self.was("Complete") || self.was("Failed"))
    }

    fn changed(&self, field: &str) -> bool {
        let shape = match field {
            "uncountedTerminatedPods" => "*UncountedTerminatedPods",
            "startTime" | "completionTime" => "t",
            "completedIndexes" => "s",
            "failedIndexes" => "*s",
            "ready" | "terminating" => "*n",
            _ => "n",
        };
        !internal::same(shape, &self.new["status"][field], &self.old["status"][field])
    }
}

fn is_true(job: &Value, condition: &str) -> bool {
    has(job, condition, "True")
}

fn has(job: &Value, condition: &str, status: &str) -> bool {
    elements(&job["status"]["conditions"])
        .iter()
        .any(|found| text(found, "type") == condition && text(found, "status") == status)
}

fn validate_counts(status: &Spot<'_>, errors: &mut Errors) {
    counts::not_negative(status, &["active", "succeeded", "failed", "ready", "terminating"], errors);
    let uncounted = status.field("uncountedTerminatedPods");
    let mut seen: Vec<String> = Vec::new();
    for list in ["succeeded", "failed"] {
        uncounted.field(list).each(|_, uid| {
            if !uid.filled() {
                errors.push(Error::invalid(&uid.path, "", "must not be empty"));
            } else if seen.iter().any(|earlier| earlier == uid.text()) {
                errors.push(Error::duplicate(&uid.path, uid.text()));
            } else {
                seen.push(uid.text().to_owned());
            }
        });
    }
}

/// Checks what holds for jobs that end with this update.
fn validate_end(changes: &Changes<'_>, status: &Spot<'_>, errors: &mut Errors) {
    let conditions = status.field("conditions");
    let refuse = |words: &str, errors: &mut Errors| errors.push(Error::invalid_omitted(&conditions.path, words));
    let complete = changes.is("Complete");
    let completing = changes.turned("Complete");
    if (completing || changes.turned("Failed")) && complete && changes.is("Failed") {
        refuse("cannot set Complete=True and Failed=true conditions", errors);
    }
    if (completing || changes.turned("FailureTarget")) && complete && changes.is("FailureTarget") {
        refuse("cannot set Complete=True and FailureTarget=true conditions", errors);
    }
    let start = status.field("startTime");
    let end = status.field("completionTime");
    if completing || changes.changed("completionTime") {
        if end.given() && !complete {
            end.invalid("cannot set completionTime when there is no Complete=True condition", errors);
        }
        if !end.given() && complete {
            errors.push(Error::required(&end.path, "completionTime is required for Complete jobs"));
        }
    }
    // Times of the API are all written alike, so that their order is that of the texts.
    let is_reversed = start.given() && end.given() && end.text() < start.text();
    if (changes.changed("startTime") || changes.changed("completionTime")) && is_reversed {
        end.invalid("must be equal to or after `startTime`", errors);
    }
    if (changes.turned("Failed") || changes.changed("failedIndexes"))
        && changes.is("Failed")
        && !changes.is("FailureTarget")
    {
        refuse("cannot set Failed=True condition without the FailureTarget=true condition", errors);
    }
    if (completing || changes.turned("SuccessCriteriaMet")) && complete && !changes.is("SuccessCriteriaMet") {
        refuse("cannot set Complete=True condition without the SuccessCriteriaMet=true condition", errors);
    }
    let finished = changes.is_finished();
    let active = status.field("active");
    if (changes.finishing() || changes.changed("active")) && active.number() > 0 && finished {
        active.invalid("active>0 is invalid for finished job", errors);
    }
    let spec = &changes.new["spec"];
    let never_ran = spec["suspend"] == true && spec["completions"] == 0;
    if (changes.finishing() || changes.changed("startTime")) && !never_ran && !start.given() && finished {
        errors.push(Error::required(&start.path, "startTime is required for finished job"));
    }
    let uncounted = status.field("uncountedTerminatedPods");
    let any_uncounted = uncounted.field("failed").filled() || uncounted.field("succeeded").filled();
    if (changes.finishing() || changes.changed("uncountedTerminatedPods")) && finished && any_uncounted {
        let words = "must be empty for finished job";
        errors.push(shown::invalid(&uncounted.path, "UncountedTerminatedPods", uncounted.value, words));
    }
}

fn validate_indexes(changes: &Changes<'_>, status: &Spot<'_>, errors: &mut Errors) {
    let spec = &changes.new["spec"];
    let completed = status.field("completedIndexes");
    let failed = status.field("failedIndexes");
    let by_index = !spec["backoffLimitPerIndex"].is_null();
    let (completed_changed, failed_changed) = (changes.changed("completedIndexes"), changes.changed("failedIndexes"));
    if let Some(completions) = spec["completions"].as_i64() {
        if completed_changed && let Err(problem) = indexes::count(completed.text(), completions) {
            let words = format!("error parsing completedIndexes: {problem}");
            errors.push(Error::invalid(&completed.path, completed.text(), words));
        }
        if failed_changed
            && by_index
            && failed.given()
            && let Err(problem) = indexes::count(failed.text(), completions)
        {
            failed.invalid(format!("error parsing failedIndexes: {problem}"), errors);
        }
    }
    if completed_changed && completed.filled() && spec["completionMode"] != "Indexed" {
        completed.invalid("cannot set non-empty completedIndexes when non-indexed completion mode", errors);
    }
    if failed_changed && !by_index && failed.given() {
        failed.invalid("cannot set non-null failedIndexes when backoffLimitPerIndex is null", errors);
    }
    if (failed_changed || completed_changed)
        && failed.given()
        && let Some(completions) = spec["completions"].as_i64()
        && let Some(index) = indexes::overlap(completed.text(), failed.text(), completions)
    {
        failed.invalid(format!("failedIndexes and completedIndexes overlap at index: {index}"), errors);
    }
}

fn validate_rest(changes: &Changes<'_>, status: &Spot<'_>, errors: &mut Errors) {
    let conditions = status.field("conditions");
    let terminating = status.field("terminating");
    if (changes.finishing() || changes.changed("terminating")) && terminating.number() > 0 && changes.is_finished() {
        terminating.invalid("terminating>0 is invalid for finished job", errors);
    }
    let ready = status.field("ready");
    if (changes.changed("ready") || changes.changed("active"))
        && ready.given()
        && ready.number() > status.field("active").number()
    {
        ready.invalid("cannot set more ready pods than active", errors);
    }
    let mut refuse = |words: &str| errors.push(Error::invalid_omitted(&conditions.path, words));
    if changes.is("SuccessCriteriaMet") && changes.is("Failed") {
        refuse("cannot set SuccessCriteriaMet=True and Failed=true conditions");
    }
    if changes.is("SuccessCriteriaMet") && changes.is("FailureTarget") {
        refuse("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions");
    }
    let has_policy = !changes.new["spec"]["successPolicy"].is_null();
    if has_policy && !changes.is("SuccessCriteriaMet") && changes.is("Complete") {
        refuse("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True");
    }
}

fn validate_transitions(changes: &Changes<'_>, status: &Spot<'_>, errors: &mut Errors) {
    let conditions = status.field("conditions");
    let refuse = |words: &str, errors: &mut Errors| errors.push(Error::invalid_omitted(&conditions.path, words));
    for condition in ["Failed", "Complete", "FailureTarget"] {
        if changes.was(condition) && !changes.is(condition) {
            refuse(&format!("cannot disable the terminal {condition}=True condition"), errors);
        }
    }
    let spec = &changes.new["spec"];
    let is_elastic = spec["completionMode"] == "Indexed" && spec["completions"] == spec["parallelism"];
    for (name, guarded) in [("failed", true), ("succeeded", !is_elastic)] {
        let count = status.field(name);
        if guarded && count.number() < changes.old["status"][name].as_i64().unwrap_or(0) {
            errors.push(Error::invalid(&count.path, count.number(), format!("cannot decrease the {name} counter")));
        }
    }
    let end = status.field("completionTime");
    if end.given() && !changes.old["status"]["completionTime"].is_null() && changes.changed("completionTime") {
        end.invalid(IMMUTABLE, errors);
    }
    let start = status.field("startTime");
    let resumes = changes.was("Suspended") && has(changes.new, "Suspended", "False");
    let had_start = !changes.old["status"]["startTime"].is_null();
    if changes.changed("startTime") && !resumes && had_start && spec["suspend"] != true {
        start.invalid("field is immutable for unsuspended job once set", errors);
    }
    if changes.was("SuccessCriteriaMet") && !changes.is("SuccessCriteriaMet") {
        refuse("cannot disable the SuccessCriteriaMet=True condition", errors);
    }
    if changes.was("Complete") && !changes.was("SuccessCriteriaMet") && changes.is("SuccessCriteriaMet") {
        refuse("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions", errors);
    }
}
