//! A computer as its management controller describes it.

use serde_json::Value;

use crate::connection::Controller;
use crate::error::RedfishError;

/// How many members of a collection are looked at.
const MOST_MEMBERS: usize = 64;

/// Whether a computer is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Power {
    /// It is.
    On,
    /// It is not.
    Off,
    /// It is becoming one of both, or nobody knows.
    Other(String),
}

impl Power {
    /// As controllers call it.
    pub fn text(&self) -> &str {
        match self {
            Self::On => "On",
            Self::Off => "Off",
            Self::Other(text) => text,
        }
    }
}

/// What is booted instead of what the firmware would choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Boot {
    /// From what.
    pub target: String,
    /// `Disabled`, `Once` or `Continuous`.
    pub enabled: String,
}

/// A virtual drive for discs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drive {
    /// Its document.
    pub path: String,
    /// What is in it.
    pub image: Option<String>,
    /// Whether something is in it.
    pub is_inserted: bool,
    pub(crate) insert: Option<String>,
    pub(crate) eject: Option<String>,
}

/// What a computer consists of, as far as its controller knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hardware {
    /// Who made it.
    pub manufacturer: String,
    /// What its maker calls it.
    pub model: String,
    /// Its serial number.
    pub serial: String,
    /// The name that it has as a host.
    pub hostname: String,
    /// The version of its firmware.
    pub firmware: String,
    /// How many processors it has: threads, or cores, or packages, whatever is known best.
    pub processors: i64,
    /// What they are.
    pub processor_model: String,
    /// Its memory.
    pub mebibytes: i64,
    /// The addresses of its network cards.
    pub cards: Vec<String>,
}

/// A computer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Computer {
    /// Its document.
    pub path: String,
    /// Whether it is on.
    pub power: Power,
    /// What it boots next.
    pub boot: Boot,
    /// The virtual drive for discs; none when there is none.
    pub drive: Option<Drive>,
    /// What it consists of.
    pub hardware: Hardware,
    pub(crate) reset: String,
    pub(crate) resets: Vec<String>,
    /// From what it can be told to boot; empty where that is not said.
    pub(crate) boots: Vec<String>,
}

impl Computer {
    /// A computer that nobody read, without a drive: for whoever wants to try what follows from one.
    pub fn example(power: Power, boot: Boot, hardware: Hardware) -> Self {
        let path = "/redfish/v1/Systems/1".to_owned();
        Self {
            reset: format!("{path}/Actions/ComputerSystem.Reset"),
            path,
            power,
            boot,
            drive: None,
            hardware,
            resets: Vec::new(),
            boots: Vec::new(),
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().trim().chars().take(256).collect()
}

/// Where a link leads.
fn link(value: &Value) -> Option<String> {
    value["@odata.id"].as_str().filter(|path| path.starts_with('/') && path.len() <= 1024).map(str::to_owned)
}

fn links(collection: &Value) -> impl Iterator<Item = String> {
    collection.as_array().into_iter().flatten().filter_map(link).take(MOST_MEMBERS)
}

impl Controller {
    /// Reads what the computer is and how it is.
    pub async fn inspect(&self) -> Result<Computer, RedfishError> {
        let path = self.system().await?;
        let system = self.get(&path).await?.document;
        let reset = &system["Actions"]["#ComputerSystem.Reset"];
        let allowed = |values: &Value| values.as_array().into_iter().flatten().map(text).take(MOST_MEMBERS).collect();
        let resets = allowed(&reset["ResetType@Redfish.AllowableValues"]);
        let boots = allowed(&system["Boot"]["BootSourceOverrideTarget@Redfish.AllowableValues"]);
        let target =
            reset["target"].as_str().map_or_else(|| format!("{path}/Actions/ComputerSystem.Reset"), str::to_owned);
        let power = match system["PowerState"].as_str() {
            Some("On") => Power::On,
            Some("Off") => Power::Off,
            other => Power::Other(other.unwrap_or("unknown").chars().take(40).collect()),
        };
        Ok(Computer {
            power,
            boot: Boot {
                target: text(&system["Boot"]["BootSourceOverrideTarget"]),
                enabled: text(&system["Boot"]["BootSourceOverrideEnabled"]),
            },
            drive: self.drive(&system).await?,
            hardware: self.hardware(&system).await,
            reset: target,
            resets,
            boots,
            path,
        })
    }

    /// The path of the system that is meant.
    async fn system(&self) -> Result<String, RedfishError> {
        if let Some(path) = &self.address.system {
            return Ok(path.clone());
        }
        let all = self.get("/redfish/v1/Systems").await?.document;
        let mut members = links(&all["Members"]);
        match (members.next(), members.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => Err(RedfishError::Lacks("no system".to_owned())),
            (Some(_), Some(_)) => Err(RedfishError::Lacks(
                "several systems; name one in spec.bmc.address, as /redfish/v1/Systems/ID".to_owned(),
            )),
        }
    }

    /// The virtual drive for discs: the system's own, or one of its managers'.
    async fn drive(&self, system: &Value) -> Result<Option<Drive>, RedfishError> {
        let mut collections: Vec<String> = link(&system["VirtualMedia"]).into_iter().collect();
        for manager in links(&system["Links"]["ManagedBy"]) {
            let manager = self.get(&manager).await?.document;
            collections.extend(link(&manager["VirtualMedia"]));
        }
        for collection in collections {
            let members = match self.get(&collection).await {
                // Some name a collection that they do not have.
                Err(RedfishError::Refused { status: 404 | 405, .. }) => continue,
                members => members?.document,
            };
            for path in links(&members["Members"]) {
                let media = self.get(&path).await?.document;
                let kinds: Vec<&str> =
                    media["MediaTypes"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                let is_for_discs = kinds.iter().any(|kind| matches!(*kind, "CD" | "DVD"))
                    || (kinds.is_empty() && path.to_ascii_lowercase().contains("cd"));
                if is_for_discs {
                    return Ok(Some(drive(path, &media)));
                }
            }
        }
        Ok(None)
    }

    /// What is known about parts that have documents of their own is a bonus.
    async fn hardware(&self, system: &Value) -> Hardware {
        let (processors, memory) = (&system["ProcessorSummary"], &system["MemorySummary"]);
        let count =
            ["LogicalProcessorCount", "CoreCount", "Count"].into_iter().find_map(|name| processors[name].as_i64());
        let mut hardware = Hardware {
            manufacturer: text(&system["Manufacturer"]),
            model: text(&system["Model"]),
            serial: text(&system["SerialNumber"]),
            hostname: text(&system["HostName"]),
            firmware: text(&system["BiosVersion"]),
            processors: count.unwrap_or_default(),
            processor_model: text(&processors["Model"]),
            mebibytes: memory["TotalSystemMemoryGiB"].as_f64().map_or(0, |amount| (amount * 1024.0) as i64),
            cards: Vec::new(),
        };
        if let Some(path) = link(&system["EthernetInterfaces"])
            && let Ok(cards) = self.get(&path).await
        {
            for path in links(&cards.document["Members"]) {
                let Ok(card) = self.get(&path).await else { continue };
                let address =
                    ["PermanentMACAddress", "MACAddress"].into_iter().find_map(|name| card.document[name].as_str());
                hardware
                    .cards
                    .extend(address.map(|address| address.chars().take(17).collect::<String>().to_ascii_lowercase()));
            }
        }
        hardware
    }
}

fn drive(path: String, media: &Value) -> Drive {
    let action = |name: &str| media["Actions"][name]["target"].as_str().map(str::to_owned);
    let image = media["Image"].as_str().filter(|image| !image.is_empty()).map(str::to_owned);
    Drive {
        is_inserted: media["Inserted"].as_bool().unwrap_or(image.is_some()),
        image,
        insert: action("#VirtualMedia.InsertMedia"),
        eject: action("#VirtualMedia.EjectMedia"),
        path,
    }
}
