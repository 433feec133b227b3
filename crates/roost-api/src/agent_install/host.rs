//! What a host is, and how far it is: role, kind, state and stage. Other controllers compare these texts.

use crate::open_string::open_string;

open_string! {
    /// What a host does in its cluster.
    #[derive(Default)]
    pub enum HostRole {
        /// Whatever the cluster needs.
        #[default]
        AutoAssign = "auto-assign",
        /// A part of the control plane.
        Master = "master",
        /// A node for workloads.
        Worker = "worker",
        /// A small member that breaks ties of the control plane.
        Arbiter = "arbiter",
        /// The host that starts the control plane.
        Bootstrap = "bootstrap",
    }
}

open_string! {
    /// How a host comes into its cluster.
    pub enum HostKind {
        /// With the cluster.
        Host = "Host",
        /// Into a cluster that exists; all hosts of hosted clusters do.
        AddToExistingCluster = "AddToExistingClusterHost",
    }
}

open_string! {
    /// The state of a host.
    pub enum HostState {
        /// Bound; its inventory is not known yet.
        Discovering = "discovering",
        /// Bound; it could be installed.
        Known = "known",
        /// Bound; it stopped polling.
        Disconnected = "disconnected",
        /// Bound; a validation fails.
        Insufficient = "insufficient",
        /// Bound; somebody set it aside.
        Disabled = "disabled",
        /// It is prepared for its installation.
        PreparingForInstallation = "preparing-for-installation",
        /// It could not be prepared.
        PreparingFailed = "preparing-failed",
        /// It was prepared.
        PreparingSuccessful = "preparing-successful",
        /// Something must be said before it can be validated.
        PendingForInput = "pending-for-input",
        /// The installation was ordered.
        Installing = "installing",
        /// The installation reports progress.
        InstallingInProgress = "installing-in-progress",
        /// The installation needs a person, mostly to change the boot order.
        InstallingPendingUserAction = "installing-pending-user-action",
        /// It must be booted from the image again to be reset.
        ResettingPendingUserAction = "resetting-pending-user-action",
        /// It was installed together with its cluster.
        Installed = "installed",
        /// The installation failed.
        Error = "error",
        /// It is being reset.
        Resetting = "resetting",
        /// It became a node of a cluster that existed before.
        AddedToExistingCluster = "added-to-existing-cluster",
        /// The installation was called off.
        Cancelled = "cancelled",
        /// It is on its way into a cluster.
        Binding = "binding",
        /// It is on its way out of a cluster.
        Unbinding = "unbinding",
        /// It must be booted from the image again to be free.
        UnbindingPendingUserAction = "unbinding-pending-user-action",
        /// Free; it could be bound.
        KnownUnbound = "known-unbound",
        /// Free; it stopped polling.
        DisconnectedUnbound = "disconnected-unbound",
        /// Free; a validation fails.
        InsufficientUnbound = "insufficient-unbound",
        /// Free; somebody set it aside.
        DisabledUnbound = "disabled-unbound",
        /// Free; its inventory is not known yet.
        DiscoveringUnbound = "discovering-unbound",
        /// It gets the discovery image, to boot it by itself.
        Reclaiming = "reclaiming",
        /// It boots the discovery image.
        ReclaimingRebooting = "reclaiming-rebooting",
    }
}

impl HostState {
    /// Whether the host belongs to no cluster.
    pub fn is_unbound(&self) -> bool {
        matches!(
            self,
            Self::KnownUnbound
                | Self::DisconnectedUnbound
                | Self::InsufficientUnbound
                | Self::DisabledUnbound
                | Self::DiscoveringUnbound
        )
    }

    /// Whether the host is out of its cluster as far as it can be: whoever waits to release it may go on.
    pub fn is_released(&self) -> bool {
        self.is_unbound() || matches!(self, Self::UnbindingPendingUserAction | Self::Error)
    }

    /// Whether the installation was ordered and did not end.
    pub fn is_installing(&self) -> bool {
        matches!(
            self,
            Self::PreparingForInstallation
                | Self::PreparingFailed
                | Self::PreparingSuccessful
                | Self::Installing
                | Self::InstallingInProgress
                | Self::InstallingPendingUserAction
        )
    }
}

open_string! {
    /// How far the installation of a host is.
    pub enum HostStage {
        /// The installer starts.
        StartingInstallation = "Starting installation",
        /// The control plane is not there yet.
        WaitingForControlPlane = "Waiting for control plane",
        /// The first host did not start the control plane yet.
        WaitingForBootkube = "Waiting for bootkube",
        /// The cluster's own installer does not run yet.
        WaitingForController = "Waiting for controller",
        /// The installer runs.
        Installing = "Installing",
        /// The image goes to the disk.
        WritingImageToDisk = "Writing image to disk",
        /// The registry's data goes to the disk.
        CopyingRegistryData = "Copying registry data to disk",
        /// The host boots its disk.
        Rebooting = "Rebooting",
        /// The host asks for its Ignition config.
        WaitingForIgnition = "Waiting for ignition",
        /// The host configures itself.
        Configuring = "Configuring",
        /// The node exists.
        Joined = "Joined",
        /// The node is ready.
        Done = "Done",
        /// It went wrong.
        Failed = "Failed",
    }
}

impl HostStage {
    /// The stages of a worker, in order.
    pub const OF_WORKERS: &'static [Self] = &[
        Self::StartingInstallation,
        Self::Installing,
        Self::WritingImageToDisk,
        Self::WaitingForControlPlane,
        Self::Rebooting,
        Self::WaitingForIgnition,
        Self::Configuring,
        Self::Joined,
        Self::Done,
    ];

    /// The stages of a part of the control plane, in order.
    pub const OF_MASTERS: &'static [Self] = &[
        Self::StartingInstallation,
        Self::Installing,
        Self::WritingImageToDisk,
        Self::CopyingRegistryData,
        Self::Rebooting,
        Self::Configuring,
        Self::Joined,
        Self::Done,
    ];
}

#[cfg(test)]
mod tests {
    use super::{HostStage, HostState};

    #[test]
    fn states_sort_hosts() {
        let unbound = HostState::KNOWN.iter().filter(|state| state.is_unbound());
        assert!(unbound.clone().all(|state| state.as_str().ends_with("-unbound")));
        assert_eq!(unbound.count(), 5);
        assert!(HostState::from("unbinding-pending-user-action").is_released());
        assert!(!HostState::from("known").is_released());
        assert!(HostState::from("installing-in-progress").is_installing());
        assert!(!HostState::from("installed").is_installing());
        assert_eq!(HostState::KNOWN.len(), 28);
    }

    #[test]
    fn workers_end_ready() {
        assert_eq!(HostStage::OF_WORKERS.last().map(HostStage::as_str), Some("Done"));
    }
}
