//! Honest, odd and hostile requests, and what becomes of each.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use roost_pki::{AlternativeName, CertificateRequest, PrivateKey, Subject};

use super::decide::decide;
use super::facts::{Facts, Machine, Networks, Node};
use super::odd_requests as odd;
use super::request::{Progress, Request, Signer};
use super::rule::Verdict;

/// A request and all around it, to be bent by a case.
struct World {
    signer: Signer,
    username: String,
    groups: Vec<String>,
    usages: Vec<String>,
    common_name: String,
    organizations: Vec<String>,
    alternative_names: Vec<AlternativeName>,
    /// The text instead of one that is made from the fields above.
    pem: Option<String>,
    bend: fn(String) -> String,
    machine: Option<Machine>,
    rival: Option<&'static str>,
    later: Option<&'static str>,
    node: Option<Node>,
    addresses: HashMap<std::net::IpAddr, String>,
    networks: Networks,
    pending: usize,
    known: usize,
    created: Timestamp,
    now: Timestamp,
}

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

fn machine() -> Machine {
    Machine {
        name: "pool-0a1b2c3d".into(),
        node_name: "node-1".into(),
        token_id: "abcdef".into(),
        fetched_at: time("2026-01-01T12:00:00Z"),
        addresses: vec!["192.0.2.10".parse().unwrap(), "2001:db8::10".parse().unwrap()],
        provider_id: "roost://cluster/pool-0a1b2c3d".into(),
        node_uid: None,
        is_deleting: false,
        approvals: 0,
    }
}

fn node() -> Node {
    Node {
        name: "node-1".into(),
        uid: "uid-1".into(),
        provider_id: "roost://cluster/pool-0a1b2c3d".into(),
        is_ready: true,
    }
}

/// A host's first request.
fn joining() -> World {
    World {
        signer: Signer::Client,
        username: "system:bootstrap:abcdef".into(),
        groups: texts(&["system:bootstrappers", "system:bootstrappers:roost:pool-0a1b2c3d", "system:authenticated"]),
        usages: texts(&["digital signature", "client auth"]),
        common_name: "system:node:node-1".into(),
        organizations: texts(&["system:nodes"]),
        alternative_names: Vec::new(),
        pem: None,
        bend: |pem| pem,
        machine: Some(machine()),
        rival: None,
        later: None,
        node: None,
        addresses: HashMap::from([("192.0.2.20".parse().unwrap(), "node-2".to_owned())]),
        networks: Networks {
            pods: vec!["10.132.0.0/14".parse().unwrap()],
            services: vec!["172.31.0.0/16".parse().unwrap()],
            machines: Vec::new(),
            endpoints: vec!["192.0.2.1".parse().unwrap()],
        },
        pending: 1,
        known: 1,
        created: time("2026-01-01T12:01:00Z"),
        now: time("2026-01-01T12:01:01Z"),
    }
}

/// A node's next client certificate, weeks later.
fn renewing() -> World {
    World {
        username: "system:node:node-1".into(),
        groups: texts(&["system:nodes", "system:authenticated"]),
        node: Some(node()),
        created: time("2026-03-01T12:00:00Z"),
        now: time("2026-03-01T12:00:01Z"),
        ..joining()
    }
}

/// A node's serving certificate.
fn serving() -> World {
    World {
        signer: Signer::Serving,
        usages: texts(&["digital signature", "server auth"]),
        alternative_names: vec![AlternativeName::host("node-1"), AlternativeName::host("192.0.2.10")],
        ..renewing()
    }
}

impl World {
    fn verdict(self) -> Verdict {
        let key = PrivateKey::generate().unwrap();
        let subject = Subject::new(self.common_name.clone(), self.organizations.clone());
        let pem = self
            .pem
            .clone()
            .unwrap_or_else(|| CertificateRequest::new(&subject, &self.alternative_names, &key).unwrap().to_pem());
        let request = Request {
            name: "csr-1".into(),
            uid: "uid".into(),
            signer: self.signer,
            username: self.username.clone(),
            groups: self.groups.clone(),
            usages: self.usages.clone(),
            pem: (self.bend)(pem),
            created: self.created,
            progress: Progress::Open,
        };
        let facts = Facts {
            machine: self.machine.as_ref(),
            rival: self.rival,
            later: self.later,
            node: self.node.as_ref(),
            addresses: &self.addresses,
            networks: &self.networks,
            pending: self.pending,
            known: self.known,
        };
        decide(&request, &facts, self.now)
    }

    fn machine(&mut self) -> &mut Machine {
        self.machine.as_mut().unwrap()
    }

    fn node(&mut self) -> &mut Node {
        self.node.as_mut().unwrap()
    }

    fn hosts(&mut self, names: &[&str]) {
        self.alternative_names = names.iter().map(|name| AlternativeName::host(name)).collect();
    }

    fn dns(&mut self, name: &str) {
        self.alternative_names = vec![AlternativeName::Dns(name.to_owned())];
    }
}

/// What a case ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Approved,
    Denied(&'static str),
    Waits(&'static str),
}

use End::{Approved, Denied, Waits};

type Case = (&'static str, fn() -> World, fn(&mut World), End);

#[rustfmt::skip]
const HONEST: &[Case] = &[
    ("a host joins", joining, |_| {}, Approved),
    ("with an RSA key, which may encipher", joining, |world| { world.pem = Some(odd::RSA_2048.into()); world.usages.push("key encipherment".into()); }, Approved),
    ("on P-521", joining, |world| world.pem = Some(odd::P521.into()), Approved),
    ("usages in another order", joining, |world| world.usages.reverse(), Approved),
    ("groups in another order", joining, |world| world.groups.reverse(), Approved),
    ("blank lines around", joining, |world| world.bend = |pem| format!("\n\n{pem}\n"), Approved),
    ("carriage returns", joining, |world| world.bend = |pem| pem.replace('\n', "\r\n"), Approved),
    ("a second time after a restart", joining, |world| world.machine().approvals = 1, Approved),
    ("a third time", joining, |world| world.machine().approvals = 2, Approved),
    ("the host's clock is behind", joining, |world| world.created = time("2026-01-01T11:59:55Z"), Approved),
    ("at the end of the window", joining, |world| { world.created = time("2026-01-01T13:59:59Z"); world.now = world.created; }, Approved),
    ("again, its own node being down", joining, |world| { world.node = Some(node()); world.node().is_ready = false; }, Approved),
    ("again, its own node known by uid only", joining, |world| { world.node = Some(Node { provider_id: String::new(), is_ready: false, ..node() }); world.machine().node_uid = Some("uid-1".into()); }, Approved),
    ("as many others wait as are known", joining, |world| { world.known = 1000; world.pending = 1100; }, Approved),
    ("a node renews its client certificate", renewing, |_| {}, Approved),
    ("a node that is not Ready renews", renewing, |world| world.node().is_ready = false, Approved),
    ("a node renews long after its token went", renewing, |world| world.machine().token_id.clear(), Approved),
    ("a node renews although it used its approvals", renewing, |world| world.machine().approvals = 9, Approved),
    ("a node renews with an RSA key", renewing, |world| { world.pem = Some(odd::RSA_2048.into()); world.usages.push("key encipherment".into()); }, Approved),
    ("a serving certificate", serving, |_| {}, Approved),
    ("by name only", serving, |world| world.hosts(&["node-1"]), Approved),
    ("by address only", serving, |world| world.hosts(&["192.0.2.10"]), Approved),
    ("by both families", serving, |world| world.hosts(&["node-1", "192.0.2.10", "2001:db8::10"]), Approved),
    ("an address of the machine network", serving, |world| { world.networks.machines.push("192.0.2.0/24".parse().unwrap()); world.hosts(&["node-1", "192.0.2.77"]); }, Approved),
    ("its own address, known as its own", serving, |world| { world.addresses.insert("192.0.2.10".parse().unwrap(), "node-1".into()); }, Approved),
    ("the machine that also runs the API", serving, |world| { world.machine().addresses.push("192.0.2.1".parse().unwrap()); world.hosts(&["192.0.2.1"]); }, Approved),
    ("a host on the machine of the management plane", serving, |world| { world.machine().addresses.push("127.1.2.3".parse().unwrap()); world.hosts(&["127.1.2.3"]); }, Approved),
    ("a node that has no provider id, known by uid", serving, |world| { world.node().provider_id.clear(); world.machine().node_uid = Some("uid-1".into()); }, Approved),
];

#[rustfmt::skip]
const REQUESTERS: &[Case] = &[
    ("an administrator asks for a node's certificate", joining, |world| { world.username = "kubernetes-admin".into(); world.groups = texts(&["system:masters", "system:authenticated"]); }, Waits("RequesterUnknown")),
    ("a service account asks", joining, |world| { world.username = "system:serviceaccount:default:default".into(); world.groups = texts(&["system:serviceaccounts", "system:authenticated"]); }, Waits("RequesterUnknown")),
    ("anonymous asks", joining, |world| { world.username = "system:anonymous".into(); world.groups = texts(&["system:unauthenticated"]); }, Waits("RequesterUnknown")),
    ("nobody asks", joining, |world| { world.username.clear(); world.groups.clear(); }, Waits("RequesterUnknown")),
    ("a token that no Machine stands behind", joining, |world| world.groups = texts(&["system:bootstrappers", "system:authenticated"]), Waits("RequesterUnknown")),
    ("a token of another tool", joining, |world| world.groups = texts(&["system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token", "system:authenticated"]), Waits("RequesterUnknown")),
    ("a user who is called like a token", joining, |world| { world.username = "system:bootstrap:".into(); }, Denied("CredentialReplaced")),
    ("a user with a node's name but not its group", renewing, |world| world.groups = texts(&["system:authenticated"]), Waits("RequesterUnknown")),
    ("a user with a node's group but not its name", renewing, |world| world.username = "alice".into(), Waits("RequesterUnknown")),
    ("somebody with a Machine's group and no token", joining, |world| world.username = "alice".into(), Waits("RequesterUnknown")),
    ("a token with an administrator's group", joining, |world| world.groups.push("system:masters".into()), Denied("RequesterHasOtherGroups")),
    ("a token with the groups of two Machines", joining, |world| world.groups.push("system:bootstrappers:roost:pool-ffffffff".into()), Denied("RequesterHasOtherGroups")),
    ("a token without the group of tokens", joining, |world| world.groups = texts(&["system:bootstrappers:roost:pool-0a1b2c3d", "system:authenticated"]), Denied("RequesterLacksGroup")),
    ("a token that is not authenticated", joining, |world| { world.groups.pop(); }, Denied("RequesterLacksGroup")),
    ("a token that claims to be a node", joining, |world| world.groups.push("system:nodes".into()), Denied("RequesterHasOtherGroups")),
    ("a node with an administrator's group", renewing, |world| world.groups.push("system:masters".into()), Denied("RequesterHasOtherGroups")),
    ("a node that is also a bootstrapper", renewing, |world| world.groups.push("system:bootstrappers".into()), Denied("RequesterHasOtherGroups")),
    ("a node that is not authenticated", renewing, |world| world.groups = texts(&["system:nodes"]), Denied("RequesterLacksGroup")),
    ("a node with another group asks to serve", serving, |world| world.groups.push("developers".into()), Denied("RequesterHasOtherGroups")),
    ("a token asks for a serving certificate", serving, |world| { let World { username, groups, .. } = joining(); (world.username, world.groups) = (username, groups); }, Denied("ServingByToken")),
    ("an administrator asks to serve as a node", serving, |world| { world.username = "kubernetes-admin".into(); world.groups = texts(&["system:masters", "system:authenticated"]); }, Waits("RequesterUnknown")),
    ("a node without a name", renewing, |world| { world.username = "system:node:".into(); world.common_name = "system:node:".into(); }, Denied("NodeNameWrong")),
];

#[rustfmt::skip]
const CREDENTIALS: &[Case] = &[
    ("no such Machine", joining, |world| world.machine = None, Denied("MachineMissing")),
    ("a Machine of another name", joining, |world| world.machine().name = "pool-ffffffff".into(), Denied("MachineMissing")),
    ("a token of another pool", joining, |world| world.groups[1] = "system:bootstrappers:roost:other-0a1b2c3d".into(), Denied("MachineMissing")),
    ("the Machine goes", joining, |world| world.machine().is_deleting = true, Denied("MachineDeleting")),
    ("a token from before the last fetch", joining, |world| world.username = "system:bootstrap:000000".into(), Denied("CredentialReplaced")),
    ("a token that somebody made up for the Machine", joining, |world| world.username = "system:bootstrap:fedcba".into(), Denied("CredentialReplaced")),
    ("the Machine's token is gone", joining, |world| world.machine().token_id.clear(), Denied("CredentialReplaced")),
    ("neither has a token", joining, |world| { world.machine().token_id.clear(); world.username = "system:bootstrap:".into(); }, Denied("CredentialReplaced")),
    ("a request from before the fetch", joining, |world| world.created = time("2026-01-01T11:59:00Z"), Denied("OutsideJoinWindow")),
    ("a request from after the window", joining, |world| { world.created = time("2026-01-01T14:00:01Z"); world.now = world.created; }, Denied("OutsideJoinWindow")),
    ("a request that was looked at too late", joining, |world| world.now = time("2026-01-01T14:00:01Z"), Denied("OutsideJoinWindow")),
    ("a request replayed a day later", joining, |world| { world.created = time("2026-01-02T12:00:00Z"); world.now = world.created; }, Denied("OutsideJoinWindow")),
    ("a request without a time", joining, |world| world.created = Timestamp::UNIX_EPOCH, Denied("OutsideJoinWindow")),
    ("an eleventh certificate", joining, |world| world.machine().approvals = 10, Denied("TooManyApprovals")),
    ("a hundredth certificate", joining, |world| world.machine().approvals = 99, Denied("TooManyApprovals")),
    ("a request that another of the same host followed", joining, |world| world.later = Some("csr-2"), Denied("AskedAgain")),
    ("another host has the name", joining, |world| world.rival = Some("pool-00000000"), Waits("NodeNameTaken")),
    ("a cloned host while the first lives", joining, |world| world.node = Some(node()), Waits("NodeAlive")),
    ("a cloned host, the first known by uid", joining, |world| { world.node = Some(Node { provider_id: String::new(), ..node() }); world.machine().node_uid = Some("uid-1".into()); }, Waits("NodeAlive")),
    ("a node of another Machine", joining, |world| world.node = Some(Node { provider_id: "roost://cluster/pool-ffffffff".into(), is_ready: false, ..node() }), Waits("NodeForeign")),
    ("a node of another cluster", joining, |world| world.node = Some(Node { provider_id: "roost://other/pool-0a1b2c3d".into(), is_ready: false, ..node() }), Waits("NodeForeign")),
    ("a node that a person made", joining, |world| world.node = Some(Node { provider_id: String::new(), is_ready: false, ..node() }), Waits("NodeForeign")),
    ("a node that a person made again", joining, |world| { world.node = Some(Node { provider_id: String::new(), uid: "uid-2".into(), is_ready: false, ..node() }); world.machine().node_uid = Some("uid-1".into()); }, Waits("NodeForeign")),
    ("a flood", joining, |world| world.pending = 102, Waits("TooManyPendingRequests")),
    ("a flood of renewals", renewing, |world| world.pending = 102, Waits("TooManyPendingRequests")),
    ("a flood of serving requests", serving, |world| { world.known = 0; world.pending = 101; }, Waits("TooManyPendingRequests")),
    ("a node whose Machine is gone renews", renewing, |world| world.machine = None, Waits("MachineMissing")),
    ("a node whose Machine goes renews", renewing, |world| world.machine().is_deleting = true, Denied("MachineDeleting")),
    ("a node that is gone renews", renewing, |world| world.node = None, Waits("NodeMissing")),
    ("a node of another Machine renews", renewing, |world| world.node().provider_id = "roost://cluster/pool-ffffffff".into(), Waits("NodeForeign")),
    ("the Machine of another node is shown", renewing, |world| world.machine().node_name = "node-2".into(), Waits("MachineMissing")),
    ("a serving request before the node", serving, |world| world.node = None, Waits("NodeMissing")),
    ("a serving request of a node without a Machine", serving, |world| world.machine = None, Waits("MachineMissing")),
    ("a serving request while the Machine goes", serving, |world| world.machine().is_deleting = true, Denied("MachineDeleting")),
    ("a serving request of a foreign node", serving, |world| world.node().provider_id = "aws:///i-1".into(), Waits("NodeForeign")),
    ("a serving request of a node without provider id", serving, |world| world.node().provider_id.clear(), Waits("NodeForeign")),
];

#[rustfmt::skip]
const SUBJECTS: &[Case] = &[
    ("another node's name", joining, |world| world.common_name = "system:node:node-2".into(), Denied("NodeNameWrong")),
    ("no prefix", joining, |world| world.common_name = "node-1".into(), Denied("NodeNameWrong")),
    ("another prefix", joining, |world| world.common_name = "system:nodes:node-1".into(), Denied("NodeNameWrong")),
    ("upper case", joining, |world| world.common_name = "system:node:NODE-1".into(), Denied("NodeNameWrong")),
    ("a trailing dot", joining, |world| world.common_name = "system:node:node-1.".into(), Denied("NodeNameWrong")),
    ("a trailing blank", joining, |world| world.common_name = "system:node:node-1 ".into(), Denied("NodeNameWrong")),
    ("a trailing zero byte", joining, |world| world.common_name = "system:node:node-1\0".into(), Denied("NodeNameWrong")),
    ("a letter that looks alike", joining, |world| world.common_name = "system:node:nоde-1".into(), Denied("NodeNameWrong")),
    ("a line end in the name", joining, |world| world.common_name = "system:node:node-1\nadmin".into(), Denied("NodeNameWrong")),
    ("a longer name that begins alike", joining, |world| world.common_name = "system:node:node-10".into(), Denied("NodeNameWrong")),
    ("a wildcard", joining, |world| world.common_name = "system:node:*".into(), Denied("NodeNameWrong")),
    ("only the prefix", joining, |world| world.common_name = "system:node:".into(), Denied("NodeNameWrong")),
    ("an administrator's name", joining, |world| world.common_name = "system:admin".into(), Denied("NodeNameWrong")),
    ("a control plane component's name", joining, |world| world.common_name = "system:kube-controller-manager".into(), Denied("NodeNameWrong")),
    ("a very long name", joining, |world| world.common_name = format!("system:node:{}", "a".repeat(60_000)), Denied("NotOneRequest")),
    ("no common name", joining, |world| world.common_name.clear(), Denied("RequestNotPlain")),
    ("two names, the right one first", joining, |world| world.pem = Some(odd::NODE_1_THEN_2.into()), Denied("RequestNotPlain")),
    ("two names, the right one last", joining, |world| world.pem = Some(odd::NODE_2_THEN_1.into()), Denied("RequestNotPlain")),
    ("a user id in the subject", joining, |world| world.pem = Some(odd::USER_ID.into()), Denied("RequestNotPlain")),
    ("a node renews another's name", renewing, |world| world.common_name = "system:node:node-2".into(), Denied("NodeNameWrong")),
    ("a node serves by another's name", serving, |world| world.common_name = "system:node:node-2".into(), Denied("NodeNameWrong")),
    ("an administrator's organization too", joining, |world| world.organizations.push("system:masters".into()), Denied("OrganizationsWrong")),
    ("an administrator's organization only", joining, |world| world.organizations = texts(&["system:masters"]), Denied("OrganizationsWrong")),
    ("no organization", joining, |world| world.organizations.clear(), Denied("OrganizationsWrong")),
    ("the organization twice", joining, |world| world.organizations.push("system:nodes".into()), Denied("OrganizationsWrong")),
    ("an empty organization too", joining, |world| world.organizations.push(String::new()), Denied("OrganizationsWrong")),
    ("a hundred organizations", joining, |world| world.organizations = (0..100).map(|n| format!("group-{n}")).collect(), Denied("OrganizationsWrong")),
    ("the organization in upper case", joining, |world| world.organizations = texts(&["SYSTEM:NODES"]), Denied("OrganizationsWrong")),
    ("a renewal with more rights", renewing, |world| world.organizations.push("system:masters".into()), Denied("OrganizationsWrong")),
    ("serving with more rights", serving, |world| world.organizations.push("system:masters".into()), Denied("OrganizationsWrong")),
    ("serving without the organization", serving, |world| world.organizations.clear(), Denied("OrganizationsWrong")),
];

#[rustfmt::skip]
const NAMES: &[Case] = &[
    ("a client with a host name", joining, |world| world.hosts(&["node-1"]), Denied("ClientNamesHosts")),
    ("a client with an address", joining, |world| world.hosts(&["192.0.2.10"]), Denied("ClientNamesHosts")),
    ("a client with a mail address", joining, |world| world.alternative_names = vec![AlternativeName::Email("root@example.com".into())], Denied("ClientNamesHosts")),
    ("a client with a URI", joining, |world| world.alternative_names = vec![AlternativeName::Uri("spiffe://cluster/admin".into())], Denied("ClientNamesHosts")),
    ("a renewal with a host name", renewing, |world| world.hosts(&["node-1"]), Denied("ClientNamesHosts")),
    ("serving nothing", serving, |world| world.alternative_names.clear(), Denied("ServingNamesNothing")),
    ("serving another node's name", serving, |world| world.hosts(&["node-2"]), Denied("HostNameWrong")),
    ("serving its own and another node's name", serving, |world| world.hosts(&["node-1", "node-2"]), Denied("HostNameWrong")),
    ("serving a wildcard", serving, |world| world.dns("*"), Denied("HostNameWrong")),
    ("serving a wildcard below its name", serving, |world| world.dns("*.node-1"), Denied("HostNameWrong")),
    ("serving a foreign domain", serving, |world| world.dns("node-1.example.com"), Denied("HostNameWrong")),
    ("serving as the API", serving, |world| world.dns("kubernetes.default.svc"), Denied("HostNameWrong")),
    ("serving as localhost", serving, |world| world.dns("localhost"), Denied("HostNameWrong")),
    ("serving its name in upper case", serving, |world| world.dns("NODE-1"), Denied("HostNameWrong")),
    ("serving its name with a dot", serving, |world| world.dns("node-1."), Denied("HostNameWrong")),
    ("serving an empty name", serving, |world| world.dns(""), Denied("HostNameWrong")),
    ("serving an address spelt as a name", serving, |world| world.dns("192.0.2.20"), Denied("HostNameWrong")),
    ("serving a mail address", serving, |world| world.alternative_names.push(AlternativeName::Email("root@node-1".into())), Denied("ServingNameKindWrong")),
    ("serving a URI", serving, |world| world.alternative_names.push(AlternativeName::Uri("https://node-1".into())), Denied("ServingNameKindWrong")),
    ("serving a thousand foreign names", serving, |world| world.alternative_names = (0..1000).map(|n| AlternativeName::Dns(format!("n{n}"))).collect(), Denied("HostNameWrong")),
    ("another node's address", serving, |world| world.hosts(&["node-1", "192.0.2.20"]), Waits("AddressTaken")),
    ("another node's address that is also its own", serving, |world| { world.machine().addresses.push("192.0.2.20".parse().unwrap()); world.hosts(&["192.0.2.20"]); }, Waits("AddressTaken")),
    ("another node's address inside the machine network", serving, |world| { world.networks.machines.push("192.0.2.0/24".parse().unwrap()); world.hosts(&["192.0.2.20"]); }, Waits("AddressTaken")),
    ("an address that nobody knows", serving, |world| world.hosts(&["198.51.100.7"]), Waits("AddressUnknown")),
    ("an address beside the machine network", serving, |world| { world.networks.machines.push("192.0.2.0/25".parse().unwrap()); world.hosts(&["192.0.2.200"]); }, Waits("AddressUnknown")),
    ("the API's address inside the machine network", serving, |world| { world.networks.machines.push("192.0.2.0/24".parse().unwrap()); world.hosts(&["192.0.2.1"]); }, Waits("AddressUnknown")),
    ("the API's service address", serving, |world| world.hosts(&["172.31.0.1"]), Denied("AddressWrong")),
    ("another service's address, pinned", serving, |world| { world.machine().addresses.push("172.31.0.10".parse().unwrap()); world.hosts(&["172.31.0.10"]); }, Denied("AddressWrong")),
    ("a pod's address", serving, |world| world.hosts(&["10.132.0.5"]), Denied("AddressWrong")),
    ("a pod's address, mapped", serving, |world| world.hosts(&["::ffff:10.132.0.5"]), Denied("AddressWrong")),
    ("loopback", serving, |world| world.hosts(&["127.0.0.1"]), Denied("AddressWrong")),
    ("loopback, mapped", serving, |world| world.hosts(&["::ffff:127.0.0.1"]), Denied("AddressWrong")),
    ("loopback of the sixth version", serving, |world| world.hosts(&["::1"]), Denied("AddressWrong")),
    ("no address", serving, |world| world.hosts(&["0.0.0.0"]), Denied("AddressWrong")),
    ("everybody's address", serving, |world| world.hosts(&["255.255.255.255"]), Denied("AddressWrong")),
    ("a group's address", serving, |world| world.hosts(&["224.0.0.1"]), Denied("AddressWrong")),
    ("another node's address, mapped", serving, |world| world.hosts(&["::ffff:192.0.2.20"]), Waits("AddressTaken")),
];

#[rustfmt::skip]
const SHAPES: &[Case] = &[
    ("no text", joining, |world| world.pem = Some(String::new()), Denied("NotOneRequest")),
    ("words", joining, |world| world.pem = Some("please".into()), Denied("NotOneRequest")),
    ("two blocks", joining, |world| world.bend = |pem| format!("{pem}{pem}"), Denied("NotOneRequest")),
    ("a foreign block first", joining, |world| world.bend = |pem| format!("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n{pem}"), Denied("NotOneRequest")),
    ("a foreign block last", joining, |world| world.bend = |pem| format!("{pem}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), Denied("NotOneRequest")),
    ("words before", joining, |world| world.bend = |pem| format!("hello\n{pem}"), Denied("NotOneRequest")),
    ("words after", joining, |world| world.bend = |pem| format!("{pem}hello\n"), Denied("NotOneRequest")),
    ("another label", joining, |world| world.bend = |pem| pem.replace("CERTIFICATE REQUEST", "CERTIFICATE"), Denied("NotOneRequest")),
    ("the old label", joining, |world| world.bend = |pem| pem.replace("CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"), Denied("NotOneRequest")),
    ("headers in the block", joining, |world| world.bend = |pem| pem.replacen("-----\n", "-----\nProc-Type: 4,ENCRYPTED\n\n", 1), Denied("NotOneRequest")),
    ("no end", joining, |world| world.bend = |pem| pem.replace("-----END CERTIFICATE REQUEST-----\n", ""), Denied("NotOneRequest")),
    ("a request of a megabyte", joining, |world| world.bend = |_| format!("-----BEGIN CERTIFICATE REQUEST-----\n{}\n-----END CERTIFICATE REQUEST-----\n", "A".repeat(1 << 20)), Denied("NotOneRequest")),
    ("an empty block", joining, |world| world.pem = Some("-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----\n".into()), Denied("RequestMalformed")),
    ("no base64", joining, |world| world.pem = Some("-----BEGIN CERTIFICATE REQUEST-----\n!!!!\n-----END CERTIFICATE REQUEST-----\n".into()), Denied("RequestMalformed")),
    ("base64 of nothing sensible", joining, |world| world.pem = Some("-----BEGIN CERTIFICATE REQUEST-----\nAAAAAAAA\n-----END CERTIFICATE REQUEST-----\n".into()), Denied("RequestMalformed")),
    ("cut in the middle", joining, |world| world.bend = |pem| { let lines: Vec<&str> = pem.lines().collect(); [&lines[..3], &lines[lines.len() - 1..]].concat().join("\n") }, Denied("RequestMalformed")),
    ("a subject that was changed after signing", joining, |world| world.bend = |pem| damaged(&pem), Denied("RequestMalformed")),
    ("an RSA key of 1024 bits", joining, |world| world.pem = Some(odd::RSA_1024.into()), Denied("RequestMalformed")),
    ("a curve that nobody uses", joining, |world| world.pem = Some(odd::SECP256K1.into()), Denied("RequestMalformed")),
    ("a small curve", joining, |world| world.pem = Some(odd::P192.into()), Denied("RequestMalformed")),
    ("Ed25519", joining, |world| world.pem = Some(odd::ED25519.into()), Denied("KeyTooWeak")),
    ("signed with SHA-1", joining, |world| world.pem = Some(odd::SHA1.into()), Denied("RequestMalformed")),
    ("a challenge password", joining, |world| world.pem = Some(odd::CHALLENGE.into()), Denied("RequestNotPlain")),
    ("a certificate authority", joining, |world| world.pem = Some(odd::AUTHORITY.into()), Denied("RequestNotPlain")),
    ("a weak key at a renewal", renewing, |world| world.pem = Some(odd::RSA_1024.into()), Denied("RequestMalformed")),
    ("two blocks at a renewal", renewing, |world| world.bend = |pem| format!("{pem}{pem}"), Denied("NotOneRequest")),
    ("two blocks to serve", serving, |world| world.bend = |pem| format!("{pem}{pem}"), Denied("NotOneRequest")),
    ("an authority to serve", serving, |world| world.pem = Some(odd::AUTHORITY.into()), Denied("RequestNotPlain")),
    ("no usages", joining, |world| world.usages.clear(), Denied("UsagesWrong")),
    ("one usage", joining, |world| { world.usages.pop(); }, Denied("UsagesWrong")),
    ("a client that serves", joining, |world| world.usages = texts(&["digital signature", "server auth"]), Denied("UsagesWrong")),
    ("a client that also serves", joining, |world| world.usages.push("server auth".into()), Denied("UsagesWrong")),
    ("a client that signs certificates", joining, |world| world.usages.push("cert sign".into()), Denied("UsagesWrong")),
    ("any usage", joining, |world| world.usages.push("any".into()), Denied("UsagesWrong")),
    ("a usage twice", joining, |world| world.usages.push("client auth".into()), Denied("UsagesWrong")),
    ("a usage in upper case", joining, |world| world.usages = texts(&["Digital Signature", "Client Auth"]), Denied("UsagesWrong")),
    ("a server that is a client", serving, |world| world.usages = texts(&["digital signature", "client auth"]), Denied("UsagesWrong")),
    ("a server that is also a client", serving, |world| world.usages.push("client auth".into()), Denied("UsagesWrong")),
    ("a server that signs code", serving, |world| world.usages.push("code signing".into()), Denied("UsagesWrong")),
    ("a client certificate by the serving signer", joining, |world| world.signer = Signer::Serving, Denied("ServingByToken")),
    ("a renewal by the serving signer", renewing, |world| world.signer = Signer::Serving, Denied("UsagesWrong")),
    ("a serving certificate by the client signer", serving, |world| world.signer = Signer::Client, Denied("ClientNamesHosts")),
];

/// Another name in the same signature.
fn damaged(pem: &str) -> String {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    let body: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    let mut bytes = STANDARD.decode(body).unwrap();
    let place = bytes.windows(6).position(|window| window == b"node-1").unwrap();
    bytes[place + 5] = b'2';
    format!("-----BEGIN CERTIFICATE REQUEST-----\n{}\n-----END CERTIFICATE REQUEST-----\n", STANDARD.encode(bytes))
}

fn end(verdict: &Verdict) -> End {
    match verdict {
        Verdict::Approve => Approved,
        Verdict::Deny(rule) => Denied(rule.name()),
        Verdict::Wait(rule) => Waits(rule.name()),
    }
}

#[test]
fn every_case_ends_as_it_must() {
    let tables = [HONEST, REQUESTERS, CREDENTIALS, SUBJECTS, NAMES, SHAPES];
    let mut wrong = Vec::new();
    for (name, world, bend, wanted) in tables.into_iter().flatten() {
        let mut world = world();
        bend(&mut world);
        let verdict = world.verdict();
        if end(&verdict) != *wanted {
            wrong.push(format!("{name}: {verdict:?} instead of {wanted:?}"));
        }
        if let Verdict::Deny(rule) | Verdict::Wait(rule) = &verdict {
            let words = rule.to_string();
            assert!(words.len() < 1024 && !words.contains('\n'), "{name}: {words:?}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let hostile: usize = tables[1..].iter().map(|table| table.len()).sum();
    assert!(hostile >= 120, "{hostile} hostile and odd requests");
}

#[test]
fn nothing_but_the_fetch_opens_the_window() {
    for minutes in [-60, -1, 0, 1, 119, 121, 600] {
        let mut world = joining();
        world.created = machine().fetched_at + SignedDuration::from_mins(minutes);
        world.now = world.created;
        let is_inside = (0..=120).contains(&minutes);
        assert_eq!(world.verdict() == Verdict::Approve, is_inside, "{minutes} minutes after the fetch");
    }
}
