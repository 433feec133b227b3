//! Which labels classifications give to an Agent, and how many Agents have them. Pure.

use std::collections::BTreeMap;

use jiff::Timestamp;
use roost_api::agent_install::QUERY_ERROR_PREFIX;
use roost_api::agent_install::condition::agent_classification::{QUERY_ERRORS, reason};
use roost_api::agent_install::names::label;
use roost_host::query::{Query, QueryError};
use roost_object::names::{is_label_value, is_qualified_name};
use serde_json::{Map, Value, json};

use crate::condition::{self, Condition, Truth};
use crate::object::is_deleting;

/// A classification as it says itself.
struct Classification<'a> {
    key: String,
    value: &'a str,
    query: &'a str,
    is_deleting: bool,
}

impl<'a> Classification<'a> {
    fn of(object: &'a Value) -> Self {
        let text = |name: &str| object["spec"][name].as_str().unwrap_or_default();
        Self {
            key: label_key(object),
            value: text("labelValue"),
            query: text("query"),
            is_deleting: is_deleting(object),
        }
    }

    fn error_value(&self) -> String {
        format!("{QUERY_ERROR_PREFIX}-{}", self.value)
    }

    fn is_ours(&self, value: &str) -> bool {
        value == self.value || value == self.error_value()
    }
}

/// The label that a classification gives.
pub(super) fn label_key(object: &Value) -> String {
    format!("{}{}", label::CLASSIFICATION_PREFIX, object["spec"]["labelKey"].as_str().unwrap_or_default())
}

/// Whether a host answers a classification's question with yes.
pub(super) fn answer(classification: &Value, agent: &Value) -> Result<bool, QueryError> {
    let query = Query::parse(classification["spec"]["query"].as_str().unwrap_or_default())?;
    query.is_match(&inventory(agent))
}

/// An inventory as upstream shows it to queries: what a host did not tell yet is empty, not absent.
fn inventory(agent: &Value) -> Value {
    let mut inventory = agent["status"]["inventory"].clone();
    if !inventory.is_object() {
        inventory = json!({});
    }
    for part in ["boot", "cpu", "memory", "systemVendor"] {
        if !inventory[part].is_object() {
            inventory[part] = json!({});
        }
    }
    inventory
}

/// What changes in an Agent's labels, as a merge; empty when nothing does. The order of classifications decides where two
/// give different values to one label.
pub(super) fn changes(agent: &Value, classifications: &[Value]) -> Map<String, Value> {
    let labels = agent["metadata"]["labels"].as_object();
    let live = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str);
    let inventory = inventory(agent);
    let mut wanted: BTreeMap<String, Option<String>> = BTreeMap::new();
    for classification in classifications.iter().map(Classification::of) {
        let now =
            wanted.get(&classification.key).cloned().unwrap_or_else(|| live(&classification.key).map(str::to_owned));
        let answer = Query::parse(classification.query).and_then(|query| query.is_match(&inventory));
        let next = match answer {
            Ok(true) if !classification.is_deleting => Some(classification.value.to_owned()),
            Err(_) if !classification.is_deleting => Some(classification.error_value()),
            _ => now.filter(|now| !classification.is_ours(now)),
        };
        wanted.insert(classification.key, next);
    }
    let is_changed = |(key, value): &(String, Option<String>)| live(key) != value.as_deref();
    wanted.into_iter().filter(is_changed).map(|(key, value)| (key, json!(value))).collect()
}

/// How many Agents have a classification's label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) matched: usize,
    pub(super) failed: usize,
}

/// Whether a label says that the question could not be asked.
pub(super) fn is_error(label: &str) -> bool {
    label.starts_with(QUERY_ERROR_PREFIX)
}

/// Counts the values of a classification's label.
pub(super) fn count<'a>(classification: &Value, labels: impl Iterator<Item = &'a str>) -> Counts {
    let Classification { value, .. } = Classification::of(classification);
    let mut counts = Counts::default();
    for label in labels {
        if label == value {
            counts.matched += 1;
        } else if is_error(label) {
            counts.failed += 1;
        }
    }
    counts
}

/// Why no Agent can get a classification's label, whatever its host is.
pub(super) fn problem(classification: &Value) -> Option<String> {
    let Classification { key, value, query, .. } = Classification::of(classification);
    if value.starts_with(QUERY_ERROR_PREFIX) {
        return Some(format!(
            "spec.labelValue must not start with {QUERY_ERROR_PREFIX}, which marks queries that failed"
        ));
    }
    let wrong = |field: &str, text: &str, problems: Vec<String>| {
        problems.first().map(|problem| format!("spec.{field}: {text:?}: {problem}"))
    };
    let marked = format!("{QUERY_ERROR_PREFIX}-{value}");
    wrong("labelKey", &key, is_qualified_name(&key))
        .or_else(|| wrong("labelValue", &marked, is_label_value(&marked)))
        .or_else(|| Query::parse(query).err().map(|error| format!("spec.query: {error}")))
}

/// The whole status to write. `example` says why one of the queries failed.
pub(super) fn status(classification: &Value, counts: Counts, example: Option<&str>, now: Timestamp) -> Value {
    let example = example.map(|example| format!(": {example}")).unwrap_or_default();
    let condition = if counts.failed > 0 {
        let message = format!("{} Agents failed to apply the classification{example}", counts.failed);
        Condition::new(QUERY_ERRORS, Truth::True, reason::HAS_QUERY_ERRORS, message)
    } else if example.is_empty() {
        let message = "No Agents failed to apply the classification";
        Condition::new(QUERY_ERRORS, Truth::False, reason::NO_QUERY_ERRORS, message)
    } else {
        let message = format!("The classification cannot be applied{example}");
        Condition::new(QUERY_ERRORS, Truth::True, reason::HAS_QUERY_ERRORS, message)
    };
    json!({
        "matchedCount": counts.matched, "errorCount": counts.failed,
        "conditions": condition::merge_plain(&classification["status"]["conditions"], now, &[condition]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classification(value: &str, query: &str) -> Value {
        json!({"spec": {"labelKey": "size", "labelValue": value, "query": query}})
    }

    fn agent(label: Option<&str>) -> Value {
        let labels =
            label.map_or(json!({}), |label| json!({"agentclassification.agent-install.openshift.io/size": label}));
        json!({"metadata": {"labels": labels}, "status": {"inventory": {"cpu": {"count": 8}}}})
    }

    #[test]
    fn a_label_follows_the_answer() {
        let key = "agentclassification.agent-install.openshift.io/size";
        let (yes, no) = (classification("large", ".cpu.count >= 8"), classification("large", ".cpu.count < 8"));
        let broken = classification("large", ".cpu.count.sockets == 2");
        let mut going = yes.clone();
        going["metadata"] = json!({"deletionTimestamp": "2026-01-01T00:00:00Z"});
        for (label, classification, wanted) in [
            (None, &yes, Some(json!("large"))),
            (Some("large"), &yes, None),
            (Some("QUERYERROR-large"), &yes, Some(json!("large"))),
            (None, &no, None),
            (Some("large"), &no, Some(Value::Null)),
            (Some("QUERYERROR-large"), &no, Some(Value::Null)),
            (Some("small"), &no, None),
            (None, &broken, Some(json!("QUERYERROR-large"))),
            (Some("large"), &going, Some(Value::Null)),
            (Some("small"), &going, None),
        ] {
            let changes = changes(&agent(label), std::slice::from_ref(classification));
            assert_eq!(changes.get(key), wanted.as_ref(), "{label:?} {classification}");
            assert_eq!(changes.len(), usize::from(wanted.is_some()));
        }
    }

    #[test]
    fn two_values_of_one_label_do_not_take_turns() {
        let both = [classification("large", ".cpu.count >= 4"), classification("small", ".cpu.count < 4")];
        let mut agent = agent(None);
        agent["metadata"]["labels"] = Value::Object(changes(&agent, &both));
        assert_eq!(
            agent["metadata"]["labels"],
            json!({"agentclassification.agent-install.openshift.io/size": "large"})
        );
        assert!(changes(&agent, &both).is_empty());
    }

    #[test]
    fn a_host_that_told_nothing_yet_is_asked_as_an_empty_one() {
        let unknown = json!({"metadata": {}});
        assert_eq!(
            answer(&classification("large", ".cpu.count == null and (.disks | length) == 0"), &unknown),
            Ok(true)
        );
    }

    #[test]
    fn counts_and_words_tell_how_it_went() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let classification = classification("large", ".cpu.count >= 8");
        let counts = count(&classification, ["large", "QUERYERROR-large", "small"].into_iter());
        assert_eq!(counts, Counts { matched: 1, failed: 1 });
        let shown = status(&classification, counts, Some("the host a: expected an object"), now);
        assert_eq!((&shown["matchedCount"], &shown["errorCount"]), (&json!(1), &json!(1)));
        let condition = &shown["conditions"][0];
        assert_eq!((&condition["status"], &condition["reason"]), (&json!("True"), &json!("HasQueryErrors")));
        assert_eq!(condition["message"], "1 Agents failed to apply the classification: the host a: expected an object");
        let good = status(&classification, Counts::default(), None, now);
        assert_eq!(good["conditions"][0]["reason"], "NoQueryErrors");
    }

    #[test]
    fn a_classification_that_cannot_be_says_why() {
        assert_eq!(problem(&classification("large", ".cpu.count >= 8")), None);
        for (value, query, word) in [
            ("QUERYERROR-x", "true", "QUERYERROR"),
            ("large", ".cpu.count = 8", "spec.query"),
            ("very large", "true", "very large"),
        ] {
            let found = problem(&classification(value, query));
            assert!(found.as_ref().is_some_and(|found| found.contains(word)), "{found:?}");
        }
    }
}
