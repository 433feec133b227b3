//! Reading cron schedules, with the words of the library that the stock server reads them with.

/// What a field of a schedule may hold, and names for some of its numbers.
struct Bounds {
    low: u64,
    high: u64,
    names: &'static [&'static str],
}

const MONTHS: &[&str] = &["", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

static FIELDS: [Bounds; 5] = [
    Bounds { low: 0, high: 59, names: &[] },
    Bounds { low: 0, high: 23, names: &[] },
    Bounds { low: 1, high: 31, names: &[] },
    Bounds { low: 1, high: 12, names: MONTHS },
    Bounds { low: 0, high: 6, names: DAYS },
];

/// Says what is wrong with a schedule.
pub(super) fn problem(schedule: &str) -> Option<String> {
    check(schedule).err()
}

fn check(schedule: &str) -> Result<(), String> {
    if schedule.is_empty() {
        return Err("empty spec string".to_owned());
    }
    let mut rest = schedule;
    if schedule.starts_with("TZ=") || schedule.starts_with("CRON_TZ=") {
        let start = schedule.find('=').map_or(0, |equals| equals + 1);
        let Some(space) = schedule.find(' ') else {
            return Err("invalid schedule format: runtime error: slice bounds out of range [:-1]".to_owned());
        };
        let zone = schedule.get(start..space).unwrap_or_default();
        if let Some(problem) = zone_problem(zone) {
            return Err(format!("provided bad location {zone}: {problem}"));
        }
        rest = schedule[space..].trim();
    }
    if rest.starts_with('@') {
        return check_descriptor(rest);
    }
    let fields: Vec<&str> = rest.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" ")));
    }
    for (field, bounds) in fields.iter().zip(&FIELDS) {
        for expression in field.split(',').filter(|expression| !expression.is_empty()) {
            check_range(expression, bounds)?;
        }
    }
    Ok(())
}

fn check_descriptor(descriptor: &str) -> Result<(), String> {
    match descriptor {
        "@yearly" | "@annually" | "@monthly" | "@weekly" | "@daily" | "@midnight" | "@hourly" => Ok(()),
        _ => match descriptor.strip_prefix("@every ") {
            Some(duration) => match roost_object::duration::parse(duration).err() {
                Some(problem) => Err(format!("failed to parse duration {descriptor}: {problem}")),
                None => Ok(()),
            },
            None => Err(format!("unrecognized descriptor: {descriptor}")),
        },
    }
}

fn check_range(expression: &str, bounds: &Bounds) -> Result<(), String> {
    let parts: Vec<&str> = expression.split('/').collect();
    let ends: Vec<&str> = parts[0].split('-').collect();
    let (start, mut end) = if matches!(ends[0], "*" | "?") {
        (bounds.low, bounds.high)
    } else {
        let start = number_or_name(ends[0], bounds.names)?;
        match ends[..] {
            [_] => (start, start),
            [_, end] => (start, number_or_name(end, bounds.names)?),
            _ => return Err(format!("too many hyphens: {expression}")),
        }
    };
    let step = match parts[..] {
        [_] => 1,
        [_, step] => {
            let step = number(step)?;
            if ends.len() == 1 {
                end = bounds.high;
            }
            step
        }
        _ => return Err(format!("too many slashes: {expression}")),
    };
    let Bounds { low, high, .. } = bounds;
    if start < *low {
        Err(format!("beginning of range ({start}) below minimum ({low}): {expression}"))
    } else if end > *high {
        Err(format!("end of range ({end}) above maximum ({high}): {expression}"))
    } else if start > end {
        Err(format!("beginning of range ({start}) beyond end of range ({end}): {expression}"))
    } else if step == 0 {
        Err(format!("step of range should be a positive number: {expression}"))
    } else {
        Ok(())
    }
}

fn number_or_name(text: &str, names: &[&str]) -> Result<u64, String> {
    let lowered = text.to_lowercase();
    match names.iter().position(|name| !name.is_empty() && *name == lowered) {
        Some(index) => Ok(index as u64),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let why = if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        "invalid syntax"
    } else {
        match text.parse::<i64>() {
            Ok(number) if number < 0 => return Err(format!("negative number ({number}) not allowed: {text}")),
            Ok(number) => return Ok(number.unsigned_abs()),
            Err(_) => "value out of range",
        }
    };
    let quoted = roost_object::field::quote(text);
    Err(format!("failed to parse int from {text}: strconv.Atoi: parsing {quoted}: {why}"))
}

/// Says what is wrong with the name of a time zone.
pub(super) fn zone_problem(name: &str) -> Option<String> {
    if matches!(name, "" | "UTC" | "Local") {
        return None;
    }
    if name.contains("..") || name.starts_with(['/', '\\']) {
        return Some("time: invalid location name".to_owned());
    }
    let is_known = include_str!("time_zones.txt").lines().any(|known| known == name);
    if is_known { None } else { Some(format!("unknown time zone {name}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_refused_in_the_words_of_the_library() {
        for good in ["* * * * *", "*/5 0-6 1,15 jan-Mar sun", "@hourly", "@every 1h30m", "0 0 ? * 1/2", "5/10 * * * *"]
        {
            assert_eq!(problem(good), None, "{good}");
        }
        for (bad, words) in [
            ("", "empty spec string"),
            ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("a * * * *", r#"failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax"#),
            ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
            ("1/2/3 * * * *", "too many slashes: 1/2/3"),
            ("* * * * 7", "end of range (7) above maximum (6): 7"),
            ("@foo", "unrecognized descriptor: @foo"),
            ("@every x", r#"failed to parse duration @every x: time: invalid duration "x""#),
            ("@every 1", r#"failed to parse duration @every 1: time: missing unit in duration "1""#),
            ("TZ=0", "invalid schedule format: runtime error: slice bounds out of range [:-1]"),
            ("TZ=Nowhere * * * * *", "provided bad location Nowhere: unknown time zone Nowhere"),
        ] {
            assert_eq!(problem(bad).as_deref(), Some(words), "{bad}");
        }
    }

    #[test]
    fn zones_are_those_of_the_time_zone_database() {
        assert_eq!(zone_problem("Europe/Berlin"), None);
        assert_eq!(zone_problem("europe/berlin").as_deref(), Some("unknown time zone europe/berlin"));
    }
}
