//! The platforms, and how much each can carry.

use std::fmt;
use std::str::FromStr;

use super::{Pointer, cloud_init, user_data};

/// How user-data is handed to a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// The config itself.
    Ignition,
    /// Google Cloud.
    Gcp,
    /// Amazon Web Services.
    Aws,
    /// Microsoft Azure.
    Azure,
    /// `OpenStack`.
    OpenStack,
    /// QEMU and libvirt.
    Libvirt,
    /// Hosts without Ignition.
    CloudInit,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Ignition, Self::Gcp, Self::Aws, Self::Azure, Self::OpenStack, Self::Libvirt, Self::CloudInit];

    /// The name that people type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ignition => "ignition",
            Self::Gcp => "gcp",
            Self::Aws => "aws",
            Self::Azure => "azure",
            Self::OpenStack => "openstack",
            Self::Libvirt => "libvirt",
            Self::CloudInit => "cloud-init",
        }
    }

    /// Where the text goes.
    pub fn place(self) -> &'static str {
        match self {
            Self::Ignition => "the platform's user-data, or a file that coreos-installer embeds",
            Self::Gcp => "the instance's metadata key user-data (gcloud … --metadata-from-file user-data=FILE)",
            Self::Aws => "the instance's user data (aws ec2 run-instances --user-data file://FILE, which encodes it)",
            Self::Azure => "the machine's custom data (az vm create --custom-data FILE, which encodes it)",
            Self::OpenStack => "the server's user data (openstack server create --user-data FILE)",
            Self::Libvirt => "the firmware entry opt/com.coreos/config (-fw_cfg name=opt/com.coreos/config,file=FILE)",
            Self::CloudInit => "the user-data of a host that runs cloud-init",
        }
    }

    /// The most bytes that the platform carries, before it encodes them.
    pub fn limit(self) -> Option<usize> {
        match self {
            Self::Ignition | Self::Libvirt => None,
            Self::Gcp => Some(256 << 10),
            // Both count the encoded form, of which three quarters are the text.
            Self::Azure | Self::OpenStack => Some(65_535 / 4 * 3),
            // Amazon's is the tightest of the platforms that run cloud-init.
            Self::Aws | Self::CloudInit => Some(16 << 10),
        }
    }

    /// The user-data of a machine on this platform.
    pub fn render(self, pointer: &Pointer) -> Result<UserData, UserDataError> {
        let text = match self {
            Self::CloudInit => cloud_init::render(pointer)?,
            _ => String::from_utf8(user_data(pointer).to_bytes()).unwrap_or_default(),
        };
        match self.limit() {
            Some(limit) if text.len() > limit => Err(UserDataError::TooLarge { format: self, size: text.len(), limit }),
            _ => Ok(UserData { format: self, text }),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The text names no format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no format of user-data; there are ignition, gcp, aws, azure, openstack, libvirt and cloud-init")]
pub struct InvalidFormat(String);

impl FromStr for Format {
    type Err = InvalidFormat;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|format| format.name() == text).ok_or_else(|| InvalidFormat(text.to_owned()))
    }
}

/// User-data for one platform. It carries the pool's token.
#[derive(Clone, PartialEq, Eq)]
pub struct UserData {
    /// For which platform.
    pub format: Format,
    /// What is handed over.
    pub text: String,
}

impl fmt::Debug for UserData {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("UserData").field("format", &self.format).finish_non_exhaustive()
    }
}

/// Why there is no user-data for a platform.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UserDataError {
    /// The platform carries less.
    #[error("user-data for {format} would be {size} bytes and {limit} are the most; trust fewer authorities")]
    TooLarge {
        /// The platform.
        format: Format,
        /// How large it would be.
        size: usize,
        /// How large it may be.
        limit: usize,
    },
    /// The agent's hash cannot be checked by a shell.
    #[error("the agent's hash must be sha256-… or sha512-… in lower-case hex, and its URL https")]
    Agent,
}
