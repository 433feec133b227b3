//! The life of a bare-metal host: its management controller starts it from its environment's image, its Agent takes over
//! what it says, and it goes with an empty drive and without power.

use kube::Client;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use roost_pki::Secret;
use roost_redfish::{Address, Computer, Controller, Credentials, Patience, Power, Verification};
use roost_sim::Simulator;
use serde_json::json;

use super::metal::{agents, prepare, write};
use super::objects::{api, condition, refused, secrets, until};
use super::{HostedError, Management, Step};

const NAMESPACE: &str = "controllers";
const NAME: &str = "metal-30";
const CARD: &str = "52:54:00:00:00:1E";
const GROUP: &str = "metal3.io/v1alpha1";

/// A management controller that nobody else uses.
#[derive(Clone, Debug)]
pub struct Emulated {
    /// Where it is, as a BareMetalHost writes it.
    pub address: String,
    /// Who logs in.
    pub username: String,
    /// What they log in with.
    pub password: Secret<String>,
}

impl Emulated {
    /// The computer as it is.
    async fn look(&self) -> Result<Computer, HostedError> {
        let wrong = |words: String| HostedError::Wrong(words);
        let address = Address::parse(&self.address).map_err(|error| wrong(error.to_string()))?;
        let credentials = Credentials { username: self.username.clone(), password: self.password.clone() };
        let made = Controller::new(address, &credentials, &Verification::Nobody, Patience::default());
        let controller = made.map_err(|error| wrong(error.to_string()))?;
        controller.inspect().await.map_err(|error| wrong(error.to_string()))
    }

    fn credentials(&self, password: &str) -> serde_json::Value {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "controller", "namespace": NAMESPACE},
            "stringData": {"username": self.username, "password": password}})
    }
}

/// What an NMStateConfig says reaches the InfraEnv that selects it.
async fn networks(client: &Client) -> Result<(), HostedError> {
    let group = "agent-install.openshift.io/v1beta1";
    let state = |interface: &str| {
        json!({"interfaces": [{"name": interface, "type": "ethernet", "state": "up",
            "ipv4": {"enabled": true, "address": [{"ip": "192.0.2.30", "prefix-length": 24}]}}]})
    };
    write(
        client,
        "nmstateconfigs",
        json!({"apiVersion": group, "kind": "NMStateConfig",
            "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": {"pool": "static"}},
            "spec": {"interfaces": [{"name": "eth0", "macAddress": CARD}], "config": state("eth9")}}),
    )
    .await?;
    let environments = api(client, group, "InfraEnv", "infraenvs", NAMESPACE);
    let selector = Patch::Merge(json!({"spec": {"nmStateConfigLabelSelector": {"matchLabels": {"pool": "static"}}}}));
    let changed = environments.patch("pool", &PatchParams::default(), &selector).await;
    changed.map_err(refused("the InfraEnv was not changed"))?;
    let image = async |truth: &str, words: &str| {
        until(&format!("the InfraEnv said {words:?}"), async || {
            let found = environments.get("pool").await.map_err(|error| error.to_string())?;
            let (status, message) = condition(&found, "ImageCreated");
            let is_said = status == truth && message.contains(words);
            if is_said {
                Ok(found.data["status"]["isoDownloadURL"].clone())
            } else {
                Err(format!("{status}: {message}"))
            }
        })
        .await
    };
    image("False", "mac-interface mapping for interface eth9 is missing").await?;
    let configs = api(client, group, "NMStateConfig", "nmstateconfigs", NAMESPACE);
    let right = Patch::Merge(json!({"spec": {"config": state("eth0")}}));
    configs.patch(NAME, &PatchParams::default(), &right).await.map_err(refused("the NMStateConfig was not changed"))?;
    let link = image("True", "Image has been created").await?;
    if link.is_string() { Ok(()) } else { Err(HostedError::Wrong("there is no link to the image".to_owned())) }
}

/// Runs all steps.
pub async fn run(management: &Management, emulated: &Emulated, tell: Step<'_>) -> Result<(), HostedError> {
    let client = &management.client;
    let environment = prepare(client, NAMESPACE, "pool").await?;
    networks(client).await?;
    tell("an InfraEnv says what is wrong with a network, and has another image when it is right");
    let hosts = api(client, GROUP, "BareMetalHost", "baremetalhosts", NAMESPACE);
    write(client, "secrets", emulated.credentials("not the password")).await?;
    write(
        client,
        "baremetalhosts",
        json!({"apiVersion": GROUP, "kind": "BareMetalHost", "metadata": {"name": NAME, "namespace": NAMESPACE,
                "labels": {"infraenvs.agent-install.openshift.io": "pool"},
                "annotations": {"bmac.agent-install.openshift.io/hostname": "node-30"}},
            "spec": {"online": true, "bootMACAddress": CARD,
                "bmc": {"address": emulated.address, "credentialsName": "controller"}}}),
    )
    .await?;
    let says = async |words: &str| {
        until(&format!("the host said {words:?}"), async || {
            let host = hosts.get(NAME).await.map_err(|error| error.to_string())?;
            let status = &host.data["status"];
            let is_said = status["errorMessage"].as_str().is_some_and(|message| message.contains(words));
            if is_said { Ok(()) } else { Err(status.to_string()) }
        })
        .await
    };
    says("refuses the user name and password").await?;
    tell("a wrong password is named");
    let good = Patch::Merge(json!({"stringData": {"password": emulated.password.expose()}}));
    let changed = secrets(client, NAMESPACE).patch("controller", &PatchParams::default(), &good).await;
    changed.map_err(refused("the Secret was not changed"))?;
    let image = until("the host was started from the image", async || {
        let host = hosts.get(NAME).await.map_err(|error| error.to_string())?;
        let status = &host.data["status"];
        let is_started = status["provisioning"]["state"] == "provisioned" && status["poweredOn"] == true;
        let image = status["provisioning"]["image"]["url"].as_str().filter(|_| is_started);
        let is_good = status["errorMessage"] == "" && condition(&host, "Registered").0 == "True";
        image.filter(|_| is_good).map(str::to_owned).ok_or_else(|| status.to_string())
    })
    .await?;
    let computer = emulated.look().await?;
    if computer.power != Power::On || computer.drive.as_ref().and_then(|drive| drive.image.clone()) != Some(image) {
        return Err(HostedError::Wrong(format!("the computer is not what its host says: {computer:?}")));
    }
    tell("the host is on, and the InfraEnv's image is in its drive");
    let simulator = Simulator::new();
    let simulated = simulator.turn_on(environment.host(30));
    until("the Agent took over what its host says", async || {
        let agent = agents(client, NAMESPACE).get(simulated.id()).await.map_err(|error| error.to_string())?;
        let label = agent.metadata.labels.clone().unwrap_or_default().get("agent-install.openshift.io/bmh").cloned();
        let spec = &agent.data["spec"];
        let is_so = spec["approved"] == true && spec["hostname"] == "node-30" && label.as_deref() == Some(NAME);
        if is_so { Ok(()) } else { Err(format!("{label:?} {spec}")) }
    })
    .await?;
    until("the host has what its Agent saw", async || {
        let host: DynamicObject = hosts.get(NAME).await.map_err(|error| error.to_string())?;
        let hardware = &host.data["status"]["hardware"];
        let has_disk = hardware["storage"].as_array().is_some_and(|disks| !disks.is_empty());
        if has_disk { Ok(()) } else { Err(host.data["status"].to_string()) }
    })
    .await?;
    tell("its Agent is approved and has the hostname that the host says");
    let annotated = Patch::Merge(
        json!({"metadata": {"annotations": {"bmac.agent-install.openshift.io/remove-agent-and-node-on-delete": "true"}}}),
    );
    hosts.patch(NAME, &PatchParams::default(), &annotated).await.map_err(refused("the host was not changed"))?;
    drop(simulated);
    hosts.delete(NAME, &DeleteParams::default()).await.map_err(refused("the host was not deleted"))?;
    until("the host was gone", async || match hosts.get_opt(NAME).await.map_err(|error| error.to_string())? {
        None => Ok(()),
        Some(host) => Err(host.data["status"].to_string()),
    })
    .await?;
    let computer = emulated.look().await?;
    if computer.power != Power::Off || computer.drive.as_ref().is_some_and(|drive| drive.is_inserted) {
        return Err(HostedError::Wrong(format!("the computer was not left as it should be: {computer:?}")));
    }
    tell("a host that goes is off, and its drive empty");
    Ok(())
}
