//! Sends a case to both servers and says whether their answers differ, and where.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::client::Client;
use crate::differential::execution::{ENDED, Exchange};
use crate::differential::substitution::Variables;
use crate::differential::suite::{Servers, SuiteError, execute};
use crate::differential::table::Sequence;

/// How often stock is asked again: that it goes through its maps in the same order every time is then unlikely.
const QUESTIONS: usize = 8;

/// The same where only the order differs. Go begins small maps at a random place and goes round, so that two neighbours
/// mostly keep their order.
const QUESTIONS_OF_ORDER: usize = 60;

/// What an answer says when the server closed the connection instead, as stock does where it panics.
const BROKE_OFF: &str = "the exchange broke off";

static INDEX: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\[[^\]]*\]").expect("the pattern is a constant"));

/// A random request that both servers are asked.
pub(super) trait Question: Sized {
    /// The requests; only the last one is of interest.
    fn sequence(&self) -> Sequence;

    /// What can be made smaller.
    fn content(&self) -> &Value;

    /// The same with other content.
    fn with(&self, content: Value) -> Self;

    /// What it is about; differences in the same place of the same are one finding.
    fn title(&self) -> String;

    /// The content in words for reports.
    fn described_content(&self) -> String;

    /// The command that draws it again, with the others of its kind.
    fn command(&self) -> String;

    /// Whether controllers write to the object between two requests.
    fn is_written_by_controllers(&self) -> bool {
        false
    }
}

/// Two answers that differ.
#[derive(Debug)]
pub(super) struct Difference {
    pub(super) request: String,
    pub(super) stock: Value,
    pub(super) ours: Value,
    /// What differs, without the numbers of items: two cases that differ in the same place are mostly one fault.
    pub(super) place: String,
}

/// What came of a case: whether stock accepted it, whether it answered at all, and the difference.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) accepted: bool,
    pub(super) is_answered: bool,
    pub(super) difference: Option<Difference>,
}

/// Sends a case to both and compares.
pub(super) async fn judge(servers: &Servers, case: &impl Question) -> Result<Outcome, SuiteError> {
    let (stock, ours) = tokio::try_join!(ask(case, &servers.stock, "stock"), ask(case, &servers.ours, "ours"))?;
    if stock.answer[ENDED].as_str().is_some_and(|why| why.contains(BROKE_OFF)) {
        return Ok(Outcome { accepted: false, is_answered: false, difference: None });
    }
    let accepted = stock.answer["status"].as_u64().is_some_and(|status| status < 300);
    let is_same = stock.answer == ours.answer
        || (case.is_written_by_controllers() && without_object(&stock.answer) == without_object(&ours.answer))
        || stock_says_both(servers, case, &stock.answer, &ours.answer).await?;
    let difference = (!is_same).then(|| Difference {
        request: stock.request,
        place: place(&stock.answer, &ours.answer),
        stock: stock.answer,
        ours: ours.answer,
    });
    Ok(Outcome { accepted, is_answered: true, difference })
}

/// An answer without the object that a patch led to, which stands in the text when it cannot be read: what the controllers
/// write to a Node is in it.
fn without_object(answer: &Value) -> Value {
    static OBJECT: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#"patch: Invalid value: "\{.*\}": "#).expect("the pattern is a constant"));
    let mut answer = answer.clone();
    let shown =
        answer.pointer("/body/message").and_then(Value::as_str).map(|text| OBJECT.replace(text, "").into_owned());
    if causes(&answer).iter().any(|cause| cause["field"] == "patch")
        && let (Some(shown), Some(body)) = (shown, answer.get_mut("body"))
    {
        body["message"] = Value::from(shown);
        body["details"]["causes"] = Value::Null;
    }
    answer
}

async fn ask(case: &impl Question, client: &Client, server: &str) -> Result<Exchange, SuiteError> {
    let mut exchanges = execute(&case.sequence(), client, server, "", Variables::default()).await?;
    exchanges.pop().map(|(_, exchange)| exchange).ok_or_else(|| SuiteError::Broken("no answer".to_owned()))
}

/// Whether stock, asked again, gives our answer too, or gives the same causes in changing orders.
async fn stock_says_both(
    servers: &Servers,
    case: &impl Question,
    stock: &Value,
    ours: &Value,
) -> Result<bool, SuiteError> {
    let in_another_order = is_same_in_another_order(stock, ours);
    for _ in 0..if in_another_order { QUESTIONS_OF_ORDER } else { QUESTIONS } {
        let again = ask(case, &servers.stock, "stock").await?.answer;
        if again == *ours || (in_another_order && again != *stock) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn causes(answer: &Value) -> &[Value] {
    answer.pointer("/body/details/causes").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn is_same_in_another_order(stock: &Value, ours: &Value) -> bool {
    let sorted = |values: &[Value]| {
        let mut texts: Vec<String> = values.iter().map(Value::to_string).collect();
        texts.sort_unstable();
        texts
    };
    let same_beside = |name: &str| {
        let beside = |answer: &Value| {
            let mut headers = answer["headers"].clone();
            let taken = headers.as_object_mut().and_then(|headers| headers.remove(name));
            (headers, sorted(taken.as_ref().and_then(Value::as_array).map_or(&[], Vec::as_slice)))
        };
        stock["status"] == ours["status"] && beside(stock) == beside(ours)
    };
    let same_causes = !causes(stock).is_empty() && sorted(causes(stock)) == sorted(causes(ours));
    let other_warnings = stock["headers"] != ours["headers"];
    same_beside("warning") && (same_causes || other_warnings && stock["body"] == ours["body"])
}

fn place(stock: &Value, ours: &Value) -> String {
    let (left, right) = (causes(stock), causes(ours));
    let first = (0..left.len().max(right.len())).find(|index| left.get(*index) != right.get(*index));
    let cause = first.and_then(|index| left.get(index).or_else(|| right.get(index)));
    let field = cause.and_then(|cause| cause["field"].as_str()).unwrap_or_default();
    let place = if stock["status"] == ours["status"] {
        if cause.is_some() { field.to_owned() } else { first_difference(stock, ours, String::new()) }
    } else {
        format!("{field} (status {} and {})", stock["status"], ours["status"])
    };
    INDEX.replace_all(&place, "[]").into_owned()
}

fn first_difference(stock: &Value, ours: &Value, path: String) -> String {
    match (stock, ours) {
        (Value::Object(left), Value::Object(right)) => {
            let names = left.keys().chain(right.keys().filter(|name| !left.contains_key(*name)));
            let different = names.filter(|name| left.get(*name) != right.get(*name)).min();
            let both = different.map(|name| (name, left.get(name), right.get(name)));
            match both {
                Some((name, Some(left), Some(right))) => first_difference(left, right, format!("{path}/{name}")),
                Some((name, _, _)) => format!("{path}/{name}"),
                None => path,
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            match left.iter().zip(right).find(|(left, right)| left != right) {
                Some((left, right)) => first_difference(left, right, format!("{path}[]")),
                None => path,
            }
        }
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{is_same_in_another_order, place, without_object};

    fn refused(fields: &[&str]) -> Value {
        let causes: Vec<Value> = fields.iter().map(|field| json!({"field": field, "message": "bad"})).collect();
        json!({"status": 422, "headers": {}, "body": {"message": fields.join(", "), "details": {"causes": causes}}})
    }

    #[test]
    fn orders_of_causes() {
        assert!(is_same_in_another_order(&refused(&["a", "b"]), &refused(&["b", "a"])));
        assert!(!is_same_in_another_order(&refused(&["a", "b"]), &refused(&["a", "c"])));
        assert!(!is_same_in_another_order(&refused(&[]), &refused(&[])), "without causes the text itself counts");
        let warned = |warnings: &[&str]| json!({"status": 200, "headers": {"warning": warnings}, "body": {}});
        assert!(is_same_in_another_order(&warned(&["a", "b"]), &warned(&["b", "a"])));
        assert!(!is_same_in_another_order(&warned(&["a", "b"]), &warned(&["a"])));
    }

    #[test]
    fn objects_in_texts() {
        let answer = |object: &str, why: &str| {
            let message = format!("Invalid value: \"{{{object}}}\": {why}");
            json!({"body": {"message": format!(" \"\" is invalid: patch: {message}"),
                            "details": {"causes": [{"field": "patch", "message": message}]}}})
        };
        assert_eq!(without_object(&answer("a", "x")), without_object(&answer("b", "x")));
        assert_ne!(without_object(&answer("a", "x")), without_object(&answer("a", "y")));
        assert_eq!(without_object(&refused(&["a"])), refused(&["a"]));
    }

    #[test]
    fn places() {
        let of = |stock: &Value, ours: &Value| place(stock, ours);
        assert_eq!(of(&refused(&["spec.a[3].b", "c"]), &refused(&["c"])), "spec.a[].b");
        let accepted = json!({"status": 200, "headers": {}, "body": {"spec": {"list": [{"a": 1}, {"a": 2}]}}});
        let other = json!({"status": 200, "headers": {}, "body": {"spec": {"list": [{"a": 1}, {"a": 3}]}}});
        assert_eq!(of(&accepted, &other), "/body/spec/list[]/a");
        assert_eq!(of(&refused(&["spec.x"]), &accepted), "spec.x (status 422 and 200)");
    }
}
