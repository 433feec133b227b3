//! Releases, their architectures and the mirrors of their images.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{Rule, Rules};

/// A release of Kubernetes or OpenShift.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// The pull specification of the release.
    #[schemars(length(min = 1, max = 253))]
    #[schemars(transform = Rules([
        Rule::new(
            r"self.matches('^(\\w+\\S+)$')",
            "Image must start with a word character (letters, digits, or underscores) and contain no white spaces",
        ),
    ]))]
    pub image: String,
}

/// Where else the images of a registry can be pulled from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageContentSource {
    /// The repository as image references name it.
    #[schemars(length(max = 255))]
    pub source: String,
    /// Repositories with the same images, tried in this order before the source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 255), inner(length(max = 255)), extend("x-kubernetes-list-type" = "set"))]
    pub mirrors: Vec<String>,
}

/// The processor architectures of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum PayloadArchitecture {
    /// Several.
    Multi,
    /// 64-bit ARM.
    #[serde(rename = "ARM64")]
    Arm64,
    /// 64-bit x86.
    #[serde(rename = "AMD64")]
    Amd64,
    /// 64-bit POWER, little endian.
    #[serde(rename = "PPC64LE")]
    Ppc64le,
    /// IBM Z.
    #[serde(rename = "S390X")]
    S390x,
}
