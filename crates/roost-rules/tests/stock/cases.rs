//! Cases one by one, and where an outcome is another than the answer.

use roost_object::Value;
use roost_object::field::Errors;

pub(crate) const UID: &str = "00000000-0000-0000-0000-000000000000";
pub(crate) const TIME: &str = "2026-01-01T00:00:00Z";

/// Plays all cases of an area; `differences` says where what the rules make of one is another than the answer.
pub(crate) fn play(area: &str, cases: &str, differences: impl Fn(&Value) -> Vec<String>) {
    let cases: Vec<Value> = serde_json::from_str(cases).expect("a list of cases");
    let mut failures = Vec::new();
    for case in &cases {
        let found = differences(case);
        if !found.is_empty() {
            failures.push(format!("{}:\n    {}", case["name"], found.join("\n    ")));
        }
    }
    assert!(failures.is_empty(), "{area}: {} of {} cases\n{}", failures.len(), cases.len(), failures.join("\n"));
}

/// The texts of a list.
pub(crate) fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().map(|text| text.as_str().unwrap_or_default().to_owned()).collect()
}

/// Says which causes are missing or too much.
pub(crate) fn compare_causes(case: &Value, errors: &Errors) -> Vec<String> {
    let cause =
        |error: &roost_object::field::Error| format!("{} {}: {}", error.kind.cause(), error.field, error.body());
    let mut ours: Vec<String> = errors.iter().map(cause).collect();
    let causes = case["expect"]["causes"].as_array().into_iter().flatten();
    let mut theirs: Vec<String> = causes
        .map(|cause| {
            let words = texts(cause);
            format!("{} {}: {}", words[0], words[1], words[2])
        })
        .collect();
    // Stock walks maps in random order.
    if case["unordered"] == true {
        ours.sort();
        theirs.sort();
    }
    let mut found = Vec::new();
    if ours != theirs {
        found.extend(theirs.iter().filter(|line| !ours.contains(line)).map(|line| format!("missing  {line}")));
        found.extend(ours.iter().filter(|line| !theirs.contains(line)).map(|line| format!("too much {line}")));
        if found.is_empty() {
            found.push(format!("order or number: ours {ours:#?} theirs {theirs:#?}"));
        }
    }
    found
}

/// Says where two values differ.
pub(crate) fn compare(path: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(one), Value::Object(other)) => {
            for (key, value) in one {
                compare(&format!("{path}.{key}"), value, other.get(key).unwrap_or(&Value::Null), found);
            }
            for (key, value) in other.iter().filter(|(key, _)| !one.contains_key(*key)) {
                compare(&format!("{path}.{key}"), &Value::Null, value, found);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                compare(&format!("{path}[{index}]"), one, other, found);
            }
        }
        _ if ours == theirs => {}
        _ => found.push(format!("{path}: ours {ours} theirs {theirs}")),
    }
}
