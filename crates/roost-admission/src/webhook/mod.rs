//! Webhooks: which requests they are asked about, what they are sent, and what their answers mean.

mod answer;
mod review;
mod words;

use roost_object::Value;

use crate::matching::{Rule, Selection};

pub use answer::{Answer, InvalidAnswer, ReviewVersion};
pub use review::{Review, review};
pub use words::{denied, dry_run_unsupported, failed, response_words};

/// A webhook of a configuration.
#[derive(Debug)]
pub struct Webhook {
    /// The name of the configuration that it is in.
    pub configuration: String,
    /// Its own name.
    pub name: String,
    /// What tells it from all others, those of the same name too.
    pub id: String,
    /// Where it listens.
    pub client: Client,
    /// Which requests it wants to see.
    pub rules: Vec<Rule>,
    /// Whether it also wants to see them when they are made through another version.
    pub equivalent: bool,
    /// In which namespaces.
    pub namespaces: Selection,
    /// With which labels.
    pub objects: Selection,
    /// Whether a request is let through when the webhook cannot be asked.
    pub fails_open: bool,
    /// How long it may take.
    pub timeout_seconds: Option<u64>,
    /// Whether it can be asked about what is not going to happen; none when it does not say.
    pub dry_run: Option<bool>,
    /// Whether it is asked again when a later one changed the object.
    pub reinvoked: bool,
    /// The first version of reviews that it reads and we write; none when there is no such.
    pub version: Option<ReviewVersion>,
    /// More conditions, as expressions with names.
    pub conditions: Vec<Condition>,
}

/// A condition of a webhook or policy.
#[derive(Clone, Debug)]
pub struct Condition {
    /// The name.
    pub name: String,
    /// The expression.
    pub expression: String,
}

impl Condition {
    /// Reads a list of conditions.
    pub fn read_all(conditions: &Value) -> Vec<Self> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let conditions = conditions.as_array().into_iter().flatten();
        conditions.map(|one| Self { name: text(&one["name"]), expression: text(&one["expression"]) }).collect()
    }
}

/// Where a webhook listens, and whom to trust there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Client {
    /// The address.
    pub address: Address,
    /// Certificates in PEM that vouch for it; empty for those that the system trusts.
    pub authorities: String,
}

/// The address of a webhook.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// A URL.
    Url(String),
    /// A Service of the cluster.
    Service {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Its port.
        port: u16,
        /// The path there.
        path: String,
    },
}

/// The port of a Service that a webhook is asked on when none is named.
const HTTPS_PORT: u16 = 443;

impl Client {
    /// Reads a client configuration; `decode` reads base64.
    pub fn read(config: &Value, decode: fn(&str) -> Vec<u8>) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let service = &config["service"];
        let address = if service.is_object() {
            Address::Service {
                namespace: text(&service["namespace"]),
                name: text(&service["name"]),
                port: service["port"].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap_or(HTTPS_PORT),
                path: text(&service["path"]),
            }
        } else {
            Address::Url(text(&config["url"]))
        };
        let bundle = decode(config["caBundle"].as_str().unwrap_or_default());
        Self { address, authorities: String::from_utf8_lossy(&bundle).into_owned() }
    }
}

impl Webhook {
    /// Reads the webhooks of a configuration, in their order.
    pub fn read_all(configuration: &Value, decode: fn(&str) -> Vec<u8>) -> Vec<Self> {
        let owner = configuration["metadata"]["name"].as_str().unwrap_or_default();
        let webhooks = configuration["webhooks"].as_array().map(Vec::as_slice).unwrap_or_default();
        let read = |(index, webhook): (usize, &Value)| {
            let name = webhook["name"].as_str().unwrap_or_default();
            let earlier = webhooks[..index].iter().filter(|other| other["name"] == name).count();
            Self {
                configuration: owner.to_owned(),
                name: name.to_owned(),
                id: format!("{owner}/{name}/{earlier}"),
                client: Client::read(&webhook["clientConfig"], decode),
                rules: Rule::read_all(&webhook["rules"]),
                equivalent: webhook["matchPolicy"] == "Equivalent",
                namespaces: Selection::read(&webhook["namespaceSelector"]),
                objects: Selection::read(&webhook["objectSelector"]),
                fails_open: webhook["failurePolicy"] == "Ignore",
                timeout_seconds: webhook["timeoutSeconds"].as_u64(),
                dry_run: webhook["sideEffects"].as_str().map(|effects| matches!(effects, "None" | "NoneOnDryRun")),
                reinvoked: webhook["reinvocationPolicy"] == "IfNeeded",
                version: ReviewVersion::first_known(&webhook["admissionReviewVersions"]),
                conditions: Condition::read_all(&webhook["matchConditions"]),
            }
        };
        webhooks.iter().enumerate().map(read).collect()
    }
}
