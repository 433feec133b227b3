//! How a hosted API is published.

use serde_json::Value;

/// The ports that Services of type NodePort get.
pub(crate) const NODE_PORTS: std::ops::RangeInclusive<u16> = 30_000..=32_767;

/// The way in which clients reach a hosted API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Publishing {
    /// A port of its own on an address or name that the user gave.
    NodePort { address: String, port: Option<u16> },
    /// A load balancer in front, under a name if the user gave one.
    LoadBalancer { hostname: Option<String> },
    /// A name on the shared listener.
    Route { hostname: String },
}

/// Why an API cannot be published.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PublishingProblem {
    #[error("spec.services has no entry for APIServer; add one with a servicePublishingStrategy")]
    Missing,
    #[error("the servicePublishingStrategy of APIServer has type NodePort but no nodePort.address")]
    NoAddress,
    #[error(
        "the servicePublishingStrategy of APIServer has type Route but no route.hostname; the shared listener finds a cluster by its name"
    )]
    NoHostname,
    #[error("the servicePublishingStrategy of APIServer has type {0:?}; expected NodePort, LoadBalancer or Route")]
    Unsupported(String),
}

impl Publishing {
    /// What a HostedCluster's or HostedControlPlane's spec says about its API.
    pub(crate) fn of_api_server(spec: &Value) -> Result<Publishing, PublishingProblem> {
        Self::of_service(spec, "APIServer")
    }

    /// What a spec says about where machines fetch their configuration: beside the API, unless it says otherwise.
    pub(crate) fn of_ignition(spec: &Value) -> Result<Publishing, PublishingProblem> {
        Self::of_service(spec, "Ignition").or_else(|_| {
            Ok(match Self::of_api_server(spec)? {
                Publishing::NodePort { address, .. } => Publishing::NodePort { address, port: None },
                other => other,
            })
        })
    }

    fn of_service(spec: &Value, name: &str) -> Result<Publishing, PublishingProblem> {
        let services = spec["services"].as_array().map(Vec::as_slice).unwrap_or_default();
        let service = services.iter().find(|service| service["service"] == name).ok_or(PublishingProblem::Missing)?;
        let strategy = &service["servicePublishingStrategy"];
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        match strategy["type"].as_str().unwrap_or_default() {
            "NodePort" => Ok(Publishing::NodePort {
                address: text(&strategy["nodePort"]["address"]).ok_or(PublishingProblem::NoAddress)?,
                port: strategy["nodePort"]["port"]
                    .as_u64()
                    .and_then(|port| u16::try_from(port).ok())
                    .filter(|&port| port > 0),
            }),
            "LoadBalancer" => Ok(Publishing::LoadBalancer { hostname: text(&strategy["loadBalancer"]["hostname"]) }),
            "Route" => Ok(Publishing::Route {
                hostname: text(&strategy["route"]["hostname"]).ok_or(PublishingProblem::NoHostname)?,
            }),
            other => Err(PublishingProblem::Unsupported(other.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn strategies() {
        let of = |strategy: Value| {
            Publishing::of_api_server(
                &json!({"services": [{"service": "APIServer", "servicePublishingStrategy": strategy}]}),
            )
        };
        assert_eq!(
            of(json!({"type": "NodePort", "nodePort": {"address": "api.demo.example.test", "port": 0}})),
            Ok(Publishing::NodePort { address: "api.demo.example.test".to_owned(), port: None })
        );
        assert_eq!(of(json!({"type": "LoadBalancer"})), Ok(Publishing::LoadBalancer { hostname: None }));
        assert_eq!(of(json!({"type": "Route"})), Err(PublishingProblem::NoHostname));
        assert_eq!(of(json!({"type": "S3"})), Err(PublishingProblem::Unsupported("S3".to_owned())));
        assert_eq!(Publishing::of_api_server(&json!({})), Err(PublishingProblem::Missing));
    }

    #[test]
    fn machines_are_sent_beside_the_api_unless_the_spec_says_otherwise() {
        let api = json!({"service": "APIServer", "servicePublishingStrategy":
            {"type": "NodePort", "nodePort": {"address": "192.0.2.1", "port": 31000}}});
        let near = Publishing::NodePort { address: "192.0.2.1".to_owned(), port: None };
        assert_eq!(Publishing::of_ignition(&json!({"services": [api]})), Ok(near.clone()));
        let nameless = json!({"service": "Ignition", "servicePublishingStrategy": {"type": "Route"}});
        assert_eq!(Publishing::of_ignition(&json!({"services": [api, nameless]})), Ok(near));
        let own = json!({"service": "Ignition", "servicePublishingStrategy":
            {"type": "NodePort", "nodePort": {"address": "192.0.2.9", "port": 32000}}});
        let wanted = Publishing::NodePort { address: "192.0.2.9".to_owned(), port: Some(32000) };
        assert_eq!(Publishing::of_ignition(&json!({"services": [api, own]})), Ok(wanted));
    }
}
