//! Who may act as whom.

use std::collections::BTreeMap;

use roost_object::Status;
use roost_object::field::{Error as FieldError, Path, aggregate, quote};
use roost_object::selector::syntax::{is_subdomain, subdomain_errors};

use crate::attributes::{Attributes, ResourceAttributes};
use crate::authorizer::Authorizer;
use crate::user::{
    ANONYMOUS, AUTHENTICATED, MASTERS, NODE_PREFIX, NODES, UNAUTHENTICATED, User, service_account_groups,
    split_service_account,
};

/// From how many checks on one for all of them is tried first.
const MANY: usize = 4;
const AUTHENTICATION: &str = "authentication.k8s.io";
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
const ASSOCIATED_NODE_KEYS: &str = "authentication.kubernetes.io/associated-node-keys";

/// The ways to act as someone else, from the narrowest to the widest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// A pod's account acts as the node that the pod runs on.
    AssociatedNode,
    /// Anyone acts as any node.
    ArbitraryNode,
    /// Anyone acts as a service account.
    ServiceAccount,
    /// Anyone acts as any other user, with groups and more.
    UserInfo,
    /// Without limits to what is then done.
    Legacy,
}

impl Mode {
    const ALL: [Self; 5] =
        [Self::AssociatedNode, Self::ArbitraryNode, Self::ServiceAccount, Self::UserInfo, Self::Legacy];

    fn word(self) -> Option<&'static str> {
        match self {
            Self::AssociatedNode => Some("associated-node"),
            Self::ArbitraryNode => Some("arbitrary-node"),
            Self::ServiceAccount => Some("serviceaccount"),
            Self::UserInfo => Some("user-info"),
            Self::Legacy => None,
        }
    }

    fn verb(self) -> String {
        self.word().map_or_else(|| "impersonate".to_owned(), |word| format!("impersonate:{word}"))
    }

    fn applies(self, wanted: &User, requester: &User) -> bool {
        let only_name = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        let node = wanted_node(&wanted.name);
        let is_account = split_service_account(&wanted.name).is_some();
        match self {
            Self::AssociatedNode => {
                let own = requester.extra.get(NODE_NAME).map(Vec::as_slice);
                let is_own = matches!((own, node), (Some([own]), Some(node)) if own == node);
                only_name && is_own && split_service_account(&requester.name).is_some()
            }
            Self::ArbitraryNode => only_name && node.is_some(),
            Self::ServiceAccount => only_name && is_account,
            Self::UserInfo => node.is_none() && !is_account,
            Self::Legacy => true,
        }
    }
}

fn wanted_node(name: &str) -> Option<&str> {
    name.strip_prefix(NODE_PREFIX).filter(|node| is_subdomain(node))
}

/// The result of acting as someone else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impersonated {
    /// Who the request comes from now.
    pub user: User,
    /// The verb that allowed it, for the audit log; empty in the oldest mode.
    pub constraint: String,
    /// The mode that allowed it. Tried first next time, it saves checks, and its refusals come first.
    pub mode: Mode,
}

/// Checks that the user of `attributes` may act as `wanted` for this very request. `preferred` is the mode that last
/// allowed the same requester something.
pub fn impersonate(
    authorizer: &dyn Authorizer,
    attributes: &Attributes<'_>,
    wanted: &User,
    preferred: Option<Mode>,
) -> Result<Impersonated, Status> {
    let mut first_refusal = None;
    let others = Mode::ALL.into_iter().filter(|mode| Some(*mode) != preferred);
    for mode in preferred.into_iter().chain(others) {
        if !mode.applies(wanted, attributes.user) {
            continue;
        }
        match (Check { authorizer, requester: attributes.user, mode }).run(attributes, wanted) {
            Ok(user) => {
                let constraint = if mode == Mode::Legacy { String::new() } else { mode.verb() };
                return Ok(Impersonated { user, constraint, mode });
            }
            Err(refusal) => {
                first_refusal.get_or_insert(refusal);
            }
        }
    }
    Err(first_refusal.unwrap_or_else(|| Status::failure(500, "", "all impersonation modes failed")))
}

struct Check<'a> {
    authorizer: &'a dyn Authorizer,
    requester: &'a User,
    mode: Mode,
}

impl Check<'_> {
    fn run(&self, attributes: &Attributes<'_>, wanted: &User) -> Result<User, Status> {
        if let Some(word) = self.mode.word() {
            let verb = format!("impersonate-on:{word}:{}", attributes.verb);
            self.ask(&Attributes { verb: &verb, ..*attributes })?;
        }
        let verb = self.mode.verb();
        let mut user = wanted.clone();
        self.check_name(&verb, wanted, &mut user)?;
        if !wanted.uid.is_empty() {
            self.ask_for(&verb, AUTHENTICATION, "uids", "", "", &wanted.uid)?;
        }
        self.check_groups(&verb, &wanted.groups)?;
        self.check_extra(&verb, &wanted.extra)?;
        let is_outside = user.name == ANONYMOUS || user.is_in(UNAUTHENTICATED);
        let group = if is_outside { UNAUTHENTICATED } else { AUTHENTICATED };
        if !user.is_in(group) {
            user.groups.push(group.to_owned());
        }
        Ok(user)
    }

    fn is_constrained(&self) -> bool {
        self.mode != Mode::Legacy
    }

    fn group(&self) -> &'static str {
        if self.is_constrained() { AUTHENTICATION } else { "" }
    }

    fn check_name(&self, verb: &str, wanted: &User, user: &mut User) -> Result<(), Status> {
        let group = self.group();
        if let Some((namespace, name)) = split_service_account(&wanted.name) {
            if wanted.groups.is_empty() {
                user.groups = service_account_groups(namespace);
            }
            return self.ask_for(verb, group, "serviceaccounts", "", namespace, name);
        }
        match wanted_node(&wanted.name) {
            Some(node) if self.is_constrained() => {
                user.groups = vec![NODES.to_owned()];
                // Every node that the requester is associated with needs the same permission.
                let name = if self.mode == Mode::AssociatedNode { "*" } else { node };
                self.ask_for(verb, group, "nodes", "", "", name)
            }
            _ => self.ask_for(verb, group, "users", "", "", &wanted.name),
        }
    }

    fn check_groups(&self, verb: &str, groups: &[String]) -> Result<(), Status> {
        let own = self.group();
        if self.is_constrained() {
            let refuse = |name: &str, words: &str| Err(self.refusal(verb, own, "groups", name, words));
            if groups.iter().any(String::is_empty) {
                return refuse("", "impersonating the empty string group is not allowed");
            }
            if groups.iter().any(|group| group == MASTERS) {
                return refuse(MASTERS, "impersonating the system:masters group is not allowed");
            }
            if groups.len() >= MANY && self.ask_for(verb, own, "groups", "", "", "*").is_ok() {
                return Ok(());
            }
        }
        groups.iter().try_for_each(|group| self.ask_for(verb, own, "groups", "", "", group))
    }

    fn check_extra(&self, verb: &str, extra: &BTreeMap<String, Vec<String>>) -> Result<(), Status> {
        let count: usize = extra.values().map(Vec::len).sum();
        if self.is_constrained() {
            check_extra_form(extra).map_err(|words| self.refusal(verb, AUTHENTICATION, "userextras", "", &words))?;
            if (extra.len() >= MANY || count >= MANY)
                && self.ask_for(verb, AUTHENTICATION, "userextras", "*", "", "*").is_ok()
            {
                return Ok(());
            }
        }
        for (key, values) in extra {
            for value in values {
                self.ask_for(verb, AUTHENTICATION, "userextras", key, "", value)?;
            }
        }
        Ok(())
    }

    fn ask_for(
        &self,
        verb: &str,
        group: &str,
        resource: &str,
        subresource: &str,
        namespace: &str,
        name: &str,
    ) -> Result<(), Status> {
        let resource = ResourceAttributes { group, version: "v1", resource, subresource, namespace, name };
        self.ask(&Attributes::resource(self.requester, verb, resource))
    }

    fn refusal(&self, verb: &str, group: &str, resource: &str, name: &str, words: &str) -> Status {
        let resource = ResourceAttributes { group, version: "v1", resource, name, ..ResourceAttributes::default() };
        Attributes::resource(self.requester, verb, resource).forbidden(words)
    }

    fn ask(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        let decision = if self.mode == Mode::AssociatedNode {
            // What differs from node to node is left out, so that one permission fits all of an account's pods.
            let keys = self.requester.extra.keys().cloned().collect();
            let extra = BTreeMap::from([(ASSOCIATED_NODE_KEYS.to_owned(), keys)]);
            let requester = User { extra, ..self.requester.clone() };
            self.authorizer.authorize(&Attributes { user: &requester, ..*attributes })
        } else {
            self.authorizer.authorize(attributes)
        };
        if decision.is_allowed() { Ok(()) } else { Err(attributes.forbidden(&decision.reason().to_string())) }
    }
}

fn check_extra_form(extra: &BTreeMap<String, Vec<String>>) -> Result<(), String> {
    for (key, values) in extra {
        if key.is_empty() {
            return Err("impersonating the empty string key in extra is not allowed".into());
        }
        let errors = key_errors(key);
        if !errors.is_empty() {
            return Err(format!("impersonating an invalid key in extra is not allowed: {}", aggregate(&errors)));
        }
        if key.to_lowercase() != *key {
            return Err(format!("impersonating a non-lowercase key in extra is not allowed: {}", quote(key)));
        }
        if values.is_empty() {
            return Err("impersonating empty values in extra is not allowed".into());
        }
        if values.iter().any(String::is_empty) {
            return Err("impersonating the empty string value in extra is not allowed".into());
        }
    }
    Ok(())
}

fn key_errors(key: &str) -> Vec<FieldError> {
    let path = Path::new("extra.key");
    let (host, rest) = key.split_once('/').unwrap_or_default();
    if host.is_empty() || rest.is_empty() {
        return vec![FieldError::invalid(&path, key, "must be a domain-prefixed path (such as \"acme.io/foo\")")];
    }
    let mut errors: Vec<_> =
        subdomain_errors(host).into_iter().map(|words| FieldError::invalid(&path, host, words)).collect();
    let is_path_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
    if !rest.bytes().all(is_path_byte) {
        let words = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";
        errors.push(FieldError::invalid(&path, rest, words));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authorizer::{Decision, Reason};

    /// Allows `verb resource name` lines, where a trailing `*` matches any rest.
    fn allow(lines: &'static [&'static str]) -> impl Fn(&Attributes<'_>) -> Decision {
        move |attributes| {
            let resource = attributes.resource.unwrap_or_default();
            let asked = format!("{} {}/{} {}", attributes.verb, resource.resource, resource.subresource, resource.name);
            let fits = |line: &str| line.strip_suffix('*').map_or(line == asked, |head| asked.starts_with(head));
            if lines.iter().any(|line| fits(line)) {
                Decision::Allow(Reason::NONE)
            } else {
                Decision::NoOpinion(Reason::NONE)
            }
        }
    }

    fn attempt(
        lines: &'static [&'static str],
        requester: &User,
        wanted: &User,
        preferred: Option<Mode>,
    ) -> Result<Impersonated, String> {
        let pods = ResourceAttributes { resource: "pods", version: "v1", namespace: "ns", ..Default::default() };
        let attributes = Attributes::resource(requester, "list", pods);
        impersonate(&allow(lines), &attributes, wanted, preferred).map_err(|status| status.message)
    }

    fn named(name: &str) -> User {
        User { name: name.into(), ..User::default() }
    }

    #[test]
    fn refusals_name_the_narrowest_mode() {
        let imp = User::new("imp", ["x"]);
        let refuse = |wanted: &User, preferred| attempt(&[], &imp, wanted, preferred).unwrap_err();
        assert_eq!(
            refuse(&named("bob"), None),
            r#"pods is forbidden: User "imp" cannot impersonate-on:user-info:list resource "pods" in API group "" in the namespace "ns""#
        );
        assert_eq!(
            refuse(&named("system:node:n1"), None),
            r#"pods is forbidden: User "imp" cannot impersonate-on:arbitrary-node:list resource "pods" in API group "" in the namespace "ns""#
        );
        let account = "system:serviceaccount:a:b";
        assert_eq!(
            refuse(&named(account), None),
            r#"pods is forbidden: User "imp" cannot impersonate-on:serviceaccount:list resource "pods" in API group "" in the namespace "ns""#
        );
        assert_eq!(
            refuse(&User::new(account, ["g"]), None),
            r#"serviceaccounts "b" is forbidden: User "imp" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "a""#
        );
        assert_eq!(
            refuse(&named("carol"), Some(Mode::Legacy)),
            r#"users "carol" is forbidden: User "imp" cannot impersonate resource "users" in API group "" at the cluster scope"#
        );
    }

    #[test]
    fn the_oldest_mode_needs_only_the_user() {
        let imp = User::new("imp", ["x"]);
        let done = attempt(&["impersonate users/ bob"], &imp, &named("bob"), None).unwrap();
        assert_eq!(
            done,
            Impersonated { user: User::new("bob", [AUTHENTICATED]), constraint: String::new(), mode: Mode::Legacy }
        );
        let account = attempt(&["impersonate *"], &imp, &named("system:serviceaccount:a:b"), None).unwrap();
        assert_eq!(account.user.groups, ["system:serviceaccounts", "system:serviceaccounts:a", AUTHENTICATED]);
        let masters = attempt(&["impersonate *"], &imp, &User::new("root", [MASTERS]), None).unwrap();
        assert_eq!(masters.user.groups, [MASTERS, AUTHENTICATED]);
        let nobody = attempt(&["impersonate *"], &imp, &named(ANONYMOUS), None).unwrap();
        assert_eq!(nobody.user.groups, [UNAUTHENTICATED]);
        let outside = attempt(&["impersonate *"], &imp, &User::new("bob", [UNAUTHENTICATED]), None).unwrap();
        assert_eq!(outside.user.groups, [UNAUTHENTICATED]);
    }

    #[test]
    fn narrow_modes_need_both_permissions() {
        const LINES: &[&str] = &[
            "impersonate-on:user-info:list pods/ ",
            "impersonate:user-info users/ *",
            "impersonate:user-info groups/ *",
            "impersonate:user-info userextras/example.com/foo *",
        ];
        let alice = User::new("alice", ["x"]);
        let mut wanted = User::new("x", ["g"]);
        wanted.extra.insert("example.com/foo".into(), vec!["v".into()]);
        let done = attempt(LINES, &alice, &wanted, None).unwrap();
        assert_eq!((&*done.constraint, done.mode), ("impersonate:user-info", Mode::UserInfo));
        let with_extra = |key: &str| {
            let mut wanted = named("x");
            wanted.extra.insert(key.into(), vec!["v".into()]);
            attempt(LINES, &alice, &wanted, None).unwrap_err()
        };
        assert_eq!(
            with_extra("foo"),
            r#"userextras.authentication.k8s.io is forbidden: User "alice" cannot impersonate:user-info resource "userextras" in API group "authentication.k8s.io" at the cluster scope: impersonating an invalid key in extra is not allowed: extra.key: Invalid value: "foo": must be a domain-prefixed path (such as "acme.io/foo")"#
        );
        assert_eq!(
            with_extra("example.com/bar"),
            r#"userextras.authentication.k8s.io "v" is forbidden: User "alice" cannot impersonate:user-info resource "userextras/example.com/bar" in API group "authentication.k8s.io" at the cluster scope"#
        );
        assert!(
            with_extra("ex_ample.com/foo")
                .contains(r#"extra.key: Invalid value: "ex_ample.com": a lowercase RFC 1123"#)
        );
        assert_eq!(
            attempt(LINES, &alice, &User::new("x", [MASTERS]), None).unwrap_err(),
            r#"groups.authentication.k8s.io "system:masters" is forbidden: User "alice" cannot impersonate:user-info resource "groups" in API group "authentication.k8s.io" at the cluster scope: impersonating the system:masters group is not allowed"#
        );
    }

    #[test]
    fn pods_may_act_as_their_own_node() {
        const LINES: &[&str] = &["impersonate-on:associated-node:list pods/ ", "impersonate:associated-node nodes/ *"];
        let mut requester = User::new("system:serviceaccount:a:b", ["x"]);
        requester.extra.insert(NODE_NAME.into(), vec!["n1".into()]);
        let done = attempt(LINES, &requester, &named("system:node:n1"), None).unwrap();
        assert_eq!(done.user, User::new("system:node:n1", [NODES, AUTHENTICATED]));
        assert_eq!(done.constraint, "impersonate:associated-node");
        assert!(attempt(LINES, &requester, &named("system:node:n2"), None).is_err());
    }
}
