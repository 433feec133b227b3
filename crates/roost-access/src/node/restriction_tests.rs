//! What kubelets may write, case by case.

use std::collections::HashMap;

use roost_pki::{PrivateKey, Subject};
use serde_json::json;

use super::*;
use crate::attributes::Attributes;
use crate::authorizer::{Decision, Reason};
use crate::user::NODES;

struct Objects(HashMap<&'static str, Value>);

impl Objects {
    fn get(&self, key: &str) -> Option<Arc<Value>> {
        self.0.get(key).cloned().map(Arc::new)
    }
}

impl NodeObjects for Objects {
    fn pod(&self, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.get(&format!("pod {namespace}/{name}"))
    }
    fn node(&self, name: &str) -> Option<Arc<Value>> {
        self.get(&format!("node {name}"))
    }
    fn persistent_volume_claim(&self, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.get(&format!("claim {namespace}/{name}"))
    }
    fn persistent_volume(&self, name: &str) -> Option<Arc<Value>> {
        self.get(&format!("volume {name}"))
    }
    fn csi_driver(&self, name: &str) -> Option<Arc<Value>> {
        self.get(&format!("driver {name}"))
    }
}

fn objects() -> Objects {
    let pod = |name: &str, node: &str| {
        json!({"metadata": {"name": name, "uid": "u"}, "spec": {"nodeName": node, "volumes": [
            {"name": "t", "projected": {"sources": [{"serviceAccountToken": {"audience": "vault"}}]}},
            {"name": "c", "persistentVolumeClaim": {"claimName": "c"}}]}})
    };
    Objects(HashMap::from([
        ("node n", json!({"metadata": {"name": "n", "uid": "nu"}})),
        ("pod a/mine", pod("mine", "n")),
        ("pod a/other", pod("other", "m")),
        ("claim a/c", json!({"spec": {"volumeName": "v"}})),
        ("volume v", json!({"spec": {"csi": {"driver": "d"}}})),
        ("driver d", json!({"spec": {"tokenRequests": [{"audience": "cloud"}]}})),
    ]))
}

/// `operation`, `group|resource|namespace|name`, new and old object; the refusal after `is forbidden: `, or all of it.
fn ask(operation: Operation, path: &str, new: &Value, old: &Value) -> String {
    let user = User::new("system:node:n", [NODES]);
    let [group, resource, namespace, name] = path.split('|').collect::<Vec<_>>().try_into().unwrap();
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let request = AdmissionRequest {
        user: &user,
        operation,
        group,
        resource,
        subresource,
        namespace,
        name,
        object: Some(new),
        old_object: Some(old),
    };
    let nobody = |_: &Attributes<'_>| Decision::NoOpinion(Reason::NONE);
    let message = restrict(&request, &objects(), &nobody).err().map(|status| status.message).unwrap_or_default();
    message.split_once(" is forbidden: ").map_or(message.clone(), |(_, words)| words.to_owned())
}

fn mirror(change: impl FnOnce(&mut Value)) -> Value {
    let mut pod = json!({"metadata": {"name": "p", "annotations": {MIRROR_POD: "x"}, "ownerReferences": [
        {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "nu", "controller": true}]},
        "spec": {"nodeName": "n", "volumes": [{"name": "h", "hostPath": {}}]}});
    change(&mut pod);
    pod
}

type Change = fn(&mut Value);

#[test]
fn only_harmless_mirror_pods_are_made() {
    let create = |pod: Value| ask(Operation::Create, "|pods|a|p", &pod, &Value::Null);
    assert_eq!(create(mirror(|_| {})), "");
    let cases: [(Change, &str); 9] = [
        (
            |pod| pod["metadata"]["annotations"] = json!({}),
            r#"pod does not have "kubernetes.io/config.mirror" annotation, node "n" can only create mirror pods"#,
        ),
        (
            |pod| pod["spec"]["nodeName"] = json!("m"),
            r#"node "n" can only create pods with spec.nodeName set to itself"#,
        ),
        (
            |pod| pod["metadata"]["ownerReferences"] = json!([]),
            r#"node "n" can only create pods with an owner reference set to itself"#,
        ),
        (
            |pod| pod["metadata"]["ownerReferences"] = json!([{}, {}]),
            r#"node "n" can only create pods with a single owner reference set to itself"#,
        ),
        (
            |pod| pod["metadata"]["ownerReferences"][0]["controller"] = json!(false),
            r#"node "n" can only create pods with a controller owner reference set to itself"#,
        ),
        (
            |pod| pod["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = json!(true),
            r#"node "n" must not set blockOwnerDeletion on an owner reference"#,
        ),
        (|pod| pod["metadata"]["ownerReferences"][0]["uid"] = json!("x"), "node n UID mismatch: expected x got nu"),
        (
            |pod| pod["spec"]["serviceAccountName"] = json!("x"),
            r#"node "n" can not create pods that reference serviceaccounts"#,
        ),
        (
            |pod| pod["spec"]["volumes"] = json!([{"persistentVolumeClaim": {"claimName": "x"}}]),
            r#"node "n" can not create pods that reference persistentvolumeclaims"#,
        ),
    ];
    for (change, words) in cases {
        assert_eq!(create(mirror(change)), words);
    }
}

#[test]
fn pods_are_touched_only_where_they_run() {
    let none = Value::Null;
    let own = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"nodeName": "n"}});
    let mut relabelled = own.clone();
    relabelled["metadata"]["labels"]["a"] = json!("c");
    let foreign = json!({"spec": {"nodeName": "m"}});
    assert_eq!(ask(Operation::Delete, "|pods|a|mine", &none, &none), "");
    assert_eq!(
        ask(Operation::Delete, "|pods|a|other", &none, &none),
        r#"node "n" can only delete pods with spec.nodeName set to itself"#
    );
    assert_eq!(ask(Operation::Delete, "|pods|a|gone", &none, &none), r#"pod "gone" not found"#);
    assert_eq!(
        ask(Operation::Update, "|pods|a|mine", &own, &own),
        r#"unexpected operation "UPDATE", node "n" can only create and delete mirror pods"#
    );
    assert_eq!(ask(Operation::Update, "|pods/status|a|mine", &own, &own), "");
    assert_eq!(
        ask(Operation::Update, "|pods/status|a|mine", &relabelled, &own),
        r#"node "n" cannot update labels through pod status"#
    );
    assert_eq!(
        ask(Operation::Update, "|pods/status|a|x", &foreign, &foreign),
        r#"node "n" can only update pod status for pods with spec.nodeName set to itself"#
    );
    assert_eq!(ask(Operation::Create, "|pods/eviction|a|mine", &json!({}), &none), "");
    assert_eq!(
        ask(Operation::Create, "|pods/eviction|a|other", &json!({}), &none),
        "node n can only evict pods with spec.nodeName set to itself"
    );
    assert_eq!(
        ask(Operation::Create, "|pods/binding|a|mine", &json!({}), &none),
        r#"unexpected pod subresource "binding", only 'status' and 'eviction' are allowed"#
    );
}

#[test]
fn nodes_keep_their_taints_owners_and_restricted_labels() {
    let labels = |labels: Value| json!({"metadata": {"name": "n", "labels": labels}});
    let create = |node: &Value, name: &str| ask(Operation::Create, &format!("|nodes||{name}"), node, &Value::Null);
    let fine = labels(json!({"kubernetes.io/hostname": "n", "node.kubernetes.io/x": "y", "team": "a",
        "foo.kubelet.kubernetes.io/z": ""}));
    assert_eq!(create(&fine, "n"), "");
    assert_eq!(create(&fine, "m"), r#"node "n" is not allowed to modify node "m""#);
    let bad = labels(json!({"node-restriction.kubernetes.io/a": "", "node-role.kubernetes.io/b": "",
        "x.k8s.io/c": "", "mykubernetes.io/d": ""}));
    assert_eq!(
        create(&bad, "n"),
        r#"node "n" is not allowed to set the following labels: node-restriction.kubernetes.io/a, node-role.kubernetes.io/b, x.k8s.io/c"#
    );
    let update = |new: &Value, old: &Value| ask(Operation::Update, "|nodes/status||n", new, old);
    assert_eq!(update(&bad, &bad), "");
    assert_eq!(
        update(&fine, &bad),
        "is not allowed to modify labels: node-restriction.kubernetes.io/a, node-role.kubernetes.io/b, x.k8s.io/c"
    );
    let tainted = json!({"spec": {"taints": [{"key": "a"}]}});
    assert_eq!(update(&tainted, &json!({})), r#"node "n" is not allowed to modify taints"#);
    assert_eq!(update(&json!({"spec": {"taints": []}}), &json!({})), "");
    let owned = json!({"metadata": {"ownerReferences": [{"name": "x"}]}});
    assert_eq!(update(&owned, &json!({})), r#"node "n" is not allowed to modify ownerReferences"#);
}

#[test]
fn tokens_are_for_own_pods_and_their_audiences() {
    let token = |pod: &str, uid: &str, audiences: Value| {
        let request = json!({"spec": {"audiences": audiences,
            "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid}}});
        ask(Operation::Create, "|serviceaccounts/token|a|bot", &request, &Value::Null)
    };
    assert_eq!(token("mine", "u", json!(["vault"])), "");
    assert_eq!(token("mine", "u", json!(["cloud"])), "");
    assert_eq!(token("", "u", json!(null)), "node requested token not bound to a pod");
    assert_eq!(token("mine", "", json!(null)), "node requested token with a pod binding without a uid");
    assert_eq!(token("gone", "u", json!(null)), r#"pod "gone" not found"#);
    assert_eq!(
        token("mine", "x", json!(null)),
        "the UID in the bound object reference (x) does not match the UID in record. The object might have been deleted \
         and then recreated"
    );
    assert_eq!(token("other", "u", json!(null)), "node requested token bound to a pod scheduled on a different node");
    assert_eq!(token("mine", "u", json!(["a", "b"])), "node may only request 0 or 1 audiences");
    assert_eq!(
        token("mine", "u", json!(["x"])),
        "audience \"x\" not found in pod spec volume, system:node:n is not authorized to request tokens for this audience"
    );
}

#[test]
fn other_objects_must_carry_the_nodes_name() {
    let none = Value::Null;
    let named = |name: &str| json!({"metadata": {"name": name}, "spec": {"nodeName": name}});
    let lease = "can only access node lease with the same name as the requesting node";
    assert_eq!(ask(Operation::Create, "coordination.k8s.io|leases|kube-node-lease|", &named("n"), &none), "");
    assert_eq!(ask(Operation::Create, "coordination.k8s.io|leases|kube-node-lease|", &named("m"), &none), lease);
    assert_eq!(ask(Operation::Update, "coordination.k8s.io|leases|kube-node-lease|m", &none, &none), lease);
    assert_eq!(
        ask(Operation::Update, "coordination.k8s.io|leases|a|n", &none, &none),
        r#"can only access leases in the "kube-node-lease" system namespace"#
    );
    assert_eq!(
        ask(Operation::Update, "storage.k8s.io|csinodes||m", &none, &none),
        "can only access CSINode with the same name as the requesting node"
    );
    assert_eq!(
        ask(Operation::Create, "resource.k8s.io|resourceslices||s", &named("m"), &none),
        "can only create ResourceSlice with the same NodeName as the requesting node"
    );
    assert_eq!(ask(Operation::Delete, "resource.k8s.io|resourceslices||s", &none, &named("n")), "");
    assert_eq!(ask(Operation::Update, "|persistentvolumeclaims|a|c", &none, &none), "may only update PVC status");
    let claim = |capacity: &str, phase: &str| json!({"status": {"capacity": {"storage": capacity}, "phase": phase}});
    let status = |new: &Value| ask(Operation::Update, "|persistentvolumeclaims/status|a|c", new, &claim("1", "Bound"));
    assert_eq!(status(&claim("2", "Bound")), "");
    assert!(status(&claim("2", "Lost")).starts_with(r#"node "n" is not allowed to update fields other than"#));
}

#[test]
fn signing_requests_name_the_node_itself() {
    let request = |name: &str, signer: &str| {
        let key = PrivateKey::generate().unwrap();
        let pem = CertificateRequest::new(&Subject::new(name, [NODES]), &[], &key).unwrap().to_pem();
        let object = json!({"spec": {"signerName": signer, "request": STANDARD.encode(pem)}});
        ask(Operation::Create, "certificates.k8s.io|certificatesigningrequests||csr", &object, &Value::Null)
    };
    assert_eq!(request("system:node:n", "kubernetes.io/kubelet-serving"), "");
    assert_eq!(
        request("system:node:m", "kubernetes.io/kube-apiserver-client-kubelet"),
        "can only create a node CSR with CN=system:node:n"
    );
    assert_eq!(request("anything", "example.com/signer"), "");
    let garbage = json!({"spec": {"signerName": "kubernetes.io/kubelet-serving", "request": "eA=="}});
    assert_eq!(
        ask(Operation::Create, "certificates.k8s.io|certificatesigningrequests||csr", &garbage, &Value::Null),
        "unable to parse csr: PEM block type must be CERTIFICATE REQUEST"
    );
}
