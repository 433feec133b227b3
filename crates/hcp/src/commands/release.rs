//! Which release a new cluster gets when nobody names one, and which versions the operator supports.

use roost_object::json;
use serde_json::Value;

use crate::plane::{CONFIG_MAPS, Plane, PlaneError, SUPPORTED_VERSIONS};

use super::error::CommandError;

/// Pull specs of the release that is built in.
const BUILT_IN: &str = "embedded:";

/// What the operator says about releases.
#[derive(Debug, Default)]
pub(super) struct Releases {
    pub(super) versions: Vec<String>,
    pub(super) server_version: Option<String>,
    pub(super) default: Option<String>,
}

impl Releases {
    pub(super) async fn ask(plane: &Plane, namespace: &str) -> Result<Option<Self>, PlaneError> {
        let found = plane.get(&CONFIG_MAPS, namespace, SUPPORTED_VERSIONS).await?;
        Ok(found.map(|config_map| Self::of(&config_map)))
    }

    fn of(config_map: &Value) -> Self {
        let text = |key: &str| config_map["data"][key].as_str().filter(|text| !text.is_empty());
        let versions = text(SUPPORTED_VERSIONS).and_then(|text| json::read(text.as_bytes()).ok());
        Self {
            versions: versions
                .iter()
                .flat_map(|document| document.value["versions"].as_array().into_iter().flatten())
                .filter_map(|version| version.as_str().map(str::to_owned))
                .collect(),
            server_version: text("server-version").map(str::to_owned),
            default: text("default-release").map(str::to_owned),
        }
    }

    /// The release to use: the one given, unless it is known not to exist, else the operator's.
    pub(super) fn choose(&self, given: Option<&str>) -> Result<Option<String>, CommandError> {
        match (given, &self.default) {
            (Some(image), Some(known)) if image.starts_with(BUILT_IN) && image != known => {
                Err(CommandError::UnknownRelease { image: image.to_owned(), known: known.clone() })
            }
            (Some(image), _) => Ok(Some(image.to_owned())),
            (None, default) => Ok(default.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Releases;

    #[test]
    fn the_operator_names_the_default() {
        let releases = Releases::of(&json!({"data": {
            "supported-versions": "{\"versions\":[\"1.36\",\"1.35\"]}",
            "server-version": "v1",
            "default-release": "embedded:v1.36.3",
        }}));
        assert_eq!(releases.versions, ["1.36", "1.35"]);
        assert_eq!(releases.choose(None).unwrap().as_deref(), Some("embedded:v1.36.3"));
        assert_eq!(releases.choose(Some("quay.io/x:1")).unwrap().as_deref(), Some("quay.io/x:1"));
        let error = releases.choose(Some("embedded:v9")).unwrap_err().to_string();
        assert_eq!(error, "the release embedded:v9 is not known; this plane has embedded:v1.36.3");
        assert_eq!(Releases::default().choose(None).unwrap(), None);
        assert!(Releases::of(&json!({"data": {"supported-versions": "[["}})).versions.is_empty());
    }
}
