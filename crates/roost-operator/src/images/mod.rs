//! The server of images as the controllers run it: which base images there are, where it listens, and what an environment's
//! image holds.

mod archive;
mod listener;

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::RwLock;
use roost_image_server::{Catalog, DiskImage, DownloadSettings, ImageError, Images, Links, Origin, OsImage};
use serde_json::Value;

pub(crate) use archive::image_spec;
pub(crate) use listener::{Endpoints, ImageListener};

use crate::infra_env::architecture;

/// The base images that this process was given, and where it keeps those that it fetches.
#[derive(Clone, Debug, Default)]
pub struct BaseImages {
    /// Those that are there whatever the management plane says.
    pub given: Vec<OsImage>,
    /// Where fetched ones are kept.
    pub directory: PathBuf,
}

/// All base images and the images that are made of them.
pub(crate) struct ImageService {
    given: Vec<OsImage>,
    pub(crate) images: Arc<Images>,
    /// The version that hosts boot when nobody names one.
    version: RwLock<Option<String>>,
    /// Where images are served, once they are.
    endpoints: RwLock<Option<Endpoints>>,
}

impl ImageService {
    pub(crate) fn new(base: BaseImages) -> Self {
        let catalog = Arc::new(Catalog::new(base.directory, DownloadSettings::default()));
        let service = Self {
            given: base.given,
            images: Arc::new(Images::new(catalog)),
            version: RwLock::default(),
            endpoints: RwLock::default(),
        };
        service.configure(Vec::new());
        service
    }

    /// Makes these the base images, beside those that were given; true when that changes anything.
    pub(crate) fn configure(&self, configured: Vec<OsImage>) -> bool {
        let version = newest(&configured).or_else(|| newest(&self.given));
        let all: Vec<OsImage> = configured.into_iter().chain(self.given.iter().cloned()).collect();
        let known =
            |images: &Images| images.catalog().progress().into_iter().map(|(image, _)| image).collect::<Vec<_>>();
        let before = known(&self.images);
        self.images.catalog().ensure(all);
        let is_other = *self.version.read() != version || before != known(&self.images);
        *self.version.write() = version;
        is_other
    }

    /// The version that an environment's hosts boot; none when there is nothing to boot.
    pub(crate) fn version(&self, environment: &Value) -> Option<String> {
        environment["spec"]["osImageVersion"].as_str().map(str::to_owned).or_else(|| self.version.read().clone())
    }

    /// Says where images are served from now on.
    fn publish(&self, endpoints: Option<Endpoints>) {
        *self.endpoints.write() = endpoints;
    }

    /// The disk that a host of an environment is installed with and where it is; none when its image has none.
    pub(crate) fn disk(&self, environment: &Value) -> Result<Option<(String, DiskImage)>, ImageError> {
        let (Some(version), Some(endpoints)) = (self.version(environment), self.endpoints.read().clone()) else {
            return Ok(None);
        };
        let found = self.images.disk(&version, architecture(environment))?;
        Ok(found.map(|disk| (endpoints.links().disk(&disk), disk)))
    }
}

impl Endpoints {
    pub(crate) fn links(&self) -> Links<'_> {
        Links { images: &self.images, boot: &self.boot }
    }
}

/// The base images that upstream's service configuration names.
pub(crate) fn configured(config: &Value) -> Vec<OsImage> {
    let images = config["spec"]["osImages"].as_array().into_iter().flatten();
    images
        .filter_map(|image| {
            let text = |name: &str| image[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
            Some(OsImage {
                openshift_version: text("openshiftVersion")?,
                version: text("version")?,
                architecture: text("cpuArchitecture").unwrap_or_else(|| "x86_64".to_owned()),
                origin: Origin::Url(text("url")?),
                disk: None,
            })
        })
        .collect()
}

/// The newest of some images.
fn newest(images: &[OsImage]) -> Option<String> {
    let numbers =
        |text: &str| text.split(['.', '-']).map(|part| part.parse::<u64>().unwrap_or_default()).collect::<Vec<_>>();
    images.iter().map(|image| &image.openshift_version).max_by_key(|version| numbers(version)).cloned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_newest_image_is_the_largest_number() {
        let image = |version: &str| json!({"openshiftVersion": version, "version": "1", "url": "https://h/i.iso"});
        let config = json!({"spec": {"osImages": [image("4.9"), image("4.14"), image("4.14.0-ec.1"),
            {"openshiftVersion": "5.0"}]}});
        assert_eq!(newest(&configured(&config)).as_deref(), Some("4.14.0-ec.1"));
        assert_eq!(newest(&configured(&json!({}))), None);
    }

    #[tokio::test]
    async fn an_environment_names_its_version_or_gets_the_newest() {
        let image = |version: &str| OsImage {
            openshift_version: version.to_owned(),
            version: version.to_owned(),
            architecture: "x86_64".to_owned(),
            origin: Origin::File("/nowhere".into()),
            disk: None,
        };
        let service = ImageService::new(BaseImages { given: vec![image("roost-live")], directory: PathBuf::new() });
        let (plain, own) = (json!({"spec": {}}), json!({"spec": {"osImageVersion": "4.9"}}));
        assert_eq!(service.version(&plain).as_deref(), Some("roost-live"));
        assert_eq!(service.version(&own).as_deref(), Some("4.9"));
        assert!(service.configure(vec![image("4.14")]));
        assert!(!service.configure(vec![image("4.14")]));
        assert_eq!(service.version(&plain).as_deref(), Some("4.14"), "what is configured wins");
        assert!(service.configure(Vec::new()));
        assert_eq!(ImageService::new(BaseImages::default()).version(&plain), None);
    }
}
