//! Users: who a request comes from, or claims to.

use std::collections::BTreeMap;

use roost_object::selector::syntax::is_subdomain;
use roost_pki::ClientIdentity;
use serde_json::{Map, Value, json};

/// Members may do anything.
pub const MASTERS: &str = "system:masters";
/// The group of every kubelet.
pub const NODES: &str = "system:nodes";
/// The group of everyone who showed a credential.
pub const AUTHENTICATED: &str = "system:authenticated";
/// The group of everyone who did not.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of a caller without a credential.
pub const ANONYMOUS: &str = "system:anonymous";
/// The extra that names the credential that was shown.
pub const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";
/// What the user name of a kubelet begins with.
pub const NODE_PREFIX: &str = "system:node:";

const SERVICE_ACCOUNT_PREFIX: &str = "system:serviceaccount:";
const SERVICE_ACCOUNTS: &str = "system:serviceaccounts";

/// A caller, as authentication sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct User {
    /// The name that identifies the caller.
    pub name: String,
    /// Tells apart two callers who had the same name at different times.
    pub uid: String,
    /// The groups that the caller belongs to.
    pub groups: Vec<String>,
    /// What else the authenticator knows.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// A user with a name and groups only.
    pub fn new(name: impl Into<String>, groups: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { name: name.into(), groups: groups.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// The caller without a credential.
    pub fn anonymous() -> Self {
        Self::new(ANONYMOUS, [UNAUTHENTICATED])
    }

    /// Adds the group of everyone who showed a credential, unless it or its opposite is there already.
    #[must_use]
    pub fn authenticated(mut self) -> Self {
        let is_settled = |group: &String| group == AUTHENTICATED || group == UNAUTHENTICATED;
        if self.name != ANONYMOUS && !self.groups.iter().any(is_settled) {
            self.groups.push(AUTHENTICATED.to_owned());
        }
        self
    }

    /// Whether the user belongs to a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }

    /// The node that this user is the kubelet of, when it is one.
    pub fn node_name(&self) -> Option<&str> {
        self.name.strip_prefix(NODE_PREFIX).filter(|_| self.is_in(NODES))
    }

    /// Reads a `UserInfo` object, as access reviews and admission carry it.
    pub fn from_object(object: &Value) -> Self {
        let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let texts = |value: &Value| {
            value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let extra = object.get("extra").and_then(Value::as_object);
        Self {
            name: text("username"),
            uid: text("uid"),
            groups: object.get("groups").map(texts).unwrap_or_default(),
            extra: extra.into_iter().flatten().map(|(key, value)| (key.clone(), texts(value))).collect(),
        }
    }

    /// The `UserInfo` object, without empty fields.
    pub fn to_object(&self) -> Value {
        let mut object = Map::new();
        if !self.name.is_empty() {
            object.insert("username".into(), json!(self.name));
        }
        if !self.uid.is_empty() {
            object.insert("uid".into(), json!(self.uid));
        }
        if !self.groups.is_empty() {
            object.insert("groups".into(), json!(self.groups));
        }
        if !self.extra.is_empty() {
            object.insert("extra".into(), json!(self.extra));
        }
        Value::Object(object)
    }
}

/// Whom a verified client certificate speaks for, without the group of everyone authenticated.
impl From<ClientIdentity> for User {
    fn from(identity: ClientIdentity) -> Self {
        let extra = BTreeMap::from([(CREDENTIAL_ID.to_owned(), vec![identity.credential_id])]);
        Self { name: identity.name, uid: identity.uid, groups: identity.groups, extra }
    }
}

/// The user name of a service account.
pub fn service_account_name(namespace: &str, name: &str) -> String {
    format!("{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}")
}

/// The groups of every service account of a namespace, without [`AUTHENTICATED`].
pub fn service_account_groups(namespace: &str) -> Vec<String> {
    vec![SERVICE_ACCOUNTS.to_owned(), format!("{SERVICE_ACCOUNTS}:{namespace}")]
}

/// The namespace and name behind a service account's user name; none for any other user.
pub fn split_service_account(username: &str) -> Option<(&str, &str)> {
    let (namespace, name) = username.strip_prefix(SERVICE_ACCOUNT_PREFIX)?.split_once(':')?;
    let is_label = namespace.len() <= 63 && !namespace.contains('.') && is_subdomain(namespace);
    (is_label && is_subdomain(name)).then_some((namespace, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_account_names_split_only_when_well_formed() {
        let cases = [
            ("system:serviceaccount:kube-system:default", Some(("kube-system", "default"))),
            ("system:serviceaccount:a:b.c", Some(("a", "b.c"))),
            ("system:serviceaccount:a.b:c", None),
            ("system:serviceaccount:a:b:c", None),
            ("system:serviceaccount::c", None),
            ("system:serviceaccount:a:", None),
            ("system:serviceaccounts:a:b", None),
            ("alice", None),
        ];
        for (username, expected) in cases {
            assert_eq!(split_service_account(username), expected, "{username}");
        }
        assert_eq!(service_account_name("a", "b"), "system:serviceaccount:a:b");
    }

    #[test]
    fn users_survive_the_way_through_an_object() {
        let mut user = User::new("alice", ["dev", "ops"]);
        user.uid = "1".into();
        user.extra.insert("scopes".into(), vec!["a".into(), "b".into()]);
        assert_eq!(User::from_object(&user.to_object()), user);
        assert_eq!(User::default().to_object(), json!({}));
    }

    #[test]
    fn certificates_become_users() {
        let identity = ClientIdentity {
            name: "alice".into(),
            groups: vec!["dev".into()],
            uid: "7".into(),
            credential_id: "X509SHA256=ab".into(),
        };
        assert_eq!(
            User::from(identity).authenticated().to_object(),
            json!({"username": "alice", "uid": "7", "groups": ["dev", "system:authenticated"],
                "extra": {CREDENTIAL_ID: ["X509SHA256=ab"]}})
        );
    }

    #[test]
    fn kubelets_are_known_by_name_and_group() {
        assert_eq!(User::new("system:node:a", [NODES]).node_name(), Some("a"));
        assert_eq!(User::new("system:node:a", ["x"]).node_name(), None);
        assert_eq!(User::new("a", [NODES]).node_name(), None);
    }
}
