//! From what pods use to how many there should be, one metric at a time.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::{SignedDuration, Timestamp};
use roost_object::Quantity;
use roost_object::quantity::Format;
use serde_json::{Value, json};

use super::{PodUsage, Surroundings, WINDOW};
use crate::{Pod, value};

/// How far usage may be from its target before anything is done, unless something else is said.
const TOLERANCE: f64 = 0.1;
/// How long after its start a pod's usage may be that of its beginning.
const INITIALIZATION: SignedDuration = SignedDuration::from_mins(5);
/// A pod that became unready within this time after its start never was ready.
const FIRST_READINESS: SignedDuration = SignedDuration::from_secs(30);

/// How far usage may be from its target, below and above.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tolerance {
    down: f64,
    up: f64,
}

impl Tolerance {
    pub(super) fn of(behavior: &Value) -> Tolerance {
        let read = |direction: &str| {
            let given = behavior.get(direction).and_then(|rules| rules.get("tolerance")).filter(|one| !one.is_null());
            let quantity = given.and_then(|given| Quantity::from_value(given).ok());
            quantity.map_or(TOLERANCE, |quantity| quantity.milli_value() as f64 / 1000.0)
        };
        Tolerance { down: read("scaleDown"), up: read("scaleUp") }
    }

    fn covers(self, ratio: f64) -> bool {
        1.0 - self.down <= ratio && ratio <= 1.0 + self.up
    }
}

/// What a metric says.
pub(super) struct Measured {
    pub(super) replicas: i64,
    pub(super) name: String,
    pub(super) status: Value,
}

/// Why a metric says nothing.
pub(super) struct Failure {
    pub(super) reason: &'static str,
    pub(super) why: String,
    prefix: String,
}

impl Failure {
    /// The whole error.
    pub(super) fn error(&self) -> String {
        format!("{}{}", self.prefix, self.why)
    }
}

/// Asks one metric.
pub(super) fn measure(
    metric: &Value,
    current: i64,
    surroundings: &Surroundings,
    tolerance: Tolerance,
    now: Timestamp,
) -> Result<Measured, Failure> {
    let kind = value::text(metric, &["type"]);
    let (field, reason) = match kind {
        "Resource" => ("resource", "FailedGetResourceMetric"),
        "ContainerResource" => ("containerResource", "FailedGetContainerResourceMetric"),
        _ => return Err(foreign(metric, kind)),
    };
    let source = &metric[field];
    let (resource, container) = (value::text(source, &["name"]), value::text(source, &["container"]));
    let prefix = match container {
        "" => format!("failed to get {resource} resource metric value: "),
        container => format!("failed to get {container} container metric value: "),
    };
    let question = Question { resource, container, current, surroundings, tolerance, now };
    let failed = |why: String| Failure { reason, why, prefix: prefix.clone() };
    let target = &source["target"];
    let (replicas, name, now_used) = if let Some(wanted) = target.get("averageValue").filter(|one| !one.is_null()) {
        let wanted = Quantity::from_value(wanted).map(|wanted| wanted.milli_value()).unwrap_or_default();
        let (replicas, used) =
            question.by_amount(wanted).map_err(|why| failed(format!("failed to get {resource} usage: {why}")))?;
        (replicas, format!("{resource} resource"), json!({"averageValue": quantity(resource, used)}))
    } else if let Some(wanted) = target["averageUtilization"].as_i64() {
        let failed = |why| failed(format!("failed to get {resource} utilization: {why}"));
        let (replicas, share, used) = question.by_share(wanted).map_err(failed)?;
        let what = if container.is_empty() { "resource" } else { "container resource" };
        let name = format!("{resource} {what} utilization (percentage of request)");
        (replicas, name, json!({"averageUtilization": share, "averageValue": quantity(resource, used)}))
    } else {
        return Err(failed("invalid resource metric source: neither an average utilization target nor an average value (usage) target was set".to_owned()));
    };
    let mut status = json!({"name": resource, "current": now_used});
    if !container.is_empty() {
        status["container"] = container.into();
    }
    let mut whole = json!({"type": kind});
    whole[field] = status;
    Ok(Measured { replicas, name, status: whole })
}

/// Metrics that only other servers have, of which there are none here.
fn foreign(metric: &Value, kind: &str) -> Failure {
    let (field, reason) = match kind {
        "Pods" => ("pods", "FailedGetPodsMetric"),
        "Object" => ("object", "FailedGetObjectMetric"),
        _ => ("external", "FailedGetExternalMetric"),
    };
    let name = value::text(&metric[field], &["metric", "name"]);
    let why = match kind {
        "External" => {
            format!(
                "unable to get external metric {name}: unable to fetch metrics from external metrics API: the server could not find the requested resource"
            )
        }
        _ => format!(
            "unable to get metric {name}: unable to fetch metrics from custom metrics API: no known available metric versions found"
        ),
    };
    let prefix = match kind {
        "External" => format!("failed to get {name} external metric value: "),
        _ => format!("failed to get {field} metric value: "),
    };
    Failure { reason, why, prefix }
}

fn quantity(resource: &str, milli: i64) -> String {
    if resource == "memory" && milli % 1000 == 0 {
        return Quantity::new(milli / 1000, Format::BinarySi).to_string();
    }
    if milli % 1000 == 0 { (milli / 1000).to_string() } else { format!("{milli}m") }
}

struct Question<'a> {
    resource: &'a str,
    container: &'a str,
    current: i64,
    surroundings: &'a Surroundings,
    tolerance: Tolerance,
    now: Timestamp,
}

/// Pods by what their usage is worth.
struct Sorted<'a> {
    /// What pods use that count, in thousandths.
    used: BTreeMap<&'a str, i64>,
    ready: usize,
    unready: BTreeSet<&'a str>,
    missing: BTreeSet<&'a str>,
}

impl<'a> Question<'a> {
    /// Towards a share of what the pods asked for, in percent.
    fn by_share(&self, wanted: i64) -> Result<(i64, i64, i64), String> {
        let mut sorted = self.sort()?;
        let requests = self.requests()?;
        let (ratio, share, average) = share_of(&sorted.used, &requests, wanted)?;
        let grows_with_unready = !sorted.unready.is_empty() && ratio > 1.0;
        if !grows_with_unready && sorted.missing.is_empty() {
            let replicas = if self.tolerance.covers(ratio) { self.current } else { ceil(ratio, sorted.ready) };
            return Ok((replicas, share, average));
        }
        let assumed = |name: &str| match ratio {
            ratio if ratio < 1.0 => Some(requests.get(name).copied().unwrap_or_default() * wanted.max(100) / 100),
            ratio if ratio > 1.0 => Some(0),
            _ => None,
        };
        sorted.assume(assumed, grows_with_unready);
        let (again, ..) = share_of(&sorted.used, &requests, wanted)?;
        Ok((self.settle(ratio, again, sorted.used.len()), share, average))
    }

    /// Towards an amount for each pod.
    fn by_amount(&self, wanted: i64) -> Result<(i64, i64), String> {
        let mut sorted = self.sort()?;
        let (ratio, average) = ratio_of(&sorted.used, wanted);
        let grows_with_unready = !sorted.unready.is_empty() && ratio > 1.0;
        if !grows_with_unready && sorted.missing.is_empty() {
            let replicas = if self.tolerance.covers(ratio) { self.current } else { ceil(ratio, sorted.ready) };
            return Ok((replicas, average));
        }
        let assumed = |_: &str| match ratio {
            ratio if ratio < 1.0 => Some(wanted),
            ratio if ratio > 1.0 => Some(0),
            _ => None,
        };
        sorted.assume(assumed, grows_with_unready);
        let (again, _) = ratio_of(&sorted.used, wanted);
        Ok((self.settle(ratio, again, sorted.used.len()), average))
    }

    /// The number by what was assumed of those that nothing is known of: never the other way than by what is known.
    fn settle(&self, ratio: f64, again: f64, count: usize) -> i64 {
        let turned = (ratio < 1.0 && again > 1.0) || (ratio > 1.0 && again < 1.0);
        if self.tolerance.covers(again) || turned {
            return self.current;
        }
        let replicas = ceil(again, count);
        let turned = (again < 1.0 && replicas > self.current) || (again > 1.0 && replicas < self.current);
        if turned { self.current } else { replicas }
    }

    fn sort(&self) -> Result<Sorted<'a>, String> {
        let (pods, usage) = (&self.surroundings.pods, &self.surroundings.usage);
        let unable = |why: &str| format!("unable to get metrics for resource {}: {why}", self.resource);
        if usage.is_empty() {
            return Err(unable("no metrics returned from resource metrics API"));
        }
        if pods.is_empty() {
            return Err("no pods returned by selector while calculating replica count".to_owned());
        }
        let mut sorted = Sorted { used: BTreeMap::new(), ready: 0, unready: BTreeSet::new(), missing: BTreeSet::new() };
        for pod in pods {
            let name = pod.metadata.name.as_str();
            if pod.metadata.is_going() || pod.status.phase == "Failed" {
                continue;
            }
            if pod.status.phase == "Pending" {
                sorted.unready.insert(name);
                continue;
            }
            let Some((time, used)) = self.used(usage, name) else {
                sorted.missing.insert(name);
                continue;
            };
            if self.resource == "cpu" && self.is_unready(pod, time) {
                sorted.unready.insert(name);
                continue;
            }
            sorted.ready += 1;
            sorted.used.insert(name, used);
        }
        if sorted.used.is_empty() {
            return Err("did not receive metrics for targeted pods (pods might be unready)".to_owned());
        }
        Ok(sorted)
    }

    fn used(&self, usage: &HashMap<String, PodUsage>, name: &str) -> Option<(Timestamp, i64)> {
        let pod = usage.get(name)?;
        let mut total = 0;
        let mut found = false;
        for container in &pod.containers {
            if self.container.is_empty() || self.container == container.name {
                found = true;
                total += match self.resource {
                    "cpu" => i64::try_from(container.nano_cores.div_ceil(1_000_000)).unwrap_or(i64::MAX),
                    "memory" => i64::try_from(container.memory_bytes).unwrap_or(i64::MAX).saturating_mul(1000),
                    _ => return None,
                };
            }
        }
        found.then_some((pod.time, total))
    }

    /// Whether what a pod uses says nothing yet about what it will use.
    fn is_unready(&self, pod: &Pod, time: Timestamp) -> bool {
        let (Some(condition), Some(start)) = (pod.status.condition("Ready"), pod.status.start_time) else {
            return true;
        };
        let since = condition.last_transition_time.unwrap_or(Timestamp::UNIX_EPOCH);
        if start + INITIALIZATION > self.now {
            condition.status == "False" || time < since + WINDOW
        } else {
            condition.status == "False" && start + FIRST_READINESS > since
        }
    }

    /// What each pod asked for, in thousandths.
    fn requests(&self) -> Result<HashMap<&'a str, i64>, String> {
        let mut requests = HashMap::new();
        for pod in &self.surroundings.pods {
            requests.insert(pod.metadata.name.as_str(), self.request(pod)?);
        }
        Ok(requests)
    }

    fn request(&self, pod: &Pod) -> Result<i64, String> {
        let (resource, name) = (self.resource, &pod.metadata.name);
        let amount = |value: &Value| Quantity::from_value(value).map(|amount| amount.milli_value()).unwrap_or_default();
        let whole = pod.spec.resources.as_ref().map(|whole| &whole.requests).filter(|whole| !whole.is_empty());
        if let Some(whole) = whole.filter(|_| self.container.is_empty()) {
            let own = whole.get(resource).map(amount);
            return own.ok_or_else(|| format!("missing pod-level request for {resource} in Pod {name}"));
        }
        let beside = pod.spec.init_containers.iter().filter(|container| container.restart_policy == "Always");
        let mut total = 0;
        for container in pod.spec.containers.iter().chain(beside) {
            if self.container.is_empty() || self.container == container.name {
                let own = container.resources.requests.get(resource).map(amount);
                total += own.ok_or_else(|| {
                    format!("missing request for {resource} in container {} of Pod {name}", container.name)
                })?;
                if self.container == container.name {
                    return Ok(total);
                }
            }
        }
        if self.container.is_empty() {
            Ok(total)
        } else {
            Err(format!("container {} not found in Pod {name}", self.container))
        }
    }
}

impl Sorted<'_> {
    fn assume(&mut self, missing: impl Fn(&str) -> Option<i64>, unready_use_nothing: bool) {
        for name in &self.missing {
            if let Some(used) = missing(name) {
                self.used.insert(name, used);
            }
        }
        if unready_use_nothing {
            self.used.extend(self.unready.iter().map(|name| (*name, 0)));
        }
    }
}

fn ceil(ratio: f64, count: usize) -> i64 {
    (ratio * count as f64).ceil().min(f64::from(i32::MAX)) as i64
}

/// Usage over its target, the share of requests that is used in percent, and the average use.
fn share_of(used: &BTreeMap<&str, i64>, requests: &HashMap<&str, i64>, wanted: i64) -> Result<(f64, i64, i64), String> {
    let known = || used.iter().filter_map(|(name, used)| Some((*used, *requests.get(name)?)));
    let (total, requested) = known().fold((0_i64, 0_i64), |sum, (used, request)| (sum.0 + used, sum.1 + request));
    if requested == 0 {
        return Err("no metrics returned matched known pods".to_owned());
    }
    let share = total * 100 / requested;
    Ok((share as f64 / wanted as f64, share, total / known().count() as i64))
}

fn ratio_of(used: &BTreeMap<&str, i64>, wanted: i64) -> (f64, i64) {
    let average = used.values().sum::<i64>() / used.len() as i64;
    (average as f64 / wanted as f64, average)
}
