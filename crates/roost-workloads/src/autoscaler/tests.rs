//! What stock's own tests expect of the same numbers.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{ContainerUsage, Memory, PodUsage, Scale, Surroundings, plan};
use crate::{Action, Pod, condition};

fn now() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().expect("a time")
}

/// How a pod is: ready for long, started a moment ago, never ready, ended badly, going, or without a report.
#[derive(Clone, Copy, PartialEq)]
enum Is {
    Ready,
    Hot,
    Unready,
    Failed,
    Going,
    Silent,
}

fn surroundings(pods: &[(u64, i64, Is)]) -> Surroundings {
    let mut all = Surroundings { claimants: vec!["n/a".to_owned()], ..Surroundings::default() };
    for (number, (used, request, is)) in pods.iter().enumerate() {
        let name = format!("p{number}");
        let (start, since) = match is {
            Is::Hot => ("2026-01-01T11:59:40Z", "2026-01-01T11:59:58Z"),
            Is::Unready => ("2026-01-01T10:00:00Z", "2026-01-01T10:00:00Z"),
            _ => ("2026-01-01T10:00:00Z", "2026-01-01T10:01:00Z"),
        };
        let mut pod = json!({"metadata": {"name": name, "namespace": "n"},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": format!("{request}m")}}}]},
            "status": {"phase": if *is == Is::Failed { "Failed" } else { "Running" }, "startTime": start, "conditions":
                [{"type": "Ready", "status": if *is == Is::Unready { "False" } else { "True" }, "lastTransitionTime": since}]}});
        if *is == Is::Going {
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T11:59:59Z".into();
        }
        all.pods.push(Arc::new(serde_json::from_value::<Pod>(pod).expect("a pod")));
        if *is != Is::Silent {
            let container = ContainerUsage { name: "c".into(), nano_cores: used * 1_000_000, memory_bytes: 1 << 20 };
            all.usage.insert(name, PodUsage { time: now(), containers: vec![container] });
        }
    }
    all
}

fn autoscaler(least: i64, most: i64, target: i64) -> Value {
    json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a", "namespace": "n"}, "spec": {"minReplicas": least, "maxReplicas": most,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": target}}}]}})
}

/// A memory in which nothing was proposed that holds anything back.
fn open_memory() -> Memory {
    let mut memory = Memory::default();
    memory.begin(0, now());
    memory
}

fn size(least: i64, most: i64, current: i64, target: i64, pods: &[(u64, i64, Is)]) -> (i64, String) {
    let scale = Scale { replicas: current, selector: "app=a".into() };
    let mut memory = open_memory();
    let plan = plan(&autoscaler(least, most, target), &scale, &surroundings(pods), &mut memory, now());
    let replicas = plan.rescale.as_ref().map_or(current, |(replicas, _)| *replicas);
    let actions = plan.succeeded(&mut memory, now());
    let Some(Action::UpdateStatus(next)) = actions.last() else { panic!("a status: {actions:?}") };
    let limited = condition::find(next, "ScalingLimited").map(|found| found["reason"].as_str().unwrap_or_default());
    (replicas, limited.unwrap_or_default().to_owned())
}

#[test]
fn replicas_follow_what_is_used_as_in_stock() {
    use Is::{Failed, Going, Hot, Ready, Silent, Unready};
    let at = |used: &[u64], is: &[Is]| -> Vec<(u64, i64, Is)> {
        is.iter().enumerate().map(|(number, is)| (used.get(number).copied().unwrap_or(0), 1000, *is)).collect()
    };
    let varied = |used: [u64; 3]| vec![(used[0], 900, Ready), (used[1], 1000, Ready), (used[2], 1100, Ready)];
    let small = vec![(100, 100, Ready), (200, 100, Ready), (300, 100, Ready)];
    let five = [100, 300, 500, 250, 250];
    let within = "DesiredWithinRange";
    for (name, bounds, pods, wanted, limited) in [
        ("up", (2, 6, 3, 30), at(&[300, 500, 700], &[Ready; 3]), 5, within),
        ("less with an unready one", (2, 6, 3, 30), at(&[300, 500, 700], &[Unready, Ready, Ready]), 4, within),
        ("less with a hot one", (2, 6, 3, 30), at(&[300, 500, 700], &[Hot, Ready, Ready]), 4, within),
        ("not with two unready", (2, 6, 3, 30), at(&[400, 500, 700], &[Ready, Unready, Unready]), 3, within),
        ("not with two hot", (2, 6, 3, 30), at(&[400, 500, 700], &[Ready, Hot, Hot]), 3, within),
        ("failed do not count", (2, 6, 2, 30), at(&[500, 700], &[Ready, Ready, Failed, Failed]), 4, within),
        ("going do not count", (2, 6, 2, 30), at(&[500, 700], &[Ready, Ready, Going, Going]), 4, within),
        ("down", (2, 6, 5, 50), at(&five, &[Ready; 5]), 3, within),
        ("down with unready", (2, 6, 5, 50), at(&five, &[Ready, Ready, Ready, Unready, Unready]), 2, within),
        ("down with hot", (2, 6, 5, 50), at(&five, &[Ready, Ready, Ready, Hot, Hot]), 2, within),
        ("too little to matter", (1, 5, 3, 100), varied([1010, 1030, 1020]), 3, within),
        ("not below the least", (2, 5, 3, 90), varied([10, 95, 10]), 2, "TooFewReplicas"),
        ("not above the most", (2, 5, 3, 90), varied([8000, 9500, 1000]), 5, "TooManyReplicas"),
        (
            "missing ones use all on the way down",
            (2, 6, 4, 100),
            at(&[400, 95], &[Ready, Ready, Silent, Silent]),
            3,
            within,
        ),
        ("not more than twice at once", (1, 100, 3, 10), small.clone(), 6, "ScaleUpLimit"),
    ] {
        let (least, most, current, target) = bounds;
        assert_eq!(size(least, most, current, target, &pods), (wanted, limited.to_owned()), "{name}");
    }
}

#[test]
fn what_was_proposed_holds_for_a_while() {
    let (autoscaler, scale) = (autoscaler(1, 9, 50), Scale { replicas: 5, selector: "app=a".into() });
    let around = surroundings(&[(100, 1000, Is::Ready); 5]);
    let mut memory = Memory::default();
    let held = plan(&autoscaler, &scale, &around, &mut memory, now());
    assert_eq!(held.rescale, None);
    let Some(Action::UpdateStatus(next)) = held.succeeded(&mut memory, now()).pop() else { panic!("a status") };
    assert_eq!(condition::find(&next, "AbleToScale").expect("a condition")["reason"], "ScaleDownStabilized");
    assert_eq!(next["status"]["currentMetrics"][0]["resource"]["current"]["averageUtilization"], 10);
    let later = now() + jiff::SignedDuration::from_secs(301);
    let mut around = around;
    around.usage.values_mut().for_each(|usage| usage.time = later);
    assert_eq!(
        plan(&autoscaler, &scale, &around, &mut memory, later).rescale,
        Some((1, "All metrics below target".into()))
    );
}

#[test]
fn policies_bound_the_rate() {
    let rules = |policies: Value, select: &str| json!({"policies": policies, "selectPolicy": select, "stabilizationWindowSeconds": 0});
    let percent = |value: i64| json!({"type": "Percent", "value": value, "periodSeconds": 60});
    let pods = |value: i64| json!({"type": "Pods", "value": value, "periodSeconds": 60});
    for (used, behavior, wanted) in [
        (900, rules(json!([percent(100), pods(4)]), "Max"), 9),
        (900, rules(json!([percent(100), pods(4)]), "Min"), 9),
        (900, rules(json!([percent(10), pods(1)]), "Max"), 6),
        (900, rules(json!([pods(4)]), "Disabled"), 5),
        (0, rules(json!([pods(2)]), "Max"), 3),
        (0, rules(json!([percent(20), pods(2)]), "Min"), 4),
        (0, rules(json!([percent(20), pods(2)]), "Disabled"), 5),
    ] {
        let mut autoscaler = autoscaler(1, 20, 50);
        autoscaler["spec"]["behavior"] = json!({"scaleUp": behavior, "scaleDown": behavior});
        let scale = Scale { replicas: 5, selector: "app=a".into() };
        let mut memory = Memory::default();
        let around = surroundings(&[(used, 1000, Is::Ready); 5]);
        let first = plan(&autoscaler, &scale, &around, &mut memory, now());
        let size = first.rescale.as_ref().map_or(5, |(size, _)| *size);
        assert_eq!(size, wanted, "{behavior}");
        first.succeeded(&mut memory, now());
        // What was done in a policy's period counts against it.
        let scale = Scale { replicas: size, ..scale };
        let soon = now() + jiff::SignedDuration::from_secs(15);
        let next = plan(&autoscaler, &scale, &around, &mut memory, soon);
        if behavior["selectPolicy"] == "Min" || size == 5 || size == 3 {
            assert_eq!(next.rescale, None, "{behavior}");
        }
    }
}

#[test]
fn what_cannot_be_measured_is_said() {
    let scale = Scale { replicas: 2, selector: "app=a".into() };
    let reason = |autoscaler: &Value, scale: &Scale, around: &Surroundings| {
        let mut memory = Memory::default();
        let actions = plan(autoscaler, scale, around, &mut memory, now()).succeeded(&mut memory, now());
        let Some(Action::UpdateStatus(next)) = actions.last() else { panic!("a status") };
        let found = condition::find(next, "ScalingActive").cloned().unwrap_or_default();
        (
            found["reason"].as_str().unwrap_or_default().to_owned(),
            found["message"].as_str().unwrap_or_default().to_owned(),
        )
    };
    let plain = autoscaler(1, 5, 50);
    let none = Surroundings { usage: HashMap::new(), ..surroundings(&[(1, 1, Is::Ready)]) };
    let (found, message) = reason(&plain, &scale, &none);
    assert_eq!(found, "FailedGetResourceMetric");
    assert_eq!(
        message,
        "the HPA was unable to compute the replica count: failed to get cpu utilization: unable to get metrics for resource cpu: no metrics returned from resource metrics API"
    );
    let mut unasked = surroundings(&[(1, 1, Is::Ready)]);
    let mut pod = (*unasked.pods[0]).clone();
    pod.spec.containers[0].resources.requests.clear();
    unasked.pods[0] = Arc::new(pod);
    assert!(reason(&plain, &scale, &unasked).1.ends_with("missing request for cpu in container c of Pod p0"));
    let mut twice = surroundings(&[(1, 1, Is::Ready)]);
    twice.claimants.push("n/b".into());
    assert_eq!(reason(&plain, &scale, &twice).0, "AmbiguousSelector");
    assert_eq!(reason(&plain, &Scale { selector: String::new(), ..scale.clone() }, &twice).0, "InvalidSelector");
    assert_eq!(reason(&plain, &Scale { replicas: 0, ..scale }, &twice).0, "ScalingDisabled");
}
