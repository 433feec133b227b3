//! Whether a write fits its namespace's quotas, and what is used once it is made.

use roost_object::Value;

use super::scope::is_terminating;
use super::{DeviceClasses, Evaluator, Quota, claim, mask, pod, without_zeros};
use crate::amounts::{self, Amounts};

/// A write that quotas may count.
pub struct Request<'a> {
    /// How its kind is measured.
    pub evaluator: &'a Evaluator,
    /// The subresource through which the write comes.
    pub subresource: &'a str,
    /// The object as it will be.
    pub object: &'a Value,
    /// The object as it is, for an update.
    pub old: Option<&'a Value>,
    /// The time, in seconds since 1970.
    pub now: i64,
    /// What is known about device classes.
    pub devices: &'a dyn DeviceClasses,
}

/// Why a write is refused, in stock's words.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

/// What a quota's `status.used` becomes, by the quota's place in the list.
pub type Charges = Vec<(usize, Value)>;

impl Request<'_> {
    /// Whether the write can change what is used at all.
    pub fn counts(&self) -> bool {
        let creates = self.old.is_none();
        match (self.evaluator, self.subresource) {
            (Evaluator::Pods, "") => self.old.is_none_or(|old| is_terminating(old) != is_terminating(self.object)),
            (Evaluator::Pods, "resize") => !creates,
            (Evaluator::Services | Evaluator::VolumeClaims | Evaluator::DeviceClaims, "") => true,
            (Evaluator::VolumeClaims, "status") => self.old.is_some_and(|old| claim::status_counts(self.object, old)),
            (Evaluator::Count { .. }, "") => creates,
            _ => false,
        }
    }
}

/// Checks a write against all quotas of its namespace.
pub fn check(quotas: &[Quota], request: &Request<'_>) -> Result<Charges, Refusal> {
    if !request.counts() {
        return Ok(Charges::new());
    }
    let Request { evaluator, object, now, devices, .. } = *request;
    let mut concerned = Vec::new();
    for (index, quota) in quotas.iter().enumerate() {
        let names = evaluator.matching(quota, object, devices);
        if names.is_empty() {
            continue;
        }
        if let (Evaluator::Pods, Some(why)) = (evaluator, pod::constraint(object, &names)) {
            return Err(Refusal(format!("failed quota: {}: {why}", quota.name)));
        }
        if names.iter().any(|name| !quota.used.contains_key(*name)) {
            let why = format!("status unknown for quota: {}, resources: {}", quota.name, names.join(","));
            return Err(Refusal(why));
        }
        concerned.push(index);
    }
    if concerned.is_empty() {
        return Ok(Charges::new());
    }
    let usage = evaluator.usage(object, now, devices);
    let negative: Vec<&str> =
        usage.iter().filter(|(_, amount)| amount.is_negative()).map(|(name, _)| name.as_str()).collect();
    if !negative.is_empty() {
        return Err(Refusal(format!("quota usage is negative for resource(s): {}", negative.join(","))));
    }
    let difference =
        request.old.map(|old| (old, amounts::subtract_to_zero(&usage, &evaluator.usage(old, now, devices))));
    let mut charges = Charges::new();
    for index in concerned {
        let quota = &quotas[index];
        let added = match &difference {
            Some((old, difference)) if !evaluator.matching(quota, old, devices).is_empty() => difference,
            _ => &usage,
        };
        if let Some(used) = charge(quota, added, request.subresource)? {
            charges.push((index, amounts::write(&used)));
        }
    }
    Ok(charges)
}

/// What is used of a quota with so much more; none when nothing changes.
fn charge(quota: &Quota, added: &Amounts, subresource: &str) -> Result<Option<Amounts>, Refusal> {
    let limited: Vec<&str> = quota.hard.keys().map(String::as_str).collect();
    let requested = mask(&without_zeros(added.clone()), &limited);
    if requested.is_empty() {
        return Ok(None);
    }
    let mut used = quota.used.clone();
    amounts::add(&mut used, &requested);
    let exceeded: Vec<&str> = requested
        .keys()
        .map(String::as_str)
        .filter(|name| used.get(*name).zip(quota.hard.get(*name)).is_some_and(|(used, hard)| used > hard))
        .collect();
    if exceeded.is_empty() || subresource == "status" {
        return Ok(Some(used));
    }
    Err(Refusal(format!(
        "exceeded quota: {}, requested: {}, used: {}, limited: {}",
        quota.name,
        amounts::words(&mask(&requested, &exceeded)),
        amounts::words(&mask(&quota.used, &exceeded)),
        amounts::words(&mask(&quota.hard, &exceeded)),
    )))
}

#[cfg(test)]
mod tests {
    use super::super::NoDevices;
    use super::*;
    use serde_json::json;

    fn quota(hard: &Value, used: &Value, spec: &Value) -> Quota {
        Quota::read(&json!({"metadata": {"name": "q"}, "spec": spec, "status": {"hard": hard, "used": used}}))
    }

    fn create(evaluator: &Evaluator, quotas: &[Quota], object: &Value) -> Result<Charges, Refusal> {
        let request = Request { evaluator, subresource: "", object, old: None, now: 0, devices: &NoDevices };
        check(quotas, &request)
    }

    fn pod(resources: &Value) -> Value {
        json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "resources": resources}]}})
    }

    fn refusal(words: &str) -> Result<Charges, Refusal> {
        Err(Refusal(words.to_owned()))
    }

    #[test]
    fn objects_are_counted_until_the_limit() {
        let maps = Evaluator::of("", "configmaps").unwrap();
        let full = quota(&json!({"configmaps": "2"}), &json!({"configmaps": "2"}), &json!({}));
        let words = "exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2";
        assert_eq!(create(&maps, &[full], &json!({})), refusal(words));
        let free = quota(&json!({"count/configmaps": "2"}), &json!({"count/configmaps": "1"}), &json!({}));
        assert_eq!(create(&maps, &[free], &json!({})), Ok(vec![(0, json!({"count/configmaps": "2"}))]));
        let unknown = quota(&json!({"configmaps": "2"}), &json!({}), &json!({}));
        assert_eq!(
            create(&maps, &[unknown], &json!({})),
            refusal("status unknown for quota: q, resources: configmaps")
        );
        let other = quota(&json!({"secrets": "0"}), &json!({"secrets": "0"}), &json!({}));
        assert_eq!(create(&maps, &[other], &json!({})), Ok(Vec::new()));
        assert_eq!(Evaluator::of("", "events"), None);
    }

    #[test]
    fn pods_are_counted_by_what_they_ask_for() {
        let hard = json!({"requests.cpu": "1", "limits.memory": "1Gi", "pods": "9"});
        let used = json!({"requests.cpu": "600m", "limits.memory": "0", "pods": "1"});
        let quotas = [quota(&hard, &used, &json!({}))];
        let asking = |cpu: &str| pod(&json!({"requests": {"cpu": cpu}, "limits": {"memory": "1Gi"}}));
        let missing = "failed quota: q: must specify limits.memory for: c; requests.cpu for: c";
        assert_eq!(create(&Evaluator::Pods, &quotas, &pod(&json!({}))), refusal(missing));
        let words = "exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=600m, limited: requests.cpu=1";
        assert_eq!(create(&Evaluator::Pods, &quotas, &asking("500m")), refusal(words));
        let charged = json!({"requests.cpu": "1", "limits.memory": "1Gi", "pods": "2"});
        assert_eq!(create(&Evaluator::Pods, &quotas, &asking("400m")), Ok(vec![(0, charged)]));
    }

    #[test]
    fn scopes_select_pods() {
        let scoped = |spec: Value| [quota(&json!({"pods": "0"}), &json!({"pods": "0"}), &spec)];
        let selector = |operator: &str, values: Value| json!({"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": operator, "values": values}]}});
        let mut important = pod(&json!({}));
        important["spec"]["priorityClassName"] = "high".into();
        let mut ending = pod(&json!({}));
        ending["spec"]["activeDeadlineSeconds"] = 5.into();
        let mut far = pod(&json!({}));
        far["spec"]["affinity"] =
            json!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"namespaceSelector": {}}]}});
        let cases = [
            (json!({"scopes": ["BestEffort"]}), pod(&json!({})), true),
            (json!({"scopes": ["NotBestEffort"]}), pod(&json!({})), false),
            (json!({"scopes": ["NotBestEffort"]}), pod(&json!({"requests": {"cpu": "1"}})), true),
            (json!({"scopes": ["Terminating"]}), pod(&json!({})), false),
            (json!({"scopes": ["Terminating"]}), ending, true),
            (json!({"scopes": ["PriorityClass"]}), pod(&json!({})), false),
            (json!({"scopes": ["PriorityClass"]}), important.clone(), true),
            (selector("In", json!(["high"])), important.clone(), true),
            (selector("NotIn", json!(["high"])), important.clone(), false),
            (selector("NotIn", json!(["high"])), pod(&json!({})), true),
            (selector("DoesNotExist", json!([])), important, false),
            (json!({"scopes": ["CrossNamespacePodAffinity"]}), pod(&json!({})), false),
            (json!({"scopes": ["CrossNamespacePodAffinity"]}), far, true),
        ];
        for (spec, pod, counted) in cases {
            assert_eq!(create(&Evaluator::Pods, &scoped(spec.clone()), &pod).is_err(), counted, "{spec} {pod}");
        }
    }

    #[test]
    fn updates_are_charged_with_the_difference() {
        let quotas = [quota(&json!({"services.nodeports": "2"}), &json!({"services.nodeports": "1"}), &json!({}))];
        let service = |kind: &str, ports: usize| json!({"spec": {"type": kind, "ports": vec![json!({}); ports]}});
        let change = |old: &Value, new: &Value| {
            let evaluator = &Evaluator::Services;
            let request =
                Request { evaluator, subresource: "", object: new, old: Some(old), now: 0, devices: &NoDevices };
            check(&quotas, &request)
        };
        assert_eq!(change(&service("NodePort", 1), &service("NodePort", 1)), Ok(Vec::new()));
        let grown = change(&service("NodePort", 1), &service("NodePort", 2));
        assert_eq!(grown, Ok(vec![(0, json!({"services.nodeports": "2"}))]));
        let words = "exceeded quota: q, requested: services.nodeports=3, used: services.nodeports=1, limited: services.nodeports=2";
        assert_eq!(change(&service("ClusterIP", 3), &service("LoadBalancer", 3)), refusal(words));
    }

    #[test]
    fn claims_count_by_class_in_whole_bytes() {
        let name = "gold.storageclass.storage.k8s.io/requests.storage";
        let quotas = [quota(&json!({name: "1Gi"}), &json!({name: "0"}), &json!({}))];
        let claim = |class: &str, size: &str| json!({"spec": {"storageClassName": class, "resources": {"requests": {"storage": size}}}});
        assert_eq!(create(&Evaluator::VolumeClaims, &quotas, &claim("iron", "9Gi")), Ok(Vec::new()));
        let charged = create(&Evaluator::VolumeClaims, &quotas, &claim("gold", "1Gi"));
        assert_eq!(charged, Ok(vec![(0, json!({name: "1Gi"}))]));
        assert!(create(&Evaluator::VolumeClaims, &quotas, &claim("gold", "2Gi")).is_err());
    }

    #[test]
    fn devices_count_by_class() {
        let quotas = [quota(
            &json!({"gpu.deviceclass.resource.k8s.io/devices": "3"}),
            &json!({"gpu.deviceclass.resource.k8s.io/devices": "0"}),
            &json!({}),
        )];
        let exact = |number: i64| json!({"exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": number}});
        let claim = |requests: Value| json!({"spec": {"devices": {"requests": requests}}});
        assert!(create(&Evaluator::DeviceClaims, &quotas, &claim(json!([exact(1), exact(2)]))).is_ok());
        assert!(create(&Evaluator::DeviceClaims, &quotas, &claim(json!([exact(2), exact(2)]))).is_err());
        let all = json!([{"exactly": {"deviceClassName": "gpu", "allocationMode": "All"}}]);
        assert!(create(&Evaluator::DeviceClaims, &quotas, &claim(all)).is_err());
    }
}
