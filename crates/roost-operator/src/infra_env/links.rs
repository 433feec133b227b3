//! What an InfraEnv says of its image, and the links to it. Pure.

use roost_image_server::{Contents, Kind};
use serde_json::{Value, json};

use crate::discovery::Published;
use crate::images::Endpoints;
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

/// The kernel arguments that the user adds.
pub(crate) fn kernel_arguments(environment: &Value) -> impl Iterator<Item = &str> {
    let arguments = environment["spec"]["kernelArguments"].as_array().into_iter().flatten();
    arguments.filter_map(|argument| argument["value"].as_str())
}

/// Whether hosts that start from the network are sent to their disks once they have a system there.
pub(crate) fn is_boot_order_controlled(environment: &Value) -> bool {
    environment["spec"]["ipxeScriptType"] == "BootOrderControl"
}

/// Where the discovery configuration is. It is there even when there is nothing to boot.
pub(super) fn discovery_ignition(published: &Published, environment: &Value, token: &str) -> String {
    let id = environment["metadata"]["uid"].as_str().unwrap_or_default();
    let path = format!("{}/infra-envs/{id}/downloads/files", roost_host::wire::BASE);
    format!("{}{path}?file_name=discovery.ign&api_key={token}", published.url)
}

/// The image that an InfraEnv's hosts boot, and its parts.
pub(super) struct Image<'a> {
    pub(super) endpoints: &'a Endpoints,
    pub(super) version: &'a str,
    pub(super) contents: Contents,
}

impl Image<'_> {
    /// Where the image is.
    pub(super) fn iso(&self, environment: &Value, token: &str) -> String {
        let kind = if image_type(environment) == "full-iso" { Kind::Full } else { Kind::Minimal };
        self.endpoints.links().iso(token, self.version, architecture(environment), kind)
    }

    /// Where that is which hosts fetch when they start from the network.
    pub(super) fn artifacts(&self, environment: &Value, token: &str) -> Value {
        let (links, version, architecture) = (self.endpoints.links(), self.version, architecture(environment));
        let id = environment["metadata"]["uid"].as_str().unwrap_or_default();
        let mut artifacts = json!({
            "initrd": links.initrd(id, version, architecture, token),
            "kernel": links.kernel(version, architecture),
            "ipxeScript": links.script(id, token, is_boot_order_controlled(environment)),
        });
        if self.contents.has_rootfs {
            artifacts["rootfs"] = json!(links.rootfs(version, architecture));
        }
        artifacts
    }
}

/// The token that an InfraEnv's status shows.
pub(super) fn shown_token(environment: &Value) -> Option<&str> {
    let link = environment["status"]["bootArtifacts"]["discoveryIgnitionURL"].as_str()?;
    link.split_once("api_key=").map(|(_, token)| token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_have_upstreams_shape() {
        let environment = json!({"metadata": {"uid": "770980f8"}, "spec": {
            "kernelArguments": [{"operation": "append", "value": "nosmt"}, {"operation": "append", "value": "a=\"b c\""}]}});
        let endpoints =
            Endpoints { images: "https://192.0.2.1:30001".to_owned(), boot: "http://192.0.2.1:30002".to_owned() };
        let image = Image { endpoints: &endpoints, version: "4.14", contents: Contents { has_rootfs: true } };
        assert_eq!(image.iso(&environment, "TOKEN"), "https://192.0.2.1:30001/byapikey/TOKEN/4.14/x86_64/minimal.iso");
        let artifacts = image.artifacts(&environment, "TOKEN");
        assert_eq!(
            artifacts["ipxeScript"],
            "http://192.0.2.1:30002/api/assisted-install/v2/infra-envs/770980f8/downloads/files?file_name=ipxe-script&api_key=TOKEN"
        );
        assert!(artifacts["rootfs"].is_string());
        let whole = Image { contents: Contents { has_rootfs: false }, ..image };
        assert!(whole.artifacts(&environment, "TOKEN")["rootfs"].is_null(), "no link leads to nothing");
        assert_eq!(kernel_arguments(&environment).collect::<Vec<_>>(), ["nosmt", "a=\"b c\""]);
        let other = json!({"metadata": {"uid": "770980f8"}, "spec": {"osImageVersion": "4.15"}});
        assert_ne!(revision(&environment), revision(&other));
        let status =
            json!({"status": {"bootArtifacts": {"discoveryIgnitionURL": "https://h/f?file_name=x&api_key=T"}}});
        assert_eq!((shown_token(&status), shown_token(&other)), (Some("T"), None));
    }
}
