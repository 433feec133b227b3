//! Makes a body smaller as long as what it shows stays.

use serde_json::Value;

/// More attempts at one body would keep the other findings waiting.
const MOST_ATTEMPTS: usize = 300;

/// What says of which kind a body is; without it nobody can send it again.
const KEPT: &[&str] = &["apiVersion", "kind"];

#[derive(Debug, Clone)]
enum Step {
    Field(String),
    Item(usize),
}

/// Takes fields and items away, the outer ones first, while `stays` holds for what is left.
pub(super) async fn make_smaller<E>(body: Value, stays: impl AsyncFn(&Value) -> Result<bool, E>) -> Result<Value, E> {
    let mut body = body;
    let mut attempts = 0;
    let mut pending = below(&body, &[]);
    while let Some(place) = pending.pop() {
        attempts += 1;
        if attempts > MOST_ATTEMPTS {
            break;
        }
        let mut candidate = body.clone();
        remove(&mut candidate, &place);
        if stays(&candidate).await? {
            body = candidate;
        } else {
            pending.extend(below(&body, &place));
        }
    }
    Ok(body)
}

/// The places right below one. The last is taken first, so that the items before it keep their numbers.
fn below(body: &Value, place: &[Step]) -> Vec<Vec<Step>> {
    let steps: Vec<Step> = match find(body, place) {
        Some(Value::Object(fields)) => {
            let removable = fields.keys().filter(|name| !(place.is_empty() && KEPT.contains(&name.as_str())));
            removable.cloned().map(Step::Field).collect()
        }
        Some(Value::Array(items)) => (0..items.len()).map(Step::Item).collect(),
        _ => Vec::new(),
    };
    steps.into_iter().map(|step| [place, &[step]].concat()).collect()
}

fn find<'a>(body: &'a Value, place: &[Step]) -> Option<&'a Value> {
    place.iter().try_fold(body, |value, step| match step {
        Step::Field(name) => value.get(name),
        Step::Item(number) => value.get(number),
    })
}

fn remove(body: &mut Value, place: &[Step]) {
    let Some((last, above)) = place.split_last() else { return };
    let parent = above.iter().try_fold(body, |value, step| match step {
        Step::Field(name) => value.get_mut(name),
        Step::Item(number) => value.get_mut(number),
    });
    match (parent, last) {
        (Some(Value::Object(fields)), Step::Field(name)) => {
            fields.remove(name);
        }
        (Some(Value::Array(items)), Step::Item(number)) if *number < items.len() => {
            items.remove(*number);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use serde_json::json;

    use super::make_smaller;

    #[tokio::test]
    async fn only_what_is_needed_is_left() {
        let body = json!({
            "kind": "Thing", "metadata": {"name": "x"},
            "spec": {"list": [{"a": 1}, {"a": 2, "b": 3}, {"a": 4}], "other": {"deep": [1, 2]}},
        });
        let shows = async |body: &serde_json::Value| {
            let items = body["spec"]["list"].as_array();
            Ok::<_, Infallible>(items.is_some_and(|items| items.iter().any(|item| item["b"] == 3)))
        };
        let smaller = make_smaller(body, shows).await.unwrap_or_else(|never| match never {});
        assert_eq!(smaller, json!({"kind": "Thing", "spec": {"list": [{"b": 3}]}}));
    }
}
