//! Cron jobs: jobs at certain times.

use roost_object::Value;
use roost_object::field::{Error, Errors};

use super::{counts, cron_schedule, job, template};
use crate::check::Check::{OneOf, Required};
use crate::check::{Check, Spot, text};
use crate::fill::Fill;
use crate::{Generation, Rules, drop_status, keep_spec, keep_status, pod, shown};

/// Names of jobs are made of the name of the cron job and eleven more characters.
const NAME_MAX: usize = 52;

pub(super) const RULES: Rules = Rules {
    group: "batch",
    kind: "CronJob",
    defaults: fill,
    prepare_create: |new| {
        drop_status(new);
        drop_disabled(new);
    },
    prepare_update: |new, old| {
        keep_status(new, old);
        drop_disabled(new);
    },
    prepare_status_update: keep_spec,
    generation: Generation::Spec,
    validate: |new, errors| {
        validate(new, None, errors);
        let name = text(&new["metadata"], "name");
        if name.len() > NAME_MAX {
            let path = roost_object::field::Path::new("metadata.name");
            errors.push(Error::invalid(&path, name, format!("must be no more than {NAME_MAX} characters")));
        }
    },
    validate_update: |new, old, errors| validate(new, Some(old), errors),
    warns_on_update: crate::generation_moved,
    warnings: |cron_job, warnings| {
        template::warn_of_name(cron_job, warnings);
        let root = Spot::root(cron_job);
        let spec = root.field("spec");
        let jobs = spec.field("jobTemplate");
        job::warn_of_spec(&jobs.field("spec"), warnings);
    },
    ..Rules::NONE
};

fn fill(cron_job: &mut Value) {
    let spec = cron_job.at_or_empty("spec");
    spec.fill_text("concurrencyPolicy", "Allow");
    spec.fill("suspend", false);
    spec.fill("successfulJobsHistoryLimit", 3);
    spec.fill("failedJobsHistoryLimit", 1);
    if let Some(jobs) = spec.at("jobTemplate") {
        job::fill_template_of_job(jobs.at_or_empty("spec"));
    }
}

fn drop_disabled(cron_job: &mut Value) {
    if let Some(jobs) = cron_job.at_or_empty("spec").at("jobTemplate") {
        pod::drop_disabled_template(jobs.at_or_empty("spec"), "template");
    }
}

fn validate(new: &Value, old: Option<&Value>, errors: &mut Errors) {
    static CONCURRENCY: &[Check] = &[Required, OneOf(&["Allow", "Forbid", "Replace"])];
    let root = Spot::root(new);
    let spec = root.field("spec");
    validate_schedule(&spec, old, errors);
    counts::not_negative(&spec, &["startingDeadlineSeconds"], errors);
    let zone = spec.field("timeZone");
    if old.is_none_or(|old| &old["spec"]["timeZone"] != zone.value) {
        validate_zone(&zone, errors);
    }
    spec.field("concurrencyPolicy").check(CONCURRENCY, errors);
    let jobs = spec.field("jobTemplate");
    let job_spec = jobs.field("spec");
    let old_template = old.map(|old| &old["spec"]["jobTemplate"]["spec"]["template"]);
    job::validate_spec_of_template(&job_spec, old_template, errors);
    let selector = job_spec.field("selector");
    if selector.given() {
        let words = "`selector` will be auto-generated";
        errors.push(shown::invalid(&selector.path, "LabelSelector", selector.value, words));
    }
    let manual = job_spec.field("manualSelector");
    if manual.is_true() {
        errors.push(Error::not_supported(&manual.path, true, &["nil", "false"]));
    }
    counts::not_negative(&spec, &["successfulJobsHistoryLimit", "failedJobsHistoryLimit"], errors);
}

fn validate_schedule(spec: &Spot<'_>, old: Option<&Value>, errors: &mut Errors) {
    let schedule = spec.field("schedule");
    if !schedule.filled() {
        errors.push(Error::required(&schedule.path, ""));
        return;
    }
    if let Some(problem) = cron_schedule::problem(schedule.text()) {
        schedule.invalid(problem, errors);
    }
    let had_zone = old.is_some_and(|old| text(&old["spec"], "schedule").contains("TZ"));
    if schedule.text().contains("TZ") {
        if !had_zone {
            schedule.invalid("cannot use TZ or CRON_TZ in schedule, use timeZone field instead", errors);
        } else if spec.field("timeZone").given() {
            schedule.invalid("cannot use both timeZone field and TZ or CRON_TZ in schedule", errors);
        }
    }
}

fn validate_zone(zone: &Spot<'_>, errors: &mut Errors) {
    if !zone.given() {
        return;
    }
    let name = zone.text();
    if name.is_empty() {
        zone.invalid("timeZone must be nil or non-empty string", errors);
        return;
    }
    let is_part = |part: &str| {
        let is_character = |byte: u8| byte.is_ascii_alphanumeric() || b".-_+".contains(&byte);
        !matches!(part, "." | "..")
            && !part.starts_with('-')
            && (1..=14).contains(&part.len())
            && part.bytes().all(is_character)
    };
    if !name.split('/').all(is_part) {
        zone.invalid(format!("unknown time zone {name}"), errors);
        return;
    }
    if name.eq_ignore_ascii_case("Local") {
        let words = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        zone.invalid(words, errors);
    }
    if let Some(problem) = cron_schedule::zone_problem(name) {
        zone.invalid(problem, errors);
    }
}
