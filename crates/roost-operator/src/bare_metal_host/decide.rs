//! What is wanted from a bare-metal host: from its object, its environment and its Agent. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use roost_api::agent_install::{HostStage, HostState};
use roost_api::metal3::names::key;
use roost_host::state::is_beyond_reboot;
use roost_pki::Secret;
use roost_redfish::{Address, Credentials, Media, NextBoot, Verification, Wanted};
use serde_json::Value;

use crate::agent;
use crate::object::is_deleting;

/// How long a new image has to stand before hosts are started from it: several quick edits are one start. Upstream's value.
const COOL_DOWN: SignedDuration = SignedDuration::from_secs(60);

/// What a pass reads.
pub(super) struct Observed {
    pub(super) host: Value,
    pub(super) secret: Option<Value>,
    pub(super) environment: Option<Value>,
    pub(super) agent: Option<Value>,
}

/// How a management controller is reached.
#[derive(Debug)]
pub(super) struct Door {
    pub(super) address: Address,
    pub(super) credentials: Credentials,
    pub(super) verification: Verification,
    /// Another text for another controller, user or password.
    pub(super) mark: String,
}

/// Why nobody can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// Nobody said where the controller is.
    Unmanaged,
    /// What was said cannot be used.
    Unusable(String),
}

/// What is done with a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// It is started from an image.
    Start(String),
    /// It was started and is waited for, or shows itself.
    Keep,
    /// It waits for an image, for a reason.
    Wait(String),
    /// It starts from its disk.
    Settle,
    /// It is off, as wanted.
    Rest,
    /// It goes.
    Leave,
}

impl Observed {
    fn spec(&self) -> &Value {
        &self.host["spec"]
    }

    /// How the controller is reached.
    pub(super) fn door(&self) -> Result<Door, Block> {
        let bmc = &self.spec()["bmc"];
        let text = |name: &str| bmc[name].as_str().unwrap_or_default();
        if text("address").is_empty() {
            return Err(Block::Unmanaged);
        }
        let address =
            Address::parse(text("address")).map_err(|error| Block::Unusable(format!("spec.bmc.address: {error}")))?;
        let name = text("credentialsName");
        let Some(secret) = &self.secret else {
            return Err(Block::Unusable(format!(
                "the Secret {name:?} that spec.bmc.credentialsName names is not in this namespace; make it with the keys username and password"
            )));
        };
        let read = |key: &str| {
            let value = STANDARD.decode(secret["data"][key].as_str().unwrap_or_default()).unwrap_or_default();
            let value = String::from_utf8(value).unwrap_or_default();
            // A line end at the end comes from files and belongs to no password.
            let value = value.trim_end_matches(['\r', '\n']).to_owned();
            if value.is_empty() { Err(Block::Unusable(format!("the Secret {name:?} has no {key}"))) } else { Ok(value) }
        };
        let credentials = Credentials { username: read(key::USERNAME)?, password: Secret::new(read(key::PASSWORD)?) };
        let is_unverified = bmc["disableCertificateVerification"] == true;
        let verification = if is_unverified { Verification::Nobody } else { Verification::Authorities(String::new()) };
        let version = secret["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        let mark = format!("{} {name} {version} {is_unverified}", text("address"));
        Ok(Door { address, credentials, verification, mark })
    }

    fn is_online(&self) -> bool {
        self.spec()["online"] == true
    }

    /// The image that the host was started from and still needs.
    pub(super) fn started_from(&self) -> Option<&str> {
        self.host["status"]["provisioning"]["image"]["url"].as_str().filter(|url| !url.is_empty())
    }

    /// What is done with the host.
    pub(super) fn purpose(&self, now: Timestamp) -> Purpose {
        if is_deleting(&self.host) {
            return Purpose::Leave;
        }
        if !self.is_online() {
            return Purpose::Rest;
        }
        if self.spec()["externallyProvisioned"] == true {
            return Purpose::Settle;
        }
        if let Some(agent) = &self.agent {
            let state = agent::state_of(agent);
            if boots_disk(&state, agent::stage_of(agent).as_ref()) {
                return Purpose::Settle;
            }
            // Who left a cluster and does not answer is started from the image again.
            let is_lost = state == HostState::UnbindingPendingUserAction && self.started_from().is_none();
            if !is_lost {
                return Purpose::Keep;
            }
        }
        let Some(environment) = &self.environment else {
            return Purpose::Wait(
                "the InfraEnv that its label infraenvs.agent-install.openshift.io names is not there".to_owned(),
            );
        };
        let status = &environment["status"];
        let Some(image) = status["isoDownloadURL"].as_str().filter(|image| !image.is_empty()) else {
            return Purpose::Wait("the InfraEnv has no image yet; see its condition ImageCreated".to_owned());
        };
        if self.started_from() == Some(image) {
            return Purpose::Keep;
        }
        let made: Option<Timestamp> = status["createdTime"].as_str().and_then(|time| time.parse().ok());
        if self.started_from().is_some() && made.is_some_and(|made| now.duration_since(made) < COOL_DOWN) {
            return Purpose::Wait(
                "the InfraEnv's image changed; the host is started from it when it stands for a minute".to_owned(),
            );
        }
        Purpose::Start(image.to_owned())
    }

    /// How the computer shall be.
    pub(super) fn wanted(&self, purpose: &Purpose) -> Wanted {
        let is_external = self.spec()["externallyProvisioned"] == true;
        match purpose {
            Purpose::Start(image) => {
                Wanted { media: Media::Image(image.clone()), boot: NextBoot::Drive, is_on: Some(true) }
            }
            // A controller that took one boot for all would start the image again when the installation restarts.
            Purpose::Keep if self.agent.is_some() => {
                Wanted { media: Media::AsItIs, boot: NextBoot::Usual, is_on: Some(true) }
            }
            Purpose::Keep | Purpose::Wait(_) => {
                Wanted { is_on: Some(true).filter(|_| *purpose == Purpose::Keep), ..Wanted::default() }
            }
            Purpose::Settle if is_external => Wanted { is_on: Some(true), ..Wanted::default() },
            Purpose::Settle => Wanted { media: Media::Empty, boot: NextBoot::Usual, is_on: Some(true) },
            Purpose::Rest => Wanted { is_on: self.may_turn_off(), ..Wanted::default() },
            Purpose::Leave if is_external => Wanted::default(),
            Purpose::Leave => Wanted { media: Media::Empty, boot: NextBoot::Usual, is_on: self.may_turn_off() },
        }
    }

    fn may_turn_off(&self) -> Option<bool> {
        (self.spec()["disablePowerOff"] != true).then_some(false)
    }
}

/// Whether a host starts, or is about to start, from its disk.
fn boots_disk(state: &HostState, stage: Option<&HostStage>) -> bool {
    matches!(state, HostState::Installed | HostState::AddedToExistingCluster)
        || (is_beyond_reboot(stage)
            && matches!(state, HostState::InstallingInProgress | HostState::InstallingPendingUserAction))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const IMAGE: &str = "https://h/byapikey/T/live/x86_64/minimal.iso";

    fn observed() -> Observed {
        Observed {
            host: json!({"metadata": {"name": "h"}, "spec": {"online": true, "bootMACAddress": "52:54:00:aa:00:01",
                "bmc": {"address": "redfish-virtualmedia://192.0.2.1/redfish/v1/Systems/1", "credentialsName": "bmc"}}}),
            secret: Some(json!({"metadata": {"resourceVersion": "7"},
                "data": {"username": STANDARD.encode("root"), "password": STANDARD.encode("calvin\n")}})),
            environment: Some(json!({"status": {"isoDownloadURL": IMAGE, "createdTime": "2026-01-01T00:00:00Z"}})),
            agent: None,
        }
    }

    fn agent(state: &str, stage: &str) -> Value {
        json!({"status": {"debugInfo": {"state": state}, "progress": {"currentStage": stage}}})
    }

    fn purpose(observed: &Observed) -> Purpose {
        observed.purpose("2026-01-01T00:00:30Z".parse().unwrap())
    }

    #[test]
    fn a_host_is_started_once_from_each_image_until_it_shows_itself() {
        let mut observed = observed();
        assert_eq!(purpose(&observed), Purpose::Start(IMAGE.to_owned()));
        observed.host["status"] = json!({"provisioning": {"image": {"url": IMAGE}}});
        assert_eq!(purpose(&observed), Purpose::Keep);
        assert_eq!(observed.wanted(&Purpose::Keep), Wanted { is_on: Some(true), ..Wanted::default() });
        observed.host["status"]["provisioning"]["image"]["url"] = json!("https://h/old.iso");
        assert!(matches!(purpose(&observed), Purpose::Wait(why) if why.contains("minute")));
        assert_eq!(observed.purpose("2026-01-01T00:02:00Z".parse().unwrap()), Purpose::Start(IMAGE.to_owned()));
        observed.agent = Some(agent("known-unbound", ""));
        assert_eq!(purpose(&observed), Purpose::Keep, "a host that shows itself is not restarted for another image");
    }

    #[test]
    fn the_drive_is_emptied_when_the_disk_is_booted_and_filled_when_the_host_is_lost() {
        let mut observed = observed();
        observed.host["status"] = json!({"provisioning": {"image": {"url": IMAGE}}});
        observed.agent = Some(agent("installing-in-progress", "Writing image to disk"));
        assert_eq!(purpose(&observed), Purpose::Keep);
        assert_eq!(observed.wanted(&Purpose::Keep).boot, NextBoot::Usual);
        observed.agent = Some(agent("installing-in-progress", "Rebooting"));
        assert_eq!(purpose(&observed), Purpose::Settle);
        assert_eq!(observed.wanted(&Purpose::Settle).media, Media::Empty);
        observed.agent = Some(agent("added-to-existing-cluster", "Done"));
        assert_eq!(purpose(&observed), Purpose::Settle);
        observed.host["status"] = json!({"provisioning": {}});
        observed.agent = Some(agent("unbinding-pending-user-action", ""));
        assert_eq!(purpose(&observed), Purpose::Start(IMAGE.to_owned()));
    }

    #[test]
    fn power_follows_the_wish_and_some_hosts_are_left_alone() {
        let mut observed = observed();
        observed.host["spec"]["online"] = json!(false);
        assert_eq!(observed.wanted(&purpose(&observed)), Wanted { is_on: Some(false), ..Wanted::default() });
        observed.host["spec"]["disablePowerOff"] = json!(true);
        assert_eq!(observed.wanted(&purpose(&observed)), Wanted::default());
        observed.host["spec"] = json!({"online": true, "externallyProvisioned": true});
        assert_eq!(observed.wanted(&purpose(&observed)), Wanted { is_on: Some(true), ..Wanted::default() });
        observed.host["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(observed.wanted(&purpose(&observed)), Wanted::default());
        observed.host["spec"] = json!({"online": true});
        let leaving = Wanted { media: Media::Empty, boot: NextBoot::Usual, is_on: Some(false) };
        assert_eq!(observed.wanted(&purpose(&observed)), leaving);
    }

    #[test]
    fn a_controller_that_cannot_be_reached_says_why() {
        let good = observed().door().expect("a door");
        assert_eq!(good.credentials.password.expose(), "calvin", "the line end of a file is no part of it");
        let spoilt = |change: &dyn Fn(&mut Observed)| {
            let mut observed = observed();
            change(&mut observed);
            match observed.door() {
                Err(Block::Unusable(why)) => why,
                Err(Block::Unmanaged) => "unmanaged".to_owned(),
                Ok(_) => String::new(),
            }
        };
        assert_eq!(spoilt(&|observed| observed.host["spec"]["bmc"] = Value::Null), "unmanaged");
        assert!(
            spoilt(&|observed| observed.host["spec"]["bmc"]["address"] = json!("ipmi://h"))
                .contains("redfish-virtualmedia")
        );
        assert!(spoilt(&|observed| observed.secret = None).contains("\"bmc\""));
        assert!(spoilt(&|observed| observed.secret = Some(json!({"data": {}}))).contains("no username"));
    }
}
