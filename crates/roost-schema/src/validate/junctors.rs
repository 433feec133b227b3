//! allOf, anyOf, oneOf and not.

use roost_object::field::quote;
use serde_json::Value;

use super::{Findings, Place};
use crate::structural::{Checks, Structural};

pub(super) fn check(checks: Option<&Checks>, value: &Value, place: &Place<'_>, findings: &mut Findings<'_>) {
    let Some(checks) = checks else {
        findings.matches += 1;
        return;
    };
    if !checks.any_of.is_empty() {
        any_of(&checks.any_of, value, place, findings);
    }
    if !checks.one_of.is_empty() {
        one_of(&checks.one_of, value, place, findings);
    }
    if !checks.all_of.is_empty() {
        all_of(&checks.all_of, value, place, findings);
    }
    if let Some(not) = &checks.not
        && tried(not, value, place, findings).errors.is_empty()
    {
        findings.general(format!("{} must not validate the schema (not)", quote(&place.to_string())));
    }
    findings.matches += 1;
}

fn tried<'a>(schema: &Structural, value: &Value, place: &Place<'_>, findings: &Findings<'a>) -> Findings<'a> {
    let mut apart = findings.apart();
    super::check(schema, value, place, None, &mut apart);
    apart
}

/// Keeps the failure in which most checks passed; of equals, the first.
fn keep_best<'a>(best: &mut Option<Findings<'a>>, failed: Findings<'a>) {
    if best.as_ref().is_none_or(|known| failed.matches > known.matches) {
        *best = Some(failed);
    }
}

fn any_of(alternatives: &[Structural], value: &Value, place: &Place<'_>, findings: &mut Findings<'_>) {
    let mut best = None;
    for alternative in alternatives {
        let result = tried(alternative, value, place, findings);
        if result.errors.is_empty() {
            findings.merge(result);
            return;
        }
        keep_best(&mut best, result);
    }
    findings.general(format!("{} must validate at least one schema (anyOf)", quote(&place.to_string())));
    if let Some(best) = best {
        findings.merge(best);
    }
}

fn one_of(alternatives: &[Structural], value: &Value, place: &Place<'_>, findings: &mut Findings<'_>) {
    let mut best = None;
    let mut first = None;
    let mut valid = 0;
    for alternative in alternatives {
        let result = tried(alternative, value, place, findings);
        if result.errors.is_empty() {
            valid += 1;
            best = None;
            first.get_or_insert(result);
        } else if valid == 0 {
            keep_best(&mut best, result);
        }
    }
    if valid == 1 {
        if let Some(first) = first {
            findings.merge(first);
        }
        return;
    }
    let found = if valid == 0 { "Found none valid".to_owned() } else { format!("Found {valid} valid alternatives") };
    let name = quote(&place.to_string());
    findings.general(format!("{name} must validate one and only one schema (oneOf). {found}"));
    if let Some(best) = best {
        findings.merge(best);
    }
}

fn all_of(parts: &[Structural], value: &Value, place: &Place<'_>, findings: &mut Findings<'_>) {
    let mut valid = 0;
    for part in parts {
        let result = tried(part, value, place, findings);
        if result.errors.is_empty() {
            valid += 1;
        }
        findings.merge(result);
    }
    if valid != parts.len() {
        let none = if valid == 0 { ". None validated" } else { "" };
        findings.general(format!("{} must validate all the schemas (allOf){none}", quote(&place.to_string())));
    }
}
