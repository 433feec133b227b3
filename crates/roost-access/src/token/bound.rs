//! Service account tokens that are bound in time, and maybe to a pod, node or secret.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::claims::{ObjectReference, StandardClaims, date, insert_text, malformed, text};
use super::verify::TokenObjects;
use super::{Error, LEEWAY};
use crate::user::{CREDENTIAL_ID, User, service_account_groups, service_account_name};

const POD_NAME: &str = "authentication.kubernetes.io/pod-name";
const POD_UID: &str = "authentication.kubernetes.io/pod-uid";
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
const NODE_UID: &str = "authentication.kubernetes.io/node-uid";

/// The claims of a service account token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoundClaims {
    /// Who made it, for whom, and when it is good.
    pub standard: StandardClaims,
    /// The account's namespace.
    pub namespace: String,
    /// The account.
    pub service_account: ObjectReference,
    /// The pod that the token dies with.
    pub pod: Option<ObjectReference>,
    /// The secret that the token dies with.
    pub secret: Option<ObjectReference>,
    /// The node of the pod, or, without a pod, the node that the token dies with.
    pub node: Option<ObjectReference>,
    /// From when on uses are reported: the end that was asked for, when the real one is later.
    pub warn_after: Option<i64>,
}

impl BoundClaims {
    pub(super) fn read(claims: &Map<String, Value>) -> Result<Self, Error> {
        let standard = StandardClaims::read(claims)?;
        let empty = Map::new();
        let private = match claims.get("kubernetes.io") {
            None | Some(Value::Null) => &empty,
            Some(Value::Object(private)) => private,
            Some(_) => return Err(malformed()),
        };
        let reference =
            |name: &str| private.get(name).filter(|value| !value.is_null()).map(ObjectReference::read).transpose();
        Ok(Self {
            standard,
            namespace: text(private, "namespace")?,
            service_account: reference("serviceaccount")?.unwrap_or_default(),
            pod: reference("pod")?,
            secret: reference("secret")?,
            node: reference("node")?,
            warn_after: date(private, "warnafter")?,
        })
    }

    pub(super) fn write(&self) -> Map<String, Value> {
        let mut claims = Map::new();
        self.standard.write(&mut claims);
        let mut private = Map::new();
        insert_text(&mut private, "namespace", &self.namespace);
        private.insert("serviceaccount".into(), self.service_account.write());
        for (name, reference) in [("pod", &self.pod), ("secret", &self.secret), ("node", &self.node)] {
            if let Some(reference) = reference {
                private.insert(name.into(), reference.write());
            }
        }
        if let Some(warn_after) = self.warn_after {
            private.insert("warnafter".into(), warn_after.into());
        }
        claims.insert("kubernetes.io".into(), private.into());
        claims
    }

    /// Checks the time, and that all that the token is bound to is still there.
    pub(super) fn validate(&self, objects: &dyn TokenObjects, now: Timestamp) -> Result<User, Error> {
        self.standard.check_time(now.as_second())?;
        let deleted_before = now.as_second().saturating_sub(LEEWAY);
        let is_deleted = |object: &Value| {
            let at = object["metadata"]["deletionTimestamp"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
            at.is_some_and(|at| at.as_second() < deleted_before)
        };
        let (namespace, name) = (&*self.namespace, &*self.service_account.name);
        let account = objects
            .service_account(namespace, name)
            .ok_or_else(|| Error::new(format!("serviceaccounts {name:?} not found")))?;
        let uid = uid_of(&account);
        if uid != self.service_account.uid {
            let claim = &self.service_account.uid;
            return Err(Error::new(format!("service account UID ({uid}) does not match claim ({claim})")));
        }
        if is_deleted(&account) {
            return Err(Error::new(format!("service account {namespace}/{name} has been deleted")));
        }
        let check = |kind: &str, reference: &ObjectReference, object: Option<Arc<Value>>| {
            let object = object.ok_or_else(|| Error::new("service account token has been invalidated"))?;
            let (uid, claim) = (uid_of(&object), &reference.uid);
            if uid != claim {
                let words = format!("{kind} UID ({uid}) does not match service account {kind} ref claim ({claim})");
                return Err(Error::new(words));
            }
            if is_deleted(&object) {
                return Err(Error::new("service account token has been invalidated"));
            }
            Ok(())
        };
        if let Some(secret) = &self.secret {
            check("secret", secret, objects.secret(namespace, &secret.name))?;
        }
        if let Some(pod) = &self.pod {
            check("pod", pod, objects.pod(namespace, &pod.name))?;
        } else if let Some(node) = &self.node {
            check("node", node, objects.node(&node.name))?;
        }
        Ok(self.user())
    }

    /// The user that the token speaks for, going by its claims alone.
    pub fn user(&self) -> User {
        let mut user = User::new(
            service_account_name(&self.namespace, &self.service_account.name),
            service_account_groups(&self.namespace),
        );
        user.uid.clone_from(&self.service_account.uid);
        let mut extra = |key: &str, value: &str| {
            user.extra.insert(key.to_owned(), vec![value.to_owned()]);
        };
        if let Some(pod) = self.pod.as_ref().filter(|pod| !pod.name.is_empty() && !pod.uid.is_empty()) {
            extra(POD_NAME, &pod.name);
            extra(POD_UID, &pod.uid);
        }
        if let Some(node) = self.node.as_ref().filter(|node| !node.name.is_empty()) {
            extra(NODE_NAME, &node.name);
            if !node.uid.is_empty() {
                extra(NODE_UID, &node.uid);
            }
        }
        if !self.standard.id.is_empty() {
            extra(CREDENTIAL_ID, &format!("JTI={}", self.standard.id));
        }
        user
    }
}

fn uid_of(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}
