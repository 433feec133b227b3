//! What iPXE is told: where kernel, initrd and root file system are, and with which arguments to start.

use std::fmt::Write as _;

/// The arguments that upstream's scripts give every host, in their order.
const FIXED_ARGUMENTS: &str = "random.trust_cpu=on rd.luks.options=discard ignition.firstboot \
     ignition.platform.id=metal console=tty1 console=ttyS1,115200n8 \
     coreos.inst.persistent-kargs=\"console=tty1 console=ttyS1,115200n8\"";

/// The parts of a script that boots a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootScript<'a> {
    /// Where the kernel is.
    pub kernel: &'a str,
    /// Where the initrd is.
    pub initrd: &'a str,
    /// Where the root file system is; an image that is all initrd has none.
    pub rootfs: Option<&'a str>,
    /// The image's own arguments; CoreOS gets upstream's.
    pub own_arguments: Option<&'a str>,
    /// What the user adds.
    pub extra_arguments: &'a str,
}

impl BootScript<'_> {
    /// The script.
    pub fn to_text(&self) -> String {
        let mut text = format!("#!ipxe\ninitrd --name initrd {}\nkernel {} initrd=initrd", self.initrd, self.kernel);
        if let Some(rootfs) = self.rootfs {
            let _ = write!(text, " coreos.live.rootfs_url={rootfs}");
        }
        for arguments in [self.own_arguments.unwrap_or(FIXED_ARGUMENTS), self.extra_arguments] {
            if !arguments.is_empty() {
                let _ = write!(text, " {arguments}");
            }
        }
        text.push_str("\nboot\n");
        text
    }
}

/// A script that asks again and says who asks, so that an installed host can be sent to its disk.
pub fn chain_by_address(url: &str) -> String {
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("#!ipxe\nchain {url}{separator}mac=${{net0/mac}}\n")
}

#[cfg(test)]
mod tests {
    use super::{BootScript, chain_by_address};

    #[test]
    fn coreos_boots_as_upstream_boots_it() {
        let script = BootScript {
            kernel: "http://i/boot-artifacts/kernel?arch=x86_64&version=4.18",
            initrd: "http://i/images/7/pxe-initrd?arch=x86_64",
            rootfs: Some("http://i/boot-artifacts/rootfs?arch=x86_64&version=4.18"),
            own_arguments: None,
            extra_arguments: "nosmt",
        };
        let expected = "#!ipxe\n\
            initrd --name initrd http://i/images/7/pxe-initrd?arch=x86_64\n\
            kernel http://i/boot-artifacts/kernel?arch=x86_64&version=4.18 initrd=initrd \
            coreos.live.rootfs_url=http://i/boot-artifacts/rootfs?arch=x86_64&version=4.18 \
            random.trust_cpu=on rd.luks.options=discard ignition.firstboot ignition.platform.id=metal console=tty1 \
            console=ttyS1,115200n8 coreos.inst.persistent-kargs=\"console=tty1 console=ttyS1,115200n8\" nosmt\n\
            boot\n";
        assert_eq!(script.to_text(), expected);
    }

    #[test]
    fn an_image_without_root_file_system_says_so() {
        let script = BootScript {
            kernel: "http://i/k",
            initrd: "http://i/i",
            rootfs: None,
            own_arguments: Some("console=ttyS0"),
            extra_arguments: "",
        };
        assert_eq!(
            script.to_text(),
            "#!ipxe\ninitrd --name initrd http://i/i\nkernel http://i/k initrd=initrd console=ttyS0\nboot\n"
        );
    }

    #[test]
    fn the_address_is_asked_for() {
        assert_eq!(chain_by_address("http://s/f?a=b"), "#!ipxe\nchain http://s/f?a=b&mac=${net0/mac}\n");
        assert_eq!(chain_by_address("http://s/f"), "#!ipxe\nchain http://s/f?mac=${net0/mac}\n");
    }
}
