//! Decides whether two answers are the same.

use serde_json::Value;

use super::form;
use super::table::Step;

/// Applies what a step says about its comparison: `only`, `ignore` and `unordered`.
pub fn reduce(answer: &mut Value, step: &Step) {
    if !step.only.is_empty() {
        let kept = step.only.iter().map(|pointer| {
            let found = answer.pointer(pointer).cloned().unwrap_or(Value::Null);
            (pointer.clone(), found)
        });
        *answer = Value::Object(kept.collect());
    }
    for pointer in &step.ignore {
        visit(answer, pointer, &|place| *place = Value::from("<ignored>"));
        if let Some(form) = answer.get_mut("form") {
            form::forget(form, pointer);
        }
    }
    for pointer in &step.unordered {
        visit(answer, pointer, &sort);
    }
}

/// Calls a function for every place that a pointer, in which `*` stands for all items, leads to.
fn visit(value: &mut Value, pointer: &str, change: &dyn Fn(&mut Value)) {
    let Some(rest) = pointer.strip_prefix('/') else {
        change(value);
        return;
    };
    let (first, rest) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
    let name = first.replace("~1", "/").replace("~0", "~");
    match value {
        Value::Array(items) if first == "*" => items.iter_mut().for_each(|item| visit(item, rest, change)),
        Value::Object(fields) if first == "*" => fields.values_mut().for_each(|item| visit(item, rest, change)),
        Value::Array(items) => {
            if let Some(item) = name.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
                visit(item, rest, change);
            }
        }
        Value::Object(fields) => {
            if let Some(item) = fields.get_mut(&name) {
                visit(item, rest, change);
            }
        }
        _ => {}
    }
}

fn sort(place: &mut Value) {
    match place {
        Value::Array(items) => items.sort_by_cached_key(Value::to_string),
        Value::String(text) => {
            let mut parts: Vec<&str> = text.split([',', '[', ']', ':', '\n']).map(str::trim).collect();
            parts.sort_unstable();
            *text = parts.join(" | ");
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::reduce;
    use crate::differential::table::Step;

    #[test]
    fn only_ignore_and_unordered() {
        let mut answer = json!({"body": {"a": [3, 1, 2], "b": {"x": {"c": 1}, "y": {"c": 2}}}});
        let step =
            Step { ignore: vec!["/body/b/*/c".to_owned()], unordered: vec!["/body/a".to_owned()], ..Step::default() };
        reduce(&mut answer, &step);
        assert_eq!(answer, json!({"body": {"a": [1, 2, 3], "b": {"x": {"c": "<ignored>"}, "y": {"c": "<ignored>"}}}}));
        let step = Step { only: vec!["/body/a/0".to_owned()], ..Step::default() };
        reduce(&mut answer, &step);
        assert_eq!(answer, json!({"/body/a/0": 1}));
    }
}
