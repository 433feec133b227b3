//! The rules of the approver, and what each says when it is broken.

use std::net::IpAddr;

use jiff::Timestamp;

/// A rule that a request breaks. Its text is one sentence for the person who wonders.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Rule {
    #[error("{pending} requests of nodes wait while {known} machines are known; none is approved until some are gone")]
    TooManyPending { pending: usize, known: usize },
    #[error(
        "{username:?} is neither a node nor a host that fetched its configuration; a person may still approve the request"
    )]
    Requester { username: String },
    #[error("the requester has the group {group:?}, which neither a node nor a joining host has")]
    Group { group: String },
    #[error("the requester lacks the group {group:?}")]
    GroupMissing { group: &'static str },
    #[error("the request is not exactly one PEM block of the type CERTIFICATE REQUEST")]
    Pem,
    #[error("the request cannot be read: {problem}")]
    Malformed { problem: String },
    #[error("the key is too weak or of an unknown kind; RSA from 2048 bits, P-256, P-384 and P-521 are good")]
    Key,
    #[error("the request says more than a common name, organizations and alternative names")]
    NotPlain,
    #[error("the organizations are {found:?}; a node's certificate has exactly [\"system:nodes\"]")]
    Organizations { found: Vec<String> },
    #[error("the common name is {found:?}; the requester may only ask for {wanted:?}")]
    CommonName { found: String, wanted: String },
    #[error("the client certificate of a node has no alternative names, but {found:?} is asked for")]
    ClientAlternativeName { found: String },
    #[error("the usages are {found:?}, which are not those of a node's certificate for this signer")]
    Usages { found: Vec<String> },
    #[error("a serving certificate is for a node to ask for by its own certificate, not by a bootstrap token")]
    ServingByToken,
    #[error("the serving certificate names no host and no address")]
    NoAlternativeName,
    #[error("{found:?} is asked for, but a serving certificate names hosts and addresses only")]
    ServingNameKind { found: String },
    #[error("the host name {found:?} is not the node's; {wanted:?} is")]
    HostName { found: String, wanted: String },
    #[error("the address {address} cannot be that of a node: {why}")]
    Address { address: IpAddr, why: &'static str },
    #[error(
        "the address {address} is not one that the host had when it fetched its configuration; add it to the annotation roost.dev/host-addresses of the Machine {machine} if it is right"
    )]
    AddressUnknown { address: IpAddr, machine: String },
    #[error("the address {address} belongs to the node {node}")]
    AddressTaken { address: IpAddr, node: String },
    #[error("no Machine {machine} exists; the host has to fetch its configuration again")]
    NoMachine { machine: String },
    #[error("no Machine stands for the node {node}; a person may still approve the request")]
    NoMachineOfNode { node: String },
    #[error("the Machine {machine} is being deleted")]
    MachineDeleting { machine: String },
    #[error("the bootstrap token {token_id} is not the one that the Machine {machine} has now")]
    Credential { token_id: String, machine: String },
    #[error("the Machine {holder} has the node name {name:?} already")]
    NameTaken { name: String, holder: String },
    #[error("the request was made at {created}, outside of the time from {from} to {until} in which the host may join")]
    Window { created: Timestamp, from: Timestamp, until: Timestamp },
    #[error(
        "{count} certificates have been approved for this credential; the host has to fetch its configuration again"
    )]
    TooManyApprovals { count: u32 },
    #[error("the host has asked again since; the request {later} takes the place of this one")]
    Superseded { later: String },
    #[error("the node {node} exists and is Ready; a second host with its identity gets no certificate while it lives")]
    NodeAlive { node: String },
    #[error("a node {node} exists that the Machine {machine} did not become; delete it if it is a leftover")]
    NodeForeign { node: String, machine: String },
    #[error("the node {node} has not registered yet")]
    NodeMissing { node: String },
}

impl Rule {
    /// The rule's name, as events and conditions give it for a reason.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Rule::TooManyPending { .. } => "TooManyPendingRequests",
            Rule::Requester { .. } => "RequesterUnknown",
            Rule::Group { .. } => "RequesterHasOtherGroups",
            Rule::GroupMissing { .. } => "RequesterLacksGroup",
            Rule::Pem => "NotOneRequest",
            Rule::Malformed { .. } => "RequestMalformed",
            Rule::Key => "KeyTooWeak",
            Rule::NotPlain => "RequestNotPlain",
            Rule::Organizations { .. } => "OrganizationsWrong",
            Rule::CommonName { .. } => "NodeNameWrong",
            Rule::ClientAlternativeName { .. } => "ClientNamesHosts",
            Rule::Usages { .. } => "UsagesWrong",
            Rule::ServingByToken => "ServingByToken",
            Rule::NoAlternativeName => "ServingNamesNothing",
            Rule::ServingNameKind { .. } => "ServingNameKindWrong",
            Rule::HostName { .. } => "HostNameWrong",
            Rule::Address { .. } => "AddressWrong",
            Rule::AddressUnknown { .. } => "AddressUnknown",
            Rule::AddressTaken { .. } => "AddressTaken",
            Rule::NoMachine { .. } | Rule::NoMachineOfNode { .. } => "MachineMissing",
            Rule::MachineDeleting { .. } => "MachineDeleting",
            Rule::Credential { .. } => "CredentialReplaced",
            Rule::NameTaken { .. } => "NodeNameTaken",
            Rule::Window { .. } => "OutsideJoinWindow",
            Rule::TooManyApprovals { .. } => "TooManyApprovals",
            Rule::Superseded { .. } => "AskedAgain",
            Rule::NodeAlive { .. } => "NodeAlive",
            Rule::NodeForeign { .. } => "NodeForeign",
            Rule::NodeMissing { .. } => "NodeMissing",
        }
    }
}

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is right.
    Approve,
    /// It can never become right.
    Deny(Rule),
    /// It may become right, or a person may approve it.
    Wait(Rule),
}
