//! Serves the images of hosts: ranges of base images with bytes of one environment in between, never copied.
//!
//! Paths and parameters are upstream's. Which tokens are good is decided by a [`Gate`]; what belongs to an environment is
//! said by whoever calls [`Images::ensure`]. Nothing here knows a Kubernetes client.

mod answer;
mod base_file;
mod catalog;
mod connection;
mod digest;
mod download;
mod given;
mod images;
mod limits;
mod metrics;
mod range;
mod request;
mod route;
mod server;
mod wire;

pub use base_file::BaseFile;
pub use catalog::{Catalog, CatalogError, Origin, OsImage, Progress};
pub use download::{DownloadError, DownloadSettings};
pub use given::given;
pub use images::{Artifact, Contents, DiskImage, Gate, ImageError, ImageSpec, Images, Kind, Links, ScriptRequest};
pub use limits::Limits;
pub use metrics::Metrics;
pub use server::{Exposure, Server};
