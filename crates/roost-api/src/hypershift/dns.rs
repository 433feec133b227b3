//! The names of a hosted cluster in DNS.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{Rule, Rules};

/// The names of a cluster in DNS.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DnsSpec {
    /// The domain that the cluster's names end with. Immutable once set.
    #[schemars(length(max = 253))]
    #[schemars(transform = Rules([
        Rule::new(
            r#"self == "" || self.matches('^(?:(?:[a-zA-Z0-9-]+\\.)+[a-zA-Z]{2,}|[a-zA-Z0-9-]+)$')"#,
            "baseDomain must be a valid domain name (e.g., example, example.com, sub.example.com)",
        ),
        Rule::new(r#"oldSelf == "" || self == oldSelf"#, "baseDomain is immutable"),
    ]))]
    pub base_domain: String,
    /// What stands before the base domain; the cluster's name when absent, and nothing when empty. Immutable once
    /// set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    #[schemars(transform = Rules([
        Rule::new(
            r#"self == "" || self.matches('^(?:(?:[a-zA-Z0-9-]+\\.)+[a-zA-Z]{2,}|[a-zA-Z0-9-]+)$')"#,
            "baseDomainPrefix must be a valid domain name (e.g., example, example.com, sub.example.com)",
        ),
        Rule::new("self == oldSelf", "baseDomainPrefix is immutable"),
    ]))]
    pub base_domain_prefix: Option<String>,
    /// The zone with the names that anyone may look up. Immutable once set.
    #[serde(rename = "publicZoneID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 258))]
    #[schemars(transform = Rules([Rule::new(r#"oldSelf == "" || self == oldSelf"#, "publicZoneID is immutable")]))]
    pub public_zone_id: Option<String>,
    /// The zone with the names for the cluster alone. Immutable once set.
    #[serde(rename = "privateZoneID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 265))]
    #[schemars(transform = Rules([Rule::new(r#"oldSelf == "" || self == oldSelf"#, "privateZoneID is immutable")]))]
    pub private_zone_id: Option<String>,
}
