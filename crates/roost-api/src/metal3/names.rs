//! Annotations and finalizers of bare-metal hosts.

/// Annotations.
pub mod annotation {
    /// Nobody acts on the host.
    pub const PAUSED: &str = "baremetalhost.metal3.io/paused";
    /// The host is left alone, but for its deletion. The value says by whom.
    pub const DETACHED: &str = "baremetalhost.metal3.io/detached";
    /// The status that the object had elsewhere, as JSON.
    pub const STATUS: &str = "baremetalhost.metal3.io/status";
    /// What reboots the host begins with; the value says how.
    pub const REBOOT_PREFIX: &str = "reboot.metal3.io";
    /// `disabled` keeps the host from being inspected, anything else asks for it.
    pub const INSPECT: &str = "inspect.metal3.io";
    /// What an inspection would have found, as JSON.
    pub const HARDWARE_DETAILS: &str = "inspect.metal3.io/hardwaredetails";
}

/// Finalizers.
pub mod finalizer {
    /// The host is cleaned and turned off first.
    pub const BARE_METAL_HOST: &str = "baremetalhost.metal3.io";
}

/// Keys in the secret of `spec.bmc.credentialsName`.
pub mod key {
    /// Who logs in to the management controller.
    pub const USERNAME: &str = "username";
    /// What they log in with.
    pub const PASSWORD: &str = "password";
}

/// The way to deploy that starts the discovery agent instead of writing an image.
pub const START_ASSISTED_INSTALL: &str = "start_assisted_install";
