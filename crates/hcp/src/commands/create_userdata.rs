//! `hcp create userdata`: a pool's user-data in the wrapping of a platform.

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use roost_api::hypershift::names::annotation::NODE_POOL;
use roost_ignition::payload::Artifact;
use roost_ignition::user_data::Format;
use roost_ignition::{Config, Pointer};
use roost_pki::{AlternativeName, CertificateBundle};
use serde_json::Value;

use crate::arguments::CreateUserData;
use crate::conditions::condition;
use crate::high::{self, UserDataRequest};
use crate::plane::{NODE_POOLS, Plane, SECRETS};

use super::error::CommandError;
use super::{files, printed};

/// Whose certificate the ignition server shows, in the control plane's namespace.
const SERVING_CERTIFICATE: &str = "ignition-server-serving-cert";
/// Where a host without Ignition has its agent.
const AGENT: &str = "/usr/local/bin/hcp-agent";

pub(super) async fn run(low: &CreateUserData) -> Result<(), CommandError> {
    let request = high::resolve_user_data(low)?;
    let authority = low.ca_file.as_deref().map(|path| files::certificates("ca-file", path)).transpose()?;
    let plane = Plane::connect(low.plane.kubeconfig.as_deref()).await?;
    let pool = plane.require(&NODE_POOLS, &request.namespace, &request.pool).await?;
    let cluster = cluster_of(&request, &pool)?;
    let namespace = format!("{}-{}", request.namespace, cluster.replace('.', "-"));
    let secrets = plane.list(&SECRETS, &namespace, "").await?;
    let Some(value) = newest(&secrets, &request.namespace, &request.pool) else {
        return Err(CommandError::NoUserData {
            namespace: request.namespace,
            name: request.pool,
            cluster: cluster.to_owned(),
            cause: cause(&pool),
        });
    };
    let unreadable = || CommandError::BadUserData(format!("{}/{}", request.namespace, request.pool));
    let config = Config::parse(&value).map_err(|_| unreadable())?;
    let mut pointer = Pointer::from_config(&config).ok_or_else(unreadable)?;
    if let Some(name) = &request.host_name {
        pointer = pointer.with_host(name);
    }
    pointer.address = request.address;
    if authority.is_none() && (request.address.is_some() || request.host_name.is_some()) {
        check_certificate(&pointer, request.format, &secrets)?;
    }
    pointer.agent = request.agent.map(|(url, hash)| Artifact { path: AGENT.to_owned(), mode: 0o755, url, hash });
    if let Some(authority) = authority {
        pointer.certificate_authority = authority;
    }
    let made = request.format.render(&pointer)?;
    printed::print(&made.text)?;
    eprintln!("note: this carries the pool's token; it goes into {}", request.format.place());
    Ok(())
}

fn cluster_of<'a>(request: &UserDataRequest, pool: &'a Value) -> Result<&'a str, CommandError> {
    let cluster = pool["spec"]["clusterName"].as_str().unwrap_or_default();
    match &request.cluster {
        Some(asked) if asked != cluster => Err(CommandError::OtherCluster {
            pool: format!("{}/{}", request.namespace, request.pool),
            cluster: cluster.to_owned(),
            asked: asked.clone(),
        }),
        _ => Ok(cluster),
    }
}

/// The user-data of a pool; while a change rolls out there are two, and the later one counts.
pub(crate) fn newest(secrets: &[Value], namespace: &str, pool: &str) -> Option<Vec<u8>> {
    let text = |secret: &Value, field: &str| secret["metadata"][field].as_str().unwrap_or_default().to_owned();
    let owner = format!("{namespace}/{pool}");
    let is_of_pool = |secret: &&Value| {
        secret["metadata"]["annotations"][NODE_POOL] == *owner && text(secret, "name").starts_with("user-data-")
    };
    let newest = secrets.iter().filter(is_of_pool).max_by_key(|secret| text(secret, "creationTimestamp"))?;
    STANDARD.decode(newest["data"]["value"].as_str()?).ok()
}

/// Why a pool has nothing to boot with.
fn cause(pool: &Value) -> String {
    let spec = &pool["spec"];
    if spec["replicas"] == 0 {
        let text = |field: &str| pool["metadata"][field].as_str().unwrap_or_default();
        return format!(
            "it wants no machines; ask for some with: kubectl scale nodepool -n {} {} --replicas=1",
            text("namespace"),
            text("name")
        );
    }
    let message = condition(pool, "Ready").map(|found| found.message).filter(|message| !message.is_empty());
    message.unwrap_or("its controller has not looked at it yet").to_owned()
}

/// Refuses user-data whose machines would turn away from the server: they would only say so on their consoles.
fn check_certificate(pointer: &Pointer, format: Format, secrets: &[Value]) -> Result<(), CommandError> {
    let host = pointer.host();
    let is_looked_up = format == Format::CloudInit && host.parse::<IpAddr>().is_err();
    let asked =
        pointer.address.filter(|_| !is_looked_up).map_or_else(|| host.to_owned(), |address| address.to_string());
    let secret = secrets.iter().find(|secret| secret["metadata"]["name"] == SERVING_CERTIFICATE);
    let chain = secret.and_then(|secret| STANDARD.decode(secret["data"]["tls.crt"].as_str()?).ok());
    let chain = chain.and_then(|chain| CertificateBundle::from_pem(&String::from_utf8(chain).ok()?).ok());
    let Some(certificate) = chain.as_ref().and_then(|chain| chain.certificates().first()) else { return Ok(()) };
    if certificate.alternative_names().iter().any(|name| is_good_for(name, &asked)) {
        return Ok(());
    }
    let named: Vec<String> = certificate.alternative_names().iter().map(ToString::to_string).collect();
    Err(CommandError::CertificateNames { asked, named: named.join(", ") })
}

fn is_good_for(name: &AlternativeName, asked: &str) -> bool {
    match name {
        AlternativeName::Ip(address) => asked.parse::<IpAddr>().is_ok_and(|asked| asked == *address),
        AlternativeName::Dns(name) => match name.strip_prefix("*.") {
            Some(domain) => asked.split_once('.').is_some_and(|(_, rest)| rest.eq_ignore_ascii_case(domain)),
            None => asked.eq_ignore_ascii_case(name),
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_latest_user_data_of_the_pool_itself_count() {
        let secret = |name: &str, pool: &str, time: &str, value: &str| {
            json!({"metadata": {"name": name, "creationTimestamp": time, "annotations": {(NODE_POOL): pool}},
                "data": {"value": value}})
        };
        let secrets = [
            secret("user-data-demo-a", "clusters/demo", "2026-01-01T00:00:00Z", "b25l"),
            secret("user-data-demo-b", "clusters/demo", "2026-01-02T00:00:00Z", "dHdv"),
            secret("user-data-demo-2-c", "clusters/demo-2", "2026-01-03T00:00:00Z", "dGhyZWU="),
            secret("token-demo-b", "clusters/demo", "2026-01-04T00:00:00Z", "Zm91cg=="),
        ];
        assert_eq!(newest(&secrets, "clusters", "demo").as_deref(), Some(b"two".as_slice()));
        assert_eq!(newest(&secrets[2..], "clusters", "demo"), None);
    }

    #[test]
    fn a_pool_without_user_data_says_why() {
        let pool = json!({"metadata": {"namespace": "clusters", "name": "workers"}, "spec": {"replicas": 0}});
        assert!(cause(&pool).contains("kubectl scale nodepool -n clusters workers --replicas=1"));
        let pool = json!({"spec": {"replicas": 1}, "status": {"conditions": [
            {"type": "Ready", "status": "False", "message": "it waits for its cluster"}]}});
        assert_eq!(cause(&pool), "it waits for its cluster");
    }

    #[test]
    fn certificates_are_good_for_what_they_name() {
        let cases = [
            (AlternativeName::Dns("ign.example".to_owned()), "IGN.example", true),
            (AlternativeName::Dns("*.example".to_owned()), "ign.example", true),
            (AlternativeName::Dns("*.example".to_owned()), "a.ign.example", false),
            (AlternativeName::Ip([10, 0, 0, 1].into()), "10.0.0.1", true),
            (AlternativeName::Ip([10, 0, 0, 1].into()), "10.0.0.2", false),
            (AlternativeName::Dns("10.0.0.1".to_owned()), "10.0.0.2", false),
        ];
        for (name, asked, wanted) in cases {
            assert_eq!(is_good_for(&name, asked), wanted, "{name:?} {asked}");
        }
    }
}
