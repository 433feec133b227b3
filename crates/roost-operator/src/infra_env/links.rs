//! The links of an InfraEnv: where hosts find what they boot. Pure.

use roost_image::BootScript;
use serde_json::Value;

use crate::machine::digits;

/// What an InfraEnv's image is like: another text for another image.
pub(crate) fn revision(environment: &Value) -> String {
    digits(&environment["spec"].to_string(), 16)
}

pub(crate) fn architecture(environment: &Value) -> &str {
    environment["spec"]["cpuArchitecture"].as_str().unwrap_or("x86_64")
}

pub(crate) fn image_type(environment: &Value) -> &str {
    let wanted = environment["spec"]["imageType"].as_str();
    wanted.unwrap_or(if architecture(environment) == "s390x" { "full-iso" } else { "minimal-iso" })
}

/// The kernel arguments that the user adds, with blanks between.
pub(crate) fn appended_arguments(environment: &Value) -> String {
    let arguments = environment["spec"]["kernelArguments"].as_array().into_iter().flatten();
    arguments.filter_map(|argument| argument["value"].as_str()).collect::<Vec<_>>().join(" ")
}

/// The links of one InfraEnv, with a token in them.
pub(crate) struct Links<'a> {
    base: &'a str,
    id: &'a str,
    version: &'a str,
    architecture: &'a str,
    image: &'static str,
    is_controlled: bool,
    token: &'a str,
}

impl<'a> Links<'a> {
    pub(crate) fn new(base: &'a str, environment: &'a Value, default_version: &'a str, token: &'a str) -> Self {
        Self {
            base,
            id: environment["metadata"]["uid"].as_str().unwrap_or_default(),
            version: environment["spec"]["osImageVersion"].as_str().unwrap_or(default_version),
            architecture: architecture(environment),
            image: if image_type(environment) == "full-iso" { "full.iso" } else { "minimal.iso" },
            is_controlled: environment["spec"]["ipxeScriptType"] == "BootOrderControl",
            token,
        }
    }

    pub(crate) fn image(&self) -> String {
        let Self { base, version, architecture, image, token, .. } = self;
        format!("{base}/byapikey/{token}/{version}/{architecture}/{image}")
    }

    fn artifact(&self, name: &str) -> String {
        let Self { base, version, architecture, .. } = self;
        format!("{base}/boot-artifacts/{name}?arch={architecture}&version={version}")
    }

    pub(crate) fn kernel(&self) -> String {
        self.artifact("kernel")
    }

    pub(crate) fn rootfs(&self) -> String {
        self.artifact("rootfs")
    }

    pub(crate) fn initrd(&self) -> String {
        let Self { base, id, version, architecture, token, .. } = self;
        format!("{base}/images/{id}/pxe-initrd?api_key={token}&arch={architecture}&version={version}")
    }

    fn download(&self, query: &str) -> String {
        let Self { base, id, token, .. } = self;
        format!("{base}{}/infra-envs/{id}/downloads/files?{query}&api_key={token}", roost_host::wire::BASE)
    }

    pub(crate) fn script(&self) -> String {
        self.download(if self.is_controlled {
            "file_name=ipxe-script&ipxe_script_type=boot-order-control"
        } else {
            "file_name=ipxe-script"
        })
    }

    pub(crate) fn ignition(&self) -> String {
        self.download("file_name=discovery.ign")
    }

    /// The script that boots a host.
    pub(crate) fn boot_script(&self, extra: &str) -> String {
        let (kernel, initrd, rootfs) = (self.kernel(), self.initrd(), self.rootfs());
        let script = BootScript {
            kernel: &kernel,
            initrd: &initrd,
            rootfs: Some(&rootfs),
            own_arguments: None,
            extra_arguments: extra,
        };
        script.to_text()
    }
}

/// The token in the link of an image.
pub(crate) fn token_of(link: &str) -> Option<&str> {
    link.split_once("/byapikey/")?.1.split('/').next()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn links_have_upstreams_shape() {
        let environment = json!({"metadata": {"uid": "770980f8"}, "spec": {"osImageVersion": "4.14",
            "kernelArguments": [{"operation": "append", "value": "nosmt"}, {"operation": "append", "value": "a=\"b c\""}]}});
        let links = Links::new("https://192.0.2.1:30001", &environment, "live", "TOKEN");
        assert_eq!(links.image(), "https://192.0.2.1:30001/byapikey/TOKEN/4.14/x86_64/minimal.iso");
        assert_eq!(token_of(&links.image()), Some("TOKEN"));
        assert_eq!(
            links.script(),
            "https://192.0.2.1:30001/api/assisted-install/v2/infra-envs/770980f8/downloads/files?file_name=ipxe-script&api_key=TOKEN"
        );
        let script = links.boot_script(&appended_arguments(&environment));
        assert!(script.starts_with(
            "#!ipxe\ninitrd --name initrd https://192.0.2.1:30001/images/770980f8/pxe-initrd?api_key=TOKEN&arch=x86_64&version=4.14\nkernel "
        ));
        assert!(script.ends_with(" nosmt a=\"b c\"\nboot\n"), "{script}");
        let other = json!({"metadata": {"uid": "770980f8"}, "spec": {"osImageVersion": "4.15"}});
        assert_ne!(revision(&environment), revision(&other));
    }
}
