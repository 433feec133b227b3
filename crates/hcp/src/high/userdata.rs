//! The meaning of `hcp create userdata`.

use std::net::IpAddr;

use roost_ignition::user_data::Format;

use crate::arguments::CreateUserData;

use super::usage::UsageError;
use super::values::label;

/// What `hcp create userdata` is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UserDataRequest {
    pub(crate) namespace: String,
    pub(crate) pool: String,
    /// The cluster that the pool must belong to.
    pub(crate) cluster: Option<String>,
    pub(crate) format: Format,
    pub(crate) address: Option<IpAddr>,
    pub(crate) host_name: Option<String>,
    /// Where hcp-agent is, and its digest.
    pub(crate) agent: Option<(String, String)>,
}

/// Gives the flags a meaning, or says what is wrong with them.
pub(crate) fn resolve(low: &CreateUserData) -> Result<UserDataRequest, UsageError> {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let pool = given(&low.nodepool).ok_or(UsageError::Required("nodepool"))?;
    let format: Format = low.format.parse().map_err(|_| UsageError::Choice {
        flag: "format",
        value: low.format.clone(),
        choices: Format::ALL.map(Format::name).join(", "),
    })?;
    let agent = given(&low.agent_url).zip(given(&low.agent_hash));
    if agent.is_some() && format != Format::CloudInit {
        return Err(UsageError::OnlyFor { flag: "agent-url", only: "--format cloud-init" });
    }
    let host_name = given(&low.host_name);
    if let Some(name) = host_name.as_ref()
        && (!roost_object::names::is_dns1123_subdomain(name).is_empty() || name.parse::<IpAddr>().is_ok())
    {
        let problem = "must be a host name, such as ignition.example.com; an address belongs into --address".to_owned();
        return Err(UsageError::Value { flag: "host-name", value: name.clone(), problem });
    }
    if let Some(address) = low.address.filter(|address| address.is_unspecified() || address.is_multicast()) {
        let problem = "no machine can call this address".to_owned();
        return Err(UsageError::Value { flag: "address", value: address.to_string(), problem });
    }
    Ok(UserDataRequest {
        namespace: label("namespace", &low.plane.namespace)?,
        pool: label("nodepool", &pool)?,
        cluster: given(&low.name).map(|name| label("name", &name)).transpose()?,
        format,
        address: low.address,
        host_name,
        agent,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{Arguments, Command, CreateWhat};

    fn asked(line: &str) -> Result<UserDataRequest, UsageError> {
        let words: Vec<&str> = ["hcp", "create", "userdata"].into_iter().chain(line.split_whitespace()).collect();
        match Arguments::read_from(&words).unwrap_or_else(|error| panic!("{error}")).command {
            Command::Create(create) => match create.what {
                CreateWhat::UserData(arguments) => resolve(&arguments),
                _ => panic!("another command"),
            },
            _ => panic!("another command"),
        }
    }

    #[test]
    fn flags_mean_what_they_say() {
        let request = asked("--nodepool workers --format cloud-init --address 10.0.0.1 --host-name a.example").unwrap();
        assert_eq!((request.format, request.host_name.as_deref()), (Format::CloudInit, Some("a.example")));
        assert_eq!(asked("--node-pool workers").unwrap().format, Format::Ignition);
        for (line, words) in [
            ("", "--nodepool is required"),
            ("--nodepool ../x", "--nodepool \"../x\" is not a name"),
            ("--nodepool a --format iso", "use one of: ignition, gcp, aws, azure, openstack, libvirt, cloud-init"),
            ("--nodepool a --host-name 10.0.0.1", "an address belongs into --address"),
            ("--nodepool a --host-name under_score", "must be a host name"),
            ("--nodepool a --address ::", "no machine can call this address"),
            ("--nodepool a --agent-url https://a --agent-hash sha256-0", "--agent-url is only for --format cloud-init"),
        ] {
            let error = asked(line).unwrap_err().to_string();
            assert!(error.contains(words), "{line}: {error}");
        }
    }
}
