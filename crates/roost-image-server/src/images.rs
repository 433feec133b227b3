//! The images of environments: what belongs to each, and what a client gets of it.

use std::collections::HashMap;
use std::sync::Arc;

use aws_lc_rs::digest::{Context, SHA256};
use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};
use roost_image::{Archive, BaseError, BootScript, KernelArgument, Layout, Segment, Source as _, chain_by_address};

use crate::base_file::BaseFile;
use crate::catalog::{Base, Catalog, Missing, Progress};
use crate::digest::hexadecimal;
use crate::route::Form;

/// Where upstream's service has its files, the boot script among them.
pub(crate) const SERVICE: &str = "/api/assisted-install/v2";
pub(crate) const SCRIPT: &str = "ipxe-script";

/// Of one environment few versions and forms are in use at a time.
const MOST_MADE: usize = 8;

/// Whose token this is.
pub trait Gate: Send + Sync + 'static {
    /// The environment that the token is good for now, if there is one.
    fn environment(&self, token: &str) -> Option<String>;

    /// Whether the host with this network card has a system on its disk, and shall start that.
    fn boots_disk(&self, _infra_env: &str, _card: &str) -> bool {
        false
    }
}

impl<F: Fn(&str) -> Option<String> + Send + Sync + 'static> Gate for F {
    fn environment(&self, token: &str) -> Option<String> {
        self(token)
    }
}

/// Which of the two images of an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// With the root file system in it.
    Full,
    /// Without it: the host fetches it.
    Minimal,
}

/// A part of a base image that is fetched for booting over the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Artifact {
    /// The kernel.
    Kernel,
    /// The root file system.
    Rootfs,
}

/// What belongs to an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageSpec {
    /// The version of the base image, where a request names none.
    pub version: String,
    /// For which machines.
    pub architecture: String,
    /// Which of the two images its hosts usually boot: the one that has to be possible.
    pub kind: Kind,
    /// Where its hosts reach the parts for booting over the network, without a slash at its end. A minimal image says it.
    pub boot: String,
    /// The files that a host of this environment finds: `config.ign`, and whatever else its boot needs.
    pub archive: Archive,
    /// What is wished of the kernel's arguments.
    pub kernel_arguments: Vec<KernelArgument>,
    /// Whether a host that starts from the network is asked who it is first, so that it can be sent to its disk.
    pub is_boot_order_controlled: bool,
    /// When any of this last changed.
    pub updated: Timestamp,
}

/// What an environment's image consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Whether there is a root file system beside the initrd.
    pub has_rootfs: bool,
}

/// Who asks for a boot script, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScriptRequest<'a> {
    /// The network card that asks; empty when it does not say.
    pub card: &'a str,
    /// Whether the address that is asked wants hosts to say who they are, whatever the environment wants.
    pub is_controlled: bool,
}

/// What a disk image is known by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskImage {
    /// The digest of its bytes as they are sent, in hexadecimal.
    pub sha256: String,
    /// How many these are.
    pub length: u64,
}

/// Why an environment has no image.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// No base image is known for it.
    #[error("there is no image of version {version} for {architecture}")]
    UnknownVersion {
        /// The version.
        version: String,
        /// For which machines.
        architecture: String,
    },
    /// The base image is not there yet.
    #[error("the image is not ready: {}", words(.0))]
    NotReady(Progress),
    /// What belongs to the environment does not go into the image.
    #[error(transparent)]
    Base(#[from] BaseError),
    /// The base image has no such part.
    #[error("the image has no {0}")]
    NoPart(&'static str),
    /// Nobody said what belongs to this environment.
    #[error("there is no such environment")]
    UnknownEnvironment,
}

fn words(progress: &Progress) -> String {
    match progress {
        Progress::Waiting => "waiting for its download".to_owned(),
        Progress::Downloading { received, total: Some(total) } => {
            format!("{received} of {total} bytes were downloaded")
        }
        Progress::Downloading { received, total: None } => format!("{received} bytes were downloaded"),
        Progress::Ready => "almost".to_owned(),
        Progress::Failed(error) => error.clone(),
    }
}

/// Something that can be sent, in whole or in part.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) layout: Layout<Arc<BaseFile>>,
    /// The strong entity tag, in quotes.
    pub(crate) tag: String,
    pub(crate) modified: Option<Timestamp>,
    pub(crate) file_name: String,
}

struct Environment {
    spec: ImageSpec,
    made: Mutex<Vec<Made>>,
}

/// What was made of which base.
struct Made {
    base: Arc<Base>,
    form: Form,
    served: Arc<Served>,
}

/// The images of all environments.
pub struct Images {
    catalog: Arc<Catalog>,
    environments: RwLock<HashMap<String, Arc<Environment>>>,
}

impl Images {
    /// No environments yet.
    pub fn new(catalog: Arc<Catalog>) -> Self {
        Self { catalog, environments: RwLock::default() }
    }

    /// The base images.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Makes this what belongs to an environment, and says why it would have no image now. Nothing happens when it is so
    /// already; what is being sent is sent to its end as it was.
    pub fn ensure(&self, infra_env: &str, spec: ImageSpec) -> Result<Contents, ImageError> {
        let known = self.environments.read().get(infra_env).filter(|known| known.spec == spec).map(Arc::clone);
        let environment = known.unwrap_or_else(|| {
            let environment = Arc::new(Environment { spec, made: Mutex::default() });
            self.environments.write().insert(infra_env.to_owned(), Arc::clone(&environment));
            environment
        });
        let ImageSpec { version, architecture, kind, .. } = &environment.spec;
        let base = self.base(version, architecture)?;
        environment.image(infra_env, &base, version, architecture, Form::Iso(*kind))?;
        Ok(Contents { has_rootfs: base.image.rootfs.is_some() })
    }

    /// Ends an environment: it has no image any more. True when it had one.
    pub fn remove(&self, infra_env: &str) -> bool {
        self.environments.write().remove(infra_env).is_some()
    }

    /// What iPXE is told for an environment; none for a host that starts its disk.
    pub fn boot_script(
        &self,
        infra_env: &str,
        token: &str,
        request: ScriptRequest<'_>,
        gate: &dyn Gate,
    ) -> Result<Option<String>, ImageError> {
        let environment = self.environment(infra_env)?;
        let ImageSpec { version, architecture, kernel_arguments, boot, is_boot_order_controlled, .. } =
            &environment.spec;
        let links = Links { images: boot, boot };
        if *is_boot_order_controlled || request.is_controlled {
            if request.card.is_empty() {
                return Ok(Some(chain_by_address(&links.script(infra_env, token, true))));
            }
            if gate.boots_disk(infra_env, request.card) {
                return Ok(None);
            }
        }
        let base = self.base(version, architecture)?;
        let extra: Vec<&str> = kernel_arguments
            .iter()
            .filter(|argument| argument.operation != roost_image::Operation::Delete)
            .map(|argument| argument.value.as_str())
            .collect();
        let own = base.image.areas.kernel_arguments.as_ref().map(|area| area.default.as_str());
        let (kernel, rootfs) = (links.kernel(version, architecture), links.rootfs(version, architecture));
        let script = BootScript {
            kernel: &kernel,
            initrd: &links.initrd(infra_env, version, architecture, token),
            rootfs: base.image.rootfs.is_some().then_some(rootfs.as_str()),
            own_arguments: if base.image.is_coreos() { None } else { Some(own.unwrap_or_default()) },
            extra_arguments: &extra.join(" "),
        };
        Ok(Some(script.to_text()))
    }

    /// The image of a disk that belongs to a version: none when it has none, an error while it is still being read.
    pub fn disk(&self, version: &str, architecture: &str) -> Result<Option<DiskImage>, ImageError> {
        self.catalog.disk(version, architecture).map_err(|missing| unavailable(missing, version, architecture))
    }

    pub(crate) fn disk_file(&self, sha256: &str) -> Result<Arc<Served>, ImageError> {
        let file = self.catalog.disk_by_digest(sha256).ok_or(ImageError::NoPart("such disk"))?;
        let mut layout = Layout::default();
        layout.push(Segment::File { length: file.length(), file, offset: 0 });
        let file_name = format!("{sha256}.raw.gz");
        Ok(Arc::new(Served { tag: format!("\"{sha256}\""), layout, modified: None, file_name }))
    }

    pub(crate) fn image(
        &self,
        infra_env: &str,
        version: Option<&str>,
        architecture: &str,
        form: Form,
    ) -> Result<Arc<Served>, ImageError> {
        let environment = self.environment(infra_env)?;
        let version = version.unwrap_or(&environment.spec.version);
        let base = self.base(version, architecture)?;
        environment.image(infra_env, &base, version, architecture, form)
    }

    pub(crate) fn part(
        &self,
        artifact: Artifact,
        version: &str,
        architecture: &str,
    ) -> Result<Arc<Served>, ImageError> {
        let base = self.base(version, architecture)?;
        let (extent, name) = match artifact {
            Artifact::Kernel => (base.image.kernel, "vmlinuz"),
            Artifact::Rootfs => (base.image.rootfs.ok_or(ImageError::NoPart("root file system"))?, "rootfs.img"),
        };
        let layout = base.image.part(Arc::clone(&base.file), extent);
        Ok(Arc::new(Served { tag: tag(&layout), layout, modified: None, file_name: name.to_owned() }))
    }

    fn environment(&self, infra_env: &str) -> Result<Arc<Environment>, ImageError> {
        self.environments.read().get(infra_env).cloned().ok_or(ImageError::UnknownEnvironment)
    }

    fn base(&self, version: &str, architecture: &str) -> Result<Arc<Base>, ImageError> {
        self.catalog.base(version, architecture).map_err(|missing| unavailable(missing, version, architecture))
    }
}

fn unavailable(missing: Missing, version: &str, architecture: &str) -> ImageError {
    match missing {
        Missing::Unknown => {
            ImageError::UnknownVersion { version: version.to_owned(), architecture: architecture.to_owned() }
        }
        Missing::Unfinished(progress) => ImageError::NotReady(progress),
    }
}

impl Environment {
    /// Made once; the next who asks gets the same.
    fn image(
        &self,
        infra_env: &str,
        base: &Arc<Base>,
        version: &str,
        architecture: &str,
        form: Form,
    ) -> Result<Arc<Served>, ImageError> {
        let mut made = self.made.lock();
        if let Some(made) = made.iter().find(|made| Arc::ptr_eq(&made.base, base) && made.form == form) {
            return Ok(Arc::clone(&made.served));
        }
        let ImageSpec { archive, kernel_arguments, boot, .. } = &self.spec;
        let file = Arc::clone(&base.file);
        let iso_name = format!("{infra_env}-discovery.iso");
        let (layout, file_name) = match form {
            Form::Initrd => (base.image.network_initrd(file, archive), format!("{infra_env}-initrd.img")),
            Form::Iso(Kind::Minimal) if base.image.rootfs.is_some() => {
                let rootfs = Links { images: boot, boot }.rootfs(version, architecture);
                (base.image.minimal(&*base.file, file, archive, kernel_arguments, &rootfs)?, iso_name)
            }
            // An image that is all initrd is as small as it gets.
            Form::Iso(_) => (base.image.full(file, archive, kernel_arguments)?, iso_name),
        };
        let served = Served { tag: tag(&layout), layout, modified: Some(self.spec.updated), file_name };
        let served = Arc::new(served);
        if made.len() == MOST_MADE {
            made.remove(0);
        }
        made.push(Made { base: Arc::clone(base), form, served: Arc::clone(&served) });
        Ok(served)
    }
}

/// Equal for equal bytes: the digest of what is ours, and of where and in what everything else lies.
fn tag(layout: &Layout<Arc<BaseFile>>) -> String {
    let mut digest = Context::new(&SHA256);
    for segment in layout.segments() {
        match segment {
            Segment::File { file, offset, length } => {
                digest.update(format!("{}:{offset}:{length}\n", file.identity()).as_bytes());
            }
            Segment::Bytes(bytes) => {
                digest.update(format!("{}\n", bytes.len()).as_bytes());
                digest.update(bytes);
            }
        }
    }
    format!("\"{}\"", hexadecimal(&digest.finish().as_ref()[..16]))
}

/// The addresses under which a server is reached, without a slash at their ends.
#[derive(Clone, Copy, Debug)]
pub struct Links<'a> {
    /// Where images are.
    pub images: &'a str,
    /// Where the parts for booting over the network are: HTTP, where firmware knows nothing else.
    pub boot: &'a str,
}

impl Links<'_> {
    /// The ISO of the environment that the token is good for.
    pub fn iso(&self, token: &str, version: &str, architecture: &str, kind: Kind) -> String {
        let name = match kind {
            Kind::Full => "full",
            Kind::Minimal => "minimal",
        };
        format!("{}/byapikey/{token}/{version}/{architecture}/{name}.iso", self.images)
    }

    /// The kernel.
    pub fn kernel(&self, version: &str, architecture: &str) -> String {
        format!("{}/boot-artifacts/kernel?arch={architecture}&version={version}", self.boot)
    }

    /// The root file system.
    pub fn rootfs(&self, version: &str, architecture: &str) -> String {
        format!("{}/boot-artifacts/rootfs?arch={architecture}&version={version}", self.boot)
    }

    /// The initrd of an environment.
    pub fn initrd(&self, infra_env: &str, version: &str, architecture: &str, token: &str) -> String {
        format!("{}/images/{infra_env}/pxe-initrd?arch={architecture}&version={version}&api_key={token}", self.boot)
    }

    /// The script that boots a host of an environment; where the boot order is controlled, it asks who the host is.
    pub fn script(&self, infra_env: &str, token: &str, is_controlled: bool) -> String {
        let order = if is_controlled { "&ipxe_script_type=boot-order-control" } else { "" };
        let path = format!("{SERVICE}/infra-envs/{infra_env}/downloads/files");
        format!("{}{path}?file_name={SCRIPT}{order}&api_key={token}", self.boot)
    }

    /// The image of a disk.
    pub fn disk(&self, image: &DiskImage) -> String {
        format!("{}/disks/sha256-{}", self.images, image.sha256)
    }
}
